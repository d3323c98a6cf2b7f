"""Machines that lack something: a compiler, memory, a home to write to. And processes that multiply."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import tombolo


def script(text: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", text], env={**os.environ, **variables}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


SIMULATED = """
import tombolo
try:
    tombolo.Card.simulated()
except tombolo.errors.BuildError as error:
    print(error)
result = bytearray(3)
with tombolo.Card.functional() as card:
    card.run("copy", input=b"abc", output=result, bytes=3)
print(result.decode())
"""


def test_no_compiler(tmp_path: Path) -> None:
    # A cache of its own, so that nothing is built already.
    said = script(SIMULATED, TOMBOLO_CXX="/no/such/compiler", TOMBOLO_CACHE=str(tmp_path))
    assert "/no/such/compiler" in said and "install g++" in said and "TOMBOLO_CXX" in said
    assert said.endswith("\nabc\n")


def tools_but_no_compiler(folder: Path) -> Path:
    """A folder of programs without g++."""
    programs = folder / "bin"
    programs.mkdir()
    (programs / "sh").symlink_to("/bin/sh")
    return programs


def test_a_path_without_a_compiler(tmp_path: Path) -> None:
    # As where nothing is installed: also no compiler of PyPI.
    said = script(
        SIMULATED, PATH=str(tools_but_no_compiler(tmp_path)), TOMBOLO_CACHE=str(tmp_path), TOMBOLO_ZIG="/nowhere"
    )
    assert "the C++ compiler was not found (`g++` does not run)" in said
    assert "apt-get install g++" in said and "pip install ziglang" in said and said.endswith("\nabc\n")


def test_the_compiler_of_pypi_is_taken_where_there_is_no_other(tmp_path: Path) -> None:
    """A stub of the compiler prints its arguments, and fails."""
    zig = tmp_path / "zig"
    zig.write_text('#!/bin/sh\n[ "$3" = --version ] && echo "clang version 1.2.3" && exit 0\necho "told: $*" >&2\nexit 1\n')
    zig.chmod(0o755)
    # No model is in a cache of its own.
    environment = {
        **os.environ,
        "PATH": str(tools_but_no_compiler(tmp_path)),
        "TOMBOLO_CACHE": str(tmp_path / "cache"),
        "TOMBOLO_ZIG": str(zig),
    }
    for variable in ("TOMBOLO_CXX", "TOMBOLO_VERILATOR_ROOT"):
        environment.pop(variable, None)
    words = [sys.executable, "-m", "tombolo", "kernel", "build", str(tombolo.SHARE / "kernels" / "vadd")]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "told: c++ -fno-sanitize=undefined" in done.stderr and "-fno-gnu-unique" not in done.stderr, done.stderr


def test_a_callback_of_a_build_that_raises() -> None:
    """The build continues, and Python reports the exception."""
    said = script(
        """
import sys, tombolo
sys.unraisablehook = lambda raised: print(raised.exc_value)
def fail(step):
    raise RuntimeError("no steps, please")
with tombolo.Card.simulated(progress=fail) as card:
    result = bytearray(3)
    card.run("copy", input=b"abc", output=result, bytes=3)
print(result.decode())
"""
    )
    assert said.startswith("no steps, please\n") and said.endswith("\nabc\n")


@pytest.mark.parametrize("home", ["/proc/self/nowhere", "/dev/null/home"])
def test_a_home_that_takes_nothing(home: str) -> None:
    # Root may write to a folder without permissions; no user may write to these.
    said = script("import os; os.environ.pop('TOMBOLO_CACHE', None)\n" + SIMULATED, HOME=home)
    assert home in said and "TOMBOLO_CACHE" in said and said.endswith("\nabc\n")


def test_no_memory() -> None:
    said = script(
        """
import resource, tombolo
with tombolo.Card.functional() as card, card.create_space() as space:
    used = int(open("/proc/self/statm").read().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), resource.RLIM_INFINITY))
    try:
        space.alloc(1 << 30)
    except MemoryError as error:
        print(error)
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    memory = space.alloc(1 << 20)
    card.load("copy", space).run(input=b"abc", output=memory, bytes=3)
    print(bytes(memory.buffer[:3]).decode())
"""
    )
    assert "1073741824 bytes" in said and said.endswith("abc\n")


def test_no_memory_for_a_card() -> None:
    said = script(
        """
import resource, tombolo
used = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (used + (16 << 20), resource.RLIM_INFINITY))
try:
    tombolo.Card.functional()
except MemoryError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
tombolo.Card.functional().close()
print("opened")
"""
    )
    assert "DMA buffers" in said and said.endswith("\nopened\n")


def test_multiprocessing() -> None:
    said = script(
        """
import multiprocessing, sys, tombolo

def in_child(card):
    try:
        card.create_space()
    except tombolo.errors.ForkError as error:
        return str(error)

def work(number):
    result = bytearray(3)
    with tombolo.Card.functional() as card:
        card.run("copy", input=bytes([number] * 3), output=result, bytes=3)
    return bytes(result)

if __name__ == "__main__":
    card = tombolo.Card.functional()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        inherited = globals()["card"]
        print(pool.apply(eval, ("__import__('__main__').in_child(__import__('__main__').card)",)))
        assert pool.map(work, range(4)) == [bytes([n] * 3) for n in range(4)]
    with card.create_space() as space:
        space.map_array(b"still here").unmap()
    print("done")
"""
    )
    assert "multiprocessing's `spawn`" in said and said.endswith("done\n")


def test_a_callback_that_raises_while_memory_is_shared() -> None:
    said = script(
        """
import tombolo
def fail(progress):
    raise RuntimeError("enough")
with tombolo.Card.functional() as card, card.create_space() as space:
    memory = space.alloc(1 << 28)
    slot = card.load("copy", space)
    try:
        slot.run(input=memory, output=memory, bytes=1 << 28, progress=fail)
    except RuntimeError as error:
        print(error, error.__cause__)
    slot.run(input=b"abc", output=memory, bytes=3)
    memory.free()
    print(bytes(memory.buffer[:3]))
"""
    )
    assert said == "enough None\nb'abc'\n"


def test_exit_while_memory_is_shared() -> None:
    script(
        """
import threading, tombolo
card = tombolo.Card.functional()
space = card.create_space()
memory = space.alloc(1 << 28)
slot = card.load("copy", space)
started = threading.Event()
def run():
    try:
        slot.run(input=memory, output=memory, bytes=1 << 28, progress=lambda _: started.set())
    except Exception:
        # The card ends with the process. Printing the traceback of a daemon thread can abort the interpreter.
        pass
threading.Thread(target=run, daemon=True).start()
started.wait(60)
view = memory.buffer
"""
    )
