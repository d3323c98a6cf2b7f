# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Prints the figures of the stream switch, for `make bench ONLY=vio`: packets lost, cycles of a change,
packets, and beats a cycle from port to port."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "shell" / "tests"))

from verilator_bench import ROOT, build_cpp, run_cpp  # noqa: E402

SOURCES = [ROOT / "rtl" / "lib" / "tmb_pkg.sv", ROOT / "rtl" / "lib" / "tmb_spill_register.sv",
           ROOT / "rtl" / "stream" / "tmb_stream_pkg.sv",
           ROOT / "rtl" / "stream" / "tmb_stream_switch.sv", HERE / "switch_bench_top.sv"]


def build(id_width=0):
    """The bench's program; with `id_width` bits of TID and TDEST."""
    name = f"stream_switch{id_width or ''}"
    return build_cpp(name, "switch_bench_top", SOURCES, HERE / "switch_bench.cpp",
                     {"IdWidth": id_width} if id_width else None, {"ID_WIDTH": id_width} if id_width else None)


def main():
    """Prints lost packets, cycles, packets, rate."""
    switch = build()
    lost, cycles, packets = run_cpp(switch, "random", 1, 10_000)
    resets_lost, _, more = run_cpp(switch, "resets", 2, 10_000)
    to_port = run_cpp(switch, "rate", 1, 0)[0]
    print(int(lost) + int(resets_lost), cycles, int(packets) + int(more), to_port)


if __name__ == "__main__":
    main()
