// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: adds to words of the CPU's own memory, which its cores change, too (CCKit, section 3.2: the card as remote
// agent). The card caches the lines; under a hold what it does to one is atomic for the CPU. It can load and store them
// instead and measures the time. For a link of one slice; host_counter_engine does the work.
//
// Register map: kernel.toml. Control: ap_ctrl_hs.

`include "tmb_ports.svh"

module host_counter (
  `TMB_KERNEL_PORTS,

  output logic         m_host_req_valid,
  input  logic         m_host_req_ready,
  output logic [2:0]   m_host_req_access,
  output logic         m_host_req_held,
  output logic [2:0]   m_host_req_hold,
  output logic [4:0]   m_host_req_tag,
  output logic [32:0]  m_host_req_line,
  output logic [511:0] m_host_req_row,
  output logic [63:0]  m_host_req_strobe,
  input  logic         m_host_rsp_valid,
  output logic         m_host_rsp_ready,
  input  logic [4:0]   m_host_rsp_tag,
  input  logic [1:0]   m_host_rsp_status,
  input  logic [2:0]   m_host_rsp_hold,
  input  logic [511:0] m_host_rsp_row
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

  kernel_control_registers #(
    .ArgumentWords($bits(arguments_t) / 32)
  ) u_control (
    `TMB_CONNECT_CONTROL,
    .begin_o(start),
    .done_i(done),
    .arguments_o(arguments)
  );

  assign m_host_rsp_ready = 1'b1;
  host_counter_engine u_engine (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .done_o(done),
    .base_i(arguments.base[39:LineLog2]),
    .rows_i(arguments.rows),
    .updates_i(arguments.updates),
    .inflight_i(arguments.inflight),
    .mode_i(arguments.mode[1:0]),
    .result_i(arguments.result[39:LineLog2]),
    .req_valid_o(m_host_req_valid),
    .req_ready_i(m_host_req_ready),
    .req_access_o(m_host_req_access),
    .req_held_o(m_host_req_held),
    .req_hold_o(m_host_req_hold),
    .req_tag_o(m_host_req_tag),
    .req_line_o(m_host_req_line),
    .req_row_o(m_host_req_row),
    .req_strobe_o(m_host_req_strobe),
    .rsp_valid_i(m_host_rsp_valid),
    .rsp_tag_i(m_host_rsp_tag[2:0]),
    .rsp_status_i(m_host_rsp_status),
    .rsp_hold_i(m_host_rsp_hold),
    .rsp_word_i(m_host_rsp_row[127:64])
  );

  logic unused_ok;
  assign unused_ok = &{1'b0, arguments.base[63:40], arguments.base[LineLog2-1:0], arguments.result[63:40],
                       arguments.result[LineLog2-1:0], arguments.mode[31:2], m_host_rsp_tag[4:3],
                       m_host_rsp_row[511:128], m_host_rsp_row[63:0]};

endmodule
