// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: AES-256 in counter mode, as `openssl enc -aes-256-ctr -K key -iv iv`: encrypts or decrypts one packet,
// from port `in` to port `out`. The key stream is that of kernels/aes256ctr.
//
// Throughput: 64 bytes a cycle. Latency: one cycle, after 30 for the key schedule and the pipeline. Ordering: beats in
// order. Back-pressure: the key stream is made ahead of the data and waits for it; in_tready waits for both. No
// deadlock: it waits for its neighbours only. Between runs no beat is taken.
// Register map: kernel.toml. Control: ap_ctrl_hs; done when the last beat has left.

`include "tmb_ports.svh"

module aes256ctr_stream (
  `TMB_KERNEL_PORTS,
  `TMB_STREAM_IN_PORTS(in, 64),
  `TMB_STREAM_OUT_PORTS(out, 64)
);

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [127:0] iv;   // 0x30
    logic [255:0] key;  // 0x10
  } arguments_t;

  arguments_t arguments;
  logic start, done_q, running_q;
  logic pad_valid, take, queue_ready;
  logic [511:0] pad;

  kernel_control_registers #(
    .ArgumentWords($bits(arguments_t) / 32)
  ) u_control (
    `TMB_CONNECT_CONTROL,
    .begin_o(start),
    .done_i(done_q),
    .arguments_o(arguments)
  );

  aes256_keystream u_keystream (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .key_i(arguments.key),
    .iv_i(arguments.iv),
    .row_valid_o(pad_valid),
    .row_ready_i(take),
    .row_o(pad)
  );

  // A beat leaves with its row of the key stream. Rows of an earlier run go with `start`.
  assign in_tready = running_q && pad_valid && queue_ready;
  assign take = in_tvalid && in_tready;

  kernel_fifo #(
    .Width(512 + 64 + 1),
    .Depth(2)
  ) u_queue (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .in_valid_i(in_tvalid && running_q && pad_valid),
    .in_ready_o(queue_ready),
    .in_data_i({in_tlast, in_tkeep, in_tdata ^ pad}),
    .out_valid_o(out_tvalid),
    .out_ready_i(out_tready),
    .out_data_o({out_tlast, out_tkeep, out_tdata})
  );

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      running_q <= 1'b0;
      done_q <= 1'b0;
    end else begin
      if (start) running_q <= 1'b1;
      else if (take && in_tlast) running_q <= 1'b0;
      done_q <= out_tvalid && out_tready && out_tlast;
    end
  end

endmodule
