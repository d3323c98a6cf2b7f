# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Port: does an independent AXI4 manager agree with it? (Its other tests are in rtl/translate.)"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "shell" / "tests"))

from verilator_bench import ROOT, run_cocotb, sim_sources  # noqa: E402


def test_port_against_cocotbext_axi():
    rtl = ROOT / "rtl"
    packages = [rtl / "lib" / "tmb_pkg.sv", rtl / "axi" / "tmb_guard_pkg.sv",
                rtl / "translate" / "tmb_translate_pkg.sv"]
    folders = [rtl / name for name in ("lib", "axi", "translate")]
    modules = [file for folder in folders for file in sorted(folder.glob("*.sv"))]
    sources = packages + [file for file in modules if file not in packages]
    sources += [*sim_sources("rtl/axi/assert"), HERE / "port_bench_top.sv"]
    run_cocotb("port", "port_bench_top", sources, "port_checks", HERE)
