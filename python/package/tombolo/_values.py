"""Tuples that calls return, and types of their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

if TYPE_CHECKING:
    from ._memory import SharedMemory
    from ._native import Mapping as Mapped
    from ._native import Slot

#: Picoseconds of a second.
PS = 1_000_000_000_000


class Argument(NamedTuple):
    """An argument of a kernel, from its manifest."""

    #: Name.
    name: str
    #: Size of the value in bytes; 8 for pointers.
    nbytes: int
    #: The kernel's access through a pointer: ``"read"``, ``"write"``, ``"read_write"``; ``None`` for a value.
    access: Optional[str]
    #: Offset of its register.
    offset: int
    #: Human-readable, one line.
    description: str


class ConnectionState(NamedTuple):
    """State of a connection."""

    #: It is connected or disconnected when the current packets have ended.
    pending: bool
    #: The reset of a slot has cut a packet since the ports were connected.
    cut: bool
    #: Data wait for the receiver.
    waits_for_receiver: bool


class Flowed(NamedTuple):
    """The transfer of a port in :meth:`AddressSpace.flow`."""

    #: The port's name.
    port: str
    #: Bytes.
    nbytes: int
    #: Completed packets.
    packets: int


class Moved(NamedTuple):
    """A completed transfer."""

    #: Number of bytes moved.
    nbytes: int
    #: The transfer ends a packet (TLAST). Out of the kernel: if not, the range was full, and more may follow.
    last: bool


class Progress(NamedTuple):
    """How far a run is."""

    #: Virtual time since the card was opened, in seconds.
    time: float
    #: Bytes brought to the card.
    bytes_in: int
    #: Bytes written back.
    bytes_out: int
    #: Faults served.
    faults: int


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


OnBuild = Callable[[str], object]
OnListening = Callable[[str, str, int], object]
OnProgress = Callable[[Progress], object]
Channels = Union[int, Sequence[int]]
Dictionary = Mapping[str, Any]
LineNames = Mapping[int, str]
PacketCounts = Mapping[Tuple["Slot", str], Union[int, str]]
Plugs = Mapping[Tuple["Slot", str], Union[str, "Mapped", "SharedMemory"]]
Shape = Union[int, Sequence[int]]
Slots = Sequence["Slot"]
