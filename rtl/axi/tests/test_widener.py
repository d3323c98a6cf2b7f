# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Widener: do narrow kernel ports put every byte where AXI4 says, at full rate?"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "shell" / "tests"))

from verilator_bench import ROOT, run_cocotb  # noqa: E402


def test_widener_against_cocotbext_axi():
    rtl = ROOT / "rtl"
    sources = [rtl / "lib" / "tmb_fifo.sv", rtl / "axi" / "tmb_port_widener.sv",
               HERE / "widener_bench_top.sv"]
    run_cocotb("widener", "widener_bench_top", sources, "widener_checks", HERE)
