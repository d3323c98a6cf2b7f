// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// A kernel whose first clock edge after reset never ends: for tests of Ctrl-C inside one evaluation.

module stuck (
  input  logic        ap_clk,
  input  logic        ap_rst_n,
  output logic        interrupt,
  input  logic [11:0] s_axi_control_awaddr,
  input  logic        s_axi_control_awvalid,
  output logic        s_axi_control_awready,
  input  logic [31:0] s_axi_control_wdata,
  input  logic [3:0]  s_axi_control_wstrb,
  input  logic        s_axi_control_wvalid,
  output logic        s_axi_control_wready,
  output logic [1:0]  s_axi_control_bresp,
  output logic        s_axi_control_bvalid,
  input  logic        s_axi_control_bready,
  input  logic [11:0] s_axi_control_araddr,
  input  logic        s_axi_control_arvalid,
  output logic        s_axi_control_arready,
  output logic [31:0] s_axi_control_rdata,
  output logic [1:0]  s_axi_control_rresp,
  output logic        s_axi_control_rvalid,
  input  logic        s_axi_control_rready
);

  logic [31:0] count_q;

  assign interrupt = 1'b0;
  assign s_axi_control_awready = 1'b0;
  assign s_axi_control_wready = 1'b0;
  assign s_axi_control_bresp = 2'b00;
  assign s_axi_control_bvalid = 1'b0;
  assign s_axi_control_arready = 1'b0;
  assign s_axi_control_rdata = count_q;
  assign s_axi_control_rresp = 2'b00;
  assign s_axi_control_rvalid = 1'b0;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      count_q <= '0;
    end else begin
      automatic logic [31:0] x = count_q | 32'd1;
      // Odd numbers times three stay odd.
      while (x[0]) x = x * 32'd3;
      count_q <= x;
    end
  end

  logic unused;
  assign unused = ^{s_axi_control_awaddr, s_axi_control_awvalid, s_axi_control_wdata,
                    s_axi_control_wstrb, s_axi_control_wvalid, s_axi_control_bready,
                    s_axi_control_araddr, s_axi_control_arvalid, s_axi_control_rready};

endmodule
