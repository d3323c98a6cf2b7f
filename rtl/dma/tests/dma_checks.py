# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""cocotb tests of the DMA engine on a small fabric (run by test_dma.py)."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge
from command_host import (ABSENT, BUS_ERROR, COMPLETION, COPY_IN, COPY_OUT, FAULT, FAULT_REPLY,
                          GROW, INSTALL, INTERRUPT, INVALIDATE, NOP, OK, PROTECT, READ_CLEAR, REFUSED,
                          ROW, SET_FULL, SLOT_CLOSED, ZERO, CommandHost, Memory, stalls)

CHANNEL = 1 << 20
CARD = 2 * CHANNEL
HOST = 1 << 21
COMMANDS, EVENTS, DATA = 0x0, 0x4000, 0x8000
QUEUES = 3
FAULT_QUEUE = 4  # tmb_pkg::FaultQueueDepth


class Bench:
    """DMA engine, fabric, two channels, host memory; the virtual memory is the test."""

    def __init__(self, dut, seed=0):
        self.dut = dut
        self.random = random.Random(seed)
        cocotb.start_soon(Clock(dut.clk_i, 4, unit="ns").start())

    async def start(self, command_log2=5, event_log2=6, host_latency=0, card_latency=0):
        """Resets, and enables with rings of the given sizes."""
        dut = self.dut
        dut.rst_ni.value = 0
        for name in ["enable_i", "command_tail_i", "event_head_i", "interrupt_i", "closed_i",
                     "table_cmd_ready_i", "table_rsp_valid_i", "fault_valid_i",
                     "fault_reply_ready_i", "managed_i", "level_i"]:
            getattr(dut, name).value = 0
        dut.command_base_i.value, dut.command_size_log2_i.value = COMMANDS, command_log2
        dut.event_base_i.value, dut.event_size_log2_i.value = EVENTS, event_log2
        self.host_bytes = bytearray(self.random.randbytes(HOST))
        self.host_bytes[:DATA] = bytes(DATA)
        self.card_bytes = [bytearray(self.random.randbytes(CHANNEL)) for _ in range(2)]
        self.host = Memory(dut, "host", HOST, self.host_bytes, host_latency)
        self.card = [Memory(dut, f"mem{c}", CHANNEL, self.card_bytes[c], card_latency)
                     for c in range(2)]

        self.rings = (COMMANDS, 1 << command_log2), (EVENTS, 1 << event_log2)
        self._arrive()
        self.rows = {"in": 0, "out": 0, "zeroed": 0}
        cocotb.start_soon(self._count_rows())
        await ClockCycles(dut.clk_i, 4)
        dut.rst_ni.value = 1
        await ClockCycles(dut.clk_i, 2)
        dut.enable_i.value = 1
        return self.commands

    async def reset(self, cycles):
        """Resets in the middle of whatever goes on; the rings begin anew."""
        dut = self.dut
        dut.rst_ni.value = 0
        self.commands.leave()
        for name in ["enable_i", "command_tail_i", "event_head_i", "interrupt_i", "closed_i", "table_rsp_valid_i",
                     "fault_valid_i"]:
            getattr(dut, name).value = 0
        await ClockCycles(dut.clk_i, cycles)
        self.host_bytes[:DATA] = bytes(DATA)
        self._arrive()
        dut.rst_ni.value = 1
        await ClockCycles(dut.clk_i, 2)
        dut.enable_i.value = 1
        return self.commands

    def _arrive(self):
        """A host with empty rings."""
        dut, tails = self.dut, [0] * QUEUES

        async def set_tail(queue, value):
            tails[queue] = value
            dut.command_tail_i.value = sum(tail << 32 * q for q, tail in enumerate(tails))

        async def set_head(value):
            dut.event_head_i.value = value

        self.commands = CommandHost(dut, self.host_bytes, *self.rings, set_tail, set_head, QUEUES)

    async def _count_rows(self):
        while True:
            await RisingEdge(self.dut.clk_i)
            for name in self.rows:
                self.rows[name] += int(getattr(self.dut, f"row_{name}_o").value)

    def stall(self, seed, share=0.5):
        """Everything stalls at random from now on."""
        for number, memory in enumerate([self.host, *self.card]):
            memory.stall(seed * 4 + number, share)

    def card_read(self, addr, length):
        """Bytes of card memory."""
        return bytes((self.card_bytes[0] + self.card_bytes[1])[addr:addr + length])

    async def idle(self, cycles=20000):
        """Waits until the engine says that it is idle."""
        await self.commands.until(lambda: self.dut.idle_o.value == 1, cycles)


def striped(addr, granule):
    """Where a byte lies when granules are dealt out to both channels in turn (0: as it says)."""
    if granule == 0:
        return addr
    number, offset = divmod(addr, granule)
    return number % 2 * CHANNEL + number // 2 * granule + offset


def places(generator, total, count, longest):
    """`count` disjoint row-aligned ranges of [0, total), of 1 to `longest` rows."""
    room = total // ROW // count
    result = []
    for k in range(count):
        length = min(generator.choice([1, 2, 63, 64, 65, generator.randint(1, longest)]), room)
        result.append(((k * room + generator.randint(0, room - length)) * ROW, length * ROW))
    generator.shuffle(result)
    return result


@cocotb.test(timeout_time=400, timeout_unit="us")
@cocotb.parametrize(stalled=[0.0, 0.4], granule=[0, 4 * ROW, 8192])
async def random_copies(dut, stalled, granule):
    """Copies and zeroes of any length and alignment, all at once, in a card that is striped over both
    channels (or not: granule 0): right bytes, none beside."""
    bench = Bench(dut, seed=int(stalled * 10) + 1)
    commands = await bench.start()
    if stalled:
        bench.stall(7, stalled)
    lies = bench.card_bytes[0] + bench.card_bytes[1]
    card = bytearray(lies)
    step = granule or CARD
    for at in range(0, CARD, step):
        card[at:at + step] = lies[striped(at, granule):][:step]
    token = (granule.bit_length() - 1) << 24 | 1 << 29 if granule else 0
    host = bytearray(bench.host_bytes)
    expected_rows = {"in": 0, "out": 0, "zeroed": 0}
    numbers = []
    cards = places(bench.random, CARD, 24, 150)
    hosts = places(bench.random, HOST - DATA, 24, 150)
    for (card_at, card_length), (host_at, host_length) in zip(cards, hosts):
        host_at += DATA
        length = min(card_length, host_length)
        opcode = bench.random.choice([COPY_IN, COPY_OUT, ZERO])
        if opcode == COPY_IN:
            card[card_at:card_at + length] = host[host_at:host_at + length]
            expected_rows["in"] += length // ROW
        elif opcode == COPY_OUT:
            host[host_at:host_at + length] = card[card_at:card_at + length]
            expected_rows["out"] += length // ROW
        else:
            card[card_at:card_at + length] = bytes(length)
            expected_rows["zeroed"] += length // ROW
        queue = bench.random.randrange(QUEUES)
        numbers.append(commands.put(opcode, card_at, host_at, length, token, queue=queue))
    await commands.doorbell()
    for number in numbers:
        assert await commands.completion(number, 60000) == (OK, 0, 0)
    # One copy over the border of the two channels.
    border = CHANNEL - 100 * ROW
    length = 200 * ROW
    last = commands.put(COPY_OUT, border, HOST - length, length, token)
    host[HOST - length:HOST] = card[border:border + length]
    expected_rows["out"] += length // ROW
    await commands.doorbell()
    assert await commands.completion(last) == (OK, 0, 0)
    await bench.idle()
    lies = bench.card_read(0, CARD)
    for at in range(0, CARD, step):
        assert card[at:at + step] == lies[striped(at, granule):][:step]
    assert bench.host_bytes[DATA:] == host[DATA:]
    assert bench.rows == expected_rows


@cocotb.test(timeout_time=400, timeout_unit="us")
async def copies_of_more_than_256_kib(dut):
    """Both ways at once, to the last row and no further."""
    bench = Bench(dut, seed=2)
    commands = await bench.start()
    length, back = (1 << 18) + 3 * ROW, DATA + (1 << 20)
    cards, host = bytearray(bench.card_read(0, CARD)), bytearray(bench.host_bytes)
    cards[:length], host[back:back + length] = host[DATA:DATA + length], cards[CHANNEL:CHANNEL + length]
    numbers = [commands.put(COPY_IN, 0, DATA, length, queue=1),
               commands.put(COPY_OUT, CHANNEL, back, length, queue=2)]
    await commands.doorbell()
    for number in numbers:
        assert await commands.completion(number) == (OK, 0, 0)
    assert bench.card_read(0, CARD) == cards
    assert bench.host_bytes[DATA:] == host[DATA:]


@cocotb.test(timeout_time=400, timeout_unit="us")
async def resets_at_any_moment(dut):
    """Copies of all queues, bus errors, interrupts and faults under way; behind the reset a host with empty rings finds
    an engine that has forgotten them, and loses no copy of its own."""
    bench = Bench(dut, seed=12)
    commands = await bench.start()
    bench.stall(12, 0.3)
    for _ in range(30):
        dut.fault_valid_i.value = bench.random.randrange(2)
        failing = range(DATA, HOST) if bench.random.random() < 0.4 else range(0)
        bench.host.read.failing = bench.host.write.failing = failing
        longest = bench.random.choice([64, 500])
        for (card, length), (host, _) in zip(places(bench.random, CARD, 6, longest), places(bench.random, HOST - DATA, 6, 1)):
            commands.put(bench.random.choice([COPY_IN, COPY_OUT, ZERO]), card, DATA + host, min(length, HOST - DATA - host),
                         fence=bench.random.random() < 0.2, queue=bench.random.randrange(QUEUES))
        await commands.doorbell()
        await ClockCycles(dut.clk_i, bench.random.randrange(600))
        dut.interrupt_i.value, dut.closed_i.value = bench.random.randrange(4), bench.random.randrange(4)
        await ClockCycles(dut.clk_i, bench.random.randrange(1, 12))
        commands = await bench.reset(bench.random.randrange(1, 4))
        bench.host.read.failing = bench.host.write.failing = range(0)
        length = bench.random.randrange(1, 80) * ROW
        at, back = bench.random.randrange(64) * ROW, DATA + (1 << 20)
        queue = bench.random.randrange(QUEUES)
        source = bench.host_bytes[DATA:DATA + length]
        # An error of before is nobody's: a command of each queue and each unit succeeds, in silence.
        for number in range(QUEUES):
            commands.put(COPY_OUT, CARD - ROW, HOST - (number + 1) * ROW, ROW, notify=False, queue=number)
            commands.put(ZERO, CARD - (number + 1) * ROW, 0, ROW, notify=False, queue=number)
        commands.put(COPY_IN, at, DATA, length, notify=False, queue=queue)
        last = commands.put(COPY_OUT, at, back, length, fence=True, queue=queue)
        await commands.doorbell()
        assert await commands.completion(last) == (OK, 0, 0)
        assert bench.host_bytes[back:back + length] == source
        await bench.idle()
        assert len(commands.events) == 1


@cocotb.test(timeout_time=400, timeout_unit="us")
async def fences_order_copies(dut):
    """Data goes host, card, host, zero, host through one card range, each step behind a fence."""
    bench = Bench(dut, seed=3)
    commands = await bench.start()
    bench.stall(3, 0.3)
    source, back, zeroes, length = DATA, DATA + 0x10000, DATA + 0x20000, 100 * ROW
    at = 0x2340
    commands.put(COPY_IN, at, source, length, notify=False)
    commands.put(COPY_OUT, at, back, length, fence=True, notify=False)
    commands.put(ZERO, at, 0, length, fence=True, notify=False)
    commands.put(COPY_OUT, at, zeroes, length, fence=True, notify=False)
    end = commands.put(NOP, fence=True)
    await commands.doorbell()
    await commands.completion(end)
    assert bench.host_bytes[back:back + length] == bench.host_bytes[source:source + length]
    assert bench.host_bytes[zeroes:zeroes + length] == bytes(length)
    # Without notify and without error there was no other event.
    assert len(commands.events) == 1


@cocotb.test(timeout_time=400, timeout_unit="us")
async def a_fence_holds_only_its_own_queue(dut):
    """A long copy with a fence behind it in one queue, a short one in another: the short is over long
    before, and within each queue the fence holds."""
    bench = Bench(dut, seed=11)
    commands = await bench.start()
    order = []
    long = [commands.put(COPY_IN, 0, DATA, 4096 * ROW, queue=1),
            commands.put(NOP, fence=True, queue=1)]
    short = [commands.put(ZERO, CHANNEL, 0, 4 * ROW, queue=2),
             commands.put(NOP, fence=True, queue=2)]
    await commands.doorbell()
    while len(order) < 4:
        await RisingEdge(dut.clk_i)
        order += [n for n in commands.completions if n not in order]
    assert order == short + long
    assert bench.card_read(0, 4096 * ROW) == bench.host_bytes[DATA:DATA + 4096 * ROW]


@cocotb.test(timeout_time=400, timeout_unit="us")
@cocotb.parametrize(opcode=[COPY_IN, COPY_OUT, ZERO])
async def queues_take_turns_burst_by_burst(dut, opcode):
    """Behind long copies of the other queues, which have all that they can hold, a page waits for as
    many bursts of each as it has itself, and for what was under way."""
    bench = Bench(dut, seed=12)
    commands = await bench.start()
    name = {COPY_IN: "in", COPY_OUT: "out", ZERO: "zeroed"}[opcode]
    long, page = 6400 * ROW, 8 * 64 * ROW
    for _ in range(32):
        for queue in [0, 2]:
            commands.put(opcode, 0, DATA, long, queue=queue)
    await commands.doorbell()
    await commands.until(lambda: bench.rows[name] > 640)
    before = bench.rows[name]
    behind = commands.put(opcode, CHANNEL, DATA + long, page, queue=1)
    await commands.doorbell()
    assert await commands.completion(behind) == (OK, 0, 0)
    # Under way: the buffers (at most 16 bursts), and what left while the command was fetched.
    assert bench.rows[name] - before <= QUEUES * page // ROW + 26 * 64, bench.rows[name] - before


@cocotb.test(timeout_time=400, timeout_unit="us")
@cocotb.parametrize(opcode=[COPY_IN, COPY_OUT])
async def a_higher_level_goes_first_at_the_host_link(dut, opcode):
    """Behind long copies of a lower level a page waits for what may be outstanding of lower levels, not for
    a turn of theirs with each of its bursts; while nobody of the higher level asks, the lower one has all."""
    bench = Bench(dut, seed=15)
    commands = await bench.start(host_latency=100, card_latency=30)
    dut.level_i.value = 2 | 1 << 2
    name = {COPY_IN: "in", COPY_OUT: "out"}[opcode]
    long, page = 6400 * ROW, 16 * 64 * ROW
    for _ in range(8):
        commands.put(opcode, 0, DATA, long, queue=2)
    await commands.doorbell()
    await commands.until(lambda: bench.rows[name] > 640)
    waited = []
    for managed in [0, 1, 1, 1]:
        dut.managed_i.value = managed
        before = bench.rows[name]
        number = commands.put(opcode, CHANNEL, DATA + long, page, queue=1)
        await commands.doorbell()
        assert await commands.completion(number) == (OK, 0, 0)
        waited.append(bench.rows[name] - before - page // ROW)
    # In turn: as many bursts of the other, at least. Then the first finds whole buffers. After that: 256 rows
    # and a burst, four bursts that are here and leave first, and what goes on while the command comes, and
    # its completion (a row a cycle).
    assert waited[0] >= page // ROW, waited
    assert max(waited[2:]) <= 256 + 64 + 4 * 64 + 150, waited
    before = bench.rows[name]
    await ClockCycles(dut.clk_i, 2000)
    assert bench.rows[name] - before > 1000, bench.rows[name] - before


@cocotb.test(timeout_time=400, timeout_unit="us")
@cocotb.parametrize(behind=[COPY_IN, ZERO])
async def zeroing_leaves_the_memory_to_copies(dut, behind):
    """Where memory is the narrow place, a copy behind a long zeroing of another queue has four of five
    bursts, and a zeroing behind a long copy has the fifth."""
    bench = Bench(dut, seed=14)
    commands = await bench.start()
    for number, card in enumerate(bench.card):
        card.write.w_channel.set_pause_generator(stalls(number, 0.5))
    bursts = {COPY_IN: 40, ZERO: 10}
    first, other = {COPY_IN: (ZERO, "zeroed"), ZERO: (COPY_IN, "in")}[behind]
    share = {COPY_IN: 1 / 4, ZERO: 4}[behind]
    commands.put(first, 0, DATA, 10000 * ROW, queue=0)
    await commands.doorbell()
    await commands.until(lambda: bench.rows[other] > 640)
    before = bench.rows[other]
    number = commands.put(behind, CHANNEL, DATA, bursts[behind] * 64 * ROW, queue=1)
    await commands.doorbell()
    assert await commands.completion(number, 60000) == (OK, 0, 0)
    waited = (bench.rows[other] - before) / 64
    # Under way: what the writer has taken, and what left while the command and its first burst came.
    assert waited <= bursts[behind] * share + 14, waited
    if behind == ZERO:
        assert waited >= bursts[behind] * share - 4, waited


@cocotb.test(timeout_time=400, timeout_unit="us")
async def a_failed_copy_is_its_own_queues_matter(dut):
    """Copies of three queues, burst by burst in turns; one meets bus errors."""
    bench = Bench(dut, seed=13)
    commands = await bench.start()
    length = 640 * ROW
    bench.host.read.failing = range(DATA + length, DATA + length + 64)
    numbers = [commands.put(COPY_IN, q * length, DATA + q * length, length, queue=q)
               for q in range(QUEUES)]
    after = [commands.put(COPY_IN, q * length, DATA, ROW, queue=q, fence=True)
             for q in range(QUEUES)]
    await commands.doorbell()
    status = [await commands.completion(number) for number in numbers]
    assert status == [(OK, 0, 0), (BUS_ERROR, 0, 0), (OK, 0, 0)]
    for number in after:
        assert await commands.completion(number) == (OK, 0, 0)


@cocotb.test(timeout_time=400, timeout_unit="us")
async def completion_means_complete(dut):
    """A CopyIn completes only after its last write response, even when that is very late."""
    bench = Bench(dut, seed=4)
    commands = await bench.start()
    bench.card[0].write.b_channel.pause = True
    number = commands.put(COPY_IN, 0, DATA, 70 * ROW)
    waiting = commands.put(NOP, fence=True)
    await commands.doorbell()
    await ClockCycles(dut.clk_i, 600)
    assert bench.card_read(0, 70 * ROW) == bench.host_bytes[DATA:DATA + 70 * ROW]
    assert not commands.completions
    bench.card[0].write.b_channel.pause = False
    await commands.completion(number)
    await commands.completion(waiting)
    # A CopyOut completes only after the host's acceptance.
    bench.host.write.b_channel.pause = True
    number = commands.put(COPY_OUT, 0, DATA + 0x8000, 70 * ROW)
    await commands.doorbell()
    await ClockCycles(dut.clk_i, 600)
    assert not commands.completions and dut.event_tail_o.value == 2
    bench.host.write.b_channel.pause = False
    await commands.completion(number)


@cocotb.test(timeout_time=400, timeout_unit="us")
async def rings_wrap(dut):
    """Small rings, many laps, doorbells of any number of commands."""
    bench = Bench(dut, seed=5)
    commands = await bench.start(command_log2=3, event_log2=2)
    bench.stall(5, 0.3)
    sent, numbers = 0, []
    while sent < 90:
        free = 8 - (commands.tails[0] - (int(dut.command_head_o.value) & 0xFFFFFFFF))
        for _ in range(bench.random.randint(0, free)):
            numbers.append(commands.put(NOP))
            sent += 1
        await commands.doorbell()
        await ClockCycles(dut.clk_i, bench.random.randint(1, 40))
    for number in numbers:
        assert await commands.completion(number) == (OK, 0, 0)
    # Nops complete in ring order.
    assert [words[1] for words in commands.events] == numbers
    assert int(dut.command_head_o.value) & 0xFFFFFFFF == commands.tails[0]
    await bench.idle()
    assert dut.event_tail_o.value == commands.head == len(numbers)


@cocotb.test(timeout_time=400, timeout_unit="us")
async def full_event_ring_holds_everything(dut):
    """Without room no record is written, and none is lost once there is room again."""
    bench = Bench(dut, seed=6)
    commands = await bench.start(event_log2=2)
    commands.room = False
    numbers = [commands.put(NOP) for _ in range(3)]
    numbers += [commands.put(COPY_OUT, k * 0x1000, DATA + k * 0x1000, 0x1000) for k in range(4)]
    numbers += [commands.put(COPY_IN, k * 0x1000, DATA + k * 0x1000, 0x1000) for k in range(8, 12)]
    numbers += [commands.put(ZERO, k * 0x1000, 0, 0x1000) for k in range(16, 18)]
    await commands.doorbell()
    dut.interrupt_i.value = 1
    dut.fault_addr_i.value = 0x1234000
    dut.fault_valid_i.value = 1
    await ClockCycles(dut.clk_i, 1500)
    assert dut.event_tail_o.value == 4 and commands.head == 4
    assert commands.record(4) is None
    commands.room = True
    await commands.give_room()
    await commands.until(lambda: int(dut.fault_ready_o.value) == 1 or
                         any(words[0] & 0xFF == FAULT for words in commands.events))
    await RisingEdge(dut.clk_i)
    dut.fault_valid_i.value = 0
    for number in numbers:
        assert await commands.completion(number) == (OK, 0, 0)
    await bench.idle()
    kinds = [words[0] & 0xFF for words in commands.events]
    assert kinds.count(COMPLETION) == len(numbers)
    assert kinds.count(INTERRUPT) == 1 and kinds.count(FAULT) >= 1


@cocotb.test(timeout_time=400, timeout_unit="us")
async def records_under_way_are_bounded(dut):
    """A host that accepts late has 64 records to accept, and no more, however large its ring is."""
    bench = Bench(dut, seed=21)
    commands = await bench.start(event_log2=7)
    bench.host.write.b_channel.queue_occupancy_limit = 256
    bench.host.write.b_channel.pause = True
    dut.fault_addr_i.value = 0x1234000
    dut.fault_valid_i.value = 1
    await ClockCycles(dut.clk_i, 1000)
    written = [number for number in range(128) if commands.record(number) is not None]
    assert written == list(range(64))
    assert dut.event_tail_o.value == 0
    bench.host.write.b_channel.pause = False
    await commands.until(lambda: len(commands.events) > 200)
    dut.fault_valid_i.value = 0
    await bench.idle()


@cocotb.test(timeout_time=400, timeout_unit="us")
async def queued_faults_come_before_a_later_completion(dut):
    """A slot's reset is over for the host with the completion of a no-op. Faults of the slot that are
    queued by then, because the ring is full, must not come after it."""
    bench = Bench(dut, seed=7)
    commands = await bench.start(event_log2=2)
    sent = []

    async def offer(number):
        dut.fault_addr_i.value = number << 12
        dut.fault_valid_i.value = 1
        while True:
            await ReadOnly()
            taken = bool(dut.fault_ready_o.value)
            await RisingEdge(dut.clk_i)
            if taken:
                sent.append(number)
                dut.fault_valid_i.value = 0
                return

    async def queue(first, count):
        for number in range(first, first + count):
            await offer(number)

    next_fault = 1
    for round_number in range(24):
        # So many records before: whoever's turn it is, and wherever the ring ends.
        commands.room = True
        await commands.give_room()
        for _ in range(round_number % 3):
            await commands.run(NOP)
        await queue(next_fault, round_number // 3 % 4)
        next_fault += round_number // 3 % 4
        await ClockCycles(dut.clk_i, 60)
        commands.room = False
        filler = [commands.put(NOP) for _ in range(4)]
        await commands.doorbell()
        for number in filler:
            await commands.completion(number)
        queued = range(next_fault, next_fault + FAULT_QUEUE)
        next_fault += FAULT_QUEUE
        faults = cocotb.start_soon(queue(queued[0], FAULT_QUEUE))
        await ClockCycles(dut.clk_i, 4)
        barrier = commands.put(NOP, fence=True)
        await commands.doorbell()
        await ClockCycles(dut.clk_i, 150)
        assert barrier not in commands.completions and queued[0] not in sent
        commands.room = True
        await commands.give_room()
        await commands.completion(barrier)
        await faults
        await ClockCycles(dut.clk_i, 60)
        seen = [(words[0] & 0xFF, words[1]) for words in commands.events]
        place = seen.index((COMPLETION, barrier))
        for number in queued:
            assert (FAULT, number << 12) in seen[:place], f"round {round_number}, fault {number}"


@cocotb.test(timeout_time=400, timeout_unit="us")
async def faults_without_end_hold_no_completion(dut):
    """A completion waits for the faults that may have been queued before it, and for no others."""
    bench = Bench(dut, seed=8)
    commands = await bench.start()
    dut.fault_addr_i.value = 0x5000
    dut.fault_valid_i.value = 1
    await ClockCycles(dut.clk_i, 200)
    numbers = [commands.put(NOP) for _ in range(20)]
    await commands.doorbell()
    for number in numbers:
        assert await commands.completion(number) == (OK, 0, 0)
    kinds = [words[0] & 0xFF for words in commands.events]
    first = kinds.index(COMPLETION)
    last = len(kinds) - 1 - kinds[::-1].index(COMPLETION)
    assert kinds[first:last].count(FAULT) <= FAULT_QUEUE * len(numbers) + 1


@cocotb.test(timeout_time=400, timeout_unit="us")
async def malformed_commands_are_refused(dut):
    """Each breaks one rule; each is answered, notify or not; the engine goes on."""
    bench = Bench(dut, seed=7)
    commands = await bench.start()
    before = bench.card_read(0, CARD)
    bad = [
        dict(opcode=0x04), dict(opcode=0x0F), dict(opcode=0x15), dict(opcode=0x21),
        dict(opcode=0xFF),
        dict(opcode=COPY_IN, addr=0, operand=DATA, length=0),
        dict(opcode=COPY_IN, addr=0, operand=DATA, length=63),
        dict(opcode=COPY_IN, addr=0, operand=DATA, length=(1 << 30) + 64),
        dict(opcode=COPY_IN, addr=0, operand=DATA, length=1 << 63),
        dict(opcode=COPY_IN, addr=32, operand=DATA, length=64),
        dict(opcode=COPY_OUT, addr=0, operand=DATA + 1, length=64),
        dict(opcode=COPY_OUT, addr=CARD, operand=DATA, length=64),
        dict(opcode=COPY_OUT, addr=CARD - 64, operand=DATA, length=128),
        dict(opcode=ZERO, addr=1 << 37, length=64),
        # Stripes: granule below a row, above a channel, over four channels of two.
        dict(opcode=ZERO, addr=0, length=64, token=5 << 24 | 1 << 29),
        dict(opcode=ZERO, addr=0, length=64, token=21 << 24 | 1 << 29),
        dict(opcode=ZERO, addr=0, length=64, token=12 << 24 | 2 << 29),
        dict(opcode=ZERO, addr=1 << 63, length=64),
        dict(opcode=INSTALL, addr=0, asid=4),
        dict(opcode=INVALIDATE, addr=1 << 48),
        dict(opcode=GROW, addr=CARD, length=11),
        dict(opcode=GROW, addr=0, length=16),
        dict(opcode=GROW, addr=0, length=11 + 32),
        dict(opcode=GROW, addr=0, length=11, asid=4),
        dict(opcode=FAULT_REPLY, token=8 << 8),
        dict(opcode=FAULT_REPLY, token=255 << 8),
    ]
    numbers = []
    for k, arguments in enumerate(bad):
        numbers.append(commands.put(**arguments, notify=bool(k % 2)))
    good = commands.put(ZERO, CARD - 64, 0, 64)
    await commands.doorbell()
    for number, arguments in zip(numbers, bad):
        assert await commands.completion(number) == (REFUSED, 0, 0), arguments
    assert await commands.completion(good) == (OK, 0, 0)
    await bench.idle()
    assert bench.card_read(0, CARD - 64) == before[:CARD - 64]
    assert not dut.table_cmd_valid_o.value and not dut.fault_reply_valid_o.value


@cocotb.test(timeout_time=400, timeout_unit="us")
async def bus_errors_are_reported(dut):
    """An error of host or card fails the command that met it, and no other."""
    bench = Bench(dut, seed=8)
    commands = await bench.start()
    length = 130 * ROW
    good_source, good_target = DATA + 0x40000, DATA + 0x80000
    for side, access, opcode in [("host", "read", COPY_IN), ("card", "write", COPY_IN),
                                 ("card", "read", COPY_OUT), ("host", "write", COPY_OUT),
                                 ("card", "write", ZERO)]:
        memory = getattr(bench.host if side == "host" else bench.card[0], access)
        base = DATA if side == "host" else 0
        memory.failing = range(base + 70 * ROW, base + 71 * ROW)
        bad = commands.put(opcode, 0, DATA, length, notify=False)
        good = commands.put(opcode, 0x40000, good_target if opcode == COPY_OUT else good_source,
                            length)
        await commands.doorbell()
        assert await commands.completion(bad) == (BUS_ERROR, 0, 0), (side, access)
        assert await commands.completion(good) == (OK, 0, 0), (side, access)
        memory.failing = range(0)
        assert await commands.run(opcode, 0, DATA, length) == (OK, 0, 0)
    # A command that cannot be read is answered as well.
    place = commands.place(0)
    bench.host.read.failing = range(place, place + ROW)
    commands.put(NOP)
    await commands.doorbell()
    await commands.until(lambda: bool(commands.completions))
    assert list(commands.completions.values()) == [(BUS_ERROR, 0, 0)]


@cocotb.test(timeout_time=400, timeout_unit="us")
async def table_commands_run_one_at_a_time(dut):
    """In order, one in flight, with the fields of the ring; answers become statuses."""
    bench = Bench(dut, seed=9)
    commands = await bench.start()
    generator = bench.random
    sent, seen = [], []
    names = {INSTALL: 0, INVALIDATE: 1, PROTECT: 2, READ_CLEAR: 3, GROW: 4}
    answers = [(status, generator.getrandbits(1), generator.getrandbits(1))
               for status in [OK, ABSENT, SET_FULL, REFUSED] * 6]
    for status, _, _ in answers:
        opcode = generator.choice([*names, FAULT_REPLY])
        addr, entry = generator.getrandbits(36) << 12, generator.getrandbits(64)
        requester, index, fail = generator.randrange(8), generator.randrange(64), status % 2
        asid = generator.randrange(4)
        sets_log2 = generator.randrange(10, 16) if opcode == GROW else 0
        if opcode == GROW:
            addr %= CARD
        number = commands.put(opcode, addr, entry, sets_log2,
                              index | requester << 8 | fail << 16, asid=asid)
        sent.append((number, opcode, addr, entry, sets_log2, asid, requester, index, fail))

    async def virtual_memory():
        """Answers after a random time; sees to it that nothing else comes meanwhile."""
        for k, _ in enumerate(sent):
            while True:
                await ReadOnly()
                if dut.table_cmd_valid_o.value or dut.fault_reply_valid_o.value:
                    break
                await RisingEdge(dut.clk_i)
            is_reply = bool(dut.fault_reply_valid_o.value)
            assert is_reply != bool(dut.table_cmd_valid_o.value)
            if is_reply:
                seen.append((FAULT_REPLY, int(dut.fault_reply_entry_o.value),
                             int(dut.fault_reply_requester_o.value),
                             int(dut.fault_reply_index_o.value),
                             int(dut.fault_reply_fail_o.value)))
            else:
                seen.append((int(dut.table_cmd_op_o.value), int(dut.table_cmd_addr_o.value),
                             int(dut.table_cmd_entry_o.value),
                             int(dut.table_cmd_sets_log2_o.value), int(dut.table_cmd_asid_o.value)))
            await ClockCycles(dut.clk_i, generator.randint(1, 10))
            ready = dut.fault_reply_ready_i if is_reply else dut.table_cmd_ready_i
            ready.value = 1
            await RisingEdge(dut.clk_i)
            ready.value = 0
            await RisingEdge(dut.clk_i)
            if is_reply:
                continue
            for _ in range(generator.randint(1, 30)):
                await RisingEdge(dut.clk_i)
                assert not dut.table_cmd_valid_o.value and not dut.fault_reply_valid_o.value
            status, accessed, dirty = answers[k]
            dut.table_rsp_valid_i.value = 1
            dut.table_rsp_status_i.value = status
            dut.table_rsp_accessed_i.value = accessed
            dut.table_rsp_dirty_i.value = dirty
            while True:
                await ReadOnly()
                taken = bool(dut.table_rsp_ready_o.value)
                await RisingEdge(dut.clk_i)
                if taken:
                    break
            dut.table_rsp_valid_i.value = 0
            await RisingEdge(dut.clk_i)

    task = cocotb.start_soon(virtual_memory())
    await commands.doorbell()
    for (number, opcode, *_), answer in zip(sent, answers):
        expected = (OK, 0, 0) if opcode == FAULT_REPLY else answer
        assert await commands.completion(number) == expected
    await task
    for (_, opcode, addr, entry, sets_log2, asid, requester, index, fail), got in zip(sent, seen):
        if opcode == FAULT_REPLY:
            assert got == (FAULT_REPLY, entry, requester, index, fail)
        else:
            assert got == (names[opcode], addr, entry, sets_log2, asid)
    assert [words[1] for words in commands.events] == [entry[0] for entry in sent]


@cocotb.test(timeout_time=400, timeout_unit="us")
async def faults_and_interrupts_become_events(dut):
    """Every field of a fault; one record for a rising edge of an interrupt, or of a closed slot."""
    bench = Bench(dut, seed=10)
    commands = await bench.start()
    sent = []
    for _ in range(20):
        fault = dict(cause=bench.random.randrange(3), asid=bench.random.randrange(16),
                     write=bench.random.randrange(2), ahead=bench.random.randrange(2),
                     addr=bench.random.getrandbits(48), requester=bench.random.randrange(256),
                     index=bench.random.randrange(64))
        for name, value in fault.items():
            getattr(dut, f"fault_{name}_i").value = value
        dut.fault_valid_i.value = 1
        while True:
            await ReadOnly()
            taken = bool(dut.fault_ready_o.value)
            await RisingEdge(dut.clk_i)
            if taken:
                break
        dut.fault_valid_i.value = 0
        sent.append(fault)
    await commands.until(lambda: len(commands.events) == 20)
    for fault, words in zip(sent, commands.events):
        assert words[0] == (FAULT | fault["cause"] << 8 | fault["write"] << 16 |
                            fault["ahead"] << 17 | fault["asid"] << 24)
        assert words[1] == fault["addr"]
        assert words[2] == fault["index"] | fault["requester"] << 8
    commands.events.clear()
    for value in [0b11, 0b11, 0b01, 0b00, 0b10, 0b10]:
        dut.interrupt_i.value = value
        await ClockCycles(dut.clk_i, 60)
    assert sorted(words[0] for words in commands.events) == sorted(
        [INTERRUPT, INTERRUPT | 1 << 8, INTERRUPT | 1 << 8])
    commands.events.clear()
    for value in [0b11, 0b00]:
        dut.closed_i.value = value
        await ClockCycles(dut.clk_i, 60)
    assert sorted(words[0] for words in commands.events) == [SLOT_CLOSED, SLOT_CLOSED | 1 << 8]


@cocotb.test(timeout_time=400, timeout_unit="us")
async def full_speed_both_ways(dut):
    """A row each 1.1 cycles in and out at once, 500 cycles (2 us) away from the host."""
    latency = 500
    bench = Bench(dut, seed=11)
    commands = await bench.start(host_latency=latency, card_latency=30)
    length = 3072 * ROW
    copy_in = commands.put(COPY_IN, 0, DATA, length)
    copy_out = commands.put(COPY_OUT, CHANNEL, DATA + length, length)
    await commands.doorbell()
    clocks = {"in": [], "out": []}
    cycle = 0
    while len(clocks["in"]) < 3072 or len(clocks["out"]) < 3072:
        await RisingEdge(dut.clk_i)
        cycle += 1
        for name, seen in clocks.items():
            if getattr(dut, f"row_{name}_o").value:
                seen.append(cycle)
        assert cycle < 8000, {name: len(seen) for name, seen in clocks.items()}
    for name, seen in clocks.items():
        cycles = seen[-1] - seen[0] + 1
        dut._log.warning("copy %s: %d rows in %d cycles", name, len(seen), cycles)
        assert cycles <= 1.1 * len(seen), name
    assert await commands.completion(copy_in) == (OK, 0, 0)
    assert await commands.completion(copy_out) == (OK, 0, 0)
    assert bench.card_read(0, length) == bench.host_bytes[DATA:DATA + length]
