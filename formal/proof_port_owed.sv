// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Proof: while any access that a kernel had begun when it was asked is not answered, tmb_port_owed reports
// it (unless the port reports that all is settled); and it does so only while something is unanswered. One
// access of either direction is watched: any of those begun in any cycle of a request.
//
// Assumed of the port: B follows an address and all its data, R an address, fewer than six outstanding;
// of the kernel: offers stay (the guard closes the slot otherwise).

module proof_port_owed
  import tmb_guard_pkg::*;
(
  input logic clk_i,
  input logic ar_valid_i,
  input logic ar_ready_i,
  input logic aw_valid_i,
  input logic aw_ready_i,
  input logic w_valid_i,
  input logic w_ready_i,
  input logic w_last_i,
  input logic read_ends_i,
  input logic write_ends_i,
  input logic reads_settled_i,
  input logic writes_settled_i,
  input logic mark_i,
  input logic announce_i,
  input logic watch_i,
  input logic [2:0] place_i  // of the access that is watched, among those begun
);

  logic reset_q = 1'b1;
  logic rst_n;
  always_ff @(posedge clk_i) reset_q <= 1'b0;
  assign rst_n = !reset_q;

  logic [2:0] reads_q, writes_q, data_q, reads_begun, writes_begun, data_begun;
  logic in_burst_q, ar_waits_q, aw_waits_q, w_waits_q;
  owed_t owed;

  tmb_port_owed dut (
    .clk_i, .rst_ni(rst_n), .port_reset_i(1'b0), .reads_i(reads_q), .writes_i(writes_q), .ar_valid_i,
    .aw_valid_i, .w_valid_i, .w_ready_i, .w_last_i, .read_ends_i, .write_ends_i, .reads_settled_i,
    .writes_settled_i, .mark_i, .announce_i, .owed_o(owed)
  );

  assign reads_begun = reads_q + 3'(ar_valid_i);
  assign data_begun = data_q + 3'(w_valid_i || in_burst_q);
  assign writes_begun = (data_begun > writes_q + 3'(aw_valid_i)) ? data_begun
                                                                 : writes_q + 3'(aw_valid_i);

  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      {reads_q, writes_q, data_q, in_burst_q} <= '0;
      {ar_waits_q, aw_waits_q, w_waits_q} <= '0;
    end else begin
      reads_q <= reads_q + 3'(ar_valid_i && ar_ready_i) - 3'(read_ends_i);
      writes_q <= writes_q + 3'(aw_valid_i && aw_ready_i) - 3'(write_ends_i);
      data_q <= data_q + 3'(w_valid_i && w_ready_i && w_last_i) - 3'(write_ends_i);
      if (w_valid_i && w_ready_i) in_burst_q <= !w_last_i;
      ar_waits_q <= ar_valid_i && !ar_ready_i;
      aw_waits_q <= aw_valid_i && !aw_ready_i;
      w_waits_q <= w_valid_i && !w_ready_i;
    end
  end

  always_comb begin
    if (rst_n) begin
      assume (reads_q < 3'd6 && writes_q < 3'd6 && data_q < 3'd6);
      assume (!read_ends_i || reads_q != '0);
      assume (!write_ends_i || (writes_q != '0 && data_q != '0));
      assume (!ar_waits_q || ar_valid_i);
      assume (!aw_waits_q || aw_valid_i);
      assume (!w_waits_q || w_valid_i);
    end
  end

  // The access that is watched: how many are answered before it. Two for writes: asked by mark_i, and by
  // announce_i.
  logic read_watched_q, write_watched_q, announced_watched_q;
  logic [2:0] read_place_q, write_place_q, announced_place_q;

  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      {read_watched_q, write_watched_q, announced_watched_q} <= '0;
    end else begin
      if (watch_i && mark_i && !read_watched_q && place_i < reads_begun
          && !(read_ends_i && place_i == '0)) begin
        read_watched_q <= 1'b1;
        read_place_q <= place_i - 3'(read_ends_i);
      end else if (read_ends_i) begin
        if (read_place_q == '0) read_watched_q <= 1'b0;
        read_place_q <= read_place_q - 3'd1;
      end
      if (reads_settled_i) read_watched_q <= 1'b0;

      if (watch_i && mark_i && !write_watched_q && place_i < writes_begun
          && !(write_ends_i && place_i == '0)) begin
        write_watched_q <= 1'b1;
        write_place_q <= place_i - 3'(write_ends_i);
      end else if (write_ends_i) begin
        if (write_place_q == '0) write_watched_q <= 1'b0;
        write_place_q <= write_place_q - 3'd1;
      end
      if (watch_i && announce_i && !announced_watched_q && place_i < writes_begun
          && !(write_ends_i && place_i == '0)) begin
        announced_watched_q <= 1'b1;
        announced_place_q <= place_i - 3'(write_ends_i);
      end else if (write_ends_i) begin
        if (announced_place_q == '0) announced_watched_q <= 1'b0;
        announced_place_q <= announced_place_q - 3'd1;
      end
      if (writes_settled_i) {write_watched_q, announced_watched_q} <= '0;
    end
  end

  always_comb begin
    if (rst_n) begin
      assert (!read_watched_q || owed.reads);
      assert (!write_watched_q || owed.writes);
      assert (!announced_watched_q || owed.announced);
      // Nothing is reported without reason. An offer may be what is owed.
      assert (!owed.reads || reads_begun != '0);
      assert (!(owed.writes || owed.announced) || writes_begun != '0);
    end
  end

endmodule
