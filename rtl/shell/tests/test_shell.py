# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Shell: do the blocks work together, seen from the host's BAR and from the kernel's ports?"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from verilator_bench import BUS_PORTS, ROOT, run_cocotb, sim_sources  # noqa: E402


def test_shell():
    run_cocotb("shell", "shell_bench_top", [*sim_sources(), HERE / "shell_bench_top.sv"],
               "shell_checks", HERE, [ROOT / "rtl" / "dma" / "tests"], [BUS_PORTS])
