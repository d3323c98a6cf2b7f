"""Views of memory that a program and kernels share, or that coherent lines are.

The rest of these classes is in Rust. Views are here because arrays are numpy's, which is optional, and because Python
3.10's stable interface for extensions lacks the buffer protocol."""

from __future__ import annotations

import ctypes
import operator
from typing import Any, Optional, Tuple

from ._arrays import flat_bytes, with_numpy
from ._native import CoherentPages, Memory


class SharedMemory(Memory):
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

    def __init__(self, memory: Memory, shape: Optional[Tuple[int, ...]], dtype: Any, array: Any) -> None:
        self._shape = shape
        self._dtype = dtype
        self._array = array

    def _bytes(self) -> Any:
        block = (ctypes.c_ubyte * self.nbytes).from_address(self.address)
        # The view keeps the memory alive, not the space.
        block.owner = self._block  # type: ignore[attr-defined]
        return block

    @property
    def buffer(self) -> memoryview:
        """Its bytes, writable."""
        if self._array is not None:
            return flat_bytes(self._array, writable=True)
        return memoryview(self._bytes()).cast("B")

    @property
    def array(self) -> Any:
        """A numpy array of it, with the requested shape and dtype (bytes by default); or the registered
        array.

        :raises ImportError: numpy is not installed.
        """
        if self._array is None:
            numpy = with_numpy("SharedMemory.array")
            flat = numpy.frombuffer(self._bytes(), numpy.uint8)
            self._array = flat if self._shape is None else flat.view(self._dtype).reshape(self._shape)
        return self._array

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any:
        numpy = with_numpy("SharedMemory.array")
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
        numpy = with_numpy("SharedMemory.address_of")
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

    def __enter__(self) -> SharedMemory:
        return self

    def __repr__(self) -> str:
        return f"<SharedMemory: {self.nbytes} bytes at {self.address:#x}>"


class CoherentMap(CoherentPages):
    """Coherent lines at an ordinary address; created by :meth:`CoherentMemory.map`.

    ``memoryview(map)``, :attr:`buffer` and ``numpy.asarray(map.buffer)`` show the lines, also while a kernel changes them:
    an access to a page that the CPU does not have waits for its lines, with the interpreter's lock held. The pages stay
    mapped as long as this object or a view of it exists. All 32 lines of a page are fetched together, so a page must not hold
    lines whose load has a meaning for the kernel, such as those of a call. An access that a kernel refuses or does not
    answer, or that comes after the card was closed, ends the program with SIGSEGV.
    """

    @property
    def buffer(self) -> memoryview:
        """The lines' bytes; writable if the map is."""
        block = (ctypes.c_ubyte * self.nbytes).from_address(self.address)
        # The view keeps the pages mapped.
        block.owner = self  # type: ignore[attr-defined]
        view = memoryview(block).cast("B")
        return view if self.writable else view.toreadonly()

    def __buffer__(self, flags: int) -> memoryview:
        return self.buffer

    def __len__(self) -> int:
        return self.nbytes

    def __repr__(self) -> str:
        return f"<CoherentMap: {self.nbytes} bytes at {self.address:#x}>"
