# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Ports and translation: right bytes, exact dirty bits, invalidations that hold, full speed."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "shell" / "tests"))

from verilator_bench import build_cpp, run_cpp, virtual_memory_sources  # noqa: E402


@pytest.fixture(scope="module")
def bench():
    """Small structures, so that everything fills up and wraps."""
    return build_cpp("virtual_memory", "virtual_memory_bench_top",
                     [*virtual_memory_sources(), HERE / "virtual_memory_bench_top.sv"],
                     HERE / "virtual_memory_bench.cpp")


@pytest.fixture(scope="module")
def two_lanes():
    """The same with two address lanes, one for each port, segments in place of L1 TLBs, and no look-ahead."""
    return build_cpp("virtual_memory_two_lanes", "virtual_memory_bench_top",
                     [*virtual_memory_sources(), HERE / "virtual_memory_bench_top.sv"],
                     HERE / "virtual_memory_bench.cpp", {"NumLanes": 2, "L1Kind": 4, "LookAhead": 0})


@pytest.mark.parametrize("seed", range(1, 5))
@pytest.mark.parametrize("scenario", [
    "random", "random_resets", "random_shared_space", "random_unstalled", "random_busy_pager",
    "random_slow_memory", "random_grow", "random_races", "random_l1_off", "random_walker_off",
    "random_modes", "random_tableless", "random_levels", "random_levels_busy"])
def test_random_traffic(bench, scenario, seed):
    """Kernels read what they wrote; no frame is touched without right; dirty is exact."""
    run_cpp(bench, scenario, seed)


@pytest.mark.parametrize("seed", range(1, 4))
@pytest.mark.parametrize("scenario", [
    "random", "random_resets", "random_shared_space", "random_busy_pager", "random_slow_memory",
    "random_grow", "random_walker_off", "random_modes", "random_tableless", "random_levels"])
def test_random_traffic_in_two_lanes(two_lanes, scenario, seed):
    run_cpp(two_lanes, scenario, seed)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("lanes", ["bench", "two_lanes"])
def test_nothing_outlives_a_reset(lanes, seed, request):
    """Of everything, at any moment: behind it no translation, burst or command of before is there."""
    run_cpp(request.getfixturevalue(lanes), "random_restarts", seed)


def test_two_lanes_give_two_translations_a_cycle(two_lanes):
    rates = [float(word) for word in run_cpp(two_lanes, "stream_single", 1)]
    assert min(rates) >= 0.49, rates


def test_without_look_ahead_the_second_burst_is_reported_in_the_end(two_lanes):
    run_cpp(two_lanes, "fault_behind_hits", 1)


@pytest.mark.parametrize("scenario", [
    "look_ahead", "fault_behind_hits", "requester_isolation", "reply_without_entry", "permission", "table_commands",
    "replace_page", "dirty_exact", "reset_with_faults", "reset_with_translated", "stuck_kernel",
    "memory_errors", "invalidate_meets_walk", "disabled_space", "grow", "several_l1s", "round_addresses", "walker_off",
    "size_filter", "marks", "marks_of_one_entry", "marks_stalled"])
def test_directed(bench, scenario):
    run_cpp(bench, scenario, 1)


@pytest.mark.parametrize("scenario", ["stream_full", "stream_short", "stream_single"])
def test_each_port_reads_and_writes_a_row_a_cycle(bench, scenario):
    """One lane gives one translation a cycle: four requesters of single rows share it."""
    rates = [float(word) for word in run_cpp(bench, scenario, 1)]
    least = 0.99 if scenario != "stream_single" else 0.245
    assert min(rates) >= least, rates


def test_walks_run_in_parallel(bench):
    """Every burst misses in the L1 TLB; 32 walks in flight, 60 cycles of memory latency."""
    rates = [float(word) for word in run_cpp(bench, "walks", 1)]
    assert sum(rates) >= 0.38, rates


# Reads of lower levels that may be before that of a miss: the walker's five stages, the two places of its
# request register, and one whose turn it is (docs/blocks/scheduler.md).
READS_BEFORE = 8
# Marks of lower levels that may be before one: eight at once, and three that have left the queue.
MARKS_AT_ONCE, MARKS_BEFORE = 8, 11


@pytest.mark.parametrize("scenario, cycles_a_read", [("high_beside_misses", 8), ("high_beside_long_walks", 1)])
@pytest.mark.parametrize("lanes", ["bench", "two_lanes"])
def test_a_miss_of_a_high_level_waits_for_few_walks_of_others(lanes, scenario, cycles_a_read, request):
    """Memory takes a read of the walker every so many cycles; walks of the other slot take all tickets."""
    program = request.getfixturevalue(lanes)
    alone, in_turn, first, last, invalidation = (int(word) for word in run_cpp(program, scenario, 1))
    bound = READS_BEFORE * cycles_a_read
    assert first - alone <= bound, (alone, in_turn, first)
    # In one lane, and without levels, it waits for longer: the traffic can tell.
    assert lanes == "two_lanes" or in_turn - alone > bound, (alone, in_turn, first)
    # A low level beside a high one has its turns, and what is taken from it ends.
    turns = 16 * cycles_a_read + bound
    assert last - alone <= turns + bound and invalidation <= 2 * alone, (alone, last, invalidation)


def test_each_set_of_a_walk_waits_for_few_reads_of_others(bench):
    """Three sets a walk: pages of three sizes in one region."""
    alone, in_turn, first = (int(word) for word in run_cpp(bench, "high_beside_further", 1))
    bound = 3 * READS_BEFORE * 8
    assert first - alone <= bound < in_turn - alone, (alone, in_turn, first)


def test_a_mark_of_a_high_level_waits_for_those_that_have_begun(bench):
    """A mark reads and writes a set, 60 cycles each, and takes 12 more."""
    alone, in_turn, first = (int(word) for word in run_cpp(bench, "high_beside_marks", 1))
    bound = -(-MARKS_BEFORE // MARKS_AT_ONCE) * (2 * 60 + 12)
    assert first - alone <= bound < in_turn - alone, (alone, in_turn, first)
