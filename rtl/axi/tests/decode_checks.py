# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""The burst decoder against AXI4's own words, beat by beat, with every length at every edge."""

import random

import cocotb
from cocotb.triggers import Timer

ROW, BLOCK = 64, 4096
FIXED, INCR, WRAP = 0, 1, 2
NONE, BURST_TYPE, BEAT_SIZE, IN_BLOCK, ADDRESS = 0, 1, 2, 3, 4


def beats(addr, length, size):
    """The first and the last byte lane of each beat (A3.4.1 of the AXI4 specification)."""
    first = addr // (1 << size) << size
    for n in range(length + 1):
        yield first + (n << size), first + (n << size) + (1 << size) - 1


def expected(addr, length, size, burst):
    """The rules that the burst breaks, and its rows - 1 if it breaks none."""
    rules = set()
    if addr >> 48:
        rules.add(ADDRESS)
    if 1 << size > ROW:
        rules.add(BEAT_SIZE)
    if burst != INCR and length:
        rules.add(BURST_TYPE)
    lanes = list(beats(addr, length, size))
    if lanes[0][0] // BLOCK != lanes[-1][1] // BLOCK:
        rules.add(IN_BLOCK)
    return rules, lanes[-1][1] // ROW - lanes[0][0] // ROW


async def look(dut, addr, length, size, burst=INCR):
    dut.addr_i.value = addr
    dut.len_i.value = length
    dut.size_i.value = size
    dut.burst_i.value = burst
    await Timer(1, "ns")
    what = f"address {addr:#x}, {length + 1} beats of {1 << size} bytes, type {burst}"
    rules, rows = expected(addr, length, size, burst)
    rule = int(dut.rule_o.value)
    assert rule in (rules or {NONE}), f"{what}: rule {rule}, not one of {rules or 'none'}"
    assert int(dut.refused_o.value) == bool(rules), what
    if not rules:
        assert int(dut.rows_o.value) == rows, f"{what}: {int(dut.rows_o.value)} rows, not {rows}"
        assert int(dut.addr_o.value) == addr, what


@cocotb.test()
async def every_length_at_the_end_of_a_block(dut):
    """Bursts that end with a block, one beat before and one beat behind it, and a byte off."""
    for size in range(7):
        # Every length for the widest beats; beats of other sizes differ in a shift.
        for length in range(256) if size == 6 else (*range(0, 256, 17), 1, 2, 63, 64, 127, 128):
            beat = 1 << size
            exact = (BLOCK - (length + 1) * beat) % BLOCK
            starts = (exact - beat, exact - 1, exact, exact + 1, exact + beat - 1, exact + beat)
            for start in starts:
                await look(dut, 7 * BLOCK + start % BLOCK, length, size)


@cocotb.test()
async def anything(dut):
    rng = random.Random(1)
    for bit in range(64):
        await look(dut, 1 << bit, 0, 0)
    for _ in range(1500):
        addr = rng.getrandbits(rng.choice((13, 48, 49, 64)))
        await look(dut, addr, rng.getrandbits(8) >> rng.randrange(8), rng.randrange(8),
                   rng.choice((INCR, INCR, FIXED, WRAP)))
