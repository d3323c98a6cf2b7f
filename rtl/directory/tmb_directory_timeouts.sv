// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Finds requests and operations that take too long.
//
// One bit an item marks it as under way, a second that it already was at the last look. A look
// happens every period_i cycles while something is under way: an item that is seen twice has taken
// one to two periods. It is reported then, and again every period. The counter stands still while
// nothing is under way.
//
// Latency: starts and ends count from the next cycle on; a report comes one cycle after the look, one
// item a cycle. No back-pressure.

module tmb_directory_timeouts #(
  parameter int unsigned NumItems = 32,
  localparam int unsigned IndexWidth = $clog2(NumItems)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic [31:0]           period_i,       // 0: off
  input  logic                  start_i,
  input  logic [IndexWidth-1:0] start_index_i,
  input  logic                  end_i,
  input  logic [IndexWidth-1:0] end_index_i,
  output logic                  busy_o,
  output logic                  late_valid_o,   // one cycle
  output logic [IndexWidth-1:0] late_index_o
);

  typedef logic [NumItems-1:0] items_t;
  items_t under_way_q, seen_q, late_q, started, ended, chosen;
  logic [31:0] count_q;
  logic look;

  // Starts and ends come late in their cycle.
  logic start_q, end_q;
  logic [IndexWidth-1:0] start_index_q, end_index_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      start_q <= 1'b0;
      end_q <= 1'b0;
    end else begin
      start_q <= start_i;
      end_q <= end_i;
    end
  end
  always_ff @(posedge clk_i) begin
    if (start_i) start_index_q <= start_index_i;
    if (end_i) end_index_q <= end_index_i;
  end

  assign started = start_q ? items_t'(1) << start_index_q : '0;
  assign ended = end_q ? items_t'(1) << end_index_q : '0;
  assign busy_o = under_way_q != '0 || start_q;
  assign look = count_q == 32'd1;
  assign chosen = late_q & (~late_q + items_t'(1));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      under_way_q <= '0;
      seen_q <= '0;
      late_q <= '0;
      count_q <= '0;
    end else begin
      under_way_q <= (under_way_q | started) & ~ended;
      if (look) seen_q <= under_way_q & ~ended;
      else seen_q <= seen_q & ~ended;
      if (look) late_q <= under_way_q & seen_q & ~ended;
      else late_q <= late_q & ~chosen;
      if (period_i == '0) count_q <= '0;
      else if (count_q != '0) count_q <= count_q - 1'b1;
      else if (busy_o) count_q <= period_i;
    end
  end

  logic [IndexWidth-1:0] chosen_index;
  always_comb begin
    chosen_index = '0;
    for (int unsigned i = 0; i < NumItems; i++) begin
      if (chosen[i]) chosen_index |= IndexWidth'(i);
    end
  end

  logic late_valid_q;
  logic [IndexWidth-1:0] late_index_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) late_valid_q <= 1'b0;
    else late_valid_q <= late_q != '0;
  end
  always_ff @(posedge clk_i) begin
    if (late_q != '0) late_index_q <= chosen_index;
  end
  assign late_valid_o = late_valid_q;
  assign late_index_o = late_index_q;

endmodule
