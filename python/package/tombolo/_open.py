"""Cards that are open; at the end of the interpreter they are closed."""

from __future__ import annotations

import atexit
import os
import weakref

from ._native import Card

cards: weakref.WeakSet[Card] = weakref.WeakSet()
# A child that was forked has none: its parent writes back.
os.register_at_fork(after_in_child=cards.clear)


@atexit.register
def _close_all() -> None:
    for card in list(cards):
        card.close()
