# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""A narrower between cocotbext-axi's manager of 1,024 bits and its memory of 512, both of which know AXI4's byte lanes
independently of us."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from cocotbext.axi import AxiBus, AxiMaster
from widener_checks import Narrow

INCR, WRAP = 1, 2


async def start(dut, with_memory=True):
    dut.rst_ni.value = 0
    bench = Narrow(dut, 1024) if with_memory else None
    cocotb.start_soon(Clock(dut.clk_i, 4, "ns").start())
    for _ in range(4):
        await RisingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    for _ in range(4):
        await RisingEdge(dut.clk_i)
    return bench


@cocotb.test(timeout_time=400, timeout_unit="us")
async def every_size_at_any_start(dut):
    """Writes and reads of each size, any offset and length, with guard bytes around them."""
    bench = await start(dut)
    bench.stall()
    await bench.every_size()


@cocotb.test(timeout_time=800, timeout_unit="us")
async def resets_at_any_moment(dut):
    """What was under way is gone, and the next transfers are right."""
    bench = await start(dut)
    bench.stall()
    rng = random.Random(9)
    for _ in range(40):
        running = cocotb.start_soon(bench.traffic())
        for _ in range(rng.randrange(150)):
            await RisingEdge(dut.clk_i)
        running.cancel()
        dut.rst_ni.value = 0
        for _ in range(2):
            await RisingEdge(dut.clk_i)
        dut.rst_ni.value = 1
        await RisingEdge(dut.clk_i)
        await bench.one_transfer(bench.rng.choice((bench.full, rng.randrange(bench.full + 1))))


@cocotb.test(timeout_time=400, timeout_unit="us")
async def many_bursts_outstanding(dut):
    """More bursts at once than the queues hold: two, where the memory takes three."""
    bench = await start(dut)
    bench.stall()
    for _ in range(4):
        await bench.many_at_once()


@cocotb.test(timeout_time=400, timeout_unit="us")
async def a_row_every_cycle(dut):
    """Within a burst the slot's side loses no cycle in either direction."""
    bench = await start(dut)
    clock = dut.clk_i
    for channel, transfer in (("w", lambda: bench.master.write(4096, bytes(4096))),
                              ("r", lambda: bench.master.read(4096, 4096))):
        valid, ready, last = (getattr(dut, f"w1024_axi_{channel}{name}") for name in ("valid", "ready", "last"))
        task = cocotb.start_soon(transfer())
        beats, missed = 0, 0
        while beats < 64:
            await RisingEdge(clock)
            await ReadOnly()
            passed = bool(valid.value) and bool(ready.value)
            beats += passed
            missed += not passed and beats > 0
            assert not passed or bool(last.value) == (beats == 64), channel
        assert missed == 0, f"{channel}: {missed} cycles without a row"
        await task


@cocotb.test(timeout_time=400, timeout_unit="us")
async def an_error_of_either_half_reaches_the_kernel(dut):
    """The response of a beat is the worse one of its two halves, and of no other beat. A burst may end in a lower half."""
    await start(dut, with_memory=False)
    master = AxiMaster(AxiBus.from_prefix(dut, "n1024_axi"), clock=dut.clk_i, reset=dut.rst_ni,
                       reset_active_level=False)
    resp = dut.w1024_axi_rresp
    ids = {"arready": 1, "rvalid": 0, "rid": 0, "rdata": 0, "rlast": 0}
    for name, value in ids.items():
        getattr(dut, f"w1024_axi_{name}").value = value
    for address, responses in ((4096, (0, 2)), (4096, (3, 0)), (4160, (0,)), (4096, (2, 3)), (4160, (0,)),
                               (4096, (0, 0)), (4096, (2,)), (4160, (0,)), (4096, (0, 0))):
        task = cocotb.start_soon(master.read(address, 128 - address % 128))
        while not (bool(dut.w1024_axi_arvalid.value) and bool(dut.w1024_axi_arready.value)):
            await RisingEdge(dut.clk_i)
        dut.w1024_axi_rid.value = dut.w1024_axi_arid.value
        for number, value in enumerate(responses, 1):
            resp.value = value
            dut.w1024_axi_rvalid.value = 1
            dut.w1024_axi_rlast.value = number == len(responses)
            await RisingEdge(dut.clk_i)
            while not bool(dut.w1024_axi_rready.value):
                await RisingEdge(dut.clk_i)
        dut.w1024_axi_rvalid.value = 0
        answer = await task
        assert int(answer.resp) == max(responses), (address, responses)


@cocotb.test(timeout_time=400, timeout_unit="us")
async def what_the_slot_cannot_do_leaves_as_what_it_refuses(dut):
    """Whole beats of another burst type keep their size, which the slot answers with an error."""
    await start(dut)
    for channel in ("ar", "aw"):
        def drive(size, kind, length, channel=channel):
            for name, value in (("size", size), ("burst", kind), ("len", length), ("addr", 0)):
                getattr(dut, f"n1024_axi_{channel}{name}").value = value

        def seen(channel=channel):
            return tuple(int(getattr(dut, f"w1024_axi_{channel}{name}").value) for name in ("size", "len"))

        for size, kind, length, wanted in ((7, INCR, 3, (6, 7)), (7, INCR, 127, (6, 255)), (7, INCR, 128, (7, 128)),
                                           (7, WRAP, 3, (7, 3)), (6, INCR, 3, (6, 3)), (2, INCR, 255, (2, 255))):
            drive(size, kind, length)
            await RisingEdge(dut.clk_i)
            await RisingEdge(dut.clk_i)
            assert seen() == wanted, (channel, size, kind, length)
