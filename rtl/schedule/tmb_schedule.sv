// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The scheduler of one direction (reads or writes) of one device: decides which of the waiting requests
// may be chosen now. An arbiter (tmb_arbiter) behind it chooses among them, in turn.
//
// NumRequests     requesters
// NumSlots        slots; request r < NumSlots x RequestsPerSlot is of slot r / RequestsPerSlot, the
//                 others are the shell's own (page-table reads, DMA): they may always be chosen
// Bound           LowRows and RecentLog2 of the bound below
//
// While `managed_i` is 0 (no slot differs from the others) every request may be chosen: the arbiter
// behind is all there is, cycle for cycle. Otherwise, of the requests of slots,
//   floor     those of slots that have had less than their floor, if there are any; else
//   level     those of the highest level that waits; of these
//   weight    those of slots that have some of their weight left in this round, if there are any;
//             else all of them, and a round begins
// may be chosen. A round gives each slot as many bursts' worth of rows as its weight; what a burst takes
// too much is missing in the next round, so shares are right in rows, whatever the bursts. A floor
// is a share of the rows that all slots get here while the slot waits; what it gives is not taken
// from the weight. No floor is less than LeastFloor, so nothing that waits starves.
//
// Issued requests cannot be taken back. So the slots of lower levels than one that asked in the
// last 2^RecentLog2 cycles have, together, at most LowRows - 1 rows and a burst outstanding: when the
// higher level asks again, at most these rows (LowRows + 63; 6.6 KiB with LowRows = 42) are before it in
// this direction, and what floors owe (three bursts a slot at most; they are promised, so they do not
// wait for the bound) and the shell's own bursts. A level that has not asked for twice as long finds
// what the device takes. LowRows is about what the device needs outstanding to be busy: rows of a
// latency delay no request.
//
// A device that moves one row a cycle for reads and writes together has one scheduler each, which
// know of one another (peer_i, one cycle later): while a request waits in the other direction, or is
// under way there (under_way_i), and for Linger cycles more, lower levels wait here too. If these are
// all that ask here, what is granted there counts for their floors.
//
// Throughput: one choice a cycle. Latency: none, combinational from request_i. New settings count in the cycle
// that they come in (the bound: some later). Grants count two cycles later: two bursts
// that follow each other without a cycle between them may be of the same account.
// Ordering: of each requester's requests only the first is seen here, so their order stays.
// No deadlock: a request may be held because a higher level waits here or in the other direction, or
// because rows of its level are outstanding. The highest level that waits is held by neither
// of the first two, and rows that are outstanding return without help from here.
//
// Source: vFPIO section 4.4 (round robin at equal priority, else the highest priority first,
// preemptive); weights, floors, bound and the two directions are ours.

`include "tmb_assert.svh"

module tmb_schedule import tmb_pkg::*; import tmb_schedule_pkg::*; #(
  parameter int unsigned NumRequests = 4,
  parameter int unsigned NumSlots = 1,
  parameter int unsigned RequestsPerSlot = 2,
  parameter bound_cfg_t Bound = DefaultBoundCfg
) (
  input  logic clk_i,
  input  logic rst_ni,

  input  logic                   managed_i,              // some slot differs from the others
  input  schedule_t              schedule_i [NumSlots],
  input  logic [NumRequests-1:0] request_i,
  output logic [NumRequests-1:0] candidate_o,            // may be chosen

  input  logic                   accept_i,               // the choice of this cycle is taken
  input  logic [NumRequests-1:0] grant_i,                // the choice, one hot
  input  burst_len_t             len_i,                  // its rows - 1
  output logic                   low_o,                  // its rows count against the bound
  input  logic                   low_done_i,             // such a row is not outstanding any more

  output level_t                 level_o,                // the choice's, if it is a slot's
  input  waiting_t               under_way_i,            // counts as if it waited
  output peer_t                  peer_o,
  input  peer_t                  peer_i                  // of the other direction
);

  localparam int unsigned BurstBits = $clog2(MaxBurstRows);
  localparam int unsigned NumScheduled = NumSlots * RequestsPerSlot;
  // A requester's bursts follow one another with some cycles between them.
  localparam int unsigned Linger = 16;
  localparam int unsigned LingerWidth = $clog2(Linger + 1);
  typedef logic [NumSlots-1:0] slots_t;
  typedef logic [NumLevels-1:0] levels_t;

  // Weight: rows left in the round. A debt is less than two bursts.
  localparam int unsigned LeftWidth = $bits(weight_t) + BurstBits + 2;
  typedef logic signed [LeftWidth-1:0] left_t;
  localparam int unsigned LeastLeftLog2 = BurstBits + 1;
  localparam left_t LeastLeft = -(left_t'(1) <<< LeastLeftLog2);

  // Floor: 1/256 of rows that are due; at most two bursts, and two in advance.
  localparam int unsigned DueWidth = $bits(floor_t) + BurstBits + 4;
  typedef logic signed [DueWidth-1:0] due_t;
  localparam int unsigned MostDueLog2 = $bits(floor_t) + BurstBits + 1;
  localparam due_t MostDue = due_t'(1) <<< MostDueLog2;

  // ---------------------------------------------------------------------------------------------
  // Choice
  // ---------------------------------------------------------------------------------------------

  slots_t asks, held, below_peer, waits, in_level, with_rest, due, candidate;
  slots_t low_q, has_rest_q, due_q;
  levels_t level_of [NumSlots];  // one hot
  levels_t level_asks, level_waits, top;
  logic low_full_q, new_round, any_due;
  waiting_t waiting_q;
  logic [LingerWidth-1:0] linger_q;

  for (genvar s = 0; s < NumSlots; s++) begin : gen_slot
    assign asks[s] = |request_i[s*RequestsPerSlot+:RequestsPerSlot];
    assign level_of[s] = levels_t'(1) << schedule_i[s].level;
    assign below_peer[s] =
        peer_i.waiting.valid && schedule_i[s].level < peer_i.waiting.level;
    assign held[s] = !due_q[s] && ((low_full_q && low_q[s]) || below_peer[s]);
    assign in_level[s] = waits[s] && |(level_of[s] & top);
  end

  assign waits = asks & ~held;
  always_comb begin
    level_asks = under_way_i.valid ? levels_t'(1) << under_way_i.level : '0;
    level_waits = '0;
    for (int unsigned s = 0; s < NumSlots; s++) begin
      if (asks[s]) level_asks |= level_of[s];
      if (waits[s]) level_waits |= level_of[s];
    end
    for (int unsigned l = 0; l < NumLevels; l++) top[l] = level_waits[l] && level_waits >> l == 1;
  end

  assign with_rest = in_level & has_rest_q;
  assign new_round = with_rest == '0;
  assign due = waits & due_q;
  assign any_due = due != '0;
  assign candidate = any_due ? due : new_round ? in_level : with_rest;

  always_comb begin
    candidate_o = request_i;
    if (managed_i) begin
      for (int unsigned r = 0; r < NumScheduled; r++) begin
        candidate_o[r] = request_i[r] && candidate[r/RequestsPerSlot];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || !managed_i) begin
      waiting_q <= '0;
      linger_q <= '0;
    end else begin
      waiting_q.valid <= level_asks != '0 || linger_q != '0;
      if (level_asks != '0) linger_q <= LingerWidth'(Linger);
      else if (linger_q != '0) linger_q <= linger_q - 1'b1;
      for (int unsigned l = 0; l < NumLevels; l++) begin
        if (level_asks[l]) waiting_q.level <= level_t'(l);
      end
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Grants
  // ---------------------------------------------------------------------------------------------

  slots_t granted, granted_q, asked_q;
  logic taken, taken_q, low_taken_q, round_q, owed_q;
  levels_t top_q;
  burst_len_t len_q;

  for (genvar s = 0; s < NumSlots; s++) begin : gen_granted
    assign granted[s] = |grant_i[s*RequestsPerSlot+:RequestsPerSlot];
  end
  assign taken = managed_i && accept_i && granted != '0;
  assign peer_o = '{waiting: waiting_q, taken: taken_q, len: len_q};
  always_comb begin
    level_o = '0;
    for (int unsigned s = 0; s < NumSlots; s++) begin
      if (granted[s]) level_o |= schedule_i[s].level;
    end
  end
  assign low_o = managed_i && !any_due && |(granted & low_q);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      taken_q <= 1'b0;
      low_taken_q <= 1'b0;
    end else begin
      taken_q <= taken;
      low_taken_q <= taken && low_o;
    end
  end
  always_ff @(posedge clk_i) begin
    if (taken) begin
      granted_q <= granted;
      asked_q <= asks;
      len_q <= len_i;
      top_q <= top;
      owed_q <= any_due;
      // A round that has just begun is not yet known of.
      round_q <= new_round && !any_due && !(taken_q && round_q);
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Weights and floors
  // ---------------------------------------------------------------------------------------------

  left_t left_q [NumSlots];
  left_t left_d [NumSlots];
  due_t due_rows_q [NumSlots];
  due_t due_rows_d [NumSlots];
  slots_t has_rest, due_now;

  logic [BurstBits:0] rows, peer_rows;
  assign rows = (BurstBits + 1)'(len_q) + 1'b1;
  assign peer_rows = (BurstBits + 1)'(peer_i.len) + 1'b1;

  // Each account is one sum, and its bounds are powers of two: few levels.
  for (genvar s = 0; s < NumSlots; s++) begin : gen_account
    left_t quantum, carried;
    floor_t least;
    logic refills, pays, paid, earns, peer_earns;
    due_t earned, spent, own, both;
    assign quantum = schedule_i[s].weight == '0 ? left_t'(MaxBurstRows)
        : left_t'({schedule_i[s].weight, BurstBits'(0)});
    assign least = schedule_i[s].floor < LeastFloor ? LeastFloor : schedule_i[s].floor;

    // A round takes over what a slot owes, not what it has left.
    assign refills = taken_q && round_q && |(top_q & level_of[s]);
    assign carried = (refills && has_rest_q[s]) ? '0 : left_q[s];
    assign paid = taken_q && granted_q[s];
    assign pays = paid && !owed_q;
    assign earns = taken_q && asked_q[s];
    assign peer_earns = peer_i.taken && asks[s] && (asks & ~below_peer) == '0;

    always_comb begin
      left_d[s] = carried + (refills ? quantum : '0) - (pays ? left_t'({1'b0, rows}) : '0);
      has_rest[s] = !left_d[s][LeftWidth-1] && left_d[s] != '0;
      if (left_d[s][LeftWidth-1] && left_d[s][LeftWidth-2:LeastLeftLog2] != '1) left_d[s] = LeastLeft;

      // Who asks is known late, so both sums are there before it.
      earned = due_t'(least) * due_t'({1'b0, earns ? rows : '0});
      // One row more than the length field.
      spent = paid ? due_t'({len_q, floor_t'(0)}) : '0;
      own = due_rows_q[s] + earned - spent - due_t'({paid, floor_t'(0)});
      both = due_rows_q[s] + earned + due_t'(least) * due_t'({1'b0, peer_rows}) - spent
          - due_t'({paid, floor_t'(0)});
      due_rows_d[s] = peer_earns ? both : own;
      due_now[s] = peer_earns ? !both[DueWidth-1] && both != '0 : !own[DueWidth-1] && own != '0;
      if (!due_rows_d[s][DueWidth-1] && due_rows_d[s][DueWidth-2:MostDueLog2] != '0) begin
        due_rows_d[s] = MostDue;
      end else if (due_rows_d[s][DueWidth-1] && due_rows_d[s][DueWidth-2:MostDueLog2] != '1) begin
        due_rows_d[s] = -MostDue;
      end
    end

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        left_q[s] <= '0;
        has_rest_q[s] <= 1'b0;
        due_rows_q[s] <= '0;
        due_q[s] <= 1'b0;
      end else if (taken_q || peer_i.taken) begin
        left_q[s] <= left_d[s];
        has_rest_q[s] <= has_rest[s];
        due_rows_q[s] <= due_rows_d[s];
        due_q[s] <= due_now[s];
      end
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Bound
  // ---------------------------------------------------------------------------------------------

  // The burst of this cycle counts as the longest one until its length is known.
  localparam int unsigned RowsWidth = $clog2(Bound.LowRows + MaxBurstRows) + 1;
  typedef logic [RowsWidth-1:0] rows_t;
  localparam rows_t Room = Bound.LowRows > MaxBurstRows ? rows_t'(Bound.LowRows - MaxBurstRows) : '0;
  rows_t low_rows_q, low_rows_d;
  slots_t below;
  logic no_room;
  if (Room == '0) begin : gen_no_room
    assign no_room = 1'b1;
  end else begin : gen_room
    assign no_room = low_rows_d >= Room;
  end

  // Levels that have asked of late, in either direction.
  levels_t active, recent_q, seen_q;
  logic [Bound.RecentLog2-1:0] age_q;
  logic aged;
  assign active = level_asks
      | (peer_i.waiting.valid ? levels_t'(1) << peer_i.waiting.level : levels_t'(0));
  assign aged = age_q == '1;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || !managed_i) begin
      recent_q <= '0;
      seen_q <= '0;
      age_q <= '0;
    end else begin
      recent_q <= active | (aged ? seen_q : recent_q);
      seen_q <= active | (aged ? '0 : seen_q);
      age_q <= recent_q != '0 ? age_q + 1'b1 : '0;
    end
  end

  for (genvar s = 0; s < NumSlots; s++) begin : gen_below
    assign below[s] = |((recent_q >> schedule_i[s].level) >> 1);
  end

  always_comb begin
    low_rows_d = low_rows_q;
    if (low_taken_q) low_rows_d = low_rows_d + rows_t'(rows);
    if (low_done_i) low_rows_d = low_rows_d - rows_t'(1);
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      low_q <= '0;
      low_rows_q <= '0;
      low_full_q <= 1'b0;
    end else begin
      low_q <= below;
      low_rows_q <= low_rows_d;
      low_full_q <= (taken && low_o) ? no_room : low_rows_d >= rows_t'(Bound.LowRows);
    end
  end

  // Of grants, those of the shell itself; of settings, the limit.
  logic unused_ok;
  assign unused_ok = &{1'b0, grant_i};

  `TMB_ASSERT_INIT(RequestsExist, NumSlots >= 1 && RequestsPerSlot >= 1
      && NumScheduled <= NumRequests)
  `TMB_ASSERT_INIT(BurstIsPowerOfTwo, MaxBurstRows == (1 << BurstBits))
  `TMB_ASSERT_INIT(BoundIsPositive, Bound.LowRows >= 1)
  `TMB_ASSERT(OnlyRequested, (candidate_o & ~request_i) == '0)
  `TMB_ASSERT(BoundIsKept, 32'(low_rows_q) < Bound.LowRows + MaxBurstRows)
  `TMB_ASSERT(LowRowsAreCounted, !low_done_i || low_rows_q != '0 || low_taken_q)

endmodule
