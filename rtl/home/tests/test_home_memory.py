# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Card memory behind the directory: is each line where it belongs, and nothing outside the range touched?"""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "shell" / "tests"))

from verilator_bench import ROOT, build_cpp, run_cpp  # noqa: E402


@pytest.fixture(scope="module")
def bench():
    files = ["rtl/lib/tmb_pkg.sv", "rtl/lib/tmb_fifo.sv", "rtl/lib/tmb_spill_register.sv",
             "protocols/generated/tmb_mesi_protocol_pkg.sv", "rtl/directory/tmb_directory_pkg.sv",
             "rtl/home/tmb_home_pkg.sv", "rtl/home/tmb_home_memory.sv"]
    return build_cpp("home_memory", "memory_bench_top", [*(ROOT / file for file in files), HERE / "memory_bench_top.sv"],
                     HERE / "memory_bench.cpp")


@pytest.mark.parametrize("seed", [1, 2])
def test_lines_in_card_memory(bench, seed):
    """Strobes, errors of the fabric and lines beyond the range, in a channel of its own and in a shared one."""
    run_cpp(bench, seed)
