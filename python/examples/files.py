"""Copies a file through a kernel: maps it, makes another, runs, and looks at the report."""

from __future__ import annotations

import tempfile
from pathlib import Path

import tombolo


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.bin"), Path(folder, "out.bin")
        source.write_bytes(bytes(range(256)) * 10_000)
        with tombolo.Card.functional() as card, card.create_space() as space:
            given = space.map_file(source)
            made = space.map_file(target, "rw", create=given.nbytes)
            slot = card.load("copy", space)
            slot.run(input=given, output=made, bytes=given.nbytes)
            made.unmap()  # the bytes are in the file now
            assert target.read_bytes() == source.read_bytes()
            report = card.report()
            print(report["paging"]["faults"], "faults,", report["paging"]["bytes_read"], "bytes read")


if __name__ == "__main__":
    main()
