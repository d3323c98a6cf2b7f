"""Does sha256_hls give what hashlib gives, and read as an HLS tool's port does? The checks of digests are in kernels/hash."""

import hashlib
import os
import sys
from itertools import chain, repeat
from pathlib import Path

KERNELS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(KERNELS / "testing"), str(KERNELS / "hash")]

os.environ["HASH"] = "sha256"

import cocotb
import pytest
from cocotb.triggers import RisingEdge
from hash_checks import (  # noqa: F401
    any_size_in_any_lanes,
    any_size_in_one_message,
    any_size_with_stalls,
    hash_and_compare,
    lanes_have_limits,
)
from kernel_bench import KernelBench

BURST_ROWS, OUTSTANDING = 16, 16


@cocotb.test()
async def bursts_are_short_and_have_room(dut):
    """Up to 16 rows that cross no 4 KiB boundary; 16 bursts and 256 rows outstanding, no more, while memory does not answer."""
    bench = KernelBench(dut, seed=5)
    await bench.reset()
    lengths, most = [], [0, 0]

    async def watch():
        bursts = rows = 0
        while True:
            await RisingEdge(dut.ap_clk)
            if dut.m_axi_gmem0_arvalid.value == 1 and dut.m_axi_gmem0_arready.value == 1:
                length = int(dut.m_axi_gmem0_arlen.value) + 1
                assert int(dut.m_axi_gmem0_araddr.value) % 4096 + 64 * length <= 4096
                lengths.append(length)
                bursts, rows = bursts + 1, rows + length
            if dut.m_axi_gmem0_rvalid.value == 1:
                assert dut.m_axi_gmem0_rready.value == 1, "room was reserved"
                rows -= 1
                bursts -= dut.m_axi_gmem0_rlast.value == 1
            most[:] = max(most[0], bursts), max(most[1], rows)

    cocotb.start_soon(watch())
    bench.read.ar_channel.queue_occupancy_limit = 2 * OUTSTANDING
    bench.read.r_channel.set_pause_generator(chain([True] * 800, repeat(False)))
    await hash_and_compare(bench, 64 * 300 + 7, 70)
    assert most[0] == OUTSTANDING and BURST_ROWS * (OUTSTANDING - 1) < most[1] <= BURST_ROWS * OUTSTANDING
    # One lane takes a row in 67 cycles, so the buffer fills.
    await hash_and_compare(bench, 64 * 300, 1)
    assert max(lengths) == BURST_ROWS and sum(lengths) == 601


@cocotb.test(skip=not os.environ.get("DEEP"))
async def a_thousand_messages(dut):
    bench = KernelBench(dut, seed=7)
    await bench.reset()
    for _ in range(1000):
        lanes = bench.random.choice([1, 2, 3, 67, 128])
        await hash_and_compare(bench, bench.random.randrange(64 * min(2 * lanes, 40)), lanes)


def test_sha256_hls():
    from run import run_cocotb

    run_cocotb("sha256_hls", "test_sha256_hls", Path(__file__).parent)


@pytest.mark.deep
def test_sha256_hls_a_thousand_times(monkeypatch):
    from run import run_cocotb

    monkeypatch.setenv("DEEP", "1")
    run_cocotb("sha256_hls", "test_sha256_hls", Path(__file__).parent)


def test_the_judge():
    """FIPS 180-4's example."""
    assert hashlib.sha256(b"abc").hexdigest().startswith("ba7816bf8f01cfea414140de5dae2223")
