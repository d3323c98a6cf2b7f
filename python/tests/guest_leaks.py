"""Opens cards with one of everything, and closes that in every order.

    python guest_leaks.py FILE COUNT

Prints how many more descriptors and threads there are behind the last card than behind the first ones, and bytes of
resident memory an open since a fifth of them. Run by ``test_lifetimes.py`` and by the bar ``guest.leaks``.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from typing import List, Optional, Union

import tombolo

Thing = Union[tombolo.Card, tombolo.AddressSpace, tombolo.Mapping, tombolo.Slot, tombolo.SharedMemory]


def resident() -> int:
    """Bytes of this process that are in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def held() -> List[int]:
    """Descriptors and threads of this process."""
    gc.collect()
    return [len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))]


def one(file: str, number: int) -> None:
    """Opens everything, and closes it, or lets go of it, in the order of that number."""
    card = tombolo.Card.functional()
    space = card.create_space()
    mapping = space.map_file(file, "rw")
    slot = card.load("copy", space)
    memory = space.alloc(8192)
    things: List[Optional[Thing]] = [card, space, mapping, slot, memory]
    slot.run(input=mapping, output=mapping, bytes=4096)
    del space, mapping, slot, memory
    if number % 7 == 6:
        card.close()
    del card
    while things:
        at = number % len(things)
        number //= len(things)
        thing = things.pop(at)
        if number % 2 and thing is not None:
            try:
                getattr(thing, "unmap" if isinstance(thing, tombolo.Mapping) else
                        "free" if isinstance(thing, tombolo.SharedMemory) else "close")()
            except tombolo.errors.GoneError:
                pass
        del thing


def main() -> None:
    """See the module."""
    file, count = sys.argv[1], int(sys.argv[2])
    before, bytes_then = held(), 0
    for number in range(count):
        one(file, number)
        if number == 1:
            time.sleep(0.1)
            before = held()
        if number == count // 5:
            gc.collect()
            bytes_then = resident()
    time.sleep(0.5)
    descriptors, threads = (now - then for now, then in zip(held(), before))
    an_open = (resident() - bytes_then) // (count - count // 5)
    print(f"{descriptors} descriptors, {threads} threads, {an_open} bytes an open")


if __name__ == "__main__":
    main()
