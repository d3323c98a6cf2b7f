"""Cache lines of a coherent card's CPU."""

from __future__ import annotations

import ctypes
from types import TracebackType
from typing import TYPE_CHECKING, Any, Dict, NamedTuple, Optional, Type

from ._arrays import flat_bytes
from ._native import (
    NativeCoherent,
    NativeCoherentMap,
    NativePending,
    NativeRpc,
    NativeRpcLines,
    NativeWriteBuffer,
)
from ._times import picoseconds

if TYPE_CHECKING:
    from ._card import Card

#: Bytes of a line.
LINE = 128


class LineHistory:
    """Recorded events of some lines; created by :meth:`CoherentMemory.history`. ``str`` gives a text, one line per step; a
    notebook shows a diagram."""

    def __init__(self, text: str, picture: str) -> None:
        self._text = text
        self._picture = picture

    def svg(self) -> str:
        """As a diagram (SVG): one column per agent, time downwards, one arrow per message."""
        return self._picture

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<LineHistory: {len(self._text.splitlines())} lines of text>"

    def _repr_svg_(self) -> str:
        return self._picture


class PendingLine:
    """An outstanding access of a core; created by :meth:`CoherentMemory.begin_load` and similar calls. Without
    :meth:`wait` it still completes, without a report."""

    def __init__(self, native: NativePending) -> None:
        self._native = native
        self._line: Optional[bytes] = None

    def wait(self) -> bytes:
        """Waits until the access is complete: the line after the access, 128 bytes. Repeated calls return the same.

        :raises HomeError: the kernel behind the directory broke a rule.
        :raises LineLateError: it was not complete in time.
        :raises GoneError: a wait for it was interrupted or has failed before.
        """
        if self._line is None:
            line = self._native.wait()
            if line is None:
                from .errors import GoneError

                raise GoneError("this access is gone: a wait for it has failed, or was interrupted")
            self._line = line
        return self._line


class Rpc:
    """Calls to a kernel through two coherent lines (CCKit's RPC), the program's side of the kernel ``rpc``; created by
    :meth:`CoherentMemory.rpc`."""

    def __init__(self, native: NativeRpc) -> None:
        self._native = native

    def call(self, arguments: Any = b"") -> bytes:
        """Calls the kernel.

        :param arguments: up to 128 bytes: ``bytes``, a numpy array, or another contiguous buffer. The rest of the line
            is unchanged.
        :returns: the line of the result, 128 bytes.
        :raises CoherentRangeError: more than 128 bytes.
        :raises HomeError: the kernel broke a rule.
        :raises LineLateError: it did not answer in time.
        """
        return self._native.call(_bytes(arguments))

    def begin_call(self, arguments: Any = b"") -> PendingLine:
        """Starts a :meth:`call` without waiting; the line of the access is the result. A core may have an outstanding call in
        each of its contexts; within a context the next call waits for the previous one."""
        return PendingLine(self._native.begin_call(_bytes(arguments)))


class RpcAnswer(NamedTuple):
    """Result of a call of :class:`RpcLines`."""

    #: Lines of the request, as counted by the kernel.
    lines: int
    #: Calls before this one.
    calls: int
    #: Sum of the request's 64-bit words, if the handler computes it.
    sum: int
    #: Their exclusive or.
    xor: int
    #: Cycles of the card from the call to the answer.
    cycles: int
    #: The lines of the answer.
    payload: bytes


class RpcLines:
    """Calls of many lines to a kernel, the program's side of the kernel ``rpc_lines``; created by
    :meth:`CoherentMemory.rpc_lines`."""

    #: Maximum number of payload lines of a request or an answer.
    MOST = 2048
    #: Coherent memory in use, in bytes.
    BYTES = (2 * MOST + 2) * LINE

    def __init__(self, native: NativeRpcLines) -> None:
        self._native = native

    def prepare(self, lines: int) -> None:
        """Fetches the first lines of the next request, so that its stores hit. An answer of as many lines does so too.

        :raises CoherentRangeError: more than :attr:`MOST`.
        """
        self._native.prepare(_count(lines))

    def call(self, payload: Any = b"", answer_lines: int = 0) -> RpcAnswer:
        """Calls the kernel, and reads ``answer_lines`` lines of its answer. After an error of the kernel, connect again.

        :param payload: bytes, a numpy array, or another contiguous buffer; zero-padded to the end of its last line.
        :raises CoherentRangeError: too many lines.
        :raises HomeError: the kernel broke a rule.
        :raises LineLateError: it did not answer in time.
        """
        return RpcAnswer(*self._native.call(_bytes(payload), _count(answer_lines)))


class WriteBuffer:
    """A core's write buffer of 24 lines; created by :meth:`CoherentMemory.write_buffer`. Its stores complete before
    their lines have arrived, and start in order; a store to a line that waits in the buffer is merged. A later call
    reports errors.
    In a ``with`` block, the end of the block is a :meth:`fence`."""

    def __init__(self, native: NativeWriteBuffer) -> None:
        self._native = native

    def store(self, offset: int, data: Any) -> None:
        """Stores bytes within one line. Waits for the oldest line if the buffer is full.

        Errors as for :meth:`CoherentMemory.store`, of this store or of an earlier one.
        """
        self._native.store(_offset(offset), _bytes(data))

    def flush(self, offset: int) -> None:
        """Writes the line back and invalidates it, after the stores to it."""
        self._native.flush(_offset(offset))

    def fence(self) -> None:
        """Waits until all stores are in their lines, visible to every core, and all flushes are sent.
        Raises the error of the first failed store; the others are complete too."""
        self._native.fence()

    def __enter__(self) -> WriteBuffer:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if error is None:
            self.fence()


class CoherentMap:
    """Coherent lines at an ordinary address; created by :meth:`CoherentMemory.map`.

    ``memoryview(map)``, :attr:`buffer` and ``numpy.asarray(map.buffer)`` show the lines, also while a kernel changes them:
    an access to a page that the CPU does not have waits for its lines, with the interpreter's lock held. The pages stay
    mapped as long as this object or a view of it exists. All 32 lines of a page are fetched together, so a page must not hold
    lines whose load has a meaning for the kernel, such as those of a call. An access that a kernel refuses or does not
    answer, or that comes after the card was closed, ends the program with SIGSEGV.
    """

    def __init__(self, native: NativeCoherentMap, write: bool) -> None:
        self._native = native
        self._write = write

    @property
    def address(self) -> int:
        """Address of the first byte in this program."""
        return self._native.address

    @property
    def nbytes(self) -> int:
        """Bytes, a multiple of 4096."""
        return self._native.bytes

    @property
    def buffer(self) -> memoryview:
        """The lines' bytes; writable if the map is."""
        block = (ctypes.c_ubyte * self.nbytes).from_address(self.address)
        # The view keeps the pages mapped.
        block.owner = self._native  # type: ignore[attr-defined]
        view = memoryview(block).cast("B")
        return view if self._write else view.toreadonly()

    def __buffer__(self, flags: int) -> memoryview:
        return self.buffer

    def __len__(self) -> int:
        return self.nbytes

    def sync(self) -> None:
        """Revokes all pages: written data is in the CPU's lines, and the next access waits again."""
        self._native.sync()

    def __repr__(self) -> str:
        return f"<CoherentMap: {self.nbytes} bytes at {self.address:#x}>"


class CoherentMemory:
    """A range of addresses behind the directory of a coherent card, used by one core of its CPU; created by
    :meth:`Card.coherent_memory` and :meth:`Card.home_memory`.

    Lines are 128 bytes. Each operation is exact: it takes the virtual time of core, caches, link, directory and
    kernel (compare :attr:`Card.time` before and after). Other threads run meanwhile, and Ctrl-C ends the
    wait, though not the access.
    """

    def __init__(self, card: Card, native: NativeCoherent) -> None:
        self._card = card
        self._native = native

    @property
    def base(self) -> int:
        """Address of the first byte on the coherent link."""
        return self._native.base

    @property
    def nbytes(self) -> int:
        """Bytes, a multiple of 128."""
        return self._native.bytes

    def on_core(self, core: int) -> CoherentMemory:
        """The same memory, used by another core.

        :param core: its number, starting at 0.
        """
        if not 0 <= core <= 255:
            raise ValueError(f"core {core}: cores are numbered from 0 to 255")
        return CoherentMemory(self._card, self._native.with_options(core, None))

    def with_deadline(self, seconds: float) -> CoherentMemory:
        """The same memory, with another timeout for accesses.

        :param seconds: of virtual time; 1 by default.
        """
        return CoherentMemory(self._card, self._native.with_options(None, picoseconds(seconds)))

    def load(self, offset: int, *, exclusive: bool = False) -> bytes:
        """Loads a line: 128 bytes.

        :param offset: a multiple of 128.
        :param exclusive: for this CPU alone, so that it can be written without another message.
        :raises CoherentRangeError: no such line.
        :raises NoHomeError: no kernel and no memory is behind the directory.
        :raises HomeError: the kernel broke a rule.
        :raises LineLateError: it does not answer.
        """
        return self._native.load(_offset(offset), exclusive)

    def store(self, offset: int, data: Any) -> None:
        """Stores bytes, and returns when the line is written.

        :param offset: any offset in a line.
        :param data: bytes, a numpy array, or another contiguous buffer, within one line.

        Errors as for :meth:`load`.
        """
        self._native.store(_offset(offset), _bytes(data))

    def prefetch(self, offset: int) -> None:
        """A hint: the line will be loaded. Does not wait for it.

        :param offset: a multiple of 128.
        """
        self._native.prefetch(_offset(offset))

    def flush(self, offset: int) -> None:
        """Writes the line back and invalidates it. Posted: returns when the message is sent.

        :param offset: a multiple of 128.
        """
        self._native.flush(_offset(offset))

    def clean(self, offset: int) -> None:
        """Writes the line back, and keeps a copy to read. Posted: returns when the message is sent."""
        self._native.clean(_offset(offset))

    def begin_load(self, offset: int, *, exclusive: bool = False) -> PendingLine:
        """Starts a :meth:`load` without waiting: a core may have many outstanding accesses."""
        return PendingLine(self._native.begin_load(_offset(offset), exclusive))

    def begin_store(self, offset: int, data: Any) -> PendingLine:
        """Starts a :meth:`store` without waiting, like stores in the write buffer of a core."""
        return PendingLine(self._native.begin_store(_offset(offset), _bytes(data)))

    def map(self, *, write: bool = True, eager: bool = False) -> CoherentMap:
        """Maps the memory: its lines at an ordinary address, for every thread of the program.

        :param write: the program may store; otherwise a store ends it with SIGSEGV.
        :param eager: fetch all pages at once, so that loads do not wait until another agent takes a line.
        :raises CoherentRangeError: it does not start and end at multiples of 4096, or the system refuses.

        Eager maps have the errors of :meth:`load` too.
        """
        return CoherentMap(self._native.map(write, eager), write)

    def rpc(self, *, context: int = 0, push: bool = False) -> Rpc:
        """Uses two lines for calls to the kernel ``rpc``, which waits for its first call in them since its reset.

        :param context: uses the two lines starting at line ``2 * context``.
        :param push: flush the arguments with the call instead of letting the kernel recall them: one
            round trip less.

        Errors as for :meth:`load`.
        """
        return Rpc(self._native.rpc(_count(context), push))

    def rpc_lines(self) -> RpcLines:
        """Uses the first :attr:`RpcLines.BYTES` bytes for calls to the kernel ``rpc_lines``, which waits for its first call
        since its reset.

        Errors as for :meth:`load`; :class:`CoherentRangeError`: the memory is too small.
        """
        return RpcLines(self._native.rpc_lines())

    def write_buffer(self) -> WriteBuffer:
        """A write buffer of this core, empty."""
        return WriteBuffer(self._native.write_buffer())

    def record(self, lines: Dict[int, str]) -> None:
        """Starts recording the events of lines. Earlier recordings are dropped, also those of other users.

        :param lines: for the offset of each line its name in diagrams.
        """
        self._native.record([(_offset(offset), name) for offset, name in lines.items()])

    def history(self, title: str = "Lines of the directory") -> LineHistory:
        """The recorded events.

        :param title: title of the diagram.
        """
        return LineHistory(*self._native.history(title))

    def __repr__(self) -> str:
        return f"<CoherentMemory: {self.nbytes} bytes at {self.base:#x}>"


def _offset(offset: int) -> int:
    if not 0 <= offset < 1 << 64:
        raise ValueError(f"offset {offset}: it counts from the first byte of the memory")
    return offset


def _count(number: int) -> int:
    if not 0 <= number < 1 << 32:
        raise ValueError(f"{number} is no number of lines or contexts")
    return number


def _bytes(data: Any) -> bytes:
    if isinstance(data, bytes):
        return data
    # Nothing is mapped here, so it may be empty: a call without a payload is a call.
    if isinstance(data, (bytearray, memoryview)) and len(data) == 0 or getattr(data, "size", None) == 0:
        return b""
    return bytes(flat_bytes(data, writable=False))
