// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// First-in first-out queue. With Depth 2 it is the register slice that cuts every combinational
// path between its two sides.
//
// Width   bits of a word
// Depth   words, a power of two, at least 2
//
// Throughput: a word in and a word out each cycle. Latency: one cycle.
// Back-pressure: in_ready_o depends on the fill level only, never on out_ready_i.

module kernel_fifo #(
  parameter int unsigned Width = 512,
  parameter int unsigned Depth = 2
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             in_valid_i,
  output logic             in_ready_o,
  input  logic [Width-1:0] in_data_i,
  output logic             out_valid_o,
  input  logic             out_ready_i,
  output logic [Width-1:0] out_data_o
);

  localparam int unsigned IndexWidth = $clog2(Depth);

  if (Depth < 2 || (Depth & (Depth - 1)) != 0) begin : gen_illegal
    $error("Depth is a power of two, at least 2");
  end

  logic [Width-1:0] mem_q [Depth];
  // One bit more than an index: equal means empty, equal but for the top bit means full.
  logic [IndexWidth:0] tail_q, head_q;

  logic push, pop;
  assign push = in_valid_i && in_ready_o;
  assign pop = out_valid_o && out_ready_i;

  assign in_ready_o = (tail_q ^ head_q) != {1'b1, {IndexWidth{1'b0}}};
  assign out_valid_o = tail_q != head_q;
  assign out_data_o = mem_q[head_q[IndexWidth-1:0]];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      tail_q <= '0;
      head_q <= '0;
    end else begin
      if (push) tail_q <= tail_q + 1'b1;
      if (pop) head_q <= head_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (push) mem_q[tail_q[IndexWidth-1:0]] <= in_data_i;
  end

endmodule
