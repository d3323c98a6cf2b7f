// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Sends back what it receives: the smallest kernel with streams. It has no registers; it runs when there
// are data.
//
// Throughput: a beat of 64 bytes a cycle. Latency: one cycle. Ordering: beats in order, packets whole.
// Back-pressure: passed on, by way of a queue of two beats.

`include "tmb_ports.svh"

module loopback (
  input  logic         ap_clk,
  input  logic         ap_rst_n,

  `TMB_STREAM_IN_PORTS(in, 64),
  `TMB_STREAM_OUT_PORTS(out, 64)
);

  kernel_fifo #(
    .Width(512 + 64 + 1),
    .Depth(2)
  ) u_queue (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .in_valid_i(in_tvalid),
    .in_ready_o(in_tready),
    .in_data_i({in_tlast, in_tkeep, in_tdata}),
    .out_valid_o(out_tvalid),
    .out_ready_i(out_tready),
    .out_data_o({out_tlast, out_tkeep, out_tdata})
  );

endmodule
