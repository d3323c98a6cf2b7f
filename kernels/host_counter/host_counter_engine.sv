// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// host_counter at one port for the CPU's lines: goes through `rows` lines from `base` on, over and over,
// and does one thing to each of those that belong to its slice, `updates` times in all; then it stores
// what it counted to the line `result`, if its slice has that line.
//
//   mode 0   acquire, store word 1 plus 1 under the hold, release; once more if the hold was lost
//   mode 1   load
//   mode 2   store the number of updates left to word 2
//
// Slice, NumSlices   which lines: folded line number mod NumSlices, 1 or 2
//
// Throughput: inflight lines in the time of their accesses; an access every two cycles at most. Ordering: lines begin in
// their order. No deadlock: answers are always taken, each makes room for the access that follows; a line under a hold is
// released whatever became of the hold.

module host_counter_engine #(
  parameter int unsigned Slice = 0,
  parameter int unsigned NumSlices = 1
) (
  input  logic         clk_i,
  input  logic         rst_ni,

  input  logic         start_i,    // one cycle; the arguments stay
  output logic         done_o,     // one cycle
  input  logic [32:0]  base_i,     // lines
  input  logic [31:0]  rows_i,
  input  logic [31:0]  updates_i,
  input  logic [31:0]  inflight_i,
  input  logic [1:0]   mode_i,
  input  logic [32:0]  result_i,

  output logic         req_valid_o,
  input  logic         req_ready_i,
  output logic [2:0]   req_access_o,
  output logic         req_held_o,
  output logic [2:0]   req_hold_o,
  output logic [4:0]   req_tag_o,
  output logic [32:0]  req_line_o,
  output logic [511:0] req_row_o,
  output logic [63:0]  req_strobe_o,
  input  logic         rsp_valid_i,
  input  logic [2:0]   rsp_tag_i,
  input  logic [1:0]   rsp_status_i,
  input  logic [2:0]   rsp_hold_i,
  input  logic [63:0]  rsp_word_i   // word 1 of the row
);

  localparam int unsigned Tags = 8;
  typedef logic [2:0] tag_t;
  typedef logic [32:0] line_t;

  // Accesses, by their numbers at the port.
  typedef enum logic [2:0] {
    Load = 3'd0,
    Store = 3'd1,
    Acquire = 3'd2,
    Release = 3'd3
  } access_e;
  localparam logic [1:0] Ok = 2'd0;

  logic [31:0] now_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) now_q <= '0;
    else now_q <= now_q + 1'b1;
  end

  // ---------------------------------------------------------------------------------------------
  // What follows an answer
  // ---------------------------------------------------------------------------------------------

  access_e access_q [Tags];
  line_t line_q [Tags];
  logic [2:0] hold_q [Tags];
  logic [63:0] value_q [Tags];
  logic [31:0] since_q [Tags];
  logic [Tags-1:0] busy_q, stored_q;
  logic counts_q;  // the result is on its way
  logic follows, ends, lost, next_valid, next_take, unused_next_ready;
  access_e answered, following;
  tag_t next_tag;

  assign answered = access_q[rsp_tag_i];
  assign lost = rsp_valid_i && !counts_q && mode_i == 2'd0 && answered == Store && rsp_status_i != Ok;
  always_comb begin
    follows = rsp_valid_i && !counts_q && mode_i == 2'd0;
    ends = rsp_valid_i && !follows;
    following = Acquire;
    case (answered)
      Acquire: if (rsp_status_i == Ok) following = Store;
      Store: following = Release;
      default: begin
        if (follows && stored_q[rsp_tag_i]) begin
          follows = 1'b0;
          ends = 1'b1;
        end
      end
    endcase
  end

  // A place for every tag.
  kernel_fifo #(
    .Width(3),
    .Depth(Tags)
  ) u_next (
    .clk_i,
    .rst_ni,
    .in_valid_i(follows),
    .in_ready_o(unused_next_ready),
    .in_data_i(rsp_tag_i),
    .out_valid_o(next_valid),
    .out_ready_i(next_take),
    .out_data_o(next_tag)
  );

  // ---------------------------------------------------------------------------------------------
  // Accesses: what follows goes before new lines
  // ---------------------------------------------------------------------------------------------

  logic running_q, offer_q, offer_free, skips, fresh, finishes, line_here, result_here;
  logic [31:0] left_q, row_q, lost_q;
  logic [63:0] cycles_q;
  tag_t fresh_tag_q, offer_tag_q;
  line_t fresh_line;
  access_e fresh_access;

  assign fresh_line = base_i + line_t'(row_q);
  // Bit 0 of a folded number.
  assign line_here = NumSlices == 1 || (fresh_line[0] ^ fresh_line[5] ^ fresh_line[13]) == Slice[0];
  assign result_here = NumSlices == 1 || (result_i[0] ^ result_i[5] ^ result_i[13]) == Slice[0];
  assign fresh_access = mode_i == 2'd0 ? Acquire : mode_i == 2'd1 ? Load : Store;
  assign offer_free = !offer_q || req_ready_i;
  assign next_take = offer_free;
  assign skips = running_q && left_q != '0 && !line_here;
  assign fresh = offer_free && !next_valid && running_q && left_q != '0 && !skips && !busy_q[fresh_tag_q];
  // All is done but the result, if its line is here.
  assign finishes = running_q && left_q == '0 && busy_q == '0 && !offer_q && !counts_q;

  logic last_row;
  assign last_row = row_q + 32'd1 >= rows_i;
  assign done_o = running_q && ((finishes && !result_here) || (counts_q && rsp_valid_i));
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      running_q <= 1'b0;
      counts_q <= 1'b0;
      busy_q <= '0;
      offer_q <= 1'b0;
      fresh_tag_q <= '0;
      left_q <= '0;
      row_q <= '0;
      lost_q <= '0;
      cycles_q <= '0;
    end else begin
      if (start_i) running_q <= 1'b1;
      else if (done_o) running_q <= 1'b0;
      if (start_i || done_o) counts_q <= 1'b0;
      else if (finishes) counts_q <= 1'b1;
      if (start_i) begin
        left_q <= updates_i;
        row_q <= '0;
        fresh_tag_q <= '0;
        lost_q <= '0;
        cycles_q <= '0;
      end else begin
        if (fresh || skips) begin
          left_q <= left_q - 1'b1;
          row_q <= last_row ? '0 : row_q + 1'b1;
        end
        if (fresh) fresh_tag_q <= 32'(fresh_tag_q) + 1 >= inflight_i ? '0 : fresh_tag_q + 1'b1;
        if (lost) lost_q <= lost_q + 1'b1;
        if (rsp_valid_i) cycles_q <= cycles_q + 64'(now_q - since_q[rsp_tag_i]);
      end
      if (offer_free) offer_q <= next_valid || fresh || (finishes && result_here);
      if (fresh) busy_q[fresh_tag_q] <= 1'b1;
      if (ends && !counts_q) busy_q[rsp_tag_i] <= 1'b0;
    end
  end

  access_e offer_access_q;
  line_t offer_line_q;
  logic [511:0] offer_row_q;
  logic [63:0] offer_strobe_q;
  always_ff @(posedge clk_i) begin
    if (fresh) begin
      access_q[fresh_tag_q] <= fresh_access;
      line_q[fresh_tag_q] <= fresh_line;
    end
    if (follows) begin
      access_q[rsp_tag_i] <= following;
      if (answered == Acquire) hold_q[rsp_tag_i] <= rsp_hold_i;
      if (answered == Acquire) value_q[rsp_tag_i] <= rsp_word_i + 64'd1;
      if (answered == Store) stored_q[rsp_tag_i] <= rsp_status_i == Ok;
    end
    if (offer_free) begin
      offer_tag_q <= next_valid ? next_tag : fresh_tag_q;
      offer_access_q <= finishes ? Store : next_valid ? access_q[next_tag] : fresh_access;
      offer_line_q <= finishes ? result_i : next_valid ? line_q[next_tag] : fresh_line;
      if (finishes) begin
        offer_row_q <= 512'({32'd0, lost_q, cycles_q});
        offer_strobe_q <= 64'hffff;
      end else if (next_valid) begin
        offer_row_q <= 512'({value_q[next_tag], 64'd0});
        offer_strobe_q <= 64'hff00;
      end else begin
        offer_row_q <= 512'({left_q, 128'd0});
        offer_strobe_q <= 64'hff0000;
      end
    end
    if (req_valid_o && req_ready_i) since_q[offer_tag_q] <= now_q;
  end

  assign req_valid_o = offer_q;
  assign req_access_o = offer_access_q;
  assign req_held_o = mode_i == 2'd0 && !counts_q && offer_access_q == Store;
  assign req_hold_o = hold_q[offer_tag_q];
  assign req_tag_o = 5'(offer_tag_q);
  assign req_line_o = offer_line_q;
  assign req_row_o = offer_row_q;
  assign req_strobe_o = offer_strobe_q;

  logic unused_ok;
  assign unused_ok = &{1'b0, unused_next_ready};

endmodule
