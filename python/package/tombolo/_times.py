"""Virtual time and progress of a run."""

from __future__ import annotations

from typing import Callable, NamedTuple, Optional

#: Picoseconds of a second.
PS = 1_000_000_000_000


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


def picoseconds(seconds: Optional[float]) -> Optional[int]:
    """A deadline as the library takes it."""
    if seconds is None:
        return None
    if not seconds > 0:
        raise ValueError(f"a deadline of {seconds} s: must be more than 0 (seconds of virtual time)")
    # At most 213 days of virtual time. At least 1: zero would only poll.
    return max(int(min(seconds * PS, 2.0**63)), 1)


def called(callback: object, what: str) -> None:
    """Refuses an object that is not callable, before anything has begun.

    :raises TypeError: it cannot.
    """
    if callback is not None and not callable(callback):
        raise TypeError(f"{what} is {type(callback).__name__}, which cannot be called; pass a function")


def reporter(
    progress: Optional[Callable[[Progress], object]],
) -> Optional[Callable[[int, int, int, int], object]]:
    """Wraps a user's callback for the library."""
    if progress is None:
        return None
    called(progress, "progress")

    def callback(now: int, bytes_in: int, bytes_out: int, faults: int) -> object:
        return progress(Progress(now / PS, bytes_in, bytes_out, faults))

    return callback
