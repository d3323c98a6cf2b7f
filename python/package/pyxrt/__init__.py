"""XRT's Python module on a Tombolo card: programs that import ``pyxrt`` run on the simulated card.

Names, arguments and order are those of XRT's documentation; docs/coming-from-xrt.md lists the differences. Failures
raise :class:`RuntimeError`, as there; a register outside its window raises :class:`IndexError`.
"""

from __future__ import annotations

import ctypes
import enum
import os
import sys
import threading
from typing import Any, Callable, List, Mapping, Optional, Tuple, Union

from tombolo import SHARE
from tombolo import _native as native

__all__ = [
    "XCL_BO_FLAGS_NONE",
    "alert",
    "bo",
    "critical",
    "debug",
    "device",
    "emergency",
    "enumerate_devices",
    "error",
    "ert_cmd_state",
    "hw_context",
    "info",
    "ip",
    "kernel",
    "log_message",
    "notice",
    "run",
    "runlist",
    "uuid",
    "warning",
    "xclBOSyncDirection",
    "xclbin",
    "xclbinip",
    "xclbinip_vector",
    "xclbinkernel",
    "xclbinkernel_vector",
    "xclbinmem",
    "xclbinmem_vector",
    "xrt_info_device",
    "xrt_msg_level",
]

if not os.environ.get("TOMBOLO_HOME") and (SHARE / "rtl").is_dir():
    native.xrt_set_home(os.fspath(SHARE))


class xclBOSyncDirection(enum.IntEnum):
    """Direction of :meth:`bo.sync`."""

    XCL_BO_SYNC_BO_TO_DEVICE = 0
    XCL_BO_SYNC_BO_FROM_DEVICE = 1
    XCL_BO_SYNC_BO_GMIO_TO_AIE = 2
    XCL_BO_SYNC_BO_AIE_TO_GMIO = 3


class ert_cmd_state(enum.IntEnum):
    """State of a run."""

    ERT_CMD_STATE_NEW = 1
    ERT_CMD_STATE_QUEUED = 2
    ERT_CMD_STATE_RUNNING = 3
    ERT_CMD_STATE_COMPLETED = 4
    ERT_CMD_STATE_ERROR = 5
    ERT_CMD_STATE_ABORT = 6
    ERT_CMD_STATE_SUBMITTED = 7
    ERT_CMD_STATE_TIMEOUT = 8
    ERT_CMD_STATE_NORESPONSE = 9
    ERT_CMD_STATE_SKERROR = 10
    ERT_CMD_STATE_SKCRASHED = 11


class xrt_info_device(enum.IntEnum):
    """Queries of :meth:`device.get_info`."""

    bdf = 0
    interface_uuid = 1
    kdma = 2
    max_clock_frequency_mhz = 3
    m2m = 4
    name = 5  # type: ignore[assignment]
    nodma = 6
    offline = 7
    electrical = 8
    thermal = 9
    mechanical = 10
    memory = 11
    platform = 12
    pcie_info = 13
    host = 14
    aie = 15
    aie_shim = 16
    dynamic_regions = 17
    vmr = 18


class xrt_msg_level(enum.IntEnum):
    """Severity of a message."""

    emergency = 0
    alert = 1
    critical = 2
    error = 3
    warning = 4
    notice = 5
    info = 6
    debug = 7


XCL_BO_FLAGS_NONE = 0
emergency = xrt_msg_level.emergency
alert = xrt_msg_level.alert
critical = xrt_msg_level.critical
error = xrt_msg_level.error
warning = xrt_msg_level.warning
notice = xrt_msg_level.notice
info = xrt_msg_level.info
debug = xrt_msg_level.debug

_REFUSED = {
    **dict.fromkeys(("aie", "graph"), "the card has no AI engines"),
    **dict.fromkeys(("elf", "ext", "module", "program"), "the card has no NPU"),
}


def __getattr__(name: str) -> Any:
    if name in _REFUSED:
        raise AttributeError(f"pyxrt.{name}: not offered: {_REFUSED[name]}")
    raise AttributeError(f"module 'pyxrt' has no attribute {name!r}")


def enumerate_devices() -> int:
    """Number of devices."""
    return native.xrt_device_count()


def log_message(level: xrt_msg_level, tag: Union[str, bytes], message: Union[str, bytes]) -> None:
    """Writes a line to standard error."""
    tag, message = (text if isinstance(text, str) else text.decode(errors="replace") for text in (tag, message))
    print(f"[{tag}] {xrt_msg_level(level).name.upper()}: {message}", file=sys.stderr)


class uuid:
    """The name of an xclbin."""

    def __init__(self, text: str = "00000000-0000-0000-0000-000000000000") -> None:
        self._text = text

    def to_string(self) -> str:
        """36 characters, in lower case."""
        return self._text

    def __str__(self) -> str:
        return self._text

    def __bool__(self) -> bool:
        return any(digit not in "0-" for digit in self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, uuid) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


class xclbinip:
    """A compute unit of an xclbin."""

    def __init__(self, name: str = "") -> None:
        self._name = name

    def get_name(self) -> str:
        """``kernel:unit``."""
        return self._name


class xclbinkernel:
    """A kernel of an xclbin."""

    def __init__(self, name: str = "", arguments: int = 0) -> None:
        self._name, self._arguments = name, arguments

    def get_name(self) -> str:
        """Its name."""
        return self._name

    def get_num_args(self) -> int:
        """How many arguments it has, streams included."""
        return self._arguments


class xclbinmem:
    """A memory bank, or a group of banks, of an xclbin."""

    def __init__(self, index: int = 0, entry: Tuple[str, int, int, bool] = ("", 0, 0, False)) -> None:
        self._index, self._entry = index, entry

    def get_tag(self) -> str:
        """For example ``HBM[0]``."""
        return self._entry[0]

    def get_base_address(self) -> int:
        """Address of its first byte."""
        return self._entry[1]

    def get_size_kb(self) -> int:
        """KiB."""
        return self._entry[2]

    def get_used(self) -> bool:
        """Whether a kernel is connected to it."""
        return self._entry[3]

    def get_index(self) -> int:
        """Group index for a :class:`bo`."""
        return self._index


class xclbinip_vector(List[xclbinip]):
    """A list of compute units."""


class xclbinkernel_vector(List[xclbinkernel]):
    """A list of kernels."""


class xclbinmem_vector(List[xclbinmem]):
    """A list of memories."""


class xclbin:
    """Contents of an .xclbin."""

    xclbinip = xclbinip
    xclbinkernel = xclbinkernel
    xclbinmem = xclbinmem

    def __init__(self, path: str = "") -> None:
        self._native = native.NativeXclbin(path)

    def get_kernels(self) -> xclbinkernel_vector:
        """Its kernels."""
        return xclbinkernel_vector(xclbinkernel(name, arguments) for name, arguments in self._native.kernels())

    def get_ips(self) -> xclbinip_vector:
        """Its compute units."""
        return xclbinip_vector(xclbinip(name) for name in self._native.units())

    def get_mems(self) -> xclbinmem_vector:
        """Its memories."""
        return xclbinmem_vector(xclbinmem(index, entry) for index, entry in enumerate(self._native.memories()))

    def get_uuid(self) -> uuid:
        """Its name."""
        return uuid(self._native.uuid)

    def get_xsa_name(self) -> str:
        """The platform."""
        return f"tombolo_{self._native.platform}"

    def get_axlf(self) -> bytes:
        """The bytes of the file, which only this library reads."""
        return self._native.contents()


class device:
    """A device: a simulated card, which opens when an xclbin is loaded.

    :param which: an index, or a PCIe address.
    """

    def __init__(self, which: Union[int, str]) -> None:
        opened = native.NativeXrtDevice
        self._native = opened.open_named(which) if isinstance(which, str) else opened.open(which)

    def load_xclbin(self, what: Union[str, "os.PathLike[str]", xclbin]) -> uuid:
        """Loads a file, or an :class:`xclbin`."""
        if isinstance(what, xclbin):
            return uuid(self._native.load(what._native))
        return uuid(self._native.load_file(os.fspath(what)))

    def register_xclbin(self, what: xclbin) -> uuid:
        """The same as :meth:`load_xclbin` here."""
        return self.load_xclbin(what)

    def get_xclbin_uuid(self) -> uuid:
        """The UUID of the loaded xclbin."""
        return uuid(self._native.uuid)

    def get_info(self, what: xrt_info_device) -> str:
        """The answer to a query as text."""
        return self._native.information(int(what))


class hw_context:
    """A device and the xclbin that is loaded on it."""

    class access_mode(enum.IntEnum):
        """Accepted, without effect."""

        exclusive = 0
        shared = 1

    exclusive = access_mode.exclusive
    shared = access_mode.shared

    def __init__(
        self,
        on: device,
        what: Union[uuid, xclbin, str],
        mode: Union["hw_context.access_mode", Mapping[str, int]] = access_mode.shared,
    ) -> None:
        self._device = on
        self._uuid = what if isinstance(what, uuid) else on.load_xclbin(what)
        # Quality of service is for NPUs: accepted, without effect.
        self._mode = mode if isinstance(mode, hw_context.access_mode) else hw_context.access_mode.shared
        if on.get_xclbin_uuid() != self._uuid:
            raise RuntimeError(f"hw_context: xclbin {self._uuid} is not registered on the device")

    def get_device(self) -> device:
        """Its device."""
        return self._device

    def get_xclbin_uuid(self) -> uuid:
        """The UUID of its xclbin."""
        return self._uuid

    def get_mode(self) -> "hw_context.access_mode":
        """How it was opened."""
        return self._mode


_Place = Union[device, hw_context]


def _device_of(place: _Place) -> device:
    return place._device if isinstance(place, hw_context) else place


class bo:
    """Memory of the card with a copy in the host: they differ until :meth:`sync`.

    ``bo(device, bytes, flags, group)``, ``bo(context, bytes, group)``, or ``bo(parent, bytes, offset)`` for a part of
    another.
    """

    class flags(enum.IntFlag):
        """Where a buffer is."""

        normal = 0
        cacheable = 1 << 24
        svm = 1 << 27
        device_only = 1 << 28
        host_only = 1 << 29
        p2p = 1 << 30

    normal = flags.normal
    cacheable = flags.cacheable
    svm = flags.svm
    device_only = flags.device_only
    host_only = flags.host_only
    p2p = flags.p2p

    _native: native.NativeXrtBo

    def __init__(self, place: Union[_Place, "bo"], size: int, flags: int = 0, group: Optional[int] = None) -> None:
        if isinstance(place, bo):
            self._native = place._native.part(size, int(flags))
        else:
            if group is None and isinstance(place, hw_context):
                flags, group = 0, int(flags)
            if group is None:
                raise TypeError("bo(device, bytes, flags, group): the group is missing; use kernel.group_id(argument)")
            self._native = native.NativeXrtBo(_device_of(place)._native, size, int(flags), group)

    def size(self) -> int:
        """Bytes."""
        return self._native.bytes

    def address(self) -> int:
        """Address of the first byte for kernels."""
        return self._native.address

    def sync(self, direction: xclBOSyncDirection, size: Optional[int] = None, offset: int = 0) -> None:
        """Copies from the host to the card, or back."""
        if direction not in (0, 1):
            raise RuntimeError(f"bo: sync: {direction!r}: the card has no AI engines")
        self._native.sync(direction == 1, self.size() - offset if size is None else size, offset)

    def write(self, data: Any, seek: int = 0) -> None:
        """Copies a buffer (bytes, a numpy array) to the host's copy."""
        # Any format and any order: an array of records, or a transposed one.
        plain = memoryview(data).tobytes()
        if plain:
            held = (ctypes.c_ubyte * len(plain)).from_buffer_copy(plain)
            self._native.write(ctypes.addressof(held), len(plain), seek)

    def read(self, size: Optional[int] = None, skip: int = 0) -> Any:
        """Bytes of the host's copy: a numpy array of int8, or bytes where numpy is not installed."""
        count = self.size() - skip if size is None else size
        if count <= 0:
            raise RuntimeError(f"bo: read: {count} bytes from {skip} on are not in its {self.size()} bytes")
        held = bytearray(count)
        target = (ctypes.c_ubyte * count).from_buffer(held)
        self._native.read(ctypes.addressof(target), count, skip)
        del target
        try:
            import numpy
        except ImportError:
            return bytes(held)
        return numpy.frombuffer(held, dtype=numpy.int8)

    def map(self) -> memoryview:
        """The host's copy, for access in place."""
        kind: Any = type("_Pages", (ctypes.c_ubyte * self.size(),), {})
        pages = kind.from_address(self._native.map())
        # The view keeps the memory alive.
        pages.owner = self._native
        return memoryview(pages).cast("B")

    def copy(self, source: "bo", size: Optional[int] = None, source_offset: int = 0, offset: int = 0) -> None:
        """Copies on the card, from another buffer to this one."""
        self._native.copy(source._native, source.size() if size is None else size, source_offset, offset)


class kernel:
    """A kernel: all of its compute units, or those that are named (``kernel:{unit,unit}``).

    ``kernel(device, uuid, name[, mode])``, or ``kernel(context, name[, mode])``.
    """

    class cu_access_mode(enum.IntEnum):
        """How compute units are opened."""

        exclusive = 0
        shared = 1
        none = 2

    exclusive = cu_access_mode.exclusive
    shared = cu_access_mode.shared
    none = cu_access_mode.none

    def __init__(self, place: _Place, *rest: Any) -> None:
        if isinstance(place, hw_context):
            rest = (place._uuid, *rest)
        of, name, *mode = rest
        access = mode[0] if mode else kernel.cu_access_mode.shared
        self._native = native.NativeXrtKernel(_device_of(place)._native, of.to_string(), name, int(access))

    def __call__(self, *arguments: Any) -> "run":
        started = run(self)
        for index, value in enumerate(arguments):
            started._set(index, value)
        started.start()
        return started

    def group_id(self, index: int) -> int:
        """Memory group for the buffer of an argument."""
        return self._native.group_id(index)

    def read_register(self, offset: int) -> int:
        """A register of the only compute unit, if it was opened exclusively."""
        return self._native.read_register(offset)

    def write_register(self, offset: int, value: int) -> None:
        """As :meth:`read_register`."""
        self._native.write_register(offset, value)


class run:
    """A run of a kernel."""

    def __init__(self, of: kernel) -> None:
        self._native = native.NativeXrtRun(of._native)
        self._callbacks: List[Tuple[Callable[..., object], Any]] = []

    def _set(self, index: int, value: Any) -> None:
        if isinstance(value, bo):
            self._native.set_bo(index, value._native)
        elif hasattr(value, "__index__"):
            number = value.__index__()
            self._native.set_value(index, (number & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "little"))
        else:
            # XRT drops it in silence.
            raise TypeError(
                f"argument {index}: a kernel takes a bo or an integer here, not {type(value).__name__}; "
                "pass a float's bits: struct.unpack('I', struct.pack('f', value))[0]"
            )

    def set_arg(self, index: int, value: Union[bo, int]) -> None:
        """Sets an argument to a buffer or an integer."""
        self._set(index, value)

    def start(self) -> None:
        """Starts it; never waits."""
        self._native.start()
        if self._callbacks:
            threading.Thread(target=self._tell, args=(list(self._callbacks),)).start()

    def _tell(self, callbacks: List[Tuple[Callable[..., object], Any]]) -> None:
        state = ert_cmd_state(self._native.wait(0))
        for call, data in callbacks:
            call(self, state, data)

    def wait(self, milliseconds: int = 0) -> ert_cmd_state:
        """Waits until it ends, at most for this much virtual time (0: no limit)."""
        return ert_cmd_state(self._native.wait(milliseconds))

    def wait2(self, milliseconds: int = 0) -> None:
        """As :meth:`wait`.

        :raises RuntimeError: it did not complete.
        """
        state = self.wait(milliseconds)
        if state not in (ert_cmd_state.ERT_CMD_STATE_COMPLETED, ert_cmd_state.ERT_CMD_STATE_TIMEOUT):
            raise RuntimeError(f"run: it ended in state {state.name}")

    def state(self) -> ert_cmd_state:
        """Its state; virtual time passes while it is under way."""
        return ert_cmd_state(self._native.state())

    def abort(self) -> ert_cmd_state:
        """Stops it."""
        return ert_cmd_state(self._native.abort())

    def add_callback(self, state: ert_cmd_state, call: Callable[..., object], data: Any = None) -> None:
        """Calls ``call(run, state, data)`` on a thread of its own when the run has ended."""
        self._callbacks.append((call, data))


class runlist:
    """Runs that are executed one after the other."""

    def __init__(self, context: Optional[hw_context] = None) -> None:
        self._runs: List[run] = []
        self._at: Optional[int] = None

    def add(self, of: run) -> None:
        """Adds a run at the end."""
        self._require_idle("add")
        self._runs.append(of)

    def execute(self) -> None:
        """Starts the first; :meth:`wait` starts the others."""
        self._require_idle("execute")
        if self._runs:
            self._at = 0
            self._runs[0].start()

    def wait(self, milliseconds: int = 0) -> ert_cmd_state:
        """Waits for all, for at most this much virtual time per run (0: no limit).

        :raises RuntimeError: a run did not complete.
        """
        while self._at is not None:
            state = self._runs[self._at].wait(milliseconds)
            if state == ert_cmd_state.ERT_CMD_STATE_TIMEOUT:
                return state
            if state != ert_cmd_state.ERT_CMD_STATE_COMPLETED:
                at, self._at = self._at, None
                raise RuntimeError(f"runlist: run {at} ended in state {state.name}")
            self._at = self._at + 1 if self._at + 1 < len(self._runs) else None
            if self._at is not None:
                self._runs[self._at].start()
        return ert_cmd_state.ERT_CMD_STATE_COMPLETED

    def _require_idle(self, call: str) -> None:
        if self._at is not None:
            raise RuntimeError(f"runlist: {call}: it executes; wait for it first")


class ip:
    """A compute unit that the program drives by its registers, alone."""

    def __init__(self, place: _Place, *rest: Any) -> None:
        if isinstance(place, hw_context):
            rest = (place._uuid, *rest)
        of, name = rest
        self._native = native.NativeXrtIp(_device_of(place)._native, of.to_string(), name)

    def read_register(self, offset: int) -> int:
        """Reads 32 bits."""
        return self._native.read_register(offset)

    def write_register(self, offset: int, value: int) -> None:
        """Writes 32 bits."""
        self._native.write_register(offset, value)
