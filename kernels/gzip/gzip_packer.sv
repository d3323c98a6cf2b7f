// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Bits become words of 32 bits, the first bit low; at the end what is left, with TLAST, which may be no byte at all.
//
// Throughput: 32 bits in two cycles. Back-pressure: codes wait while a word does. No deadlock: it waits for its
// neighbour only.

module gzip_packer (
  input  logic        clk_i,
  input  logic        rst_ni,

  // Up to 32 bits; those above bits_i are 0.
  input  logic        valid_i,
  output logic        ready_o,
  input  logic [31:0] code_i,
  input  logic [5:0]  bits_i,
  // Bits that are missing to a whole byte.
  output logic [2:0]  bits_to_byte_o,
  // High until done: what is left leaves, whole bytes by now, and ends the packet.
  input  logic        flush_i,
  output logic        flush_done_o,

  output logic        out_valid_o,
  input  logic        out_ready_i,
  output logic [31:0] out_data_o,
  output logic [3:0]  out_keep_o,
  output logic        out_last_o
);

  logic [63:0] bits_q;
  logic [5:0] fill_q;
  logic word, take, give;

  assign word = fill_q[5];
  assign ready_o = !word;
  assign take = valid_i && ready_o;
  assign out_valid_o = word || flush_i;
  assign out_last_o = !word;
  assign out_data_o = bits_q[31:0];
  always_comb begin
    for (int unsigned i = 0; i < 4; i++) out_keep_o[i] = word || 6'(8*i) < fill_q;
  end
  assign give = out_valid_o && out_ready_i;
  assign flush_done_o = give && out_last_o;
  assign bits_to_byte_o = 3'd0 - fill_q[2:0];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      bits_q <= '0;
      fill_q <= '0;
    end else if (give) begin
      bits_q <= bits_q >> 32;
      fill_q <= word ? fill_q - 6'd32 : '0;
    end else if (take) begin
      bits_q <= bits_q | ({32'd0, code_i} << fill_q);
      fill_q <= fill_q + bits_i;
    end
  end

endmodule
