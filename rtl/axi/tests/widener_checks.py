# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Wideners between cocotbext-axi's manager of the narrow width and its memory of 512 bits, both of
which know AXI4's byte lanes independently of us."""

import collections
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Combine, ReadOnly, RisingEdge
from cocotbext.axi import AxiBus, AxiMaster, AxiRam, AxiResp

WIDTHS = (32, 64, 128, 256)
MEMORY_BYTES = 1 << 16
ROOM = 2  # bursts of a widener's queues


class Narrow:
    """One widener with its manager and its memory."""

    def __init__(self, dut, width):
        common = {"clock": dut.clk_i, "reset": dut.rst_ni, "reset_active_level": False}
        self.dut = dut
        self.width = width
        self.passed = collections.Counter()
        self.full = (width // 8).bit_length() - 1
        self.master = AxiMaster(AxiBus.from_prefix(dut, f"n{width}_axi"), **common)
        self.ram = AxiRam(AxiBus.from_prefix(dut, f"w{width}_axi"), **common, size=MEMORY_BYTES)
        self.rng = random.Random(width)
        self.signals = {name: getattr(dut, f"n{width}_axi_{name}")
                        for name in ("rvalid", "rready", "rlast", "wvalid", "wready", "wlast")}

    def stall(self):
        """Every channel of both sides stalls at random."""
        for side in (self.master, self.ram):
            read, write = side.read_if, side.write_if
            for channel in (read.ar_channel, read.r_channel, write.aw_channel, write.w_channel,
                            write.b_channel):
                channel.set_pause_generator(iter(lambda: self.rng.random() < 0.3, None))

    def memory(self):
        return self.ram.read(0, MEMORY_BYTES)

    async def one_transfer(self, size):
        rng = self.rng
        address = 4096 + rng.randrange(4096)
        wanted = rng.randbytes(rng.randrange(1, 40 << size))
        before = self.memory()
        answer = await self.master.write(address, wanted, size=size)
        assert answer.resp == AxiResp.OKAY
        after = before[:address] + wanted + before[address + len(wanted):]
        assert self.memory() == after, f"size {size}: {len(wanted)} bytes at {address:#x}"
        read = await self.master.read(address, len(wanted), size=size)
        assert read.data == wanted, f"size {size}: {len(wanted)} bytes at {address:#x}"

    async def every_size(self):
        for size in range(self.full + 1):
            for _ in range(8):
                await self.one_transfer(size)

    async def many_at_once(self):
        rng = self.rng
        wanted = {}
        for block in range(8):
            wanted[block * 4096 + rng.randrange(2000)] = rng.randbytes(rng.randrange(1, 600))
        writes = [cocotb.start_soon(self.master.write(a, data)) for a, data in wanted.items()]
        await Combine(*writes)
        reads = {a: cocotb.start_soon(self.master.read(a, len(d))) for a, d in wanted.items()}
        for address, data in wanted.items():
            assert self.ram.read(address, len(data)) == data
            assert (await reads[address]).data == data

    async def count(self, clock, prefix):
        """Addresses that pass on the side `prefix`, until cancelled; in self.passed."""
        pairs = {channel: [getattr(self.dut, f"{prefix}{self.width}_axi_{channel}{name}")
                           for name in ("valid", "ready")] for channel in ("ar", "aw")}
        while True:
            await RisingEdge(clock)
            await ReadOnly()
            for channel, (valid, ready) in pairs.items():
                self.passed[prefix + channel] += bool(valid.value) and bool(ready.value)

    async def full_queues(self):
        """Bursts of a beat whose data do not move: two addresses pass, once each; the rest wait."""
        clock = self.dut.clk_i
        counts = [cocotb.start_soon(self.count(clock, prefix)) for prefix in ("n", "w")]
        data = {4096 + 64 * i: self.rng.randbytes(1 << self.full) for i in range(4)}
        for channel, start in (("aw", lambda a: self.master.write(a, data[a])),
                               ("ar", lambda a: self.master.read(a, 1 << self.full))):
            halted = self.master.write_if.w_channel if channel == "aw" else self.master.read_if.r_channel
            halted.pause = True
            bursts = [cocotb.start_soon(start(address)) for address in data]
            for _ in range(60):
                await RisingEdge(clock)
            passed = self.passed["n" + channel], self.passed["w" + channel]
            assert passed == (ROOM, ROOM), f"{channel}: {passed} addresses passed"
            halted.pause = False
            await Combine(*bursts)
            passed = self.passed["n" + channel], self.passed["w" + channel]
            assert passed == (len(data), len(data)), f"{channel}: {passed} addresses passed"
        for address, wanted in data.items():
            assert self.ram.read(address, len(wanted)) == wanted
        for burst, wanted in zip(bursts, data.values()):
            assert burst.result().data == wanted
        for task in counts:
            task.cancel()

    async def gaps(self, clock, channel):
        """Cycles between the first and the last beat of a burst in which no beat passed."""
        valid, ready, last = (self.signals[channel + name] for name in ("valid", "ready", "last"))
        missed, started = 0, False
        while True:
            await RisingEdge(clock)
            await ReadOnly()
            if valid.value and ready.value:
                started = True
                if last.value:
                    return missed
            else:
                missed += started

    async def traffic(self):
        """Reads and writes without end, several at once."""
        rng = self.rng
        while True:
            tasks = []
            for _ in range(rng.randrange(1, 5)):
                address, length = rng.randrange(8192), rng.randrange(1, 400)
                tasks.append(cocotb.start_soon(self.master.read(address, length) if rng.random() < 0.5
                                               else self.master.write(address, bytes(length))))
            await Combine(*tasks)

    async def full_rate(self, clock):
        beats = 64
        length = beats << self.full
        for channel, transfer in (("w", lambda: self.master.write(4096, bytes(length))),
                                  ("r", lambda: self.master.read(4096, length))):
            watch = cocotb.start_soon(self.gaps(clock, channel))
            await transfer()
            missed = await watch
            assert missed == 0, f"{channel}: {missed} cycles without a beat in {beats}"


async def start(dut):
    dut.rst_ni.value = 0
    benches = [Narrow(dut, width) for width in WIDTHS]
    cocotb.start_soon(Clock(dut.clk_i, 4, "ns").start())
    for _ in range(4):
        await RisingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    for _ in range(4):
        await RisingEdge(dut.clk_i)
    return benches


async def on_all(benches, test):
    await Combine(*(cocotb.start_soon(test(bench)) for bench in benches))


@cocotb.test(timeout_time=400, timeout_unit="us")
async def every_size_at_any_start(dut):
    """Writes and reads of each size, any offset and length, with guard bytes around them."""
    benches = await start(dut)
    for bench in benches:
        bench.stall()
    await on_all(benches, Narrow.every_size)


@cocotb.test(timeout_time=800, timeout_unit="us")
async def resets_at_any_moment(dut):
    """What was under way is gone, and what comes next is as on the first day."""
    benches = await start(dut)
    for bench in benches:
        bench.stall()
    rng = random.Random(9)
    for _ in range(25):
        running = [cocotb.start_soon(bench.traffic()) for bench in benches]
        for _ in range(rng.randrange(150)):
            await RisingEdge(dut.clk_i)
        for task in running:
            task.cancel()
        dut.rst_ni.value = 0
        for _ in range(2):
            await RisingEdge(dut.clk_i)
        dut.rst_ni.value = 1
        await RisingEdge(dut.clk_i)
        await on_all(benches, lambda bench: bench.one_transfer(bench.rng.randrange(bench.full + 1)))


@cocotb.test(timeout_time=400, timeout_unit="us")
async def many_bursts_outstanding(dut):
    """More bursts at once than the queues hold: two, where the memory takes three."""
    benches = await start(dut)
    for bench in benches:
        bench.stall()
    await on_all(benches, Narrow.many_at_once)


@cocotb.test(timeout_time=400, timeout_unit="us")
async def an_address_waits_while_its_queue_is_full(dut):
    """An address leaves once, and only when its place is known, even where the memory would take it."""
    benches = await start(dut)
    await on_all(benches, Narrow.full_queues)


@cocotb.test(timeout_time=400, timeout_unit="us")
async def a_beat_every_cycle(dut):
    """Within a burst no cycle is lost in either direction."""
    benches = await start(dut)
    await on_all(benches, lambda bench: bench.full_rate(dut.clk_i))


@cocotb.test(timeout_time=400, timeout_unit="us")
async def a_size_above_the_width_leaves_as_one_that_the_slot_refuses(dut):
    """AxSIZE is held against the port's own width."""
    await start(dut)
    for width in WIDTHS:
        full = (width // 8).bit_length() - 1
        for size in range(8):
            for channel in ("ar", "aw"):
                getattr(dut, f"n{width}_axi_{channel}size").value = size
            await RisingEdge(dut.clk_i)
            for channel in ("ar", "aw"):
                passed = int(getattr(dut, f"w{width}_axi_{channel}size").value)
                assert passed == (size if size <= full else 7)
