// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: a source of pseudo-random numbers: one packet of `bytes` bytes to port `out`, the numbers of the generator
// SFC64 (Chris Doty-Humphrey's Small Fast Counting generator; numpy's SFC64), 64 bits each, little-endian, beginning
// with state a, b, c, counter in `state`.
//
// Throughput: 8 bytes a cycle. Back-pressure: a number waits until it is taken. No deadlock: it waits for its neighbour
// only. A packet of no bytes is an empty beat. Register map: kernel.toml. Control: ap_ctrl_hs; done when the last beat
// has left.

`include "tmb_ports.svh"

module rng_stream (
  `TMB_KERNEL_PORTS,
  `TMB_STREAM_OUT_PORTS(out, 8)
);

  typedef struct packed {
    logic [255:0] state;  // 0x18
    logic [63:0] bytes;   // 0x10
  } arguments_t;

  arguments_t arguments;
  logic start, done_q, running_q;

  kernel_control_registers #(
    .ArgumentWords($bits(arguments_t) / 32)
  ) u_control (
    `TMB_CONNECT_CONTROL,
    .begin_o(start),
    .done_i(done_q),
    .arguments_o(arguments)
  );

  logic [63:0] a_q, b_q, c_q, counter_q, left_q, number;
  logic final_beat, send;

  assign number = a_q + b_q + counter_q;
  assign final_beat = left_q <= 64'd8;
  assign out_tvalid = running_q;
  assign out_tdata = number;
  assign out_tlast = final_beat;
  assign send = out_tvalid && out_tready;
  always_comb begin
    for (int unsigned i = 0; i < 8; i++) out_tkeep[i] = 64'(i) < left_q;
  end

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      running_q <= 1'b0;
      done_q <= 1'b0;
    end else begin
      if (start) running_q <= 1'b1;
      else if (send && final_beat) running_q <= 1'b0;
      done_q <= send && final_beat;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (start) begin
      {counter_q, c_q, b_q, a_q} <= arguments.state;
      left_q <= arguments.bytes;
    end else if (send) begin
      a_q <= b_q ^ (b_q >> 11);
      b_q <= c_q + (c_q << 3);
      c_q <= {c_q[39:0], c_q[63:40]} + number;
      counter_q <= counter_q + 64'd1;
      left_q <= left_q - 64'd8;
    end
  end

endmodule
