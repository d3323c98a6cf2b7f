// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// tmb_shell with small channels; every bus flat and named, as cocotbext-axi wants it.

`include "tmb_ports.svh"

// Pins of a kernel's port: AXI4, the bench is the manager.
`define KERNEL_PORTS(__at)                 \
  input  logic [15:0] port``__at``_arid,   \
  input  logic [63:0] port``__at``_araddr, \
  input  logic [7:0] port``__at``_arlen,   \
  input  logic [2:0] port``__at``_arsize,  \
  input  logic [1:0] port``__at``_arburst, \
  input  logic port``__at``_arvalid,       \
  output logic port``__at``_arready,       \
  input  logic [15:0] port``__at``_awid,   \
  input  logic [63:0] port``__at``_awaddr, \
  input  logic [7:0] port``__at``_awlen,   \
  input  logic [2:0] port``__at``_awsize,  \
  input  logic [1:0] port``__at``_awburst, \
  input  logic port``__at``_awvalid,       \
  output logic port``__at``_awready,       \
  output logic [15:0] port``__at``_rid,    \
  output logic [511:0] port``__at``_rdata, \
  output logic [1:0] port``__at``_rresp,   \
  output logic port``__at``_rlast,         \
  output logic port``__at``_rvalid,        \
  input  logic port``__at``_rready,        \
  input  logic [511:0] port``__at``_wdata, \
  input  logic [63:0] port``__at``_wstrb,  \
  input  logic port``__at``_wlast,         \
  input  logic port``__at``_wvalid,        \
  output logic port``__at``_wready,        \
  output logic [15:0] port``__at``_bid,    \
  output logic [1:0] port``__at``_bresp,   \
  output logic port``__at``_bvalid,        \
  input  logic port``__at``_bready

// Pins of a channel of memory, and an element of mem_*.
`define CONNECT_MEMORY(__at)                      \
  assign mem``__at``_araddr = mem_araddr[__at];   \
  assign mem``__at``_arlen = mem_arlen[__at];     \
  assign mem``__at``_arvalid = mem_arvalid[__at]; \
  assign mem_arready[__at] = mem``__at``_arready; \
  assign mem``__at``_awaddr = mem_awaddr[__at];   \
  assign mem``__at``_awlen = mem_awlen[__at];     \
  assign mem``__at``_awvalid = mem_awvalid[__at]; \
  assign mem_awready[__at] = mem``__at``_awready; \
  assign mem_rdata[__at] = mem``__at``_rdata;     \
  assign mem_rresp[__at] = mem``__at``_rresp;     \
  assign mem_rlast[__at] = mem``__at``_rlast;     \
  assign mem_rvalid[__at] = mem``__at``_rvalid;   \
  assign mem``__at``_rready = mem_rready[__at];   \
  assign mem``__at``_wdata = mem_wdata[__at];     \
  assign mem``__at``_wstrb = mem_wstrb[__at];     \
  assign mem``__at``_wlast = mem_wlast[__at];     \
  assign mem``__at``_wvalid = mem_wvalid[__at];   \
  assign mem_wready[__at] = mem``__at``_wready;   \
  assign mem_bresp[__at] = mem``__at``_bresp;     \
  assign mem_bvalid[__at] = mem``__at``_bvalid;   \
  assign mem``__at``_bready = mem_bready[__at];   \
  assign mem``__at``_arsize = 3'd6;               \
  assign mem``__at``_awsize = 3'd6;               \
  assign mem``__at``_arburst = 2'b01;             \
  assign mem``__at``_awburst = 2'b01;             \
  assign mem``__at``_arid = '0;                   \
  assign mem``__at``_awid = '0;

// Pins of a kernel's port, and an element of port_*.
`define CONNECT_KERNEL(__at)                        \
  assign port_arid[__at] = port``__at``_arid;       \
  assign port_araddr[__at] = port``__at``_araddr;   \
  assign port_arlen[__at] = port``__at``_arlen;     \
  assign port_arsize[__at] = port``__at``_arsize;   \
  assign port_arburst[__at] = port``__at``_arburst; \
  assign port_arvalid[__at] = port``__at``_arvalid; \
  assign port``__at``_arready = port_arready[__at]; \
  assign port_awid[__at] = port``__at``_awid;       \
  assign port_awaddr[__at] = port``__at``_awaddr;   \
  assign port_awlen[__at] = port``__at``_awlen;     \
  assign port_awsize[__at] = port``__at``_awsize;   \
  assign port_awburst[__at] = port``__at``_awburst; \
  assign port_awvalid[__at] = port``__at``_awvalid; \
  assign port``__at``_awready = port_awready[__at]; \
  assign port``__at``_rid = port_rid[__at];         \
  assign port``__at``_rdata = port_rdata[__at];     \
  assign port``__at``_rresp = port_rresp[__at];     \
  assign port``__at``_rlast = port_rlast[__at];     \
  assign port``__at``_rvalid = port_rvalid[__at];   \
  assign port_rready[__at] = port``__at``_rready;   \
  assign port_wdata[__at] = port``__at``_wdata;     \
  assign port_wstrb[__at] = port``__at``_wstrb;     \
  assign port_wlast[__at] = port``__at``_wlast;     \
  assign port_wvalid[__at] = port``__at``_wvalid;   \
  assign port``__at``_wready = port_wready[__at];   \
  assign port``__at``_bid = port_bid[__at];         \
  assign port``__at``_bresp = port_bresp[__at];     \
  assign port``__at``_bvalid = port_bvalid[__at];   \
  assign port_bready[__at] = port``__at``_bready;

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

  `TMB_READ_PORTS(host),
  `TMB_READ_ID_PORTS(host, 4),
  `TMB_WRITE_PORTS(host),
  `TMB_WRITE_ID_PORTS(host, 4),

  `TMB_READ_PORTS(mem0),
  `TMB_READ_ID_PORTS(mem0, 1),
  `TMB_WRITE_PORTS(mem0),
  `TMB_WRITE_ID_PORTS(mem0, 1),

  `TMB_READ_PORTS(mem1),
  `TMB_READ_ID_PORTS(mem1, 1),
  `TMB_WRITE_PORTS(mem1),
  `TMB_WRITE_ID_PORTS(mem1, 1),

  `KERNEL_PORTS(0),
  `KERNEL_PORTS(1),

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
  `CONNECT_MEMORY(0)
  `CONNECT_MEMORY(1)
  `CONNECT_KERNEL(0)
  `CONNECT_KERNEL(1)
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
  assign interrupt[0] = slot_interrupt_i;
  assign slot_rst_no = slot_rst_n[0];

  // Pins of streams, networks and coherent lines are left open: the configuration has none.
  // verilator lint_off PINMISSING
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
    .slot_interrupt_i(interrupt),
    .card_clock_period_i(32'd4000),
    .card_channel_bytes_i(64'h1_0040_0000),
    .slot_identity_i('{64'h0123_4567_89AB_CDEF}),
    .slot_rst_no(slot_rst_n)
  );
  // verilator lint_on PINMISSING

endmodule
