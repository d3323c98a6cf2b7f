// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel host_counter for a link of two slices, for tests: an engine at each port does the lines of its slice.
//
// Register map: kernel.toml. Control: ap_ctrl_hs.

`include "tmb_ports.svh"

module host_counter_two (
  `TMB_KERNEL_PORTS,

  output logic         m_host0_req_valid,
  input  logic         m_host0_req_ready,
  output logic [2:0]   m_host0_req_access,
  output logic         m_host0_req_held,
  output logic [2:0]   m_host0_req_hold,
  output logic [4:0]   m_host0_req_tag,
  output logic [32:0]  m_host0_req_line,
  output logic [511:0] m_host0_req_row,
  output logic [63:0]  m_host0_req_strobe,
  input  logic         m_host0_rsp_valid,
  output logic         m_host0_rsp_ready,
  input  logic [4:0]   m_host0_rsp_tag,
  input  logic [1:0]   m_host0_rsp_status,
  input  logic [2:0]   m_host0_rsp_hold,
  input  logic [511:0] m_host0_rsp_row,
  output logic         m_host1_req_valid,
  input  logic         m_host1_req_ready,
  output logic [2:0]   m_host1_req_access,
  output logic         m_host1_req_held,
  output logic [2:0]   m_host1_req_hold,
  output logic [4:0]   m_host1_req_tag,
  output logic [32:0]  m_host1_req_line,
  output logic [511:0] m_host1_req_row,
  output logic [63:0]  m_host1_req_strobe,
  input  logic         m_host1_rsp_valid,
  output logic         m_host1_rsp_ready,
  input  logic [4:0]   m_host1_rsp_tag,
  input  logic [1:0]   m_host1_rsp_status,
  input  logic [2:0]   m_host1_rsp_hold,
  input  logic [511:0] m_host1_rsp_row
);

  localparam int unsigned LineLog2 = 7;

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [63:0] result;    // 0x28
    logic [31:0] mode;      // 0x24
    logic [31:0] inflight;  // 0x20
    logic [31:0] updates;   // 0x1C
    logic [31:0] rows;      // 0x18
    logic [63:0] base;      // 0x10
  } arguments_t;

  arguments_t arguments;
  logic start, done;
  logic [1:0] ends, ended_q;

  kernel_control_registers #(
    .ArgumentWords($bits(arguments_t) / 32)
  ) u_control (
    `TMB_CONNECT_CONTROL,
    .begin_o(start),
    .done_i(done),
    .arguments_o(arguments)
  );

  assign m_host0_rsp_ready = 1'b1;
  host_counter_engine #(
    .Slice(0),
    .NumSlices(2)
  ) u_engine0 (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .done_o(ends[0]),
    .base_i(arguments.base[39:LineLog2]),
    .rows_i(arguments.rows),
    .updates_i(arguments.updates),
    .inflight_i(arguments.inflight),
    .mode_i(arguments.mode[1:0]),
    .result_i(arguments.result[39:LineLog2]),
    .req_valid_o(m_host0_req_valid),
    .req_ready_i(m_host0_req_ready),
    .req_access_o(m_host0_req_access),
    .req_held_o(m_host0_req_held),
    .req_hold_o(m_host0_req_hold),
    .req_tag_o(m_host0_req_tag),
    .req_line_o(m_host0_req_line),
    .req_row_o(m_host0_req_row),
    .req_strobe_o(m_host0_req_strobe),
    .rsp_valid_i(m_host0_rsp_valid),
    .rsp_tag_i(m_host0_rsp_tag[2:0]),
    .rsp_status_i(m_host0_rsp_status),
    .rsp_hold_i(m_host0_rsp_hold),
    .rsp_word_i(m_host0_rsp_row[127:64])
  );

  assign m_host1_rsp_ready = 1'b1;
  host_counter_engine #(
    .Slice(1),
    .NumSlices(2)
  ) u_engine1 (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .done_o(ends[1]),
    .base_i(arguments.base[39:LineLog2]),
    .rows_i(arguments.rows),
    .updates_i(arguments.updates),
    .inflight_i(arguments.inflight),
    .mode_i(arguments.mode[1:0]),
    .result_i(arguments.result[39:LineLog2]),
    .req_valid_o(m_host1_req_valid),
    .req_ready_i(m_host1_req_ready),
    .req_access_o(m_host1_req_access),
    .req_held_o(m_host1_req_held),
    .req_hold_o(m_host1_req_hold),
    .req_tag_o(m_host1_req_tag),
    .req_line_o(m_host1_req_line),
    .req_row_o(m_host1_req_row),
    .req_strobe_o(m_host1_req_strobe),
    .rsp_valid_i(m_host1_rsp_valid),
    .rsp_tag_i(m_host1_rsp_tag[2:0]),
    .rsp_status_i(m_host1_rsp_status),
    .rsp_hold_i(m_host1_rsp_hold),
    .rsp_word_i(m_host1_rsp_row[127:64])
  );

  // Done when both are.
  assign done = &(ends | ended_q);
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n || start || done) ended_q <= '0;
    else ended_q <= ended_q | ends;
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, arguments.base[63:40], arguments.base[LineLog2-1:0], arguments.result[63:40],
                       arguments.result[LineLog2-1:0], arguments.mode[31:2], m_host0_rsp_tag[4:3],
                       m_host0_rsp_row[511:128], m_host0_rsp_row[63:0], m_host1_rsp_tag[4:3],
                       m_host1_rsp_row[511:128], m_host1_rsp_row[63:0]};

endmodule
