# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""tools/fmax sees the long path: designs whose order is known beforehand."""

import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent

# A chain of `Levels` LUTs between registers, with more inputs than the device has pins at 60.
CHAIN = """
module chain #(parameter int unsigned Levels = 1) (
  input logic clk_i, input logic rst_ni, input logic [9:0] d_i [Levels], output logic q_o
);
  logic [Levels:0] step;
  assign step[0] = q_o;
  for (genvar i = 0; i < Levels; i++) begin : gen_level
    assign step[i+1] = step[i] ? (d_i[i][0] ^ d_i[i][1]) : (d_i[i][2] & d_i[i][3]);
  end
  always_ff @(posedge clk_i) q_o <= rst_ni && step[Levels];
endmodule
"""


def fmax(levels, *options):
    """The tool's output for the chain, measured anew."""
    folder = ROOT / "build/test-fmax"
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / f"chain{levels}.sv"
    source.write_text(CHAIN)
    command = [ROOT / "tools/fmax", "--fresh", "--top", "chain", "-G", f"Levels={levels}", *options,
               str(source.relative_to(ROOT))]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ), check=False)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr


def test_a_long_chain_is_slow():
    long, short = fmax(60), fmax(2)
    assert 1.5 * long["fmax_mhz"] < short["fmax_mhz"]
    assert "block" in long["longest_path"]["to"]
    # 60 levels of at least 0.2 ns each; the reported path is the one that limits the clock.
    assert long["longest_path"]["ns"] > 12
    assert abs(1e3 / long["fmax_mhz"] - long["longest_path"]["ns"]) < 0.5
    # The harness: a flip-flop for every used input, 240 and a few; pins for four signals and a clock.
    assert 240 <= long["cells"]["TRELLIS_FF"] <= 620
    assert long["cells"]["TRELLIS_IO"] == 5


def test_a_block_without_the_clock_is_refused():
    assert "has no clock_i" in fmax(2, "--clock", "clock_i")
