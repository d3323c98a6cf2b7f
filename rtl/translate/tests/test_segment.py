# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Segments: is every address of a page found with its rights, in its space alone, until it is killed?"""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "shell" / "tests"))

from verilator_bench import ROOT, build_cpp, run_cpp  # noqa: E402


@pytest.fixture(scope="module")
def bench():
    names = ["lib/tmb_pkg", "translate/tmb_translate_pkg", "translate/tmb_translate_segment"]
    return build_cpp("segment", "segment_bench_top",
                     [*(ROOT / "rtl" / f"{name}.sv" for name in names), HERE / "segment_bench_top.sv"],
                     HERE / "segment_bench.cpp")


@pytest.mark.parametrize("seed", [1, 2])
def test_pages_of_every_size(bench, seed):
    run_cpp(bench, seed, 100_000)
