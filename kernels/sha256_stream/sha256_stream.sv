// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: SHA-256 (FIPS 180-4) of one packet, in `lanes` lanes: beat i, 64 bytes, belongs to lane i mod lanes, and
// the beats of a lane are one message. The digests go to port `out` as one packet, 32 bytes each, lane 0 first. With
// one lane that is `sha256sum`. Lanes and rounds are those of kernels/sha256.
//
// The packet may have any length, none too, and `lanes` is 1 to 128 (0 is taken as 1, more as 128). Throughput:
// 64 bytes a cycle with 67 lanes and more; with fewer, as many 67ths of that. Ordering: one packet in, one out.
// Back-pressure: beats wait while no lane is free. No deadlock: it waits for its neighbours only. Between runs no
// beat is taken. Register map: kernel.toml. Control: ap_ctrl_hs; done when the last digest has left.

`include "tmb_ports.svh"

module sha256_stream import kernel_stream_pkg::*; (
  `TMB_KERNEL_PORTS,
  `TMB_STREAM_IN_PORTS(in, 64),
  `TMB_STREAM_OUT_PORTS(out, 64)
);

  typedef struct packed {
    logic [63:0] lanes;  // 0x10
  } arguments_t;

  arguments_t arguments;
  logic start, done_q;
  logic digests_valid, digests_ready;
  logic advance, block_valid, result_valid;
  logic [511:0] block, digests;
  logic [255:0] state, result;
  logic [63:0] digest_bytes;
  // Bytes of digests that have not left.
  logic [63:0] left_q;
  logic final_beat, send;

  kernel_control_registers #(
    .ArgumentWords($bits(arguments_t) / 32)
  ) u_control (
    `TMB_CONNECT_CONTROL,
    .begin_o(start),
    .done_i(done_q),
    .arguments_o(arguments)
  );

  hash_lanes #(
    .StateWords(8),
    .InitialState(sha256_pkg::InitialState),
    .BigEndian(1'b1),
    .Packets(1'b1)
  ) u_lanes (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .bytes_i('0),
    .lanes_i(arguments.lanes),
    .digest_bytes_o(digest_bytes),
    .row_valid_i(in_tvalid),
    .row_ready_o(in_tready),
    .row_i(in_tdata),
    .row_last_i(in_tlast),
    .row_bytes_i(bytes_of(in_tkeep)),
    .advance_o(advance),
    .block_valid_o(block_valid),
    .block_o(block),
    .state_o(state),
    .result_valid_i(result_valid),
    .result_i(result),
    .digests_valid_o(digests_valid),
    .digests_ready_i(digests_ready),
    .digests_o(digests)
  );

  sha256_rounds u_rounds (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .advance_i(advance),
    .block_valid_i(block_valid),
    .block_i(block),
    .state_i(state),
    .result_valid_o(result_valid),
    .result_o(result)
  );

  assign out_tvalid = digests_valid;
  assign digests_ready = out_tready;
  assign out_tdata = digests;
  assign final_beat = left_q <= 64'd64;
  assign out_tkeep = final_beat ? keep_of(7'(left_q)) : '1;
  assign out_tlast = final_beat;
  assign send = out_tvalid && out_tready;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) done_q <= 1'b0;
    else done_q <= send && final_beat;
  end
  always_ff @(posedge ap_clk) begin
    if (start) left_q <= digest_bytes;
    else if (send) left_q <= left_q - 64'd64;
  end

endmodule
