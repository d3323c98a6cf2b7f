"""Stream ports: transfers from and to memory, and connected ports."""

from __future__ import annotations

from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Callable, Deque, List, NamedTuple, Optional, Tuple, Type, Union

from ._memory import SharedMemory
from ._native import NativeConnection, NativeStream
from ._scope import Scope
from ._space import Mapping
from ._times import Progress, picoseconds, reporter

if TYPE_CHECKING:
    from ._slot import Slot


class Moved(NamedTuple):
    """A completed transfer."""

    #: Number of bytes moved.
    nbytes: int
    #: The transfer ends a packet (TLAST). Out of the kernel: if not, the range was full, and more may follow.
    last: bool


class Stream(Scope):
    """An open stream port of a kernel, connected to memory; created by :meth:`Slot.open_stream`.

    The terms are vFPIO's: :meth:`read` is from memory into the kernel, :meth:`write` from the kernel into memory.
    Both only start a transfer; :meth:`wait` waits for the oldest one. As a context manager it is closed at the
    end of ``with``.
    """

    def __init__(self, slot: Slot, native: NativeStream, port: str) -> None:
        self._slot = slot
        self._native = native
        self._port = port
        # Keeps the memory of outstanding transfers mapped.
        self._held: Deque[Union[Mapping, SharedMemory]] = deque()

    @property
    def port(self) -> str:
        """Its name in the kernel's manifest."""
        return self._port

    def read(
        self, memory: Union[Mapping, SharedMemory], offset: int = 0, nbytes: Optional[int] = None
    ) -> None:
        """Starts a transfer from memory into the kernel: one packet, after the transfers started earlier.

        :param memory: a mapping, or shared memory, of the slot's space.
        :param offset: its first byte.
        :param nbytes: number of bytes; up to the end if not given.
        :raises StreamError: a stream out of the kernel, memory of another space, or not inside it.
        """
        count = self._bytes(memory, offset, nbytes)
        self._native.read(memory._native, offset, count)
        self._held.append(memory)

    def write(
        self, memory: Union[Mapping, SharedMemory], offset: int = 0, nbytes: Optional[int] = None
    ) -> None:
        """Starts a transfer from the kernel into memory. It ends with the kernel's packet, or when the range is
        full; further data of the kernel waits for the next one.

        Arguments and errors as for :meth:`read`.
        """
        count = self._bytes(memory, offset, nbytes)
        self._native.write(memory._native, offset, count)
        self._held.append(memory)

    @staticmethod
    def _bytes(memory: Union[Mapping, SharedMemory], offset: int, nbytes: Optional[int]) -> int:
        if not isinstance(memory, (Mapping, SharedMemory)):
            raise TypeError(
                f"memory is {type(memory).__name__}; pass what space.map_file, space.map_array or space.alloc gave"
            )
        if offset < 0 or nbytes is not None and nbytes < 0:
            raise ValueError(f"{nbytes} bytes from {offset} on: neither is negative")
        return max(memory.nbytes - offset, 0) if nbytes is None else nbytes

    def poll(self) -> Optional[Moved]:
        """Result of the oldest transfer, if it is complete; no virtual time passes.

        :raises StreamError: no transfer is outstanding, or the transfer failed.
        """
        found = self._native.poll()
        return None if found is None else self._moved(found)

    def wait(
        self,
        deadline: Optional[float] = None,
        progress: Optional[Callable[[Progress], object]] = None,
    ) -> Moved:
        """Waits until the oldest transfer is complete. Other threads run meanwhile, and Ctrl-C ends the wait.

        :param deadline: timeout in seconds of virtual time; the transfer continues.
        :param progress: as for :meth:`Slot.wait`.
        :raises DeadlineError: the deadline has passed; the message names the cause.
        :raises StreamError: no transfer is outstanding.
        :raises StreamResetError: the slot was reset during the transfer.
        :raises AccessError: an access of the transfer failed.
        """
        moved = self._native.wait(picoseconds(deadline), reporter(progress), True)
        assert moved is not None, "there was a transfer"
        return self._moved(moved)

    def sync(self, deadline: Optional[float] = None) -> List[Moved]:
        """Waits until all outstanding transfers are complete, in order.

        :param deadline: for each, as for :meth:`wait`.
        :raises Error: as :meth:`wait`, for the first that fails. Later ones can still be waited for.
        """
        moved: List[Moved] = []
        while True:
            found = self._native.wait(picoseconds(deadline), None, False)
            if found is None:
                return moved
            moved.append(self._moved(found))

    def _moved(self, found: Tuple[int, bool]) -> Moved:
        if self._held:
            self._held.popleft()
        return Moved(*found)

    def close(self) -> None:
        """Releases the port; no effect if it is closed.

        :raises StreamError: a transfer is outstanding, and the port stays open. Or the kernel has sent more than was
            taken: the port is closed, and the remaining data is lost with the kernel.
        """
        self._native.close()
        self._held.clear()

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if kind is None:
            self.close()

    def __repr__(self) -> str:
        return f"<Stream {self._port} of {self._slot!r}>"


class ConnectionState(NamedTuple):
    """State of a connection."""

    #: It is connected or disconnected when the current packets have ended.
    pending: bool
    #: The reset of a slot has cut a packet since the ports were connected.
    cut: bool
    #: Data wait for the receiver.
    waits_for_receiver: bool


class Connection:
    """Two connected stream ports, without memory in between; created by :meth:`Card.connect`.

    It lasts as long as this object, and ends at the end of the current packet.
    """

    def __init__(self, native: NativeConnection) -> None:
        self._native = native

    @property
    def state(self) -> ConnectionState:
        """Current state.

        :raises GoneError: the ports are disconnected, or one of the slots has another kernel.
        """
        return ConnectionState(*self._native.state())

    def disconnect(self) -> None:
        """Disconnects the ports at the end of the current packet: no data is lost.

        :raises StreamError: the packet has not ended within a millisecond of virtual time; call again to
            continue waiting.
        :raises GoneError: the ports are already disconnected, or one of the slots has another kernel.
        """
        self._native.disconnect()
