"""Arrays and other buffers: their bytes, pages, and temporary files that hold a copy of them.

This is Python because numpy is: arrays, dtypes and shapes have no better interface for Rust, and numpy is optional."""

from __future__ import annotations

import ctypes
import mmap
import operator
import os
import sys
import weakref
from typing import Any, List, Optional, Sequence, Tuple, Union

from ._values import Shape

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


def plain_bytes(data: Any) -> bytes:
    """A copy of a buffer's bytes. Nothing is mapped, so it may be empty: a call without a payload is a call."""
    if isinstance(data, (bytearray, memoryview)) and len(data) == 0 or getattr(data, "size", None) == 0:
        return b""
    return bytes(flat_bytes(data, writable=False))


def scalar(argument: str, value: Any) -> Union[int, bytes]:
    """The value of a kernel's argument that is no memory."""
    try:
        number = operator.index(value)
    except TypeError:
        try:
            return bytes(flat_bytes(value, writable=False, takes="an integer, or the value's bytes (a numpy scalar has them)"))
        except TypeError as error:
            raise TypeError(f"argument {argument}: {error}") from None
    if not 0 <= number < 1 << 64:
        raise ValueError(f"argument {argument}: {number} is not from 0 to 2**64-1; pass bytes")
    return number


def address(value: Any) -> Optional[int]:
    """An address, if the value of a pointer is an integer. Numpy's have a buffer, too; an address in an array is an
    address."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.integer):
        return operator.index(value)
    if hasattr(value, "__index__") and not hasattr(value, "__array_interface__"):
        return operator.index(value)
    return None


def with_numpy(what: str) -> Any:
    try:
        import numpy
    except ImportError:
        raise ImportError(f"{what} needs numpy: pip install numpy") from None
    return numpy


def bytes_of(shape: Shape, dtype: Any) -> Tuple[int, Optional[Tuple[int, ...]]]:
    """Bytes, and the shape of an array if there is to be one."""
    if dtype is None:
        try:
            count = operator.index(shape)  # type: ignore[arg-type]
        except TypeError:
            raise TypeError(f"a shape {shape!r} needs a dtype; without one give a number of bytes") from None
        shapes: Optional[Tuple[int, ...]] = None
    else:
        numpy = with_numpy("an array")
        kind = numpy.dtype(dtype)
        if kind.hasobject:
            raise TypeError(f"dtype {kind} holds references to Python objects, which mean nothing to a kernel")
        sizes: Sequence[int] = shape if isinstance(shape, Sequence) else [shape]
        shapes = tuple(operator.index(size) for size in sizes)
        count = kind.itemsize
        for size in shapes:
            if size < 0:
                raise ValueError(f"shape {shapes}: sizes are not negative")
            count *= size
    if count < 1:
        raise ValueError(f"{count} bytes cannot be shared; at least 1 byte is needed")
    return count, shapes


class _Pages(mmap.mmap):
    """Pages of an array of :func:`empty`."""

    start: int


#: Those that live, by their first address.
_pages: weakref.WeakValueDictionary[int, _Pages] = weakref.WeakValueDictionary()


def _whole_pages(start: int, nbytes: int) -> Tuple[int, int]:
    """The pages that hold some bytes, if nothing else is in them; else the bytes."""
    for block in list(_pages.values()):
        if block.start <= start and start + nbytes <= block.start + len(block):
            first = start & -mmap.PAGESIZE
            return first, (start + nbytes - first + mmap.PAGESIZE - 1) & -mmap.PAGESIZE
    return start, nbytes


def pages_of(array: Any) -> Tuple[int, int, Tuple[int, int], memoryview, Any]:
    """Start and bytes of what is shared of an array, its offset and bytes there, a view that holds it; and the array, if
    it is one of numpy."""
    view = flat_bytes(array, writable=True)
    start = ctypes.addressof(ctypes.c_ubyte.from_buffer(view))
    first, size = _whole_pages(start, view.nbytes)
    numpy = sys.modules.get("numpy")
    is_numpy = numpy is not None and isinstance(array, numpy.ndarray)
    return first, size, (start - first, view.nbytes), view, array if is_numpy else None


def empty(shape: Shape, dtype: Any = float) -> Any:
    """A numpy array of zeroes in separate pages, which :meth:`AddressSpace.register` accepts at any size.

    :param shape: an integer, or integers.
    :param dtype: any without Python objects.
    :raises ImportError: numpy is not installed.
    """
    numpy = with_numpy("tombolo.empty")
    count, shapes = bytes_of(shape, numpy.dtype(dtype))
    size = (count + mmap.PAGESIZE - 1) & -mmap.PAGESIZE
    block = _Pages(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    block.start = ctypes.addressof(ctypes.c_ubyte.from_buffer(block))
    _pages[block.start] = block
    return numpy.frombuffer(block, numpy.uint8, count).view(dtype).reshape(shapes)


class Copy:
    """A copy of bytes in an anonymous file in memory, which can be mapped into a kernel."""

    def __init__(self, array: Any, writable: bool) -> None:
        self._view = flat_bytes(array, writable=writable)
        self._descriptor = os.memfd_create("tombolo array", os.MFD_CLOEXEC)
        try:
            at = 0
            while at < self._view.nbytes:
                at += os.pwrite(self._descriptor, self._view[at : at + _MOST], at)
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

    def __del__(self) -> None:
        if hasattr(self, "_descriptor"):
            self.close()
