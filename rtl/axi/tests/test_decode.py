# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Burst decoder: does it serve what AXI4 allows in a 4 KiB block, to the beat, and refuse the rest?"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "shell" / "tests"))

from verilator_bench import ROOT, run_cocotb  # noqa: E402


def test_decoder_against_the_specification():
    rtl = ROOT / "rtl"
    sources = [rtl / "lib" / "tmb_pkg.sv", rtl / "axi" / "tmb_guard_pkg.sv",
               rtl / "translate" / "tmb_translate_pkg.sv", rtl / "axi" / "tmb_burst_decode.sv",
               HERE / "decode_bench_top.sv"]
    run_cocotb("decode", "decode_bench_top", sources, "decode_checks", HERE)
