# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Scheduler: may only those be chosen whose turn it is, whatever the host changes meanwhile?"""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "shell" / "tests"))

from verilator_bench import ROOT, build_cpp, run_cocotb, run_cpp, shell_sources  # noqa: E402


def sources(top):
    return [ROOT / "rtl/lib/tmb_pkg.sv", ROOT / "rtl/lib/tmb_round_robin_arbiter.sv",
            *shell_sources("rtl/schedule"), ROOT / "rtl/shell/tmb_schedule_queues.sv", HERE / top]


def test_scheduler_against_the_rules():
    run_cocotb("schedule", "schedule_bench_top", sources("schedule_bench_top.sv"),
               "schedule_checks", HERE)


def test_policies_of_arbiters():
    """Every choice is one of the requests, no wait exceeds the policy's bound, and under load the
    shares are as the policy says."""
    program = build_cpp("arbiter", "arbiter_bench_top", sources("arbiter_bench_top.sv"),
                        HERE / "arbiter_bench.cpp")
    shares = [float(word) for word in run_cpp(program, 1)]
    preferred, weighted, turns = shares[:5], shares[5:10], shares[10:]
    assert preferred == pytest.approx([0.05] * 4 + [0.8], abs=0.002)
    assert weighted == pytest.approx([0.125] * 4 + [0.5], abs=0.002)
    assert turns == pytest.approx([0.2] * 5, abs=0.002)
