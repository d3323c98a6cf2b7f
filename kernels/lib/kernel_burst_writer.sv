// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Writes rows of 64 bytes to an array in memory, in order; the last row with the strobes of the
// bytes that it has.
//
// MaxBursts   bursts that may wait for their response
//
// A burst ends at a 4 KiB boundary: 64 rows, except the first and the last. Requests run ahead of
// the data, so that the memory side can look up addresses early.
//
// Throughput: one row a cycle. Latency: one cycle from row_i to wdata_o. Back-pressure: row_ready_o
// falls while the memory takes no rows. No deadlock: a request waits only for responses to bursts
// whose rows come first.

module kernel_burst_writer #(
  parameter int unsigned MaxBursts = 64
) (
  input  logic         clk_i,
  input  logic         rst_ni,

  // A pulse; base and size are taken with it. The base is aligned to 64 bytes, the size is any.
  input  logic         start_i,
  input  logic [63:0]  base_i,
  input  logic [63:0]  bytes_i,
  // A pulse: every byte is in memory.
  output logic         done_o,

  input  logic         row_valid_i,
  output logic         row_ready_o,
  input  logic [511:0] row_i,

  output logic         awvalid_o,
  input  logic         awready_i,
  output logic [63:0]  awaddr_o,
  output logic [7:0]   awlen_o,
  output logic         wvalid_o,
  input  logic         wready_i,
  output logic [511:0] wdata_o,
  output logic [63:0]  wstrb_o,
  output logic         wlast_o,
  input  logic         bvalid_i,
  output logic         bready_o
);

  typedef logic [$clog2(MaxBursts+1)-1:0] count_t;

  // A last row that is not whole counts as a row.
  logic [57:0] rows;
  assign rows = bytes_i[63:6] + 58'(bytes_i[5:0] != '0);

  logic active_q;

  // -- Requests -----------------------------------------------------------------------------------

  logic [57:0] next_q;       // row number (address / 64) of the next burst
  logic [57:0] ask_left_q;   // rows without a request
  logic ask_q;               // there are such rows
  logic awvalid_q;
  logic [57:0] awaddr_q;
  logic [5:0] awlen_q;
  count_t pending_q;         // bursts without a response

  logic [6:0] room, burst_rows;
  assign room = 7'd64 - 7'(next_q[5:0]);
  assign burst_rows = ask_left_q < 58'(room) ? 7'(ask_left_q) : room;

  logic ask, answered;
  assign ask = ask_q && (!awvalid_q || awready_i) && pending_q != count_t'(MaxBursts);
  assign answered = bvalid_i && bready_o;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ask_q <= 1'b0;
      awvalid_q <= 1'b0;
      pending_q <= '0;
    end else begin
      if (start_i) ask_q <= bytes_i != '0;
      else if (ask) ask_q <= ask_left_q != 58'(burst_rows);
      if (ask) awvalid_q <= 1'b1;
      else if (awready_i) awvalid_q <= 1'b0;
      if (ask != answered) pending_q <= ask ? pending_q + 1'b1 : pending_q - 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      next_q <= base_i[63:6];
      ask_left_q <= rows;
    end else if (ask) begin
      next_q <= next_q + 58'(burst_rows);
      ask_left_q <= ask_left_q - 58'(burst_rows);
      awaddr_q <= next_q;
      awlen_q <= 6'(burst_rows - 7'd1);
    end
  end

  assign awvalid_o = awvalid_q;
  assign awaddr_o = {awaddr_q, 6'b0};
  assign awlen_o = {2'b0, awlen_q};
  assign bready_o = 1'b1;

  // -- Rows: no row leaves before its burst's request was made ------------------------------------

  count_t open_q;            // bursts with a request and without their last row
  logic [57:0] rows_left_q;
  logic [5:0] row_q;         // place of the next row in its 4 KiB
  logic [63:0] tail_strobe_q;
  logic wvalid_q, wlast_q;
  logic [511:0] wdata_q;
  logic [63:0] wstrb_q;

  logic send, final_row, burst_ends;
  assign row_ready_o = open_q != '0 && (!wvalid_q || wready_i);
  assign send = row_valid_i && row_ready_o;
  assign final_row = rows_left_q == 58'd1;
  assign burst_ends = final_row || row_q == 6'd63;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      open_q <= '0;
      wvalid_q <= 1'b0;
    end else begin
      if (ask != (send && burst_ends)) open_q <= ask ? open_q + 1'b1 : open_q - 1'b1;
      if (send) wvalid_q <= 1'b1;
      else if (wready_i) wvalid_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      rows_left_q <= rows;
      row_q <= base_i[11:6];
      tail_strobe_q <= ~64'd0 >> (6'd0 - bytes_i[5:0]);
    end else if (send) begin
      rows_left_q <= rows_left_q - 58'd1;
      row_q <= row_q + 6'd1;
      wdata_q <= row_i;
      wstrb_q <= final_row ? tail_strobe_q : ~64'd0;
      wlast_q <= burst_ends;
    end
  end

  assign wvalid_o = wvalid_q;
  assign wdata_o = wdata_q;
  assign wstrb_o = wstrb_q;
  assign wlast_o = wlast_q;

  // -- Done: nothing to ask for, nothing unanswered -----------------------------------------------

  logic done_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      done_q <= 1'b0;
    end else begin
      if (start_i) active_q <= 1'b1;
      else if (!ask_q && pending_q == '0) active_q <= 1'b0;
      done_q <= active_q && !ask_q && pending_q == '0;
    end
  end
  assign done_o = done_q;

  logic unused_base;
  assign unused_base = ^base_i[5:0];

endmodule
