"""Kernels as functions: load, run once, check the results."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Union
from typing import Mapping as Dictionary

from . import _resources
from ._native import Card
from ._report import Report

#: Virtual seconds after which a call gives up.
DEADLINE = 0.1


class Kernel:
    """A kernel of a folder, to be called like a function; made by :func:`kernel`.

    Each call runs it once on a simulated card of its own, from power-up to the end, so calls are independent, and
    equal calls are equal cycle by cycle.
    """

    def __init__(self, folder: str, options: Dict[str, Any]) -> None:
        self._folder = folder
        self._options = options

    @property
    def folder(self) -> str:
        """Folder of its manifest."""
        return self._folder

    @property
    def name(self) -> str:
        """The folder's name."""
        return Path(self._folder).resolve().name

    def __call__(
        self,
        arguments: Optional[Dictionary[str, Any]] = None,
        /,
        *,
        deadline: float = DEADLINE,
        **more: Any,
    ) -> Report:
        """Runs it once; arrays that it writes have its results afterwards.

        Arguments are those of :meth:`Slot.run`.

        :param deadline: timeout in seconds of virtual time.
        :raises Error: as :meth:`Slot.wait`.
        :raises BuildError: its RTL does not compile, or there is no Verilator or compiler.
        """
        given = {**(arguments or {}), **more}
        call = Call(self, {name: _kept(value) for name, value in given.items()}, deadline)
        for watch in _watchers:
            watch(call)
        return self._run(given, deadline, {})

    def _run(
        self, arguments: Dictionary[str, Any], deadline: float, options: Dict[str, Any]
    ) -> Report:
        with Card.simulated(**{**self._options, **options}) as card:
            card.run(self._folder, arguments, deadline=deadline)
            return card.report()

    def __repr__(self) -> str:
        return f"<Kernel {self._folder}>"


class Call(NamedTuple):
    """A call of a kernel with its arguments as they were, so that it can be made again."""

    kernel: Kernel
    arguments: Dict[str, Any]
    deadline: float

    def again(self, waves: Union[str, os.PathLike[str]]) -> List[Path]:
        """Repeats the call with waveforms; returns their files."""
        try:
            self.kernel._run(self.arguments, self.deadline, {"waves": os.fspath(waves)})
        except Exception:
            # The same error as in the first run, which has reported it.
            pass
        base = Path(waves)
        return sorted(base.parent.glob(f"{base.stem}.kernel-*{base.suffix}"))


#: Called with each call of a kernel, before it runs. The plugin of pytest listens here.
_watchers: List[Callable[[Call], None]] = []


def _kept(value: Any) -> Any:
    """A copy of a value, protected from later changes, if it may be needed."""
    if not _watchers:
        return value
    if isinstance(value, bytearray):
        return bytearray(value)
    copy = getattr(value, "copy", None)
    return copy() if callable(copy) and hasattr(value, "__array_interface__") else value


def kernel(folder: Union[str, "os.PathLike[str]"], **options: Any) -> Kernel:
    """A kernel as a function::

        add = tombolo.kernel("path/to/vadd")
        add(a=a, b=b, c=c, length=a.size)

    :param folder: a kernel's folder, or the name of one of :func:`kernels`.
    :param options: of the card, as for :meth:`Card.simulated`.
    :raises FileNotFoundError: no such kernel.
    """
    return Kernel(_resources.kernel_folder(folder), options)
