// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: AES-256 in counter mode, as `openssl enc -aes-256-ctr -K key -iv iv`: encrypts or
// decrypts `bytes` bytes from `input` (port m_axi_gmem0) to `output` (port m_axi_gmem1).
//
// Pointers are aligned to 64 bytes; the size is any. 64 bytes a cycle in and out. The key stream is
// made ahead of the data and waits for it, so a stall of the memory costs nothing more.
// Register map: kernel.toml. Control: ap_ctrl_hs.

module aes256ctr (
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
    logic [127:0] iv;          // 0x50
    logic [255:0] key;         // 0x30
    logic [63:0] unused;       // 0x28
    logic [63:0] bytes;        // 0x20
    logic [63:0] destination;  // 0x18, output
    logic [63:0] source;       // 0x10, input
  } arguments_t;

  arguments_t arguments;
  logic start, done;
  logic row_valid, row_ready, stream_valid, out_ready;
  logic [511:0] row, stream_row;
  logic unused_source;  // there is only one

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

  kernel_burst_reader u_reader (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .base_i(arguments.source),
    .rows_i(arguments.bytes[63:6] + 58'(arguments.bytes[5:0] != '0)),
    .row_valid_o(row_valid),
    .row_ready_i(row_ready),
    .row_o(row),
    .row_source_o(unused_source),
    .arvalid_o(m_axi_gmem0_arvalid),
    .arready_i(m_axi_gmem0_arready),
    .araddr_o(m_axi_gmem0_araddr),
    .arlen_o(m_axi_gmem0_arlen),
    .rvalid_i(m_axi_gmem0_rvalid),
    .rready_o(m_axi_gmem0_rready),
    .rdata_i(m_axi_gmem0_rdata),
    .rlast_i(m_axi_gmem0_rlast)
  );

  aes256_keystream u_keystream (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .key_i(arguments.key),
    .iv_i(arguments.iv),
    .row_valid_o(stream_valid),
    .row_ready_i(row_valid && out_ready),
    .row_o(stream_row)
  );

  // A row of data leaves with its row of the key stream.
  assign row_ready = stream_valid && out_ready;

  kernel_burst_writer u_writer (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .base_i(arguments.destination),
    .bytes_i(arguments.bytes),
    .done_o(done),
    .row_valid_i(row_valid && stream_valid),
    .row_ready_o(out_ready),
    .row_i(row ^ stream_row),
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
  logic unused_responses, unused_argument;
  assign unused_argument = ^arguments.unused;
  assign unused_responses = ^{m_axi_gmem0_rresp, m_axi_gmem1_bresp};

endmodule
