# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Register bundles: does every access reach the register that was meant?"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "shell" / "tests"))

from verilator_bench import ROOT, run_cocotb  # noqa: E402

RTL = ROOT / "rtl"


def test_register_bundles_against_cocotbext_axi():
    sources = [RTL / "axi" / "tmb_register_bundles.sv", HERE / "bundles_bench_top.sv"]
    run_cocotb("bundles", "bundles_bench_top", sources, "bundles_checks", HERE)
