# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Scheduler: every choice against the rules, and what slots get in the long run."""

import random
from collections import deque

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly, Timer

from schedule_reference import (BURST, LOW_ROWS, PER_SLOT, REQUESTS, SLOTS, Direction, Setting)


def bits(word):
    return {i for i in range(word.bit_length()) if word >> i & 1}


def pack(values, width):
    return sum(value << width * i for i, value in enumerate(values))


class Device:
    """Both directions of a device, its requesters, and the reference beside each."""

    def __init__(self, dut, seed, delay=24, rows_a_cycle=1):
        self.dut, self.rng = dut, random.Random(seed)
        self.delay, self.rows_a_cycle = delay, rows_a_cycle
        self.settings = [Setting()] * SLOTS
        self.managed = False
        self.cycle = 0
        self.rows = [[0] * (SLOTS + 1), [0] * (SLOTS + 1)]
        self.room = 8  # bursts that the device takes
        self.forget()

    def forget(self):
        """Nobody asks for anything, nothing is under way, nothing is owed."""
        self.models = [Direction(), Direction()]
        self.lengths = [[0] * REQUESTS, [0] * REQUESTS]
        self.asking = [set(), set()]
        self.under_way = [deque(), deque()]  # [slot or None, rows left, low, ready at]
        self.outstanding_low = [0, 0]
        self.streaming = [None, None]  # level of what is under way

    async def start(self):
        self.dut.rst_ni.value = 0
        self.dut.limit_i.value = 0
        for name in ("request", "accept", "low_done", "len", "managed", "level", "weight", "floor",
                     "limit_valid", "limit_ready", "limit_len", "under_way", "under_way_level",
                     "run", "asid"):
            getattr(self.dut, f"{name}_i").value = 0
        cocotb.start_soon(Clock(self.dut.clk_i, 2, "ns").start())
        for _ in range(3):
            await FallingEdge(self.dut.clk_i)
        self.dut.rst_ni.value = 1

    async def reset(self):
        """A cycle of reset; what the host has set stays."""
        for name in ("rst_ni", "request_i", "accept_i", "low_done_i", "under_way_i"):
            getattr(self.dut, name).value = 0
        self.forget()
        await FallingEdge(self.dut.clk_i)
        self.dut.rst_ni.value = 1

    def set(self, *settings):
        self.settings = list(settings)
        self.managed = any(s != Setting(level=settings[0].level) for s in settings)
        self.dut.managed_i.value = self.managed
        self.dut.level_i.value = pack([s.level for s in settings], 2)
        self.dut.weight_i.value = pack([s.weight for s in settings], 4)
        self.dut.floor_i.value = pack([s.floor for s in settings], 8)

    async def step(self, ask, length):
        """A cycle. `ask(direction, request)`: it begins to ask; `length(request)`: for so many rows."""
        dut, accept, done = self.dut, [], []
        for d in range(2):
            for r in range(REQUESTS):
                if r not in self.asking[d] and ask(d, r):
                    self.asking[d].add(r)
                    self.lengths[d][r] = length(r)
            accept.append(len(self.under_way[d]) < self.room)
            done.append(self.progress(d))
        dut.request_i.value = pack([sum(1 << r for r in a) for a in self.asking], REQUESTS)
        dut.len_i.value = pack([pack([n - 1 if n else 0 for n in lens], 6)
                                for lens in self.lengths], 6 * REQUESTS)
        dut.accept_i.value = pack(accept, 1)
        dut.low_done_i.value = pack(done, 1)
        dut.under_way_i.value = pack([level is not None for level in self.streaming], 1)
        dut.under_way_level_i.value = pack([level or 0 for level in self.streaming], 2)
        await ReadOnly()
        candidates, grants, low, level = (
            int(getattr(dut, f"{n}_o").value) for n in ("candidate", "grant", "low", "level"))
        ends = []
        for d in range(2):
            mask = (1 << REQUESTS) - 1
            found = bits(candidates >> d * REQUESTS & mask)
            expected = self.models[d].candidates(self.managed, self.settings, self.asking[d],
                                                 self.models[1 - d])
            where = (f"cycle {self.cycle}, direction {d}, {self.settings}, asking "
                     f"{sorted(self.asking[d])}")
            assert found == expected, f"{where}: {sorted(found)}, not {sorted(expected)}"
            grant = bits(grants >> d * REQUESTS & mask)
            assert grant <= found and len(grant) == bool(found), where
            taken = grant.pop() if grant and accept[d] else None
            ends.append((set(self.asking[d]), taken))
            if taken is not None and taken < REQUESTS - 1:
                assert level >> 2 * d & 3 == self.settings[taken // PER_SLOT].level, where
        for d, (asked, _) in enumerate(ends):
            self.models[d].hear(self.models[1 - d], self.settings, asked)
        waiting = [model.waiting for model in self.models]
        for d, (asked, taken) in enumerate(ends):
            rows = self.lengths[d][taken] if taken is not None else 0
            self.models[d].end(self.managed, self.settings, asked, taken, rows, int(done[d]),
                               self.streaming[d], waiting[1 - d])
            if taken is None:
                continue
            self.asking[d].remove(taken)
            is_low = bool(low >> d & 1)
            self.under_way[d].append([rows, is_low, self.cycle + self.delay])
            self.rows[d][taken // PER_SLOT] += rows
            if is_low:
                self.outstanding_low[d] += rows
                assert self.outstanding_low[d] < LOW_ROWS + BURST, "the bound is not kept"
        self.cycle += 1
        await FallingEdge(dut.clk_i)

    def progress(self, d):
        """A row of the oldest burst is back; whether it was a low one's."""
        if not self.under_way[d] or self.under_way[d][0][2] > self.cycle:
            return False
        burst = self.under_way[d][0]
        burst[0] -= 1
        if burst[0] == 0:
            self.under_way[d].popleft()
        self.outstanding_low[d] -= burst[1]
        return burst[1]

    async def shares(self, cycles, *settings, slots=range(SLOTS), length=lambda r: BURST):
        """Rows that slots get in both directions while they all ask for more."""
        self.set(*settings)
        for _ in range(300):  # what was before is forgotten
            await self.step(lambda d, r: r // PER_SLOT in slots, length)
        self.rows = [[0] * (SLOTS + 1), [0] * (SLOTS + 1)]
        for _ in range(cycles):
            await self.step(lambda d, r: r // PER_SLOT in slots, length)
        return [[n / sum(rows) for n in rows[:SLOTS]] for rows in self.rows]


@cocotb.test()
async def settings_that_change_at_any_cycle(dut):
    device = Device(dut, 1)
    rng = device.rng
    await device.start()
    device.set(*[Setting()] * SLOTS)
    load = 0.1
    for _ in range(4000):
        if rng.random() < 0.01:
            device.set(*[Setting(rng.choice((0, 1, 1, 2, 3)), rng.choice((0, 1, 1, 2, 15)),
                                 rng.choice((0, 1, 1, 20, 128))) for _ in range(SLOTS)])
        if rng.random() < 0.01:
            device.set(*[Setting(level=rng.randrange(4))] * SLOTS)
        if rng.random() < 0.02:
            device.streaming = [rng.choice((None, None, 0, 2, 3)) for _ in range(2)]
        if rng.random() < 0.01:
            load = rng.choice((0.003, 0.03, 0.3, 1))
            device.delay = rng.choice((2, 24, 80))
        if rng.random() < 0.015:
            await device.reset()
        await device.step(lambda d, r: rng.random() < (load if r < REQUESTS - 1 else 0.01),
                          lambda r: rng.choice((1, 1, 2, 17, 63, 64)))


@cocotb.test()
async def shares_in_the_long_run(dut):
    device = Device(dut, 2, delay=16)
    await device.start()
    odd = lambda r: (64, 3, 17, 48, 1, 9, 5)[r]  # noqa: E731

    def near(found, expected):
        for direction in found:
            for got, share in zip(direction, expected):
                # A burst more or less at the ends.
                slack = 0.02 * share + BURST / sum(device.rows[0])
                assert abs(got - share) <= slack, (found, expected)

    plain = [Setting()] * SLOTS
    near(await device.shares(3000, *plain), [1 / 3] * 3)
    # One level: by weight, whatever the bursts.
    near(await device.shares(8000, Setting(weight=4), Setting(weight=2), Setting(weight=1),
                             length=odd), [4 / 7, 2 / 7, 1 / 7])
    # Levels: all but the least floors goes to the highest; the lower ones have these.
    least = 1 / 256
    near(await device.shares(12000, Setting(2), Setting(1), Setting(0)),
         [1 - 2 * least, least, least])
    # A floor below a higher level.
    near(await device.shares(8000, Setting(2), Setting(1, floor=64), Setting(0, floor=26)),
         [1 - 64 / 256 - 26 / 256, 64 / 256, 26 / 256])
    # Nobody of the highest level asks: the next ones share.
    near(await device.shares(3000, Setting(2), Setting(1), Setting(1), slots=(1, 2)),
         [0, 0.5, 0.5])


@cocotb.test()
async def a_floor_counts_across_directions(dut):
    """A higher level that only writes leaves a lower one that only reads its floor."""
    device = Device(dut, 5, delay=10)
    await device.start()
    device.set(Setting(3), Setting(1, floor=32), Setting(1))
    for _ in range(6000):
        await device.step(lambda d, r: (d == 1 and r < 2) or (d == 0 and 2 <= r < 4),
                          lambda r: BURST)
    share = device.rows[0][1] / (device.rows[0][1] + device.rows[1][0])
    assert abs(share - 32 / 256) < 0.01, share


@cocotb.test()
async def a_higher_level_waits_for_the_bound_at_most(dut):
    """A request that comes while lower ones hold the device: rows that are before it."""
    device = Device(dut, 3, delay=10)
    await device.start()
    device.set(Setting(3), Setting(1), Setting(0))
    worst = 0
    for _ in range(15):
        for _ in range(device.rng.randrange(20, 120)):
            await device.step(lambda d, r: 2 <= r < REQUESTS - 1, lambda r: BURST)
        before = [sum(rows for rows, _, _ in way) for way in device.under_way]
        worst = max(worst, *before)
        assert worst < LOW_ROWS + BURST + 2 * 3 * BURST, before
        had = device.rows[0][0]
        device.asking[0].add(0)
        device.lengths[0][0] = BURST
        while device.rows[0][0] == had:
            await device.step(lambda d, r: 2 <= r < REQUESTS - 1, lambda r: BURST)
        assert device.rows[0][0] == had + BURST
    assert worst > LOW_ROWS + BURST // 2, "the device was never full"


@cocotb.test()
async def the_bound_holds_while_the_other_direction_is_idle(dut):
    """Lower ones read behind a higher one, and nobody writes: every choice is the reference's."""
    device = Device(dut, 6, delay=40)
    await device.start()
    device.set(Setting(3), Setting(1), Setting(0))
    for _ in range(4):
        await device.step(lambda d, r: d == 0 and r == 0, lambda r: BURST)
        for _ in range(150):
            await device.step(lambda d, r: d == 0 and 2 <= r < REQUESTS - 1, lambda r: BURST)
    assert device.rows[0][1] > 2 * BURST


@cocotb.test()
async def a_queue_is_as_its_highest_slot_that_runs(dut):
    device = Device(dut, 7)
    await device.start()
    rng = device.rng
    for _ in range(300):
        settings = [Setting(rng.randrange(4), rng.randrange(16), rng.randrange(256))
                    for _ in range(SLOTS)]
        runs, asids = rng.randrange(1 << SLOTS), [rng.randrange(16) for _ in range(SLOTS)]
        device.set(*settings)
        dut.run_i.value, dut.asid_i.value = runs, pack(asids, 4)
        await FallingEdge(dut.clk_i)
        for queue in range(3):
            there = [settings[s] for s in range(SLOTS) if runs >> s & 1 and asids[s] % 3 == queue]
            # The first of several that are as high.
            expected = max(there, key=lambda setting: setting.level, default=Setting())
            found = Setting(int(dut.queue_level_o.value) >> 2 * queue & 3,
                            int(dut.queue_weight_o.value) >> 4 * queue & 15,
                            int(dut.queue_floor_o.value) >> 8 * queue & 255)
            assert found == expected, (queue, settings, runs, asids)


@cocotb.test()
async def a_limit_is_kept_and_reached(dut):
    """In every stretch of time, the one behind a long pause too: a pause saves up a burst and no more."""
    rng = random.Random(4)
    await Device(dut, 4).start()
    for limit in (1 << 12, 40000, 1 << 16, 3 << 16):
        dut.limit_i.value = limit
        lens, offered = [5, 63], [False, False]
        for cycles, busy in ((2500, 1), (20 * 65536 * BURST // limit, 0), (80, 1), (600, 1)):
            passed = 0
            # Behind the pause, bursts of a row: what it has saved up shows to the row.
            after = cycles == 80
            if after:
                lens = [0, 0]
            for _ in range(cycles if busy else 0):
                ready = rng.choice((0, 1, 2, 3, 3, 3, 3))
                dut.limit_valid_i.value = 3
                dut.limit_ready_i.value = ready
                dut.limit_len_i.value = pack(lens, 6)
                await ReadOnly()
                valid, taken = int(dut.limit_valid_o.value), int(dut.limit_ready_o.value)
                for r in range(2):
                    assert not offered[r] or valid >> r & 1, "an offer was withdrawn"
                    passes = valid >> r & ready >> r & 1
                    assert passes == (taken >> r & 1)
                    offered[r] = bool(valid >> r & 1) and not passes
                    if passes:
                        passed += lens[r] + 1
                        lens[r] = 0 if after else rng.choice((0, 0, 7, 63))
                await FallingEdge(dut.clk_i)
            if not busy:
                # Offers stay until they are taken; then there is none.
                dut.limit_valid_i.value = sum(offer << r for r, offer in enumerate(offered))
                dut.limit_ready_i.value = 3
                for _ in range(500):
                    await FallingEdge(dut.clk_i)
                    dut.limit_valid_i.value = 0
                offered = [False, False]
                await Timer(2 * cycles, "ns")
                await FallingEdge(dut.clk_i)
                continue
            allowed = cycles * limit / 65536
            # A burst from before, and what was offered already.
            assert passed <= allowed + BURST + (4 if after else 2 * BURST), (limit, passed, allowed)
            if limit < 1 << 16 and cycles > 2000:
                assert passed >= 0.98 * allowed - BURST, (limit, passed, allowed)


@cocotb.test()
async def a_reset_at_any_moment_fills_the_account(dut):
    """Whatever has passed or was offered before: behind a reset requests pass as after power-on."""
    rng = random.Random(8)
    await Device(dut, 8).start()
    limit = 3 << 12

    async def offer(lens, cycles, ready):
        """What is offered and what passes in each cycle while both requesters ask."""
        seen = []
        for _ in range(cycles):
            dut.limit_valid_i.value = 3
            dut.limit_ready_i.value = ready()
            dut.limit_len_i.value = pack(lens, 6)
            await ReadOnly()
            seen.append((int(dut.limit_valid_o.value), int(dut.limit_ready_o.value)))
            await FallingEdge(dut.clk_i)
        return seen

    first = None
    for _ in range(60):
        dut.rst_ni.value = 0
        dut.limit_i.value = limit
        await FallingEdge(dut.clk_i)
        dut.rst_ni.value = 1
        seen = await offer((3, 9), 40, lambda: 3)
        first = first or seen
        assert seen == first
        # Any account, debts too, with any offers on their way.
        dut.limit_i.value = rng.choice((1, limit, limit, 3 << 16))
        await offer((rng.randrange(64), rng.randrange(64)), rng.randrange(80), lambda: rng.randrange(4))
    passed = sum((ready & 1) * 4 + (ready >> 1) * 10 for _, ready in first)
    assert BURST <= passed <= BURST + 40 * limit / 65536 + 14, passed
