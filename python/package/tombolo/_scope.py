"""Objects that end with a ``with`` block."""

from __future__ import annotations

from types import TracebackType
from typing import Optional, Type, TypeVar

_S = TypeVar("_S", bound="Scope")


class Scope:
    """A context manager that closes itself, however its block is left."""

    def _leave(self) -> None:
        raise NotImplementedError

    def __enter__(self: _S) -> _S:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self._leave()
