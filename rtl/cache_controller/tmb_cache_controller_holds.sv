// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The exclusive holds: which places of the cache are held, and which forwards wait for that.
//
// A hold begins at its grant and ends with the owner's release, or it is broken: when another agent wants
// the line (a forward of the home, another access, the need of a way) and HoldLimit cycles have passed
// since. The owner of a broken hold learns it from the status of its next access or its release; the
// index is not given to others before. A forward to a held place parks here, one a hold: the home
// sends no second one before the first is answered. It leaves when the hold has ended, and until it is
// answered (settle_i) no access acquires the line.
//
// Cfg          of the cache. HoldLimit: cycles that a hold lasts after another agent wants the line
// LocalWidth   line number without slice
//
// Latency: changes are visible in the next cycle. Throughput: one change of each kind a cycle.
// No deadlock: each hold ends without the owner, at most HoldLimit cycles after another agent wants the line.
// An idle or unwanted hold does not toggle.

`include "tmb_assert.svh"

module tmb_cache_controller_holds
  import tmb_cache_controller_pkg::*;
  import tmb_mesi_protocol_pkg::*;
#(
  parameter tmb_pkg::cache_cfg_t Cfg = tmb_pkg::DefaultCacheCfg,
  parameter int unsigned LocalWidth = 33,
  localparam int unsigned SetWidth = $clog2(Cfg.Sets),
  localparam int unsigned WayWidth = $clog2(Cfg.Ways)
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,

  // Ways of a set that are held.
  input  logic [SetWidth-1:0]          set_i,
  output logic [2**WayWidth-1:0]       ways_held_o,

  // State of a place.
  input  logic [SetWidth+WayWidth-1:0] place_i,
  output logic                         held_o,       // a hold stands
  output logic                         parked_o,     // a forward waits for the end of a hold
  input  hold_index_t                  index_i,
  output logic                         stands_o,     // hold index_i stands, and is of place_i
  output logic                         exists_o,     // hold index_i stands or is broken
  output logic                         broken_o,     // hold index_i is broken

  // Changes.
  output logic                         free_o,       // a hold can begin, as ...
  output hold_index_t                  free_index_o,
  input  logic                         begin_i,      // ... at place_i
  input  logic                         release_i,    // hold index_i
  input  logic                         want_place_i, // an access or a forward waits for place_i
  input  logic                         want_set_i,   // an access waits for a way of place_i's set
  input  logic                         park_i,       // a forward to place_i
  input  cache_event_e                 park_event_i,
  input  logic [LocalWidth-1:0]        park_line_i,
  input  logic                         settle_i,     // the forward of hold settle_index_i is answered
  input  hold_index_t                  settle_index_i,
  output logic                         ended_o,      // a hold ended or a forward was answered
  output logic                         was_broken_o, // one cycle

  // Forwards whose hold has ended.
  output logic                         forward_valid_o,
  input  logic                         forward_ready_i,
  output hold_index_t                  forward_index_o,
  output cache_event_e                 forward_event_o,
  output logic [LocalWidth-1:0]        forward_line_o
);

  localparam int unsigned AgeWidth = $clog2(Cfg.HoldLimit + 1);
  typedef logic [SetWidth+WayWidth-1:0] place_t;

  typedef enum logic [1:0] {
    HoldFree = 2'd0,
    HoldStands = 2'd1,
    HoldBroken = 2'd2   // and not yet released
  } hold_state_e;

  hold_state_e [NumHolds-1:0] state_q;
  place_t [NumHolds-1:0] place_q;
  holds_t wanted_q, parked_q, sent_q;
  logic [NumHolds-1:0][AgeWidth-1:0] age_q;
  cache_event_e [NumHolds-1:0] event_q;
  logic [NumHolds-1:0][LocalWidth-1:0] line_q;

  holds_t stands, here, in_set, standing_here, is_free, expires, leaving;
  always_comb begin
    ways_held_o = '0;
    for (int unsigned h = 0; h < NumHolds; h++) begin
      stands[h] = state_q[h] == HoldStands;
      here[h] = place_q[h] == place_i;
      in_set[h] = place_q[h][WayWidth+:SetWidth] == place_i[WayWidth+:SetWidth];
      is_free[h] = state_q[h] == HoldFree && !parked_q[h];
      expires[h] = stands[h] && wanted_q[h] && age_q[h] == AgeWidth'(Cfg.HoldLimit);
      leaving[h] = parked_q[h] && !sent_q[h] && !stands[h];
      if (stands[h] && place_q[h][WayWidth+:SetWidth] == set_i) begin
        ways_held_o[place_q[h][WayWidth-1:0]] = 1'b1;
      end
    end
  end

  // The lowest of a set of holds.
  function automatic hold_index_t lowest(holds_t among);
    hold_index_t index;
    index = '0;
    for (int unsigned h = NumHolds; h > 0; h--) begin
      if (among[h-1]) index = hold_index_t'(h - 1);
    end
    return index;
  endfunction

  assign standing_here = stands & here;
  assign held_o = |standing_here;
  assign parked_o = |(parked_q & here);
  assign stands_o = standing_here[index_i];
  assign exists_o = state_q[index_i] != HoldFree;
  assign broken_o = state_q[index_i] == HoldBroken;
  assign free_o = |is_free;
  assign free_index_o = lowest(is_free);

  assign forward_valid_o = |leaving;
  assign forward_index_o = lowest(leaving);
  assign forward_event_o = event_q[forward_index_o];
  assign forward_line_o = line_q[forward_index_o];

  assign was_broken_o = |expires;
  assign ended_o = was_broken_o || release_i || settle_i;

  for (genvar h = 0; h < NumHolds; h++) begin : gen_hold
    logic begins, parks;
    assign begins = begin_i && free_index_o == hold_index_t'(h);
    assign parks = park_i && standing_here[h];

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        state_q[h] <= HoldFree;
        wanted_q[h] <= 1'b0;
        parked_q[h] <= 1'b0;
        sent_q[h] <= 1'b0;
        age_q[h] <= '0;
      end else begin
        if (begins) state_q[h] <= HoldStands;
        else if (release_i && index_i == hold_index_t'(h)) state_q[h] <= HoldFree;
        else if (expires[h]) state_q[h] <= HoldBroken;

        if (begins) wanted_q[h] <= 1'b0;
        else if (stands[h] && ((want_place_i && here[h]) || (want_set_i && in_set[h]) || parks)) begin
          wanted_q[h] <= 1'b1;
        end

        if (begins) age_q[h] <= '0;
        else if (stands[h] && wanted_q[h] && !expires[h]) age_q[h] <= age_q[h] + 1'b1;

        if (parks) parked_q[h] <= 1'b1;
        else if (settle_i && settle_index_i == hold_index_t'(h)) parked_q[h] <= 1'b0;

        if (parks) sent_q[h] <= 1'b0;
        else if (forward_valid_o && forward_ready_i && forward_index_o == hold_index_t'(h)) begin
          sent_q[h] <= 1'b1;
        end
      end
    end
    always_ff @(posedge clk_i) begin
      if (begins) place_q[h] <= place_i;
      if (parks) begin
        event_q[h] <= park_event_i;
        line_q[h] <= park_line_i;
      end
    end
  end

  `TMB_ASSERT_INIT(LimitIsPositive, Cfg.HoldLimit >= 1)
  `TMB_ASSERT(BeginsWhereFree, !begin_i || (free_o && !held_o))
  `TMB_ASSERT(OneHoldAPlace, $onehot0(standing_here))
  `TMB_ASSERT(OneForwardAHold, !park_i || (held_o && (parked_q & standing_here) == '0))
  `TMB_ASSERT(ReleasesWhatExists, !release_i || exists_o)
  `TMB_ASSERT(SettlesWhatWasSent, !settle_i || (parked_q[settle_index_i] && sent_q[settle_index_i]))

endmodule
