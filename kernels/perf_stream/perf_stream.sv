// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: sends what it receives, with 1 added to each 64-bit word (little-endian, wrapping), so that data which
// did not pass through it show. It is vFPIO's perf-host on host memory and its perf-fpga on card memory: "data
// streaming", the same kernel on either device (table 3; sections 6.4.1 and 6.4.2).
//
// A word of which the packet has only some bytes wraps within those. It has no registers; it runs when there
// are data. Throughput: a beat of 64 bytes a cycle. Latency: one cycle. Ordering: beats in order, packets whole.
// Back-pressure: passed on, by way of a queue of two beats. No deadlock: it waits for its neighbours only.

`include "tmb_ports.svh"

module perf_stream (
  input  logic         ap_clk,
  input  logic         ap_rst_n,

  `TMB_STREAM_IN_PORTS(in, 64),
  `TMB_STREAM_OUT_PORTS(out, 64)
);

  logic [511:0] sum;
  always_comb begin
    for (int unsigned i = 0; i < 8; i++) sum[64*i+:64] = in_tdata[64*i+:64] + 64'd1;
  end

  kernel_fifo #(
    .Width(512 + 64 + 1),
    .Depth(2)
  ) u_queue (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .in_valid_i(in_tvalid),
    .in_ready_o(in_tready),
    .in_data_i({in_tlast, in_tkeep, sum}),
    .out_valid_o(out_tvalid),
    .out_ready_i(out_tready),
    .out_data_o({out_tlast, out_tkeep, out_tdata})
  );

endmodule
