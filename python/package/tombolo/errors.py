"""What can go wrong, one class for each code of the library.

Every error of the library is an :class:`Error`; a file that cannot be opened, measured or grown is the
``OSError`` that Python programs expect (``FileNotFoundError``, ``PermissionError`` and so on). Wrong Python
types are ``TypeError``, values that make no sense are ``ValueError``. Ctrl-C is ``KeyboardInterrupt``.
"""

from __future__ import annotations


class Error(Exception):
    """Any failure of the library. The message names the thing, the rule and what to do."""


class CardError(Error):
    """The card refused or failed; also a simulated card that cannot be built (no Verilator, no compiler)."""


class KernelError(Error):
    """The kernel's folder, manifest or RTL is refused."""


class PagerError(Error):
    """The pager refused: overlap, bad range, out of card memory, a write-back that failed."""


class PageSizeError(Error):
    """The card has no pages of that size."""


class UnmappableError(Error):
    """A file that cannot be mapped as asked: empty, not a regular file, a range outside of it."""


class TransferError(Error):
    """Bytes could not be moved between a file and the card."""


class NoSuchArgumentError(Error, LookupError):
    """The kernel has no argument of that name; the message lists those it has."""


class ArgumentSizeError(Error, ValueError):
    """A value does not fit its argument."""


class AccessError(Error):
    """An access of the kernel failed; its results are not to be trusted."""

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


class UnansweredError(Error):
    """The kernel does not answer its control interface."""


class InterruptStormError(Error):
    """The kernel raises its interrupt without being done."""


class KernelFailedError(Error):
    """The kernel ended itself."""


class DeadlineError(Error, TimeoutError):
    """The kernel was not done at the deadline (virtual time)."""


class SlotStateError(Error):
    """The slot is running, or not, against what the call needs."""


class NoFreeSpaceError(Error):
    """All address spaces of the shell are in use; close one first."""


class OtherCardError(Error):
    """An address space of one card was used with another."""


class StoppedError(Error):
    """The run was stopped by somebody else."""


class ClosedError(Error):
    """The object was closed, or what it belongs to was, or another kernel was loaded into its slot."""


class ForkError(Error):
    """The object belongs to the parent process; a card cannot be used across fork."""


__all__ = [name for name, value in list(globals().items()) if isinstance(value, type)]
