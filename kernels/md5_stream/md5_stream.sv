// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: MD5 (RFC 1321) of one packet, in `lanes` lanes: beat i, 64 bytes, belongs to lane i mod lanes, and
// the beats of a lane are one message. The digests go to port `out` as one packet, 16 bytes each, lane 0 first. With
// one lane that is `md5sum`. Lanes and rounds are those of kernels/md5.
//
// The packet may have any length, none too, and `lanes` is 1 to 128 (0 is taken as 1, more as 128). Throughput:
// 64 bytes a cycle with 67 lanes and more; with fewer, as many 67ths of that. Ordering: one packet in, one out.
// Back-pressure: beats wait while no lane is free. No deadlock: it waits for its neighbours only. Between runs no
// beat is taken. Register map: kernel.toml. Control: ap_ctrl_hs; done when the last digest has left.

module md5_stream import kernel_stream_pkg::*; (
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

  input  logic [511:0] in_tdata,
  input  logic [63:0]  in_tkeep,
  input  logic         in_tlast,
  input  logic         in_tvalid,
  output logic         in_tready,

  output logic [511:0] out_tdata,
  output logic [63:0]  out_tkeep,
  output logic         out_tlast,
  output logic         out_tvalid,
  input  logic         out_tready
);

  typedef struct packed {
    logic [63:0] lanes;  // 0x10
  } arguments_t;

  arguments_t arguments;
  logic start, done_q;
  logic digests_valid, digests_ready;
  logic advance, block_valid, result_valid;
  logic [511:0] block, digests;
  logic [127:0] state, result;
  logic [63:0] digest_bytes;
  // Bytes of digests that have not left.
  logic [63:0] left_q;
  logic final_beat, send;

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
    .done_i(done_q),
    .arguments_o(arguments)
  );

  hash_lanes #(
    .StateWords(4),
    .InitialState({32'h10325476, 32'h98badcfe, 32'hefcdab89, 32'h67452301}),
    .BigEndian(1'b0),
    .Packets(1'b1)
  ) u_lanes (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .bytes_i('0),
    .lanes_i(arguments.lanes),
    .digest_bytes_o(digest_bytes),
    .row_valid_i(in_tvalid),
    .row_ready_o(in_tready),
    .row_i(in_tdata),
    .row_last_i(in_tlast),
    .row_bytes_i(bytes_of(in_tkeep)),
    .advance_o(advance),
    .block_valid_o(block_valid),
    .block_o(block),
    .state_o(state),
    .result_valid_i(result_valid),
    .result_i(result),
    .digests_valid_o(digests_valid),
    .digests_ready_i(digests_ready),
    .digests_o(digests)
  );

  md5_rounds u_rounds (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .advance_i(advance),
    .block_valid_i(block_valid),
    .block_i(block),
    .state_i(state),
    .result_valid_o(result_valid),
    .result_o(result)
  );

  assign out_tvalid = digests_valid;
  assign digests_ready = out_tready;
  assign out_tdata = digests;
  assign final_beat = left_q <= 64'd64;
  assign out_tkeep = final_beat ? keep_of(7'(left_q)) : '1;
  assign out_tlast = final_beat;
  assign send = out_tvalid && out_tready;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) done_q <= 1'b0;
    else done_q <= send && final_beat;
  end
  always_ff @(posedge ap_clk) begin
    if (start) left_q <= digest_bytes;
    else if (send) left_q <= left_q - 64'd64;
  end

endmodule
