// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Rows on their way between host and card: a ring in block RAM, emptied burst by burst.
//
// Depth   rows, a power of two
//
// The owner reserves rows when it asks for a burst (it gets the place of the first one) and writes
// them, in any order, as they come. When a burst is there as a whole it releases the burst, in the
// order of reservation; the rows then leave one after the other, the last of a burst marked.
//
// Throughput: one row in and one out a cycle, without a bubble between bursts that have been
// released. Latency: release to first row 2 cycles. Back-pressure: room_o is what may still be
// reserved; a row's place is free again when the row has been read.
// No deadlock: a released burst needs only its receiver.

`include "tmb_assert.svh"

module tmb_dma_row_buffer import tmb_pkg::*; #(
  parameter int unsigned Depth = 512,
  localparam int unsigned IndexWidth = $clog2(Depth)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  // Reservation of a burst's rows.
  output logic [IndexWidth:0]   room_o,
  output logic [IndexWidth-1:0] reserve_index_o,  // place of the first row
  input  logic                  reserve_valid_i,
  input  burst_len_t            reserve_len_i,

  input  logic                  write_valid_i,
  input  logic [IndexWidth-1:0] write_index_i,
  input  row_t                  write_row_i,

  input  logic                  release_valid_i,
  output logic                  release_ready_o,
  input  burst_len_t            release_len_i,

  output logic                  row_valid_o,
  input  logic                  row_ready_i,
  output row_t                  row_o,
  output logic                  row_last_o
);

  // Bursts released ahead of the one that leaves.
  localparam int unsigned ReleaseDepth = 4;

  logic [IndexWidth:0] room_q;
  logic [IndexWidth-1:0] reserve_q, read_q;
  burst_len_t sent_q;
  logic burst_valid, read, read_last, row_valid_q, row_last_q;
  burst_len_t burst_len;

  tmb_fifo #(
    .T(burst_len_t),
    .Depth(ReleaseDepth)
  ) u_released (
    .clk_i,
    .rst_ni,
    .in_valid_i(release_valid_i),
    .in_ready_o(release_ready_o),
    .in_data_i(release_len_i),
    .out_valid_o(burst_valid),
    .out_ready_i(read && read_last),
    .out_data_o(burst_len)
  );

  assign read = burst_valid && (!row_valid_q || row_ready_i);
  assign read_last = sent_q == burst_len;

  logic [IndexWidth:0] reserved, freed;
  assign reserved = reserve_valid_i ? (IndexWidth + 1)'(reserve_len_i) + 1'b1 : '0;
  assign freed = (IndexWidth + 1)'(read);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      room_q <= (IndexWidth + 1)'(Depth);
      reserve_q <= '0;
      read_q <= '0;
      sent_q <= '0;
      row_valid_q <= 1'b0;
      row_last_q <= 1'b0;
    end else begin
      if (reserve_valid_i || read) room_q <= room_q - reserved + freed;
      if (reserve_valid_i) reserve_q <= reserve_q + IndexWidth'(reserved);
      if (read) begin
        read_q <= IndexWidth'(read_q + 1'b1);
        sent_q <= read_last ? '0 : burst_len_t'(sent_q + 1'b1);
        row_last_q <= read_last;
      end
      if (!row_valid_q || row_ready_i) row_valid_q <= read;
    end
  end

  tmb_ram_1r1w #(
    .Width(RowBits),
    .Depth(Depth)
  ) u_ram (
    .clk_i,
    .write_enable_i(write_valid_i),
    .write_addr_i(write_index_i),
    .write_strobe_i(1'b1),
    .write_data_i(write_row_i),
    .read_enable_i(read),
    .read_addr_i(read_q),
    .read_data_o(row_o)
  );

  assign room_o = room_q;
  assign reserve_index_o = reserve_q;
  assign row_valid_o = row_valid_q;
  assign row_last_o = row_last_q;

  `TMB_ASSERT_INIT(DepthIsPowerOfTwo, Depth == (1 << IndexWidth))
  `TMB_ASSERT(ReservesOnlyRoom, reserved <= room_q)

endmodule
