# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Bundles of registers between cocotbext-axi's manager of 32 bits and its memories of 32 and 64 bits."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Combine, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiLiteRam

SECOND = 0x8000


async def start(dut):
    dut.rst_ni.value = 0
    common = {"clock": dut.clk_i, "reset": dut.rst_ni, "reset_active_level": False}
    master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), **common)
    memories = [AxiLiteRam(AxiLiteBus.from_prefix(dut, name), **common, size=SECOND)
                for name in ("a_axil", "b_axil")]
    cocotb.start_soon(Clock(dut.clk_i, 4, "ns").start())
    for _ in range(4):
        await RisingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    for _ in range(4):
        await RisingEdge(dut.clk_i)
    return master, memories


def stall_all(rng, master, memories):
    """Every channel of both sides stalls at random."""
    for side in (master, *memories):
        for channel in (side.read_if.ar_channel, side.read_if.r_channel, side.write_if.aw_channel,
                        side.write_if.w_channel, side.write_if.b_channel):
            channel.set_pause_generator(iter(lambda: rng.random() < 0.3, None))


@cocotb.test(timeout_time=400, timeout_unit="us")
async def every_byte_lands_in_its_register(dut):
    """Writes of any bytes and reads, in both bundles, with stalls everywhere."""
    master, memories = await start(dut)
    rng = random.Random(1)

    async def watch():
        # A bundle knows of no other, and a wide one of no halves.
        while True:
            await RisingEdge(dut.clk_i)
            for name, alignment in (("a", 1), ("b", 8)):
                for channel in ("aw", "ar"):
                    if bool(getattr(dut, f"{name}_axil_{channel}valid").value):
                        address = int(getattr(dut, f"{name}_axil_{channel}addr").value)
                        assert address < SECOND and address % alignment == 0, (name, channel, address)

    watcher = cocotb.start_soon(watch())
    stall_all(rng, master, memories)
    images = [bytearray(64), bytearray(64)]
    for _ in range(200):
        number, offset = rng.randrange(2), rng.randrange(60)
        data = rng.randbytes(rng.randrange(1, 5))
        images[number][offset:offset + len(data)] = data
        await master.write(number * SECOND + offset, data)
        for memory, image in zip(memories, images):
            assert memory.read(0, 64) == bytes(image)
        offset = rng.randrange(60)
        read = await master.read(number * SECOND + offset, 4)
        assert read.data == bytes(images[number][offset:offset + 4])
    assert not watcher.done()


@cocotb.test(timeout_time=400, timeout_unit="us")
async def resets_at_any_moment(dut):
    """What was under way is gone, and the next accesses are right."""
    master, memories = await start(dut)
    rng = random.Random(2)
    stall_all(rng, master, memories)

    async def traffic(access):
        while True:
            await access(rng.randrange(2) * SECOND + rng.randrange(60))

    for _ in range(60):
        running = [cocotb.start_soon(traffic(access)) for access in
                   (lambda at: master.read(at, 4), lambda at: master.write(at, rng.randbytes(rng.randrange(1, 5))))]
        for _ in range(rng.randrange(60)):
            await RisingEdge(dut.clk_i)
        for task in running:
            task.cancel()
        dut.rst_ni.value = 0
        for _ in range(2):
            await RisingEdge(dut.clk_i)
        dut.rst_ni.value = 1
        await RisingEdge(dut.clk_i)
        images = [bytearray(memory.read(0, 64)) for memory in memories]
        for number in rng.sample(range(2), 2):
            offset, data = 4 * rng.randrange(8), rng.randbytes(4)
            other = offset ^ 32
            images[number][offset:offset + 4] = data
            write = cocotb.start_soon(master.write(number * SECOND + offset, data))
            read = cocotb.start_soon(master.read(number * SECOND + other, 4))
            await Combine(write, read)
            assert read.result().data == bytes(images[number][other:other + 4])
            for memory, image in zip(memories, images):
                assert memory.read(0, 64) == bytes(image)


@cocotb.test(timeout_time=400, timeout_unit="us")
async def a_read_does_not_wait_for_a_write(dut):
    """Reads go on while the response of a write is awaited."""
    master, memories = await start(dut)
    memories[0].write(8, b"abcd")
    memories[0].write_if.b_channel.pause = True
    write = cocotb.start_soon(master.write(0, b"1234"))
    read = await master.read(8, 4)
    assert read.data == b"abcd"
    memories[0].write_if.b_channel.pause = False
    await write


@cocotb.test(timeout_time=400, timeout_unit="us")
async def a_response_is_that_of_its_bundle(dut):
    """Errors of either bundle reach the slot, and are no other's."""
    dut.rst_ni.value = 0
    master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), clock=dut.clk_i, reset=dut.rst_ni,
                           reset_active_level=False)
    cocotb.start_soon(Clock(dut.clk_i, 4, "ns").start())
    for name in ("a_axil", "b_axil"):
        for signal in ("awready", "wready", "bvalid", "arready", "rvalid"):
            getattr(dut, f"{name}_{signal}").value = 1
    for _ in range(4):
        await RisingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    for first, second in ((0, 2), (3, 0), (2, 3)):
        for name, response in (("a_axil", first), ("b_axil", second)):
            getattr(dut, f"{name}_bresp").value = response
            getattr(dut, f"{name}_rresp").value = response
        for address, response in ((0, first), (SECOND, second), (SECOND + 4, second), (4, first)):
            assert int((await master.write(address, b"1234")).resp) == response
            assert int((await master.read(address, 4)).resp) == response
