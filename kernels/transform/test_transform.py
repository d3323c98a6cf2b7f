"""Does transform change every word once, and nothing else, at any pace?"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "testing"))

import cocotb
from cocotb.utils import get_sim_time
from kernel_bench import EDGES, KernelBench


SIZES = [0, *sorted({(size + 3) // 4 * 4 for size in EDGES})]


def changed(data: bytes, addend: int) -> bytes:
    """What the kernel should make of some bytes: a word after the other, as a number."""
    out = b""
    for at in range(0, len(data), 4):
        word = (int.from_bytes(data[at : at + 4], "little") + addend) % 2**32
        word = word * 2**7 % 2**32 + word // 2**25
        out += word.to_bytes(4, "little")
    return out


async def change_and_compare(bench: KernelBench, size: int, pace: int = 0) -> int:
    """One run against the model; the cycles that it took, as far as polling tells."""
    (place,) = bench.places(size)
    addend = bench.random.randrange(2**32)
    expected = bytearray(bench.memory[:])
    expected[place : place + size] = changed(bytes(expected[place : place + size]), addend)
    begin = get_sim_time("ns")
    await bench.run(data=place, bytes=size, addend=addend, pace=pace)
    bench.expect(expected)
    return int(get_sim_time("ns") - begin) // 4


@cocotb.test()
async def every_edge(dut):
    bench = KernelBench(dut, seed=1)
    await bench.reset()
    for size in SIZES:
        await change_and_compare(bench, size)


@cocotb.test()
async def every_edge_with_stalls(dut):
    bench = KernelBench(dut, seed=2)
    await bench.reset()
    bench.stall(seed=2)
    for size in [*SIZES, 4 * bench.random.randrange(5_000)]:
        await change_and_compare(bench, size, pace=bench.random.randrange(4))


@cocotb.test()
async def pace_sets_the_rate(dut):
    bench = KernelBench(dut, seed=3)
    await bench.reset()
    rows = 200
    took = {}
    for pace in (0, 1, 5, 9):
        took[pace] = await change_and_compare(bench, 64 * rows, pace=pace)
    # Within the cycles between two looks at the control register.
    assert abs(took[0] - took[1]) < 40
    assert abs(took[9] - took[5] - 4 * rows) < 60
    assert took[5] > 5 * (rows - 1)


def test_transform():
    from run import run_cocotb

    run_cocotb("transform", "test_transform", Path(__file__).parent)
