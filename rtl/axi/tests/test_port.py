# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Port: does an independent AXI4 manager agree with it? (Its other tests are in rtl/translate.)"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "shell" / "tests"))

from verilator_bench import run_cocotb, sim_sources, virtual_memory_sources  # noqa: E402


def test_port_against_cocotbext_axi():
    sources = [*virtual_memory_sources(), *sim_sources("rtl/axi/assert"), HERE / "port_bench_top.sv"]
    run_cocotb("port", "port_bench_top", sources, "port_checks", HERE)
