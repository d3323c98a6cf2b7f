"""The ``tombolo`` command of the package: ``demo`` and ``cache`` here, everything else by the command of the repository,
which the package carries."""

from __future__ import annotations

import os
import sys
from typing import List, Optional

from . import _demo, _resources, cache
from ._native import __version__

_USAGE = """usage: tombolo cache list            what has been built and kept, and its size
       tombolo cache clear           removes it; the next simulated card builds anew
       tombolo demo                  encrypts a file on both kinds of card and compares
       tombolo COMMAND ...           run, kernel, doctor, shell, protocol, lab, …: tombolo --help"""


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the command, and returns its exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    own = {"cache": _cache, "demo": _demo.main}.get(given[0] if given else "")
    if own is not None:
        return own(given[1:])
    command = _resources.command()
    if command is None:
        if given == ["--version"]:
            print(f"tombolo {__version__}")
            return 0
        without = "This package was built without the command; only `demo` and `cache` are there."
        print(f"{_USAGE}\n\n{without}", file=sys.stderr)
        return 2
    _resources.find_tools()
    os.environ.setdefault("TOMBOLO_HOME", str(_resources.SHARE))
    sys.stdout.flush()
    os.execv(command, ["tombolo", *given])


def _cache(given: List[str]) -> int:
    try:
        if given == ["list"]:
            entries = cache.entries()
            for entry in entries:
                print(f"{entry.name:40} {entry.nbytes / 1e6:10.1f} MB  used {entry.used:%Y-%m-%d %H:%M}")
            total = sum(entry.nbytes for entry in entries)
            print(f"{len(entries)} models, {total / 1e6:.1f} MB, in {cache.folder()}")
            return 0
        if given == ["clear"]:
            removed, busy = cache.clear()
            print(f"removed {len(removed)} models from {cache.folder()}")
            if busy:
                print(f"{len(busy)} are being built or loaded right now and stay; clear again later", file=sys.stderr)
            return 1 if busy else 0
    except OSError as error:
        print(f"tombolo cache: {error}", file=sys.stderr)
        return 1
    print(_USAGE, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
