# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Fabric: is every row where it belongs, is nothing lost or reordered, does it run at full speed?"""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "shell" / "tests"))

from verilator_bench import BUILD, ROOT, build_cpp, run_cpp, shell_sources  # noqa: E402


def build(channels):
    """The bench program for a number of channels."""
    return build_cpp(
        f"fabric{channels}", "fabric_bench_top",
        [*shell_sources("rtl/lib", "rtl/schedule", "rtl/fabric"), HERE / "fabric_bench_top.sv"],
        HERE / "fabric_bench.cpp", {"NumChannels": channels}, {"NUM_CHANNELS": channels})


@pytest.fixture(scope="module", params=[1, 4], ids=["1-channel", "4-channels"])
def bench(request):
    """The bench program for a number of channels, and that number."""
    return build(request.param), request.param


@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("scenario", ["random", "short", "stalled", "unstalled", "slow_memory"])
def test_random_traffic(bench, scenario, seed):
    """The bench itself fails on a wrong, lost or reordered row, and when it does not drain."""
    run_cpp(bench[0], scenario, seed)


@pytest.mark.parametrize("seed", range(1, 4))
@pytest.mark.parametrize("scenario", [
    "striped", "striped_short", "striped_stalled", "striped_unstalled", "striped_slow_memory"])
def test_striped_traffic(bench, scenario, seed):
    """Every requester with a stripe of its own, from 64 B; bursts come back whole."""
    run_cpp(bench[0], scenario, seed)


@pytest.mark.parametrize("scenario", ["resets", "striped_resets"])
def test_resets_at_any_moment(bench, scenario):
    """Traffic of all requesters under way: nothing of it comes out behind a reset, and the next traffic is right."""
    run_cpp(bench[0], scenario, 1)


def test_more_cut_bursts_than_numbers(bench):
    """Two requesters alone, each burst cut in two, and a slow memory: with four channels more could be
    under way than the cutters have numbers for."""
    run_cpp(bench[0], "striped_many", 1)


@pytest.mark.parametrize("scenario", ["full_bursts", "short_bursts", "single_rows"])
def test_every_channel_reads_and_writes_a_row_a_cycle(bench, scenario):
    program, channels = bench
    words = run_cpp(program, scenario, 1)
    reads = [float(word) for word in words[1:1 + channels]]
    writes = [float(word) for word in words[2 + channels:2 + 2 * channels]]
    assert min(reads + writes) >= 0.99, words


def test_granules_of_a_row_cost_nothing(bench):
    """Every burst of every requester is cut into 63 or 64 pieces, on all channels in turn."""
    program, channels = bench
    words = run_cpp(program, "granule_64", 1)
    reads = [float(word) for word in words[1:1 + channels]]
    writes = [float(word) for word in words[2 + channels:2 + 2 * channels]]
    assert min(reads + writes) >= 0.97, words


def test_dma_comes_first_but_starves_nobody(bench):
    words = run_cpp(bench[0], "fairness", 1)
    granted = [int(word) for word in words[words.index("grants") + 1:]]
    other, dma = granted[0], granted[-1]
    assert 3.9 <= dma / other <= 4.1, words


@pytest.fixture(scope="module")
def lanes():
    """Four engines, two address lanes and four channels, with rows of 128 bits."""
    package = ROOT / "rtl" / "lib" / "tmb_pkg.sv"
    wide = package.read_text()
    assert wide.count("RowBits = 512;") == 1
    narrow = BUILD / "lanes" / "tmb_pkg.sv"
    narrow.parent.mkdir(parents=True, exist_ok=True)
    narrow.write_text(wide.replace("RowBits = 512;", "RowBits = 128;"))
    files = [ROOT / line for line in (HERE / "lanes_bench.f").read_text().splitlines()
             if line.endswith(".sv")]
    return build_cpp("lanes", "lanes_bench_top", [narrow if f == package else f for f in files],
                     HERE / "lanes_bench.cpp", {"NumEngines": 4, "NumChannels": 4, "NumLanes": 2})


@pytest.mark.parametrize("gap", [256, 700], ids=["fast-memory", "slow-memory"])
def test_lanes_limit_short_bursts_and_the_memory_all(lanes, gap):
    """Two addresses a cycle, four rows a cycle, and what a memory serves that begins a burst every `gap`
    / 256 cycles; each engine has a channel of its own. The bench checks every row."""
    lengths = [1, 2, 4, 64]
    words = [float(word) for word in run_cpp(lanes, gap, 20, 300, 2000, *lengths)]
    for length, line in zip(lengths, zip(*[iter(words)] * 7)):
        limit = min(2 * length, 4, 4 * length * 256 / gap)
        assert line[0] == length
        for rows in (line[1], line[2], line[5], line[6]):
            assert 0.98 * limit <= rows <= 1.01 * limit, (length, line)
        assert 0 < line[3] <= 1.01 * limit and 0 < line[4] <= 1.01 * limit, line
