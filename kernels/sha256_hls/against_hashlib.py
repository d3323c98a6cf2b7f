"""The functional model of the kernel against Python's hashlib (OpenSSL): prints how many random messages differ.

    python against_hashlib.py [CASES]

It needs the package `tombolo`. The RTL is compared with hashlib, too (`test_sha256_hls.py`).
"""

from __future__ import annotations

import hashlib
import random
import sys
from pathlib import Path

import tombolo

ROW, DIGEST, MAX_LANES = 64, 32, 128
# Bytes in a last block around which the padding takes one block, or two.
EDGES = [0, 1, 54, 55, 56, 57, 63]


def digests(data: bytes, lanes: int) -> bytes:
    """The digest of each lane: row `i` belongs to lane `i mod lanes`."""
    rows = [data[at : at + ROW] for at in range(0, len(data), ROW)]
    return b"".join(hashlib.sha256(b"".join(rows[lane::lanes])).digest() for lane in range(lanes))


def reference_wrong(count: int) -> int:
    """Of so many random messages, those with another digest, or with a byte changed behind the digests."""
    chosen, wrong = random.Random(19), 0
    with tombolo.Card.functional() as card, card.create_space() as space:
        slot = card.load(Path(__file__).resolve().parent, space)
        for _ in range(count):
            lanes = chosen.choice([1, 2, 3, 66, 67, MAX_LANES, chosen.randint(1, MAX_LANES)])
            size = ROW * chosen.randrange(3 * lanes + 2) + chosen.choice([*EDGES, chosen.randrange(ROW)])
            data, output = chosen.randbytes(size), bytearray(b"\xa5" * (DIGEST * MAX_LANES))
            slot.run(input=data or bytes(ROW), output=output, bytes=size, lanes=lanes)
            wrong += bytes(output) != digests(data, lanes).ljust(len(output), b"\xa5")
    return wrong


if __name__ == "__main__":
    print(reference_wrong(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
