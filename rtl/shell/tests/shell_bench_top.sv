// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// tmb_shell with small channels; every bus flat and named, as cocotbext-axi wants it.

module shell_bench_top import tmb_pkg::*; (
  input  logic clk_i,
  input  logic rst_ni,
  output logic irq_o,
  input  logic slot_interrupt_i,
  output logic slot_rst_no,

  input  logic [31:0] bar_awaddr,
  input  logic bar_awvalid,
  output logic bar_awready,
  input  logic [31:0] bar_wdata,
  input  logic [3:0] bar_wstrb,
  input  logic bar_wvalid,
  output logic bar_wready,
  output logic [1:0] bar_bresp,
  output logic bar_bvalid,
  input  logic bar_bready,
  input  logic [31:0] bar_araddr,
  input  logic bar_arvalid,
  output logic bar_arready,
  output logic [31:0] bar_rdata,
  output logic [1:0] bar_rresp,
  output logic [2:0] bar_ruser,
  output logic bar_rvalid,
  input  logic bar_rready,

  output logic [3:0] host_arid,
  output logic [63:0] host_araddr,
  output logic [7:0] host_arlen,
  output logic [2:0] host_arsize,
  output logic [1:0] host_arburst,
  output logic host_arvalid,
  input  logic host_arready,
  output logic [3:0] host_awid,
  output logic [63:0] host_awaddr,
  output logic [7:0] host_awlen,
  output logic [2:0] host_awsize,
  output logic [1:0] host_awburst,
  output logic host_awvalid,
  input  logic host_awready,
  input  logic [3:0] host_rid,
  input  logic [511:0] host_rdata,
  input  logic [1:0] host_rresp,
  input  logic host_rlast,
  input  logic host_rvalid,
  output logic host_rready,
  output logic [511:0] host_wdata,
  output logic [63:0] host_wstrb,
  output logic host_wlast,
  output logic host_wvalid,
  input  logic host_wready,
  input  logic [3:0] host_bid,
  input  logic [1:0] host_bresp,
  input  logic host_bvalid,
  output logic host_bready,

  output logic [0:0] mem0_arid,
  output logic [63:0] mem0_araddr,
  output logic [7:0] mem0_arlen,
  output logic [2:0] mem0_arsize,
  output logic [1:0] mem0_arburst,
  output logic mem0_arvalid,
  input  logic mem0_arready,
  output logic [0:0] mem0_awid,
  output logic [63:0] mem0_awaddr,
  output logic [7:0] mem0_awlen,
  output logic [2:0] mem0_awsize,
  output logic [1:0] mem0_awburst,
  output logic mem0_awvalid,
  input  logic mem0_awready,
  input  logic [0:0] mem0_rid,
  input  logic [511:0] mem0_rdata,
  input  logic [1:0] mem0_rresp,
  input  logic mem0_rlast,
  input  logic mem0_rvalid,
  output logic mem0_rready,
  output logic [511:0] mem0_wdata,
  output logic [63:0] mem0_wstrb,
  output logic mem0_wlast,
  output logic mem0_wvalid,
  input  logic mem0_wready,
  input  logic [0:0] mem0_bid,
  input  logic [1:0] mem0_bresp,
  input  logic mem0_bvalid,
  output logic mem0_bready,

  output logic [0:0] mem1_arid,
  output logic [63:0] mem1_araddr,
  output logic [7:0] mem1_arlen,
  output logic [2:0] mem1_arsize,
  output logic [1:0] mem1_arburst,
  output logic mem1_arvalid,
  input  logic mem1_arready,
  output logic [0:0] mem1_awid,
  output logic [63:0] mem1_awaddr,
  output logic [7:0] mem1_awlen,
  output logic [2:0] mem1_awsize,
  output logic [1:0] mem1_awburst,
  output logic mem1_awvalid,
  input  logic mem1_awready,
  input  logic [0:0] mem1_rid,
  input  logic [511:0] mem1_rdata,
  input  logic [1:0] mem1_rresp,
  input  logic mem1_rlast,
  input  logic mem1_rvalid,
  output logic mem1_rready,
  output logic [511:0] mem1_wdata,
  output logic [63:0] mem1_wstrb,
  output logic mem1_wlast,
  output logic mem1_wvalid,
  input  logic mem1_wready,
  input  logic [0:0] mem1_bid,
  input  logic [1:0] mem1_bresp,
  input  logic mem1_bvalid,
  output logic mem1_bready,

  input  logic [15:0] port0_arid,
  input  logic [63:0] port0_araddr,
  input  logic [7:0] port0_arlen,
  input  logic [2:0] port0_arsize,
  input  logic [1:0] port0_arburst,
  input  logic port0_arvalid,
  output logic port0_arready,
  input  logic [15:0] port0_awid,
  input  logic [63:0] port0_awaddr,
  input  logic [7:0] port0_awlen,
  input  logic [2:0] port0_awsize,
  input  logic [1:0] port0_awburst,
  input  logic port0_awvalid,
  output logic port0_awready,
  output logic [15:0] port0_rid,
  output logic [511:0] port0_rdata,
  output logic [1:0] port0_rresp,
  output logic port0_rlast,
  output logic port0_rvalid,
  input  logic port0_rready,
  input  logic [511:0] port0_wdata,
  input  logic [63:0] port0_wstrb,
  input  logic port0_wlast,
  input  logic port0_wvalid,
  output logic port0_wready,
  output logic [15:0] port0_bid,
  output logic [1:0] port0_bresp,
  output logic port0_bvalid,
  input  logic port0_bready,

  input  logic [15:0] port1_arid,
  input  logic [63:0] port1_araddr,
  input  logic [7:0] port1_arlen,
  input  logic [2:0] port1_arsize,
  input  logic [1:0] port1_arburst,
  input  logic port1_arvalid,
  output logic port1_arready,
  input  logic [15:0] port1_awid,
  input  logic [63:0] port1_awaddr,
  input  logic [7:0] port1_awlen,
  input  logic [2:0] port1_awsize,
  input  logic [1:0] port1_awburst,
  input  logic port1_awvalid,
  output logic port1_awready,
  output logic [15:0] port1_rid,
  output logic [511:0] port1_rdata,
  output logic [1:0] port1_rresp,
  output logic port1_rlast,
  output logic port1_rvalid,
  input  logic port1_rready,
  input  logic [511:0] port1_wdata,
  input  logic [63:0] port1_wstrb,
  input  logic port1_wlast,
  input  logic port1_wvalid,
  output logic port1_wready,
  output logic [15:0] port1_bid,
  output logic [1:0] port1_bresp,
  output logic port1_bvalid,
  input  logic port1_bready,

  output logic [15:0] ctl0_awaddr,
  output logic ctl0_awvalid,
  input  logic ctl0_awready,
  output logic [31:0] ctl0_wdata,
  output logic [3:0] ctl0_wstrb,
  output logic ctl0_wvalid,
  input  logic ctl0_wready,
  input  logic [1:0] ctl0_bresp,
  input  logic ctl0_bvalid,
  output logic ctl0_bready,
  output logic [15:0] ctl0_araddr,
  output logic ctl0_arvalid,
  input  logic ctl0_arready,
  input  logic [31:0] ctl0_rdata,
  input  logic [1:0] ctl0_rresp,
  input  logic ctl0_rvalid,
  output logic ctl0_rready
);

  function automatic shell_cfg_t bench_cfg();
    shell_cfg_t cfg;
    cfg = DefaultShellCfg;
    cfg.ChannelBytesLog2 = 22;
    cfg.L1 = '{0: '{PageBits: 12, SetsLog2: 5, Ways: 2}, default: NoL1};
    return cfg;
  endfunction

  logic [63:0] mem_araddr [2];
  logic [7:0] mem_arlen [2];
  logic mem_arvalid [2];
  logic mem_arready [2];
  logic [63:0] mem_awaddr [2];
  logic [7:0] mem_awlen [2];
  logic mem_awvalid [2];
  logic mem_awready [2];
  logic [511:0] mem_rdata [2];
  logic [1:0] mem_rresp [2];
  logic mem_rlast [2];
  logic mem_rvalid [2];
  logic mem_rready [2];
  logic [511:0] mem_wdata [2];
  logic [63:0] mem_wstrb [2];
  logic mem_wlast [2];
  logic mem_wvalid [2];
  logic mem_wready [2];
  logic [1:0] mem_bresp [2];
  logic mem_bvalid [2];
  logic mem_bready [2];
  logic [15:0] port_arid [2];
  logic [63:0] port_araddr [2];
  logic [7:0] port_arlen [2];
  logic [2:0] port_arsize [2];
  logic [1:0] port_arburst [2];
  logic port_arvalid [2];
  logic port_arready [2];
  logic [15:0] port_awid [2];
  logic [63:0] port_awaddr [2];
  logic [7:0] port_awlen [2];
  logic [2:0] port_awsize [2];
  logic [1:0] port_awburst [2];
  logic port_awvalid [2];
  logic port_awready [2];
  logic [15:0] port_rid [2];
  logic [511:0] port_rdata [2];
  logic [1:0] port_rresp [2];
  logic port_rlast [2];
  logic port_rvalid [2];
  logic port_rready [2];
  logic [511:0] port_wdata [2];
  logic [63:0] port_wstrb [2];
  logic port_wlast [2];
  logic port_wvalid [2];
  logic port_wready [2];
  logic [15:0] port_bid [2];
  logic [1:0] port_bresp [2];
  logic port_bvalid [2];
  logic port_bready [2];
  logic [15:0] ctl_awaddr [1];
  logic ctl_awvalid [1];
  logic ctl_awready [1];
  logic [31:0] ctl_wdata [1];
  logic [3:0] ctl_wstrb [1];
  logic ctl_wvalid [1];
  logic ctl_wready [1];
  logic [1:0] ctl_bresp [1];
  logic ctl_bvalid [1];
  logic ctl_bready [1];
  logic [15:0] ctl_araddr [1];
  logic ctl_arvalid [1];
  logic ctl_arready [1];
  logic [31:0] ctl_rdata [1];
  logic [1:0] ctl_rresp [1];
  logic ctl_rvalid [1];
  logic ctl_rready [1];
  logic interrupt [1];
  logic slot_rst_n [1];

  assign host_arsize = 3'd6;
  assign host_arburst = 2'b01;
  assign host_awsize = 3'd6;
  assign host_awburst = 2'b01;
  assign mem0_araddr = mem_araddr[0];
  assign mem1_araddr = mem_araddr[1];
  assign mem0_arlen = mem_arlen[0];
  assign mem1_arlen = mem_arlen[1];
  assign mem0_arvalid = mem_arvalid[0];
  assign mem1_arvalid = mem_arvalid[1];
  assign mem_arready[0] = mem0_arready;
  assign mem_arready[1] = mem1_arready;
  assign mem0_awaddr = mem_awaddr[0];
  assign mem1_awaddr = mem_awaddr[1];
  assign mem0_awlen = mem_awlen[0];
  assign mem1_awlen = mem_awlen[1];
  assign mem0_awvalid = mem_awvalid[0];
  assign mem1_awvalid = mem_awvalid[1];
  assign mem_awready[0] = mem0_awready;
  assign mem_awready[1] = mem1_awready;
  assign mem_rdata[0] = mem0_rdata;
  assign mem_rdata[1] = mem1_rdata;
  assign mem_rresp[0] = mem0_rresp;
  assign mem_rresp[1] = mem1_rresp;
  assign mem_rlast[0] = mem0_rlast;
  assign mem_rlast[1] = mem1_rlast;
  assign mem_rvalid[0] = mem0_rvalid;
  assign mem_rvalid[1] = mem1_rvalid;
  assign mem0_rready = mem_rready[0];
  assign mem1_rready = mem_rready[1];
  assign mem0_wdata = mem_wdata[0];
  assign mem1_wdata = mem_wdata[1];
  assign mem0_wstrb = mem_wstrb[0];
  assign mem1_wstrb = mem_wstrb[1];
  assign mem0_wlast = mem_wlast[0];
  assign mem1_wlast = mem_wlast[1];
  assign mem0_wvalid = mem_wvalid[0];
  assign mem1_wvalid = mem_wvalid[1];
  assign mem_wready[0] = mem0_wready;
  assign mem_wready[1] = mem1_wready;
  assign mem_bresp[0] = mem0_bresp;
  assign mem_bresp[1] = mem1_bresp;
  assign mem_bvalid[0] = mem0_bvalid;
  assign mem_bvalid[1] = mem1_bvalid;
  assign mem0_bready = mem_bready[0];
  assign mem1_bready = mem_bready[1];
  assign mem0_arsize = 3'd6;
  assign mem0_awsize = 3'd6;
  assign mem0_arburst = 2'b01;
  assign mem0_awburst = 2'b01;
  assign mem0_arid = '0;
  assign mem0_awid = '0;
  assign mem1_arsize = 3'd6;
  assign mem1_awsize = 3'd6;
  assign mem1_arburst = 2'b01;
  assign mem1_awburst = 2'b01;
  assign mem1_arid = '0;
  assign mem1_awid = '0;
  assign port_arid[0] = port0_arid;
  assign port_arid[1] = port1_arid;
  assign port_araddr[0] = port0_araddr;
  assign port_araddr[1] = port1_araddr;
  assign port_arlen[0] = port0_arlen;
  assign port_arlen[1] = port1_arlen;
  assign port_arsize[0] = port0_arsize;
  assign port_arsize[1] = port1_arsize;
  assign port_arburst[0] = port0_arburst;
  assign port_arburst[1] = port1_arburst;
  assign port_arvalid[0] = port0_arvalid;
  assign port_arvalid[1] = port1_arvalid;
  assign port0_arready = port_arready[0];
  assign port1_arready = port_arready[1];
  assign port_awid[0] = port0_awid;
  assign port_awid[1] = port1_awid;
  assign port_awaddr[0] = port0_awaddr;
  assign port_awaddr[1] = port1_awaddr;
  assign port_awlen[0] = port0_awlen;
  assign port_awlen[1] = port1_awlen;
  assign port_awsize[0] = port0_awsize;
  assign port_awsize[1] = port1_awsize;
  assign port_awburst[0] = port0_awburst;
  assign port_awburst[1] = port1_awburst;
  assign port_awvalid[0] = port0_awvalid;
  assign port_awvalid[1] = port1_awvalid;
  assign port0_awready = port_awready[0];
  assign port1_awready = port_awready[1];
  assign port0_rid = port_rid[0];
  assign port1_rid = port_rid[1];
  assign port0_rdata = port_rdata[0];
  assign port1_rdata = port_rdata[1];
  assign port0_rresp = port_rresp[0];
  assign port1_rresp = port_rresp[1];
  assign port0_rlast = port_rlast[0];
  assign port1_rlast = port_rlast[1];
  assign port0_rvalid = port_rvalid[0];
  assign port1_rvalid = port_rvalid[1];
  assign port_rready[0] = port0_rready;
  assign port_rready[1] = port1_rready;
  assign port_wdata[0] = port0_wdata;
  assign port_wdata[1] = port1_wdata;
  assign port_wstrb[0] = port0_wstrb;
  assign port_wstrb[1] = port1_wstrb;
  assign port_wlast[0] = port0_wlast;
  assign port_wlast[1] = port1_wlast;
  assign port_wvalid[0] = port0_wvalid;
  assign port_wvalid[1] = port1_wvalid;
  assign port0_wready = port_wready[0];
  assign port1_wready = port_wready[1];
  assign port0_bid = port_bid[0];
  assign port1_bid = port_bid[1];
  assign port0_bresp = port_bresp[0];
  assign port1_bresp = port_bresp[1];
  assign port0_bvalid = port_bvalid[0];
  assign port1_bvalid = port_bvalid[1];
  assign port_bready[0] = port0_bready;
  assign port_bready[1] = port1_bready;
  assign ctl0_awaddr = ctl_awaddr[0];
  assign ctl0_awvalid = ctl_awvalid[0];
  assign ctl_awready[0] = ctl0_awready;
  assign ctl0_wdata = ctl_wdata[0];
  assign ctl0_wstrb = ctl_wstrb[0];
  assign ctl0_wvalid = ctl_wvalid[0];
  assign ctl_wready[0] = ctl0_wready;
  assign ctl_bresp[0] = ctl0_bresp;
  assign ctl_bvalid[0] = ctl0_bvalid;
  assign ctl0_bready = ctl_bready[0];
  assign ctl0_araddr = ctl_araddr[0];
  assign ctl0_arvalid = ctl_arvalid[0];
  assign ctl_arready[0] = ctl0_arready;
  assign ctl_rdata[0] = ctl0_rdata;
  assign ctl_rresp[0] = ctl0_rresp;
  assign ctl_rvalid[0] = ctl0_rvalid;
  assign ctl0_rready = ctl_rready[0];
  // No streams: one element each, unused.
  logic [511:0] sin_tdata [1];
  logic [63:0] sin_tkeep [1];
  logic sin_tlast [1];
  logic [0:0] sin_tid [1], sin_tdest [1];
  logic sin_tvalid [1];
  logic sout_tready [1];

  assign interrupt[0] = slot_interrupt_i;
  assign slot_rst_no = slot_rst_n[0];

  tmb_shell #(
    .Cfg(bench_cfg())
  ) u_shell (
    .clk_i,
    .rst_ni,
    .irq_o,
    .bar_awaddr_i(bar_awaddr),
    .bar_awvalid_i(bar_awvalid),
    .bar_awready_o(bar_awready),
    .bar_wdata_i(bar_wdata),
    .bar_wstrb_i(bar_wstrb),
    .bar_wvalid_i(bar_wvalid),
    .bar_wready_o(bar_wready),
    .bar_bresp_o(bar_bresp),
    .bar_bvalid_o(bar_bvalid),
    .bar_bready_i(bar_bready),
    .bar_araddr_i(bar_araddr),
    .bar_arvalid_i(bar_arvalid),
    .bar_arready_o(bar_arready),
    .bar_rdata_o(bar_rdata),
    .bar_rresp_o(bar_rresp),
    .bar_ruser_o(bar_ruser),
    .bar_rvalid_o(bar_rvalid),
    .bar_rready_i(bar_rready),
    .host_arid_o(host_arid),
    .host_araddr_o(host_araddr),
    .host_arlen_o(host_arlen),
    .host_arvalid_o(host_arvalid),
    .host_arready_i(host_arready),
    .host_awid_o(host_awid),
    .host_awaddr_o(host_awaddr),
    .host_awlen_o(host_awlen),
    .host_awvalid_o(host_awvalid),
    .host_awready_i(host_awready),
    .host_rid_i(host_rid),
    .host_rdata_i(host_rdata),
    .host_rresp_i(host_rresp),
    .host_rlast_i(host_rlast),
    .host_rvalid_i(host_rvalid),
    .host_rready_o(host_rready),
    .host_wdata_o(host_wdata),
    .host_wstrb_o(host_wstrb),
    .host_wlast_o(host_wlast),
    .host_wvalid_o(host_wvalid),
    .host_wready_i(host_wready),
    .host_bid_i(host_bid),
    .host_bresp_i(host_bresp),
    .host_bvalid_i(host_bvalid),
    .host_bready_o(host_bready),
    .mem_araddr_o(mem_araddr),
    .mem_arlen_o(mem_arlen),
    .mem_arvalid_o(mem_arvalid),
    .mem_arready_i(mem_arready),
    .mem_awaddr_o(mem_awaddr),
    .mem_awlen_o(mem_awlen),
    .mem_awvalid_o(mem_awvalid),
    .mem_awready_i(mem_awready),
    .mem_rdata_i(mem_rdata),
    .mem_rresp_i(mem_rresp),
    .mem_rlast_i(mem_rlast),
    .mem_rvalid_i(mem_rvalid),
    .mem_rready_o(mem_rready),
    .mem_wdata_o(mem_wdata),
    .mem_wstrb_o(mem_wstrb),
    .mem_wlast_o(mem_wlast),
    .mem_wvalid_o(mem_wvalid),
    .mem_wready_i(mem_wready),
    .mem_bresp_i(mem_bresp),
    .mem_bvalid_i(mem_bvalid),
    .mem_bready_o(mem_bready),
    .port_arid_i(port_arid),
    .port_araddr_i(port_araddr),
    .port_arlen_i(port_arlen),
    .port_arsize_i(port_arsize),
    .port_arburst_i(port_arburst),
    .port_arvalid_i(port_arvalid),
    .port_arready_o(port_arready),
    .port_awid_i(port_awid),
    .port_awaddr_i(port_awaddr),
    .port_awlen_i(port_awlen),
    .port_awsize_i(port_awsize),
    .port_awburst_i(port_awburst),
    .port_awvalid_i(port_awvalid),
    .port_awready_o(port_awready),
    .port_rid_o(port_rid),
    .port_rdata_o(port_rdata),
    .port_rresp_o(port_rresp),
    .port_rlast_o(port_rlast),
    .port_rvalid_o(port_rvalid),
    .port_rready_i(port_rready),
    .port_wdata_i(port_wdata),
    .port_wstrb_i(port_wstrb),
    .port_wlast_i(port_wlast),
    .port_wvalid_i(port_wvalid),
    .port_wready_o(port_wready),
    .port_bid_o(port_bid),
    .port_bresp_o(port_bresp),
    .port_bvalid_o(port_bvalid),
    .port_bready_i(port_bready),
    .ctl_awaddr_o(ctl_awaddr),
    .ctl_awvalid_o(ctl_awvalid),
    .ctl_awready_i(ctl_awready),
    .ctl_wdata_o(ctl_wdata),
    .ctl_wstrb_o(ctl_wstrb),
    .ctl_wvalid_o(ctl_wvalid),
    .ctl_wready_i(ctl_wready),
    .ctl_bresp_i(ctl_bresp),
    .ctl_bvalid_i(ctl_bvalid),
    .ctl_bready_o(ctl_bready),
    .ctl_araddr_o(ctl_araddr),
    .ctl_arvalid_o(ctl_arvalid),
    .ctl_arready_i(ctl_arready),
    .ctl_rdata_i(ctl_rdata),
    .ctl_rresp_i(ctl_rresp),
    .ctl_rvalid_i(ctl_rvalid),
    .ctl_rready_o(ctl_rready),
    .sin_tdata_o(sin_tdata),
    .sin_tkeep_o(sin_tkeep),
    .sin_tlast_o(sin_tlast),
    .sin_tid_o(sin_tid),
    .sin_tdest_o(sin_tdest),
    .sin_tvalid_o(sin_tvalid),
    .sin_tready_i('{default: '0}),
    .sout_tdata_i('{default: '0}),
    .sout_tkeep_i('{default: '0}),
    .sout_tlast_i('{default: '0}),
    .sout_tid_i('{default: '0}),
    .sout_tdest_i('{default: '0}),
    .sout_tvalid_i('{default: '0}),
    .sout_tready_o(sout_tready),
    .net_drain_o(),
    .net_quiet_i('{default: '0}),
    .peripheral_rst_no(),
    .net_send_tdata_o(),
    .net_send_tkeep_o(),
    .net_send_tlast_o(),
    .net_send_tvalid_o(),
    .net_send_tready_i('{default: '0}),
    .net_receive_tdata_i('{default: '0}),
    .net_receive_tkeep_i('{default: '0}),
    .net_receive_tlast_i('{default: '0}),
    .net_receive_tvalid_i('{default: '0}),
    .net_receive_tready_o(),
    .net_start_o(),
    .net_address_o(),
    .net_bytes_o(),
    .net_last_o(),
    .net_stop_o(),
    .net_busy_i('{default: '0}),
    .net_moved_i('{default: '0}),
    .net_done_valid_i('{default: '0}),
    .net_done_ready_o(),
    .net_done_bytes_i('{default: '0}),
    .net_done_last_i('{default: '0}),
    .net_done_status_i('{default: '0}),
    .slot_interrupt_i(interrupt),
    .card_clock_period_i(32'd4000),
    .card_channel_bytes_i(64'h1_0040_0000),
    .slot_identity_i('{64'h0123_4567_89AB_CDEF}),
    .slot_rst_no(slot_rst_n),
    .cache_request_valid_o(),
    .cache_request_ready_i('{default: '0}),
    .cache_request_o(),
    .cache_response_valid_o(),
    .cache_response_ready_i('{default: '0}),
    .cache_response_o(),
    .cache_response_data_valid_o(),
    .cache_response_data_ready_i('{default: '0}),
    .cache_response_data_header_o(),
    .cache_response_data_row_o(),
    .cache_response_data_last_o(),
    .cache_forward_valid_i('{default: '0}),
    .cache_forward_ready_o(),
    .cache_forward_i('{default: '0}),
    .cache_response_valid_i('{default: '0}),
    .cache_response_ready_o(),
    .cache_response_i('{default: '0}),
    .cache_response_data_valid_i('{default: '0}),
    .cache_response_data_ready_o(),
    .cache_response_data_header_i('{default: '0}),
    .cache_response_data_row_i('{default: '0}),
    .cache_response_data_last_i('{default: '0}),
    .access_req_valid_i('{default: '0}),
    .access_req_ready_o(),
    .access_req_access_i('{default: '0}),
    .access_req_held_i('{default: '0}),
    .access_req_hold_i('{default: '0}),
    .access_req_tag_i('{default: '0}),
    .access_req_line_i('{default: '0}),
    .access_req_second_i('{default: '0}),
    .access_req_row_i('{default: '0}),
    .access_req_strobe_i('{default: '0}),
    .access_rsp_valid_o(),
    .access_rsp_ready_i('{default: '0}),
    .access_rsp_tag_o(),
    .access_rsp_status_o(),
    .access_rsp_hold_o(),
    .access_rsp_row_o(),
    .link_request_valid_i('{default: '0}),
    .link_request_i('{default: '0}),
    .link_request_data_valid_i('{default: '0}),
    .link_request_data_header_i('{default: '0}),
    .link_request_data_row_i('{default: '0}),
    .link_request_data_last_i('{default: '0}),
    .link_response_valid_i('{default: '0}),
    .link_response_i('{default: '0}),
    .link_response_data_valid_i('{default: '0}),
    .link_response_data_header_i('{default: '0}),
    .link_response_data_row_i('{default: '0}),
    .link_response_data_last_i('{default: '0}),
    .link_forward_ready_i('{default: '0}),
    .link_response_ready_i('{default: '0}),
    .link_response_data_ready_i('{default: '0}),
    .link_request_ready_o(),
    .link_request_data_ready_o(),
    .link_response_ready_o(),
    .link_response_data_ready_o(),
    .link_forward_valid_o(),
    .link_forward_o(),
    .link_response_valid_o(),
    .link_response_o(),
    .link_response_data_valid_o(),
    .link_response_data_header_o(),
    .link_response_data_row_o(),
    .link_response_data_last_o(),
    .home_arid_o(),
    .home_araddr_o(),
    .home_arlen_o(),
    .home_arsize_o(),
    .home_arburst_o(),
    .home_arvalid_o(),
    .home_arready_i('{default: '0}),
    .home_rid_i('{default: '0}),
    .home_rdata_i('{default: '0}),
    .home_rresp_i('{default: '0}),
    .home_rlast_i('{default: '0}),
    .home_rvalid_i('{default: '0}),
    .home_rready_o(),
    .home_awid_o(),
    .home_awaddr_o(),
    .home_awlen_o(),
    .home_awsize_o(),
    .home_awburst_o(),
    .home_awvalid_o(),
    .home_awready_i('{default: '0}),
    .home_wdata_o(),
    .home_wstrb_o(),
    .home_wlast_o(),
    .home_wvalid_o(),
    .home_wready_i('{default: '0}),
    .home_bid_i('{default: '0}),
    .home_bresp_i('{default: '0}),
    .home_bvalid_i('{default: '0}),
    .home_bready_o(),
    .line_req_valid_i('{default: '0}),
    .line_req_ready_o(),
    .line_req_operation_i('{default: '0}),
    .line_req_tag_i('{default: '0}),
    .line_req_line_i('{default: '0}),
    .line_req_parts_i('{default: '0}),
    .line_req_row_i('{default: '0}),
    .line_req_last_i('{default: '0}),
    .line_ack_valid_o(),
    .line_ack_ready_i('{default: '0}),
    .line_ack_tag_o(),
    .line_ack_row_o(),
    .line_ack_last_o()
  );

endmodule
