// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The burst decoder with the fields of its structs apart.

module decode_bench_top
  import tmb_pkg::*;
  import tmb_translate_pkg::*;
  import tmb_guard_pkg::*;
(
  input  logic [63:0] addr_i,
  input  logic [7:0]  len_i,
  input  logic [2:0]  size_i,
  input  logic [1:0]  burst_i,
  output logic [63:0] addr_o,     // where the burst begins
  output logic [7:0]  rows_o,     // rows - 1
  output logic        refused_o,
  output logic [3:0]  rule_o
);

  axi_ax_t ax;
  burst_t burst;
  rule_e rule;

  always_comb begin
    ax = '0;
    ax.addr = addr_i;
    ax.len = len_i;
    ax.size = size_i;
    ax.burst = burst_i;
  end

  tmb_burst_decode u_decode (
    .ax_i   (ax),
    .burst_o(burst),
    .rule_o (rule)
  );

  assign addr_o = 64'(burst.addr);
  assign rows_o = 8'(burst.len);
  assign refused_o = burst.refused;
  assign rule_o = rule;

endmodule
