// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// A narrower between flat AXI4 ports as cocotbext-axi wants them: n1024_axi and w1024_axi.

module narrower_bench_top (
  input logic clk_i,
  input logic rst_ni,
  input  logic [7:0] n1024_axi_awid,
  input  logic [31:0] n1024_axi_awaddr,
  input  logic [7:0] n1024_axi_awlen,
  input  logic [2:0] n1024_axi_awsize,
  input  logic [1:0] n1024_axi_awburst,
  input  logic n1024_axi_awvalid,
  output logic n1024_axi_awready,
  input  logic [1023:0] n1024_axi_wdata,
  input  logic [127:0] n1024_axi_wstrb,
  input  logic n1024_axi_wlast,
  input  logic n1024_axi_wvalid,
  output logic n1024_axi_wready,
  output logic [7:0] n1024_axi_bid,
  output logic [1:0] n1024_axi_bresp,
  output logic n1024_axi_bvalid,
  input  logic n1024_axi_bready,
  input  logic [7:0] n1024_axi_arid,
  input  logic [31:0] n1024_axi_araddr,
  input  logic [7:0] n1024_axi_arlen,
  input  logic [2:0] n1024_axi_arsize,
  input  logic [1:0] n1024_axi_arburst,
  input  logic n1024_axi_arvalid,
  output logic n1024_axi_arready,
  output logic [7:0] n1024_axi_rid,
  output logic [1023:0] n1024_axi_rdata,
  output logic [1:0] n1024_axi_rresp,
  output logic n1024_axi_rlast,
  output logic n1024_axi_rvalid,
  input  logic n1024_axi_rready,
  output logic [7:0] w1024_axi_awid,
  output logic [31:0] w1024_axi_awaddr,
  output logic [7:0] w1024_axi_awlen,
  output logic [2:0] w1024_axi_awsize,
  output logic [1:0] w1024_axi_awburst,
  output logic w1024_axi_awvalid,
  input  logic w1024_axi_awready,
  output logic [511:0] w1024_axi_wdata,
  output logic [63:0] w1024_axi_wstrb,
  output logic w1024_axi_wlast,
  output logic w1024_axi_wvalid,
  input  logic w1024_axi_wready,
  input  logic [7:0] w1024_axi_bid,
  input  logic [1:0] w1024_axi_bresp,
  input  logic w1024_axi_bvalid,
  output logic w1024_axi_bready,
  output logic [7:0] w1024_axi_arid,
  output logic [31:0] w1024_axi_araddr,
  output logic [7:0] w1024_axi_arlen,
  output logic [2:0] w1024_axi_arsize,
  output logic [1:0] w1024_axi_arburst,
  output logic w1024_axi_arvalid,
  input  logic w1024_axi_arready,
  input  logic [7:0] w1024_axi_rid,
  input  logic [511:0] w1024_axi_rdata,
  input  logic [1:0] w1024_axi_rresp,
  input  logic w1024_axi_rlast,
  input  logic w1024_axi_rvalid,
  output logic w1024_axi_rready
);

  assign w1024_axi_awid = n1024_axi_awid;
  assign w1024_axi_awaddr = n1024_axi_awaddr;
  assign w1024_axi_awburst = n1024_axi_awburst;
  assign n1024_axi_bid = w1024_axi_bid;
  assign n1024_axi_bresp = w1024_axi_bresp;
  assign n1024_axi_bvalid = w1024_axi_bvalid;
  assign w1024_axi_bready = n1024_axi_bready;
  assign w1024_axi_arid = n1024_axi_arid;
  assign w1024_axi_araddr = n1024_axi_araddr;
  assign w1024_axi_arburst = n1024_axi_arburst;
  assign n1024_axi_rid = w1024_axi_rid;

  tmb_port_narrower #(
    .ReadBursts (2),
    .WriteBursts(2)
  ) i_dut (
    .clk_i(clk_i),
    .rst_ni(rst_ni),
    .araddr_i(n1024_axi_araddr[6:0]),
    .arburst_i(n1024_axi_arburst),
    .awaddr_i(n1024_axi_awaddr[6:0]),
    .awburst_i(n1024_axi_awburst),
    .kernel_awlen_i(n1024_axi_awlen),
    .slot_awlen_o(w1024_axi_awlen),
    .kernel_awsize_i(n1024_axi_awsize),
    .slot_awsize_o(w1024_axi_awsize),
    .kernel_awvalid_i(n1024_axi_awvalid),
    .slot_awvalid_o(w1024_axi_awvalid),
    .kernel_awready_o(n1024_axi_awready),
    .slot_awready_i(w1024_axi_awready),
    .kernel_wdata_i(n1024_axi_wdata),
    .slot_wdata_o(w1024_axi_wdata),
    .kernel_wstrb_i(n1024_axi_wstrb),
    .slot_wstrb_o(w1024_axi_wstrb),
    .kernel_wlast_i(n1024_axi_wlast),
    .slot_wlast_o(w1024_axi_wlast),
    .kernel_wvalid_i(n1024_axi_wvalid),
    .slot_wvalid_o(w1024_axi_wvalid),
    .kernel_wready_o(n1024_axi_wready),
    .slot_wready_i(w1024_axi_wready),
    .kernel_arlen_i(n1024_axi_arlen),
    .slot_arlen_o(w1024_axi_arlen),
    .kernel_arsize_i(n1024_axi_arsize),
    .slot_arsize_o(w1024_axi_arsize),
    .kernel_arvalid_i(n1024_axi_arvalid),
    .slot_arvalid_o(w1024_axi_arvalid),
    .kernel_arready_o(n1024_axi_arready),
    .slot_arready_i(w1024_axi_arready),
    .kernel_rdata_o(n1024_axi_rdata),
    .slot_rdata_i(w1024_axi_rdata),
    .kernel_rresp_o(n1024_axi_rresp),
    .slot_rresp_i(w1024_axi_rresp),
    .kernel_rlast_o(n1024_axi_rlast),
    .slot_rlast_i(w1024_axi_rlast),
    .kernel_rvalid_o(n1024_axi_rvalid),
    .slot_rvalid_i(w1024_axi_rvalid),
    .kernel_rready_i(n1024_axi_rready),
    .slot_rready_o(w1024_axi_rready)
  );

endmodule
