// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Proof: when the host resets the shell in the middle of anything, every burst that host memory had taken has been
// answered before, and no write or read leaves after the reset that was granted before it. tmb_shell_reset and
// tmb_dma_host together, with pages in host memory: their channel grants nothing either once stop is high, and
// is quiet when what it granted is answered (tmb_channel). The reset also waits for what network interfaces have sent.
//
// Assumed of the host: a response follows its address and all its data, and rows end; of a user's writes: rows have a
// last one; of network interfaces: while they drain they send nothing, so once they are quiet they stay so. Not assumed: that anything is ever offered, taken or answered.

module proof_shell_reset
  import tmb_pkg::*;
  import tmb_dma_pkg::*;
  import tmb_shell_pkg::*;
#(
  // One direction at a time: the other one is quiet.
  parameter bit Writes = 1'b1
) (
  input logic clk_i,
  input logic start_i,
  input logic bar_idle_i,
  input logic network_quiet_i,
  input logic command_ar_i,
  input logic copy_in_ar_i,
  input logic copy_out_aw_i,
  input logic copy_out_w_i,
  input logic copy_out_last_i,
  input logic event_aw_i,
  input logic event_w_i,
  // The channel of pages grants; it offers what it has granted.
  input logic page_read_i,
  input logic page_write_i,
  input logic page_ar_i,
  input logic page_aw_i,
  input logic page_w_i,
  input logic page_last_i,
  // Host memory.
  input logic ar_ready_i,
  input logic r_valid_i,
  input logic r_last_i,
  input logic [3:0] r_id_i,
  input logic aw_ready_i,
  input logic w_ready_i,
  input logic b_valid_i,
  input logic [3:0] b_id_i
);

  typedef logic [2:0] count_t;

  logic reset_q = 1'b1;
  logic rst_n, parts_rst_n, peripheral_rst_n, stop, hold;
  always_ff @(posedge clk_i) reset_q <= 1'b0;
  assign rst_n = !reset_q;

  // ---------------------------------------------------------------------------------------------
  // The channel of pages: granted and not offered yet, granted and not answered
  // ---------------------------------------------------------------------------------------------

  count_t page_ar_q, page_aw_q, page_reads_q, page_writes_q;
  logic page_read, page_write;
  direct_req_t direct_req;
  direct_rsp_t direct_rsp;
  quiet_t quiet;

  assign page_read = !Writes && page_read_i && !stop && page_reads_q < count_t'(2);
  assign page_write = Writes && page_write_i && !stop && page_writes_q < count_t'(2);
  assign quiet.memory_reads = page_reads_q == '0;
  assign quiet.memory_writes = page_writes_q == '0;
  assign quiet.network_writes = network_quiet_i;
  always_comb begin
    direct_req = '0;
    direct_req.ar_valid = page_ar_i && page_ar_q != '0;
    direct_req.aw_valid = page_aw_i && page_aw_q != '0;
    direct_req.w_valid = page_w_i;
    direct_req.w.last = page_last_i;
  end

  always_ff @(posedge clk_i) begin
    if (!parts_rst_n) begin
      {page_ar_q, page_aw_q, page_reads_q, page_writes_q} <= '0;
    end else begin
      page_ar_q <= page_ar_q + count_t'(page_read) - count_t'(direct_req.ar_valid && direct_rsp.ar_ready);
      page_aw_q <= page_aw_q + count_t'(page_write) - count_t'(direct_req.aw_valid && direct_rsp.aw_ready);
      page_reads_q <= page_reads_q + count_t'(page_read) - count_t'(direct_rsp.r_valid && direct_rsp.r.last);
      page_writes_q <= page_writes_q + count_t'(page_write) - count_t'(direct_rsp.b_valid);
    end
  end

  // ---------------------------------------------------------------------------------------------
  // What is proved
  // ---------------------------------------------------------------------------------------------

  reset_state_t state;
  host_ax_t host_ar, host_aw;
  logic [3:0] host_ar_id, host_aw_id;
  host_w_t host_w;
  row_strobe_t host_w_strobe;
  host_r_t row;
  logic ar_valid, r_ready, aw_valid, w_valid, b_ready, b_error;
  logic command_ready, copy_in_ready, command_r, copy_in_r;
  logic copy_out_ready, copy_out_w_ready, copy_out_b, event_ready, event_w_ready, event_b;

  tmb_shell_reset #(
    .ResetCycles(4)
  ) u_reset (
    .clk_i, .rst_ni(rst_n), .start_i, .used_i(1'b0), .state_o(state), .stop_o(stop), .quiet_i(quiet), .hold_o(hold),
    .bar_idle_i, .rst_no(parts_rst_n), .peripheral_rst_no(peripheral_rst_n)
  );

  tmb_dma_host #(
    .HostChannel(1'b1)
  ) u_host (
    .clk_i, .rst_ni(parts_rst_n), .stop_i(stop), .quiet_reads_o(quiet.host_reads), .quiet_writes_o(quiet.host_writes),
    .command_ar_valid_i(!Writes && command_ar_i), .command_ar_ready_o(command_ready), .command_ar_i('0),
    .command_r_valid_o(command_r), .copy_in_ar_valid_i(!Writes && copy_in_ar_i), .copy_in_ar_ready_o(copy_in_ready),
    .copy_in_ar_i('0), .copy_in_r_valid_o(copy_in_r), .r_o(row), .copy_out_aw_valid_i(Writes && copy_out_aw_i),
    .copy_out_aw_ready_o(copy_out_ready), .copy_out_aw_i('0), .copy_out_w_valid_i(copy_out_w_i),
    .copy_out_w_ready_o(copy_out_w_ready), .copy_out_w_i('{last: copy_out_last_i, row: '0}),
    .copy_out_b_valid_o(copy_out_b), .event_aw_valid_i(Writes && event_aw_i), .event_aw_ready_o(event_ready), .event_aw_i('0),
    .event_w_valid_i(event_w_i), .event_w_ready_o(event_w_ready), .event_w_i('{last: 1'b1, row: '0}),
    .event_b_valid_o(event_b), .b_error_o(b_error), .direct_i(direct_req), .direct_o(direct_rsp),
    .host_ar_valid_o(ar_valid), .host_ar_ready_i(ar_ready_i), .host_ar_o(host_ar), .host_ar_id_o(host_ar_id),
    .host_r_valid_i(r_valid_i), .host_r_ready_o(r_ready), .host_r_i('{last: r_last_i, error: 1'b0, row: '0}),
    .host_r_id_i(r_id_i), .host_aw_valid_o(aw_valid), .host_aw_ready_i(aw_ready_i), .host_aw_o(host_aw),
    .host_aw_id_o(host_aw_id), .host_w_valid_o(w_valid), .host_w_ready_i(w_ready_i), .host_w_o(host_w),
    .host_w_strobe_o(host_w_strobe), .host_b_valid_i(b_valid_i), .host_b_ready_o(b_ready), .host_b_error_i(1'b0),
    .host_b_id_i(b_id_i)
  );

  // ---------------------------------------------------------------------------------------------
  // Host memory: what it has taken and not answered. It knows nothing of the shell's reset
  // ---------------------------------------------------------------------------------------------

  // Reads of pages apart, because their channel counts its own.
  count_t reads_q, page_taken_q, addresses_q, page_addresses_q, data_q;
  logic page_r, page_b, takes_ar, takes_aw;
  assign page_r = r_id_i == HostIdDirect;
  assign page_b = b_id_i == HostIdDirect;
  assign takes_ar = ar_valid && ar_ready_i;
  assign takes_aw = aw_valid && aw_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      {reads_q, page_taken_q, addresses_q, page_addresses_q, data_q} <= '0;
    end else begin
      reads_q <= reads_q + count_t'(takes_ar && host_ar_id != HostIdDirect)
          - count_t'(r_valid_i && r_last_i && !page_r);
      page_taken_q <= page_taken_q + count_t'(takes_ar && host_ar_id == HostIdDirect)
          - count_t'(r_valid_i && r_last_i && page_r);
      addresses_q <= addresses_q + count_t'(takes_aw && host_aw_id != HostIdDirect) - count_t'(b_valid_i && !page_b);
      page_addresses_q <= page_addresses_q + count_t'(takes_aw && host_aw_id == HostIdDirect)
          - count_t'(b_valid_i && page_b);
      data_q <= data_q + count_t'(w_valid && w_ready_i && host_w.last) - count_t'(b_valid_i);
    end
  end

  always_comb begin
    if (rst_n) begin
      // So few that no count here, or reduced in the shell, wraps.
      assume (!ar_ready_i || reads_q + page_taken_q < 3'd3);
      assume (!aw_ready_i || addresses_q + page_addresses_q < 3'd3);
      assume (!w_ready_i || data_q < 3'd4);
      assume (!r_valid_i || (page_r ? page_taken_q != '0 : reads_q != '0));
      assume (!b_valid_i || (data_q != '0 && (page_b ? page_addresses_q != '0 : addresses_q != '0)));
    end
  end

  // Granted to a user since the last reset, and not taken by host memory yet.
  count_t reads_left_q, writes_left_q, rows_left_q;
  logic grants_read, grants_write;
  assign grants_read = (!Writes && command_ar_i && command_ready)
      || (!Writes && copy_in_ar_i && copy_in_ready) || (direct_req.ar_valid && direct_rsp.ar_ready);
  assign grants_write = (Writes && copy_out_aw_i && copy_out_ready)
      || (Writes && event_aw_i && event_ready) || (direct_req.aw_valid && direct_rsp.aw_ready);

  always_ff @(posedge clk_i) begin
    if (!parts_rst_n) begin
      {reads_left_q, writes_left_q, rows_left_q} <= '0;
    end else begin
      reads_left_q <= reads_left_q + count_t'(grants_read) - count_t'(takes_ar);
      writes_left_q <= writes_left_q + count_t'(grants_write) - count_t'(takes_aw);
      rows_left_q <= rows_left_q + count_t'(grants_write) - count_t'(w_valid && w_ready_i && host_w.last);
    end
  end

  // Network interfaces: quiet in this drain, up to now.
  logic network_rests_q;
  always_ff @(posedge clk_i) network_rests_q <= rst_n && stop && (network_rests_q || network_quiet_i);

  always_comb begin
    if (rst_n) begin
      assume (!network_rests_q || network_quiet_i);
      assert (!hold || !stop || network_rests_q);
      assert (peripheral_rst_n == parts_rst_n);
      // The counts of both sides agree: what the proof rests on.
      assert (4'(u_host.reads_q) == 4'(reads_left_q) + 4'(reads_q) + 4'(page_taken_q)
          + 4'(u_host.r_valid_q && u_host.r_q.r.last));
      assert (4'(u_host.writes_q) == 4'(writes_left_q) + 4'(addresses_q) + 4'(page_addresses_q)
          + 4'(u_host.b_valid_q));
      assert (4'(data_q) + 4'(rows_left_q) == 4'(addresses_q) + 4'(page_addresses_q) + 4'(writes_left_q));
      if (Writes) begin
        assert (4'(writes_left_q) == 4'(u_host.u_aw.out_valid_q) + 4'(u_host.u_aw.spare_valid_q));
        assert (4'(rows_left_q) == 4'(u_host.u_turn.count_q)
            + 4'(u_host.u_w.out_valid_q && u_host.u_w.out_q.w.last)
            + 4'(u_host.u_w.spare_valid_q && u_host.u_w.spare_q.w.last));
        assert (4'(page_writes_q) == 4'(page_aw_q) + 4'(page_addresses_q)
            + 4'(u_host.u_aw.out_valid_q && u_host.u_aw.out_q.id == HostIdDirect)
            + 4'(u_host.u_aw.spare_valid_q && u_host.u_aw.spare_q.id == HostIdDirect)
            + 4'(u_host.b_valid_q && u_host.b_q.id == HostIdDirect));
        assert (!u_host.u_aw.spare_valid_q || u_host.u_aw.out_valid_q);
        assert (!u_host.u_w.spare_valid_q || u_host.u_w.out_valid_q);
        // The turn of a burst lasts until its last row has come.
        assert (u_host.u_turn.count_q != '0 || !(u_host.u_w.spare_valid_q ? !u_host.u_w.spare_q.w.last
            : u_host.u_w.out_valid_q && !u_host.u_w.out_q.w.last));
        assert (u_host.u_turn.empty_q == (u_host.u_turn.count_q == '0) && u_host.u_turn.count_q <= 2'd2);
      end
      assert (!(hold && stop) || (u_host.writes_q == '0 && u_host.reads_q == '0 && page_writes_q == '0
          && page_reads_q == '0));
      // Nothing taken is unanswered when the shell forgets it, and nothing is cut off in the middle.
      if (!parts_rst_n) begin
        assert (reads_q == '0 && page_taken_q == '0);
        assert (addresses_q == '0 && page_addresses_q == '0 && data_q == '0);
        assert (hold);
      end
      // Nothing leaves that was granted before the last reset.
      assert (!ar_valid || reads_left_q != '0);
      assert (!aw_valid || writes_left_q != '0);
      assert (!w_valid || rows_left_q != '0);
    end
  end

endmodule
