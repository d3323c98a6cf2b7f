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

module rng_stream (
  input  logic         ap_clk,
  input  logic         ap_rst_n,
  // Also a macro of some C headers, but the convention's name.
  // verilator lint_off SYMRSVDWORD
  output logic         interrupt,
  // verilator lint_on SYMRSVDWORD

  input  logic         s_axi_control_awvalid,
  output logic         s_axi_control_awready,
  input  logic [11:0]  s_axi_control_awaddr,
  input  logic         s_axi_control_wvalid,
  output logic         s_axi_control_wready,
  input  logic [31:0]  s_axi_control_wdata,
  input  logic [3:0]   s_axi_control_wstrb,
  output logic         s_axi_control_bvalid,
  input  logic         s_axi_control_bready,
  output logic [1:0]   s_axi_control_bresp,
  input  logic         s_axi_control_arvalid,
  output logic         s_axi_control_arready,
  input  logic [11:0]  s_axi_control_araddr,
  output logic         s_axi_control_rvalid,
  input  logic         s_axi_control_rready,
  output logic [31:0]  s_axi_control_rdata,
  output logic [1:0]   s_axi_control_rresp,

  output logic [63:0]  out_tdata,
  output logic [7:0]   out_tkeep,
  output logic         out_tlast,
  output logic         out_tvalid,
  input  logic         out_tready
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
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .awvalid_i(s_axi_control_awvalid),
    .awready_o(s_axi_control_awready),
    .awaddr_i(s_axi_control_awaddr),
    .wvalid_i(s_axi_control_wvalid),
    .wready_o(s_axi_control_wready),
    .wdata_i(s_axi_control_wdata),
    .wstrb_i(s_axi_control_wstrb),
    .bvalid_o(s_axi_control_bvalid),
    .bready_i(s_axi_control_bready),
    .bresp_o(s_axi_control_bresp),
    .arvalid_i(s_axi_control_arvalid),
    .arready_o(s_axi_control_arready),
    .araddr_i(s_axi_control_araddr),
    .rvalid_o(s_axi_control_rvalid),
    .rready_i(s_axi_control_rready),
    .rdata_o(s_axi_control_rdata),
    .rresp_o(s_axi_control_rresp),
    .interrupt_o(interrupt),
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
