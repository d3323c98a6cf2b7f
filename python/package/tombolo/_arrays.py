"""Arrays and other buffers as flat bytes, and temporary files that hold a copy of them."""

from __future__ import annotations

import os
import sys
from typing import Any, List

#: Linux moves at most this much in one call.
_MOST = 1 << 30

#: Types of a kernel's pointer argument, for messages.
_POINTEES = "a numpy array, bytes, bytearray, a Mapping, a path (a string or pathlib.Path) or an address (an integer)"


def flat_bytes(array: Any, *, writable: bool, takes: str = _POINTEES) -> memoryview:
    """The bytes of a C-contiguous buffer in the order of memory; a view, no copy.

    :param array: a numpy array of any shape and plain dtype, ``bytes``, ``bytearray``, ``array.array``,
        ``memoryview``, or anything else with the buffer protocol.
    :param writable: whether the kernel writes it.
    :param takes: for the error message: what to pass instead of an object without a buffer.
    :raises TypeError: no buffer, or one of Python objects.
    :raises ValueError: not contiguous, empty, or read-only where it is written.
    """
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(array, numpy.ndarray):
        if isinstance(array, numpy.ma.MaskedArray):
            raise TypeError("a masked array has a mask beside its bytes; pass array.filled() or array.data")
        if array.dtype.hasobject:
            raise TypeError(
                f"an array of dtype {array.dtype} holds references to Python objects, which mean nothing "
                "to a kernel; convert it with astype"
            )
        if not array.flags.c_contiguous:
            raise ValueError(
                f"an array of shape {array.shape} and strides {array.strides} is not C-contiguous; "
                "pass numpy.ascontiguousarray(array)"
            )
        if array.nbytes == 0:
            raise ValueError("an empty array cannot be mapped; at least 1 byte is needed")
        # Through numpy, because memoryview cannot cast structured, big-endian and date types.
        view = memoryview(numpy.asarray(array).reshape(-1).view(numpy.uint8))
    else:
        try:
            whole = memoryview(array)
        except TypeError:
            raise TypeError(f"{type(array).__name__} has no buffer; pass {takes}") from None
        if not whole.c_contiguous:
            raise ValueError("a buffer that is not C-contiguous cannot be mapped; copy it first")
        if whole.nbytes == 0:
            raise ValueError("an empty buffer cannot be mapped; at least 1 byte is needed")
        view = whole.cast("B")
    if writable and view.readonly:
        raise ValueError("the kernel writes this buffer, but it is read-only; pass a writable one")
    return view


class Copy:
    """A copy of bytes in an anonymous file in memory, which can be mapped into a kernel."""

    def __init__(self, view: memoryview) -> None:
        self._view = view
        self._descriptor = os.memfd_create("tombolo array", os.MFD_CLOEXEC)
        try:
            at = 0
            while at < view.nbytes:
                at += os.pwrite(self._descriptor, view[at : at + _MOST], at)
        except BaseException:
            self.close()
            raise

    @property
    def descriptor(self) -> int:
        """The file, open."""
        return self._descriptor

    def bring_back(self) -> None:
        """Copies the file's bytes into the buffer."""
        at = 0
        while at < self._view.nbytes:
            parts: List[memoryview] = [self._view[at : at + _MOST]]
            moved = os.preadv(self._descriptor, parts, at)
            if moved == 0:
                raise OSError(f"the copy of an array ends at byte {at} of {self._view.nbytes}")
            at += moved

    def close(self) -> None:
        """Releases file and buffer."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            self._view.release()
