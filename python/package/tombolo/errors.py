# Written by tools/python-stubs from the error codes in crates/wire/src/error_code.rs.
"""Errors, one class for each error code of the library.

Every error of the library is an :class:`Error` with a ``code``, a number that never changes; a file that cannot be
opened, measured or grown raises the ``OSError`` that Python programs expect (``FileNotFoundError``, ``PermissionError``
and so on). Wrong Python types are ``TypeError``, invalid values are ``ValueError``. Ctrl-C is ``KeyboardInterrupt``.
"""

from __future__ import annotations


class Error(Exception):
    """Any failure of the library. The message names subject, cause, rule and remedy."""

    #: The code's number; 0 for errors of this package itself.
    code: int = 0


class ForkError(Error):
    """The object belongs to the parent process; a card cannot be used across fork."""


class CardError(Error):
    """The card refused a request; no more specific code applies."""

    code = 1


class CardBrokenError(CardError):
    """The card has failed and cannot be used any more."""

    code = 2


class NoSuchSlotError(CardError):
    """The card has no such slot."""

    code = 3


class BuildError(CardError):
    """A model could not be built: no Verilator, no compiler, or RTL that does not compile."""

    code = 4


class NothingToWaitForError(CardError):
    """The wait cannot end: nothing is under way."""

    code = 5


class ConfigurationError(CardError):
    """The configuration, platform file or page size is not possible."""

    code = 6


class KernelError(Error):
    """The kernel's folder or RTL was rejected."""

    code = 10


class UnmappableError(Error):
    """The file cannot be mapped with these options: it is empty or not a regular file, or the range is outside of it or
    over another."""

    code = 21


class TransferError(Error):
    """A transfer between a file and the card failed."""

    code = 22


class PagerError(Error):
    """The pager refused: overlap, bad range, out of card memory, or a write-back that failed."""

    code = 23


class OutsideError(Error):
    """A kernel wrote outside a mapping, on its first or last page; those bytes are not in the file."""

    code = 24


class CoherentRangeError(Error):
    """The range or offset lies outside coherent memory."""

    code = 25


class NoSuchArgumentError(Error, LookupError):
    """The kernel has no such argument; the message lists those it has."""

    code = 30


class ArgumentSizeError(Error, ValueError):
    """The value's size does not fit the argument."""

    code = 31


class SlotStateError(Error):
    """The call needs a running slot and it is not, or the reverse."""

    code = 32


class MisalignedPointerError(Error, ValueError):
    """The address breaks the alignment of the kernel's pointers."""

    code = 33


class ScheduleError(Error, ValueError):
    """A parameter of a slot's schedule is out of range."""

    code = 34


class ArgumentValueError(Error, ValueError):
    """The kernel's argument does not accept this number."""

    code = 35


class AccessError(Error):
    """A kernel access failed; its results are invalid."""

    code = 40

    #: Number of the slot.
    slot: int
    #: Name of the kernel.
    kernel: str
    #: The port that accessed.
    port: str
    #: True for a write.
    write: bool
    #: Address of the first byte.
    address: int


class ViolationError(Error):
    """The kernel broke a rule of AXI or of the slot boundary; its slot was closed."""

    code = 41


class UnansweredError(Error):
    """The kernel does not respond on its control interface."""

    code = 42


class InterruptStormError(Error):
    """The kernel raises interrupts without being done."""

    code = 43


class KernelFailedError(Error):
    """The kernel terminated itself or broke a protocol."""

    code = 44


class DeadlineError(Error, TimeoutError):
    """The kernel was not done at the deadline (virtual time)."""

    code = 45


class HomeError(Error):
    """The kernel behind the directory broke a rule, or cannot be used there."""

    code = 46


class LineLateError(Error):
    """An access of a core received no response in time."""

    code = 47


class NoHomeError(Error):
    """No kernel is loaded behind the directory."""

    code = 48


class NoFreeSpaceError(Error):
    """All address spaces of the shell are in use; close one first."""

    code = 50


class UnshareableError(Error):
    """Memory cannot be shared: there is none, or it would have too many pages."""

    code = 51


class NotSharedError(Error):
    """The address lies outside shared memory."""

    code = 52


class MemoryInUseError(Error):
    """The shared memory cannot be freed: a kernel may be using it."""

    code = 53


class UnregistrableError(Error):
    """Memory of the program cannot be shared in place; the message names the rule."""

    code = 54


class NoFreeSlotError(Error):
    """Every slot of the card holds a kernel; close one first."""

    code = 55


class QuotaError(Error):
    """The quota of a daemon's tenant is exhausted; the message names it, and its figure."""

    code = 56


class GoneError(Error):
    """The object has ended: it or its owner was closed, or another kernel was loaded into its slot."""

    code = 60


class OtherCardError(Error):
    """The object belongs to another card."""

    code = 61


class OtherSpaceError(Error):
    """The mapping and the kernel belong to different address spaces."""

    code = 62


class DaemonError(Error):
    """The card's daemon cannot be reached, refused the request, or has ended."""

    code = 63


class NotCarriedError(Error):
    """The daemon's protocol does not carry this call; the message names the subject."""

    code = 64


class StoppedError(Error):
    """The run was stopped by the user or by another caller."""

    code = 70


class StalledError(Error):
    """A registered thread sleeps outside the library, which stalls virtual time."""

    code = 71


class StreamError(Error):
    """A stream was misused: no such port, in use, wrong direction, beyond its memory."""

    code = 80


class StreamResetError(Error):
    """A slot was reset during a transfer of its streams."""

    code = 81


class DeviceError(Error):
    """A device for a port cannot be opened, or not with these options."""

    code = 82


class DevicePeerError(DeviceError):
    """The other end of a device failed, disconnected or timed out."""

    code = 83


class InternalError(Error):
    """An internal invariant failed. Please report it."""

    code = 90


__all__ = [name for name, value in list(globals().items()) if isinstance(value, type)]
