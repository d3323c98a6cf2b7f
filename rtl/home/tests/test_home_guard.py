# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""The boundary between the directory and a kernel: whatever the kernel does, every access ends."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "shell" / "tests"))

from verilator_bench import ROOT, build_cpp, run_cpp  # noqa: E402


@pytest.fixture(scope="module")
def bench():
    lib = [ROOT / "rtl" / "lib" / f"tmb_{name}.sv"
           for name in ("pkg", "fifo", "spill_register", "ram_1r1w", "one_hot_index")]
    return build_cpp("home_guard", "guard_bench_top",
                     [*lib, ROOT / "protocols" / "generated" / "tmb_mesi_protocol_pkg.sv",
                      ROOT / "rtl" / "directory" / "tmb_directory_pkg.sv",
                      ROOT / "rtl" / "directory" / "tmb_directory_pool.sv",
                      ROOT / "rtl" / "home" / "tmb_home_pkg.sv",
                      ROOT / "rtl" / "home" / "tmb_home_guard.sv", HERE / "guard_bench_top.sv"],
                     HERE / "guard_bench.cpp")


@pytest.mark.parametrize("seed", [1, 2])
def test_everything_arrives_once(bench, seed):
    """A kernel that obeys, and answers late and in any order: the bench fails on a row, an answer, an
    operation or an acknowledgement that is lost, doubled or another's, and on a violation."""
    run_cpp(bench, "random", seed)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_access_of_a_kernel_that_is_cut_off_ends(bench, seed):
    """The way is closed at any moment: the shell answers, and the next kernel starts afresh."""
    run_cpp(bench, "closes", seed)


@pytest.mark.parametrize("seed", [1, 2])
def test_operations_beside_memory_end_by_themselves(bench, seed):
    """The kernel of the operations is cut off at any moment, and the accesses go on as if nothing were."""
    run_cpp(bench, "lines_close", seed)


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_outlives_a_reset(bench, seed):
    """At any moment, while a way closes, too: behind it everything is as after power-on."""
    run_cpp(bench, "resets", seed)


@pytest.mark.parametrize("rule", ["read_late", "write_late", "read_unknown", "rows", "write_unknown",
                                  "operation", "tag"])
def test_a_broken_rule_is_named_and_goes_no_further(bench, rule):
    run_cpp(bench, rule, 1)


def test_a_kernel_in_time_is_never_late(bench):
    """However often the patience is over while others are answered."""
    run_cpp(bench, "in_time", 1)


def test_no_limit_is_no_limit(bench):
    run_cpp(bench, "no_patience", 1)


def test_a_row_a_cycle_each_way(bench):
    rates = [float(word) for word in run_cpp(bench, "rate", 1)]
    assert len(rates) == 2 and min(rates) > 0.99, rates
