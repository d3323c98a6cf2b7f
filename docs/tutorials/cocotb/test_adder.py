# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""The kernel `adder` of `tombolo kernel new` in the shell: results, page faults, refused accesses."""

import random
import struct

import cocotb
from shell_bench import PAGE, Card, CardError, run


def test_adder():
    run("test_adder", "adder", "shell")


async def card_with(dut, count):
    """A card, and the kernel's arguments for random arrays in host memory."""
    rng = random.Random(count)
    card = Card(dut)
    await card.start()
    summands = [[rng.getrandbits(32) for _ in range(count)] for _ in range(2)]
    a, b = (card.map(struct.pack(f"<{count}I", *values)) for values in summands)
    c = card.map(bytes(4 * count), writable=True)
    return card, {"a": a, "b": b, "c": c, "length": count}, [(x + y) % 2**32 for x, y in zip(*summands)]


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def sums_are_right(dut):
    """All pages arrive by faults, each once; the bytes behind the result are untouched."""
    count = 3001
    card, arguments, sums = await card_with(dut, count)
    await card.run(**arguments)
    written = await card.read(arguments["c"], 3 * PAGE)
    assert written == struct.pack(f"<{count}I", *sums).ljust(3 * PAGE, b"\0")
    assert len(card.faults) == len(set(card.faults)) == 9, card.faults
    # The pages of the summands are in card memory now; those of the result are fetched again.
    await card.run(**arguments)
    assert len(card.faults) == 12


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def an_access_past_a_mapping_is_reported(dut):
    """The kernel is given one page more than is mapped, and then a result that is mapped read-only."""
    card, arguments, _ = await card_with(dut, 1024)
    for wrong, reason in [({"length": 1025}, "not mapped"), ({"c": arguments["a"]}, "read-only")]:
        try:
            await card.run(**arguments | wrong)
        except CardError as error:
            assert reason in str(error), error
        else:
            raise AssertionError(f"{wrong}: no error")
