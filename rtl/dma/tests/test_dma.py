# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""DMA engine: right bytes, every command answered as the contract says, full speed?"""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "shell" / "tests"))

from verilator_bench import BUS_PORTS, ROOT, build_cpp, run_cocotb, run_cpp, shell_sources  # noqa: E402


def test_dma():
    run_cocotb("dma", "dma_bench_top",
               [*shell_sources("rtl/lib"), ROOT / "rtl" / "stream" / "tmb_stream_pkg.sv",
                *shell_sources("rtl/schedule", "rtl/fabric", "rtl/dma"), HERE / "dma_bench_top.sv"],
               "dma_checks", HERE, options=[BUS_PORTS])


@pytest.fixture(scope="module")
def link():
    names = ["lib/tmb_pkg", "lib/tmb_fifo", "lib/tmb_spill_register", "lib/tmb_round_robin_arbiter",
             "fabric/tmb_fabric_pkg", "dma/tmb_dma_pkg", "dma/tmb_dma_host", "shell/tmb_host_channel"]
    return build_cpp("host_link", "link_bench_top",
                     [*(ROOT / "rtl" / f"{name}.sv" for name in names), HERE / "link_bench_top.sv"],
                     HERE / "link_bench.cpp")


@pytest.mark.parametrize("seed", [1, 2])
def test_all_users_of_host_memory_at_once(link, seed):
    """Each gets its own rows, responses and errors, and no more than its share of the link."""
    run_cpp(link, seed, 100_000)


@pytest.fixture(scope="module")
def share():
    names = ["lib/tmb_pkg", "lib/tmb_fifo", "lib/tmb_spill_register", "lib/tmb_round_robin_arbiter",
             "schedule/tmb_schedule_pkg", "schedule/tmb_schedule", "dma/tmb_dma_pkg", "dma/tmb_dma_splitter",
             "dma/tmb_dma_share"]
    return build_cpp("dma_share", "dma_share_bench_top",
                     [*(ROOT / "rtl" / f"{name}.sv" for name in names), HERE / "dma_share_bench_top.sv"],
                     HERE / "dma_share_bench.cpp")


@pytest.mark.parametrize("seed", [1, 2])
def test_copies_of_several_queues(share, seed):
    run_cpp(share, "random", seed)


def test_queues_take_turns(share):
    least, most = map(int, run_cpp(share, "shares", 1))
    assert least > 0 and most - least <= 3 * 64


def test_the_bound_of_lower_levels(share):
    """LowRows and a burst at most (an assertion counts), and what floors owe; long after the
    higher level, all there is."""
    low_rows, burst = 200, 64
    held, least, most, free, one, other = map(int, run_cpp(share, "bound", 1))
    assert low_rows - burst <= held < low_rows + 2 * burst
    assert low_rows - burst <= least <= most < low_rows + 2 * burst
    assert free > 8 * low_rows
    assert abs(one - other) <= 2 * burst
