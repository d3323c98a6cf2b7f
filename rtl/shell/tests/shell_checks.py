# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""cocotb tests of the whole shell, from the host's BAR and the kernel's ports (run by test_shell.py)."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge
from cocotbext.axi import (AxiBus, AxiLiteBus, AxiLiteMaster, AxiLiteRam, AxiMaster, AxiResp)
from command_host import (ABSENT, BUS_ERROR, COPY_IN, COPY_OUT, FAULT, FAULT_REPLY, GROW, INSTALL, INTERRUPT,
                          INVALIDATE, NOP, OK, REFUSED, ROW, SLOT_CLOSED, ZERO, CommandHost, Memory)

# Register offsets: docs/registers.md.
ID, VERSION, GEOMETRY, MEMORY = 0x00, 0x04, 0x08, 0x0C
FEATURES, CLOCK, CHANNEL_BYTES, PAGE_SIZES, KERNEL = 0x18, 0x1C, 0x28, 0x30, 0x7B00
CONTROL, STATUS = 0x20, 0x24
COMMAND_BASE, COMMAND_SIZE, COMMAND_TAIL, COMMAND_HEAD = 0x6000, 0x6008, 0x600C, 0x6010
EVENT_BASE, EVENT_SIZE, EVENT_HEAD, EVENT_TAIL = 0x60, 0x68, 0x6C, 0x70
ROWS_IN, ROWS_OUT, ROWS_ZEROED = 0x80, 0x88, 0x90
SPACE, SLOT, REQUESTER = 0x1000, 0x2000, 0x4000
SPACE_CTRL, SPACE_TABLE_LO, SPACE_TABLE_HI, SPACE_CLASSES, SPACE_MODE = 0x0, 0x4, 0x8, 0xC, 0x10
SPACE_STRIDE = 0x20
L1_0, WALK_READS = 0xA0, 0x98
SLOT_CTRL, SLOT_STATUS, SLOT_INTERRUPT, SLOT_UNANSWERED = 0x0, 0x4, 0x8, 0xC
PORT, PORT_STRIDE = 0x3000, 0x20
WINDOW, WINDOW_STRIDE = 0x100000, 0x10000

CHANNEL = 1 << 22
HOST = 1 << 20
COMMANDS, EVENTS, DATA = 0x0, 0x4000, 0x8000
HOST_BASE = 0x12_3450_0000  # the rings' addresses need both register halves
PAGE = 4096
SETS_LOG2 = 10


def page_entry(frame, read=True, write=True):
    """A table entry for a 4 KiB page in card memory."""
    return frame << 13 | 1 << 5 | write << 2 | read << 1 | 1


class Bench:
    """The shell between a host, two memory channels and a kernel that the test plays."""

    def __init__(self, dut, seed):
        self.dut = dut
        self.random = random.Random(seed)
        cocotb.start_soon(Clock(dut.clk_i, 4, unit="ns").start())
        reset = {"reset": dut.rst_ni, "reset_active_level": False}
        self.bar = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "bar"), dut.clk_i, **reset)
        kernel = {"reset": dut.slot_rst_no, "reset_active_level": False}
        self.ports = [AxiMaster(AxiBus.from_prefix(dut, f"port{p}"), dut.clk_i, **kernel,
                                max_burst_len=64) for p in range(2)]
        self.kernel = AxiLiteRam(AxiLiteBus.from_prefix(dut, "ctl0"), dut.clk_i, **kernel,
                                 size=0x10000)
        self.host_bytes = bytearray(self.random.randbytes(HOST))
        self.host_bytes[:DATA] = bytes(DATA)
        self.card_bytes = [bytearray(self.random.randbytes(CHANNEL)) for _ in range(2)]
        self.host = Memory(dut, "host", HOST, self.host_bytes)
        self.card = [Memory(dut, f"mem{c}", CHANNEL, self.card_bytes[c]) for c in range(2)]
        dut.slot_interrupt_i.value = 0

    async def register(self, offset, value=None):
        """Reads a register, or writes it."""
        if value is None:
            return await self.bar.read_dword(offset)
        await self.bar.write_dword(offset, value)
        return None

    async def start(self):
        """Power-on, then `open`."""
        dut = self.dut
        dut.rst_ni.value = 0
        await ClockCycles(dut.clk_i, 4)
        dut.rst_ni.value = 1
        await ClockCycles(dut.clk_i, 2)
        await self.open()

    async def open(self):
        """Sets up rings and space 0 of a shell that is as after power-on, zeroes its table, lets the slot run."""
        dut = self.dut
        for register, base in [(COMMAND_BASE, COMMANDS), (EVENT_BASE, EVENTS)]:
            await self.register(register, (HOST_BASE + base) & 0xFFFFFFFF)
            await self.register(register + 4, (HOST_BASE + base) >> 32)
        await self.register(COMMAND_SIZE, 6)
        await self.register(EVENT_SIZE, 6)
        self.commands = CommandHost(
            dut, self.host_bytes, (COMMANDS, 64), (EVENTS, 64),
            lambda queue, value: self.register(COMMAND_TAIL + 32 * queue, value),
            lambda value: self.register(EVENT_HEAD, value))
        await self.register(CONTROL, 1)
        assert await self.commands.run(ZERO, 0, 0, 64 << SETS_LOG2) == (OK, 0, 0)
        await self.register(SPACE + SPACE_TABLE_LO, 0)
        await self.register(SPACE + SPACE_TABLE_HI, 0)
        await self.register(SPACE + SPACE_CLASSES, 1)
        await self.register(SPACE + SPACE_CTRL, SETS_LOG2 << 8 | 1)
        await self.register(SLOT + SLOT_CTRL, 1)
        await RisingEdge(dut.clk_i)
        assert dut.slot_rst_no.value == 1

    def reports(self):
        """What the slots have reported."""
        kinds = (INTERRUPT, SLOT_CLOSED)
        return [words[0] for words in self.commands.events if words[0] & 0xFF in kinds]

    def stall(self, seed):
        """Host and card stall at random from now on."""
        for number, memory in enumerate([self.host, *self.card]):
            memory.stall(seed * 4 + number, 0.3)

    def card_read(self, addr, length):
        """Bytes of card memory."""
        return bytes((self.card_bytes[0] + self.card_bytes[1])[addr:addr + length])


@cocotb.test(timeout_time=400, timeout_unit="us")
async def registers(dut):
    """Identity, geometry, write and read back, absent elements, addresses that nothing answers."""
    bench = Bench(dut, 1)
    await bench.start()
    assert await bench.register(ID) == 0x424D4F54
    assert await bench.register(VERSION) == 0x00020009
    assert await bench.register(GEOMETRY) == 1 | 2 << 8 | 4 << 16 | 2 << 26
    # What the bench ties: constants, which no write changes. The second slot does not exist.
    for register, value in [(FEATURES, 0), (CLOCK, 4000), (CHANNEL_BYTES, 1 << 22), (CHANNEL_BYTES + 4, 1),
                            (PAGE_SIZES, (1 << 19) - 1), (KERNEL, 0x89AB_CDEF), (KERNEL + 4, 0x0123_4567),
                            (KERNEL + 8, 0), (KERNEL + 12, 0)]:
        await bench.register(register, 0xFFFF_FFFF)
        assert await bench.register(register) == value, f"register 0x{register:x}"
    assert await bench.register(MEMORY) == 2 | 22 << 8
    assert await bench.register(L1_0) == 12 | 5 << 8 | 2 << 16
    assert await bench.register(L1_0 + 4) >> 16 == 0
    assert await bench.register(STATUS) == 1
    assert await bench.register(SPACE + SPACE_CTRL) == SETS_LOG2 << 8 | 1
    assert await bench.register(COMMAND_BASE) == HOST_BASE & 0xFFFFFFFF
    assert await bench.register(COMMAND_BASE + 4) == HOST_BASE >> 32
    for space in range(1, 4):
        for offset, value in [(SPACE_TABLE_LO, 0x12345678 * space), (SPACE_TABLE_HI, space),
                              (SPACE_CLASSES, 1 << space), (SPACE_CTRL, 11 << 8),
                              (SPACE_MODE, space)]:
            await bench.register(SPACE + space * SPACE_STRIDE + offset, value)
    for space in range(1, 4):
        base = SPACE + space * SPACE_STRIDE
        assert await bench.register(base + SPACE_TABLE_LO) == 0x12345678 * space & 0xFFFFFFC0
        assert await bench.register(base + SPACE_TABLE_HI) == space
        assert await bench.register(base + SPACE_CLASSES) == 1 << space
        assert await bench.register(base + SPACE_CTRL) == 11 << 8
        assert await bench.register(base + SPACE_MODE) == space
    # One byte of a register.
    await bench.bar.write(SPACE + SPACE_STRIDE + SPACE_CLASSES + 1, b"\x05")
    assert await bench.register(SPACE + SPACE_STRIDE + SPACE_CLASSES) == 0x502
    for absent in [SPACE + 4 * SPACE_STRIDE, SPACE + 15 * SPACE_STRIDE + 0xC, SLOT + 16, REQUESTER + 4 * 32]:
        await bench.register(absent, 0xFFFFFFFF)
        assert await bench.register(absent) == 0
    for nowhere in [0x8000, 0xFFFFC, WINDOW + WINDOW_STRIDE, 0x200000, 0xFFFF0000]:
        assert (await bench.bar.read(nowhere, 4)).resp == AxiResp.DECERR
        assert (await bench.bar.write(nowhere, bytes(4))).resp == AxiResp.DECERR


@cocotb.test(timeout_time=400, timeout_unit="us")
async def slot_control(dut):
    """The window reaches the kernel; a kernel that does not answer hangs nobody; reset heals."""
    bench = Bench(dut, 2)
    await bench.start()
    for _ in range(10):
        offset, value = bench.random.randrange(0, 0x10000, 4), bench.random.getrandbits(32)
        await bench.register(WINDOW + offset, value)
        assert bench.kernel.read_dword(offset) == value
        assert await bench.register(WINDOW + offset) == value
    bench.kernel.read_if.ar_channel.pause = True
    assert (await bench.bar.read(WINDOW, 4)).resp == AxiResp.SLVERR
    assert await bench.register(SLOT + SLOT_STATUS) == 0b111
    assert await bench.register(SLOT + SLOT_UNANSWERED) == 0
    await bench.commands.until(lambda: bench.reports() == [SLOT_CLOSED])
    # Answered at once now, and the rest of the BAR works.
    assert (await bench.bar.write(WINDOW, bytes(4))).resp == AxiResp.SLVERR
    assert await bench.register(ID) == 0x424D4F54
    await bench.register(SLOT + SLOT_CTRL, 0)
    await ClockCycles(dut.clk_i, 2)
    assert dut.slot_rst_no.value == 0
    assert (await bench.bar.read(WINDOW, 4)).resp == AxiResp.SLVERR
    bench.kernel.read_if.ar_channel.pause = False
    await bench.register(SLOT + SLOT_CTRL, 1)
    assert await bench.register(SLOT + SLOT_STATUS) == 0b01
    bench.kernel.write_dword(8, 0xCAFE)
    assert await bench.register(WINDOW + 8) == 0xCAFE


@cocotb.test(timeout_time=400, timeout_unit="us")
async def copies_through_the_bar(dut):
    """CopyIn, CopyOut over both channels, compared; counters; kernel interrupt."""
    bench = Bench(dut, 3)
    await bench.start()
    bench.stall(3)
    commands = bench.commands
    source, target, length = HOST_BASE + DATA, HOST_BASE + 0x80000, 96 * ROW
    at = CHANNEL - 40 * ROW
    commands.put(COPY_IN, at, source, length, notify=False)
    assert await commands.run(COPY_OUT, at, target, length, fence=True) == (OK, 0, 0)
    assert bench.card_read(at, length) == bench.host_bytes[DATA:DATA + length]
    assert bench.host_bytes[0x80000:0x80000 + length] == bench.host_bytes[DATA:DATA + length]
    assert await bench.register(ROWS_IN) == 96 and await bench.register(ROWS_OUT) == 96
    assert await bench.register(ROWS_ZEROED) == 1 << SETS_LOG2
    assert await bench.register(COMMAND_HEAD) == commands.tails[0]
    assert await bench.register(EVENT_TAIL) == commands.head
    dut.slot_interrupt_i.value = 1
    await commands.until(lambda: any(words[0] == INTERRUPT for words in commands.events))
    assert await bench.register(STATUS) == 1


@cocotb.test(timeout_time=800, timeout_unit="us")
async def a_table_grows(dut):
    """Grow moves the table, the registers follow, the old table's memory is free."""
    bench = Bench(dut, 7)
    await bench.start()
    commands = bench.commands
    base, frame, table = 0x7F00_1234_0000, 0x100, CHANNEL + (1 << 20)
    for k in range(4):
        assert await commands.run(INSTALL, base + k * PAGE, page_entry(frame + k)) == (OK, 0, 0)
    assert await commands.run(GROW, table, 0, SETS_LOG2) == (REFUSED, 0, 0)
    assert await bench.register(SPACE + SPACE_TABLE_LO) == 0
    assert await commands.run(GROW, table, 0, SETS_LOG2 + 1) == (OK, 0, 0)
    assert await bench.register(SPACE + SPACE_TABLE_LO) == table
    assert await bench.register(SPACE + SPACE_CTRL) == (SETS_LOG2 + 1) << 8 | 1
    assert await commands.run(ZERO, 0, 0, 64 << SETS_LOG2) == (OK, 0, 0)
    for k in range(4):
        got = await bench.ports[0].read(base + k * PAGE, 256)
        assert got.resp == AxiResp.OKAY and got.data == bench.card_read((frame + k) * PAGE, 256)
        assert (await commands.run(INVALIDATE, base + k * PAGE, 0))[0] == OK
    assert await bench.register(WALK_READS) >= 4


@cocotb.test(timeout_time=400, timeout_unit="us")
async def interrupts_are_merged(dut):
    """An interrupt without end is one record for each time that the host asks."""
    bench = Bench(dut, 6)
    await bench.start()

    async def storm():
        while True:
            dut.slot_interrupt_i.value = not dut.slot_interrupt_i.value
            await RisingEdge(dut.clk_i)

    task = cocotb.start_soon(storm())
    for count in range(1, 4):
        await bench.commands.until(lambda: bench.reports() == [INTERRUPT] * count)
        await ClockCycles(dut.clk_i, 500)
        assert bench.reports() == [INTERRUPT] * count
        await bench.register(SLOT + SLOT_INTERRUPT, 1)
    task.cancel()


@cocotb.test(timeout_time=400, timeout_unit="us")
async def guard_closes_a_slot(dut):
    """A burst across 4 KiB: the slot is closed, says why, answers with errors, and recovers."""
    bench = Bench(dut, 7)
    await bench.start()
    commands = bench.commands
    base = 0x7F00_1234_0000
    assert await commands.run(INSTALL, base, page_entry(0x100)) == (OK, 0, 0)
    assert (await bench.ports[0].read(base, 64)).resp == AxiResp.OKAY
    # By hand: cocotbext-axi breaks no rules. Nor does it take what it has not asked for.
    bench.ports[1].read_if.r_channel.pause = True
    port = 1
    dut.port1_araddr.value = base + PAGE - 64
    dut.port1_arlen.value = 3
    dut.port1_arsize.value = 6
    dut.port1_arburst.value = 1
    dut.port1_arid.value = 0
    dut.port1_arvalid.value = 1
    while True:
        await ReadOnly()
        taken = bool(dut.port1_arready.value)
        await RisingEdge(dut.clk_i)
        if taken:
            break
    dut.port1_arvalid.value = 0
    await commands.until(lambda: bench.reports() == [SLOT_CLOSED])
    assert await bench.register(SLOT + SLOT_STATUS) & 0b110 == 0b100
    at = PORT + port * PORT_STRIDE
    assert await bench.register(at) == 3 | 6 << 8 | 1 << 12 | 3 << 24
    assert await bench.register(at + 4) == (base + PAGE - 64) & 0xFFFFFFFF
    assert await bench.register(at + 8) == base >> 32
    assert await bench.register(PORT) == 0
    # Every port of the slot is closed; the control interface answers.
    assert (await bench.ports[0].read(base, 64)).resp == AxiResp.SLVERR
    assert (await bench.ports[0].write(base, bytes(64))).resp == AxiResp.SLVERR
    await bench.register(WINDOW + 8, 0xCAFE)
    assert await bench.register(WINDOW + 8) == 0xCAFE
    await bench.register(SLOT + SLOT_CTRL, 0)
    await ClockCycles(dut.clk_i, 20)
    assert await bench.register(SLOT + SLOT_STATUS) == 0b001
    assert await bench.register(at) & 0xF == 3
    await bench.register(SLOT + SLOT_CTRL, 1)
    await ClockCycles(dut.clk_i, 20)
    assert await bench.register(at) & 0xF == 0
    assert (await bench.ports[0].read(base, 64)).data == bench.card_read(0x100 * PAGE, 64)
    assert bench.reports() == [SLOT_CLOSED]


@cocotb.test(timeout_time=400, timeout_unit="us")
async def kernel_reads_and_writes_pages(dut):
    """Installed pages serve the ports; dirty comes back; after Invalidate an access faults."""
    bench = Bench(dut, 4)
    await bench.start()
    bench.stall(4)
    commands = bench.commands
    base = 0x7F00_1234_0000
    frames = [0x100, 0x80, (CHANNEL >> 12) + 3, 0x101]
    for k, frame in enumerate(frames):
        assert await commands.run(INSTALL, base + k * PAGE, page_entry(frame)) == (OK, 0, 0)
    expected = [bytearray(bench.card_read(frame * PAGE, PAGE)) for frame in frames]
    for k in range(4):
        got = await bench.ports[k % 2].read(base + k * PAGE, PAGE)
        assert got.resp == AxiResp.OKAY and got.data == expected[k]
    for _ in range(20):
        k, offset = bench.random.randrange(1, 4), bench.random.randrange(PAGE)
        data = bench.random.randbytes(bench.random.randint(1, min(300, PAGE - offset)))
        written = await bench.ports[1].write(base + k * PAGE + offset, data)
        assert written.resp == AxiResp.OKAY
        expected[k][offset:offset + len(data)] = data
    for k, frame in enumerate(frames):
        assert bench.card_read(frame * PAGE, PAGE) == expected[k]
    assert await commands.run(INVALIDATE, base, 0) == (OK, 1, 0)
    assert (await commands.run(INVALIDATE, base + PAGE, 0))[0] == OK
    assert await commands.run(INVALIDATE, base + PAGE, 0) == (ABSENT, 0, 0)
    assert await bench.register(REQUESTER + 0x0C) == 0
    read = cocotb.start_soon(bench.ports[0].read(base, 256))
    await commands.until(lambda: any(words[0] & 0xFF == FAULT for words in commands.events))
    assert await bench.register(REQUESTER + 0x10) == 1
    fault = next(words for words in commands.events if words[0] & 0xFF == FAULT)
    assert fault[1] == base and fault[0] == FAULT
    number = commands.put(FAULT_REPLY, 0, 0, 0, fault[2] | 1 << 16)
    await commands.doorbell()
    assert (await read).resp == AxiResp.SLVERR
    assert await commands.completion(number) == (OK, 0, 0)


@cocotb.test(timeout_time=400, timeout_unit="us")
async def faults_are_served(dut):
    """A kernel streams over pages that are not there; each fault is answered like the pager does."""
    bench = Bench(dut, 5)
    await bench.start()
    bench.stall(5)
    commands = bench.commands
    base, pages = 0x5000_0000, 6
    source = HOST_BASE + DATA
    served = []

    async def pager():
        """CopyIn, Install, FaultReply for each fault, the latter two behind fences."""
        seen = 0
        while True:
            await RisingEdge(dut.clk_i)
            if seen == len(commands.events):
                continue
            words = commands.events[seen]
            seen += 1
            if words[0] & 0xFF != FAULT:
                continue
            page = words[1] // PAGE * PAGE
            entry = page_entry(0x200 + (page - base) // PAGE)
            if page not in served:
                served.append(page)
                commands.put(COPY_IN, (entry >> 13 & 0x1FFFFFF) * PAGE, source + page - base, PAGE,
                             notify=False)
                commands.put(INSTALL, page, entry, fence=True, notify=False)
            commands.put(FAULT_REPLY, 0, entry, 0, words[2], notify=False)
            await commands.doorbell()

    task = cocotb.start_soon(pager())
    got = await bench.ports[0].read(base, pages * PAGE)
    assert got.resp == AxiResp.OKAY
    assert got.data == bench.host_bytes[DATA:DATA + pages * PAGE]
    written = await bench.ports[1].write(base + PAGE // 2, bytes(range(256)) * 16)
    assert written.resp == AxiResp.OKAY
    assert sorted(served) == [base + k * PAGE for k in range(pages)]
    task.cancel()
    at = 0x200 * PAGE + PAGE // 2
    assert bench.card_read(at, PAGE) == bytes(range(256)) * 16
    # A slot in reset lets go of everything, and works again afterwards.
    lost = cocotb.start_soon(bench.ports[0].read(base + 0x100000, 64))
    events = len(commands.events)
    await commands.until(lambda: len(commands.events) > events)
    await bench.register(SLOT + SLOT_CTRL, 0)
    await bench.register(SLOT + SLOT_CTRL, 1)
    lost.cancel()
    got = await bench.ports[0].read(base, 64)
    assert got.data == bench.host_bytes[DATA:DATA + 64]
    assert await commands.run(NOP) == (OK, 0, 0)


@cocotb.test(timeout_time=400, timeout_unit="us")
async def a_slot_is_reset_at_any_moment(dut):
    """Reads, writes and faults of both ports under way: the slot leaves reset when they are gone, and then works."""
    bench = Bench(dut, 8)
    await bench.start()
    bench.stall(8)
    commands, rng = bench.commands, bench.random
    base, frames = 0x6000_0000, [0x180, (CHANNEL >> 12) + 9]
    for k, frame in enumerate(frames):
        assert await commands.run(INSTALL, base + k * PAGE, page_entry(frame)) == (OK, 0, 0)

    async def traffic(port):
        while True:
            # One access in eight is of a page that is not there, and waits for the host.
            at = base + rng.randrange(2 * PAGE) if rng.random() < 0.88 else base + 0x100000
            length = rng.randrange(1, 2000)
            if rng.random() < 0.5:
                cocotb.start_soon(bench.ports[port].read(at, length))
            else:
                cocotb.start_soon(bench.ports[port].write(at, bytes(length)))
            await ClockCycles(dut.clk_i, rng.randrange(1, 40))

    for _ in range(10):
        running = [cocotb.start_soon(traffic(port)) for port in range(2)]
        await ClockCycles(dut.clk_i, rng.randrange(1, 300))
        for task in running:
            task.cancel()
        await bench.register(SLOT + SLOT_CTRL, 0)
        # Faults of the run that is over are in the ring before this.
        assert await commands.run(NOP, fence=True) == (OK, 0, 0)
        await bench.register(SLOT + SLOT_CTRL, 1)
        await commands.until(lambda: dut.slot_rst_no.value == 1)
        data, offset = rng.randbytes(rng.randrange(1, 300)), rng.randrange(PAGE - 300)
        k = rng.randrange(2)
        assert (await bench.ports[k].write(base + k * PAGE + offset, data)).resp == AxiResp.OKAY
        got = await bench.ports[1 - k].read(base + k * PAGE + offset, len(data))
        assert got.resp == AxiResp.OKAY and got.data == data
        assert bench.card_read(frames[k] * PAGE + offset, len(data)) == data


RESET, SHELL_INTERRUPT, ERROR, ERROR_MASTER, ERROR_READ, ERROR_WRITE = 0x34, 0x38, 0x40, 0x44, 0x48, 0x4C
BUSY, DONE, USED = 1 << 1, 1 << 2, 1 << 3


class Unanswered:
    """What a memory's bus has been given and has not answered: reads, writes, and the data of writes."""

    def __init__(self, dut, prefix):
        self.reads = self.writes = self.data = self.offered = self.begun = 0
        self.pins = [getattr(dut, f"{prefix}_{name}") for name in (
            "arvalid", "arready", "rvalid", "rready", "rlast", "awvalid", "awready", "wvalid", "wready", "wlast",
            "bvalid", "bready")]
        cocotb.start_soon(self._watch(dut))

    async def _watch(self, dut):
        while True:
            await RisingEdge(dut.clk_i)
            (arvalid, arready, rvalid, rready, rlast, awvalid, awready, wvalid, wready, wlast, bvalid,
             bready) = (bool(pin.value) for pin in self.pins)
            self.reads += (arvalid and arready) - (rvalid and rready and rlast)
            self.writes += (awvalid and awready) - (bvalid and bready)
            self.data += (wvalid and wready and wlast) - (bvalid and bready)
            self.offered = arvalid + awvalid + wvalid
            self.begun += (arvalid and arready) + (awvalid and awready)

    def none(self):
        """Whether there is nothing."""
        return (self.reads, self.writes, self.data, self.offered) == (0, 0, 0, 0)


@cocotb.test(timeout_time=4000, timeout_unit="us")
async def the_host_resets_the_shell_at_any_moment(dut):
    """Copies, faults, and accesses of both ports under way: all that memories have taken is answered before the reset,
    nothing is written after it, everything is forgotten, and the next host finds a card that works."""
    bench = Bench(dut, 9)
    await bench.start()
    buses = [Unanswered(dut, prefix) for prefix in ("host", "mem0", "mem1")]
    rng, base = bench.random, 0x6000_0000
    waited = set()

    async def traffic(port):
        while True:
            # One access in eight is of a page that is not there, and waits for the host for ever.
            at = base + rng.randrange(PAGE) if rng.random() < 0.88 else base + 0x100000
            length = rng.randrange(1, 2000)
            if rng.random() < 0.5:
                cocotb.start_soon(bench.ports[port].read(at, length))
            else:
                cocotb.start_soon(bench.ports[port].write(at, bytes(length)))
            await ClockCycles(dut.clk_i, rng.randrange(1, 40))

    for attempt in range(12):
        bench.stall(100 + attempt)
        commands = bench.commands
        assert await commands.run(INSTALL, base, page_entry(0x180)) == (OK, 0, 0)
        for _ in range(rng.randrange(1, 6)):
            length = ROW * rng.randrange(1, 300)
            commands.put(COPY_IN, CHANNEL - 40 * ROW, HOST_BASE + DATA, length, notify=bool(rng.randrange(2)))
            commands.put(COPY_OUT, CHANNEL - 40 * ROW, HOST_BASE + 0x80000, length)
        await commands.doorbell()
        running = [cocotb.start_soon(traffic(port)) for port in range(2)]
        if rng.random() < 0.3:
            bench.kernel.read_if.ar_channel.pause = True
            await bench.bar.read(WINDOW, 4)
        await ClockCycles(dut.clk_i, rng.randrange(1, 600))
        commands.leave()
        assert await bench.register(RESET) & (BUSY | USED) == USED
        # The pulse, and again while it is busy: that is ignored.
        await bench.register(RESET, 1)
        begun = [bus.begun for bus in buses]
        await bench.register(RESET, 1)
        if attempt % 3 == 2:
            # A kernel that does not answer: the reset waits for the end of the access.
            bench.kernel.read_if.ar_channel.pause = True
            assert (await bench.bar.read(WINDOW, 4)).resp == AxiResp.SLVERR
        while dut.slot_rst_no.value == 1:
            waited.add(await bench.register(RESET) >> 8)
            # An access that comes when the shell takes none waits, and is answered behind the reset.
            await bench.register(RESET, 0)
            await RisingEdge(dut.clk_i)
        await ReadOnly()
        assert all(bus.none() for bus in buses), f"attempt {attempt}: a burst was cut off"
        # What had been granted: as many addresses as stand in the registers of a bus.
        assert all(bus.begun - before <= 4 for bus, before in zip(buses, begun, strict=True))
        await RisingEdge(dut.clk_i)
        for task in running:
            task.cancel()
        bench.kernel.read_if.ar_channel.pause = False
        while await bench.register(RESET) & BUSY:
            pass
        assert await bench.register(RESET) == DONE
        if attempt % 3 == 2:
            # Where the reset was quicker, that access came after it: to a slot in reset, which is an error of the new life.
            await bench.register(ERROR, 1)
            await ClockCycles(dut.clk_i, 2)
        then = bytes(bench.host_bytes)
        for register, value in [(CONTROL, 0), (STATUS, 1), (EVENT_BASE, 0), (EVENT_HEAD, 0), (EVENT_TAIL, 0),
                                (COMMAND_BASE, 0), (COMMAND_TAIL, 0), (COMMAND_HEAD, 0), (SPACE + SPACE_CTRL, 0),
                                (SLOT + SLOT_CTRL, 0), (SLOT + SLOT_STATUS, 1), (ROWS_IN, 0), (SHELL_INTERRUPT, 1),
                                (ERROR, 0)]:
            assert await bench.register(register) == value, f"register 0x{register:x}"
        await ClockCycles(dut.clk_i, 300)
        assert all(bus.none() for bus in buses) and bytes(bench.host_bytes) == then
        # The next host: rings anew, and nothing of the old one comes.
        bench.host_bytes[:DATA] = bytes(DATA)
        await bench.open()
        assert await bench.register(RESET) == DONE | USED
        got = cocotb.start_soon(bench.ports[0].read(base, 64))
        await bench.commands.until(lambda: bench.commands.events[1:] != [])
        assert [words[0] & 0xFF for words in bench.commands.events[1:]] == [FAULT], "the old page is still translated"
        await bench.register(SLOT + SLOT_CTRL, 0)
        await bench.register(SLOT + SLOT_CTRL, 1)
        got.cancel()
        await ClockCycles(dut.clk_i, 4)
        assert await bench.commands.run(INSTALL, base, page_entry(0x180)) == (OK, 0, 0)
        data = rng.randbytes(300)
        assert (await bench.ports[1].write(base + 100, data)).resp == AxiResp.OKAY
        assert (await bench.ports[0].read(base + 100, 300)).data == data
        assert await bench.commands.run(INVALIDATE, base, 0) == (OK, 1, 1)
    # Of what may be waited for everything was, in some attempt.
    assert set().union(*({bit for bit in range(4) if mask >> bit & 1} for mask in waited)) == {0, 1, 2, 3}


@cocotb.test(timeout_time=2000, timeout_unit="us")
async def a_reset_does_not_look_too_early(dut):
    """One answer of each kind is due when the reset is begun, at some distance from its request: the reset waits for it
    and for nothing else, and nothing is reset before it has come."""
    bench = Bench(dut, 12)
    await bench.start()
    # Which answer is due, and the command that it ends: read and write of the host's memory and of the card's.
    answers = [(bench.host.read.r_channel, COPY_IN), (bench.host.write.b_channel, COPY_OUT),
               (bench.card[0].read.r_channel, COPY_OUT), (bench.card[0].write.b_channel, ZERO)]
    for kind, (channel, opcode) in enumerate(answers):
        held = 0
        for distance in (6, 20, 33, 47):
            channel.pause = True
            if kind == 0:
                # What the command ring holds is read first.
                channel.pause = False
            address = 0 if opcode == ZERO else HOST_BASE + DATA
            bench.commands.put(opcode, 0x10000, address, 2 * ROW)
            await bench.commands.doorbell()
            if kind == 0:
                while dut.host_arvalid.value == 0 or dut.host_arid.value != 1:
                    await RisingEdge(dut.clk_i)
                channel.pause = True
            await ClockCycles(dut.clk_i, distance)
            bench.commands.leave()
            await bench.register(RESET, 1)
            for _ in range(8):
                state = await bench.register(RESET)
                if not state & BUSY:
                    break
                # Behind three cycles what is waited for is what is due, and the reset waits.
                assert dut.slot_rst_no.value == 1, f"kind {kind}, distance {distance}: reset while an answer is due"
            if state & BUSY:
                assert state >> 8 == 1 << kind, f"kind {kind}, distance {distance}: waits for {state >> 8:#b}"
                held += 1
            channel.pause = False
            while await bench.register(RESET) != DONE:
                pass
            assert dut.slot_rst_no.value == 0
            bench.host_bytes[:DATA] = bytes(DATA)
            await bench.open()
        assert held >= 2, f"kind {kind}: an answer was due {held} times"


@cocotb.test(timeout_time=400, timeout_unit="us")
async def errors_are_held(dut):
    """Error responses of every master are held, with the first of each kind, until 1 is written or the shell is reset."""
    bench = Bench(dut, 10)
    await bench.start()
    commands = bench.commands
    assert await bench.register(ERROR) == 0
    # A copy from host memory that fails, then one from card memory, then both directions of the other side.
    bench.host.read.failing = range(HOST_BASE + 0x90000, HOST_BASE + 0xA0000)
    assert (await commands.run(COPY_IN, 0x100000, HOST_BASE + 0x90000, 4 * ROW))[0] == BUS_ERROR
    assert await bench.register(ERROR) == 1 << 2
    assert await bench.register(ERROR_MASTER) == 1 | 2 << 4 | 1 << 8
    bench.card[1].write.failing = range(CHANNEL)
    assert (await commands.run(COPY_IN, CHANNEL, HOST_BASE + DATA, 4 * ROW))[0] == BUS_ERROR
    assert await bench.register(ERROR) == 1 << 2 | 1 << 5
    assert await bench.register(ERROR_MASTER) == 1 | 2 << 4 | 1 << 8, "the first stays"
    await bench.register(ERROR, 1 << 2)
    assert await bench.register(ERROR) == 1 << 5
    await bench.register(ERROR, 1 << 5)
    assert (await commands.run(COPY_IN, CHANNEL, HOST_BASE + DATA, 4 * ROW))[0] == BUS_ERROR
    assert await bench.register(ERROR_MASTER) == 4 | 2 << 4 | 1 << 8
    await bench.register(ERROR, 0x3F)
    bench.card[0].read.failing = range(CHANNEL)
    assert (await commands.run(COPY_OUT, 0x100000, HOST_BASE + 0x80000, 4 * ROW))[0] == BUS_ERROR
    assert await bench.register(ERROR) == 1 << 4 and await bench.register(ERROR_MASTER) == 3 | 2 << 4
    bench.card[0].read.failing = range(0)
    await bench.register(ERROR, 0x3F)
    bench.host.write.failing = range(HOST_BASE + 0x80000, HOST_BASE + 0x81000)
    assert (await commands.run(COPY_OUT, 0x100000, HOST_BASE + 0x80000, 4 * ROW))[0] == BUS_ERROR
    assert await bench.register(ERROR) == 1 << 3 and await bench.register(ERROR_MASTER) == 2 | 2 << 4 | 2 << 8
    # Accesses of the host: DECERR where nothing is, SLVERR of a kernel in reset.
    assert (await bench.bar.read(0x200008, 4)).resp == AxiResp.DECERR
    assert await bench.register(ERROR) == 1 << 3 | 1 and await bench.register(ERROR_READ) == 0x200008 | 3 << 28
    await bench.register(SLOT + SLOT_CTRL, 0)
    await ClockCycles(dut.clk_i, 4)
    assert (await bench.bar.read(WINDOW + 0x14, 4)).resp == AxiResp.SLVERR
    assert await bench.register(ERROR_READ) == 0x200008 | 3 << 28, "the first stays"
    assert (await bench.bar.write(WINDOW + 0x18, bytes(4))).resp == AxiResp.SLVERR
    assert await bench.register(ERROR) == 0b1011 and await bench.register(ERROR_WRITE) == WINDOW + 0x18 | 2 << 28
    assert (await bench.bar.write(WINDOW + 0x20, bytes(4))).resp == AxiResp.SLVERR
    assert await bench.register(ERROR_WRITE) == WINDOW + 0x18 | 2 << 28, "the first stays"
    await bench.register(ERROR, 0x3F)
    assert (await bench.bar.write(WINDOW + 0x1C, bytes(4))).resp == AxiResp.SLVERR
    assert await bench.register(ERROR) == 0b10
    assert (await bench.bar.read(WINDOW + 0x14, 4)).resp == AxiResp.SLVERR
    assert await bench.register(ERROR_READ) == WINDOW + 0x14 | 2 << 28
    await bench.register(RESET, 1)
    while await bench.register(RESET) != DONE:
        pass
    assert await bench.register(ERROR) == 0


@cocotb.test(timeout_time=400, timeout_unit="us")
async def interrupts_wait_for_the_acknowledge(dut):
    """With ACKNOWLEDGE there is one interrupt until EVENT_HEAD is written, then one at once if records are left."""
    bench = Bench(dut, 11)
    await bench.start()
    commands = bench.commands
    commands.leave()
    count = 0

    async def watch():
        nonlocal count
        while True:
            await RisingEdge(dut.clk_i)
            count += int(dut.irq_o.value)

    async def nops(number):
        for _ in range(number):
            commands.put(NOP)
        await commands.doorbell()
        await commands.until(lambda: commands.record(written + number - 1) is not None)
        await ClockCycles(dut.clk_i, 20)

    cocotb.start_soon(watch())
    written = await bench.register(EVENT_TAIL)
    await bench.register(EVENT_HEAD, written)
    await bench.register(SHELL_INTERRUPT, 0b101)
    await nops(3)
    written += 3
    assert count == 1 and await bench.register(SHELL_INTERRUPT) == 0b101 | 1 << 8 | 1 << 10
    await bench.register(EVENT_HEAD, written - 1)
    await ClockCycles(dut.clk_i, 10)
    assert count == 2, "one record is left"
    await bench.register(EVENT_HEAD, written)
    await ClockCycles(dut.clk_i, 10)
    assert count == 2 and await bench.register(SHELL_INTERRUPT) == 0b101
    # Masked: pending, and nothing comes; then it does.
    await bench.register(SHELL_INTERRUPT, 0b100)
    await nops(2)
    written += 2
    assert count == 2 and await bench.register(SHELL_INTERRUPT) == 0b100 | 1 << 8
    await bench.register(SHELL_INTERRUPT, 0b110)
    await bench.bar.read(0x200000, 4)
    await ClockCycles(dut.clk_i, 10)
    assert count == 3 and await bench.register(SHELL_INTERRUPT) == 0b110 | 1 << 8 | 1 << 9 | 1 << 10
    await bench.register(ERROR, 1)
    await bench.register(EVENT_HEAD, written)
    await ClockCycles(dut.clk_i, 10)
    assert count == 3 and await bench.register(SHELL_INTERRUPT) == 0b110
    # Without ACKNOWLEDGE each record is one.
    await bench.register(SHELL_INTERRUPT, 1)
    await nops(4)
    assert count == 7


@cocotb.test(timeout_time=1000, timeout_unit="us")
async def a_write_is_before_a_reset_or_after_it(dut):
    """A register is written at every distance from a reset: a write that is answered when the reset has begun is not undone
    by it."""
    bench = Bench(dut, 13)
    await bench.start()
    behind = 0
    for distance in range(24):
        value = 0x1000 * (distance + 1)
        reset = cocotb.start_soon(bench.register(RESET, 1))
        await ClockCycles(dut.clk_i, distance)
        write = cocotb.start_soon(bench.register(EVENT_BASE, value))
        has_begun = False
        while not write.done():
            has_begun |= dut.slot_rst_no.value == 0
            await RisingEdge(dut.clk_i)
        await reset
        while await bench.register(RESET) & BUSY:
            pass
        assert dut.slot_rst_no.value == 0
        found = await bench.register(EVENT_BASE)
        assert found == value if has_begun else found in (0, value), f"distance {distance}: 0x{found:x}"
        behind += has_begun
        bench.commands.leave()
        bench.host_bytes[:DATA] = bytes(DATA)
        await bench.open()
    assert 4 <= behind <= 20, f"{behind} writes were answered behind the reset"
