// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// A kernel that acknowledges register accesses and never does anything: for tests of the host.

module deaf (
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

  logic both;
  assign both = s_axi_control_awvalid && s_axi_control_wvalid && !s_axi_control_bvalid;

  assign interrupt = 1'b0;
  assign s_axi_control_awready = both;
  assign s_axi_control_wready = both;
  assign s_axi_control_bresp = 2'b00;
  assign s_axi_control_arready = !s_axi_control_rvalid;
  assign s_axi_control_rdata = 32'h4;
  assign s_axi_control_rresp = 2'b00;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      s_axi_control_bvalid <= 1'b0;
      s_axi_control_rvalid <= 1'b0;
    end else begin
      s_axi_control_bvalid <= both || (s_axi_control_bvalid && !s_axi_control_bready);
      s_axi_control_rvalid <= (s_axi_control_arvalid && s_axi_control_arready) ||
                              (s_axi_control_rvalid && !s_axi_control_rready);
    end
  end

  logic unused;
  assign unused = ^{s_axi_control_awaddr, s_axi_control_wdata, s_axi_control_wstrb,
                    s_axi_control_araddr};

endmodule
