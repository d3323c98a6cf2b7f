"""Maps two files and runs a kernel on the functional card, TIMES times in PARTS equal parts; prints the seconds that
each part took.

    python overhead.py KERNEL INPUT OUTPUT TIMES PARTS

Run by the bar `python.overhead`, compared with the same loop in Rust.
"""

import sys
import time

import tombolo


def main() -> None:
    """The loop."""
    kernel, given, made = sys.argv[1:4]
    times, parts = int(sys.argv[4]), int(sys.argv[5])
    took = []
    with tombolo.Card.functional() as card, card.create_space() as space:
        slot = card.load(kernel, space)
        for _ in range(parts):
            began = time.perf_counter()
            for _ in range(times // parts):
                source = space.map_file(given)
                target = space.map_file(made, "rw")
                slot.set("input", source)
                slot.set("output", target)
                slot.set("bytes", source.nbytes)
                slot.start()
                slot.wait()
                target.unmap()
                source.unmap()
            took.append(time.perf_counter() - began)
        print(*took)


if __name__ == "__main__":
    main()
