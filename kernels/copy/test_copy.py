"""Does copy move exactly the bytes asked for, and do its control registers follow ap_ctrl_hs?"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "testing"))

import cocotb
from cocotb.triggers import ClockCycles
from kernel_bench import (
    AUTO_RESTART,
    CONTROL,
    DONE,
    EDGES,
    ENABLE,
    GLOBAL_ENABLE,
    IDLE,
    INTERRUPT,
    READY,
    START,
    STATUS,
    KernelBench,
)


async def copy_and_compare(bench: KernelBench, size: int) -> None:
    source, destination = bench.places(size, size)
    expected = bytearray(bench.memory[:])
    expected[destination : destination + size] = expected[source : source + size]
    await bench.run(input=source, output=destination, bytes=size)
    bench.expect(expected)


@cocotb.test()
async def every_edge_without_stalls(dut):
    bench = KernelBench(dut, seed=1)
    await bench.reset()
    for size in [0, *EDGES, 0]:
        await copy_and_compare(bench, size)


@cocotb.test()
async def every_edge_with_stalls(dut):
    bench = KernelBench(dut, seed=2)
    await bench.reset()
    bench.stall(seed=2)
    for size in [*EDGES, 0, *(bench.random.randrange(20_000) for _ in range(4))]:
        await copy_and_compare(bench, size)


@cocotb.test()
async def done_clears_on_read_and_idle_returns(dut):
    bench = KernelBench(dut)
    await bench.reset()
    assert await bench.status() == IDLE
    await bench.set("bytes", 4096)
    await bench.set("output", 0x8000)
    await bench.start()
    assert await bench.status() == START
    await ClockCycles(dut.ap_clk, 200)
    assert await bench.status() == DONE | IDLE | READY
    assert await bench.status() == IDLE


@cocotb.test()
async def interrupts_are_enabled_pending_and_toggled(dut):
    bench = KernelBench(dut)
    await bench.reset()
    for enable, pending in [(0, 0), (1, 1), (2, 2), (3, 3)]:
        await bench.control.write_dword(ENABLE, enable)
        await bench.control.write_dword(GLOBAL_ENABLE, 1)
        await bench.run(bytes=0)
        assert await bench.control.read_dword(STATUS) == pending
        assert dut.kernel_interrupt.value == (pending != 0)
        interrupt = INTERRUPT if pending else 0
        assert await bench.status() == IDLE | interrupt
        await bench.control.write_dword(GLOBAL_ENABLE, 0)
        await ClockCycles(dut.ap_clk, 2)
        assert dut.kernel_interrupt.value == 0
        await bench.control.write_dword(STATUS, pending)
        assert await bench.control.read_dword(STATUS) == 0
    await bench.control.write_dword(STATUS, 1)
    assert await bench.control.read_dword(STATUS) == 1, "toggles both ways"


@cocotb.test()
async def restarts_by_itself_until_told_not_to(dut):
    bench = KernelBench(dut)
    await bench.reset()
    source, destination = bench.places(64, 64)
    await bench.set("input", source)
    await bench.set("output", destination)
    await bench.set("bytes", 64)
    await bench.control.write_dword(CONTROL, START | AUTO_RESTART)
    for content in (b"\x11" * 64, b"\x22" * 64):
        bench.memory[source : source + 64] = content
        await ClockCycles(dut.ap_clk, 100)
        assert bench.memory[destination : destination + 64] == content
    assert await bench.status() & (START | AUTO_RESTART) == START | AUTO_RESTART
    await bench.control.write_dword(CONTROL, 0)
    await ClockCycles(dut.ap_clk, 100)
    assert await bench.status() & (START | IDLE) == IDLE


@cocotb.test()
async def arguments_read_back_and_strobes_count(dut):
    bench = KernelBench(dut)
    await bench.reset()
    await bench.set("input", 0x1122334455667788)
    await bench.control.write(0x11, b"\xaa")
    assert await bench.control.read_qword(0x10) == 0x112233445566AA88
    await bench.control.write_dword(0x100, 0xFFFFFFFF)
    await bench.control.write_dword(0xFFC, 0xFFFFFFFF)
    assert await bench.control.read_dword(0x100) == 0
    assert await bench.control.read_dword(0xFFC) == 0
    assert await bench.status() == IDLE


@cocotb.test()
async def reset_in_the_middle_of_a_run(dut):
    bench = KernelBench(dut, seed=3)
    await bench.reset()
    await bench.set("bytes", 1 << 16)
    await bench.set("output", 0x40000)
    await bench.start()
    await ClockCycles(dut.ap_clk, 70)
    await bench.reset()
    assert await bench.status() == IDLE
    await copy_and_compare(bench, 5000)


def test_copy():
    from run import run_cocotb

    run_cocotb("copy", "test_copy", Path(__file__).parent)
