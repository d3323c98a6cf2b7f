"""Does sum add up exactly the words asked for, run after run?"""

import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "testing"))

import cocotb
from kernel_bench import KernelBench


async def sum_and_compare(bench: KernelBench, size: int) -> None:
    source, destination = bench.places(size, 64)
    words = struct.unpack(f"<{size // 8}Q", bench.memory[source : source + size])
    sums = [sum(words[lane::8]) % (1 << 64) for lane in range(8)]
    expected = bytearray(bench.memory[:])
    expected[destination : destination + 64] = struct.pack("<8Q", *sums)
    await bench.run(input=source, output=destination, bytes=size)
    bench.expect(expected)


@cocotb.test()
async def sums_without_stalls(dut):
    bench = KernelBench(dut, seed=1)
    await bench.reset()
    for size in [64, 128, 4032, 4096, 4160, 8192, 64]:
        await sum_and_compare(bench, size)


@cocotb.test()
async def sums_with_stalls(dut):
    bench = KernelBench(dut, seed=2)
    await bench.reset()
    bench.stall(seed=2)
    for size in [64, 4096, 4160, 64 * 300]:
        await sum_and_compare(bench, size)


def test_sum():
    from run import run_cocotb

    run_cocotb("sum", "test_sum", Path(__file__).parent)
