# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Sweeps of the directory: is nothing left of a kernel that is gone when the next one is let in?"""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "shell" / "tests"))

from verilator_bench import ROOT, build_cpp, run_cpp  # noqa: E402


@pytest.fixture(scope="module")
def bench():
    return build_cpp("home_sweeps", "tmb_home_sweeps", [ROOT / "rtl" / "home" / "tmb_home_sweeps.sv"],
                     HERE / "sweeps_bench.cpp")


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_is_left_of_a_kernel_that_is_gone(bench, seed):
    run_cpp(bench, seed, 300_000)
