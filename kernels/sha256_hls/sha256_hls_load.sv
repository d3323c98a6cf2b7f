// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Reads an array as the m_axi adapter of an HLS tool does with its default settings: bursts of up to BurstRows rows that do not cross
// a 4 KiB boundary, up to Bursts outstanding, and a buffer for all their rows, of which a request reserves its part.
//
// BurstRows   rows of a burst: max_read_burst_length
// Bursts      outstanding bursts: num_read_outstanding
//
// Throughput: a row a cycle, if memory answers within BurstRows * Bursts cycles. Latency: a cycle from start_i to the first
// request, two from the memory's row to row_o. Ordering: rows as requested. Back-pressure: requests stop when the buffer is
// reserved, so the memory's rows are always taken. No deadlock: a request waits for room alone, which rows that are taken free.

module sha256_hls_load #(
  parameter int unsigned BurstRows = 16,
  parameter int unsigned Bursts = 16
) (
  input  logic         clk_i,
  input  logic         rst_ni,

  // A pulse; first row (address / 64) and number of rows are taken with it.
  input  logic         start_i,
  input  logic [57:0]  base_i,
  input  logic [57:0]  rows_i,

  output logic         row_valid_o,
  input  logic         row_ready_i,
  output logic [511:0] row_o,

  output logic         arvalid_o,
  input  logic         arready_i,
  output logic [63:0]  araddr_o,
  output logic [7:0]   arlen_o,
  input  logic         rvalid_i,
  output logic         rready_o,
  input  logic [511:0] rdata_i,
  input  logic         rlast_i
);

  localparam int unsigned Depth = BurstRows * Bursts;
  localparam int unsigned IndexWidth = $clog2(Depth);

  typedef logic [6:0] burst_t;
  typedef logic [IndexWidth:0] count_t;

  if (BurstRows > 64 || (Depth & (Depth - 1)) != 0) begin : gen_illegal
    $error("BurstRows is at most 64, and its product with Bursts a power of two");
  end

  // -- Requests -----------------------------------------------------------------------------------

  logic [57:0] next_q, left_q;
  count_t room_q;                        // rows of the buffer that no request has reserved
  logic [$clog2(Bursts+1)-1:0] open_q;   // outstanding bursts
  logic arvalid_q, ask, burst_ends, row_read;
  logic [57:0] araddr_q;
  burst_t arlen_q, to_boundary, burst;

  assign to_boundary = 7'd64 - 7'(next_q[5:0]);
  always_comb begin
    burst = to_boundary < burst_t'(BurstRows) ? to_boundary : burst_t'(BurstRows);
    if (left_q < 58'(burst)) burst = burst_t'(left_q);
  end
  assign ask = left_q != '0 && (!arvalid_q || arready_i) && room_q >= count_t'(BurstRows) &&
               32'(open_q) != Bursts;
  assign burst_ends = rvalid_i && rlast_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      left_q <= '0;
      arvalid_q <= 1'b0;
      room_q <= count_t'(Depth);
      open_q <= '0;
    end else begin
      if (start_i) left_q <= rows_i;
      else if (ask) left_q <= left_q - 58'(burst);
      if (ask) arvalid_q <= 1'b1;
      else if (arready_i) arvalid_q <= 1'b0;
      room_q <= room_q + count_t'(row_read) - (ask ? count_t'(burst) : '0);
      if (ask != burst_ends) open_q <= ask ? open_q + 1'b1 : open_q - 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      next_q <= base_i;
    end else if (ask) begin
      next_q <= next_q + 58'(burst);
      araddr_q <= next_q;
      arlen_q <= burst - 7'd1;
    end
  end

  assign arvalid_o = arvalid_q;
  assign araddr_o = {araddr_q, 6'b0};
  assign arlen_o = {1'b0, arlen_q};

  // -- The buffer: block RAM, so a row is read a cycle before it is offered ---------------------------

  logic [511:0] buffer_q [Depth];
  logic [511:0] row_q;
  count_t tail_q, head_q;
  logic row_valid_q;

  assign rready_o = 1'b1;
  assign row_read = tail_q != head_q && (!row_valid_q || row_ready_i);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      tail_q <= '0;
      head_q <= '0;
      row_valid_q <= 1'b0;
    end else begin
      if (rvalid_i) tail_q <= tail_q + 1'b1;
      if (row_read) head_q <= head_q + 1'b1;
      if (row_read) row_valid_q <= 1'b1;
      else if (row_ready_i) row_valid_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (rvalid_i) buffer_q[tail_q[IndexWidth-1:0]] <= rdata_i;
    if (row_read) row_q <= buffer_q[head_q[IndexWidth-1:0]];
  end

  assign row_valid_o = row_valid_q;
  assign row_o = row_q;

endmodule
