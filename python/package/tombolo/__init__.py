"""Map files and arrays into FPGA kernels, start them, wait; on a simulated card, or a functional one.

Encrypt an array::

    import numpy as np, tombolo
    plain = np.arange(100_000, dtype=np.uint32)
    cipher = np.empty_like(plain)
    with tombolo.Card.functional() as card:
        card.run("aes256ctr", input=plain, output=cipher, bytes=plain.nbytes, key=bytes(32), iv=bytes(16))

:class:`Card` opens a card, :class:`AddressSpace` is what an application's kernels see, :class:`Mapping` shows a
file or an array in it, :class:`Slot` runs a kernel, :class:`Report` says where the time went. :func:`kernel` makes a
kernel a function, for tests. Errors are in :mod:`tombolo.errors`.
"""

from . import errors
from ._card import Card, Report
from ._kernel import Kernel, kernel
from ._native import __version__
from ._resources import SHARE, kernels, platforms
from ._slot import Argument, Progress, Slot
from ._space import AddressSpace, ArrayMapping, Mapping
from .errors import Error

__all__ = [
    "SHARE",
    "AddressSpace",
    "Argument",
    "ArrayMapping",
    "Card",
    "Error",
    "Kernel",
    "Mapping",
    "Progress",
    "Report",
    "Slot",
    "__version__",
    "errors",
    "kernel",
    "kernels",
    "platforms",
]
