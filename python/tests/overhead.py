"""Maps two files and runs a kernel on the functional card, so many times; prints the seconds that it took.

    python overhead.py KERNEL INPUT OUTPUT TIMES

Run by the bar `python.overhead`, beside the same loop in Rust.
"""

import sys
import time

import tombolo


def main() -> None:
    """The loop."""
    kernel, given, made, times = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    with tombolo.Card.functional() as card, card.create_space() as space:
        slot = card.load(kernel, space)
        began = time.perf_counter()
        for _ in range(times):
            source = space.map_file(given)
            target = space.map_file(made, "rw")
            slot.set("input", source)
            slot.set("output", target)
            slot.set("bytes", source.nbytes)
            slot.start()
            slot.wait()
            target.unmap()
            source.unmap()
        print(time.perf_counter() - began)


if __name__ == "__main__":
    main()
