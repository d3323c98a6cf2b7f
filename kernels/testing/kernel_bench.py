"""A kernel on a bench: AXI4-Lite master, memory behind the ports, random stalls (cocotb)."""

import mmap
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import (
    AxiLiteBus,
    AxiLiteMaster,
    AxiRamRead,
    AxiRamWrite,
    AxiReadBus,
    AxiWriteBus,
)
from run import manifest

CONTROL, GLOBAL_ENABLE, ENABLE, STATUS = 0x00, 0x04, 0x08, 0x0C
START, DONE, IDLE, READY, AUTO_RESTART, INTERRUPT = 1, 2, 4, 8, 1 << 7, 1 << 9

MEMORY_BYTES = 1 << 20

# Sizes where rows (64), bursts (4096) and their sums begin and end.
EDGES = [1, 2, 31, 63, 64, 65, 127, 128, 129, 4032, 4095, 4096, 4097, 4160, 8191, 8192, 8193]


def stalls(seed: int):
    """True in cycles that stall: runs of random length, sometimes long, sometimes none for long."""
    generator = random.Random(seed)
    stalled = False
    while True:
        for _ in range(generator.choice([1, 1, 2, 3, 8, 40])):
            yield stalled
        stalled = not stalled


class KernelBench:
    """The kernel with its memory; pointers are addresses of the one memory behind both ports."""

    def __init__(self, dut, seed: int = 0):
        self.dut = dut
        self.random = random.Random(seed)
        self.arguments = {a["name"]: a for a in manifest(os.environ["KERNEL"])["argument"]}
        self.memory = mmap.mmap(-1, MEMORY_BYTES)
        self.memory[:] = self.random.randbytes(MEMORY_BYTES)
        cocotb.start_soon(Clock(dut.ap_clk, 4, unit="ns").start())
        common = {"clock": dut.ap_clk, "reset": dut.ap_rst_n, "reset_active_level": False}
        self.control = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi_control"), **common)
        self.read = AxiRamRead(
            AxiReadBus.from_prefix(dut, "m_axi_gmem0"), **common, mem=self.memory
        )
        self.write = AxiRamWrite(
            AxiWriteBus.from_prefix(dut, "m_axi_gmem1"), **common, mem=self.memory
        )

    async def reset(self) -> None:
        """Resets the kernel."""
        self.dut.ap_rst_n.value = 0
        await ClockCycles(self.dut.ap_clk, 3)
        self.dut.ap_rst_n.value = 1
        await RisingEdge(self.dut.ap_clk)

    def stall(self, seed: int) -> None:
        """From now on every channel stalls at random."""
        channels = [
            self.read.ar_channel,
            self.read.r_channel,
            self.write.aw_channel,
            self.write.w_channel,
            self.write.b_channel,
        ]
        for i, channel in enumerate(channels):
            channel.set_pause_generator(stalls(seed * len(channels) + i))

    async def set(self, name: str, value) -> None:
        """Sets an argument, an integer or bytes."""
        argument = self.arguments[name]
        if isinstance(value, int):
            value = value.to_bytes(argument["bytes"], "little")
        assert len(value) == argument["bytes"], f"{name} has {argument['bytes']} bytes"
        for word in range(0, len(value), 4):
            await self.control.write(argument["offset"] + word, value[word : word + 4])

    async def status(self) -> int:
        """The control register; reading clears done."""
        return await self.control.read_dword(CONTROL)

    async def start(self) -> None:
        """Writes the start bit."""
        await self.control.write_dword(CONTROL, START)

    async def wait(self, cycles: int = 100_000) -> None:
        """Waits for done."""
        for _ in range(cycles // 16):
            if await self.status() & DONE:
                return
            await ClockCycles(self.dut.ap_clk, 12)
        raise AssertionError(f"not done after {cycles} cycles")

    async def run(self, **arguments) -> None:
        """One run from arguments to done."""
        for name, value in arguments.items():
            await self.set(name, value)
        await self.start()
        await self.wait()

    def expect(self, expected: bytes) -> None:
        """The whole memory is as expected: right bytes, and no byte beside them."""
        memory = self.memory[:]
        if memory != expected:
            wrong = [i for i in range(MEMORY_BYTES) if memory[i] != expected[i]]
            raise AssertionError(f"{len(wrong)} wrong bytes, 0x{wrong[0]:x} to 0x{wrong[-1]:x}")

    def places(self, *sizes: int) -> list[int]:
        """Addresses for buffers of these sizes: aligned to 64, anywhere in a page, apart."""
        places, at = [], 0
        for size in sizes:
            at += 4096 + 64 * self.random.choice([0, 1, 31, 62, 63, self.random.randrange(64)])
            places.append(at)
            at = (at + size + 4095) // 4096 * 4096
        assert at < MEMORY_BYTES
        return places
