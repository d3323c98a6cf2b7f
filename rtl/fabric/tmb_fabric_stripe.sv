// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Striping of one requester: its bursts become pieces that each lie on one channel.
//
// NumChannels, ChannelBytesLog2   geometry
// RowPieces                       every row is a piece: AmorphOS's memory interface has requests of 64
//                                 bytes only (FSRF section 6.2)
//
// With k = stripe.channels_log2 and g = stripe.granule_log2, bits [ChannelBytesLog2+k-1 : g] of the
// address are rotated right by k, so that the k bits above the granule name the channel. That is a
// bijection within each aligned group of 2^k channels. A burst lies inside 4 KiB, so granules of
// 4 KiB and more never cut it. Below, it is cut at each granule; the requester notices nothing: a
// row's index counts from the start of the burst, and the burst ends once (final_o).
//
// Throughput: one piece a cycle; a burst that is not cut is one piece. Latency: one cycle.
// Ordering: pieces leave in the order of their rows. Answers of a cut burst come in any order; a
// counter for each of MaxCuts bursts finds the last one.
// Back-pressure: a burst waits while the cut burst that last had its number is not complete.
// No deadlock: pieces that have left need only the memory, and complete without those behind them.
//
// Source: FSRF section 4.7 (striping set by the OS); docs/architecture.md, Striping.

`include "tmb_assert.svh"

module tmb_fabric_stripe import tmb_pkg::*; import tmb_fabric_pkg::*; #(
  parameter int unsigned NumChannels = 2,
  parameter int unsigned ChannelBytesLog2 = 34,
  parameter bit RowPieces = 1'b0
) (
  input  logic     clk_i,
  input  logic     rst_ni,

  input  logic     req_valid_i,
  output logic     req_ready_o,
  input  mem_req_t req_i,
  input  stripe_t  stripe_i,  // of this request

  output logic     piece_valid_o,
  input  logic     piece_ready_i,
  output piece_t   piece_o,

  // A piece is complete.
  input  logic     done_valid_i,
  input  cut_t     done_cut_i,
  input  logic     done_error_i,
  output logic     final_o,      // nothing of its burst is outstanding after it
  output logic     error_o       // it failed, or an earlier piece of its burst did
);

  localparam int unsigned MaxChannelsLog2 = $clog2(NumChannels);
  localparam int unsigned CountWidth = BurstLenWidth + 1;

  typedef logic [CountWidth-1:0] count_t;

  // ---------------------------------------------------------------------------------------------
  // Cut: rows of the burst, from index_q to the end of the granule
  // ---------------------------------------------------------------------------------------------

  burst_len_t index_q, row, last_row, in_granule, to_end, left, len;
  logic first, last;

  // Rows of a granule minus one, where a granule is smaller than 4 KiB. Bit by bit: few levels.
  for (genvar b = 0; b < BurstLenWidth; b++) begin : gen_in_granule
    assign in_granule[b] = !RowPieces && (stripe_i.channels_log2 == '0
        || stripe_i.granule_log2 > 5'(RowOffsetWidth + b));
  end

  assign row = req_i.addr[MinPageBits-1:RowOffsetWidth] + index_q;
  assign last_row = req_i.addr[MinPageBits-1:RowOffsetWidth] + req_i.len;
  assign to_end = ~row & in_granule;
  assign left = req_i.len - index_q;
  assign first = index_q == '0;
  // The burst ends in the granule of this row.
  assign last = ((row ^ last_row) & ~in_granule) == '0;
  assign len = last ? left : to_end;

  // ---------------------------------------------------------------------------------------------
  // Rotation
  // ---------------------------------------------------------------------------------------------

  // Masks: below the granule; the offset in a channel; the channel's bits that the stripe sets.
  localparam card_addr_t OffsetMask = card_addr_t'((64'd1 << ChannelBytesLog2) - 64'd1);

  card_addr_t addr, below, offset_bits, channel_bits, channel, rotated;

  assign addr = {req_i.addr[CardAddrWidth-1:MinPageBits], row, req_i.addr[RowOffsetWidth-1:0]};
  assign below = ~('1 << stripe_i.granule_log2);
  assign offset_bits = OffsetMask & ~below;
  assign channel_bits = ~('1 << stripe_i.channels_log2) << ChannelBytesLog2;
  assign channel = (addr >> stripe_i.granule_log2) << ChannelBytesLog2;

  // Not striped: the shift is none, and no bit is the channel's.
  assign rotated = (addr & ~offset_bits & ~channel_bits) |
      ((addr >> stripe_i.channels_log2) & offset_bits) | (channel & channel_bits);

  // ---------------------------------------------------------------------------------------------
  // Numbers of cut bursts
  // ---------------------------------------------------------------------------------------------

  cut_id_t number_q;
  logic [MaxCuts-1:0] open_q, closed_q;  // pieces are outstanding or to come; the last has left
  logic [MaxCuts-1:0] failed_q;          // a piece that is complete did
  count_t outstanding_q [MaxCuts];

  logic is_cut, may_leave, leave, ready, cut_leaves, ends;
  assign is_cut = !(first && last);
  assign may_leave = !is_cut || !first || !open_q[number_q];
  assign leave = req_valid_i && may_leave && ready;
  assign cut_leaves = leave && is_cut;
  assign req_ready_o = ready && may_leave && last;

  assign final_o = !done_cut_i.valid ||
      (closed_q[done_cut_i.id] && outstanding_q[done_cut_i.id] == count_t'(1));
  assign ends = done_valid_i && done_cut_i.valid;
  assign error_o = done_error_i || (done_cut_i.valid && failed_q[done_cut_i.id]);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      index_q <= '0;
      number_q <= '0;
      open_q <= '0;
      closed_q <= '0;
      failed_q <= '0;
    end else begin
      if (ends) failed_q[done_cut_i.id] <= !final_o && error_o;
      if (ends && final_o) begin
        open_q[done_cut_i.id] <= 1'b0;
        closed_q[done_cut_i.id] <= 1'b0;
      end
      if (cut_leaves) begin
        index_q <= last ? '0 : burst_len_t'(index_q + to_end + 1'b1);
        if (first) open_q[number_q] <= 1'b1;
        if (last) begin
          closed_q[number_q] <= 1'b1;
          number_q <= cut_id_t'(number_q + 1'b1);
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (cut_leaves && first) begin
      outstanding_q[number_q] <= count_t'(1);
    end else if (cut_leaves && !(ends && done_cut_i.id == number_q)) begin
      outstanding_q[number_q] <= outstanding_q[number_q] + count_t'(1);
    end
    if (ends && !(cut_leaves && done_cut_i.id == number_q)) begin
      outstanding_q[done_cut_i.id] <= outstanding_q[done_cut_i.id] - count_t'(1);
    end
  end

  tmb_spill_register #(
    .T(piece_t)
  ) u_piece (
    .clk_i,
    .rst_ni,
    .in_valid_i(req_valid_i && may_leave),
    .in_ready_o(ready),
    .in_data_i('{
        addr: rotated,
        len: len,
        tag: req_i.tag,
        index: index_q,
        cut: '{valid: is_cut, id: number_q}
    }),
    .out_valid_o(piece_valid_o),
    .out_ready_i(piece_ready_i),
    .out_data_o(piece_o)
  );

  `TMB_ASSERT_INIT(ChannelsFitStripe, MaxChannelsLog2 <= 5)
  `TMB_ASSERT(StripeIsLegal, !req_valid_i || stripe_i.channels_log2 == '0 ||
      (32'(stripe_i.channels_log2) <= MaxChannelsLog2 &&
       32'(stripe_i.granule_log2) >= MinGranuleLog2 &&
       32'(stripe_i.granule_log2) <= ChannelBytesLog2))
  `TMB_ASSERT(BurstStaysInBlock, !req_valid_i || row >= req_i.addr[MinPageBits-1:RowOffsetWidth])
  `TMB_ASSERT(OnlyOpenBurstsEnd, !ends || open_q[done_cut_i.id])
  `TMB_ASSERT(OnlyOutstandingPiecesEnd, !ends || outstanding_q[done_cut_i.id] != '0)

endmodule
