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


class CardError(Error):
    """The card refused, or failed."""

    code = 1


class CardBrokenError(CardError):
    """The card is broken; nothing more can be done with it."""

    code = 2


class NoSuchSlotError(CardError):
    """The card has no such slot."""

    code = 3


class BuildError(CardError):
    """A model could not be built: no Verilator, no compiler, or RTL that does not compile."""

    code = 4


class NothingToWaitForError(CardError):
    """No operation is under way that could end the wait."""

    code = 5


class ConfigurationError(CardError):
    """A configuration, a platform file or a page size that is not possible."""

    code = 6


class KernelError(Error):
    """The kernel's folder, manifest or RTL is invalid."""

    code = 10


class UnmappableError(Error):
    """A file that cannot be mapped as asked: empty, not a regular file, a range outside of it or over another."""

    code = 21


class TransferError(Error):
    """Bytes could not be moved between a file and the card."""

    code = 22


class PagerError(Error):
    """The pager refused: out of card memory, a write-back that failed."""

    code = 23


class OutsideError(Error):
    """A kernel wrote outside a mapping, on its first or last page; those bytes are not in the file."""

    code = 24


class CoherentRangeError(Error):
    """A range or an offset that coherent memory does not have."""

    code = 25


class NoSuchArgumentError(Error, LookupError):
    """The kernel has no argument of that name; the message lists those it has."""

    code = 30


class ArgumentSizeError(Error, ValueError):
    """A value does not fit its argument."""

    code = 31


class SlotStateError(Error):
    """The slot is running or stopped, and the call needs the opposite."""

    code = 32


class MisalignedPointerError(Error, ValueError):
    """An address does not have the alignment of the kernel's pointers."""

    code = 33


class ScheduleError(Error, ValueError):
    """A number of a slot's schedule is out of range."""

    code = 34


class ArgumentValueError(Error, ValueError):
    """A number that the kernel's argument does not accept."""

    code = 35


class AccessError(Error):
    """An access of the kernel failed; its results are invalid."""

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
    """The kernel does not answer its control interface."""

    code = 42


class InterruptStormError(Error):
    """The kernel raises its interrupt without being done."""

    code = 43


class KernelFailedError(Error):
    """The kernel ended itself."""

    code = 44


class DeadlineError(Error, TimeoutError):
    """The kernel was not done at the deadline (virtual time)."""

    code = 45


class HomeError(Error):
    """The kernel behind the directory broke a rule, or cannot be put there."""

    code = 46


class LineLateError(Error):
    """An access to a coherent line was not complete in time."""

    code = 47


class NoHomeError(Error):
    """There is no kernel behind the directory."""

    code = 48


class NoFreeSpaceError(Error):
    """All address spaces of the shell are in use; close one first."""

    code = 50


class UnshareableError(Error):
    """Memory cannot be shared: there is none, or it would have too many pages."""

    code = 51


class NotSharedError(Error):
    """The address is not in shared memory."""

    code = 52


class MemoryInUseError(Error):
    """Shared memory cannot be freed while a kernel of its address space runs."""

    code = 53


class UnregistrableError(Error):
    """Memory of the program cannot be shared in place; the message names the rule."""

    code = 54


class NoFreeSlotError(Error):
    """Every slot of the card has a kernel; close one first."""

    code = 55


class QuotaError(Error):
    """The quota of a tenant of a daemon is used up; the message names it, and its figure."""

    code = 56


class GoneError(Error):
    """The object or its owner was closed, or another kernel was loaded into its slot."""

    code = 60


class OtherCardError(Error):
    """An address space of one card was used with another."""

    code = 61


class OtherSpaceError(Error):
    """A mapping of one address space was used with a kernel of another."""

    code = 62


class DaemonError(Error):
    """The daemon that has the card cannot be reached, refuses, or has ended."""

    code = 63


class NotCarriedError(Error):
    """A call that the socket of a daemon does not carry; the message names the subject."""

    code = 64


class StoppedError(Error):
    """The run was stopped by another caller."""

    code = 70


class StalledError(Error):
    """Virtual time stands still for a registered thread that sleeps elsewhere."""

    code = 71


class StreamError(Error):
    """A stream was used against its rules: no such port, in use, wrong direction, beyond its memory."""

    code = 80


class StreamResetError(Error):
    """A slot was reset before a transfer of its streams was over."""

    code = 81


class DeviceError(Error):
    """A device for a port cannot be opened, or not in the requested way."""

    code = 82


class DevicePeerError(DeviceError):
    """The other end of a device failed, disconnected, or timed out."""

    code = 83


class InternalError(Error):
    """An internal error of the library. Please report it."""

    code = 90


class ForkError(Error):
    """The object belongs to the parent process; a card cannot be used across fork."""


__all__ = [name for name, value in list(globals().items()) if isinstance(value, type)]
