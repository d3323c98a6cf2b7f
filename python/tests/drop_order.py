"""Makes cards, spaces, mappings, slots and reports, uses them, and lets go of them in any order.

    python drop_order.py OPERATIONS [SEED]

Prints JSON: operations; bytes that were wrong in arrays and files; and what is left of file descriptors, threads and
memory maps when all is gone. Run by ``test_lifetimes.py`` and by the bar ``languages.drop_order``.
"""

from __future__ import annotations

import gc
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Dict, List, Tuple, Union

import tombolo

Thing = Union[tombolo.Card, tombolo.AddressSpace, tombolo.Mapping, tombolo.Slot, tombolo.Report]


def left() -> Tuple[int, int, int]:
    """File descriptors, threads, and maps of shared memory of this process."""
    with open("/proc/self/maps") as maps:
        shared = sum("memfd" in line or "io_uring" in line for line in maps)
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), shared


class Life:
    """Objects in any state, and what they must contain."""

    def __init__(self, chance: random.Random, folder: Path) -> None:
        self.chance = chance
        self.folder = folder
        self.things: List[Thing] = []
        self.operations = 0
        self.wrong = 0
        self.files = 0

    def pick(self, kind: type) -> Union[Thing, None]:
        """One of a kind, or none."""
        found = [thing for thing in self.things if isinstance(thing, kind)]
        return self.chance.choice(found) if found else None

    def copy(self, space: tombolo.AddressSpace, slot: tombolo.Slot) -> None:
        """Copies an array into an array or a file; the mappings go in any order, by any way."""
        given = self.chance.randbytes(self.chance.randrange(1, 5000))
        made = bytearray(len(given))
        file = self.folder / str(self.files)
        into_file = self.chance.random() < 0.3
        source = space.map_array(given)
        if into_file:
            self.files = (self.files + 1) % 64
            target: tombolo.Mapping = space.map_file(file, "rw", create=len(given))
        else:
            target = space.map_array(made, "rw")
        slot.run(input=source, output=target, bytes=len(given))
        self.operations += 3
        ends = [source, target]
        self.chance.shuffle(ends)
        del source
        if into_file and self.chance.random() < 0.5:
            # Dropped, not unmapped: what was written is in the file once it is gone.
            target.sync()
            del target, ends
            gc.collect(0)
        else:
            del target
            for end in ends:
                end.unmap()
        self.wrong += (file.read_bytes() if into_file else bytes(made)) != given

    def step(self) -> None:
        """One operation on any of the objects."""
        self.operations += 1
        choice = self.chance.random()
        card, space = self.pick(tombolo.Card), self.pick(tombolo.AddressSpace)
        slot = self.pick(tombolo.Slot)
        try:
            if choice < 0.02 or card is None:
                self.things.append(tombolo.Card.functional(slots=2, channel_bytes=16 << 20, page_size=4096))
            elif choice < 0.10 or space is None:
                assert isinstance(card, tombolo.Card)
                self.things.append(card.create_space())
            elif choice < 0.20 or slot is None:
                assert isinstance(card, tombolo.Card) and isinstance(space, tombolo.AddressSpace)
                self.things.append(card.load("copy", space, slot=self.chance.randrange(2)))
            elif choice < 0.60:
                assert isinstance(slot, tombolo.Slot)
                self.copy(slot.space, slot)
            elif choice < 0.65:
                assert isinstance(card, tombolo.Card)
                self.things.append(card.report())
            elif choice < 0.70:
                assert isinstance(space, tombolo.AddressSpace)
                self.things.append(space.map_array(self.chance.randbytes(100), "r"))
        except tombolo.Error:
            # Gone, or of another card, or all of a kind in use: said so, and nothing else happened.
            pass
        while self.things and (len(self.things) > 24 or self.chance.random() < 0.25):
            self.operations += 1
            thing = self.things.pop(self.chance.randrange(len(self.things)))
            if not isinstance(thing, tombolo.Report) and self.chance.random() < 0.4:
                thing.unmap() if isinstance(thing, tombolo.Mapping) else thing.close()
            del thing
        if self.chance.random() < 0.01:
            gc.collect()


def run(operations: int, seed: int) -> Dict[str, int]:
    """So many operations; what was wrong, and what is left."""
    with tempfile.TemporaryDirectory() as folder:
        # The first card makes what all of them share.
        Life(random.Random(0), Path(folder)).step()
        gc.collect()
        before = left()
        life = Life(random.Random(seed), Path(folder))
        while life.operations < operations:
            life.step()
        while life.things:
            life.things.pop(life.chance.randrange(len(life.things)))
        gc.collect()
        # Threads take a moment to end.
        until = time.monotonic() + 20
        while left() != before and time.monotonic() < until:
            time.sleep(0.01)
        names = ("descriptors", "threads", "maps")
        leaks = {name: now - then for name, now, then in zip(names, left(), before)}
        return {"operations": life.operations, "wrong": life.wrong, **leaks}


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)))
