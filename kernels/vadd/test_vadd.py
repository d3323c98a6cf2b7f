"""Does vadd add, whatever the length and the alignment of its three arrays?"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "testing"))

import struct

import cocotb
from kernel_bench import EDGES, KernelBench


def add(a: bytes, b: bytes) -> bytes:
    """The sums of little-endian 32-bit integers, which wrap."""
    form = f"<{len(a) // 4}I"
    pairs = zip(struct.unpack(form, a), struct.unpack(form, b))
    return struct.pack(form, *((x + y) & 0xFFFF_FFFF for x, y in pairs))


async def add_and_compare(bench: KernelBench, length: int) -> None:
    size = 4 * length
    a, b, c = bench.places(size, size, size)
    expected = bytearray(bench.memory[:])
    expected[c : c + size] = add(expected[a : a + size], expected[b : b + size])
    await bench.run(a=a, b=b, c=c, length=length)
    bench.expect(expected)


@cocotb.test()
async def every_edge_without_stalls(dut):
    bench = KernelBench(dut, seed=1)
    await bench.reset()
    for size in [0, *EDGES]:
        await add_and_compare(bench, (size + 3) // 4)


@cocotb.test()
async def every_edge_with_stalls(dut):
    bench = KernelBench(dut, seed=2)
    await bench.reset()
    bench.stall(seed=2)
    for size in [*EDGES, 0, *(bench.random.randrange(20_000) for _ in range(4))]:
        await add_and_compare(bench, (size + 3) // 4)


@cocotb.test()
async def sums_wrap_and_the_result_may_replace_a_summand(dut):
    bench = KernelBench(dut)
    await bench.reset()
    bench.memory[0x1000:0x1008] = struct.pack("<iI", -1, 0xFFFF_FFFF)
    bench.memory[0x2000:0x2008] = struct.pack("<iI", 1, 2)
    await bench.run(a=0x1000, b=0x2000, c=0x2000, length=2)
    assert bench.memory[0x2000:0x2008] == struct.pack("<iI", 0, 1)


def test_vadd():
    from run import run_cocotb

    run_cocotb("vadd", "test_vadd", Path(__file__).parent)
