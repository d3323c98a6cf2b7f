# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""The host's side of the command and event rings (docs/architecture.md), and buses that can fail.

Shared by the benches of DMA and shell; knows nothing of how registers are reached.
"""

import random
from collections import deque

from cocotb import start_soon
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiBus, AxiRamRead, AxiRamWrite

ROW = 64

NOP, COPY_IN, COPY_OUT, ZERO = 0x00, 0x01, 0x02, 0x03
INSTALL, INVALIDATE, PROTECT, READ_CLEAR, GROW = 0x10, 0x11, 0x12, 0x13, 0x14
FAULT_REPLY = 0x20

OK, ABSENT, SET_FULL, REFUSED, BUS_ERROR = range(5)
COMPLETION, FAULT, INTERRUPT, SLOT_CLOSED = 1, 2, 3, 4


def stalls(seed, share=0.5):
    """True in cycles that stall: runs of random length."""
    generator = random.Random(seed)
    while True:
        stalled = generator.random() < share
        for _ in range(generator.choice([1, 1, 2, 3, 8, 30])):
            yield stalled


class FailingRead(AxiRamRead):
    """A memory whose reads of some addresses answer with an error."""

    failing = range(0)

    async def _read(self, address, length):
        if address in self.failing:
            raise ValueError(f"read of 0x{address:x}")
        return await super()._read(address, length)


class FailingWrite(AxiRamWrite):
    """A memory whose writes to some addresses answer with an error."""

    failing = range(0)

    async def _write(self, address, data):
        if address in self.failing:
            raise ValueError(f"write of 0x{address:x}")
        await super()._write(address, data)


class Late:
    """Stands before an address channel's sink and hands its items on `cycles` later."""

    def __init__(self, sink, clock, cycles):
        self.sink, self.clock, self.cycles = sink, clock, cycles
        self.now, self.items = 0, deque()
        sink.queue_occupancy_limit = 64
        start_soon(self._count())
        start_soon(self._collect())

    def __getattr__(self, name):
        return getattr(self.sink, name)

    async def _count(self):
        while True:
            await RisingEdge(self.clock)
            self.now += 1

    async def _collect(self):
        while True:
            item = await self.sink.recv()
            self.items.append((self.now + self.cycles, item))

    async def recv(self):
        """The next item, when it is due."""
        while not self.items or self.items[0][0] > self.now:
            await RisingEdge(self.clock)
        return self.items.popleft()[1]


class Memory:
    """A memory behind an AXI bus of the device under test."""

    def __init__(self, dut, prefix, size, content, latency=0):
        bus = AxiBus.from_prefix(dut, prefix)
        common = {"reset": dut.rst_ni, "reset_active_level": False, "size": size}
        self.mem = content
        self.read = FailingRead(bus.read, dut.clk_i, mem=content, **common)
        self.write = FailingWrite(bus.write, dut.clk_i, mem=content, **common)
        self.read.r_channel.queue_occupancy_limit = 64
        if latency:
            self.read.ar_channel = Late(self.read.ar_channel, dut.clk_i, latency)

    def stall(self, seed, share=0.5):
        """From now on every channel stalls at random."""
        channels = [self.read.ar_channel, self.read.r_channel, self.write.aw_channel,
                    self.write.w_channel, self.write.b_channel]
        for number, channel in enumerate(channels):
            channel.set_pause_generator(stalls(seed * 8 + number, share))


class CommandHost:
    """Writes commands, takes events. `set_tail(queue, count)` and `set_head(count)` reach the doorbells.
    The ring of queue q lies 4 KiB x q behind that of queue 0."""

    def __init__(self, dut, memory, command_ring, event_ring, set_tail, set_head,
                 queues=1):
        self.dut, self.memory = dut, memory
        self.command_base, self.command_size = command_ring
        self.event_base, self.event_size = event_ring
        self.set_tail, self.set_head = set_tail, set_head
        self.tails = [0] * queues
        self.told = [0] * queues
        self.head = 0
        self.room = True  # give room back as events are taken
        self.events = []
        self.completions = {}
        self.interrupts = 0
        self.next_id = 0x1000
        self._tasks = [start_soon(self._count_interrupts()), start_soon(self._take_events())]

    def leave(self):
        """Looks at nothing any more: the card is reset, and another host comes."""
        for task in self._tasks:
            task.cancel()

    def put(self, opcode, addr=0, operand=0, length=0, token=0, fence=False, notify=True, asid=0,
            queue=0):
        """Writes one command into the queue's ring; returns its id. `doorbell` tells the card."""
        self.next_id += 1
        word0 = opcode | fence << 8 | notify << 9 | asid << 16 | self.next_id << 32
        words = [word0, addr, operand, length, token, 0, 0, 0]
        place = self.place(queue)
        self.memory[place:place + ROW] = b"".join(w.to_bytes(8, "little") for w in words)
        self.tails[queue] += 1
        return self.next_id

    def place(self, queue):
        """Where the next command of a queue goes."""
        return self.command_base + queue * 4096 + self.tails[queue] % self.command_size * ROW

    async def doorbell(self):
        """Tells the card of the commands that have been put."""
        for queue, tail in enumerate(self.tails):
            if tail != self.told[queue]:
                await self.set_tail(queue, tail & 0xFFFFFFFF)
                self.told[queue] = tail

    async def run(self, opcode, *args, **kwargs):
        """One command, from ring to completion; returns (status, accessed, dirty)."""
        number = self.put(opcode, *args, **kwargs)
        await self.doorbell()
        return await self.completion(number)

    async def completion(self, number, cycles=20000):
        """The completion of a command, once it is there."""
        await self.until(lambda: number in self.completions, cycles)
        return self.completions.pop(number)

    async def until(self, condition, cycles=20000):
        """Waits for a condition."""
        for _ in range(cycles):
            if condition():
                return
            await RisingEdge(self.dut.clk_i)
        raise AssertionError(f"nothing happened in {cycles} cycles")

    def record(self, number):
        """The words of a record of the event ring, or None while it is not written."""
        place = self.event_base + number % self.event_size * ROW
        row = bytes(self.memory[place:place + ROW])
        words = [int.from_bytes(row[k:k + 8], "little") for k in range(0, ROW, 8)]
        phase = 1 - number // self.event_size % 2
        return words if words[7] == phase else None

    async def _count_interrupts(self):
        while True:
            await RisingEdge(self.dut.clk_i)
            self.interrupts += int(self.dut.irq_o.value)

    async def _take_events(self):
        while True:
            await RisingEdge(self.dut.clk_i)
            if self.interrupts == self.head:
                continue
            # One interrupt a record: it must be there.
            words = self.record(self.head)
            assert words is not None, f"interrupt without record {self.head}"
            assert words[3:7] == [0, 0, 0, 0]
            self.head += 1
            kind = words[0] & 0xFF
            if kind == COMPLETION:
                number = words[1]
                assert number not in self.completions, f"command 0x{number:x} completed twice"
                self.completions[number] = (words[0] >> 8 & 0xFF, words[0] >> 16 & 1,
                                            words[0] >> 17 & 1)
            self.events.append(words)
            if self.room:
                await self.give_room()

    async def give_room(self):
        """Returns the room of all events taken so far."""
        await self.set_head(self.head & 0xFFFFFFFF)
