// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The cache controller with plain vectors for ports, for the simulation in Rust (crates/coherence).
// Wires only.

module tmb_cache_controller_harness
  import tmb_pkg::*;
  import tmb_directory_pkg::*;
  import tmb_cache_controller_pkg::*;
#(
  parameter int unsigned Sets = 64,
  parameter int unsigned Ways = 4,
  parameter int unsigned HoldLimit = 1024
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         access_valid_i,
  input  logic [2:0]   access_kind_i,
  input  logic         access_held_i,
  input  logic [2:0]   access_hold_i,
  input  logic [4:0]   access_tag_i,
  input  logic [32:0]  access_line_i,
  input  logic         access_second_i,
  input  logic [63:0]  access_strobe_i,
  input  logic [511:0] access_row_i,
  output logic         access_ready_o,
  output logic         answer_valid_o,
  output logic [4:0]   answer_tag_o,
  output logic [1:0]   answer_status_o,
  output logic [2:0]   answer_hold_o,
  output logic [511:0] answer_row_o,
  input  logic         answer_ready_i,
  output logic         request_valid_o,
  output logic [63:0]  request_o,
  input  logic         request_ready_i,
  output logic         response_valid_o,
  output logic [63:0]  response_o,
  input  logic         response_ready_i,
  output logic         response_data_valid_o,
  output logic [63:0]  response_data_header_o,
  output logic [511:0] response_data_row_o,
  output logic         response_data_last_o,
  input  logic         response_data_ready_i,
  input  logic         forward_valid_i,
  input  logic [63:0]  forward_i,
  output logic         forward_ready_o,
  input  logic         response_valid_i,
  input  logic [63:0]  response_i,
  output logic         response_ready_o,
  input  logic         response_data_valid_i,
  input  logic [63:0]  response_data_header_i,
  input  logic [511:0] response_data_row_i,
  input  logic         response_data_last_i,
  output logic         response_data_ready_o,
  output logic [4:0]   events_o,
  input  logic [31:0]  timeout_period_i,
  output logic         error_valid_o,
  output logic [1:0]   error_cause_o,
  output logic [15:0]  error_info_o
);

  access_req_t access;
  access_rsp_t answer;
  link_data_t up_line, down_line;
  assign access = '{access: access_e'(access_kind_i), held: access_held_i, hold: access_hold_i,
                    tag: access_tag_i, line: access_line_i, second: access_second_i,
                    row: access_row_i, strobe: access_strobe_i};
  assign answer_tag_o = answer.tag;
  assign answer_status_o = answer.status;
  assign answer_hold_o = answer.hold;
  assign answer_row_o = answer.row;
  assign response_data_header_o = up_line.header;
  assign response_data_row_o = up_line.row;
  assign response_data_last_o = up_line.last;
  assign down_line = '{header: response_data_header_i, row: response_data_row_i,
                       last: response_data_last_i};

  tmb_cache_controller #(
    .Cfg('{Sets: Sets, Ways: Ways, HoldLimit: HoldLimit})
  ) u_controller (
    .clk_i,
    .rst_ni,
    .access_valid_i,
    .access_ready_o,
    .access_i(access),
    .answer_valid_o,
    .answer_ready_i,
    .answer_o(answer),
    .request_valid_o,
    .request_ready_i,
    .request_o,
    .response_valid_o,
    .response_ready_i,
    .response_o,
    .response_data_valid_o,
    .response_data_ready_i,
    .response_data_o(up_line),
    .forward_valid_i,
    .forward_ready_o,
    .forward_i,
    .response_valid_i,
    .response_ready_o,
    .response_i,
    .response_data_valid_i,
    .response_data_ready_o,
    .response_data_i(down_line),
    .timeout_period_i,
    .events_o,
    .error_valid_o,
    .error_o({error_cause_o, error_info_o})
  );

endmodule
