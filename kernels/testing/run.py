"""Builds a kernel with Verilator and runs cocotb tests on it."""

import fcntl
import os
import subprocess
import sys
import tomllib
from pathlib import Path

from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

TESTING = Path(__file__).resolve().parent
KERNELS = TESTING.parent
ROOT = KERNELS.parent
BUILD = ROOT / "build" / "kernels"

sys.path.append(str(ROOT / "tools"))

import verilate  # noqa: E402


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


def run_cocotb(kernel: str, module: str, folder: Path, bare: bool = False) -> None:
    """Runs the cocotb tests of `module`, which lies in `folder`; raises if one fails. With `bare` the kernel
    has no test top around it: one with home ports, and IDs on its memory ports."""
    top = manifest(kernel)["kernel"]["top"] if bare else "kernel_test_top"
    os.environ["PYTHONPATH"] = f"{TESTING}:{folder}"
    macros = {"KERNEL": manifest(kernel)["kernel"]["top"], **one_port(kernel)}
    options = [f"--include={KERNELS / 'lib'}"]
    options += [f"--define={name}={value}" for name, value in macros.items()]
    files = [*sources(kernel), *([] if bare else [TESTING / "kernel_test_top.sv"])]
    program = verilate.build_cocotb(ROOT, kernel, top, files, *options)
    simulate(kernel, program, top, module, folder)


def run_modules(name: str, top: str, files: list[Path], module: str, folder: Path) -> None:
    """Runs the cocotb tests of `module`, which lies in `folder`, on modules of a library that are no kernel."""
    os.environ["PYTHONPATH"] = f"{TESTING}:{folder}:{folder.parent}"
    simulate(name, verilate.build_cocotb(ROOT, name, top, files), top, module, folder)


def simulate(kernel: str, program: Path, top: str, module: str, folder: Path) -> None:
    """Runs the tests on a simulation that was built."""
    work = BUILD / kernel / "cocotb"
    work.mkdir(parents=True, exist_ok=True)
    # Another process may run the same tests.
    lock = open(BUILD / kernel / "cocotb.lock", "w", encoding="ascii")
    fcntl.flock(lock, fcntl.LOCK_EX)
    sys.path[:0] = [str(TESTING), str(folder)]
    results = get_runner("verilator").test(
        hdl_toplevel=top,
        hdl_toplevel_lang="verilog",
        test_module=module,
        build_dir=program,
        test_dir=work,
        results_xml=str(work / f"{module}.xml"),
        extra_env={"COCOTB_LOG_LEVEL": "WARNING", "KERNEL": kernel},
    )
    tests, failures = get_results(results)
    lock.close()
    assert tests > 0 and failures == 0, f"{failures} of {tests} tests of {module} failed"
