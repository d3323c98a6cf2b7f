# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the benches of the RTL: in C++ on a Verilated model, or in cocotb."""

import contextlib
import fcntl
import os
import subprocess
import sys
from pathlib import Path

from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

ROOT = Path(__file__).resolve().parents[3]
# tools/mutants has a copy of rtl/ within the checkout.
sys.path.append(str(next(folder for folder in [ROOT, *ROOT.parents] if (folder / "Cargo.toml").exists()) / "tools"))

import verilate  # noqa: E402

BUILD = ROOT / "build" / "rtl"
# Macros for the pins of a bus, named as cocotbext-axi wants them. tools/mutants does not copy the kernels.
BUS_PORTS = f"--include={verilate.CHECKOUT / 'kernels' / 'lib'}"
INCLUDES = ["--include=rtl/lib", "--include=rtl/axi/assert"]


def listed(name):
    """The files of a list in rtl/shell, nested lists included, in the order of compilation."""
    files = []
    for line in (ROOT / "rtl" / "shell" / name).read_text().splitlines():
        if line.startswith("-f "):
            files += listed(Path(line[3:].strip()).name)
        elif line and not line.startswith(("+", "//")):
            files.append(line)
    return files


def chosen(files, folders):
    return [ROOT / f for f in files if not folders or f.startswith(tuple(f"{d}/" for d in folders))]


def shell_sources(*folders):
    """The shell's files in `folders` (like "rtl/lib"), in the order of compilation."""
    return chosen(listed("tmb_shell.f"), folders)


def sim_sources(*folders):
    """The same with the protocol assertions."""
    return chosen(listed("tmb_shell_sim.f"), folders)


@contextlib.contextmanager
def alone(name):
    """The folder where a bench runs, for one process at a time: tests run in several."""
    folder = BUILD / name
    folder.mkdir(parents=True, exist_ok=True)
    with open(BUILD / f"{name}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def shell_packages():
    """The shell's packages, in the order of compilation."""
    return [file for file in shell_sources() if file.stem.endswith("_pkg")]


def virtual_memory_sources():
    """The files of tmb_virtual_memory, packages first."""
    rtl = ROOT / "rtl"
    packages = [rtl / "lib" / "tmb_pkg.sv", rtl / "axi" / "tmb_guard_pkg.sv",
                rtl / "schedule" / "tmb_schedule_pkg.sv", rtl / "translate" / "tmb_translate_pkg.sv"]
    levels = [rtl / "schedule" / f"tmb_{name}.sv" for name in ("schedule_levels", "level_queue")]
    folders = [rtl / name for name in ("lib", "axi", "translate")]
    modules = [*levels, *(file for folder in folders for file in sorted(folder.glob("*.sv")))]
    return packages + [file for file in modules if file not in packages]


def build_cpp(name, top, sources, bench, parameters=None, defines=None):
    """Verilates `top` with the C++ bench; returns the program."""
    options = [*INCLUDES, f"--main={bench}", "--flag=-std=c++20"]
    options += [f"--flag=-D{key}={value}" for key, value in (defines or {}).items()]
    options += [f"--parameter={key}={value}" for key, value in (parameters or {}).items()]
    return verilate.build("bench", ROOT, name, top, sources, *options)


def run_cpp(program, *arguments):
    """Runs a bench; returns what it prints, as words."""
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, f"{program.name} {arguments}: {done.stdout}{done.stderr}"
    return done.stdout.split()


def run_cocotb(name, top, sources, module, folder, libraries=(), options=()):
    """Runs the cocotb tests of `module`, which lies in `folder`; raises if one fails. `options` are the builder's."""
    program = verilate.build_cocotb(ROOT, name, top, sources, *INCLUDES, *options)
    with alone(name) as work:
        folders = [str(folder), *map(str, libraries)]
        os.environ["PYTHONPATH"] = ":".join(folders)
        sys.path[:0] = folders
        results = get_runner("verilator").test(
            hdl_toplevel=top,
            hdl_toplevel_lang="verilog",
            test_module=module,
            build_dir=program,
            test_dir=work,
            results_xml=str(work / f"{module}.xml"),
            extra_env={"COCOTB_LOG_LEVEL": os.environ.get("COCOTB_LOG_LEVEL", "WARNING"),
                       "PYTHONWARNINGS": "ignore::DeprecationWarning"},
        )
        tests, failures = get_results(results)
    assert tests > 0 and failures == 0, f"{failures} of {tests} tests of {module} failed"
