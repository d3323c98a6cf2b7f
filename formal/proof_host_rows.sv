// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Proof: the manager to host memory (tmb_dma_host) adds no wait between a write's address and its rows. Once host memory
// has accepted an address whose rows are not complete, there are never two cycles in a row without a row on offer: a bridge
// that ends late writes never ends one of the shell's.
//
// Assumed of the users (CopyOut, event writer, pages in host memory): in their turn they offer a row in every cycle, because
// they request with all rows ready; a write has a last row. Assumed of the host: a response follows its address and all its
// data. Not assumed: that anything is ever requested, taken or answered.

module proof_host_rows
  import tmb_pkg::*;
  import tmb_dma_pkg::*;
  import tmb_shell_pkg::*;
(
  input logic clk_i,
  input logic stop_i,
  input logic copy_out_aw_i,
  input logic copy_out_w_i,
  input logic copy_out_last_i,
  input logic event_aw_i,
  input logic event_w_i,
  input logic page_aw_i,
  input logic page_w_i,
  input logic page_last_i,
  // Host memory.
  input logic aw_ready_i,
  input logic w_ready_i,
  input logic b_valid_i,
  input logic [3:0] b_id_i
);

  typedef logic [2:0] count_t;

  logic reset_q = 1'b1;
  logic rst_n;
  always_ff @(posedge clk_i) reset_q <= 1'b0;
  assign rst_n = !reset_q;

  direct_req_t direct_req;
  direct_rsp_t direct_rsp;
  always_comb begin
    direct_req = '0;
    direct_req.aw_valid = page_aw_i;
    direct_req.w_valid = page_w_i;
    direct_req.w.last = page_last_i;
  end

  host_ax_t host_ar, host_aw;
  logic [3:0] host_ar_id, host_aw_id;
  host_w_t host_w;
  row_strobe_t host_w_strobe;
  host_r_t row;
  logic ar_valid, r_ready, aw_valid, w_valid, b_ready, b_error, quiet_reads, quiet_writes;
  logic command_ready, copy_in_ready, command_r, copy_in_r;
  logic copy_out_ready, copy_out_w_ready, copy_out_b, event_ready, event_w_ready, event_b;

  tmb_dma_host #(
    .HostChannel(1'b1)
  ) u_host (
    .clk_i, .rst_ni(rst_n), .stop_i, .quiet_reads_o(quiet_reads), .quiet_writes_o(quiet_writes),
    .command_ar_valid_i(1'b0), .command_ar_ready_o(command_ready), .command_ar_i('0),
    .command_r_valid_o(command_r), .copy_in_ar_valid_i(1'b0), .copy_in_ar_ready_o(copy_in_ready),
    .copy_in_ar_i('0), .copy_in_r_valid_o(copy_in_r), .r_o(row), .copy_out_aw_valid_i(copy_out_aw_i),
    .copy_out_aw_ready_o(copy_out_ready), .copy_out_aw_i('0), .copy_out_w_valid_i(copy_out_w_i),
    .copy_out_w_ready_o(copy_out_w_ready), .copy_out_w_i('{last: copy_out_last_i, row: '0}),
    .copy_out_b_valid_o(copy_out_b), .event_aw_valid_i(event_aw_i), .event_aw_ready_o(event_ready), .event_aw_i('0),
    .event_w_valid_i(event_w_i), .event_w_ready_o(event_w_ready), .event_w_i('{last: 1'b1, row: '0}),
    .event_b_valid_o(event_b), .b_error_o(b_error), .direct_i(direct_req), .direct_o(direct_rsp),
    .host_ar_valid_o(ar_valid), .host_ar_ready_i(1'b0), .host_ar_o(host_ar), .host_ar_id_o(host_ar_id),
    .host_r_valid_i(1'b0), .host_r_ready_o(r_ready), .host_r_i('0), .host_r_id_i('0), .host_aw_valid_o(aw_valid),
    .host_aw_ready_i(aw_ready_i), .host_aw_o(host_aw), .host_aw_id_o(host_aw_id), .host_w_valid_o(w_valid),
    .host_w_ready_i(w_ready_i), .host_w_o(host_w), .host_w_strobe_o(host_w_strobe), .host_b_valid_i(b_valid_i),
    .host_b_ready_o(b_ready), .host_b_error_i(1'b0), .host_b_id_i(b_id_i)
  );

  // Accepted and not answered: addresses, and writes whose last row has come. Granted and not accepted: likewise.
  count_t addresses_q, data_q, addresses_left_q, rows_left_q;
  logic grants, takes_aw, takes_last, late, late_q;
  assign grants = (copy_out_aw_i && copy_out_ready) || (event_aw_i && event_ready)
      || (page_aw_i && direct_rsp.aw_ready);
  assign takes_aw = aw_valid && aw_ready_i;
  assign takes_last = w_valid && w_ready_i && host_w.last;
  assign late = addresses_q > data_q && !w_valid;

  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      {addresses_q, data_q, addresses_left_q, rows_left_q, late_q} <= '0;
    end else begin
      addresses_q <= addresses_q + count_t'(takes_aw) - count_t'(b_valid_i);
      data_q <= data_q + count_t'(takes_last) - count_t'(b_valid_i);
      addresses_left_q <= addresses_left_q + count_t'(grants) - count_t'(takes_aw);
      rows_left_q <= rows_left_q + count_t'(grants) - count_t'(takes_last);
      late_q <= late;
    end
  end

  always_comb begin
    if (rst_n) begin
      // So few that no count wraps.
      assume (!aw_ready_i || addresses_q < 3'd3);
      assume (!w_ready_i || data_q < 3'd4);
      assume (!b_valid_i || (data_q != '0 && addresses_q != '0));
      assume (!u_host.turn_copy || copy_out_w_i);
      assume (!u_host.turn_event || event_w_i);
      assume (!u_host.turn_direct || page_w_i);
      // Invariant that the proof rests on: the counts of both sides agree.
      assert (4'(u_host.writes_q) == 4'(addresses_left_q) + 4'(addresses_q) + 4'(u_host.b_valid_q));
      assert (4'(data_q) + 4'(rows_left_q) == 4'(addresses_q) + 4'(addresses_left_q));
      assert (4'(addresses_left_q) == 4'(u_host.u_aw.out_valid_q) + 4'(u_host.u_aw.spare_valid_q));
      assert (4'(rows_left_q) == 4'(u_host.u_turn.count_q) + 4'(u_host.u_w.out_valid_q && u_host.u_w.out_q.w.last)
          + 4'(u_host.u_w.spare_valid_q && u_host.u_w.spare_q.w.last));
      assert (!u_host.u_aw.spare_valid_q || u_host.u_aw.out_valid_q);
      assert (!u_host.u_w.spare_valid_q || u_host.u_w.out_valid_q);
      assert (u_host.u_turn.count_q != '0 || !(u_host.u_w.spare_valid_q ? !u_host.u_w.spare_q.w.last
          : u_host.u_w.out_valid_q && !u_host.u_w.out_q.w.last));
      assert (u_host.u_turn.empty_q == (u_host.u_turn.count_q == '0) && u_host.u_turn.count_q <= 2'd2);
      // The property.
      assert (!(late && late_q));
    end
  end

endmodule
