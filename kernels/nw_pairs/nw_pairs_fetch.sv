// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Reads of nw_pairs, through one port: a row of four queries, all rows of targets once per group of its queries, the next
// row of queries, and so on. Passes follow one another without a gap.
//
// Throughput: one row a cycle, in bursts of 64 rows that end at a 4 KiB boundary. Latency: first request one cycle after
// start_i, and a cycle from the memory's row to row_o. Ordering: all reads have one ID, so rows come in the order of requests.
// Back-pressure: a row that is not taken holds up the rows behind it. No deadlock: requests never wait for rows.

module nw_pairs_fetch (
  input  logic         clk_i,
  input  logic         rst_ni,

  // A pulse; neither count is 0. The other arguments are stable during a run.
  input  logic         start_i,
  input  logic [57:0]  queries_i,      // address / 64
  input  logic [57:0]  targets_i,
  input  logic [31:0]  query_count_i,
  input  logic [31:0]  target_count_i,
  input  logic [2:0]   held_i,         // queries of a group: 1, 2 or 4

  output logic         row_valid_o,
  input  logic         row_ready_i,
  output logic [511:0] row_o,

  output logic         arvalid_o,
  input  logic         arready_i,
  output logic [63:0]  araddr_o,
  output logic [7:0]   arlen_o,
  input  logic         rvalid_i,
  output logic         rready_o,
  input  logic [511:0] rdata_i
);

  logic ask_q;             // there are rows without a request
  logic pass_q;            // they are targets
  logic [57:0] query_q;    // the next row of queries
  logic [57:0] target_q;   // the next row of targets
  logic [29:0] rows_q;     // rows of this pass without a request
  logic [31:0] left_q;     // queries whose pass is not requested
  logic [2:0] of_row_q;    // of which in this row
  logic arvalid_q;
  logic [57:0] araddr_q;
  logic [5:0] arlen_q;

  logic ask, pass_ends, row_ends, run_ends;
  logic [6:0] room, burst;
  logic [29:0] target_rows;

  assign target_rows = 30'((33'(target_count_i) + 33'd3) >> 2);
  assign ask = ask_q && (!arvalid_q || arready_i);
  assign room = 7'd64 - 7'(target_q[5:0]);
  assign burst = rows_q < 30'(room) ? 7'(rows_q) : room;
  assign pass_ends = ask && pass_q && rows_q == 30'(burst);
  assign row_ends = pass_ends && of_row_q <= held_i;
  assign run_ends = pass_ends && left_q <= 32'(held_i);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ask_q <= 1'b0;
      arvalid_q <= 1'b0;
    end else begin
      if (start_i) ask_q <= 1'b1;
      else if (run_ends) ask_q <= 1'b0;
      if (ask) arvalid_q <= 1'b1;
      else if (arready_i) arvalid_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      pass_q <= 1'b0;
      query_q <= queries_i;
      left_q <= query_count_i;
      target_q <= targets_i;
      rows_q <= target_rows;
    end else if (ask) begin
      araddr_q <= pass_q ? target_q : query_q;
      arlen_q <= pass_q ? 6'(burst - 7'd1) : 6'd0;
      pass_q <= !row_ends;
      if (!pass_q) begin
        query_q <= query_q + 58'd1;
        of_row_q <= 3'd4;
      end else if (pass_ends) begin
        of_row_q <= of_row_q - held_i;
        left_q <= left_q - 32'(held_i);
        target_q <= targets_i;
        rows_q <= target_rows;
      end else begin
        target_q <= target_q + 58'(burst);
        rows_q <= rows_q - 30'(burst);
      end
    end
  end

  assign arvalid_o = arvalid_q;
  assign araddr_o = {araddr_q, 6'b0};
  assign arlen_o = {2'b0, arlen_q};

  kernel_fifo #(
    .Width(512),
    .Depth(2)
  ) u_slice (
    .clk_i,
    .rst_ni,
    .in_valid_i(rvalid_i),
    .in_ready_o(rready_o),
    .in_data_i(rdata_i),
    .out_valid_o(row_valid_o),
    .out_ready_i(row_ready_i),
    .out_data_o(row_o)
  );

endmodule
