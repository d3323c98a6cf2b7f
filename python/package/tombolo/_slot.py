"""Slots: arguments, start, wait."""

from __future__ import annotations

import operator
import os
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, Optional, Union
from typing import Mapping as Dictionary

from ._arrays import flat_bytes
from ._memory import SharedMemory
from ._native import NativeSlot
from ._scope import Scope
from ._space import AddressSpace, Mapping
from ._stream import Stream
from ._times import Progress, picoseconds, reporter

if TYPE_CHECKING:
    from ._card import Card

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


class Slot(Scope):
    """A slot with its kernel; created by :meth:`Card.load`."""

    def __init__(self, card: Card, number: int, native: NativeSlot, space: AddressSpace) -> None:
        self._card = card
        self._number = number
        self._native = native
        self._space = space
        self._kernel, arguments = native.manifest()
        self._arguments: Dict[str, Argument] = {}
        self._held: Dict[str, Union[Mapping, SharedMemory]] = {}
        for entry in arguments:
            argument = Argument(
                name=str(entry["name"]),
                nbytes=operator.index(entry["bytes"]),  # type: ignore[arg-type]
                access=None if entry["access"] is None else str(entry["access"]),
                offset=operator.index(entry["offset"]),  # type: ignore[arg-type]
                description=str(entry["description"]),
            )
            self._arguments[argument.name] = argument
        space._slots.add(self)

    @property
    def number(self) -> int:
        """Number of the slot on the card."""
        return self._number

    @property
    def kernel(self) -> str:
        """Name of the kernel."""
        return self._kernel

    @property
    def arguments(self) -> List[Argument]:
        """The kernel's arguments, in the manifest's order."""
        return list(self._arguments.values())

    def set(self, argument: str, value: Union[int, Mapping, Any]) -> None:
        """Sets an argument.

        :param value: an integer that fits; a :class:`Mapping` or :class:`SharedMemory`, for its address; or a
            buffer of exactly the argument's bytes, in memory order (``bytes``, a numpy array).
        :raises NoSuchArgumentError: the message lists the valid names.
        :raises ArgumentSizeError: it does not fit.
        :raises ArgumentValueError: a value that the kernel does not allow (``least``, ``most`` and ``multiple_of`` in
            its ``kernel.toml``).
        :raises ValueError: memory of another space than the kernel's.
        """
        if isinstance(value, (Mapping, SharedMemory)):
            if value._space is not self._space:
                # Spaces use the same addresses: the kernel would read other bytes, and nothing would say so.
                raise ValueError(
                    f"argument {argument}: {value!r} is of another address space than the kernel, which cannot "
                    "reach it; map or allocate it in the space that the kernel was loaded with"
                )
            self._native.set(argument, value._native.address)
            # It stays mapped for as long as the kernel has its address.
            self._held[argument] = value
            return
        self._held.pop(argument, None)
        try:
            number = operator.index(value)
        except TypeError:
            try:
                flat = flat_bytes(value, writable=False, takes="an integer, or the value's bytes (a numpy scalar has them)")
            except TypeError as error:
                raise TypeError(f"argument {argument}: {error}") from None
            self._native.set_bytes(argument, bytes(flat))
            return
        if not 0 <= number < 1 << 64:
            raise ValueError(f"argument {argument}: {number} is not from 0 to 2**64-1; pass bytes")
        self._native.set(argument, number)

    def set_schedule(
        self,
        *,
        priority: str = "normal",
        weight: int = 1,
        floor: int = 0,
        limit: Optional[int] = None,
    ) -> None:
        """Sets the slot's share of card memory under contention, from now on and as long as
        this kernel is loaded; also while it runs. Parameters that are not given return to their defaults.

        :param priority: ``"low"``, ``"normal"``, ``"high"`` or ``"urgent"``.
        :param weight: share among slots of the same priority, 1 to 15.
        :param floor: minimum share of the total in per cent, regardless of priorities, 0 to 90.
        :param limit: maximum bytes per second for reads, and for writes; no limit if not given.
        :raises ValueError: no such priority.
        :raises OverflowError: a number that is negative or does not fit.
        :raises ScheduleError: another number out of range; the message names it.
        """
        self._native.set_schedule(priority, weight, floor, limit)

    def open_stream(self, port: str) -> Stream:
        """Opens a stream port of the kernel, for transfers from or to memory.

        :param port: its name in the kernel's manifest.
        :raises StreamError: the kernel has no such port (the message lists them), or it is in use.
        """
        return Stream(self, self._native.open_stream(port), port)

    def start(self) -> None:
        """Starts the kernel with the arguments set so far.

        :raises SlotStateError: it is running, or cannot be started.
        """
        self._native.start()

    def wait(
        self,
        deadline: Optional[float] = None,
        progress: Optional[Callable[[Progress], object]] = None,
    ) -> None:
        """Waits until the kernel is done. Other threads run meanwhile, and Ctrl-C ends the wait: within some
        tenths of a second on a simulated card (100 us of virtual time), at once on a functional one.

        :param deadline: timeout in seconds of virtual time.
        :param progress: called some fifty times a second; an exception in it stops the kernel and is raised here.
        :raises AccessError: an access failed, even if the kernel signals done.
        :raises ViolationError: the kernel broke a rule of the slot boundary.
        :raises DeadlineError: not done in time.
        :raises SlotStateError: it was not started.

        After an error the slot is in reset, and can be started again.
        """
        self._native.wait(picoseconds(deadline), reporter(progress))

    def run(
        self,
        arguments: Optional[Dictionary[str, Any]] = None,
        /,
        *,
        deadline: Optional[float] = None,
        progress: Optional[Callable[[Progress], object]] = None,
        **more: Any,
    ) -> None:
        """Sets every argument, starts the kernel, waits, and copies its output back.

        Arguments are given by keyword, or in a dictionary if a name is also a parameter of this call. For
        a pointer: an array or buffer (copied in, and copied back if the kernel writes it), a path of a file
        (a string or ``pathlib.Path``, mapped for the time of the call), a :class:`Mapping` or
        :class:`SharedMemory`, or an address. For a value: an integer, or a buffer of exactly its bytes.

        When the run fails, arrays are unchanged; files keep the data written so far.

        :raises TypeError: an argument is missing, unknown, or of a wrong type.
        :raises Error: as :meth:`wait`.
        """
        given = dict(arguments or {})
        for name in more:
            if name in given:
                raise TypeError(f"argument {name} is given twice")
        given.update(more)
        missing = [name for name in self._arguments if name not in given]
        unknown = [name for name in given if name not in self._arguments]
        if missing or unknown:
            problems = [f"{what} {', '.join(names)}" for what, names in
                        (("lacks", missing), ("does not have", unknown)) if names]
            raise TypeError(
                f"kernel {self._kernel} {' and '.join(problems)}; its arguments are "
                f"{', '.join(self._arguments)}"
            )
        with ExitStack() as stack:
            for name, value in given.items():
                if self._arguments[name].access is not None:
                    value = self._mapped(stack, self._arguments[name], value)
                self.set(name, value)
            self.start()
            self.wait(deadline, progress)

    def _mapped(
        self, stack: ExitStack, argument: Argument, value: Any
    ) -> Union[int, Mapping, SharedMemory]:
        """The target of a pointer, mapped if necessary for the lifetime of the stack."""
        if isinstance(value, (Mapping, SharedMemory)):
            return value
        mode = "r" if argument.access == "read" else "rw"
        if isinstance(value, (str, os.PathLike)):
            return stack.enter_context(self._space.map_file(value, mode))
        # Numpy's integers have a buffer, too; an address in an array is an address.
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(value, numpy.integer):
            return operator.index(value)
        if hasattr(value, "__index__") and not hasattr(value, "__array_interface__"):
            return operator.index(value)
        try:
            return stack.enter_context(self._space.map_array(value, mode))
        except (TypeError, ValueError) as error:
            raise type(error)(f"argument {argument.name}: {error}") from None

    def wait_register(
        self, offset: int, mask: int, value: int, *, deadline: Optional[float] = None
    ) -> int:
        """Waits until the bits of ``mask`` in a register equal those of ``value``; returns the final value of the register.

        For kernels with their own registers (``user_managed``). Faults are served meanwhile.

        :param deadline: timeout in seconds of virtual time.
        :raises DeadlineError: not in time; the kernel continues.
        :raises AccessError: an access failed. :raises ViolationError: the kernel broke a rule. The slot is then in
            reset until :meth:`start`.
        """
        return self._native.wait_register(offset, mask, value, picoseconds(deadline))

    def wait_interrupt(self, *, deadline: Optional[float] = None) -> int:
        """Waits for the interrupt of a kernel with its own registers; returns the number since the last wait.

        :param deadline: as for :meth:`wait_register`; the errors too.
        """
        return self._native.wait_interrupt(picoseconds(deadline))

    def read_register(self, offset: int) -> int:
        """Reads a 32-bit register of the kernel; ``offset`` in bytes, a multiple of 4.

        A program may poll: each read takes the virtual time of its round trip over the link, in which the kernel
        continues, and following reads serve the kernel's faults. :meth:`wait_register` is cheaper.
        """
        return self._native.read_register(offset)

    def write_register(self, offset: int, value: int) -> None:
        """Writes a 32-bit register of the kernel; ``offset`` in bytes, a multiple of 4."""
        self._native.write_register(offset, value)

    def close(self) -> None:
        """Stops the kernel if it runs, and empties the slot. Its data stays in the mappings.

        :raises Error: an unreported error of a run without a wait; the slot is empty in any case.
        """
        self._space._slots.discard(self)
        self._held.clear()
        self._native.close()

    def _leave(self) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Slot {self._number} with kernel {self._kernel}>"
