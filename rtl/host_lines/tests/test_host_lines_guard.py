# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""The boundary between a slot and the card's cache of the CPU's lines: whatever the kernel does, it ends."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "shell" / "tests"))

from verilator_bench import ROOT, build_cpp, run_cpp  # noqa: E402


@pytest.fixture(scope="module")
def bench():
    rtl = ROOT / "rtl"
    lib = [rtl / "lib" / f"tmb_{name}.sv" for name in ("pkg", "spill_register", "one_hot_index")]
    return build_cpp("host_lines_guard", "guard_bench_top",
                     [*lib, ROOT / "protocols" / "generated" / "tmb_mesi_protocol_pkg.sv",
                      rtl / "directory" / "tmb_directory_pkg.sv",
                      rtl / "cache_controller" / "tmb_cache_controller_pkg.sv",
                      rtl / "host_lines" / "tmb_host_lines_pkg.sv",
                      rtl / "host_lines" / "tmb_host_lines_guard.sv", HERE / "guard_bench_top.sv"],
                     HERE / "guard_bench.cpp")


@pytest.mark.parametrize("seed", [1, 2])
def test_everything_arrives_once(bench, seed):
    """A kernel that obeys, a controller that answers late and in any order: the bench fails on an access or an answer
    that is lost, doubled or another's, and on a violation."""
    run_cpp(bench, "random", seed)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_kernel_that_is_cut_off_holds_nothing_and_has_no_line(bench, seed):
    """The way is closed at any moment: what is under way ends, then every hold is released, then every set is swept, and
    only then the next kernel starts, afresh."""
    run_cpp(bench, "closes", seed)


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_outlives_a_reset(bench, seed):
    """At any moment, while the way closes, too: behind it everything is as after power-on."""
    run_cpp(bench, "resets", seed)


@pytest.mark.parametrize("rule", ["access", "tag", "range", "slice", "hold"])
def test_a_broken_rule_is_named_and_goes_no_further(bench, rule):
    run_cpp(bench, rule, 1)


def test_an_access_a_cycle_each_way(bench):
    rates = [float(word) for word in run_cpp(bench, "rate", 1)]
    assert len(rates) == 2 and min(rates) > 0.99, rates
