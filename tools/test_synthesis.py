# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""tools/synthesis counts right: designs whose figures are known beforehand."""

import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent

# A multiplexer of four fits one LUT: two levels between the registers, seven LUTs.
# 1024 x 36 bits fit a block RAM; 64 x 6 bits one RAM64M8, which is eight LUTs and a level.
KNOWN = """
module choose (input logic [35:0] d_i, output logic [5:0] q_o);
  for (genvar i = 0; i < 6; i++) begin : gen_bit
    assign q_o[i] = d_i[6*i+d_i[6*i+4+:2]];
  end
endmodule
module known (input logic clk_i, input logic en_i, input logic we_i, input logic [9:0] a_i,
              input logic [9:0] b_i, input logic [35:0] d_i, output logic q_o,
              output logic latch_o, output logic [35:0] block_o, output logic [5:0] small_o);
  logic [35:0] d_q;
  logic [5:0] middle;
  choose u_choose (.d_i(d_q), .q_o(middle));
  always_ff @(posedge clk_i) d_q <= d_i;
  always_ff @(posedge clk_i) q_o <= middle[middle[5:4]];

  always_latch if (en_i) latch_o = d_i[0];

  logic [35:0] block_q [1024];
  logic [5:0] small_q [64];
  always_ff @(posedge clk_i) begin
    if (we_i) block_q[a_i] <= d_i;
    block_o <= block_q[b_i];
  end
  always_ff @(posedge clk_i) if (we_i) small_q[a_i[5:0]] <= d_i[5:0];
  assign small_o = small_q[b_i[5:0]];
endmodule
"""
LOOP = """
module ring (input logic d_i, output logic q_o);
  logic a, b;
  assign a = b ^ d_i;
  assign b = !a;
  assign q_o = a;
endmodule
"""


def synthesis(text, top, *options):
    """The tool's output for a text, measured anew."""
    folder = ROOT / "build/test-synthesis"
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / f"{top}.sv"
    source.write_text(text)
    command = [ROOT / "tools/synthesis", "--fresh", "--top", top, *options,
               str(source.relative_to(ROOT))]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ), check=False)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr


def test_known_design():
    result = synthesis(KNOWN, "known", "--once", "choose")
    assert result["lut_logic"] == 7
    assert result["lut_memory"] == 8
    assert result["ff"] == 37
    assert result["bram36"] == 1
    assert result["latches"] == 1
    assert result["longest_path"]["levels"] == 2
    assert result["warnings"] == []


def test_loops_are_refused():
    assert "combinational loop" in synthesis(LOOP, "ring")


def test_mapped_by_delay():
    result = synthesis(KNOWN, "known", "--wire", "1000")
    assert (result["ff"], result["bram36"], result["wire"]) == (37, 1, 1000)
    assert result["longest_path"]["levels"] == 2
