# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Narrower: does a kernel port of 1,024 bits put every byte where AXI4 says, at full rate?"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "shell" / "tests"))

from verilator_bench import ROOT, run_cocotb  # noqa: E402

RTL = ROOT / "rtl"


def test_narrower_against_cocotbext_axi():
    sources = [RTL / "lib" / "tmb_fifo.sv", RTL / "axi" / "tmb_port_narrower.sv",
               HERE / "narrower_bench_top.sv"]
    run_cocotb("narrower", "narrower_bench_top", sources, "narrower_checks", HERE)
