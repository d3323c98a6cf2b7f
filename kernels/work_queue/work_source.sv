// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Where the items of work_queue come from: numbers 0 to items_i - 1, each with a value that is a hash of its number.
// Put your own source here: it offers items with valid_o, and ended_o: there are no more.
//
// Throughput: an item every two cycles, or every pace_i of them. Latency: one cycle. Ordering: as numbered.

module work_source (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        start_i,  // a run begins
  input  logic [31:0] items_i,  // of the run
  input  logic [31:0] pace_i,   // cycles from an item that is taken to the next

  output logic        valid_o,
  input  logic        ready_i,
  output logic [63:0] number_o,
  output logic [63:0] value_o,
  output logic        ended_o   // nothing is offered, nothing comes
);

  localparam logic [63:0] Golden = 64'h9e37_79b9_7f4a_7c15;

  logic valid_q;
  logic [31:0] left_q, pause_q;
  logic [63:0] number_q, value_q;

  assign valid_o = valid_q;
  assign number_o = number_q;
  assign value_o = value_q ^ value_q >> 29;
  assign ended_o = left_q == '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      left_q <= '0;
      pause_q <= '0;
      number_q <= '0;
      value_q <= Golden;
    end else if (start_i) begin
      valid_q <= 1'b0;
      left_q <= items_i;
      pause_q <= pace_i;
      number_q <= '0;
      value_q <= Golden;
    end else if (valid_q && ready_i) begin
      valid_q <= 1'b0;
      left_q <= left_q - 1'b1;
      pause_q <= pace_i;
      number_q <= number_q + 64'd1;
      value_q <= value_q + Golden;
    end else if (!valid_q) begin
      valid_q <= left_q != '0 && pause_q <= 32'd1;
      if (pause_q != '0) pause_q <= pause_q - 1'b1;
    end
  end

endmodule
