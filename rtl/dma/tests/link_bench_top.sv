// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The shell's manager to host memory with all its users, and the way to pages in host memory, with flat pins for
// link_bench.cpp. A row has its lowest 64 bits here.

module link_bench_top
  import tmb_pkg::*;
  import tmb_fabric_pkg::*;
  import tmb_dma_pkg::*;
#(
  parameter int unsigned SharedRows = 128,
  parameter int unsigned MaxWrites = 4
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  // Readers: command fetch, CopyIn, pages in host memory. Of these, the rows of pages wait until they are taken.
  input  logic        ar_valid_i [3],
  output logic        ar_ready_o [3],
  input  logic [63:0] ar_addr_i [3],
  input  logic [5:0]  ar_len_i [3],
  output logic        r_valid_o [3],
  input  logic        page_r_ready_i,
  output logic [63:0] r_data_o [3],
  output logic        r_last_o [3],
  output logic        r_error_o [3],

  // Writers: CopyOut, events, pages.
  input  logic        aw_valid_i [3],
  output logic        aw_ready_o [3],
  input  logic [63:0] aw_addr_i [3],
  input  logic [5:0]  aw_len_i [3],
  input  logic        w_valid_i [3],
  output logic        w_ready_o [3],
  input  logic [63:0] w_data_i [3],
  input  logic        w_last_i [3],
  input  logic [63:0] page_w_strobe_i,
  output logic        b_valid_o [3],
  input  logic        page_b_ready_i,
  output logic        b_error_o [3],

  // Host.
  output logic        host_ar_valid_o,
  input  logic        host_ar_ready_i,
  output logic [63:0] host_ar_addr_o,
  output logic [5:0]  host_ar_len_o,
  output logic [3:0]  host_ar_id_o,
  input  logic        host_r_valid_i,
  output logic        host_r_ready_o,
  input  logic [63:0] host_r_data_i,
  input  logic        host_r_last_i,
  input  logic        host_r_error_i,
  input  logic [3:0]  host_r_id_i,
  output logic        host_aw_valid_o,
  input  logic        host_aw_ready_i,
  output logic [63:0] host_aw_addr_o,
  output logic [5:0]  host_aw_len_o,
  output logic [3:0]  host_aw_id_o,
  output logic        host_w_valid_o,
  input  logic        host_w_ready_i,
  output logic [63:0] host_w_data_o,
  output logic        host_w_last_o,
  output logic [63:0] host_w_strobe_o,
  input  logic        host_b_valid_i,
  output logic        host_b_ready_o,
  input  logic        host_b_error_i,
  input  logic [3:0]  host_b_id_i
);

  direct_req_t direct_req;
  direct_rsp_t direct_rsp;
  channel_r_t page_row;
  host_r_t row;
  logic b_error;

  assign r_data_o[0] = row.row[63:0];
  assign r_data_o[1] = row.row[63:0];
  assign r_data_o[2] = page_row.row[63:0];
  assign r_last_o[0] = row.last;
  assign r_last_o[1] = row.last;
  assign r_last_o[2] = page_row.last;
  assign r_error_o[0] = row.error;
  assign r_error_o[1] = row.error;
  assign r_error_o[2] = page_row.error;
  assign b_error_o[0] = b_error;
  assign b_error_o[1] = b_error;

  tmb_host_channel #(
    .MaxWrites(MaxWrites)
  ) u_channel (
    .clk_i,
    .rst_ni,
    .mem_ar_valid_i(ar_valid_i[2]),
    .mem_ar_ready_o(ar_ready_o[2]),
    .mem_ar_i('{addr: ar_addr_i[2], len: 8'(ar_len_i[2])}),
    .mem_r_valid_o(r_valid_o[2]),
    .mem_r_ready_i(page_r_ready_i),
    .mem_r_o(page_row),
    .mem_aw_valid_i(aw_valid_i[2]),
    .mem_aw_ready_o(aw_ready_o[2]),
    .mem_aw_i('{addr: aw_addr_i[2], len: 8'(aw_len_i[2])}),
    .mem_w_valid_i(w_valid_i[2]),
    .mem_w_ready_o(w_ready_o[2]),
    .mem_w_i('{last: w_last_i[2], strobe: page_w_strobe_i, row: 512'(w_data_i[2])}),
    .mem_b_valid_o(b_valid_o[2]),
    .mem_b_ready_i(page_b_ready_i),
    .mem_b_error_o(b_error_o[2]),
    .direct_o(direct_req),
    .direct_i(direct_rsp)
  );

  host_ax_t host_ar, host_aw;
  host_w_t host_w;
  assign host_ar_addr_o = host_ar.addr;
  assign host_ar_len_o = host_ar.len;
  assign host_aw_addr_o = host_aw.addr;
  assign host_aw_len_o = host_aw.len;
  assign host_w_data_o = host_w.row[63:0];
  assign host_w_last_o = host_w.last;

  logic [1:0] unused_quiet;
  tmb_dma_host #(
    .HostChannel(1'b1),
    .SharedRows(SharedRows)
  ) u_host (
    .clk_i,
    .rst_ni,
    .stop_i(1'b0),
    .quiet_reads_o(unused_quiet[0]),
    .quiet_writes_o(unused_quiet[1]),
    .command_ar_valid_i(ar_valid_i[0]),
    .command_ar_ready_o(ar_ready_o[0]),
    .command_ar_i('{addr: ar_addr_i[0], len: ar_len_i[0]}),
    .command_r_valid_o(r_valid_o[0]),
    .copy_in_ar_valid_i(ar_valid_i[1]),
    .copy_in_ar_ready_o(ar_ready_o[1]),
    .copy_in_ar_i('{addr: ar_addr_i[1], len: ar_len_i[1]}),
    .copy_in_r_valid_o(r_valid_o[1]),
    .r_o(row),
    .copy_out_aw_valid_i(aw_valid_i[0]),
    .copy_out_aw_ready_o(aw_ready_o[0]),
    .copy_out_aw_i('{addr: aw_addr_i[0], len: aw_len_i[0]}),
    .copy_out_w_valid_i(w_valid_i[0]),
    .copy_out_w_ready_o(w_ready_o[0]),
    .copy_out_w_i('{last: w_last_i[0], row: 512'(w_data_i[0])}),
    .copy_out_b_valid_o(b_valid_o[0]),
    .event_aw_valid_i(aw_valid_i[1]),
    .event_aw_ready_o(aw_ready_o[1]),
    .event_aw_i('{addr: aw_addr_i[1], len: aw_len_i[1]}),
    .event_w_valid_i(w_valid_i[1]),
    .event_w_ready_o(w_ready_o[1]),
    .event_w_i('{last: w_last_i[1], row: 512'(w_data_i[1])}),
    .event_b_valid_o(b_valid_o[1]),
    .b_error_o(b_error),
    .direct_i(direct_req),
    .direct_o(direct_rsp),
    .host_ar_valid_o,
    .host_ar_ready_i,
    .host_ar_o(host_ar),
    .host_ar_id_o,
    .host_r_valid_i,
    .host_r_ready_o,
    .host_r_i('{last: host_r_last_i, error: host_r_error_i, row: 512'(host_r_data_i)}),
    .host_r_id_i,
    .host_aw_valid_o,
    .host_aw_ready_i,
    .host_aw_o(host_aw),
    .host_aw_id_o,
    .host_w_valid_o,
    .host_w_ready_i,
    .host_w_o(host_w),
    .host_w_strobe_o,
    .host_b_valid_i,
    .host_b_ready_o,
    .host_b_error_i,
    .host_b_id_i
  );

endmodule
