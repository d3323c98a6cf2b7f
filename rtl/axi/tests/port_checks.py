# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""A port driven by cocotbext-axi, which knows AXI4 independently of us: every size at any start."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Combine, First, ReadOnly, RisingEdge, Timer
from cocotbext.axi import AxiBus, AxiMaster, AxiResp

ROW = 64
MEMORY_BYTES = 1 << 20


class Memory:
    """Card memory behind the fabric seam: one row a cycle each way, random waits."""

    def __init__(self, dut, rng):
        self.dut = dut
        self.rng = rng
        self.data = bytearray(MEMORY_BYTES)
        self.reads = []  # [row address, index, len, tag]
        self.writes = []  # the same, in the order of their requests
        self.acks = []
        self.read_bursts = self.write_bursts = 0  # answered
        self.bad = range(0)  # rows that cannot be read or written

    def forget(self):
        """Has nothing under way any more; data stay."""
        for queue in (self.reads, self.writes, self.acks):
            queue.clear()

    async def run(self):
        dut, rng = self.dut, self.rng
        while True:
            await RisingEdge(dut.clk_i)
            await Timer(1, "ns")
            seams = ("read_req", "write_req", "write_data")
            ready = {name: int(rng.random() < 0.7) for name in seams}
            ready["write_data"] &= bool(self.writes)
            for name, value in ready.items():
                getattr(dut, f"{name}_ready_i").value = value
            respond = bool(self.reads) and rng.random() < 0.7
            dut.read_rsp_valid_i.value = respond
            if respond:
                addr, index, length, tag = self.reads[0]
                at = addr + ROW * index
                dut.read_rsp_row_i.value = int.from_bytes(self.data[at:at + ROW], "little")
                dut.read_rsp_tag_i.value = tag
                dut.read_rsp_index_i.value = index
                dut.read_rsp_last_i.value = index == length
                dut.read_rsp_error_i.value = at in self.bad
            acknowledge = bool(self.acks) and rng.random() < 0.5
            dut.write_rsp_valid_i.value = acknowledge
            if acknowledge:
                dut.write_rsp_tag_i.value, dut.write_rsp_error_i.value = self.acks[0]
            await ReadOnly()
            if respond:
                self.reads[0][1] += 1
                if self.reads[0][1] > self.reads[0][2]:
                    self.reads.pop(0)
                    self.read_bursts += 1
            if acknowledge:
                self.acks.pop(0)
                self.write_bursts += 1
            if ready["write_data"] and dut.write_data_valid_o.value:
                self.store()
            for name, queue in (("read_req", self.reads), ("write_req", self.writes)):
                if ready[name] and getattr(dut, f"{name}_valid_o").value:
                    fields = (getattr(dut, f"{name}_{field}_o") for field in ("addr", "len", "tag"))
                    addr, length, tag = (int(field.value) for field in fields)
                    assert addr % ROW == 0 and addr % 4096 + ROW * (length + 1) <= 4096
                    queue.append([addr, 0, length, tag])

    def store(self):
        burst = self.writes[0]
        at = burst[0] + ROW * burst[1]
        row = int(self.dut.write_data_row_o.value).to_bytes(ROW, "little")
        strobe = int(self.dut.write_data_strobe_o.value)
        for i in range(ROW):
            if strobe >> i & 1:
                self.data[at + i] = row[i]
        assert int(self.dut.write_data_last_o.value) == (burst[1] == burst[2])
        burst[1] += 1
        if burst[1] > burst[2]:
            rows = range(burst[0], burst[0] + ROW * (burst[2] + 1), ROW)
            self.acks.append((burst[3], any(row in self.bad for row in rows)))
            self.writes.pop(0)


async def start(dut, seed):
    rng = random.Random(seed)
    dut.rst_ni.value = 0
    dut.mark_i.value = 0
    dut.announce_i.value = 0
    dut.kernel_rst_ni.value = 1
    dut.closed_i.value = 0
    dut.read_rsp_error_i.value = dut.write_rsp_error_i.value = 0
    for name in ("read_req_ready", "write_req_ready", "write_data_ready", "read_rsp_valid",
                 "write_rsp_valid"):
        getattr(dut, f"{name}_i").value = 0
    # The kernel's reset is the slot's.
    master = AxiMaster(AxiBus.from_prefix(dut, "s_axi"), dut.clk_i, dut.kernel_rst_ni,
                       reset_active_level=False)
    cocotb.start_soon(Clock(dut.clk_i, 4, "ns").start())
    for _ in range(4):
        await RisingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    memory = Memory(dut, rng)
    cocotb.start_soon(memory.run())
    for _ in range(4):
        await RisingEdge(dut.clk_i)
    for channel in (master.read_if.r_channel, master.write_if.b_channel,
                    master.write_if.w_channel, master.read_if.ar_channel,
                    master.write_if.aw_channel):
        channel.set_pause_generator(iter(lambda: rng.random() < 0.3, None))
    return master, memory, rng


@cocotb.test(timeout_time=400, timeout_unit="us")
async def every_size_at_any_start(dut):
    """Writes and reads of each size, any offset and length, with guard bytes around them."""
    master, memory, rng = await start(dut, 1)
    for size in range(7):
        for _ in range(6):
            address = 8192 + rng.randrange(4096)
            length = rng.randrange(1, 40 << size)
            wanted = bytes(rng.randrange(256) for _ in range(length))
            before = bytes(memory.data)
            answer = await master.write(address, wanted, size=size)
            assert answer.resp == AxiResp.OKAY
            after = before[:address] + wanted + before[address + length:]
            assert bytes(memory.data) == after, f"size {size}: {length} bytes at {address:#x}"
            read = await master.read(address, length, size=size)
            assert read.resp == AxiResp.OKAY and read.data == wanted


@cocotb.test(timeout_time=400, timeout_unit="us")
async def many_at_once(dut):
    """Many bursts outstanding, with IDs of their own: every answer meets its question."""
    master, memory, rng = await start(dut, 2)
    wanted = {}
    writes = []
    for block in range(12):
        address = block * 8192 + rng.randrange(4096)
        wanted[address] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 5000)))
        writes.append(cocotb.start_soon(master.write(address, wanted[address])))
    await Combine(*writes)
    reads = {a: cocotb.start_soon(master.read(a, len(data))) for a, data in wanted.items()}
    for address, data in wanted.items():
        assert (await reads[address]).data == data
        assert memory.data[address:address + len(data)] == data


@cocotb.test(timeout_time=400, timeout_unit="us")
async def beyond_the_card(dut):
    """An address beyond the card's memory gets an error, and the next burst goes well."""
    master, memory, _ = await start(dut, 3)
    assert (await master.write(MEMORY_BYTES + 100, b"lost")).resp == AxiResp.SLVERR
    assert (await master.read(MEMORY_BYTES + 100, 300)).resp == AxiResp.SLVERR
    assert (await master.write(0, b"kept")).resp == AxiResp.OKAY
    assert (await master.read(0, 4)).data == b"kept"
    assert not any(memory.data[4:])


@cocotb.test(timeout_time=400, timeout_unit="us")
async def rows_that_fail(dut):
    """An error of memory is the error of the burst that met it, and of no other."""
    master, memory, rng = await start(dut, 5)
    for _ in range(12):
        row = rng.randrange(8192, 16384) // ROW * ROW
        memory.bad = range(row, row + ROW, ROW)
        tasks, wanted = [], []
        for _ in range(6):
            # Inside 4 KiB: one burst each.
            address = 8192 + 4096 * rng.randrange(2) + rng.randrange(3000)
            length = rng.randrange(1, 1000)
            fails = address // ROW * ROW <= row < address + length
            wanted.append(AxiResp.SLVERR if fails else AxiResp.OKAY)
            read = rng.random() < 0.5
            tasks.append(cocotb.start_soon(master.read(address, length) if read
                                           else master.write(address, bytes(length))))
        for task, resp in zip(tasks, wanted):
            assert (await task).resp == resp
        got = await master.read(row - 64, 64) if row > 8192 else await master.read(row + 64, 64)
        assert got.resp == AxiResp.OKAY


async def traffic(master, memory, rng):
    """Bursts without end, all outstanding together; ends with an error when the kernel is reset."""
    while True:
        tasks = []
        for _ in range(rng.randrange(1, 6)):
            size = rng.choice((0, 2, 6, 6))
            address, length = rng.randrange(MEMORY_BYTES // 2), rng.randrange(1, 60 << size)
            read = rng.random() < 0.5
            start_one = master.read(address, length, size=size) if read else master.write(address, bytes(length), size=size)
            tasks.append(cocotb.start_soon(start_one))
        await Combine(*tasks)


async def next_kernel(master, memory, rng):
    """Writes and reads where traffic() writes nothing."""
    upper = MEMORY_BYTES // 2
    wanted = rng.randbytes(rng.randrange(1, 700))
    address = upper + rng.randrange(4096)
    before = bytes(memory.data[upper:])
    assert (await master.write(address, wanted, size=rng.randrange(7))).resp == AxiResp.OKAY
    read = await master.read(address, len(wanted))
    assert read.resp == AxiResp.OKAY and read.data == wanted
    at = address - upper
    assert memory.data[upper:] == before[:at] + wanted + before[at + len(wanted):], "a byte beside it"


@cocotb.test(timeout_time=800, timeout_unit="us")
async def resets_and_closings_at_any_moment(dut):
    """Whatever the kernel had under way when its slot was reset or closed: the port comes to rest, touches memory no
    more, and the next kernel finds it as new."""
    master, memory, rng = await start(dut, 6)
    for _ in range(40):
        running = cocotb.start_soon(traffic(master, memory, rng))
        for _ in range(rng.randrange(400)):
            await RisingEdge(dut.clk_i)
        closes = rng.random() < 0.5
        if closes:
            dut.closed_i.value = 1
            for _ in range(rng.randrange(60)):
                await RisingEdge(dut.clk_i)
        running.cancel()
        dut.kernel_rst_ni.value = 0
        await RisingEdge(dut.clk_i)
        for cycle in range(2000):
            await RisingEdge(dut.clk_i)
            if dut.idle_o.value:
                break
        assert dut.idle_o.value, "the port does not come to rest"
        for _ in range(rng.randrange(1, 20)):
            await RisingEdge(dut.clk_i)
            assert dut.idle_o.value and not (memory.reads or memory.writes or memory.acks)
        dut.closed_i.value = 0
        dut.kernel_rst_ni.value = 1
        await RisingEdge(dut.clk_i)
        await RisingEdge(dut.clk_i)
        await next_kernel(master, memory, rng)


@cocotb.test(timeout_time=800, timeout_unit="us")
async def shell_resets_at_any_moment(dut):
    """The port, its kernel and the fabric are reset together: nothing of what was under way reaches memory, and the
    next kernel finds the port as after power-on."""
    master, memory, rng = await start(dut, 12)
    for _ in range(40):
        running = cocotb.start_soon(traffic(master, memory, rng))
        for _ in range(rng.randrange(400)):
            await RisingEdge(dut.clk_i)
        dut.closed_i.value = rng.random() < 0.2
        running.cancel()
        # Accesses that were about to begin do so before the reset.
        await RisingEdge(dut.clk_i)
        dut.rst_ni.value = dut.kernel_rst_ni.value = 0
        for _ in range(rng.randrange(2, 4)):
            await RisingEdge(dut.clk_i)
            memory.forget()
        dut.closed_i.value = 0
        dut.rst_ni.value = dut.kernel_rst_ni.value = 1
        # Being idle shows a cycle late.
        await RisingEdge(dut.clk_i)
        for _ in range(rng.randrange(2, 12)):
            await RisingEdge(dut.clk_i)
            assert dut.idle_o.value and not (memory.reads or memory.writes or memory.acks)
        await next_kernel(master, memory, rng)


@cocotb.test(timeout_time=400, timeout_unit="us")
async def a_closed_port_answers(dut):
    """Closed at any moment, every access ends; those that come later with an error, and memory keeps what it has."""
    master, memory, rng = await start(dut, 7)
    for _ in range(10):
        tasks = [cocotb.start_soon(master.write(4096 * n, rng.randbytes(rng.randrange(1, 4096)))) for n in range(5)]
        tasks += [cocotb.start_soon(master.read(4096 * n, rng.randrange(1, 4096))) for n in range(5)]
        for _ in range(rng.randrange(120)):
            await RisingEdge(dut.clk_i)
        dut.closed_i.value = 1
        for task in tasks:
            assert (await First(task, Timer(100, "us"))) is not None, "an access does not end"
        before = bytes(memory.data)
        assert (await master.write(rng.randrange(MEMORY_BYTES // 2), rng.randbytes(300))).resp == AxiResp.SLVERR
        assert (await master.read(rng.randrange(MEMORY_BYTES // 2), 300)).resp == AxiResp.SLVERR
        assert bytes(memory.data) == before
        dut.closed_i.value = 0
        await RisingEdge(dut.clk_i)
        assert (await master.read(0, 64)).resp == AxiResp.OKAY


class Owed:
    """What the port owes, counted from its pins: bursts begun when somebody asked, and answers since."""

    def __init__(self, dut, memory, rng):
        self.dut = dut
        self.memory = memory
        self.rng = rng
        self.asked = 0
        self.owing = 0  # cycles in which something was owed

    async def run(self):
        dut = self.dut
        reads = writes = datas = read_answers = write_answers = 0
        in_burst = False
        due = {"reads": 0, "writes": 0, "announced": 0}
        while True:
            await RisingEdge(dut.clk_i)
            await Timer(2, "ns")
            mark, announce = (int(self.rng.random() < 0.02) for _ in range(2))
            dut.mark_i.value = mark
            dut.announce_i.value = announce
            await ReadOnly()

            def high(name):
                return bool(getattr(dut, f"s_axi_{name}").value)

            # Register outputs: of the questions before this cycle.
            for name, owed in (("reads", dut.owed_reads_o), ("writes", dut.owed_writes_o),
                               ("announced", dut.owed_announced_o)):
                answers = read_answers if name == "reads" else write_answers
                if owed.value:
                    self.owing += 1
                    assert answers < due[name], f"{name}: owes what is answered"
                elif answers < due[name]:
                    assert self.is_settled(name, due[name]), f"{name}: does not owe what is not answered"
                    # What came later does not count.
                    due[name] = answers
            begun = max(writes + high("awvalid"), datas + (in_burst or high("wvalid")))
            if mark:
                self.asked += 1
                due["reads"] = reads + high("arvalid")
                due["writes"] = begun
            if announce:
                due["announced"] = begun
            reads += high("arvalid") and high("arready")
            writes += high("awvalid") and high("awready")
            if high("wvalid") and high("wready"):
                datas += high("wlast")
                in_burst = not high("wlast")
            read_answers += high("rvalid") and high("rready") and high("rlast")
            write_answers += high("bvalid") and high("bready")

    def is_settled(self, name, due):
        """Memory has answered so many: the kernel alone keeps them, which has not taken the responses."""
        memory = self.memory
        return due <= (memory.read_bursts if name == "reads" else memory.write_bursts)


@cocotb.test(timeout_time=800, timeout_unit="us")
async def what_is_owed(dut):
    """Asked at random, the port owes exactly what had begun and is not answered."""
    master, memory, rng = await start(dut, 3)
    owed = Owed(dut, memory, rng)
    cocotb.start_soon(owed.run())
    for _ in range(30):
        tasks = []
        for block in range(rng.randrange(1, 8)):
            address = block * 8192 + rng.randrange(4096)
            length = rng.randrange(1, 3000)
            if rng.random() < 0.5:
                tasks.append(cocotb.start_soon(master.write(address, bytes(length))))
            else:
                tasks.append(cocotb.start_soon(master.read(address, length)))
        await Combine(*tasks)
        # A lonely one: nothing else keeps the port busy.
        await master.write(rng.randrange(4096), bytes(1))
    assert owed.asked > 100 and owed.owing > 1000
