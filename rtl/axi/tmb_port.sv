// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// One AXI4 port of a slot: the shell is the subordinate, the kernel the manager.
//
// All five channels are registered here (spill registers), so that no combinational path leads from
// a slot's input to a slot's output. Behind them are two halves that share nothing: tmb_port_read
// and tmb_port_write. tmb_port_guard watches, tmb_port_owed reports unanswered accesses.
//
// Throughput: one row a cycle read and one written, at the same time. Latency of the boundary: one
// cycle each way. Ordering: reads among themselves and writes among themselves are in order; a read
// and a write are not ordered (AXI4: the kernel waits for B).
// No deadlock: see the halves.
//
// port_reset_i: the slot is held in reset. Nothing is accepted and every output to the kernel is
// low; what was issued drains here.
// closed_i: the guard has closed the slot. Every access is answered with an error.

module tmb_port
  import tmb_pkg::*;
  import tmb_translate_pkg::*;
  import tmb_guard_pkg::*;
#(
  parameter int unsigned ReadBufferRows = 512,
  parameter int unsigned WriteBufferRows = 256,
  // Bursts of a stream between admission and answer: room for short ones to fill the buffer well.
  localparam int unsigned ReadOrderDepth = ReadBufferRows / 2,
  localparam int unsigned WriteOrderDepth = WriteBufferRows / 2
) (
  input  logic     clk_i,
  input  logic     rst_ni,
  input  logic     port_reset_i,
  input  logic     closed_i,
  input  axi_req_t port_req_i,
  output axi_rsp_t port_rsp_o,
  // parks: 0 reads, 1 writes
  output logic       burst_valid_o [2],
  input  logic       burst_ready_i [2],
  output burst_t     burst_o [2],
  input  logic       departure_valid_i [2],
  output logic       departure_ready_o [2],
  input  departure_t departure_i [2],
  // fabric
  output logic            read_req_valid_o,
  input  logic            read_req_ready_i,
  output mem_req_t        read_req_o,
  input  logic            read_rsp_valid_i,
  output logic            read_rsp_ready_o,
  input  mem_read_rsp_t   read_rsp_i,
  output logic            write_req_valid_o,
  input  logic            write_req_ready_i,
  output mem_req_t        write_req_o,
  output logic            write_data_valid_o,
  input  logic            write_data_ready_i,
  output mem_write_data_t write_data_o,
  input  logic            write_rsp_valid_i,
  output logic            write_rsp_ready_o,
  input  mem_write_rsp_t  write_rsp_i,
  // invalidation
  input  logic       epoch_i,
  output logic [1:0] busy_o,  // bursts of each epoch are on their way
  output logic       idle_o,
  // guard
  output logic          violation_o,  // the first since reset
  output guard_status_t guard_o,
  // what is owed of that which has come so far; asked for the host, and for the slot's interrupt
  input  logic          mark_i,
  input  logic          announce_i,
  output owed_t         owed_o
);

  logic boundary_rst_n;
  assign boundary_rst_n = rst_ni && !port_reset_i;

  logic aw_valid, aw_ready, w_valid, w_ready, b_valid, b_ready;
  logic ar_valid, ar_ready, r_valid, r_ready;
  axi_ax_t aw, ar;
  axi_w_t w;
  axi_b_t b;
  axi_r_t r;
  logic [1:0] read_busy, write_busy;
  logic read_idle, write_idle, read_settled, write_settled;
  violation_t read_report, write_report;
  collection_t collection;

  tmb_spill_register #(
    .T(axi_ax_t)
  ) i_aw (
    .clk_i      (clk_i),
    .rst_ni     (boundary_rst_n),
    .in_valid_i (port_req_i.aw_valid),
    .in_ready_o (port_rsp_o.aw_ready),
    .in_data_i  (port_req_i.aw),
    .out_valid_o(aw_valid),
    .out_ready_i(aw_ready),
    .out_data_o (aw)
  );

  tmb_spill_register #(
    .T(axi_w_t)
  ) i_w (
    .clk_i      (clk_i),
    .rst_ni     (boundary_rst_n),
    .in_valid_i (port_req_i.w_valid),
    .in_ready_o (port_rsp_o.w_ready),
    .in_data_i  (port_req_i.w),
    .out_valid_o(w_valid),
    .out_ready_i(w_ready),
    .out_data_o (w)
  );

  tmb_spill_register #(
    .T(axi_b_t)
  ) i_b (
    .clk_i      (clk_i),
    .rst_ni     (boundary_rst_n),
    .in_valid_i (b_valid),
    .in_ready_o (b_ready),
    .in_data_i  (b),
    .out_valid_o(port_rsp_o.b_valid),
    .out_ready_i(port_req_i.b_ready),
    .out_data_o (port_rsp_o.b)
  );

  tmb_spill_register #(
    .T(axi_ax_t)
  ) i_ar (
    .clk_i      (clk_i),
    .rst_ni     (boundary_rst_n),
    .in_valid_i (port_req_i.ar_valid),
    .in_ready_o (port_rsp_o.ar_ready),
    .in_data_i  (port_req_i.ar),
    .out_valid_o(ar_valid),
    .out_ready_i(ar_ready),
    .out_data_o (ar)
  );

  tmb_spill_register #(
    .T(axi_r_t)
  ) i_r (
    .clk_i      (clk_i),
    .rst_ni     (boundary_rst_n),
    .in_valid_i (r_valid),
    .in_ready_o (r_ready),
    .in_data_i  (r),
    .out_valid_o(port_rsp_o.r_valid),
    .out_ready_i(port_req_i.r_ready),
    .out_data_o (port_rsp_o.r)
  );

  tmb_port_read #(
    .BufferRows(ReadBufferRows),
    .OrderDepth(ReadOrderDepth)
  ) i_read (
    .clk_i            (clk_i),
    .rst_ni           (rst_ni),
    .port_reset_i     (port_reset_i),
    .closed_i         (closed_i),
    .ar_valid_i       (ar_valid),
    .ar_ready_o       (ar_ready),
    .ar_i             (ar),
    .r_valid_o        (r_valid),
    .r_ready_i        (r_ready),
    .r_o              (r),
    .burst_valid_o    (burst_valid_o[0]),
    .burst_ready_i    (burst_ready_i[0]),
    .burst_o          (burst_o[0]),
    .departure_valid_i(departure_valid_i[0]),
    .departure_ready_o(departure_ready_o[0]),
    .departure_i      (departure_i[0]),
    .read_req_valid_o (read_req_valid_o),
    .read_req_ready_i (read_req_ready_i),
    .read_req_o       (read_req_o),
    .read_rsp_valid_i (read_rsp_valid_i),
    .read_rsp_ready_o (read_rsp_ready_o),
    .read_rsp_i       (read_rsp_i),
    .epoch_i          (epoch_i),
    .busy_o           (read_busy),
    .idle_o           (read_idle),
    .settled_o        (read_settled),
    .report_o         (read_report)
  );

  tmb_port_write #(
    .BufferRows(WriteBufferRows),
    .OrderDepth(WriteOrderDepth)
  ) i_write (
    .clk_i             (clk_i),
    .rst_ni            (rst_ni),
    .port_reset_i      (port_reset_i),
    .closed_i          (closed_i),
    .aw_valid_i        (aw_valid),
    .aw_ready_o        (aw_ready),
    .aw_i              (aw),
    .w_valid_i         (w_valid),
    .w_ready_o         (w_ready),
    .w_i               (w),
    .b_valid_o         (b_valid),
    .b_ready_i         (b_ready),
    .b_o               (b),
    .burst_valid_o     (burst_valid_o[1]),
    .burst_ready_i     (burst_ready_i[1]),
    .burst_o           (burst_o[1]),
    .departure_valid_i (departure_valid_i[1]),
    .departure_ready_o (departure_ready_o[1]),
    .departure_i       (departure_i[1]),
    .write_req_valid_o (write_req_valid_o),
    .write_req_ready_i (write_req_ready_i),
    .write_req_o       (write_req_o),
    .write_data_valid_o(write_data_valid_o),
    .write_data_ready_i(write_data_ready_i),
    .write_data_o      (write_data_o),
    .write_rsp_valid_i (write_rsp_valid_i),
    .write_rsp_ready_o (write_rsp_ready_o),
    .write_rsp_i       (write_rsp_i),
    .epoch_i           (epoch_i),
    .busy_o            (write_busy),
    .idle_o            (write_idle),
    .settled_o         (write_settled),
    .report_o          (write_report),
    .collection_o      (collection)
  );

  tmb_port_guard i_guard (
    .clk_i         (clk_i),
    .rst_ni        (rst_ni),
    .port_reset_i  (port_reset_i),
    .req_i         (port_req_i),
    .rsp_i         (port_rsp_o),
    .read_report_i (read_report),
    .write_report_i(write_report),
    .collection_i  (collection),
    .violation_o   (violation_o),
    .status_o      (guard_o)
  );

  tmb_port_owed i_owed (
    .clk_i           (clk_i),
    .rst_ni          (rst_ni),
    .port_reset_i    (port_reset_i),
    .reads_i         (guard_o.reads.outstanding),
    .writes_i        (guard_o.writes.outstanding),
    .ar_valid_i      (port_req_i.ar_valid),
    .aw_valid_i      (port_req_i.aw_valid),
    .w_valid_i       (port_req_i.w_valid),
    .w_ready_i       (port_rsp_o.w_ready),
    .w_last_i        (port_req_i.w.last),
    .read_ends_i     (port_rsp_o.r_valid && port_req_i.r_ready && port_rsp_o.r.last),
    .write_ends_i    (port_rsp_o.b_valid && port_req_i.b_ready),
    .reads_settled_i (read_settled && (!port_req_i.ar_valid || !port_rsp_o.ar_ready)),
    .writes_settled_i(write_settled && !port_req_i.aw_valid && !port_req_i.w_valid),
    .mark_i          (mark_i),
    .announce_i      (announce_i),
    .owed_o          (owed_o)
  );

  assign busy_o = read_busy | write_busy;
  assign idle_o = read_idle && write_idle && !aw_valid && !w_valid && !ar_valid
      && !port_rsp_o.b_valid && !port_rsp_o.r_valid;

endmodule
