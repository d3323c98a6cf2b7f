// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Bundles of registers between flat AXI4-Lite ports as cocotbext-axi wants them: the slot (s_axil), a kernel
// with bundles of 32 (a_axil) and 64 bits (b_axil).

module bundles_bench_top (
  input logic clk_i,
  input logic rst_ni,
  input  logic [15:0] s_axil_awaddr,
  input  logic [2:0] s_axil_awprot,
  input  logic s_axil_awvalid,
  output logic s_axil_awready,
  input  logic [31:0] s_axil_wdata,
  input  logic [3:0] s_axil_wstrb,
  input  logic s_axil_wvalid,
  output logic s_axil_wready,
  output logic [1:0] s_axil_bresp,
  output logic s_axil_bvalid,
  input  logic s_axil_bready,
  input  logic [15:0] s_axil_araddr,
  input  logic [2:0] s_axil_arprot,
  input  logic s_axil_arvalid,
  output logic s_axil_arready,
  output logic [31:0] s_axil_rdata,
  output logic [1:0] s_axil_rresp,
  output logic s_axil_rvalid,
  input  logic s_axil_rready,
  output logic [15:0] a_axil_awaddr,
  output logic [2:0] a_axil_awprot,
  output logic a_axil_awvalid,
  input  logic a_axil_awready,
  output logic [31:0] a_axil_wdata,
  output logic [3:0] a_axil_wstrb,
  output logic a_axil_wvalid,
  input  logic a_axil_wready,
  input  logic [1:0] a_axil_bresp,
  input  logic a_axil_bvalid,
  output logic a_axil_bready,
  output logic [15:0] a_axil_araddr,
  output logic [2:0] a_axil_arprot,
  output logic a_axil_arvalid,
  input  logic a_axil_arready,
  input  logic [31:0] a_axil_rdata,
  input  logic [1:0] a_axil_rresp,
  input  logic a_axil_rvalid,
  output logic a_axil_rready,
  output logic [15:0] b_axil_awaddr,
  output logic [2:0] b_axil_awprot,
  output logic b_axil_awvalid,
  input  logic b_axil_awready,
  output logic [63:0] b_axil_wdata,
  output logic [7:0] b_axil_wstrb,
  output logic b_axil_wvalid,
  input  logic b_axil_wready,
  input  logic [1:0] b_axil_bresp,
  input  logic b_axil_bvalid,
  output logic b_axil_bready,
  output logic [15:0] b_axil_araddr,
  output logic [2:0] b_axil_arprot,
  output logic b_axil_arvalid,
  input  logic b_axil_arready,
  input  logic [63:0] b_axil_rdata,
  input  logic [1:0] b_axil_rresp,
  input  logic b_axil_rvalid,
  output logic b_axil_rready
);

  logic [15:0] awaddr, araddr;
  logic [63:0] wdata;
  logic [7:0] wstrb;

  assign a_axil_awaddr = awaddr;
  assign b_axil_awaddr = awaddr;
  assign a_axil_araddr = araddr;
  assign b_axil_araddr = araddr;
  assign a_axil_wdata = wdata[31:0];
  assign b_axil_wdata = wdata;
  assign a_axil_wstrb = wstrb[3:0];
  assign b_axil_wstrb = wstrb;
  assign a_axil_awprot = s_axil_awprot;
  assign b_axil_awprot = s_axil_awprot;
  assign a_axil_arprot = s_axil_arprot;
  assign b_axil_arprot = s_axil_arprot;

  tmb_register_bundles #(
    .NumBundles(2),
    .Wide(2'b10)
  ) i_dut (
    .clk_i(clk_i),
    .rst_ni(rst_ni),
    .slot_awaddr_i(s_axil_awaddr),
    .kernel_awaddr_o(awaddr),
    .slot_awvalid_i(s_axil_awvalid),
    .kernel_awvalid_o({b_axil_awvalid, a_axil_awvalid}),
    .slot_awready_o(s_axil_awready),
    .kernel_awready_i({b_axil_awready, a_axil_awready}),
    .slot_wdata_i(s_axil_wdata),
    .kernel_wdata_o(wdata),
    .slot_wstrb_i(s_axil_wstrb),
    .kernel_wstrb_o(wstrb),
    .slot_wvalid_i(s_axil_wvalid),
    .kernel_wvalid_o({b_axil_wvalid, a_axil_wvalid}),
    .slot_wready_o(s_axil_wready),
    .kernel_wready_i({b_axil_wready, a_axil_wready}),
    .slot_bresp_o(s_axil_bresp),
    .kernel_bresp_i({b_axil_bresp, a_axil_bresp}),
    .slot_bvalid_o(s_axil_bvalid),
    .kernel_bvalid_i({b_axil_bvalid, a_axil_bvalid}),
    .slot_bready_i(s_axil_bready),
    .kernel_bready_o({b_axil_bready, a_axil_bready}),
    .slot_araddr_i(s_axil_araddr),
    .kernel_araddr_o(araddr),
    .slot_arvalid_i(s_axil_arvalid),
    .kernel_arvalid_o({b_axil_arvalid, a_axil_arvalid}),
    .slot_arready_o(s_axil_arready),
    .kernel_arready_i({b_axil_arready, a_axil_arready}),
    .slot_rdata_o(s_axil_rdata),
    .kernel_rdata_i({b_axil_rdata, 32'd0, a_axil_rdata}),
    .slot_rresp_o(s_axil_rresp),
    .kernel_rresp_i({b_axil_rresp, a_axil_rresp}),
    .slot_rvalid_o(s_axil_rvalid),
    .kernel_rvalid_i({b_axil_rvalid, a_axil_rvalid}),
    .slot_rready_i(s_axil_rready),
    .kernel_rready_o({b_axil_rready, a_axil_rready})
  );

endmodule
