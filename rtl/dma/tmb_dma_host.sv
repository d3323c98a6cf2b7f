// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The shell's one AXI4 manager to host memory: joins command fetch, CopyIn, CopyOut, events and direct pages.
//
// Each user has its own AXI ID, so the host's answers of one user stay in order and those of
// different users may overtake each other. All signals to the host are registered both ways.
//
// Reads: requests of command fetch and CopyIn take turns; rows go to whose ID they carry, at once
// (both have room for what they asked). Writes: bursts of CopyOut and events take turns; a burst's
// rows follow its address in the same order, without a bubble. At most TurnDepth bursts are decided
// ahead, so an event waits for two bursts (128 rows) at most, while the bus stays busy.
//
// HostChannel   pages in host memory are a fifth user (direct_*), which takes its turns in both directions,
//               so an event waits for three bursts then
// SharedRows    rows that CopyIn and direct reads each may have outstanding while the other has any, or
//               asks. The link answers in order, so shares of it go by rows outstanding: with the same
//               bound each gets half, and neither waits behind more than that of the other's
//
// stop_i: bursts of command fetch, CopyIn, CopyOut and events are granted no more. Those of direct pages are: they end
// what their channel has granted (tmb_channel). quiet_*_o: no burst is unanswered, of reads, of writes.
//
// Throughput: one row a cycle each way. Latency: one cycle each way.
// No deadlock: writers request with all rows ready; readers with room for all rows.

`include "tmb_assert.svh"

module tmb_dma_host import tmb_pkg::*; import tmb_dma_pkg::*; #(
  parameter bit HostChannel = 1'b0,
  parameter int unsigned SharedRows = 256
) (
  input  logic     clk_i,
  input  logic     rst_ni,

  input  logic     stop_i,
  output logic     quiet_reads_o,
  output logic     quiet_writes_o,

  input  logic     command_ar_valid_i,
  output logic     command_ar_ready_o,
  input  host_ax_t command_ar_i,
  output logic     command_r_valid_o,
  input  logic     copy_in_ar_valid_i,
  output logic     copy_in_ar_ready_o,
  input  host_ax_t copy_in_ar_i,
  output logic     copy_in_r_valid_o,
  output host_r_t  r_o,  // for whom, say the two valids

  input  logic     copy_out_aw_valid_i,
  output logic     copy_out_aw_ready_o,
  input  host_ax_t copy_out_aw_i,
  input  logic     copy_out_w_valid_i,
  output logic     copy_out_w_ready_o,
  input  host_w_t  copy_out_w_i,
  output logic     copy_out_b_valid_o,
  input  logic     event_aw_valid_i,
  output logic     event_aw_ready_o,
  input  host_ax_t event_aw_i,
  input  logic     event_w_valid_i,
  output logic     event_w_ready_o,
  input  host_w_t  event_w_i,
  output logic     event_b_valid_o,
  output logic     b_error_o,  // for whom, say the two valids

  input  direct_req_t direct_i,
  output direct_rsp_t direct_o,

  output logic       host_ar_valid_o,
  input  logic       host_ar_ready_i,
  output host_ax_t   host_ar_o,
  output logic [3:0] host_ar_id_o,
  input  logic       host_r_valid_i,
  output logic       host_r_ready_o,
  input  host_r_t    host_r_i,
  input  logic [3:0] host_r_id_i,
  output logic       host_aw_valid_o,
  input  logic       host_aw_ready_i,
  output host_ax_t   host_aw_o,
  output logic [3:0] host_aw_id_o,
  output logic       host_w_valid_o,
  input  logic       host_w_ready_i,
  output host_w_t    host_w_o,
  output row_strobe_t host_w_strobe_o,
  input  logic       host_b_valid_i,
  output logic       host_b_ready_o,
  input  logic       host_b_error_i,
  input  logic [3:0] host_b_id_i
);

  localparam int unsigned TurnDepth = 2;

  // Users of each direction: command fetch and CopyIn, CopyOut and events; direct pages last.
  localparam int unsigned NumUsers = HostChannel ? 3 : 2;
  localparam int unsigned Direct = NumUsers - 1;
  typedef logic [$clog2(NumUsers)-1:0] user_t;

  typedef struct packed {
    logic [3:0] id;
    host_ax_t   ax;
  } tagged_ax_t;

  typedef struct packed {
    row_strobe_t strobe;
    host_w_t     w;
  } strobed_w_t;

  typedef struct packed {
    logic [3:0] id;
    host_r_t    r;
  } tagged_r_t;

  typedef struct packed {
    logic [3:0] id;
    logic       error;
  } tagged_b_t;

  // ---------------------------------------------------------------------------------------------
  // Reads
  // ---------------------------------------------------------------------------------------------

  logic read_any, read_ready, copy_may, direct_may;
  logic [NumUsers-1:0] read_request, read_grant;
  user_t unused_reader;
  tagged_ax_t read_won, host_ar;

  if (HostChannel) begin : gen_bound
    // Rows asked for and not there yet.
    localparam int unsigned RowsWidth = 16;
    typedef logic [RowsWidth-1:0] rows_t;
    logic [1:0] asks, granted, row_comes, may;
    burst_len_t len [2];
    rows_t rows_q [2];
    assign asks = {direct_i.ar_valid, copy_in_ar_valid_i};
    assign granted = {direct_o.ar_ready && direct_i.ar_valid, copy_in_ar_ready_o && copy_in_ar_valid_i};
    assign row_comes = {direct_o.r_valid, copy_in_r_valid_o};
    assign len[0] = copy_in_ar_i.len;
    assign len[1] = direct_i.ar.len;
    for (genvar u = 0; u < 2; u++) begin : gen_user
      always_ff @(posedge clk_i) begin
        if (!rst_ni) rows_q[u] <= '0;
        else rows_q[u] <= rows_q[u] + (granted[u] ? rows_t'(len[u]) + rows_t'(1) : '0)
            - rows_t'(row_comes[u]);
      end
      assign may[u] = rows_q[u] <= rows_t'(SharedRows - MaxBurstRows)
          || (rows_q[1-u] == '0 && !asks[1-u]);
    end
    assign copy_may = may[0];
    assign direct_may = may[1];
    assign read_request = {direct_i.ar_valid && direct_may, copy_in_ar_valid_i && copy_may && !stop_i,
                           command_ar_valid_i && !stop_i};
    assign direct_o.ar_ready = read_ready && read_grant[Direct];
    assign read_won = read_grant[Direct] ? '{id: HostIdDirect, ax: direct_i.ar}
        : read_grant[1] ? '{id: HostIdCopyIn, ax: copy_in_ar_i}
                        : '{id: HostIdCommand, ax: command_ar_i};
  end else begin : gen_no_bound
    assign copy_may = 1'b1;
    assign direct_may = 1'b0;
    assign read_request = {copy_in_ar_valid_i && !stop_i, command_ar_valid_i && !stop_i};
    assign direct_o.ar_ready = 1'b0;
    assign read_won = read_grant[1] ? '{id: HostIdCopyIn, ax: copy_in_ar_i}
                                    : '{id: HostIdCommand, ax: command_ar_i};
  end

  tmb_round_robin_arbiter #(
    .NumRequests(NumUsers)
  ) u_read_arbiter (
    .clk_i,
    .rst_ni,
    .request_i(read_request),
    .accept_i(read_ready),
    .valid_o(read_any),
    .grant_o(read_grant),
    .index_o(unused_reader)
  );

  assign command_ar_ready_o = read_ready && read_grant[0];
  assign copy_in_ar_ready_o = read_ready && read_grant[1];

  tmb_spill_register #(
    .T(tagged_ax_t)
  ) u_ar (
    .clk_i,
    .rst_ni,
    .in_valid_i(read_any),
    .in_ready_o(read_ready),
    .in_data_i(read_won),
    .out_valid_o(host_ar_valid_o),
    .out_ready_i(host_ar_ready_i),
    .out_data_o(host_ar)
  );
  assign host_ar_id_o = host_ar.id;
  assign host_ar_o = host_ar.ax;

  // Rows are always taken: no spare copy is needed, one register is enough.
  logic r_valid_q;
  tagged_r_t r_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) r_valid_q <= 1'b0;
    else r_valid_q <= host_r_valid_i;
  end
  always_ff @(posedge clk_i) begin
    if (host_r_valid_i) r_q <= '{id: host_r_id_i, r: host_r_i};
  end

  assign host_r_ready_o = 1'b1;
  assign r_o = r_q.r;
  assign command_r_valid_o = r_valid_q && r_q.id == HostIdCommand;
  assign copy_in_r_valid_o = r_valid_q && r_q.id == HostIdCopyIn;
  assign direct_o.r_valid = HostChannel && r_valid_q && r_q.id == HostIdDirect;
  assign direct_o.r = r_q.r;

  // ---------------------------------------------------------------------------------------------
  // Writes
  // ---------------------------------------------------------------------------------------------

  logic write_any, write_accept, aw_ready, turn_ready, turn_valid;
  user_t write_user, turn_user;
  logic [NumUsers-1:0] write_request, write_grant;
  tagged_ax_t write_won, host_aw;

  if (HostChannel) begin : gen_direct_write
    assign write_request = {direct_i.aw_valid, event_aw_valid_i && !stop_i, copy_out_aw_valid_i && !stop_i};
    assign direct_o.aw_ready = write_accept && write_grant[Direct];
    assign write_won = write_grant[Direct] ? '{id: HostIdDirect, ax: direct_i.aw}
        : write_grant[1] ? '{id: HostIdEvent, ax: event_aw_i}
                         : '{id: HostIdCopyOut, ax: copy_out_aw_i};
  end else begin : gen_no_direct_write
    assign write_request = {event_aw_valid_i && !stop_i, copy_out_aw_valid_i && !stop_i};
    assign direct_o.aw_ready = 1'b0;
    assign write_won = write_grant[1] ? '{id: HostIdEvent, ax: event_aw_i}
                                      : '{id: HostIdCopyOut, ax: copy_out_aw_i};
  end

  tmb_round_robin_arbiter #(
    .NumRequests(NumUsers)
  ) u_write_arbiter (
    .clk_i,
    .rst_ni,
    .request_i(write_request),
    .accept_i(write_accept),
    .valid_o(write_any),
    .grant_o(write_grant),
    .index_o(write_user)
  );

  assign write_accept = aw_ready && turn_ready;
  assign copy_out_aw_ready_o = write_accept && write_grant[0];
  assign event_aw_ready_o = write_accept && write_grant[1];

  tmb_spill_register #(
    .T(tagged_ax_t)
  ) u_aw (
    .clk_i,
    .rst_ni,
    .in_valid_i(write_any && turn_ready),
    .in_ready_o(aw_ready),
    .in_data_i(write_won),
    .out_valid_o(host_aw_valid_o),
    .out_ready_i(host_aw_ready_i),
    .out_data_o(host_aw)
  );
  assign host_aw_id_o = host_aw.id;
  assign host_aw_o = host_aw.ax;

  // Whose rows come next: 0 CopyOut's, 1 the event writer's.
  logic w_valid, w_ready, turn_direct, turn_event, turn_copy;
  strobed_w_t w, host_w;

  tmb_fifo #(
    .T(user_t),
    .Depth(TurnDepth)
  ) u_turn (
    .clk_i,
    .rst_ni,
    .in_valid_i(write_any && write_accept),
    .in_ready_o(turn_ready),
    .in_data_i(write_user),
    .out_valid_o(turn_valid),
    .out_ready_i(w_valid && w_ready && w.w.last),
    .out_data_o(turn_user)
  );

  assign turn_copy = turn_valid && turn_user == user_t'(0);
  assign turn_event = turn_valid && turn_user == user_t'(1);
  assign turn_direct = turn_valid && HostChannel && turn_user == user_t'(Direct);
  assign w_valid = (turn_copy && copy_out_w_valid_i) || (turn_event && event_w_valid_i)
      || (turn_direct && direct_i.w_valid);
  always_comb begin
    w = '{strobe: '1, w: turn_event ? event_w_i : copy_out_w_i};
    if (turn_direct) w = '{strobe: direct_i.w.strobe, w: '{last: direct_i.w.last, row: direct_i.w.row}};
  end
  assign event_w_ready_o = turn_event && w_ready;
  assign copy_out_w_ready_o = turn_copy && w_ready;
  assign direct_o.w_ready = turn_direct && w_ready;

  tmb_spill_register #(
    .T(strobed_w_t)
  ) u_w (
    .clk_i,
    .rst_ni,
    .in_valid_i(w_valid),
    .in_ready_o(w_ready),
    .in_data_i(w),
    .out_valid_o(host_w_valid_o),
    .out_ready_i(host_w_ready_i),
    .out_data_o(host_w)
  );
  assign host_w_o = host_w.w;
  assign host_w_strobe_o = host_w.strobe;

  logic b_valid_q;
  tagged_b_t b_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) b_valid_q <= 1'b0;
    else b_valid_q <= host_b_valid_i;
  end
  always_ff @(posedge clk_i) begin
    if (host_b_valid_i) b_q <= '{id: host_b_id_i, error: host_b_error_i};
  end

  assign host_b_ready_o = 1'b1;
  assign b_error_o = b_q.error;
  assign copy_out_b_valid_o = b_valid_q && b_q.id == HostIdCopyOut;
  assign event_b_valid_o = b_valid_q && b_q.id == HostIdEvent;
  assign direct_o.b_valid = HostChannel && b_valid_q && b_q.id == HostIdDirect;
  assign direct_o.b_error = b_q.error;

  // ---------------------------------------------------------------------------------------------
  // Bursts that are granted and not answered
  // ---------------------------------------------------------------------------------------------

  typedef logic [9:0] bursts_t;
  bursts_t reads_q, writes_q;
  logic read_begins, read_ends, write_begins;
  assign read_begins = read_any && read_ready;
  assign read_ends = r_valid_q && r_q.r.last;
  assign write_begins = write_any && write_accept;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) reads_q <= '0;
    else if (read_begins != read_ends) reads_q <= read_begins ? reads_q + 1'b1 : reads_q - 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) writes_q <= '0;
    else if (write_begins != b_valid_q) writes_q <= write_begins ? writes_q + 1'b1 : writes_q - 1'b1;
  end
  assign quiet_reads_o = reads_q == '0;
  assign quiet_writes_o = writes_q == '0;

  `TMB_ASSERT(ReadsAreCounted, reads_q != '1 && !(read_ends && reads_q == '0))
  `TMB_ASSERT(WritesAreCounted, writes_q != '1 && !(b_valid_q && writes_q == '0))

  logic unused_ok;
  assign unused_ok = &{1'b0, unused_reader, direct_i, copy_may, direct_may};

endmodule
