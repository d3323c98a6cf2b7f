// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Test kernel: ends itself in the way that the register at 0x10 says.
// Signal names are in upper case, and optional signals are missing, as some exported kernels have it.

module failing (
  input  logic        ap_clk,
  input  logic        ap_rst_n,
  input  logic        S_AXI_CONTROL_AWVALID,
  output logic        S_AXI_CONTROL_AWREADY,
  input  logic [5:0]  S_AXI_CONTROL_AWADDR,
  input  logic        S_AXI_CONTROL_WVALID,
  output logic        S_AXI_CONTROL_WREADY,
  input  logic [31:0] S_AXI_CONTROL_WDATA,
  output logic        S_AXI_CONTROL_BVALID,
  input  logic        S_AXI_CONTROL_BREADY,
  input  logic        S_AXI_CONTROL_ARVALID,
  output logic        S_AXI_CONTROL_ARREADY,
  input  logic [5:0]  S_AXI_CONTROL_ARADDR,
  output logic        S_AXI_CONTROL_RVALID,
  input  logic        S_AXI_CONTROL_RREADY,
  output logic [31:0] S_AXI_CONTROL_RDATA
);

  logic [31:0] how_q;
  logic respond_q, read_q;

  // A loop that settles only while the argument is not four.
  logic loop;
  assign loop = (how_q == 32'd4) ? !loop : 1'b0;

  // Address and data are taken together.
  assign S_AXI_CONTROL_AWREADY = S_AXI_CONTROL_AWVALID && S_AXI_CONTROL_WVALID && !respond_q;
  assign S_AXI_CONTROL_WREADY = S_AXI_CONTROL_AWREADY;
  assign S_AXI_CONTROL_BVALID = respond_q;
  assign S_AXI_CONTROL_ARREADY = !read_q;
  assign S_AXI_CONTROL_RVALID = read_q;
  assign S_AXI_CONTROL_RDATA = how_q ^ {31'b0, loop};

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      how_q <= '0;
      respond_q <= 1'b0;
      read_q <= 1'b0;
    end else begin
      if (S_AXI_CONTROL_AWREADY) begin
        respond_q <= 1'b1;
        if (S_AXI_CONTROL_AWADDR == 6'h10) how_q <= S_AXI_CONTROL_WDATA;
      end else if (S_AXI_CONTROL_BREADY) begin
        respond_q <= 1'b0;
      end
      if (S_AXI_CONTROL_ARVALID && S_AXI_CONTROL_ARREADY) read_q <= 1'b1;
      else if (S_AXI_CONTROL_RREADY) read_q <= 1'b0;
      if (how_q == 32'd1) $finish;
      if (how_q == 32'd2) $fatal(1, "the argument is two");
    end
  end

  NotThree : assert property (@(posedge ap_clk) disable iff (!ap_rst_n) how_q != 32'd3)
  else $error("the argument is three");

endmodule
