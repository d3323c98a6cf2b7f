// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Levels alone, for stages that serve one request a cycle (address lanes, walker): who may be chosen in this
// cycle. An arbiter behind it chooses among them, in turn. tmb_schedule, which has weights, floors and a
// bound on what is outstanding too, is for devices, whose requests take many cycles.
//
// NumSlots    who asks
// MaxStreak   choices that pass a lower level by, before it has a turn
//
// While `managed_i` is 0 all may be chosen. Otherwise requests below a level that waited in the last
// cycle may not. So a request that has just come may see one of a lower level go first, and no more,
// except that after MaxStreak choices that passed a lower level by, one of those that wait has a turn of its
// own. They take these turns round robin: whatever waits is chosen after at most
// 2 x (MaxStreak + 2) x NumSlots choices.
//
// Who waits must ask until it is chosen, or else it may lose its turn.
//
// Throughput: one choice a cycle. Latency: pass_o comes from registers. Ordering: none of its own.
// No deadlock: of what waits, the highest level may always be chosen, or one that has a turn; a turn ends
// when it is taken, or when its owner does not wait any more.
//
// Source: vFPIO section 4.4 (the highest priority first); the turns are ours.

`include "tmb_assert.svh"

module tmb_schedule_levels import tmb_schedule_pkg::*; #(
  parameter int unsigned NumSlots = 2,
  parameter int unsigned MaxStreak = 15
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                managed_i,           // some slot differs from the others
  input  level_t              level_i [NumSlots],
  input  logic [NumSlots-1:0] waits_i,             // could be served, and is not in this cycle
  input  logic [NumSlots-1:0] taken_i,             // is served in this cycle
  output logic [NumSlots-1:0] pass_o               // may be chosen in this cycle
);

  localparam int unsigned StreakWidth = $clog2(MaxStreak + 1);
  typedef logic [NumSlots-1:0] slots_t;

  if (NumSlots == 1) begin : gen_single
    assign pass_o = '1;

    logic unused_ok;
    assign unused_ok = &{1'b0, clk_i, rst_ni, managed_i, level_i[0], waits_i, taken_i};
  end else begin : gen_levels
    slots_t pass_q, below, passed_by, held_q, next_turn;
    logic [StreakWidth-1:0] streak_q;
    logic turn_q, turn_begins, turn_ends, unused_turn_valid;
    logic [$clog2(NumSlots)-1:0] unused_turn_index;

    for (genvar s = 0; s < NumSlots; s++) begin : gen_below
      slots_t above;  // higher levels
      for (genvar t = 0; t < NumSlots; t++) begin : gen_above
        assign above[t] = level_i[t] > level_i[s];
      end
      assign below[s] = (waits_i & above) != '0;
      assign passed_by[s] = waits_i[s] && (taken_i & above) != '0;
    end

    // Those that a higher level passed by in the last cycle.
    tmb_round_robin_arbiter #(
      .NumRequests(NumSlots)
    ) u_turns (
      .clk_i,
      .rst_ni,
      .request_i(held_q),
      .accept_i (turn_begins),
      .valid_o  (unused_turn_valid),
      .grant_o  (next_turn),
      .index_o  (unused_turn_index)
    );

    assign turn_begins = !turn_q && streak_q == StreakWidth'(MaxStreak) && held_q != '0;
    assign turn_ends = (taken_i & pass_q) != '0 || (waits_i & pass_q) == '0;

    always_ff @(posedge clk_i) begin
      if (!rst_ni || !managed_i) begin
        pass_q <= '1;
        held_q <= '0;
        streak_q <= '0;
        turn_q <= 1'b0;
      end else begin
        held_q <= passed_by;
        turn_q <= turn_begins || (turn_q && !turn_ends);
        if (turn_begins) pass_q <= next_turn;
        else if (!turn_q || turn_ends) pass_q <= ~below;
        if (turn_q) streak_q <= '0;
        else if (held_q != '0 && streak_q != StreakWidth'(MaxStreak)) streak_q <= streak_q + 1'b1;
      end
    end

    assign pass_o = pass_q;

    `TMB_ASSERT(SomebodyMayGo, pass_q != '0)
  end

  `TMB_ASSERT_INIT(StreakIsPositive, MaxStreak >= 1)

endmodule
