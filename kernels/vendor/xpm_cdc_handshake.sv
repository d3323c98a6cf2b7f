// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Stand-in for xpm_cdc_handshake: a bus from one clock to another with a request and an acknowledgement.
//
// The source holds src_send until src_rcv is high, and lowers it until src_rcv is low. dest_out keeps what src_in was when
// src_send rose. With DEST_EXT_HSK = 0 the destination acknowledges automatically, one cycle behind dest_req.
// Latency: one cycle of the source and DEST_SYNC_FF + 1 of the destination; the way back is SRC_SYNC_FF + 1.

// Some of the parameters and ports are for tools and for simulations of the vendor's.
// verilator lint_off UNUSEDPARAM
// verilator lint_off UNUSEDSIGNAL
// verilator lint_off WIDTHEXPAND

module xpm_cdc_handshake #(
  parameter int DEST_EXT_HSK   = 1,
  parameter int DEST_SYNC_FF   = 4,
  parameter int INIT_SYNC_FF   = 0,
  parameter int SIM_ASSERT_CHK = 0,
  parameter int SRC_SYNC_FF    = 4,
  parameter int VERSION        = 0,
  parameter int WIDTH          = 1
) (
  input  logic             src_clk,
  input  logic [WIDTH-1:0] src_in,
  input  logic             src_send,
  output logic             src_rcv,
  input  logic             dest_clk,
  output logic [WIDTH-1:0] dest_out,
  output logic             dest_req,
  input  logic             dest_ack
);

  logic [WIDTH-1:0] data_q;
  logic send_q, send_dest, ack_q;

  always_ff @(posedge src_clk) begin
    send_q <= src_send;
    if (!send_q) data_q <= src_in;
  end

  xpm_cdc_array_single #(
    .DEST_SYNC_FF(DEST_SYNC_FF),
    .SRC_INPUT_REG(0),
    .WIDTH(1)
  ) u_send (
    .src_clk(src_clk),
    .src_in(send_q),
    .dest_clk(dest_clk),
    .dest_out(send_dest)
  );

  always_ff @(posedge dest_clk) begin
    dest_req <= send_dest;
    if (send_dest && !dest_req) dest_out <= data_q;
    ack_q <= DEST_EXT_HSK != 0 ? dest_ack : dest_req;
  end

  xpm_cdc_array_single #(
    .DEST_SYNC_FF(SRC_SYNC_FF),
    .SRC_INPUT_REG(0),
    .WIDTH(1)
  ) u_ack (
    .src_clk(dest_clk),
    .src_in(ack_q),
    .dest_clk(src_clk),
    .dest_out(src_rcv)
  );

endmodule
