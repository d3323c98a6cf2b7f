// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: transforms an array in place: each 32-bit word becomes (word + `addend`) rotated left by 7. Reads
// through port m_axi_gmem0, addresses counting upwards, and writes through it to where it read: the worst case
// of shared memory, each page read once and written once (FlexiMem, section IV-B).
//
// `data` is aligned to 64 bytes, the size is a multiple of 4. With `pace` p a row of 64
// bytes is taken every p cycles (0 and 1: each cycle), for accelerators that are slower than the memory.
// Throughput: 64 bytes a cycle in and out at pace 1. Latency: one cycle from a row read to a row written.
// Ordering: a row is written after it was read; rows are written in order. Deadlock: reads never wait for writes
// of later rows, and a row that waits for its turn waits for the clock only.
// Register map: kernel.toml. Control: ap_ctrl_hs.

module transform (
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

  output logic         m_axi_gmem0_awvalid,
  input  logic         m_axi_gmem0_awready,
  output logic [63:0]  m_axi_gmem0_awaddr,
  output logic [7:0]   m_axi_gmem0_awlen,
  output logic [2:0]   m_axi_gmem0_awsize,
  output logic [1:0]   m_axi_gmem0_awburst,
  output logic         m_axi_gmem0_wvalid,
  input  logic         m_axi_gmem0_wready,
  output logic [511:0] m_axi_gmem0_wdata,
  output logic [63:0]  m_axi_gmem0_wstrb,
  output logic         m_axi_gmem0_wlast,
  input  logic         m_axi_gmem0_bvalid,
  output logic         m_axi_gmem0_bready,
  input  logic [1:0]   m_axi_gmem0_bresp
);

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [31:0] pace;    // 0x24
    logic [31:0] addend;  // 0x20
    logic [63:0] bytes;   // 0x18
    logic [63:0] data;    // 0x10
  } arguments_t;

  arguments_t arguments;
  logic start, done;
  logic row_valid, row_ready, turn;
  logic [511:0] row, changed;
  logic [31:0] wait_q;  // cycles until the next row
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
    .base_i(arguments.data),
    .rows_i(arguments.bytes[63:6] + 58'(arguments.bytes[5:0] != '0)),
    .row_valid_o(row_valid),
    .row_ready_i(row_ready && turn),
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

  assign turn = wait_q == '0;
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) wait_q <= '0;
    else if (!turn) wait_q <= wait_q - 32'd1;
    else if (row_valid && row_ready && arguments.pace != '0) wait_q <= arguments.pace - 32'd1;
  end

  for (genvar word = 0; word < 16; word++) begin : gen_words
    logic [31:0] sum;
    assign sum = row[32*word +: 32] + arguments.addend;
    assign changed[32*word +: 32] = {sum[24:0], sum[31:25]};
  end

  kernel_burst_writer u_writer (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .base_i(arguments.data),
    .bytes_i(arguments.bytes),
    .done_o(done),
    .row_valid_i(row_valid && turn),
    .row_ready_o(row_ready),
    .row_i(changed),
    .awvalid_o(m_axi_gmem0_awvalid),
    .awready_i(m_axi_gmem0_awready),
    .awaddr_o(m_axi_gmem0_awaddr),
    .awlen_o(m_axi_gmem0_awlen),
    .wvalid_o(m_axi_gmem0_wvalid),
    .wready_i(m_axi_gmem0_wready),
    .wdata_o(m_axi_gmem0_wdata),
    .wstrb_o(m_axi_gmem0_wstrb),
    .wlast_o(m_axi_gmem0_wlast),
    .bvalid_i(m_axi_gmem0_bvalid),
    .bready_o(m_axi_gmem0_bready)
  );

  // Every beat is a whole row, and addresses count upwards.
  assign m_axi_gmem0_arsize = 3'd6;
  assign m_axi_gmem0_arburst = 2'b01;
  assign m_axi_gmem0_awsize = 3'd6;
  assign m_axi_gmem0_awburst = 2'b01;

  // Of an access that failed, the shell tells the host.
  logic unused_responses;
  assign unused_responses = ^{m_axi_gmem0_rresp, m_axi_gmem0_bresp};

endmodule
