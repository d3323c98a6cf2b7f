"""Encrypts an array on a card and shows where the time went.

    python encrypt.py               on the functional card
    python encrypt.py --simulated   on the real shell RTL (needs g++ and Verilator)
"""

from __future__ import annotations

import secrets
import sys

import numpy as np
import tombolo


def open_card() -> tombolo.Card:
    if "--simulated" in sys.argv[1:]:
        return tombolo.Card.simulated(progress=lambda step: print(step, file=sys.stderr))
    return tombolo.Card.functional()


def main() -> None:
    key, iv = secrets.token_bytes(32), secrets.token_bytes(16)
    plain = np.arange(100_000, dtype=np.float32).reshape(100, 1000)
    cipher, again = np.empty_like(plain), np.empty_like(plain)
    with open_card() as card:
        card.run("aes256ctr", input=plain, output=cipher, bytes=plain.nbytes, key=key, iv=iv)
        card.run("aes256ctr", input=cipher, output=again, bytes=plain.nbytes, key=key, iv=iv)
        print(card.report())
    assert not np.array_equal(plain, cipher)
    assert np.array_equal(plain, again)


if __name__ == "__main__":
    main()
