"""Does random_read read the rows of its sequence, each as often as it comes?"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "testing"))

import cocotb
from kernel_bench import KernelBench

ROWS_LOG2 = 7


def rows(seed, reads):
    """The row numbers of a run."""
    x = seed
    for _ in range(reads):
        x = (x ^ x << 13) % 2**64
        x ^= x >> 7
        x = (x ^ x << 17) % 2**64
        yield (x >> 16) % 2**ROWS_LOG2


async def run_and_compare(bench, reads):
    """One run, against the model."""
    source, destination = bench.places(64 << ROWS_LOG2, 64)
    seed = bench.random.randrange(1, 2**64)
    expected = bytearray(bench.memory[:])
    result = 0
    for row in rows(seed, reads):
        at = source + 64 * row
        result ^= int.from_bytes(expected[at : at + 64], "little")
    expected[destination : destination + 64] = result.to_bytes(64, "little")
    await bench.run(input=source, output=destination, reads=reads, rows_log2=ROWS_LOG2, seed=seed)
    bench.expect(expected)


@cocotb.test()
async def any_number_of_reads(dut):
    bench = KernelBench(dut, seed=1)
    await bench.reset()
    for reads in [0, 1, 2, 63, 500]:
        await run_and_compare(bench, reads)


@cocotb.test()
async def any_number_of_reads_with_stalls(dut):
    bench = KernelBench(dut, seed=2)
    await bench.reset()
    bench.stall(seed=2)
    for reads in [1, 300]:
        await run_and_compare(bench, reads)


def test_random_read():
    from run import run_cocotb

    run_cocotb("random_read", "test_random_read", Path(__file__).parent)
