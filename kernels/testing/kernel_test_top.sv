// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Test top for kernels that read through m_axi_gmem0 and write through m_axi_gmem1.
//
// cocotbext-axi wants IDs, which such kernels do not have; Verilator renames a port `interrupt`;
// and the handshake rules of AXI4 are asserted here: what is offered stays, unchanged, until it is
// taken. KERNEL (a macro) is the kernel's module. With the macro ONE_PORT the kernel writes through
// m_axi_gmem0 too; here its writes are still those of m_axi_gmem1.

`ifdef ONE_PORT
`define WRITES(signal) .m_axi_gmem0_``signal(m_axi_gmem1_``signal)
`else
`define WRITES(signal) .m_axi_gmem1_``signal(m_axi_gmem1_``signal)
`endif

module kernel_test_top (
  input  logic         ap_clk,
  input  logic         ap_rst_n,
  output logic         kernel_interrupt,

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

  output logic [0:0]   m_axi_gmem0_arid,
  output logic         m_axi_gmem0_arvalid,
  input  logic         m_axi_gmem0_arready,
  output logic [63:0]  m_axi_gmem0_araddr,
  output logic [7:0]   m_axi_gmem0_arlen,
  output logic [2:0]   m_axi_gmem0_arsize,
  output logic [1:0]   m_axi_gmem0_arburst,
  input  logic [0:0]   m_axi_gmem0_rid,
  input  logic         m_axi_gmem0_rvalid,
  output logic         m_axi_gmem0_rready,
  input  logic [511:0] m_axi_gmem0_rdata,
  input  logic         m_axi_gmem0_rlast,
  input  logic [1:0]   m_axi_gmem0_rresp,

  output logic [0:0]   m_axi_gmem1_awid,
  output logic         m_axi_gmem1_awvalid,
  input  logic         m_axi_gmem1_awready,
  output logic [63:0]  m_axi_gmem1_awaddr,
  output logic [7:0]   m_axi_gmem1_awlen,
  output logic [2:0]   m_axi_gmem1_awsize,
  output logic [1:0]   m_axi_gmem1_awburst,
  output logic         m_axi_gmem1_wvalid,
  input  logic         m_axi_gmem1_wready,
  output logic [511:0] m_axi_gmem1_wdata,
  output logic [63:0]  m_axi_gmem1_wstrb,
  output logic         m_axi_gmem1_wlast,
  input  logic [0:0]   m_axi_gmem1_bid,
  input  logic         m_axi_gmem1_bvalid,
  output logic         m_axi_gmem1_bready,
  input  logic [1:0]   m_axi_gmem1_bresp
);

  `KERNEL u_kernel (
    .ap_clk,
    .ap_rst_n,
    .interrupt(kernel_interrupt),
    .s_axi_control_awvalid,
    .s_axi_control_awready,
    .s_axi_control_awaddr,
    .s_axi_control_wvalid,
    .s_axi_control_wready,
    .s_axi_control_wdata,
    .s_axi_control_wstrb,
    .s_axi_control_bvalid,
    .s_axi_control_bready,
    .s_axi_control_bresp,
    .s_axi_control_arvalid,
    .s_axi_control_arready,
    .s_axi_control_araddr,
    .s_axi_control_rvalid,
    .s_axi_control_rready,
    .s_axi_control_rdata,
    .s_axi_control_rresp,
    .m_axi_gmem0_arvalid,
    .m_axi_gmem0_arready,
    .m_axi_gmem0_araddr,
    .m_axi_gmem0_arlen,
    .m_axi_gmem0_arsize,
    .m_axi_gmem0_arburst,
    .m_axi_gmem0_rvalid,
    .m_axi_gmem0_rready,
    .m_axi_gmem0_rdata,
    .m_axi_gmem0_rlast,
    .m_axi_gmem0_rresp,
    `WRITES(awvalid),
    `WRITES(awready),
    `WRITES(awaddr),
    `WRITES(awlen),
    `WRITES(awsize),
    `WRITES(awburst),
    `WRITES(wvalid),
    `WRITES(wready),
    `WRITES(wdata),
    `WRITES(wstrb),
    `WRITES(wlast),
    `WRITES(bvalid),
    `WRITES(bready),
    `WRITES(bresp)
  );

  assign m_axi_gmem0_arid = '0;
  assign m_axi_gmem1_awid = '0;

  default clocking edge_clocking @(posedge ap_clk); endclocking
  default disable iff (!ap_rst_n);

  ArHeld: assert property (m_axi_gmem0_arvalid && !m_axi_gmem0_arready |=> m_axi_gmem0_arvalid &&
      $stable({m_axi_gmem0_araddr, m_axi_gmem0_arlen}));
  AwHeld: assert property (m_axi_gmem1_awvalid && !m_axi_gmem1_awready |=> m_axi_gmem1_awvalid &&
      $stable({m_axi_gmem1_awaddr, m_axi_gmem1_awlen}));
  WHeld: assert property (m_axi_gmem1_wvalid && !m_axi_gmem1_wready |=> m_axi_gmem1_wvalid &&
      $stable({m_axi_gmem1_wdata, m_axi_gmem1_wstrb, m_axi_gmem1_wlast}));
  RHeld: assert property (s_axi_control_rvalid && !s_axi_control_rready |=> s_axi_control_rvalid &&
      $stable(s_axi_control_rdata));
  BHeld: assert property (s_axi_control_bvalid && !s_axi_control_bready |=> s_axi_control_bvalid);

  logic unused_ids;
  assign unused_ids = ^{m_axi_gmem0_rid, m_axi_gmem1_bid};

endmodule
