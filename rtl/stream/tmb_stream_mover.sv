// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The movers of one stream pair of a slot: one into the kernel, one out of it, both on one port of the
// virtual memory. The port's reads belong to the one, its writes to the other; they share nothing.
//
// Index 0 is the mover into the kernel, 1 the one out of it.
//
// Throughput, latency, ordering, back-pressure, freedom from deadlock: see the halves.

module tmb_stream_mover
  import tmb_pkg::*;
  import tmb_stream_pkg::*;
#(
  parameter int unsigned BufferRows = 128  // rows that gather to bursts
) (
  input  logic           clk_i,
  input  logic           rst_ni,        // low also while the slot is in reset
  // host
  input  logic           start_i [2],
  input  mover_command_t command_i [2],
  output mover_state_t   state_o [2],
  output logic           done_valid_o [2],
  input  logic           done_ready_i [2],
  output mover_done_t    done_o [2],
  // port of the virtual memory
  output axi_req_t       port_req_o,
  input  axi_rsp_t       port_rsp_i,
  // kernel
  output logic           in_valid_o,
  input  logic           in_ready_i,
  output stream_beat_t   in_o,
  output logic           out_begin_o,   // a packet may begin
  input  logic           out_valid_i,
  output logic           out_ready_o,
  input  stream_beat_t   out_i
);

  tmb_stream_mover_in i_in (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .start_i     (start_i[0]),
    .command_i   (command_i[0]),
    .state_o     (state_o[0]),
    .done_valid_o(done_valid_o[0]),
    .done_ready_i(done_ready_i[0]),
    .done_o      (done_o[0]),
    .ar_valid_o  (port_req_o.ar_valid),
    .ar_ready_i  (port_rsp_i.ar_ready),
    .ar_o        (port_req_o.ar),
    .r_valid_i   (port_rsp_i.r_valid),
    .r_ready_o   (port_req_o.r_ready),
    .r_i         (port_rsp_i.r),
    .t_valid_o   (in_valid_o),
    .t_ready_i   (in_ready_i),
    .t_o         (in_o)
  );

  tmb_stream_mover_out #(
    .BufferRows(BufferRows)
  ) i_out (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .start_i     (start_i[1]),
    .command_i   (command_i[1]),
    .state_o     (state_o[1]),
    .done_valid_o(done_valid_o[1]),
    .done_ready_i(done_ready_i[1]),
    .done_o      (done_o[1]),
    .aw_valid_o  (port_req_o.aw_valid),
    .aw_ready_i  (port_rsp_i.aw_ready),
    .aw_o        (port_req_o.aw),
    .w_valid_o   (port_req_o.w_valid),
    .w_ready_i   (port_rsp_i.w_ready),
    .w_o         (port_req_o.w),
    .b_valid_i   (port_rsp_i.b_valid),
    .b_ready_o   (port_req_o.b_ready),
    .b_i         (port_rsp_i.b),
    .begin_o     (out_begin_o),
    .t_valid_i   (out_valid_i),
    .t_ready_o   (out_ready_o),
    .t_i         (out_i)
  );

endmodule
