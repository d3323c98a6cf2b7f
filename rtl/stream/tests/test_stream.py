# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Streams: is every byte where it belongs, is every packet whole, at full speed at any alignment?"""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "shell" / "tests"), str(HERE)]

import switch_figures  # noqa: E402
from verilator_bench import ROOT, build_cpp, run_cpp, shell_packages  # noqa: E402

LIB = [ROOT / "rtl" / "lib" / f"tmb_{name}.sv" for name in ("pkg", "fifo", "spill_register")]
STREAM = [ROOT / "rtl" / "stream" / f"tmb_stream_{name}.sv"
          for name in ("pkg", "mover_in", "mover_out", "mover")]


@pytest.fixture(scope="module")
def mover():
    return build_cpp("stream_mover", "mover_bench_top",
                     [*LIB, *STREAM, HERE / "mover_bench_top.sv"], HERE / "mover_bench.cpp")


@pytest.mark.parametrize("seed", [1, 2])
def test_packets_of_any_length_at_any_place(mover, seed):
    """The bench fails on a wrong or lost byte, a wrong count, a packet that is split or joined."""
    run_cpp(mover, "random", seed, 600)


def test_a_row_a_cycle_at_any_alignment(mover):
    rates = [float(word) for word in run_cpp(mover, "rate", 1, 0)]
    assert len(rates) == 9 and min(rates) > 0.995, rates


def test_a_transfer_is_stopped(mover):
    run_cpp(mover, "stop", 1, 0)


def test_a_row_that_cannot_be_read_is_told(mover):
    run_cpp(mover, "errors", 1, 0)


def test_a_beat_with_a_hole_is_refused(mover):
    """The bytes before it are written, its own are not."""
    run_cpp(mover, "holes", 1, 0)


def test_lengths_beyond_256_kib(mover):
    run_cpp(mover, "long", 1, 0)


@pytest.fixture(scope="module")
def switch():
    return switch_figures.build()


@pytest.mark.parametrize("seed", [1, 2])
def test_switching_in_mid_traffic_loses_nothing(switch, seed):
    """The bench fails on a beat that is lost, doubled, or in another packet than its own. Bars vio.lost
    and vio.switch_cycles."""
    lost, cycles, packets = map(int, run_cpp(switch, "random", seed, 10_000))
    assert packets >= 10_000
    assert lost == 0
    assert cycles <= 50


def test_a_reset_cuts_one_packet_and_no_other(switch):
    lost, _, _ = map(int, run_cpp(switch, "resets", 3, 10_000))
    assert lost == 0


@pytest.mark.parametrize("id_width,scenario", [(3, "random"), (21, "resets"), (21, "restarts")])
def test_each_beat_keeps_the_id_of_its_packet(id_width, scenario):
    """TID and TDEST from port to port, with the end of a packet that is cut; 0 from a mover."""
    lost, _, _ = map(int, run_cpp(switch_figures.build(id_width), scenario, 5, 5_000))
    assert lost == 0


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_of_the_switch_outlives_a_reset(switch, seed):
    """Of everything, at any moment: behind it no beat, connection or change of before is there."""
    lost, _, _ = map(int, run_cpp(switch, "restarts", seed, 5_000))
    assert lost == 0


def test_a_beat_a_cycle_through_the_switch(switch):
    """Bar slot_to_slot.rows_per_cycle, for the switch alone."""
    rates = [float(word) for word in run_cpp(switch, "rate", 1, 0)]
    assert len(rates) == 4 and min(rates) > 0.99, rates


@pytest.mark.parametrize("narrow,flush", [(1, 0), (3, 0), (4, 0), (48, 0), (64, 0), (100, 0),
                                          (1, 16), (3, 5), (4, 16), (8, 1), (64, 16), (100, 16)])
def test_widths(narrow, flush):
    """64 bytes to a width and back: the same bytes in the same packets, at the narrower side's rate. With a flush, of
    streams without end too, whose bytes leave when the sender pauses."""
    program = build_cpp(f"stream_width{narrow}_{flush}", "width_bench_top",
                        [*(ROOT / "rtl" / "stream" / f"tmb_stream_{name}.sv" for name in ("width_pkg", "width", "gather")),
                         HERE / "width_bench_top.sv"],
                        HERE / "width_bench.cpp", {"NarrowBytes": narrow, "FlushCycles": flush},
                        {"NARROW": narrow, "FLUSH": flush})
    rate = float(run_cpp(program, 1, 300)[0])
    bytes_a_cycle = min(narrow, 64)
    share = rate / bytes_a_cycle
    assert share > (0.99 if 64 % narrow == 0 else 64 / (64 + 2 * bytes_a_cycle)), rate


@pytest.mark.parametrize("narrow,flush", [(3, 0), (4, 16), (64, 0), (100, 5)])
def test_bytes_of_different_ids_share_no_beat(narrow, flush):
    """The same with an ID (TID and TDEST) a beat, which changes in mid-packet: each byte keeps its own."""
    program = build_cpp(f"stream_width_ids{narrow}_{flush}", "width_bench_top",
                        [*(ROOT / "rtl" / "stream" / f"tmb_stream_{name}.sv" for name in ("width_pkg", "width", "gather")),
                         HERE / "width_bench_top.sv"],
                        HERE / "width_bench.cpp", {"NarrowBytes": narrow, "FlushCycles": flush, "IdWidth": 8},
                        {"NARROW": narrow, "FLUSH": flush, "IDS": 1})
    run_cpp(program, 1, 300)


@pytest.mark.parametrize("ports,in_turn", [(3, 1), (4, 0)])
def test_streams_that_share_one(ports, in_turn):
    """Divider and combiner: the bench fails on a packet that is mixed, cut, doubled or out of order."""
    stream = [ROOT / "rtl" / "stream" / f"tmb_stream_{name}.sv" for name in ("turn", "divider", "combiner")]
    program = build_cpp(f"stream_share{ports}", "share_bench_top",
                        [ROOT / "rtl" / "lib" / "tmb_spill_register.sv", *stream, HERE / "share_bench_top.sv"],
                        HERE / "share_bench.cpp", {"NumPorts": ports, "InTurn": in_turn},
                        {"NUM_PORTS": ports, "IN_TURN": in_turn})
    for seed in (1, 2):
        lost, rate, held = map(float, run_cpp(program, seed, 4000))
        assert lost == 0
        assert rate > 0.98, rate
        # One port takes nothing: in its turn everything waits; else only what it was given.
        assert held > 900 if in_turn else held <= 3, held


@pytest.fixture(scope="module")
def port_stream():
    stream = [ROOT / "rtl" / "stream" / f"tmb_{name}.sv" for name in (
        "stream_width_pkg", "stream_width", "port_stream_pkg", "stream_elements", "port_stream_in", "port_stream_out",
        "port_stream_registers")]
    return build_cpp("port_stream", "port_stream_bench_top",
                     [*LIB, *stream, HERE / "port_stream_bench_top.sv"], HERE / "port_stream_bench.cpp")


@pytest.mark.parametrize("seed", [1, 2])
def test_streams_on_a_memory_port(port_stream, seed):
    """FSRF's streaming mode: the bench fails on a byte, packet or answer that is wrong, lost or out of order."""
    run_cpp(port_stream, "random", seed, 300)


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_of_a_memory_port_outlives_a_reset(port_stream, seed):
    """At any moment: behind it everything is as after power-on."""
    run_cpp(port_stream, "resets", seed, 1000)


def test_the_other_end_of_a_stream_on_a_memory_port_closes(port_stream):
    """DECERR once behind the last byte; a packet that is cut has an end."""
    run_cpp(port_stream, "ends")


def test_a_beat_a_cycle_on_a_memory_port(port_stream):
    assert float(run_cpp(port_stream, "rate")[0]) > 0.99


@pytest.fixture(scope="module")
def registers():
    rtl = ROOT / "rtl"
    return build_cpp("stream_registers", "registers_bench_top",
                     [*shell_packages(), rtl / "lib/tmb_round_robin_arbiter.sv", rtl / "shell/tmb_array_access.sv",
                      *(rtl / "stream" / f"tmb_{name}.sv"
                        for name in ("mover_registers", "switch_registers", "stream_completions")),
                      HERE / "registers_bench_top.sv"], HERE / "registers_bench.cpp")


@pytest.mark.parametrize("seed", [1, 2])
def test_what_the_host_writes_and_what_has_ended(registers, seed):
    """Registers of movers and switch, and a record of every transfer that ends, whatever comes at once."""
    run_cpp(registers, seed, 100_000)
