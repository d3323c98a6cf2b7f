// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// A widener of each width between flat AXI4 ports as cocotbext-axi wants them: n32_axi and w32_axi,
// and so on.

`define TMB_WIDENER_PORTS(Width) \
  input  logic [7:0]         n``Width``_axi_awid, \
  input  logic [31:0]        n``Width``_axi_awaddr, \
  input  logic [7:0]         n``Width``_axi_awlen, \
  input  logic [2:0]         n``Width``_axi_awsize, \
  input  logic [1:0]         n``Width``_axi_awburst, \
  input  logic               n``Width``_axi_awvalid, \
  output logic               n``Width``_axi_awready, \
  input  logic [Width-1:0]   n``Width``_axi_wdata, \
  input  logic [Width/8-1:0] n``Width``_axi_wstrb, \
  input  logic               n``Width``_axi_wlast, \
  input  logic               n``Width``_axi_wvalid, \
  output logic               n``Width``_axi_wready, \
  output logic [7:0]         n``Width``_axi_bid, \
  output logic [1:0]         n``Width``_axi_bresp, \
  output logic               n``Width``_axi_bvalid, \
  input  logic               n``Width``_axi_bready, \
  input  logic [7:0]         n``Width``_axi_arid, \
  input  logic [31:0]        n``Width``_axi_araddr, \
  input  logic [7:0]         n``Width``_axi_arlen, \
  input  logic [2:0]         n``Width``_axi_arsize, \
  input  logic [1:0]         n``Width``_axi_arburst, \
  input  logic               n``Width``_axi_arvalid, \
  output logic               n``Width``_axi_arready, \
  output logic [7:0]         n``Width``_axi_rid, \
  output logic [Width-1:0]   n``Width``_axi_rdata, \
  output logic [1:0]         n``Width``_axi_rresp, \
  output logic               n``Width``_axi_rlast, \
  output logic               n``Width``_axi_rvalid, \
  input  logic               n``Width``_axi_rready, \
  output logic [7:0]         w``Width``_axi_awid, \
  output logic [31:0]        w``Width``_axi_awaddr, \
  output logic [7:0]         w``Width``_axi_awlen, \
  output logic [2:0]         w``Width``_axi_awsize, \
  output logic [1:0]         w``Width``_axi_awburst, \
  output logic               w``Width``_axi_awvalid, \
  input  logic               w``Width``_axi_awready, \
  output logic [511:0]       w``Width``_axi_wdata, \
  output logic [63:0]        w``Width``_axi_wstrb, \
  output logic               w``Width``_axi_wlast, \
  output logic               w``Width``_axi_wvalid, \
  input  logic               w``Width``_axi_wready, \
  input  logic [7:0]         w``Width``_axi_bid, \
  input  logic [1:0]         w``Width``_axi_bresp, \
  input  logic               w``Width``_axi_bvalid, \
  output logic               w``Width``_axi_bready, \
  output logic [7:0]         w``Width``_axi_arid, \
  output logic [31:0]        w``Width``_axi_araddr, \
  output logic [7:0]         w``Width``_axi_arlen, \
  output logic [2:0]         w``Width``_axi_arsize, \
  output logic [1:0]         w``Width``_axi_arburst, \
  output logic               w``Width``_axi_arvalid, \
  input  logic               w``Width``_axi_arready, \
  input  logic [7:0]         w``Width``_axi_rid, \
  input  logic [511:0]       w``Width``_axi_rdata, \
  input  logic [1:0]         w``Width``_axi_rresp, \
  input  logic               w``Width``_axi_rlast, \
  input  logic               w``Width``_axi_rvalid, \
  output logic               w``Width``_axi_rready

`define TMB_WIDENER(Width) \
  assign w``Width``_axi_awid = n``Width``_axi_awid; \
  assign w``Width``_axi_awaddr = n``Width``_axi_awaddr; \
  assign w``Width``_axi_awlen = n``Width``_axi_awlen; \
  assign w``Width``_axi_awburst = n``Width``_axi_awburst; \
  assign w``Width``_axi_wlast = n``Width``_axi_wlast; \
  assign n``Width``_axi_bid = w``Width``_axi_bid; \
  assign n``Width``_axi_bresp = w``Width``_axi_bresp; \
  assign n``Width``_axi_bvalid = w``Width``_axi_bvalid; \
  assign w``Width``_axi_bready = n``Width``_axi_bready; \
  assign w``Width``_axi_arid = n``Width``_axi_arid; \
  assign w``Width``_axi_araddr = n``Width``_axi_araddr; \
  assign w``Width``_axi_arlen = n``Width``_axi_arlen; \
  assign w``Width``_axi_arburst = n``Width``_axi_arburst; \
  assign n``Width``_axi_rid = w``Width``_axi_rid; \
  assign n``Width``_axi_rresp = w``Width``_axi_rresp; \
  assign n``Width``_axi_rlast = w``Width``_axi_rlast; \
  assign n``Width``_axi_rvalid = w``Width``_axi_rvalid; \
  assign w``Width``_axi_rready = n``Width``_axi_rready; \
  tmb_port_widener #( \
    .DataWidth  (Width), \
    .ReadBursts (2), \
    .WriteBursts(2) \
  ) i_dut_``Width`` ( \
    .clk_i           (clk_i), \
    .rst_ni          (rst_ni), \
    .araddr_i        (n``Width``_axi_araddr[5:0]), \
    .rvalid_i        (w``Width``_axi_rvalid), \
    .rready_i        (n``Width``_axi_rready), \
    .rlast_i         (w``Width``_axi_rlast), \
    .awaddr_i        (n``Width``_axi_awaddr[5:0]), \
    .awlen_i         (n``Width``_axi_awlen), \
    .narrow_arsize_i (n``Width``_axi_arsize), \
    .wide_arsize_o   (w``Width``_axi_arsize), \
    .narrow_arvalid_i(n``Width``_axi_arvalid), \
    .wide_arvalid_o  (w``Width``_axi_arvalid), \
    .narrow_arready_o(n``Width``_axi_arready), \
    .wide_arready_i  (w``Width``_axi_arready), \
    .narrow_rdata_o  (n``Width``_axi_rdata), \
    .wide_rdata_i    (w``Width``_axi_rdata), \
    .narrow_awsize_i (n``Width``_axi_awsize), \
    .wide_awsize_o   (w``Width``_axi_awsize), \
    .narrow_awvalid_i(n``Width``_axi_awvalid), \
    .wide_awvalid_o  (w``Width``_axi_awvalid), \
    .narrow_awready_o(n``Width``_axi_awready), \
    .wide_awready_i  (w``Width``_axi_awready), \
    .narrow_wdata_i  (n``Width``_axi_wdata), \
    .wide_wdata_o    (w``Width``_axi_wdata), \
    .narrow_wstrb_i  (n``Width``_axi_wstrb), \
    .wide_wstrb_o    (w``Width``_axi_wstrb), \
    .narrow_wvalid_i (n``Width``_axi_wvalid), \
    .wide_wvalid_o   (w``Width``_axi_wvalid), \
    .narrow_wready_o (n``Width``_axi_wready), \
    .wide_wready_i   (w``Width``_axi_wready) \
  );

module widener_bench_top (
  input logic clk_i,
  input logic rst_ni,
  `TMB_WIDENER_PORTS(32),
  `TMB_WIDENER_PORTS(64),
  `TMB_WIDENER_PORTS(128),
  `TMB_WIDENER_PORTS(256)
);

  `TMB_WIDENER(32)
  `TMB_WIDENER(64)
  `TMB_WIDENER(128)
  `TMB_WIDENER(256)

endmodule
