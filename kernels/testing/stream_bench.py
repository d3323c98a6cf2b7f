"""A kernel with streams on a bench: packets in, packets out, registers by argument name, random stalls (cocotb)."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout
from cocotb.utils import get_sim_time
from cocotbext.axi import (
    AxiLiteBus,
    AxiLiteMaster,
    AxiStreamBus,
    AxiStreamFrame,
    AxiStreamSink,
    AxiStreamSource,
)
from kernel_bench import CONTROL, DONE, START, stalls
from run import manifest

PERIOD_NS = 4


class StreamBench:
    """The kernel with a source at each stream into it and a sink at each out of it, by the ports' names."""

    def __init__(self, dut, seed: int = 0):
        self.dut = dut
        self.random = random.Random(seed)
        described = manifest(os.environ["KERNEL"])
        self.arguments = {a["name"]: a for a in described.get("argument", [])}
        cocotb.start_soon(Clock(dut.ap_clk, PERIOD_NS, unit="ns").start())
        common = {"clock": dut.ap_clk, "reset": dut.ap_rst_n, "reset_active_level": False}
        if self.arguments:
            bus = AxiLiteBus.from_prefix(dut, "s_axi_control")
            self.control = AxiLiteMaster(bus, **common)
        self.ports = {}
        for port in described["port"]:
            kind = AxiStreamSource if port["direction"] == "in" else AxiStreamSink
            bus = AxiStreamBus.from_prefix(dut, port["name"])
            self.ports[port["name"]] = kind(bus, **common)
            if port["direction"] == "out":
                cocotb.start_soon(self._held(port["name"]))

    async def _held(self, name: str) -> None:
        """What is offered stays, unchanged, until it is taken."""
        pins = [getattr(self.dut, f"{name}_{pin}") for pin in ("tdata", "tkeep", "tlast")]
        valid, ready = (getattr(self.dut, f"{name}_{pin}") for pin in ("tvalid", "tready"))
        before = None
        while True:
            await RisingEdge(self.dut.ap_clk)
            offered = [pin.value for pin in pins] if str(valid.value) == "1" else None
            if before is not None and str(self.dut.ap_rst_n.value) == "1":
                assert offered == before, f"{name}: an offered beat has changed"
            before = offered if offered is not None and str(ready.value) == "0" else None

    async def reset(self) -> None:
        """Resets the kernel."""
        self.dut.ap_rst_n.value = 0
        await ClockCycles(self.dut.ap_clk, 3)
        self.dut.ap_rst_n.value = 1
        await RisingEdge(self.dut.ap_clk)

    def stall(self, seed: int) -> None:
        """From now on every stream stalls at random."""
        for i, port in enumerate(self.ports.values()):
            port.set_pause_generator(stalls(seed * len(self.ports) + i))

    async def set(self, name: str, value) -> None:
        """Sets an argument, an integer or bytes."""
        argument = self.arguments[name]
        if isinstance(value, int):
            value = (value % 256 ** argument["bytes"]).to_bytes(argument["bytes"], "little")
        assert len(value) == argument["bytes"], f"{name} has {argument['bytes']} bytes"
        for word in range(0, len(value), 4):
            await self.control.write(argument["offset"] + word, value[word : word + 4])

    async def start(self, **arguments) -> None:
        """Sets arguments and writes the start bit."""
        for name, value in arguments.items():
            await self.set(name, value)
        await self.control.write_dword(CONTROL, START)

    async def wait(self, cycles: int = 100_000) -> None:
        """Waits for done."""
        for _ in range(cycles // 16):
            if await self.control.read_dword(CONTROL) & DONE:
                return
            await ClockCycles(self.dut.ap_clk, 12)
        raise AssertionError(f"not done after {cycles} cycles")

    def send(self, packet: bytes, port: str = "in") -> None:
        """Sends a packet; one of no bytes is an empty beat."""
        frame = AxiStreamFrame(packet) if packet else AxiStreamFrame(b"\0", tkeep=[0])
        self.ports[port].send_nowait(frame)

    async def receive(self, port: str = "out", cycles: int = 400_000) -> bytes:
        """The next packet, its kept bytes; they are the first ones of each beat."""
        frame = await with_timeout(self.ports[port].recv(compact=False), cycles * PERIOD_NS, "ns")
        keep = [bool(kept) for kept in frame.tkeep] if frame.tkeep else [True] * len(frame.tdata)
        lanes = self.ports[port].byte_lanes
        for at in range(0, len(keep), lanes):
            beat = keep[at : at + lanes]
            assert beat == sorted(beat, reverse=True), f"a beat with a hole: {beat}"
            final = at + lanes >= len(keep)
            assert all(beat) or final, f"a beat in the middle with {sum(beat)} bytes"
        return bytes(b for b, kept in zip(frame.tdata, keep) if kept)

    async def run(self, packet=None, **arguments) -> bytes:
        """A run of a kernel with registers: a packet in, if any, a packet out."""
        await self.start(**arguments)
        if packet is not None:
            self.send(packet)
        got = await self.receive()
        await self.wait()
        return got

    async def through(self, packet: bytes) -> bytes:
        """The same of a kernel without registers."""
        self.send(packet)
        return await self.receive()

    def cycle(self) -> int:
        """Cycles until now."""
        return int(get_sim_time("ns")) // PERIOD_NS
