# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""DMA engine: right bytes, every command answered as the contract says, full speed?"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "shell" / "tests"))

from verilator_bench import ROOT, run_cocotb, shell_sources  # noqa: E402


def test_dma():
    run_cocotb("dma", "dma_bench_top",
               [*shell_sources("rtl/lib"), ROOT / "rtl" / "stream" / "tmb_stream_pkg.sv",
                *shell_sources("rtl/schedule", "rtl/fabric", "rtl/dma"), HERE / "dma_bench_top.sv"],
               "dma_checks", HERE)
