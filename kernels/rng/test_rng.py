"""Does rng access the places of its sequence, each as often as it comes, with bursts of the right length?"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "testing"))

import cocotb
from kernel_bench import MEMORY_BYTES, KernelBench

SET_LOG2 = 18


def places(seed, period_log2, accesses):
    """The places of a run, an independent rendering of the README."""
    x = seed % 2**32
    for _ in range(accesses):
        y = x % 2**period_log2
        yield y ^ (y >> -(-period_log2 // 2))
        x = (1664525 * x + 1013904223) % 2**32


def test_every_place_once():
    for period_log2 in range(0, 13):
        found = sorted(places(12345, period_log2, 2**period_log2))
        assert found == list(range(2**period_log2))


async def run_and_compare(bench, accesses, access_log2, period_log2, write):
    """One run, against the model."""
    size = 1 << access_log2
    base = 4096 * bench.random.randrange(1, 8)
    result = MEMORY_BYTES - 64 * bench.random.randrange(1, 64)
    seed = bench.random.randrange(2**64)
    expected = bytearray(bench.memory[:])
    exclusive_or, beat = 0, 0
    for place in places(seed, period_log2, accesses):
        for row in range(base + place * size, base + (place + 1) * size, 64):
            if write:
                expected[row : row + 64] = (seed ^ beat).to_bytes(8, "little") * 8
                beat += 1
            else:
                exclusive_or ^= int.from_bytes(expected[row : row + 64], "little")
    if not write:
        expected[result : result + 64] = exclusive_or.to_bytes(64, "little")
    await bench.run(input=base, output=base if write else result, accesses=accesses,
                    access_log2=access_log2, period_log2=period_log2, seed=seed, write=int(write))
    bench.expect(expected)


@cocotb.test()
async def any_access_size(dut):
    bench = KernelBench(dut, seed=1)
    await bench.reset()
    for write in (False, True):
        for access_log2 in (6, 7, 9, 12, 13, 16):
            await run_and_compare(bench, 5, access_log2, SET_LOG2 - access_log2, write)
        await run_and_compare(bench, 0, 6, 4, write)
        await run_and_compare(bench, 300, 6, 7, write)


@cocotb.test()
async def any_access_size_with_stalls(dut):
    bench = KernelBench(dut, seed=2)
    await bench.reset()
    bench.stall(seed=3)
    for write in (True, False):
        for access_log2 in (6, 10, 13):
            await run_and_compare(bench, 7, access_log2, SET_LOG2 - access_log2, write)


def test_rng():
    from run import run_cocotb

    run_cocotb("rng", "test_rng", Path(__file__).parent)
