# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Register arrays, interrupts and control accesses of the shell: does the host see what is, and does a write do
what it says, whatever else happens in the cycle?"""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from verilator_bench import ROOT, build_cpp, run_cpp, shell_packages  # noqa: E402


@pytest.fixture(scope="module")
def bench():
    modules = ["array_access", "schedule_registers", "slot_registers", "space_registers", "guard_registers",
               "requester_counters", "owner_changes", "slot_interrupt", "slot_control"]
    return build_cpp("shell_arrays", "arrays_bench_top",
                     [*shell_packages(), *(ROOT / "rtl" / "shell" / f"tmb_{name}.sv" for name in modules),
                      HERE / "arrays_bench_top.sv"],
                     HERE / "arrays_bench.cpp")


@pytest.mark.parametrize("seed", [1, 2])
def test_registers_and_the_way_to_a_slot(bench, seed):
    run_cpp(bench, seed, 100_000)
