"""Map files and arrays into FPGA kernels, start them, wait; on a simulated card, or a functional one.

Encrypt an array::

    import numpy as np, tombolo
    plain = np.arange(100_000, dtype=np.uint32)
    cipher = np.empty_like(plain)
    with tombolo.Card.functional() as card:
        card.run("aes256ctr", input=plain, output=cipher, bytes=plain.nbytes, key=bytes(32), iv=bytes(16))

:class:`Card` opens a card, :class:`AddressSpace` is the virtual memory of an application's
kernels, :class:`Mapping` maps a file or an array into it, :class:`SharedMemory` is memory shared by the program and
kernels, :class:`Slot` runs a kernel, :class:`Stream` is a stream port of a kernel, :class:`CoherentMemory` is a range
of cache lines of a coherent CPU, :class:`Report` shows where the time went. :func:`kernel` wraps a kernel as a
function, for tests. Errors are in :mod:`tombolo.errors`.
"""

from . import _open, cache, errors  # noqa: F401  (_open closes cards at the end)
from ._arrays import empty
from ._kernel import Kernel, kernel
from ._memory import CoherentMap, SharedMemory
from ._native import (
    AddressSpace,
    ArrayMapping,
    Card,
    CoherentMemory,
    Connection,
    LineHistory,
    Mapping,
    PendingLine,
    Rpc,
    RpcLines,
    Slot,
    Stream,
    WriteBuffer,
    __version__,
)
from ._report import Report
from ._resources import SHARE, kernels, platforms, presets
from ._values import Argument, ConnectionState, Flowed, Moved, Progress, RpcAnswer
from .errors import Error

__all__ = [
    "SHARE",
    "AddressSpace",
    "Argument",
    "ArrayMapping",
    "Card",
    "CoherentMap",
    "CoherentMemory",
    "Connection",
    "ConnectionState",
    "Error",
    "Flowed",
    "Kernel",
    "LineHistory",
    "Mapping",
    "Moved",
    "PendingLine",
    "Progress",
    "Report",
    "Rpc",
    "RpcAnswer",
    "RpcLines",
    "SharedMemory",
    "Slot",
    "Stream",
    "WriteBuffer",
    "__version__",
    "cache",
    "empty",
    "errors",
    "kernel",
    "kernels",
    "platforms",
    "presets",
]
