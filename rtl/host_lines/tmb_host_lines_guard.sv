// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The boundary between a slot and one cache controller: registers both ways, and a guard.
//
// Slice, NumSlices   which lines: folded line number mod NumSlices
// Sets               of the controller
//
// Guard: an access must be known, have a tag that is not in use, and a line of this slice in the range that the host
// gave; a hold must be released within `patience_i` to twice that many cycles (0: any time). A violation goes no
// further, and violation_o pulses: the slot's guard then closes the slot.
//
// When the way closes (the slot is closed or reset, or no slot is routed here), what the kernel offered is dropped, its
// accesses end unseen, every hold is released, and a sweep of all sets sends the lines home. Only then may the
// way open again.
//
// Throughput: an access and an answer a cycle. Latency: one cycle each way. Ordering: none beyond the controller's.
// Back-pressure: the controller's; answers wait as long as the kernel likes.
// No deadlock: the kernel cannot hold anybody up. Answers that it does not take wait in the controller, which has
// room for one for each tag, and a tag is in use until its answer has left there. A hold ends without its owner: the controller
// breaks it once another agent wants the line, this guard after its timeout. Closing waits for the accesses under way,
// which wait for the CPU alone (tmb_cache_controller, "No deadlock"), and then for accesses of its own, one at a time:
// a release always ends, and a sweep finds lines that are neither held nor under way.
//
// Source: CCKit, section 3.2; docs/blocks/host_lines.md.

`include "tmb_assert.svh"

module tmb_host_lines_guard
  import tmb_directory_pkg::*;
  import tmb_cache_controller_pkg::*;
  import tmb_host_lines_pkg::*;
#(
  parameter int unsigned Slice = 0,
  parameter int unsigned NumSlices = 1,
  parameter int unsigned Sets = 64
) (
  input  logic            clk_i,
  input  logic            rst_ni,

  input  logic            open_i,      // a kernel that obeys is there
  input  logic [31:0]     patience_i,
  input  logic [28:0]     frames_i,    // the CPU's range: frames of 4 KiB from 0 on
  output logic            open_o,      // accesses are taken
  output logic            closing_o,   // the kernel is gone, its lines are not home yet
  output logic            violation_o,
  output host_violation_t violation_info_o,

  // The kernel.
  input  logic            req_valid_i,
  output logic            req_ready_o,
  input  access_req_t     req_i,
  output logic            rsp_valid_o,
  input  logic            rsp_ready_i,
  output access_rsp_t     rsp_o,

  // The controller.
  output logic            access_valid_o,
  input  logic            access_ready_i,
  output access_req_t     access_o,
  input  logic            answer_valid_i,
  output logic            answer_ready_o,
  input  access_rsp_t     answer_i
);

  localparam int unsigned FrameLinesLog2 = 12 - LineOffsetWidth;
  localparam int unsigned SetWidth = $clog2(Sets);

  typedef enum logic [2:0] {
    StClosed,   // no kernel, no line
    StOpen,
    StDrain,    // accesses of the kernel end
    StRelease,  // its holds
    StSweep     // the lines
  } state_e;

  state_e state_q, state_d;
  logic is_open, ours;
  assign is_open = state_q == StOpen && open_i;
  assign ours = state_q == StRelease || state_q == StSweep;

  // ---------------------------------------------------------------------------------------------
  // Accesses
  // ---------------------------------------------------------------------------------------------

  logic head_valid, head_take, head_ready;
  access_req_t head;
  tmb_spill_register #(
    .T(access_req_t)
  ) u_accesses (
    .clk_i,
    .rst_ni,
    .in_valid_i(req_valid_i && is_open),
    .in_ready_o(head_ready),
    .in_data_i(req_i),
    .out_valid_o(head_valid),
    .out_ready_i(head_take),
    .out_data_o(head)
  );
  assign req_ready_o = head_ready && is_open;

  logic [NumAccessTags-1:0] tag_busy_q, tag_starts, tag_ends;
  logic known, tag_free, in_range, own, good;
  line_t head_folded;
  assign head_folded = fold_line(head.line);
  assign known = head.access <= AccessEvict;
  assign tag_free = !tag_busy_q[head.tag];
  assign in_range = 29'(head.line >> FrameLinesLog2) < frames_i;
  assign own = (head_folded & line_t'(NumSlices - 1)) == line_t'(Slice);
  assign good = known && tag_free && in_range && own;

  // Accesses of the shell when the kernel is gone: one access at a time, under tag 0.
  logic own_sent_q, own_ends;
  logic [SetWidth-1:0] count_q;
  access_req_t sweep;
  always_comb begin
    sweep = '0;
    sweep.access = state_q == StRelease ? AccessRelease : AccessSweep;
    sweep.hold = hold_index_t'(count_q);
    // A release is of the hold, whatever the line; but the controller wants a line of this slice.
    sweep.line = state_q == StRelease ? line_t'(Slice) : line_t'(count_q);
  end

  assign access_valid_o = ours ? !own_sent_q : is_open && head_valid && good;
  assign access_o = ours ? sweep : head;
  assign head_take = !is_open || !good || access_ready_i;

  logic sent, answered;
  assign sent = access_valid_o && access_ready_i;
  assign answered = answer_valid_i && answer_ready_o;
  assign tag_starts = sent ? NumAccessTags'(1) << access_o.tag : '0;
  assign tag_ends = answered ? NumAccessTags'(1) << answer_i.tag : '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) tag_busy_q <= '0;
    else tag_busy_q <= (tag_busy_q & ~tag_ends) | tag_starts;
  end

  // ---------------------------------------------------------------------------------------------
  // Answers
  // ---------------------------------------------------------------------------------------------

  logic rsp_valid_q;
  access_rsp_t rsp_q;
  assign answer_ready_o = !is_open || !rsp_valid_q || rsp_ready_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || !is_open) rsp_valid_q <= 1'b0;
    else if (answer_ready_o) rsp_valid_q <= answer_valid_i;
  end
  always_ff @(posedge clk_i) begin
    if (answered) rsp_q <= answer_i;
  end
  assign rsp_valid_o = rsp_valid_q && is_open;
  assign rsp_o = rsp_q;

  // ---------------------------------------------------------------------------------------------
  // Holds: which stand, since when, of which line
  // ---------------------------------------------------------------------------------------------

  logic [NumAccessTags-1:0] tag_acquires_q;
  line_t tag_line_q [NumAccessTags];
  always_ff @(posedge clk_i) begin
    if (sent) begin
      tag_acquires_q[access_o.tag] <= access_o.access == AccessAcquire;
      tag_line_q[access_o.tag] <= access_o.line;
    end
  end

  holds_t hold_busy_q, hold_old_q, hold_starts, hold_ends;
  line_t hold_line_q [NumHolds];
  logic hold_begins, tick;
  logic [31:0] age_q;
  assign hold_begins = answered && tag_acquires_q[answer_i.tag] && answer_i.status == StatusOk;
  assign hold_starts = hold_begins ? holds_t'(1) << answer_i.hold : '0;
  assign hold_ends = sent && access_o.access == AccessRelease ? holds_t'(1) << access_o.hold : '0;
  assign tick = hold_busy_q != '0 && patience_i != '0 && age_q >= patience_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || hold_busy_q == '0 || tick) age_q <= '0;
    else age_q <= age_q + 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      hold_busy_q <= '0;
      hold_old_q <= '0;
    end else begin
      hold_busy_q <= (hold_busy_q & ~hold_ends) | hold_starts;
      hold_old_q <= (tick ? hold_busy_q : hold_old_q) & ~hold_starts;
    end
  end
  always_ff @(posedge clk_i) begin
    if (hold_begins) hold_line_q[answer_i.hold] <= tag_line_q[answer_i.tag];
  end

  // ---------------------------------------------------------------------------------------------
  // Opening and closing
  // ---------------------------------------------------------------------------------------------

  assign own_ends = ours && own_sent_q && answered;
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StClosed: if (open_i) state_d = StOpen;
      StOpen: if (!open_i) state_d = StDrain;
      StDrain: if (tag_busy_q == '0) state_d = StRelease;
      StRelease: if (own_ends && count_q == SetWidth'(NumHolds - 1)) state_d = StSweep;
      default: if (own_ends && count_q == SetWidth'(Sets - 1)) state_d = StClosed;
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StClosed;
      own_sent_q <= 1'b0;
      count_q <= '0;
    end else begin
      state_q <= state_d;
      own_sent_q <= ours && (own_sent_q ? !own_ends : access_ready_i);
      if (state_d != state_q) count_q <= '0;
      else if (own_ends) count_q <= count_q + 1'b1;
    end
  end
  assign open_o = is_open;
  assign closing_o = state_q == StDrain || ours || (state_q == StOpen && !open_i);

  // ---------------------------------------------------------------------------------------------
  // Reports
  // ---------------------------------------------------------------------------------------------

  holds_t late, late_first;
  hold_index_t late_hold;
  assign late = tick ? hold_busy_q & hold_old_q : '0;
  assign late_first = late & (~late + 1'b1);
  tmb_one_hot_index #(
    .Width(NumHolds)
  ) u_late (
    .one_hot_i(late_first),
    .index_o(late_hold)
  );

  host_rule_e rule_d;
  line_t line_d;
  host_violation_t violation_q;
  always_comb begin
    rule_d = HostRuleNone;
    line_d = head.line;
    if (is_open) begin
      if (late != '0) begin
        rule_d = HostRuleHold;
        line_d = hold_line_q[late_hold];
      end
      if (head_valid && !good) begin
        line_d = head.line;
        if (!known) rule_d = HostRuleAccess;
        else if (!tag_free) rule_d = HostRuleTag;
        else if (!in_range) rule_d = HostRuleRange;
        else rule_d = HostRuleSlice;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) violation_q.rule <= HostRuleNone;
    else violation_q.rule <= rule_d;
  end
  always_ff @(posedge clk_i) violation_q.at <= 64'({line_d, LineOffsetWidth'(0)});
  assign violation_o = violation_q.rule != HostRuleNone;
  assign violation_info_o = violation_q;

  `TMB_ASSERT_INIT(HoldsHaveNumbers, Sets >= NumHolds)
  `TMB_ASSERT(ClosedIsQuiet, state_q != StClosed || (tag_busy_q == '0 && hold_busy_q == '0))
  `TMB_ASSERT(AnswersAreAwaited, !answer_valid_i || tag_busy_q[answer_i.tag])

endmodule
