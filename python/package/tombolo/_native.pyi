"""The Rust half of the package. Use the classes of ``tombolo``; these are their handles."""

from __future__ import annotations

from typing import Callable, Dict, List, Optional, Tuple, final

__version__: str
__all__ = [
    "NativeCard",
    "NativeMapping",
    "NativeReport",
    "NativeSlot",
    "NativeSpace",
    "__version__",
    "error_codes",
]

def error_codes() -> List[Tuple[int, str]]: ...

_WaitProgress = Callable[[int, int, int, int], object]

@final
class NativeCard:
    @staticmethod
    def functional(
        *,
        slots: Optional[int],
        ports_per_slot: Optional[int],
        channels: Optional[int],
        channel_bytes: Optional[int],
        seed: Optional[int],
        page_size: Optional[int],
        read_ahead_bytes: Optional[int],
        clean_ahead_bytes: Optional[int],
    ) -> NativeCard: ...
    @staticmethod
    def simulated(
        platform: str,
        home: str,
        progress: Optional[Callable[[str], object]],
        *,
        shell: Optional[str],
        channel_bytes: Optional[int],
        page_size: Optional[int],
        read_ahead_bytes: Optional[int],
        clean_ahead_bytes: Optional[int],
        cold: bool,
        timeline: Optional[str],
        waves: Optional[str],
    ) -> NativeCard: ...
    def create_space(self, channel: Optional[int], limit: Optional[int]) -> NativeSpace: ...
    def load(self, slot: int, folder: str, space: NativeSpace) -> NativeSlot: ...
    def report(self) -> NativeReport: ...
    def describe(self) -> Tuple[str, int]: ...
    def close(self) -> None: ...

@final
class NativeReport:
    def json(self) -> str: ...
    def text(self) -> str: ...
    def html(self) -> str: ...

@final
class NativeSpace:
    @property
    def asid(self) -> int: ...
    def map_file(
        self,
        path: str,
        mode: str,
        *,
        create: Optional[int],
        offset: int,
        bytes: Optional[int],
        address: Optional[int],
        page_size: Optional[int],
    ) -> NativeMapping: ...
    def map_descriptor(
        self, descriptor: int, name: str, mode: str, page_size: Optional[int]
    ) -> NativeMapping: ...
    def close(self) -> None: ...

@final
class NativeMapping:
    @property
    def address(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    def sync(self) -> None: ...
    def prefetch(self) -> None: ...
    def unmap(self) -> None: ...

@final
class NativeSlot:
    def manifest(self) -> Tuple[str, List[Dict[str, object]]]: ...
    def set(self, argument: str, value: int) -> None: ...
    def set_bytes(self, argument: str, value: bytes) -> None: ...
    def start(self) -> None: ...
    def wait(self, deadline_ps: Optional[int], progress: Optional[_WaitProgress]) -> None: ...
    def read_register(self, offset: int) -> int: ...
    def write_register(self, offset: int, value: int) -> None: ...
    def close(self) -> None: ...
