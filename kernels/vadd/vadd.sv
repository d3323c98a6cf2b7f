// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: c[i] = a[i] + b[i] for `length` 32-bit integers, which wrap. The one to read first.
//
// a and b are read through port m_axi_gmem0, in turns of up to 64 rows; c is written through
// m_axi_gmem1. A row is 64 bytes: 16 integers. Rows of a wait in a queue until the row of b with
// the same number arrives; the sum leaves in that cycle. So gmem0 is always busy, and gmem1 half
// the time. Pointers are aligned to 64 bytes; the length is any.
// Register map: kernel.toml. Control: ap_ctrl_hs.

module vadd (
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

  output logic         m_axi_gmem0_arvalid,
  input  logic         m_axi_gmem0_arready,
  output logic [63:0]  m_axi_gmem0_araddr,
  output logic [7:0]   m_axi_gmem0_arlen,
  output logic [2:0]   m_axi_gmem0_arsize,
  output logic [1:0]   m_axi_gmem0_arburst,
  input  logic         m_axi_gmem0_rvalid,
  output logic         m_axi_gmem0_rready,
  input  logic [511:0] m_axi_gmem0_rdata,
  input  logic         m_axi_gmem0_rlast,
  input  logic [1:0]   m_axi_gmem0_rresp,

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
  input  logic         m_axi_gmem1_bvalid,
  output logic         m_axi_gmem1_bready,
  input  logic [1:0]   m_axi_gmem1_bresp
);

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [63:0] length;  // 0x28
    logic [63:0] c;       // 0x20
    logic [63:0] b;       // 0x18
    logic [63:0] a;       // 0x10
  } arguments_t;

  arguments_t arguments;
  logic start, done;
  logic [63:0] bytes;
  assign bytes = {arguments.length[61:0], 2'b00};

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
    .done_i(done),
    .arguments_o(arguments)
  );

  // -- Rows of a and b, in turns ------------------------------------------------------------------

  logic row_valid, row_ready, row_is_b;
  logic [511:0] row;

  kernel_burst_reader #(
    .NumSources(2)
  ) u_reader (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .base_i({arguments.b, arguments.a}),
    .rows_i(bytes[63:6] + 58'(bytes[5:0] != '0)),
    .row_valid_o(row_valid),
    .row_ready_i(row_ready),
    .row_o(row),
    .row_source_o(row_is_b),
    .arvalid_o(m_axi_gmem0_arvalid),
    .arready_i(m_axi_gmem0_arready),
    .araddr_o(m_axi_gmem0_araddr),
    .arlen_o(m_axi_gmem0_arlen),
    .rvalid_i(m_axi_gmem0_rvalid),
    .rready_o(m_axi_gmem0_rready),
    .rdata_i(m_axi_gmem0_rdata),
    .rlast_i(m_axi_gmem0_rlast)
  );

  // -- Sums: a row of a waits for its row of b ----------------------------------------------------

  logic a_ready, a_valid, b_valid, sum_valid, sum_ready;
  logic [511:0] a_row, sum_row;

  assign b_valid = row_valid && row_is_b;
  assign sum_valid = a_valid && b_valid;
  assign row_ready = row_is_b ? a_valid && sum_ready : a_ready;

  kernel_fifo #(
    .Width(512),
    .Depth(64)
  ) u_rows_of_a (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .in_valid_i(row_valid && !row_is_b),
    .in_ready_o(a_ready),
    .in_data_i(row),
    .out_valid_o(a_valid),
    .out_ready_i(b_valid && sum_ready),
    .out_data_o(a_row)
  );

  for (genvar i = 0; i < 16; i++) begin : gen_sums
    assign sum_row[32*i+:32] = a_row[32*i+:32] + row[32*i+:32];
  end

  kernel_burst_writer u_writer (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .base_i(arguments.c),
    .bytes_i(bytes),
    .done_o(done),
    .row_valid_i(sum_valid),
    .row_ready_o(sum_ready),
    .row_i(sum_row),
    .awvalid_o(m_axi_gmem1_awvalid),
    .awready_i(m_axi_gmem1_awready),
    .awaddr_o(m_axi_gmem1_awaddr),
    .awlen_o(m_axi_gmem1_awlen),
    .wvalid_o(m_axi_gmem1_wvalid),
    .wready_i(m_axi_gmem1_wready),
    .wdata_o(m_axi_gmem1_wdata),
    .wstrb_o(m_axi_gmem1_wstrb),
    .wlast_o(m_axi_gmem1_wlast),
    .bvalid_i(m_axi_gmem1_bvalid),
    .bready_o(m_axi_gmem1_bready)
  );

  // Every beat is a whole row, and addresses count upwards.
  assign m_axi_gmem0_arsize = 3'd6;
  assign m_axi_gmem0_arburst = 2'b01;
  assign m_axi_gmem1_awsize = 3'd6;
  assign m_axi_gmem1_awburst = 2'b01;

  // The shell reports failed accesses to the host.
  logic unused_responses, unused_length;
  assign unused_responses = ^{m_axi_gmem0_rresp, m_axi_gmem1_bresp};
  assign unused_length = ^arguments.length[63:62];

endmodule
