"""Memory shared by a program and kernels."""

from __future__ import annotations

import ctypes
import mmap
import operator
import sys
import weakref
from typing import TYPE_CHECKING, Any, Optional, Sequence, Tuple, Union

from ._arrays import flat_bytes
from ._native import NativeMemory, NativeSpace
from ._scope import Scope

if TYPE_CHECKING:
    from ._space import AddressSpace

Shape = Union[int, Sequence[int]]


def _numpy(what: str) -> Any:
    try:
        import numpy
    except ImportError:
        raise ImportError(f"{what} needs numpy: pip install numpy") from None
    return numpy


def _bytes_of(shape: Shape, dtype: Any) -> Tuple[int, Optional[Tuple[int, ...]]]:
    """Bytes, and the shape of an array if there is to be one."""
    if dtype is None:
        try:
            count = operator.index(shape)  # type: ignore[arg-type]
        except TypeError:
            raise TypeError(f"a shape {shape!r} needs a dtype; without one give a number of bytes") from None
        shapes: Optional[Tuple[int, ...]] = None
    else:
        numpy = _numpy("an array")
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


def empty(shape: Shape, dtype: Any = float) -> Any:
    """A numpy array of zeroes in separate pages, which :meth:`AddressSpace.register` accepts at any size.

    :param shape: an integer, or integers.
    :param dtype: any without Python objects.
    :raises ImportError: numpy is not installed.
    """
    numpy = _numpy("tombolo.empty")
    count, shapes = _bytes_of(shape, numpy.dtype(dtype))
    size = (count + mmap.PAGESIZE - 1) & -mmap.PAGESIZE
    block = _Pages(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    block.start = ctypes.addressof(ctypes.c_ubyte.from_buffer(block))
    _pages[block.start] = block
    return numpy.frombuffer(block, numpy.uint8, count).view(dtype).reshape(shapes)


class SharedMemory(Scope):
    """Memory that the program and the kernels of an address space read and write at the same addresses.

    Created by :meth:`AddressSpace.alloc` and :meth:`AddressSpace.register`. Its pages move automatically: the program
    always sees the kernel's writes, also while the kernel runs, and pointers in it are valid
    on both sides. An access to a page on the card waits for it, with the interpreter's lock held.

    :attr:`array` is a numpy array of it, :attr:`buffer` a memoryview; ``numpy.asarray(memory)`` and
    ``numpy.from_dlpack(memory)`` (or torch's, and so on) make others, and all share the same bytes. They stay
    usable after :meth:`free`, as plain memory, for their lifetime.

    A system call with an address in it fails with ``EFAULT`` while the page is on the card: write
    ``memory.array.copy()`` to a file, not the array, while kernels use it; or allocate it with ``for_calls=True``.

    As a context manager it is freed at the end of ``with``.
    """

    def __init__(
        self, space: AddressSpace, native: NativeMemory, shape: Optional[Tuple[int, ...]], dtype: Any, array: Any
    ) -> None:
        self._space = space
        self._native = native
        self._shape = shape
        self._dtype = dtype
        self._array = array
        space._shared.add(self)

    @property
    def address(self) -> int:
        """Address of the first byte: the same for the program and for kernels."""
        return self._native.address

    @property
    def nbytes(self) -> int:
        """Requested size in bytes."""
        return self._native.bytes

    @property
    def page_size(self) -> int:
        """Page size in bytes; the largest one of registered memory."""
        return self._native.page_size

    @property
    def in_calls(self) -> bool:
        """Whether it can be passed to system calls (``file.readinto``, ``socket.send``) while kernels use it: they wait for
        its pages, as the program does; memory that stays in the host never waits. See ``for_calls`` and
        ``direct`` of :meth:`AddressSpace.alloc`."""
        return self._native.in_calls

    @property
    def traps(self) -> Optional[str]:
        """Trap mechanism of the program's accesses: ``"protect"``, ``"userfault"`` or ``"in-thread"``, or ``None`` for
        memory that stays in the host. See ``traps`` of :meth:`AddressSpace.alloc`."""
        return self._native.traps

    def _block(self) -> Any:
        block = (ctypes.c_ubyte * self.nbytes).from_address(self.address)
        # The view keeps the memory alive.
        block.owner = self._native  # type: ignore[attr-defined]
        return block

    @property
    def buffer(self) -> memoryview:
        """Its bytes, writable."""
        if self._array is not None:
            return flat_bytes(self._array, writable=True)
        return memoryview(self._block()).cast("B")

    @property
    def array(self) -> Any:
        """A numpy array of it, with the requested shape and dtype (bytes by default); or the registered
        array.

        :raises ImportError: numpy is not installed.
        """
        if self._array is None:
            numpy = _numpy("SharedMemory.array")
            flat = numpy.frombuffer(self._block(), numpy.uint8)
            self._array = flat if self._shape is None else flat.view(self._dtype).reshape(self._shape)
        return self._array

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any:
        numpy = _numpy("SharedMemory.array")
        array = numpy.asarray(self.array)
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError(f"an array of {array.dtype} is one of {numpy.dtype(dtype)} only as a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __buffer__(self, flags: int) -> memoryview:
        return self.buffer

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Tuple[int, int]:
        device: Tuple[int, int] = self.array.__dlpack_device__()
        return device

    def __len__(self) -> int:
        return self.nbytes

    def address_of(self, index: Any) -> int:
        """The address of an element of :attr:`array`, as kernels and pointers in the memory have it.

        :param index: as in ``array[index]``: an integer, or one for each dimension.
        :raises IndexError: there is no such element.
        """
        array = self.array
        numpy = _numpy("SharedMemory.address_of")
        place = index if isinstance(index, tuple) else (index,)
        if len(place) != array.ndim:
            raise IndexError(f"{len(place)} indices for an array of {array.ndim} dimensions")
        at: int = numpy.asarray(array).ctypes.data
        for number, size, stride in zip(place, array.shape, array.strides):
            number = operator.index(number)
            if not -size <= number < size:
                raise IndexError(f"index {number} is out of bounds for a dimension of {size}")
            at += number % size * stride
        return at

    def sync(self) -> None:
        """Brings what kernels have written so far to the program's memory in one go, rather than page by page
        as the program looks.

        :raises GoneError: it was freed.
        """
        self._native.sync()

    def prefetch(self) -> None:
        """Brings pages to the card, to be read, before a kernel touches them, as far as there is room.

        :raises GoneError: it was freed.
        """
        self._native.prefetch()

    def free(self) -> None:
        """Ends the sharing: kernels do not reach it any more, and what they wrote is in it. An array that was
        registered is a plain array again. Nothing if it was freed before.

        :raises MemoryInUseError: a kernel of the space runs.
        """
        self._native.free()
        self._space._shared.discard(self)

    def _leave(self) -> None:
        self.free()

    def __repr__(self) -> str:
        return f"<SharedMemory: {self.nbytes} bytes at {self.address:#x}>"


def registered(native: NativeSpace, array: Any, page_size: Optional[int]) -> NativeMemory:
    """Shares a buffer in place."""
    view = flat_bytes(array, writable=True)
    start = ctypes.addressof(ctypes.c_ubyte.from_buffer(view))
    first, size = _whole_pages(start, view.nbytes)
    return native.register(first, size, (start - first, view.nbytes), page_size, view)


def is_numpy(thing: Any) -> bool:
    """Whether it is a numpy array; without importing numpy."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(thing, numpy.ndarray)
