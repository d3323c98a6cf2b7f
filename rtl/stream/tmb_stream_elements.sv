// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Beats of 64 bytes, taken apart into elements of 2^size_i bytes: as tmb_stream_width, but the width is chosen while
// it runs.
//
// Beats that come may be partly filled, from the first byte on; elements are full, but for the last of a packet, and
// their bytes beyond out_keep_o are zero. A packet that ends with an empty beat ends with an empty element, unless
// bytes are left to carry the end. flush_i: no more comes, and the rest ends a packet. size_i may change at any time: bytes that are here leave at the new width.
//
// Throughput: an element a cycle. Latency: one cycle. Ordering: in order. Back-pressure: in_ready_o depends on the
// fill only; out_last_o may rise while an element waits, so it needs a register behind it.
// No deadlock: waits for its neighbours only.

`include "tmb_assert.svh"

module tmb_stream_elements (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic [2:0]   size_i,  // at most 6
  input  logic         flush_i,
  input  logic         in_valid_i,
  output logic         in_ready_o,
  input  logic [511:0] in_data_i,
  input  logic [63:0]  in_keep_i,
  input  logic         in_last_i,
  output logic         out_valid_o,
  input  logic         out_ready_i,
  output logic [511:0] out_data_o,
  output logic [63:0]  out_keep_o,
  output logic         out_last_o,
  output logic         empty_o
);

  typedef logic [7:0] count_t;

  logic [1023:0] bytes_q, rest;
  count_t fill_q, kept, wanted, sent, left;
  logic last_q, take, give, full;

  always_comb begin
    kept = '0;
    for (int unsigned i = 0; i < 64; i++) if (in_keep_i[i]) kept = count_t'(i + 1);
  end

  assign wanted = count_t'(1) << size_i;
  assign full = fill_q >= wanted;
  assign in_ready_o = !last_q && fill_q <= count_t'(64);
  assign out_valid_o = full || last_q;
  assign out_last_o = last_q && fill_q <= wanted;
  assign empty_o = fill_q == '0 && !last_q;
  assign take = in_valid_i && in_ready_o;
  assign give = out_valid_o && out_ready_i;

  assign sent = !give ? '0 : (full ? wanted : fill_q);
  assign left = fill_q - sent;
  assign rest = give ? bytes_q >> {wanted, 3'b000} : bytes_q;

  for (genvar i = 0; i < 64; i++) begin : gen_byte
    assign out_keep_o[i] = count_t'(i) < wanted && count_t'(i) < fill_q;
    assign out_data_o[8*i+:8] = out_keep_o[i] ? bytes_q[8*i+:8] : 8'h00;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      fill_q <= '0;
      last_q <= 1'b0;
    end else begin
      fill_q <= left + (take ? kept : '0);
      if (take) last_q <= in_last_i;
      else if (give && out_last_o) last_q <= 1'b0;
      else if (flush_i && left != '0) last_q <= 1'b1;
    end
  end

  logic [511:0] fresh;
  for (genvar i = 0; i < 64; i++) begin : gen_fresh
    assign fresh[8*i+:8] = count_t'(i) < kept ? in_data_i[8*i+:8] : 8'h00;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) bytes_q <= '0;
    else if (take || give) bytes_q <= rest | (take ? 1024'(fresh) << {left, 3'b000} : '0);
  end

  `TMB_ASSERT(SizeFits, size_i <= 3'd6)
  `TMB_ASSERT(FillFits, fill_q <= count_t'(128))

endmodule
