"""``tombolo doctor``: what this machine has of what a card can use, what follows where it lacks something, and what to do."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Callable, List, NamedTuple, Optional

from . import _resources, cache

_USAGE = """usage: tombolo doctor     what this machine has, what follows from what it lacks, and what to do about it"""
#: Numbers of system calls of x86-64 that libraries have no function for.
_USERFAULTFD, _IO_URING_SETUP = 323, 425
_UFFD_USER_MODE_ONLY = 1


class Check(NamedTuple):
    """One thing that a card can use."""

    name: str
    #: What was found.
    state: str
    #: Whether that is enough.
    is_good: bool
    #: What follows where it is not.
    effect: str
    #: What to do then.
    remedy: str


def main(arguments: List[str]) -> int:
    """Prints all checks; the status: 0 if nothing is missing."""
    if arguments:
        print(_USAGE, file=sys.stderr)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    checks = [check() for check in _CHECKS]
    for check in checks:
        print(_line(check))
    return 0 if all(check.is_good for check in checks) else 1


def summary() -> str:
    """What can be simulated here, and what is missing for more."""
    missing = [check for check in (_verilator(), _compiler()) if not check.is_good]
    if not missing:
        return "Kernels of your own compile here: tombolo kernel new NAME makes one."
    lines = ["For kernels of your own this machine lacks:"]
    lines += [f"  {check.name}: {check.remedy}" for check in missing]
    return "\n".join([*lines, "Without them these run: " + (", ".join(_prebuilt_kernels()) or "none")])


def _line(check: Check) -> str:
    if check.is_good:
        return f"ok    {check.name}: {check.state}"
    return f"LACKS {check.name}: {check.state}\n        effect: {check.effect}\n        remedy: {check.remedy}"


def _version(*command: str) -> Optional[str]:
    """The first line of what a program says of its version; nothing if it does not run."""
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.splitlines()[0] if done.returncode == 0 and done.stdout else None


def _compiler() -> Check:
    _resources.find_tools()
    named, zig = os.environ.get("TOMBOLO_CXX"), os.environ.get("TOMBOLO_ZIG")
    found = _version(named) if named else _version("g++") or (_version(zig, "c++") if zig else None)
    looked = f"{named} (TOMBOLO_CXX) does not run" if named else "g++ does not run, and there is no ziglang"
    return Check(
        "C++ compiler",
        found or looked,
        found is not None,
        "kernels without a prebuilt model, and other shells, cannot be simulated",
        "apt-get install g++, or without root: pip install 'tombolo-fpga[compiler]'",
    )


def _verilator() -> Check:
    _resources.find_tools()
    root = os.environ.get("TOMBOLO_VERILATOR_ROOT")
    found = _version(os.path.join(root, "bin", "verilator_bin")) if root else None
    return Check(
        "Verilator",
        found or (f"{root} (TOMBOLO_VERILATOR_ROOT) has none that runs" if root else "this Python has none"),
        found is not None,
        "kernels without a prebuilt model, and other shells, cannot be simulated",
        "pip install 'tombolo-fpga[simulated]'",
    )


def _prebuilt_kernels() -> List[str]:
    """Kernels whose models the package has."""
    try:
        return sorted(set((_resources.PREBUILT / "kernels").read_text().split()))
    except OSError:
        return []


def _prebuilt() -> Check:
    kernels = _prebuilt_kernels()
    flags = set()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("flags"):
                flags = set(line.split())
                break
    except OSError:
        pass
    lacks = sorted({"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"} - flags)
    own = [name for name in ("TOMBOLO_CXX", "TOMBOLO_PROCESSOR", "TOMBOLO_QUICK_MODELS") if os.environ.get(name)]
    state = f"the default shell, {', '.join(kernels)}"
    if not kernels:
        state = "this package was built without them"
    elif lacks:
        state = f"not for this processor, which lacks {', '.join(lacks)}"
    elif own:
        state = f"not used, because of {', '.join(own)}"
    return Check(
        "prebuilt models",
        state,
        bool(kernels) and not lacks and not own,
        "the first simulated run compiles the shell, a minute or more; later ones do not",
        f"unset {', '.join(own)}" if own else "none is needed if there are Verilator and a compiler",
    )


def _cache() -> Check:
    folder = cache.folder()
    there = next(path for path in (folder, *folder.parents) if path.exists())
    is_good = there.is_dir() and os.access(there, os.W_OK | os.X_OK)
    free = shutil.disk_usage(there).free if there.is_dir() else 0
    return Check(
        "cache of models",
        f"{folder}, {free / 1e9:.1f} GB free" if is_good else f"{folder} cannot be written",
        is_good,
        "models that are built cannot be kept: simulated cards with other than prebuilt models fail",
        "name a folder that you may write to in TOMBOLO_CACHE",
    )


def _kernels() -> Check:
    return Check("kernels", f"{len(_resources.kernels())} in the package", bool(_resources.kernels()), "", "")


def _call(number: int, first: int, second: Optional[bytearray] = None) -> Optional[str]:
    """Makes a system call that returns a descriptor, and closes it; the error if there was one."""
    if platform.machine() != "x86_64":
        return "not looked for on this processor"
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = None if second is None else (ctypes.c_char * len(second)).from_buffer(second)
    made = libc.syscall(ctypes.c_long(number), ctypes.c_uint(first), buffer)
    if made < 0:
        return os.strerror(ctypes.get_errno())
    os.close(made)
    return None


def _io_uring() -> Check:
    error = _call(_IO_URING_SETUP, 4, bytearray(120))
    return Check(
        "io_uring",
        "available" if error is None else error,
        error is None,
        "files are read and written by threads with pread and pwrite: more of the processor for the same bytes",
        "allow it: sysctl kernel.io_uring_disabled=0; in a container, its seccomp profile",
    )


def _userfaultfd() -> Check:
    error = _call(_USERFAULTFD, os.O_CLOEXEC | _UFFD_USER_MODE_ONLY)
    return Check(
        "userfaultfd",
        "available" if error is None else error,
        error is None,
        "shared memory is trapped by mprotect and SIGSEGV; memory for system calls (for_calls=True) is not to be had",
        "sysctl vm.unprivileged_userfaultfd=1, or in a container its seccomp profile; tombolo host traps says more",
    )


def _huge_pages() -> Check:
    try:
        words = Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text().split()
        state = next((word.strip("[]") for word in words if word.startswith("[")), "unknown")
    except OSError:
        state = "this system has none"
    return Check(
        "huge pages",
        state,
        state in ("always", "madvise"),
        "large memory of a served or functional card costs more TLB misses of the processor",
        "echo madvise >/sys/kernel/mm/transparent_hugepage/enabled, as root",
    )


_CHECKS: List[Callable[[], Check]] = [
    _compiler,
    _verilator,
    _prebuilt,
    _cache,
    _kernels,
    _io_uring,
    _userfaultfd,
    _huge_pages,
]
