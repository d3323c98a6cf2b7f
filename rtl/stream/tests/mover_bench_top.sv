// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// A pair of movers with flat pins, for mover_bench.cpp: memory on one side, a kernel on the other.

module mover_bench_top
  import tmb_pkg::*;
  import tmb_stream_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,

  input  logic         start_i [2],
  input  logic [47:0]  addr_i [2],
  input  logic [47:0]  bytes_i [2],
  input  logic         last_i,
  input  logic         stop_i,
  output logic         busy_o [2],
  output logic [47:0]  moved_o [2],
  output logic         done_valid_o [2],
  input  logic         done_ready_i [2],
  output logic [47:0]  done_bytes_o [2],
  output logic         done_last_o [2],
  output logic [1:0]   done_status_o [2],

  output logic         ar_valid_o,
  input  logic         ar_ready_i,
  output logic [63:0]  ar_addr_o,
  output logic [7:0]   ar_len_o,
  input  logic         r_valid_i,
  output logic         r_ready_o,
  input  logic [511:0] r_data_i,
  input  logic [1:0]   r_resp_i,
  output logic         aw_valid_o,
  input  logic         aw_ready_i,
  output logic [63:0]  aw_addr_o,
  output logic [7:0]   aw_len_o,
  output logic         w_valid_o,
  input  logic         w_ready_i,
  output logic [511:0] w_data_o,
  output logic [63:0]  w_strb_o,
  output logic         w_last_o,
  input  logic         b_valid_i,
  input  logic [1:0]   b_resp_i,

  output logic         in_valid_o,
  input  logic         in_ready_i,
  output logic [511:0] in_data_o,
  output logic [63:0]  in_keep_o,
  output logic         in_last_o,
  output logic         out_begin_o,
  input  logic         out_valid_i,
  output logic         out_ready_o,
  input  logic [511:0] out_data_i,
  input  logic [63:0]  out_keep_i,
  input  logic         out_last_i
);

  mover_command_t command [2];
  mover_state_t state [2];
  mover_done_t done [2];
  axi_req_t req;
  axi_rsp_t rsp;
  stream_beat_t in_beat;

  for (genvar m = 0; m < 2; m++) begin : gen_mover
    assign command[m] = '{addr: addr_i[m], bytes: bytes_i[m], last: last_i, stop: stop_i};
    assign busy_o[m] = state[m].busy;
    assign moved_o[m] = state[m].moved;
    assign done_bytes_o[m] = done[m].bytes;
    assign done_last_o[m] = done[m].last;
    assign done_status_o[m] = done[m].status;
  end

  tmb_stream_mover i_mover (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .start_i     (start_i),
    .command_i   (command),
    .state_o     (state),
    .done_valid_o(done_valid_o),
    .done_ready_i(done_ready_i),
    .done_o      (done),
    .port_req_o  (req),
    .port_rsp_i  (rsp),
    .in_valid_o  (in_valid_o),
    .in_ready_i  (in_ready_i),
    .in_o        (in_beat),
    .out_begin_o (out_begin_o),
    .out_valid_i (out_valid_i),
    .out_ready_o (out_ready_o),
    .out_i       ('{data: out_data_i, keep: out_keep_i, last: out_last_i})
  );

  assign in_data_o = in_beat.data;
  assign in_keep_o = in_beat.keep;
  assign in_last_o = in_beat.last;
  assign ar_valid_o = req.ar_valid;
  assign ar_addr_o = req.ar.addr;
  assign ar_len_o = req.ar.len;
  assign r_ready_o = req.r_ready;
  assign aw_valid_o = req.aw_valid;
  assign aw_addr_o = req.aw.addr;
  assign aw_len_o = req.aw.len;
  assign w_valid_o = req.w_valid;
  assign w_data_o = req.w.data;
  assign w_strb_o = req.w.strb;
  assign w_last_o = req.w.last;

  always_comb begin
    rsp = '0;
    rsp.ar_ready = ar_ready_i;
    rsp.r_valid = r_valid_i;
    rsp.r.data = r_data_i;
    rsp.r.resp = axi_resp_e'(r_resp_i);
    rsp.aw_ready = aw_ready_i;
    rsp.w_ready = w_ready_i;
    rsp.b_valid = b_valid_i;
    rsp.b.resp = axi_resp_e'(b_resp_i);
  end

endmodule
