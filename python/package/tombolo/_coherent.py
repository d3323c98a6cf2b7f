"""Cache lines of the CPU beside a coherent card."""

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
    """What happened to some lines; made by :meth:`CoherentMemory.history`. ``str`` of it is a text, a line a step; a
    notebook shows it as a picture."""

    def __init__(self, text: str, picture: str) -> None:
        self._text = text
        self._picture = picture

    def svg(self) -> str:
        """As a picture (SVG): a column a party, time downwards, an arrow a message."""
        return self._picture

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<LineHistory: {len(self._text.splitlines())} lines of text>"

    def _repr_svg_(self) -> str:
        return self._picture


class PendingLine:
    """An access of a core that is under way; made by :meth:`CoherentMemory.begin_load` and its like. Without
    :meth:`wait` it goes on to its end, and nobody learns of it."""

    def __init__(self, native: NativePending) -> None:
        self._native = native
        self._line: Optional[bytes] = None

    def wait(self) -> bytes:
        """Waits until the access is over: the line as it saw or left it, 128 bytes. Again, it gives the same.

        :raises HomeError: the kernel behind the directory broke a rule.
        :raises LineLateError: it was not over in time.
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
    """Calls to a kernel through two coherent lines (CCKit's RPC), the program's side of the kernel ``rpc``; made by
    :meth:`CoherentMemory.rpc`."""

    def __init__(self, native: NativeRpc) -> None:
        self._native = native

    def call(self, arguments: Any = b"") -> bytes:
        """Calls the kernel.

        :param arguments: up to 128 bytes: ``bytes``, a numpy array, or another contiguous buffer. The rest of the line
            keeps what it has.
        :returns: the line of the result, 128 bytes.
        :raises CoherentRangeError: more than 128 bytes.
        :raises HomeError: the kernel broke a rule.
        :raises LineLateError: it did not answer in time.
        """
        return self._native.call(_bytes(arguments))

    def begin_call(self, arguments: Any = b"") -> PendingLine:
        """Begins to :meth:`call` and does not wait; the line that comes is the result. A core may have a call under way in
        each of its contexts; in one context the next call waits for the one before."""
        return PendingLine(self._native.begin_call(_bytes(arguments)))


class RpcAnswer(NamedTuple):
    """What a call of :class:`RpcLines` brings back."""

    #: Lines of the request, as the kernel counted them.
    lines: int
    #: Calls before this one.
    calls: int
    #: Sum of the request's 64-bit words, if the handler makes it.
    sum: int
    #: Their exclusive or.
    xor: int
    #: Cycles of the card from the call to the answer.
    cycles: int
    #: The lines of the answer.
    payload: bytes


class RpcLines:
    """Calls of many lines to a kernel, the program's side of the kernel ``rpc_lines``; made by
    :meth:`CoherentMemory.rpc_lines`."""

    #: Payload lines of a request, or of an answer, at most.
    MOST = 2048
    #: Bytes of coherent memory that it takes.
    BYTES = (2 * MOST + 2) * LINE

    def __init__(self, native: NativeRpcLines) -> None:
        self._native = native

    def prepare(self, lines: int) -> None:
        """Brings the first lines of the next request, so that its stores find them. An answer of as many lines does, too.

        :raises CoherentRangeError: more than :attr:`MOST`.
        """
        self._native.prepare(_count(lines))

    def call(self, payload: Any = b"", answer_lines: int = 0) -> RpcAnswer:
        """Calls the kernel, and takes so many lines of its answer. After an error of the kernel, connect anew.

        :param payload: bytes, a numpy array, or another contiguous buffer; zeroes to the end of its last line.
        :raises CoherentRangeError: too many lines.
        :raises HomeError: the kernel broke a rule.
        :raises LineLateError: it did not answer in time.
        """
        return RpcAnswer(*self._native.call(_bytes(payload), _count(answer_lines)))


class WriteBuffer:
    """A core's write buffer of 24 lines; made by :meth:`CoherentMemory.write_buffer`. Its stores end before their lines have
    come, and begin in order; a store to a line that waits in the buffer merges with what is there. What went wrong is told
    by a later call. In a ``with`` block, the end of the block is a :meth:`fence`."""

    def __init__(self, native: NativeWriteBuffer) -> None:
        self._native = native

    def store(self, offset: int, data: Any) -> None:
        """Stores bytes that lie in one line. Waits for the oldest line if the buffer is full.

        Errors as for :meth:`CoherentMemory.store`, of this store or of an earlier one.
        """
        self._native.store(_offset(offset), _bytes(data))

    def flush(self, offset: int) -> None:
        """Gives the line up after the stores to it."""
        self._native.flush(_offset(offset))

    def fence(self) -> None:
        """Waits until all that was stored is in its lines, so that every core sees it, and what was flushed is on its
        way. Raises the error of the first store that failed; the others have ended, too."""
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
    """Coherent lines at an ordinary address; made by :meth:`CoherentMemory.map`.

    ``memoryview(map)``, :attr:`buffer` and ``numpy.asarray(map.buffer)`` show the lines, also while a kernel changes them:
    an access to a page whose lines the CPU does not have waits for them, with the interpreter's lock held. The pages stay
    mapped as long as this or a view of it lives. All 32 lines of a page come together, so a page must not hold lines whose
    load means something to the kernel, as those of a call. An access that a kernel refuses or does not answer, or that comes
    after the card was closed, ends the program with SIGSEGV.
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
        # Whoever looks at the bytes keeps the pages.
        block.owner = self._native  # type: ignore[attr-defined]
        view = memoryview(block).cast("B")
        return view if self._write else view.toreadonly()

    def __buffer__(self, flags: int) -> memoryview:
        return self.buffer

    def __len__(self) -> int:
        return self.nbytes

    def sync(self) -> None:
        """Takes all pages back: what was written is in the CPU's lines, and the next access waits again."""
        self._native.sync()

    def __repr__(self) -> str:
        return f"<CoherentMap: {self.nbytes} bytes at {self.address:#x}>"


class CoherentMemory:
    """A range of addresses behind the directory of a coherent card, used by one core of the CPU beside it; made by
    :meth:`Card.coherent_memory` and :meth:`Card.home_memory`.

    Lines are 128 bytes. Each operation is exact: it takes the virtual time that core, caches, link, directory and
    kernel need (:attr:`Card.time` before and after tells how much). Other threads run meanwhile, and Ctrl-C ends the
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

        :param core: its number, from 0 on.
        """
        if not 0 <= core <= 255:
            raise ValueError(f"core {core}: cores are numbered from 0 to 255")
        return CoherentMemory(self._card, self._native.with_options(core, None))

    def with_deadline(self, seconds: float) -> CoherentMemory:
        """The same memory, with another time after which an access counts as lost.

        :param seconds: of virtual time; 1 at first.
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

        :param offset: anywhere in a line.
        :param data: bytes, a numpy array, or another contiguous buffer, which must lie in one line.

        Errors as for :meth:`load`.
        """
        self._native.store(_offset(offset), _bytes(data))

    def prefetch(self, offset: int) -> None:
        """A hint: the line will be loaded. Does not wait for it.

        :param offset: a multiple of 128.
        """
        self._native.prefetch(_offset(offset))

    def flush(self, offset: int) -> None:
        """Gives the line up: what was stored in it goes home. Returns when it is on its way.

        :param offset: a multiple of 128.
        """
        self._native.flush(_offset(offset))

    def clean(self, offset: int) -> None:
        """Sends home what was stored in the line, and keeps a copy to read. Returns when it is on its way."""
        self._native.clean(_offset(offset))

    def begin_load(self, offset: int, *, exclusive: bool = False) -> PendingLine:
        """Begins to :meth:`load` and does not wait: a core may have many accesses under way."""
        return PendingLine(self._native.begin_load(_offset(offset), exclusive))

    def begin_store(self, offset: int, data: Any) -> PendingLine:
        """Begins to :meth:`store`, as stores do that wait in the write buffer of a core."""
        return PendingLine(self._native.begin_store(_offset(offset), _bytes(data)))

    def map(self, *, write: bool = True, eager: bool = False) -> CoherentMap:
        """Maps the memory: its lines at an ordinary address, for every thread of the program.

        :param write: the program may store; otherwise a store ends it with SIGSEGV.
        :param eager: bring all pages at once, so that loads do not wait until somebody else takes a line.
        :raises CoherentRangeError: it does not begin and end at multiples of 4096, or the system refuses.

        Eager maps have the errors of :meth:`load` too.
        """
        return CoherentMap(self._native.map(write, eager), write)

    def rpc(self, *, context: int = 0, push: bool = False) -> Rpc:
        """Takes two lines for calls to the kernel ``rpc``, which waits for its first call in them since its reset.

        :param context: takes the two lines from line ``2 * context`` on.
        :param push: send the arguments home with the call (a flush) instead of letting the kernel call them home: a
            round trip less.

        Errors as for :meth:`load`.
        """
        return Rpc(self._native.rpc(_count(context), push))

    def rpc_lines(self) -> RpcLines:
        """Takes the first :attr:`RpcLines.BYTES` bytes for calls to the kernel ``rpc_lines``, which waits for its first call
        since its reset.

        Errors as for :meth:`load`; :class:`CoherentRangeError`: the memory is too small.
        """
        return RpcLines(self._native.rpc_lines())

    def write_buffer(self) -> WriteBuffer:
        """A write buffer of this core, empty."""
        return WriteBuffer(self._native.write_buffer())

    def record(self, lines: Dict[int, str]) -> None:
        """Records from now on what happens to lines. What was recorded before, by whomever, is forgotten.

        :param lines: for the offset of each the name that it has in pictures.
        """
        self._native.record([(_offset(offset), name) for offset, name in lines.items()])

    def history(self, title: str = "Lines of the directory") -> LineHistory:
        """What was recorded.

        :param title: of its picture.
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
