// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Reads of dnn, through one port: the rows of weights, then the first batch_i rows of each record of 64.
//
// Throughput: one row a cycle, in bursts that end at a 4 KiB boundary. Latency: first request one cycle after start_i,
// and a cycle from the memory's row to row_o. Ordering: all reads have one ID, so rows come in the order of requests.
// Back-pressure: a row that is not taken holds up the rows behind it. No deadlock: requests never wait for rows.

module dnn_fetch #(
  parameter int unsigned WeightRows = 21
) (
  input  logic         clk_i,
  input  logic         rst_ni,

  // A pulse; neither count is 0. The other arguments are stable during a run.
  input  logic         start_i,
  input  logic [57:0]  weights_i,   // address / 64
  input  logic [57:0]  images_i,
  input  logic [31:0]  records_i,
  input  logic [6:0]   batch_i,     // rows of a record, up to 64

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

  logic ask_q;              // there are rows without a request
  logic [57:0] next_q;      // the next row
  logic [6:0] rows_q;       // rows of this record, or of the weights, without a request
  logic [57:0] record_q;    // the next record
  logic [31:0] records_q;   // records after this one
  logic arvalid_q;
  logic [57:0] araddr_q;
  logic [5:0] arlen_q;

  logic ask, part_ends, run_ends;
  logic [6:0] room, burst;

  assign ask = ask_q && (!arvalid_q || arready_i);
  assign room = 7'd64 - 7'(next_q[5:0]);
  assign burst = rows_q < room ? rows_q : room;
  assign part_ends = ask && rows_q == burst;
  assign run_ends = part_ends && records_q == '0;

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
      next_q <= weights_i;
      rows_q <= 7'(WeightRows);
      record_q <= images_i;
      records_q <= records_i;
    end else if (ask) begin
      araddr_q <= next_q;
      arlen_q <= 6'(burst - 7'd1);
      if (part_ends) begin
        next_q <= record_q;
        rows_q <= batch_i;
        record_q <= record_q + 58'd64;
        records_q <= records_q - 32'd1;
      end else begin
        next_q <= next_q + 58'(burst);
        rows_q <= rows_q - burst;
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
