# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""The rules of tmb_schedule, from the words of its header: who may be chosen in a cycle."""

from dataclasses import dataclass, field
from fractions import Fraction

SLOTS, PER_SLOT = 3, 2
REQUESTS = SLOTS * PER_SLOT + 1  # the last is the shell's
BURST, LOW_ROWS, LEAST_FLOOR, LINGER = 64, 42, 1, 16
PERIOD = 128  # the bound stays for so long, or twice


@dataclass(frozen=True)
class Setting:
    """What the host says about a slot."""

    level: int = 1
    weight: int = 1
    floor: int = LEAST_FLOOR


@dataclass
class Grant:
    """A burst of a slot that was chosen."""

    slot: int
    rows: int
    asked: set
    begins_round_of: object  # a level, or None
    owed: bool


@dataclass
class Direction:
    """One scheduler. `step` once a cycle, in both directions, then `end` in both."""

    left: list = field(default_factory=lambda: [0] * SLOTS)
    due: list = field(default_factory=lambda: [Fraction(0)] * SLOTS)
    outstanding: int = 0
    recent: object = None       # the grant of the cycle before
    recent_low: int = 0         # its rows, if they count against the bound
    below: set = field(default_factory=set)  # slots that the bound is for
    waiting: object = None      # highest level that waited in the cycle before, or lingers
    lingers: int = 0
    recent_levels: set = field(default_factory=set)
    seen_levels: set = field(default_factory=set)
    age: int = 0

    @staticmethod
    def is_below(peer, setting):
        """A higher level waits in the other direction."""
        return peer.waiting is not None and peer.waiting > setting.level

    def candidates(self, managed, settings, requests, peer):
        """Requests that may be chosen."""
        if not managed:
            return requests
        shell = {r for r in requests if r >= SLOTS * PER_SLOT}
        asked = {r // PER_SLOT for r in requests - shell}
        full = self.outstanding >= (max(LOW_ROWS - BURST, 0) if self.recent_low else LOW_ROWS)

        def held(slot):
            if self.due[slot] > 0:
                return False
            return self.is_below(peer, settings[slot]) or (full and slot in self.below)

        waits = {slot for slot in asked if not held(slot)}
        chosen = {slot for slot in waits if self.due[slot] > 0}
        self.begins = None
        self.owed = bool(chosen)
        if not chosen and waits:
            level = max(settings[slot].level for slot in waits)
            of_level = {slot for slot in waits if settings[slot].level == level}
            chosen = {slot for slot in of_level if self.left[slot] > 0}
            if not chosen:
                chosen = of_level
                self.begins = level
        return shell | {r for r in requests - shell if r // PER_SLOT in chosen}

    def hear(self, peer, settings, requests):
        """What the other direction granted in the cycle before; in both before `end` in either."""
        self.heard = [Fraction(0)] * SLOTS
        if peer.recent is None:
            return
        asked = {r // PER_SLOT for r in requests if r < SLOTS * PER_SLOT}
        if all(self.is_below(peer, settings[slot]) for slot in asked):
            for slot in asked:
                floor = Fraction(max(settings[slot].floor, LEAST_FLOOR), 256)
                self.heard[slot] = floor * peer.recent.rows

    def end(self, managed, settings, requests, granted, rows, returned, under_way, peer_waiting):
        """The end of a cycle: `granted` was taken (or None), `returned` rows of low slots are back."""
        asked = {r // PER_SLOT for r in requests if r < SLOTS * PER_SLOT}
        below = set(self.below)
        last, self.recent = self.recent, None
        low, self.recent_low = self.recent_low, 0
        if managed and granted is not None and granted < SLOTS * PER_SLOT:
            slot = granted // PER_SLOT
            begins = self.begins
            if last is not None and last.begins_round_of is not None:
                begins = None
            self.recent = Grant(slot, rows, asked, begins, self.owed)
            self.recent_low = rows if slot in below and not self.owed else 0
        if last is not None:
            self.account(last, settings)
        for slot, heard in enumerate(self.heard):
            self.due[slot] += heard
        if last is not None or any(self.heard):
            self.due = [min(max(due, Fraction(-2 * BURST)), Fraction(2 * BURST)) for due in self.due]
        self.outstanding += low - returned
        self.below = {s for s in range(SLOTS)
                      if any(level > settings[s].level for level in self.recent_levels)}
        waits = [settings[slot].level for slot in asked]
        waits += [] if under_way is None else [under_way]
        active = set(waits) | ({peer_waiting} - {None})
        if not managed:
            self.waiting, self.lingers, self.age = None, 0, 0
            self.recent_levels, self.seen_levels = set(), set()
            return
        ends_period = self.age == PERIOD - 1
        self.age = (self.age + 1) % PERIOD if self.recent_levels else 0
        self.recent_levels = active | (self.seen_levels if ends_period else self.recent_levels)
        self.seen_levels = active | (set() if ends_period else self.seen_levels)
        if waits:
            self.waiting, self.lingers = max(waits), LINGER
        elif self.lingers:
            self.lingers -= 1
        else:
            self.waiting = None

    def account(self, grant, settings):
        """What a grant changes for the choices from its second cycle on."""
        for slot, setting in enumerate(settings):
            share = max(setting.weight, 1) * BURST
            if grant.begins_round_of == setting.level:
                self.left[slot] = min(self.left[slot] + share, share)
            floor = Fraction(max(setting.floor, LEAST_FLOOR), 256)
            if slot in grant.asked:
                self.due[slot] += floor * grant.rows
            if slot == grant.slot:
                if not grant.owed:
                    self.left[slot] = max(self.left[slot] - grant.rows, -2 * BURST)
                self.due[slot] -= grant.rows
