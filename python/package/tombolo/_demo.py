"""``tombolo demo``: the same kernel on the functional card and on the simulated one, against a judge of its own."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable, List

from . import _build_tools
from ._aes import aes256ctr
from ._native import Card
from .errors import BuildError, Error

KEY = bytes(range(32))
IV = bytes(range(0xF0, 0x100))
#: Bytes that are encrypted: no multiple of a block, a page or a beat.
NBYTES = (64 << 10) + 123

_USAGE = """Encrypts a file with the kernel aes256ctr (AES-256 in counter mode), and compares every byte with what AES in Python makes
of it: on the functional card, which needs no tools, then on the simulated card, which is the RTL of shell and kernel, cycle
for cycle. Exits with 0 if both are right."""


def main(arguments: List[str]) -> int:
    """Runs the demo, and returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="tombolo demo", description=_USAGE, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--functional", action="store_true", help="on the functional card only")
    given = parser.parse_args(arguments)
    plain = bytes(n * n >> 3 & 0xFF for n in range(NBYTES))
    expected = aes256ctr(plain, KEY, IV)
    print(f"Encrypting a file of {NBYTES} bytes with the kernel aes256ctr:")
    right = _try("functional card (a model of the kernel)", Card.functional, plain, expected)
    if not given.functional:
        opened: Callable[[], Card] = lambda: Card.simulated(progress=_progress)  # noqa: E731
        right &= _try("simulated card (the RTL of shell and kernel)", opened, plain, expected)
        print()
        print(_build_tools.summary())
    return 0 if right else 1


def _progress(step: str) -> None:
    """Shows the progress of long steps."""
    if not step.endswith((": prebuilt", ": in the cache")):
        print(f"    {step}", file=sys.stderr)


def _try(name: str, opened: Callable[[], Card], plain: bytes, expected: bytes) -> bool:
    """Encrypts on one card, and returns whether the result is correct."""
    began = time.monotonic()
    try:
        made, simulated = _encrypt(opened, plain)
    except BuildError as error:
        print(f"  {name}: not tried\n    {error}")
        return False
    except (Error, OSError) as error:
        print(f"  {name}: failed\n    {error}")
        return False
    seconds = time.monotonic() - began
    if made != expected:
        at = next((n for n, (a, b) in enumerate(zip(made, expected)) if a != b), min(len(made), len(expected)))
        print(f"  {name}: WRONG from byte {at} on, {seconds:.1f} s")
        return False
    print(f"  {name}: right, {seconds:.1f} s{simulated}")
    return True


def _encrypt(opened: Callable[[], Card], plain: bytes) -> "tuple[bytes, str]":
    """The encrypted bytes, and the virtual time taken on a card that has time."""
    with tempfile.TemporaryDirectory(prefix="tombolo-demo-") as folder:
        source, target = Path(folder, "plain"), Path(folder, "cipher")
        source.write_bytes(plain)
        with opened() as card, card.create_space() as space:
            given = space.map_file(source)
            made = space.map_file(target, "rw", create=given.nbytes)
            slot = card.load("aes256ctr", space)
            slot.run(input=given, output=made, bytes=given.nbytes, key=KEY, iv=IV)
            made.unmap()  # the bytes are in the file now
            last = next(iter(card.report()["runs"]), None)
        if last is None or "cycles" not in last:
            return target.read_bytes(), ""
        return target.read_bytes(), f"; {last['cycles']} cycles, {last['time'] / 1e6:.1f} us on the card"
