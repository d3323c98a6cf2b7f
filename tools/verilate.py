# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""The builder of everything that is Verilated (crates/verilated), for tests in Python.

One cache by content: unchanged models are found at once.
"""

import functools
import os
import subprocess
from pathlib import Path

import cocotb_tools.config

CHECKOUT = Path(__file__).resolve().parents[1]


@functools.cache
def builder():
    """The program `verilate`: $TOMBOLO_VERILATE, else compiled if it is not."""
    if named := os.environ.get("TOMBOLO_VERILATE"):
        return Path(named)
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "tombolo-verilated"], cwd=CHECKOUT,
                   check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", CHECKOUT / "target")) / "release" / "verilate"


def build(form, root, name, top, files, *options):
    """The output of `verilate FORM`; files are named relative to `root`, in messages too."""
    inside = [os.path.relpath(file, root) for file in files]
    command = [builder(), form, "--name", name, "--top", top, *options, *inside]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def build_cocotb(root, name, top, files, *options):
    """A simulation for cocotb; returns its folder. Only the ports of `top` can be reached."""
    main = cocotb_tools.config.share_dir / "lib" / "verilator" / "verilator.cpp"
    options += (f"--main={main}", "--class=Vtop", f"--libraries={cocotb_tools.config.libs_dir}")
    return build("cocotb", root, name, top, files, *options).parent
