"""Does traffic move the bursts of its sequences, in their order, and nothing else?"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "testing"))

import cocotb
from kernel_bench import KernelBench

ROWS_LOG2 = 10
ROW = 64
PAGE = 4096
INPUT, OUTPUT = 16 * PAGE, 48 * PAGE


def places(seed, is_random, bursts, length_log2):
    """The first row of each burst."""
    x, next_row = seed, 0
    for _ in range(bursts):
        x = (x ^ x << 13) % 2**64
        x ^= x >> 7
        x = (x ^ x << 17) % 2**64
        row = (x >> 16 if is_random else next_row) % 2**ROWS_LOG2
        yield row >> length_log2 << length_log2
        next_row += 1 << length_log2


async def run_and_compare(bench, bursts, length_log2, how):
    """One run, against the model."""
    seed = bench.random.randrange(1, 2**64)
    expected = bytearray(bench.memory[:])
    size = ROW << length_log2
    sources = places(seed, how & 1, bursts, length_log2)
    targets = places((seed << 32 | seed >> 32) % 2**64, how & 2, bursts, length_log2)
    for source, target in zip(sources, targets, strict=True):
        start, end = INPUT + ROW * source, OUTPUT + ROW * target
        expected[end : end + size] = expected[start : start + size]
    await bench.run(input=INPUT, output=OUTPUT, bursts=bursts, length_log2=length_log2,
                    rows_log2=ROWS_LOG2, seed=seed, random=how)
    bench.expect(expected)


@cocotb.test()
async def every_length_and_order(dut):
    bench = KernelBench(dut, seed=1)
    await bench.reset()
    for length_log2 in range(7):
        await run_and_compare(bench, 1 + (20 >> length_log2), length_log2, length_log2 % 4)
    await run_and_compare(bench, 5, 3, 3)


@cocotb.test()
async def no_burst_one_burst_and_round_again(dut):
    bench = KernelBench(dut, seed=2)
    await bench.reset()
    for bursts in [0, 1, 2, 0, (1 << ROWS_LOG2 - 5) + 3]:
        await run_and_compare(bench, bursts, 5, 0)


@cocotb.test()
async def every_order_with_stalls(dut):
    bench = KernelBench(dut, seed=3)
    await bench.reset()
    bench.stall(seed=3)
    for how, length_log2 in enumerate([0, 6, 2, 3]):
        await run_and_compare(bench, 1 + (40 >> length_log2), length_log2, how)


@cocotb.test()
async def reset_in_the_middle_of_a_run(dut):
    bench = KernelBench(dut, seed=4)
    await bench.reset()
    await bench.set("bursts", 10_000)
    await bench.set("length_log2", 6)
    await bench.set("input", INPUT)
    await bench.set("output", OUTPUT)
    await bench.start()
    await cocotb.triggers.ClockCycles(dut.ap_clk, 300)
    await bench.reset()
    await run_and_compare(bench, 9, 3, 3)


def test_traffic():
    from run import run_cocotb

    run_cocotb("traffic", "test_traffic", Path(__file__).parent)
