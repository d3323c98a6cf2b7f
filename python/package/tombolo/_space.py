"""Address spaces, and mappings of files and arrays."""

from __future__ import annotations

import os
import warnings
import weakref
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, List, NamedTuple, Optional, Tuple, Type, Union
from typing import Mapping as Dictionary

from ._arrays import Copy, flat_bytes
from ._memory import Shape, SharedMemory, _bytes_of, is_numpy, registered
from ._native import NativeMapping, NativeSlot, NativeSpace
from ._scope import Scope
from ._times import Progress, called, picoseconds, reporter

from .errors import UnregistrableError

if TYPE_CHECKING:
    from ._card import Card
    from ._slot import Slot

PathLike = Union[str, "os.PathLike[str]"]

_NO_USERFAULTFD = (
    "the system does not let this program have userfaultfd, so system calls that are given this memory fail with "
    "EFAULT while a page is with the card. It needs Linux 6.6, and `sysctl vm.unprivileged_userfaultfd=1`, read and "
    "write access to /dev/userfaultfd, or CAP_SYS_PTRACE; containers also need a seccomp profile with userfaultfd"
)


class Flowed(NamedTuple):
    """The transfer of a port in :meth:`AddressSpace.flow`."""

    #: The port's name.
    port: str
    #: Bytes.
    nbytes: int
    #: Completed packets.
    packets: int


class Mapping(Scope):
    """A range of an address space, backed by a range of a file.

    Created by :meth:`AddressSpace.map_file`. As a context manager it is unmapped at the end of ``with``.
    """

    def __init__(self, space: AddressSpace, native: NativeMapping, path: str) -> None:
        self._space = space
        self._native = native
        self._path = path

    @property
    def address(self) -> int:
        """Address of the first byte in the kernel's space."""
        return self._native.address

    @property
    def nbytes(self) -> int:
        """Size of the mapping in bytes."""
        return self._native.bytes

    def sync(self) -> None:
        """Writes the kernel's data so far back to the file and its storage.

        :raises TransferError: the file is full, or its storage fails; data that failed stays on the
            card.
        """
        self._native.sync()

    def advise(self, advice: str, offset: int = 0, nbytes: Optional[int] = None) -> None:
        """Advises on the kernel's access pattern. Advice affects speed, never results.

        :param advice: ``"stream"``: sequential, with large read-ahead; ``"random"``: no read-ahead.
            ``"reuse"``: repeated accesses, pages stay; ``"lowuse"``: about one access, pages are evicted first,
            or stay in host memory if the card has a host channel. Two words joined with ``+``; an empty text
            clears the advice.
        :param offset: first byte of the range, which is extended to whole pages.
        :param nbytes: size of the range in bytes; up to the end if not given.
        :raises ValueError: no such word, or two that contradict each other.
        :raises GoneError: it is unmapped.
        """
        self._native.advise(advice, offset, nbytes)

    def prefetch(self) -> None:
        """Prefetches the pages to the card, as far as there is room."""
        self._native.prefetch()

    def make_hot(self) -> int:
        """Preloads the pages onto a simulated card (zero-cost in virtual time), as far as there is room: to measure a kernel
        on resident data, without the cost of loading it. The report mentions it.

        :returns: the preloaded bytes; 0 on a card that loads them as usual.
        :raises SlotStateError: a kernel is running.
        """
        return self._native.make_hot()

    def unmap(self) -> None:
        """Writes back and ends the mapping; no effect if it has ended.

        :raises TransferError: as :meth:`sync`; the mapping ends in any case.
        """
        self._native.unmap()

    def _leave(self) -> None:
        self.unmap()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._path}: {self.nbytes} bytes at {self.address:#x}>"


class ArrayMapping(Mapping):
    """A range of an address space with a copy of an array's bytes.

    Created by :meth:`AddressSpace.map_array`. The kernel works on the copy: its data is in the array
    after :meth:`sync` or :meth:`unmap`, and writes of the program to the array in the meantime are not visible to
    the kernel.
    """

    def __init__(
        self, space: AddressSpace, native: NativeMapping, copy: Copy, writable: bool, what: str
    ) -> None:
        super().__init__(space, native, what)
        # A mapped file is closed with the space; the data of this one have to be copied back first.
        space._mappings.add(self)
        self._copy: Optional[Copy] = copy
        self._writable = writable

    def sync(self) -> None:
        """Copies the kernel's data so far into the array.

        :raises GoneError: it is unmapped.
        """
        super().sync()
        if self._writable and self._copy is not None:
            self._copy.bring_back()

    def unmap(self) -> None:
        """Copies the kernel's data into the array, and ends the mapping; no effect if it has ended."""
        self._end(bring_back=True)

    def discard(self) -> None:
        """Ends the mapping without changing the array."""
        self._end(bring_back=False)

    def _end(self, bring_back: bool) -> None:
        copy, self._copy = self._copy, None
        if copy is None:
            return
        self._space._mappings.discard(self)
        try:
            super().unmap()
            if bring_back and self._writable:
                copy.bring_back()
        finally:
            copy.close()

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        # Results of a run that failed are not to be trusted.
        self._end(bring_back=kind is None)

    def __del__(self) -> None:
        copy = getattr(self, "_copy", None)
        if copy is not None:
            copy.close()


class AddressSpace(Scope):
    """The address space of one application's ports; created by :meth:`Card.create_space`.

    As a context manager it is closed, with its mappings, at the end of ``with``.
    """

    def __init__(self, card: Card, native: NativeSpace) -> None:
        self._card = card
        self._native = native
        self._mappings: weakref.WeakSet[ArrayMapping] = weakref.WeakSet()
        self._shared: weakref.WeakSet[SharedMemory] = weakref.WeakSet()
        self._slots: weakref.WeakSet[Slot] = weakref.WeakSet()

    @property
    def asid(self) -> int:
        """Its number in the shell."""
        return self._native.asid

    def map_file(
        self,
        path: PathLike,
        mode: str = "r",
        *,
        create: Optional[int] = None,
        offset: int = 0,
        nbytes: Optional[int] = None,
        page_size: Optional[int] = None,
        address: Optional[int] = None,
        direct: bool = False,
        memory: Optional[str] = None,
        file_state: Optional[str] = None,
        holes: bool = False,
    ) -> Mapping:
        """Maps a file, or a range of it, opened here with the rights of this process.

        :param path: a regular file of at least 1 byte. Or a stream: ``"pipe:PATH"``, ``"tcp:HOST:PORT"``,
            ``"unix:PATH"`` and so on, with ``nbytes``: a reading kernel waits for data, and its output
            is sent by :meth:`Mapping.sync` and :meth:`Mapping.unmap`.
        :param mode: ``"r"``: the kernel may read; ``"rw"``: read and write.
        :param create: creates or truncates the file, with this number of zero bytes; needs ``"rw"``.
        :param offset: first byte of the range.
        :param nbytes: size of the range in bytes; up to the end of the file if not given.
        :param page_size: page size in bytes, a power of two from 4096 to 2**30; the card's choice (2 MiB) if
            not given. Small pages suit sparse accesses, large pages reduce the number of faults.
        :param address: address in the space, a multiple of the page size; the pager's choice if not given.
        :param direct: pages stay in host memory, where kernels read and write them; needs a host channel
            (``host_channel`` of the shell).
        :param memory: ``"ddr"`` or ``"hbm"``: places the pages in that memory of a card with both (platform
            ``"u280-both"``); in any if not given.
        :param file_state: ``"warm"``: the file is in the host's page cache, or ``"cold"``: on storage; this determines
            the cost of reading it in virtual time. The card's setting (``cold``) if not given.
        :param holes: holes of a cold file cost no reading; otherwise they cost as data.
        :raises OSError: the file cannot be opened in this mode, or created.
        :raises UnmappableError: empty, not a regular file, a range outside of it or over another mapping.
        """
        where = os.fspath(path)
        native = self._native.map_file(
            where,
            mode,
            create=create,
            offset=offset,
            bytes=nbytes,
            address=address,
            page_size=page_size,
            direct=direct,
            memory=memory,
            file_state=file_state,
            holes=holes,
        )
        return Mapping(self, native, where)

    def map_array(
        self, array: Any, mode: str = "r", *, page_size: Optional[int] = None
    ) -> ArrayMapping:
        """Maps a copy of an array's bytes.

        :param array: a numpy array of any shape and dtype without Python objects, or anything else with the
            buffer protocol (``bytes``, ``bytearray``, ``array.array``, ``memoryview``); C-contiguous, at
            least 1 byte. The kernel sees its bytes in memory order.
        :param mode: ``"r"``: the kernel may read; ``"rw"``: read and write, and :meth:`Mapping.sync` and
            :meth:`Mapping.unmap` copy the bytes back into the array.
        :param page_size: as in :meth:`map_file`.
        :raises TypeError: no buffer, or one of Python objects.
        :raises ValueError: not contiguous, empty, or read-only with ``"rw"``.
        """
        if mode not in ("r", "rw"):
            raise ValueError(f'mode {mode!r}: use "r" or "rw"')
        writable = mode == "rw"
        copy = Copy(flat_bytes(array, writable=writable))
        what = f"array of type {type(array).__name__}"
        try:
            native = self._native.map_descriptor(copy.descriptor, what, mode, page_size)
        except BaseException:
            copy.close()
            raise
        return ArrayMapping(self, native, copy, writable, what)

    def alloc(
        self,
        shape: Shape,
        dtype: Any = None,
        *,
        page_size: Optional[int] = None,
        for_calls: bool = False,
        traps: Optional[str] = None,
        direct: bool = False,
    ) -> SharedMemory:
        """Allocates zeroed memory that the program shares with the kernels of this space, at the same addresses.

        :param shape: number of bytes; or with ``dtype`` the shape of an array, an integer or several.
        :param dtype: dtype of its numpy array, :attr:`SharedMemory.array`.
        :param page_size: page size for moves between program and card in bytes, a power of two of at least
            4096; 2 MiB if not given, or one page that holds all of it. Large pages move more data at once; a page
            that both sides write ping-pongs.
        :param for_calls: it can be passed to system calls while kernels use it: ``file.readinto(memory.buffer)``
            waits for its pages. It is guarded by userfaultfd, where small pages are best (4096 bytes if
            ``page_size`` is not given). If the system does not permit this, there is a ``RuntimeWarning``,
            and system calls fail with ``EFAULT`` as usual; :attr:`SharedMemory.in_calls` has the result.
        :param traps: trap mechanism for the program's accesses: ``"protect"`` (protected pages, SIGSEGV; the default),
            ``"userfault"`` (as ``for_calls``), or ``"in-thread"``: userfaultfd with SIGBUS, served in the
            faulting thread; it needs no privilege and has no limit on the number of pages. An unavailable mechanism
            gives a ``RuntimeWarning``; :attr:`SharedMemory.traps` is the one in use.
        :param direct: it stays in host memory: kernels read and write it over PCIe, no page moves, and the program is
            never trapped, not even in system calls. For data that is accessed rarely, or written by both sides alternately.
            The card needs a host channel (``host_channel`` of its shell).
        :raises ValueError: an unknown word for ``traps``, ``for_calls`` with a mechanism other than ``"userfault"``, or
            either with ``direct``.
        :raises MemoryError: out of memory.
        :raises UnshareableError: too many pages for the system to protect individually.
        :raises ImportError: with ``dtype``, numpy is not installed.
        """
        nbytes, shapes = _bytes_of(shape, dtype)
        if nbytes >= 1 << 47:
            raise MemoryError(f"{nbytes} bytes are more than any program can address")
        if for_calls and traps not in (None, "userfault"):
            raise ValueError(f"system calls wait with traps='userfault' only, not {traps!r}")
        if direct and (for_calls or traps is not None):
            raise ValueError("direct memory is never trapped: leave out for_calls and traps")
        wanted = "userfault" if for_calls else traps
        native = self._native.alloc(nbytes, page_size, wanted, direct)
        if wanted not in (None, native.traps):
            warnings.warn(_NO_USERFAULTFD, RuntimeWarning, stacklevel=2)
        return SharedMemory(self, native, shapes, dtype, None)

    def register(self, array: Any, *, page_size: Optional[int] = None) -> SharedMemory:
        """Shares an array in place: kernels read and write its bytes, at the program's addresses,
        until :meth:`SharedMemory.free`. Until then it is held, and operations that would move its bytes are refused
        (``bytearray.append``, ``ndarray.resize``; not ``resize(refcheck=False)``, which has no check).

        :param array: a C-contiguous, writable numpy array, or another buffer. Its memory must be whole pages of
            4096 bytes, as :func:`tombolo.empty` gives; or a block that ``malloc`` has mapped separately, from its
            first byte, as numpy's larger arrays are (from 128 KiB, sometimes only from 32 MiB). Those
            begin 16 bytes after a multiple of 4096, which kernels that need aligned addresses refuse.
        :param page_size: maximum page size in bytes; 2 MiB if not given.
        :raises TypeError: no buffer, or one of Python objects.
        :raises ValueError: not contiguous, empty, or read-only.
        :raises UnregistrableError: memory that cannot be shared page by page, with the rule that it breaks; use
            :func:`tombolo.empty` or :meth:`alloc`.
        """
        try:
            native = registered(self._native, array, page_size)
        except UnregistrableError as error:
            raise UnregistrableError(
                f"{error}. An array of tombolo.empty(shape, dtype) can be registered, whatever its size"
            ) from None
        return SharedMemory(self, native, None, None, array if is_numpy(array) else None)

    def flow(
        self,
        plugs: Dictionary[Tuple[Slot, str], Union[str, Mapping, SharedMemory]],
        *,
        packets: Optional[Dictionary[Tuple[Slot, str], Union[int, str]]] = None,
        deadline: Optional[float] = None,
        progress: Optional[Callable[[Progress], object]] = None,
        listening: Optional[Callable[[str, str, int], object]] = None,
    ) -> List[Flowed]:
        """Connects stream ports to devices and memory, and moves data until every stream has ended. Other
        threads run meanwhile, and Ctrl-C ends it.

        For example ``space.flow({(slot, "in"): "pipe:/tmp/fifo", (slot, "out"): mapping})``.

        :param plugs: a device, a mapping, or shared memory for each slot and port name. Devices are ``"-"``
            (the standard input or output), ``"pipe:PATH"``, ``"tcp:HOST:PORT"``, ``"tcp-listen:[HOST:]PORT"``,
            ``"unix:PATH"``, ``"unix-listen:PATH"``, with ``":live"``, ``":timeout=5s"``, ``":buffer=1MiB"`` appended
            (docs/devices.md). Memory is sent as one packet, or receives one. A socket may serve two ports, one per
            direction.
        :param packets: number of consecutive packets to take, for each slot and output port: a
            number, ``"all"`` until all inputs have ended and nothing moves any more, or ``"any"``: one, or as much of it
            as there is room for. Other ports take one. Device names can set it too: ``":packets=all"``.
        :param deadline: seconds of virtual time from now on; time stops while the host waits for a device.
        :param progress: as for :meth:`Slot.wait`.
        :param listening: called with port, host and number of each ``tcp-listen`` before waiting for a peer.
        :returns: the transfer of each port.
        :raises DeviceError: not a device, or it cannot be opened.
        :raises DevicePeerError: its peer timed out, has closed, or failed.
        :raises StreamError: no such port, or it is in use; a kernel has sent more packets than its port takes.
        :raises ValueError: packets of a port that is not connected; an invalid number of packets.
        """
        called(listening, "listening")
        counts = dict(packets or {})
        ports: List[Tuple[NativeSlot, str, Any, Optional[str]]] = []
        for (slot, port), what in plugs.items():
            count = counts.pop((slot, port), None)
            if isinstance(what, (Mapping, SharedMemory)):
                ports.append((slot._native, port, (what._native, 0, what.nbytes), None if count is None else str(count)))
            elif isinstance(what, str):
                ports.append((slot._native, port, what if count is None else f"{what}:packets={count}", None))
            else:
                raise TypeError(f"port {port} is plugged into {type(what).__name__}; a device's name or memory can be")
        for _, port in counts:
            raise ValueError(f"packets are given for port {port}, and nothing is plugged in there")
        found = self._native.flow(ports, picoseconds(deadline), reporter(progress), listening)
        return [Flowed(*one) for one in found]

    def close(self) -> None:
        """Stops the kernels of the space, writes back and ends every mapping, and ends the space.

        All of it is done even if something fails; the first failure is raised.
        """
        failure: Optional[BaseException] = None
        for slot in list(self._slots):
            try:
                slot.close()
            except Exception as error:
                failure = failure or error
        ends = [mapping.unmap for mapping in self._mappings] + [shared.free for shared in self._shared]
        for end in ends:
            try:
                end()
            except Exception as error:
                failure = failure or error
        self._native.close()
        if failure is not None:
            raise failure

    def _leave(self) -> None:
        self.close()
