// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: compresses each packet into a packet that is a gzip file (RFC 1952): one member, one block of Deflate
// (RFC 1951) with the fixed Huffman codes. Matches of 4 to 258 bytes, up to 32,768 bytes back: of each position the
// last one before it with the same hash of 4 bytes is tried, the longest match is taken as it comes (greedy).
//
// Throughput: a byte a cycle inside of matches; 2 cycles for a byte without a candidate, 3 more cycles for each
// candidate. Latency: the first word leaves with the header. Ordering: packets in order. Back-pressure: bytes wait when
// they are 508 ahead, or while the last packet is being closed. No deadlock: it waits for its neighbours only.
// It has no registers; it runs when there are data. After a reset, and each 255 packets, the table is cleared, which
// takes 8,192 cycles; in between an entry knows its packet, so what comes out depends on the packet alone.
//
// Blocks: gzip_front (bytes into the window, candidates), gzip_matcher (matches), gzip_code (their codes), gzip_packer
// (bits into words).

`include "tmb_ports.svh"

module gzip (
  input  logic         ap_clk,
  input  logic         ap_rst_n,

  `TMB_STREAM_IN_PORTS(in, 1),
  `TMB_STREAM_OUT_PORTS(out, 4)
);

  logic byte_valid, byte_ready, ended, closed;
  logic [31:0] bytes, place, candidates, crc;
  logic [15:0] near_address, far_address;
  logic [7:0] near, far;
  logic candidate_valid;
  logic [15:0] candidate;
  logic [8:0] length;
  logic [15:0] distance;
  logic [7:0] literal;
  logic is_match, is_end, symbol_valid, symbol_ready;
  logic code_valid, code_ready, flush, flush_done;
  logic [31:0] code;
  logic [5:0] code_bits;
  logic [2:0] bits_to_byte;

  assign byte_valid = in_tvalid;
  assign in_tready = byte_ready;

  gzip_front u_front (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .valid_i(byte_valid),
    .ready_o(byte_ready),
    .byte_i(in_tdata),
    .kept_i(in_tkeep),
    .last_i(in_tlast),
    .place_i(place),
    .closed_i(closed),
    .ended_o(ended),
    .bytes_o(bytes),
    .candidates_o(candidates),
    .crc_o(crc),
    .near_address_i(near_address),
    .near_o(near),
    .far_address_i(far_address),
    .far_o(far),
    .candidate_valid_o(candidate_valid),
    .candidate_o(candidate)
  );

  gzip_matcher u_matcher (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .ended_i(ended),
    .bytes_i(bytes),
    .candidates_i(candidates),
    .closed_i(closed),
    .place_o(place),
    .near_address_o(near_address),
    .near_i(near),
    .far_address_o(far_address),
    .far_i(far),
    .candidate_valid_i(candidate_valid),
    .candidate_i(candidate),
    .valid_o(symbol_valid),
    .ready_i(symbol_ready),
    .is_match_o(is_match),
    .is_end_o(is_end),
    .literal_o(literal),
    .length_o(length),
    .distance_o(distance)
  );

  gzip_code u_code (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .valid_i(symbol_valid),
    .ready_o(symbol_ready),
    .is_match_i(is_match),
    .is_end_i(is_end),
    .literal_i(literal),
    .length_i(length),
    .distance_i(distance),
    .crc_i(crc),
    .bytes_i(bytes),
    .bits_to_byte_i(bits_to_byte),
    .valid_o(code_valid),
    .ready_i(code_ready),
    .code_o(code),
    .bits_o(code_bits),
    .flush_o(flush),
    .flush_done_i(flush_done)
  );
  assign closed = flush_done;

  gzip_packer u_packer (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .valid_i(code_valid),
    .ready_o(code_ready),
    .code_i(code),
    .bits_i(code_bits),
    .bits_to_byte_o(bits_to_byte),
    .flush_i(flush),
    .flush_done_o(flush_done),
    .out_valid_o(out_tvalid),
    .out_ready_i(out_tready),
    .out_data_o(out_tdata),
    .out_keep_o(out_tkeep),
    .out_last_o(out_tlast)
  );

endmodule
