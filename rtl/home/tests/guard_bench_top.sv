// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// tmb_home_guard with flat pins for guard_bench.cpp: the directory's slice (d_*) on one side, a kernel (k_*)
// on the other. Small, so that everything fills up. A row has its lowest 64 bits here: the guard does not
// look at it.

module guard_bench_top
  import tmb_pkg::*;
  import tmb_directory_pkg::*;
  import tmb_home_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        open_i,
  input  logic        line_open_i,
  input  logic [31:0] patience_i,
  output logic        idle_o,
  output logic        line_idle_o,
  output logic        violation_o,
  output logic [3:0]  rule_o,
  output logic [63:0] at_o,
  output logic [1:0]  answered_o,

  // The slice.
  input  logic        d_ar_valid_i,
  output logic        d_ar_ready_o,
  input  logic [15:0] d_ar_id_i,
  input  logic [63:0] d_ar_addr_i,
  output logic        d_r_valid_o,
  input  logic        d_r_ready_i,
  output logic [15:0] d_r_id_o,
  output logic [63:0] d_r_data_o,
  output logic [1:0]  d_r_resp_o,
  output logic        d_r_last_o,
  input  logic        d_aw_valid_i,
  input  logic [15:0] d_aw_id_i,
  input  logic [63:0] d_aw_addr_i,
  input  logic        d_w_valid_i,
  input  logic [63:0] d_w_data_i,
  input  logic        d_w_last_i,
  output logic        d_b_valid_o,
  input  logic        d_b_ready_i,
  output logic [15:0] d_b_id_o,
  output logic [1:0]  d_b_resp_o,
  output logic        d_op_valid_o,
  input  logic        d_op_ready_i,
  output logic [2:0]  d_op_operation_o,
  output logic [5:0]  d_op_tag_o,
  output logic [63:0] d_op_line_o,
  output logic [3:0]  d_op_parts_o,
  output logic [63:0] d_op_data_o,
  output logic        d_op_last_o,
  input  logic        d_ack_valid_i,
  input  logic [5:0]  d_ack_tag_i,
  input  logic [63:0] d_ack_data_i,
  input  logic        d_ack_last_i,

  // The kernel.
  output logic        k_ar_valid_o,
  input  logic        k_ar_ready_i,
  output logic [15:0] k_ar_id_o,
  output logic [63:0] k_ar_addr_o,
  input  logic        k_r_valid_i,
  output logic        k_r_ready_o,
  input  logic [15:0] k_r_id_i,
  input  logic [63:0] k_r_data_i,
  input  logic [1:0]  k_r_resp_i,
  input  logic        k_r_last_i,
  output logic        k_aw_valid_o,
  input  logic        k_aw_ready_i,
  output logic [15:0] k_aw_id_o,
  output logic [63:0] k_aw_addr_o,
  output logic        k_w_valid_o,
  input  logic        k_w_ready_i,
  output logic [63:0] k_w_data_o,
  output logic        k_w_last_o,
  input  logic        k_b_valid_i,
  output logic        k_b_ready_o,
  input  logic [15:0] k_b_id_i,
  input  logic [1:0]  k_b_resp_i,
  input  logic        k_line_valid_i,
  output logic        k_line_ready_o,
  input  logic [2:0]  k_line_operation_i,
  input  logic [5:0]  k_line_tag_i,
  input  logic [63:0] k_line_line_i,
  input  logic [3:0]  k_line_parts_i,
  input  logic [63:0] k_line_data_i,
  input  logic        k_line_last_i,
  output logic        k_ack_valid_o,
  input  logic        k_ack_ready_i,
  output logic [5:0]  k_ack_tag_o,
  output logic [63:0] k_ack_data_o,
  output logic        k_ack_last_o
);

  axi_req_t slice_req, kernel_req;
  axi_rsp_t slice_rsp, kernel_rsp;
  operation_req_t slice_operation, kernel_operation;
  operation_rsp_t slice_acknowledge, kernel_acknowledge;
  home_violation_t violation;

  always_comb begin
    slice_req = '0;
    slice_req.ar_valid = d_ar_valid_i;
    slice_req.ar.id = d_ar_id_i;
    slice_req.ar.addr = d_ar_addr_i;
    slice_req.r_ready = d_r_ready_i;
    slice_req.aw_valid = d_aw_valid_i;
    slice_req.aw.id = d_aw_id_i;
    slice_req.aw.addr = d_aw_addr_i;
    slice_req.w_valid = d_w_valid_i;
    slice_req.w.data = row_t'(d_w_data_i);
    slice_req.w.last = d_w_last_i;
    slice_req.b_ready = d_b_ready_i;
    kernel_rsp = '0;
    kernel_rsp.ar_ready = k_ar_ready_i;
    kernel_rsp.r_valid = k_r_valid_i;
    kernel_rsp.r = '{id: k_r_id_i, data: row_t'(k_r_data_i), resp: axi_resp_e'(k_r_resp_i), last: k_r_last_i};
    kernel_rsp.aw_ready = k_aw_ready_i;
    kernel_rsp.w_ready = k_w_ready_i;
    kernel_rsp.b_valid = k_b_valid_i;
    kernel_rsp.b = '{id: k_b_id_i, resp: axi_resp_e'(k_b_resp_i)};
  end
  assign kernel_operation = {k_line_operation_i, k_line_tag_i, line_t'(k_line_line_i), k_line_parts_i,
                             row_t'(k_line_data_i), k_line_last_i};
  assign slice_acknowledge = '{tag: d_ack_tag_i, row: row_t'(d_ack_data_i), last: d_ack_last_i};

  tmb_home_guard #(
    .NumReads (8),
    .NumWrites(8),
    .Buffered (16)
  ) i_guard (
    .clk_i            (clk_i),
    .rst_ni           (rst_ni),
    .open_i           (open_i),
    .line_open_i      (line_open_i),
    .patience_i       (patience_i),
    .idle_o           (idle_o),
    .line_idle_o      (line_idle_o),
    .violation_o      (violation_o),
    .violation_info_o (violation),
    .answered_o       (answered_o),
    .axi_req_i        (slice_req),
    .axi_rsp_o        (slice_rsp),
    .operation_valid_o(d_op_valid_o),
    .operation_ready_i(d_op_ready_i),
    .operation_o      (slice_operation),
    .operation_valid_i(d_ack_valid_i),
    .operation_ready_o(),  // always has room: an assertion says so
    .operation_i      (slice_acknowledge),
    .home_req_o       (kernel_req),
    .home_rsp_i       (kernel_rsp),
    .line_valid_i     (k_line_valid_i),
    .line_ready_o     (k_line_ready_o),
    .line_i           (kernel_operation),
    .line_valid_o     (k_ack_valid_o),
    .line_ready_i     (k_ack_ready_i),
    .line_o           (kernel_acknowledge)
  );

  assign rule_o = violation.rule;
  assign at_o = violation.at;
  assign d_ar_ready_o = slice_rsp.ar_ready;
  assign d_r_valid_o = slice_rsp.r_valid;
  assign d_r_id_o = slice_rsp.r.id;
  assign d_r_data_o = slice_rsp.r.data[63:0];
  assign d_r_resp_o = slice_rsp.r.resp;
  assign d_r_last_o = slice_rsp.r.last;
  assign d_b_valid_o = slice_rsp.b_valid;
  assign d_b_id_o = slice_rsp.b.id;
  assign d_b_resp_o = slice_rsp.b.resp;
  assign d_op_operation_o = slice_operation.operation;
  assign d_op_tag_o = slice_operation.tag;
  assign d_op_line_o = 64'(slice_operation.line);
  assign d_op_parts_o = slice_operation.dmask;
  assign d_op_data_o = slice_operation.row[63:0];
  assign d_op_last_o = slice_operation.last;
  assign k_ar_valid_o = kernel_req.ar_valid;
  assign k_ar_id_o = kernel_req.ar.id;
  assign k_ar_addr_o = kernel_req.ar.addr;
  assign k_r_ready_o = kernel_req.r_ready;
  assign k_aw_valid_o = kernel_req.aw_valid;
  assign k_aw_id_o = kernel_req.aw.id;
  assign k_aw_addr_o = kernel_req.aw.addr;
  assign k_w_valid_o = kernel_req.w_valid;
  assign k_w_data_o = kernel_req.w.data[63:0];
  assign k_w_last_o = kernel_req.w.last;
  assign k_b_ready_o = kernel_req.b_ready;
  assign k_ack_tag_o = kernel_acknowledge.tag;
  assign k_ack_data_o = kernel_acknowledge.row[63:0];
  assign k_ack_last_o = kernel_acknowledge.last;

endmodule
