// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// tmb_host_lines_guard with flat pins for guard_bench.cpp: a kernel (k_*) on one side, the cache controller (c_*) on the
// other. The second slice of two, with few sets. A row has its lowest 64 bits here: the guard does not look at it.

module guard_bench_top
  import tmb_pkg::*;
  import tmb_directory_pkg::*;
  import tmb_cache_controller_pkg::*;
  import tmb_host_lines_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        open_i,
  input  logic [31:0] patience_i,
  input  logic [28:0] frames_i,
  output logic        open_o,
  output logic        closing_o,
  output logic        violation_o,
  output logic [3:0]  rule_o,
  output logic [63:0] at_o,

  // The kernel.
  input  logic        k_req_valid_i,
  output logic        k_req_ready_o,
  input  logic [2:0]  k_req_access_i,
  input  logic        k_req_held_i,
  input  logic [2:0]  k_req_hold_i,
  input  logic [4:0]  k_req_tag_i,
  input  logic [63:0] k_req_line_i,
  input  logic        k_req_second_i,
  input  logic [63:0] k_req_data_i,
  output logic        k_rsp_valid_o,
  input  logic        k_rsp_ready_i,
  output logic [4:0]  k_rsp_tag_o,
  output logic [1:0]  k_rsp_status_o,
  output logic [2:0]  k_rsp_hold_o,
  output logic [63:0] k_rsp_data_o,

  // The controller.
  output logic        c_req_valid_o,
  input  logic        c_req_ready_i,
  output logic [2:0]  c_req_access_o,
  output logic        c_req_held_o,
  output logic [2:0]  c_req_hold_o,
  output logic [4:0]  c_req_tag_o,
  output logic [63:0] c_req_line_o,
  output logic        c_req_second_o,
  output logic [63:0] c_req_data_o,
  input  logic        c_rsp_valid_i,
  output logic        c_rsp_ready_o,
  input  logic [4:0]  c_rsp_tag_i,
  input  logic [1:0]  c_rsp_status_i,
  input  logic [2:0]  c_rsp_hold_i,
  input  logic [63:0] c_rsp_data_i
);

  host_violation_t violation;
  access_req_t access;
  access_rsp_t rsp;
  assign {rule_o, at_o} = violation;
  assign c_req_access_o = access.access;
  assign c_req_held_o = access.held;
  assign c_req_hold_o = access.hold;
  assign c_req_tag_o = access.tag;
  assign c_req_line_o = 64'(access.line);
  assign c_req_second_o = access.second;
  assign c_req_data_o = access.row[63:0] ^ access.strobe;
  assign k_rsp_tag_o = rsp.tag;
  assign k_rsp_status_o = rsp.status;
  assign k_rsp_hold_o = rsp.hold;
  assign k_rsp_data_o = rsp.row[63:0];

  tmb_host_lines_guard #(
    .Slice(1),
    .NumSlices(2),
    .Sets(16)
  ) u_guard (
    .clk_i,
    .rst_ni,
    .open_i,
    .patience_i,
    .frames_i,
    .open_o,
    .closing_o,
    .violation_o,
    .violation_info_o(violation),
    .req_valid_i(k_req_valid_i),
    .req_ready_o(k_req_ready_o),
    .req_i('{access: access_e'(k_req_access_i), held: k_req_held_i, hold: k_req_hold_i, tag: k_req_tag_i,
             line: k_req_line_i[32:0], second: k_req_second_i, row: 512'(k_req_data_i), strobe: '0}),
    .rsp_valid_o(k_rsp_valid_o),
    .rsp_ready_i(k_rsp_ready_i),
    .rsp_o(rsp),
    .access_valid_o(c_req_valid_o),
    .access_ready_i(c_req_ready_i),
    .access_o(access),
    .answer_valid_i(c_rsp_valid_i),
    .answer_ready_o(c_rsp_ready_o),
    .answer_i('{tag: c_rsp_tag_i, status: status_e'(c_rsp_status_i), hold: c_rsp_hold_i, row: 512'(c_rsp_data_i)})
  );

endmodule
