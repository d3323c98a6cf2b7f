// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// A kernel behind the directory that breaks one rule, once, after its start: for tests of the shell. Before, and
// after, its lines read as zeroes and writes to them are forgotten. kernel.toml lists the crimes.

`include "tmb_ports.svh"

module liar (
  `TMB_KERNEL_PORTS,

  input  logic         s_home_arvalid,
  output logic         s_home_arready,
  input  logic [15:0]  s_home_arid,
  input  logic [63:0]  s_home_araddr,
  output logic         s_home_rvalid,
  input  logic         s_home_rready,
  output logic [15:0]  s_home_rid,
  output logic [511:0] s_home_rdata,
  output logic         s_home_rlast,
  input  logic         s_home_awvalid,
  output logic         s_home_awready,
  input  logic [15:0]  s_home_awid,
  input  logic [63:0]  s_home_awaddr,
  input  logic         s_home_wvalid,
  output logic         s_home_wready,
  input  logic [511:0] s_home_wdata,
  input  logic [63:0]  s_home_wstrb,
  output logic         s_home_bvalid,
  input  logic         s_home_bready,
  output logic [15:0]  s_home_bid,

  `TMB_LINE_PORTS(m_line)
);

  localparam logic [31:0] UnaskedRows = 32'd1;
  localparam logic [31:0] OneRow = 32'd2;
  localparam logic [31:0] UnaskedResponse = 32'd3;
  localparam logic [31:0] UnknownOperation = 32'd4;
  localparam logic [31:0] TagTwice = 32'd5;
  localparam logic [31:0] UnlockOnly = 32'd6;
  localparam logic [31:0] NoResponse = 32'd7;
  localparam logic [31:0] NoAnswer = 32'd8;
  localparam logic [31:0] AnswerTwice = 32'd9;
  localparam logic [31:0] NoWrites = 32'd10;
  localparam logic [31:0] AcknowledgementFirst = 32'd11;
  localparam logic [2:0] CleanInvalidate = 3'd1;
  localparam logic [2:0] Lock = 3'd2;
  localparam logic [2:0] Unlock = 3'd3;
  localparam logic [2:0] Unknown = 3'd7;
  localparam logic [15:0] NoId = 16'h3abc;

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [31:0] crime;  // 0x18
    logic [63:0] line;   // 0x10
  } arguments_t;

  arguments_t arguments;
  logic start, done_q, guilty_q;  // guilty: the crime is still to be committed
  logic committed;
  logic [31:0] crime;
  assign crime = guilty_q ? arguments.crime : '0;
  logic odd;
  assign odd = arguments.crime inside {UnlockOnly, AcknowledgementFirst};

  kernel_control_registers #(
    .ArgumentWords($bits(arguments_t) / 32)
  ) u_control (
    `TMB_CONNECT_CONTROL,
    .begin_o(start),
    .done_i(done_q),
    .arguments_o(arguments)
  );

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      done_q <= 1'b0;
      guilty_q <= 1'b0;
    end else begin
      // The acknowledgement of what is only odd is waited for.
      done_q <= (start && !odd) || (m_line_ack_valid && odd);
      if (start) guilty_q <= 1'b1;
      else if (committed) guilty_q <= 1'b0;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Reads: one at a time, two rows
  // ---------------------------------------------------------------------------------------------

  logic rows_q, second_q, row_sent, again_q;  // again: the answer comes once more
  logic [15:0] id_q;
  logic ar_taken, unasked_rows, swallowed, short_answer;

  assign s_home_arready = !rows_q && !unasked_rows;
  assign ar_taken = s_home_arvalid && s_home_arready;
  assign unasked_rows = crime == UnaskedRows && !rows_q;
  assign swallowed = crime == NoAnswer && ar_taken;
  assign short_answer = crime == OneRow;
  assign row_sent = rows_q && s_home_rready;
  assign s_home_rvalid = rows_q;
  assign s_home_rid = id_q;
  assign s_home_rdata = '0;
  assign s_home_rlast = second_q || short_answer;
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      rows_q <= 1'b0;
      second_q <= 1'b0;
      again_q <= 1'b0;
    end else begin
      if (unasked_rows || (ar_taken && !swallowed)) begin
        rows_q <= 1'b1;
        again_q <= crime == AnswerTwice;
      end else if (row_sent && s_home_rlast) begin
        rows_q <= again_q;
        again_q <= 1'b0;
      end
      if (row_sent) second_q <= !s_home_rlast;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (!rows_q) id_q <= unasked_rows ? NoId : s_home_arid;
  end

  // ---------------------------------------------------------------------------------------------
  // Writes: one at a time
  // ---------------------------------------------------------------------------------------------

  logic busy_q, w_second_q, response_q, unasked_response;
  logic [15:0] b_id_q;
  logic line_written;

  // For ever, or until the operation is acknowledged.
  logic deaf, acknowledged_q;
  assign deaf = crime == NoWrites || (arguments.crime == AcknowledgementFirst && !acknowledged_q);
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) acknowledged_q <= 1'b0;
    else if (m_line_ack_valid) acknowledged_q <= 1'b1;
  end
  assign s_home_awready = !busy_q && !response_q && !unasked_response && !deaf;
  assign s_home_wready = busy_q;
  assign line_written = busy_q && s_home_wvalid && w_second_q;
  assign unasked_response = crime == UnaskedResponse && !busy_q && !response_q;
  assign s_home_bvalid = response_q;
  assign s_home_bid = b_id_q;
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      busy_q <= 1'b0;
      w_second_q <= 1'b0;
      response_q <= 1'b0;
    end else begin
      if (s_home_awvalid && s_home_awready) busy_q <= 1'b1;
      else if (line_written) busy_q <= 1'b0;
      if (busy_q && s_home_wvalid) w_second_q <= !w_second_q;
      if (unasked_response || (line_written && crime != NoResponse)) response_q <= 1'b1;
      else if (s_home_bready) response_q <= 1'b0;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (unasked_response) b_id_q <= NoId;
    else if (s_home_awvalid && s_home_awready) b_id_q <= s_home_awid;
  end

  // ---------------------------------------------------------------------------------------------
  // Operations
  // ---------------------------------------------------------------------------------------------

  logic asks, asked_q;  // asked: the first of two
  assign asks = crime inside {UnknownOperation, TagTwice, UnlockOnly, AcknowledgementFirst};
  assign m_line_req_valid = asks;
  always_comb begin
    case (crime)
      TagTwice: m_line_req_operation = Lock;
      UnlockOnly: m_line_req_operation = Unlock;
      AcknowledgementFirst: m_line_req_operation = CleanInvalidate;
      default: m_line_req_operation = Unknown;
    endcase
  end
  assign m_line_req_tag = 6'd3;
  assign m_line_req_line = arguments.line[39:7];
  assign m_line_ack_ready = 1'b1;
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n || start) asked_q <= 1'b0;
    else if (asks && m_line_req_ready) asked_q <= 1'b1;
  end

  assign committed = unasked_rows || unasked_response || swallowed
      || (crime == OneRow && row_sent) || (crime == AnswerTwice && ar_taken)
      || (crime == NoResponse && line_written)
      || (asks && m_line_req_ready && (asked_q || crime != TagTwice));

  logic unused_ok;
  assign unused_ok = &{1'b0, arguments.line[63:40], arguments.line[6:0], s_home_araddr, s_home_awaddr, s_home_wdata,
                       s_home_wstrb, m_line_ack_tag};

endmodule
