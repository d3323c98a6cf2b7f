// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// One lane of the address network: arbitrates the lookups of its requesters and translates one a cycle
// in its L1 TLBs, all of them at once. Beside the lookups runs a second pipeline for what changes the
// L1 TLBs: ends of walks, replies of the host and kills. A comparator at the end of each (the *hold* of
// an invalidation) sees every translation that a requester may get, and every fill.
//
// L1    the L1 TLBs. A page goes to the one of the largest pages that are not larger than it, so a
//       translation is in one of them at most.
//
// With walker_off_i (by space) a miss is a fault, and the host's replies fill the L1 TLBs: the SRAM
// TLB of Coyote and FSRF. With l1_off_i (by space) every lookup is a miss: FSRF's DRAM TLB.
//
// Lookups: choice | L1 read | compare, hold | result, or the miss queue.
// Updates: choice | L1 read | compare, hold, fill, kill | result.
//
// Updates are kills (an invalidation), then ends of walks, then replies; their results go before
// those of lookups, which wait in a short queue. Updates are bounded by the lookups before them, so
// no requester starves.
//
// While slots differ (managed_i) lookups of a higher level go first (tmb_schedule_levels), and each
// slot has a miss queue of its own, so what a slot waits for is not before another's misses. Replies
// go in turn, whatever their levels: an invalidation waits for them.
//
// Throughput: one lookup and one update a cycle, one result a cycle; a miss is not a result. Latency:
// 3 cycles from the lookup to its result. Ordering: none between lookups and updates.
// Back-pressure: results are always taken; a lookup is chosen only when both queues have room for it.
// No deadlock: a full miss queue empties as walks end, which needs only memory.
//
// FlexiMem's address lanes; FSRF section 5.2.

`include "tmb_assert.svh"

module tmb_translate_lane
  import tmb_pkg::*;
  import tmb_translate_pkg::*;
  import tmb_schedule_pkg::*;
#(
  parameter int unsigned First = 0,  // number of its first requester on the card
  parameter lane_cfg_t Cfg = single_slot_lane(2, DefaultShellCfg.L1),
  localparam int unsigned NumRequesters = Cfg.NumRequesters,
  localparam int unsigned NumSlots = Cfg.NumSlots
) (
  input  logic    clk_i,
  input  logic    rst_ni,
  // requesters
  input  logic    lookup_valid_i [NumRequesters],
  output logic    lookup_ready_o [NumRequesters],
  input  lookup_t lookup_i [NumRequesters],
  output logic    result_valid_o [NumRequesters],
  output result_t result_o,
  // levels
  input  logic    managed_i,
  input  level_t  level_i [NumSlots],
  // walker
  output logic         miss_valid_o [NumSlots],  // by slot; of the first one, while not managed_i
  input  logic         miss_ready_i [NumSlots],
  output miss_t        miss_o [NumSlots],
  input  logic         walk_valid_i,
  output logic         walk_ready_o,
  input  walk_result_t walk_i,
  // spaces, by ASID
  input  logic [2**AsidWidth-1:0] space_enable_i,
  input  logic [2**AsidWidth-1:0] l1_off_i,
  input  logic [2**AsidWidth-1:0] walker_off_i,
  input  logic [2**AsidWidth-1:0] space_waits_i,  // its results are retries
  // lookups of this space are not chosen
  input  logic  skip_valid_i,
  input  asid_t skip_asid_i,
  // invalidation
  input  logic       hold_valid_i,
  input  region_t    hold_i,
  input  logic       kill_valid_i,
  input  region_t    kill_i,       // its set is that of kill_i.block
  output logic       kill_busy_o,   // a kill is in the pipeline, or a result from before the hold
  output logic       reply_busy_o,  // a reply is in the pipeline
  input  logic       epoch_i,
  output logic [1:0] walks_o  // walks of each epoch have not ended
);

  localparam int unsigned RequesterWidth = NumRequesters > 1 ? $clog2(NumRequesters) : 1;
  localparam int unsigned QueueDepth = 8;  // of a slot's misses, and of results for each slot
  localparam int unsigned CreditWidth = $clog2(QueueDepth + 1);
  localparam int unsigned NumResults = QueueDepth * NumSlots;
  localparam int unsigned QueuedWidth = $clog2(NumResults + 1);
  localparam int unsigned WalksWidth = $clog2(Cfg.MaxWalks + NumResults + 1);
  localparam int unsigned SlotWidth = NumSlots > 1 ? $clog2(NumSlots) : 1;
  typedef logic [RequesterWidth-1:0] requester_t;
  typedef logic [SlotWidth-1:0] slot_t;
  typedef logic [NumSlots-1:0] slots_t;

  typedef logic [MaxL1s-1:0] l1_set_t;

  typedef struct packed {
    requester_t     requester;
    slot_t       slot;  // whose places it has
    park_index_t index;
    asid_t       asid;
    logic        write;
    block_t      block;
  } look_t;

  typedef enum logic [1:0] {
    OpReply,
    OpWalk,
    OpKill
  } op_e;

  typedef struct packed {
    op_e          op;
    requester_t      requester;
    park_index_t  index;
    asid_t        asid;
    block_t       block;
    block_t       mask;  // kill
    // what a walk or a reply found
    logic         epoch;
    outcome_e     outcome;
    fault_cause_e cause;
    frame_t       frame;
    l1_set_t      fill;  // the L1 TLB that takes it
    size_class_t  size_class;
    logic         page_read;
    logic         page_write;
    logic         page_dirty;
  } update_t;

  typedef struct packed {
    requester_t requester;
    slot_t slot;
    result_t result;
  } answer_t;

  function automatic requester_t local_requester(logic [RequesterIdWidth-1:0] requester);
    return requester_t'(32'(requester) - First);
  endfunction

  function automatic int unsigned slot_of(int unsigned requester);
    return (First + requester) / Cfg.RequestersPerSlot - First / Cfg.RequestersPerSlot;
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Choice
  // ---------------------------------------------------------------------------------------------

  logic [NumRequesters-1:0] request, grant, may_go;
  requester_t chosen;
  logic requested, turn, look_taken, reply_taken, update_taken;
  slots_t has_credit, pass, slot_waits, slot_taken;
  slot_t account [NumRequesters];  // whose places a requester's lookups take
  lookup_t lookup;

  // In parallel with the choice, not behind it: candidates, and the content of replies.
  frame_t reply_frame [NumRequesters];
  l1_set_t reply_fill [NumRequesters];
  assign turn = (grant & may_go) != '0;
  assign look_taken = requested && turn && !lookup.is_reply;
  assign reply_taken = requested && turn && lookup.is_reply;
  assign update_taken = kill_valid_i || walk_valid_i || reply_taken;
  assign walk_ready_o = !kill_valid_i;

  // While slots are alike a requester without a place keeps its turn; otherwise it holds up no other.
  logic [NumRequesters-1:0] could_look;
  for (genvar s = 0; s < NumRequesters; s++) begin : gen_request
    localparam int unsigned Slot = slot_of(s);
    assign account[s] = managed_i ? slot_t'(Slot) : '0;
    assign could_look[s] = lookup_valid_i[s] && !lookup_i[s].is_reply
        && !(skip_valid_i && lookup_i[s].asid == skip_asid_i)
        && (NumSlots == 1 || !managed_i || has_credit[Slot]);
    assign request[s] = (could_look[s] && pass[Slot]) || (lookup_valid_i[s] && lookup_i[s].is_reply);
    assign may_go[s] =
        lookup_i[s].is_reply ? (!kill_valid_i && !walk_valid_i) : has_credit[account[s]];
    assign lookup_ready_o[s] = grant[s] && may_go[s];
    assign reply_frame[s] =
        frame_of_block(lookup_i[s].frame, frame_t'(lookup_i[s].block), lookup_i[s].size_class);
    assign reply_fill[s] =
        walker_off_i[lookup_i[s].asid] ? l1_of_class(Cfg.L1, lookup_i[s].size_class) : '0;
  end

  always_comb begin
    slot_waits = '0;
    slot_taken = '0;
    for (int unsigned s = 0; s < NumRequesters; s++) begin
      if (grant[s] && may_go[s]) slot_taken[slot_of(s)] |= could_look[s];
      else slot_waits[slot_of(s)] |= could_look[s];
    end
  end

  tmb_schedule_levels #(
    .NumSlots(NumSlots)
  ) i_levels (
    .clk_i    (clk_i),
    .rst_ni   (rst_ni),
    .managed_i(managed_i),
    .level_i  (level_i),
    .waits_i  (slot_waits),
    .taken_i  (slot_taken),
    .pass_o   (pass)
  );

  tmb_round_robin_arbiter #(
    .NumRequests(NumRequesters)
  ) i_arbiter (
    .clk_i    (clk_i),
    .rst_ni   (rst_ni),
    .request_i(request),
    .accept_i (turn),
    .valid_o  (requested),
    .grant_o  (grant),
    .index_o  (chosen)
  );

  assign lookup = lookup_i[chosen];

  logic unused_lookup;
  assign unused_lookup = &{1'b0, lookup};

  look_t look_read_q, look_q;
  update_t update, update_read_q, update_q;
  logic look_read_valid_q, look_valid_q, update_read_valid_q, update_valid_q;

  always_comb begin
    update = '{
        op: OpReply,
        requester: chosen,
        index: lookup.token.index,
        asid: lookup.asid,
        block: lookup.block,
        mask: '0,
        epoch: 1'b0,
        outcome: lookup.fail ? OutcomeError : OutcomeReady,
        cause: FaultAbsent,
        frame: reply_frame[chosen],
        fill: reply_fill[chosen],
        size_class: lookup.size_class,
        page_read: lookup.page_read,
        page_write: lookup.page_write,
        page_dirty: lookup.page_dirty
    };
    if (kill_valid_i) begin
      update.op = OpKill;
      update.asid = kill_i.asid;
      update.block = kill_i.block;
      update.mask = kill_i.mask;
    end else if (walk_valid_i) begin
      update = '{
          op: OpWalk,
          requester: local_requester(walk_i.token.requester),
          index: walk_i.token.index,
          asid: walk_i.asid,
          block: walk_i.block,
          mask: '0,
          epoch: walk_i.epoch,
          outcome: walk_i.outcome,
          cause: walk_i.cause,
          frame: walk_i.frame,
          fill: l1_of_class(Cfg.L1, walk_i.size_class),
          size_class: walk_i.size_class,
          page_read: walk_i.page_read,
          page_write: walk_i.page_write,
          page_dirty: walk_i.page_dirty
      };
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      look_read_valid_q <= 1'b0;
      look_valid_q <= 1'b0;
      update_read_valid_q <= 1'b0;
      update_valid_q <= 1'b0;
    end else begin
      look_read_valid_q <= look_taken;
      look_valid_q <= look_read_valid_q;
      update_read_valid_q <= update_taken;
      update_valid_q <= update_read_valid_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (look_taken) begin
      look_read_q <= '{
          requester: chosen,
          slot: account[chosen],
          index: lookup.token.index,
          asid: lookup.asid,
          write: lookup.write,
          block: lookup.block
      };
    end
    if (look_read_valid_q) look_q <= look_read_q;
    if (update_taken) update_read_q <= update;
    if (update_read_valid_q) update_q <= update_read_q;
  end

  // ---------------------------------------------------------------------------------------------
  // Compare
  // ---------------------------------------------------------------------------------------------

  logic look_held, update_in_hold, update_held, hit, granted, allowed;
  l1_set_t fill, hits;
  frame_t l1_frame;
  logic is_walk, is_kill, missed;
  answer_t look_answer, update_answer;

  assign is_walk = update_valid_q && (update_q.op == OpWalk);
  assign is_kill = update_valid_q && (update_q.op == OpKill);

  assign look_held = (hold_valid_i && in_region(hold_i, look_q.asid, look_q.block))
      || space_waits_i[look_q.asid];
  assign update_in_hold = hold_valid_i && in_region(hold_i, update_q.asid, update_q.block);
  assign update_held = update_in_hold || space_waits_i[update_q.asid];

  always_comb begin
    look_answer.requester = look_q.requester;
    look_answer.slot = look_q.slot;
    look_answer.result = '{
        index: look_q.index,
        block: look_q.block,
        source: SourceLookup,
        // A write needs a page that is known to be dirty: otherwise a walk marks it first.
        outcome: allowed ? OutcomeReady : OutcomeMiss,
        cause: (hit && !granted) ? FaultPermission : FaultAbsent,
        frame: l1_frame
    };
    if (!space_enable_i[look_q.asid]) look_answer.result.outcome = OutcomeError;
    else if (look_held) look_answer.result.outcome = OutcomeRetry;
    else if (walker_off_i[look_q.asid] && !allowed) begin
      look_answer.result.outcome = OutcomeFault;
    end
  end

  always_comb begin
    update_answer.requester = update_q.requester;
    update_answer.slot = '0;
    update_answer.result = '{
        index: update_q.index,
        block: update_q.block,
        source: (update_q.op == OpWalk) ? SourceWalk : SourceReply,
        outcome: update_q.outcome,
        cause: update_q.cause,
        frame: update_q.frame
    };
    if (!space_enable_i[update_q.asid]) update_answer.result.outcome = OutcomeError;
    else if (update_held) update_answer.result.outcome = OutcomeRetry;
  end

  // The compare with the hold comes late, so it comes last.
  logic may_fill;
  assign may_fill = update_valid_q && !is_kill && (update_q.outcome == OutcomeReady)
      && space_enable_i[update_q.asid] && !space_waits_i[update_q.asid]
      && !l1_off_i[update_q.asid];
  assign fill = (may_fill && !update_in_hold) ? update_q.fill : '0;
  assign missed = look_valid_q && (look_answer.result.outcome == OutcomeMiss);

  // Result of each L1 TLB; zeroes where there is none.
  frame_t found_frame [MaxL1s];
  l1_set_t found_granted, found_allowed;

  for (genvar i = 0; i < MaxL1s; i++) begin : gen_l1
    if (Cfg.Segments && i == 0) begin : gen_segments
      tmb_translate_segment #(
        .NumSegments(Cfg.L1[i].Ways)
      ) i_segments (
        .clk_i         (clk_i),
        .rst_ni        (rst_ni),
        .look_asid_i   (look_q.asid),
        .look_block_i  (look_q.block),
        .look_write_i  (look_q.write),
        .hit_o         (hits[i]),
        .frame_o       (found_frame[i]),
        .granted_o     (found_granted[i]),
        .allowed_o     (found_allowed[i]),
        .update_asid_i (update_q.asid),
        .update_block_i(update_q.block),
        .fill_i        (fill[i]),
        .fill_frame_i  (update_q.frame),
        .fill_class_i  (update_q.size_class),
        .fill_read_i   (update_q.page_read),
        .fill_write_i  (update_q.page_write),
        .fill_dirty_i  (update_q.page_dirty),
        .kill_i        (is_kill),
        .kill_mask_i   (update_q.mask)
      );
    end else if (Cfg.L1[i].Ways != 0) begin : gen_present
      tmb_l1_tlb #(
        .PageBits(Cfg.L1[i].PageBits),
        .SetsLog2(Cfg.L1[i].SetsLog2),
        .Ways    (Cfg.L1[i].Ways)
      ) i_l1_tlb (
        .clk_i              (clk_i),
        .rst_ni             (rst_ni),
        .look_read_i        (look_read_valid_q),
        .look_read_asid_i   (look_read_q.asid),
        .look_read_block_i  (look_read_q.block),
        .look_asid_i        (look_q.asid),
        .look_block_i       (look_q.block),
        .look_write_i       (look_q.write),
        .hit_o              (hits[i]),
        .frame_o            (found_frame[i]),
        .granted_o          (found_granted[i]),
        .allowed_o          (found_allowed[i]),
        .update_read_i      (update_read_valid_q),
        .update_read_asid_i (update_read_q.asid),
        .update_read_block_i(update_read_q.block),
        .update_asid_i      (update_q.asid),
        .update_block_i     (update_q.block),
        .fill_i             (fill[i]),
        .fill_frame_i       (update_q.frame),
        .fill_read_i        (update_q.page_read),
        .fill_write_i       (update_q.page_write),
        .fill_dirty_i       (update_q.page_dirty),
        .kill_i             (is_kill),
        .kill_mask_i        (update_q.mask)
      );
    end else begin : gen_absent
      assign hits[i] = 1'b0;
      assign found_frame[i] = '0;
      assign found_granted[i] = 1'b0;
      assign found_allowed[i] = 1'b0;

      logic unused_ok;
      assign unused_ok = &{1'b0, fill[i]};
    end
  end

  if (!Cfg.Segments) begin : gen_no_segments
    logic unused_ok;
    assign unused_ok = &{1'b0, update_q.size_class};
  end

  always_comb begin
    l1_frame = '0;
    for (int unsigned i = 0; i < MaxL1s; i++) l1_frame |= found_frame[i];
  end
  assign hit = (hits != '0) && !l1_off_i[look_q.asid];
  assign granted = found_granted != '0;
  assign allowed = (found_allowed != '0) && !l1_off_i[look_q.asid];

  // ---------------------------------------------------------------------------------------------
  // Result
  // ---------------------------------------------------------------------------------------------

  logic update_answers, look_waits, look_leaves, look_room;
  answer_t look_oldest;
  result_t result_q;
  logic [NumRequesters-1:0] result_valid_q;

  assign update_answers = update_valid_q && !is_kill;
  assign look_leaves = look_waits && !update_answers;

  // Results that were in the queue when the hold began have not met it, so they have to reach the
  // parks before the flash; those behind them have.
  logic look_answers;
  logic [QueuedWidth-1:0] queued_q, queued_d, unheld_q;
  assign look_answers = look_valid_q && !missed;
  // Whether a lookup is answered is known late, so both numbers are there before it. A new answer leaves at once
  // unless an update answers; the oldest leaves then.
  logic [QueuedWidth-1:0] queued_with, queued_without;
  assign queued_with = queued_q + QueuedWidth'(update_answers);
  assign queued_without = queued_q - QueuedWidth'(queued_q != '0 && !update_answers);
  assign queued_d = (queued_with & {QueuedWidth{look_answers}}) | (queued_without & {QueuedWidth{!look_answers}});
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      queued_q <= '0;
      unheld_q <= '0;
    end else begin
      queued_q <= queued_d;
      if (!hold_valid_i) unheld_q <= queued_d;
      else if (!update_answers && unheld_q != '0) unheld_q <= unheld_q - QueuedWidth'(1);
    end
  end

  tmb_fifo #(
    .T          (answer_t),
    .Depth      (NumResults),
    .FallThrough(1'b1)
  ) i_results (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .in_valid_i (look_answers),
    .in_ready_o (look_room),
    .in_data_i  (look_answer),
    .out_valid_o(look_waits),
    .out_ready_i(!update_answers),
    .out_data_o (look_oldest)
  );

  answer_t answer;
  assign answer = update_answers ? update_answer : look_oldest;
  logic unused_slot;
  assign unused_slot = ^answer.slot;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) result_valid_q <= '0;
    else if (update_answers || look_waits) result_valid_q <= NumRequesters'(1) << answer.requester;
    else result_valid_q <= '0;
  end
  always_ff @(posedge clk_i) begin
    if (update_answers || look_waits) result_q <= answer.result;
  end

  for (genvar s = 0; s < NumRequesters; s++) begin : gen_result
    assign result_valid_o[s] = result_valid_q[s];
  end
  assign result_o = result_q;

  assign kill_busy_o = (update_read_valid_q && update_read_q.op == OpKill) || is_kill
      || (unheld_q != '0);
  assign reply_busy_o = (update_read_valid_q && update_read_q.op == OpReply)
      || (update_valid_q && update_q.op == OpReply);

  // ---------------------------------------------------------------------------------------------
  // Misses
  // ---------------------------------------------------------------------------------------------

  miss_t miss;
  slots_t miss_room, miss_leaves;

  assign miss = '{
      token: '{
          requester: RequesterIdWidth'(32'(look_q.requester) + First),
          index: look_q.index
      },
      asid: look_q.asid,
      write: look_q.write,
      block: look_q.block,
      epoch: epoch_i
  };

  // A lookup takes a place in its slot's miss queue and one among the results with the choice, and gives
  // them back when it leaves the one that it went to (one of each in one cycle: two places).
  for (genvar q = 0; q < NumSlots; q++) begin : gen_misses
    logic takes, leaves, none_q;  // none_q: beside the count, so that the choice begins at one register
    logic [NumRequesters-1:0] own;
    logic [CreditWidth-1:0] credit_q, credit_less, credit_more, credit_two_more, credit_d;

    tmb_fifo #(
      .T    (miss_t),
      .Depth(QueueDepth)
    ) i_misses (
      .clk_i      (clk_i),
      .rst_ni     (rst_ni),
      .in_valid_i (missed && look_q.slot == slot_t'(q)),
      .in_ready_o (miss_room[q]),
      .in_data_i  (miss),
      .out_valid_o(miss_valid_o[q]),
      .out_ready_i(miss_ready_i[q]),
      .out_data_o (miss_o[q])
    );
    assign miss_leaves[q] = miss_valid_o[q] && miss_ready_i[q];

    for (genvar s = 0; s < NumRequesters; s++) begin : gen_own
      assign own[s] = account[s] == slot_t'(q) && !lookup_i[s].is_reply;
    end
    assign takes = (grant & may_go & own) != '0;
    assign leaves = look_leaves && look_oldest.slot == slot_t'(q);
    assign has_credit[q] = !none_q;

    // The sums are there before it is known which of them counts: the choice and what the L1 TLBs say come late.
    assign credit_less = credit_q - CreditWidth'(1);
    assign credit_more = credit_q + CreditWidth'(1);
    assign credit_two_more = credit_q + CreditWidth'(2);
    always_comb begin
      credit_d = '0;
      if (takes && !miss_leaves[q] && !leaves) credit_d |= credit_less;
      if (takes ? miss_leaves[q] != leaves : !miss_leaves[q] && !leaves) credit_d |= credit_q;
      if (takes ? miss_leaves[q] && leaves : miss_leaves[q] != leaves) credit_d |= credit_more;
      if (!takes && miss_leaves[q] && leaves) credit_d |= credit_two_more;
    end

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        credit_q <= CreditWidth'(QueueDepth);
        none_q <= 1'b0;
      end else begin
        credit_q <= credit_d;
        if (takes && !miss_leaves[q] && !leaves) none_q <= credit_q == CreditWidth'(1);
        else if (takes ? miss_leaves[q] && leaves : miss_leaves[q] || leaves) none_q <= 1'b0;
      end
    end

    `TMB_ASSERT(CreditInRange, credit_q <= CreditWidth'(QueueDepth))
    `TMB_ASSERT(NoneFollowsCredit, none_q == (credit_q == '0))
  end

  // Walks by epoch, from the miss to the end at the hold comparator.
  logic [WalksWidth-1:0] walks_q [2];
  for (genvar e = 0; e < 2; e++) begin : gen_walks
    logic begins, ends;
    logic [WalksWidth-1:0] more, less;
    assign more = walks_q[e] + WalksWidth'(1);
    assign less = walks_q[e] - WalksWidth'(1);
    assign begins = missed && (epoch_i == 1'(e));
    assign ends = is_walk && (update_q.epoch == 1'(e));
    assign walks_o[e] = walks_q[e] != '0;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) walks_q[e] <= '0;
      else if (begins != ends) walks_q[e] <= (more & {WalksWidth{begins}}) | (less & {WalksWidth{ends}});
    end
  end

  `TMB_ASSERT_INIT(SlotsHaveRequesters, NumSlots >= 1 && Cfg.RequestersPerSlot >= 1)
  `TMB_ASSERT_INIT(L1sInOrder, l1_cfgs_legal(Cfg.L1))
  `TMB_ASSERT(OneHit, look_valid_q |-> $onehot0(hits))
  `TMB_ASSERT(UnheldAreQueued, unheld_q <= queued_q)
  `TMB_ASSERT(ResultHasRoom, look_answers |-> look_room)
  `TMB_ASSERT(MissHasRoom, missed |-> miss_room[look_q.slot])
  `TMB_ASSERT(WalkWasCounted, is_walk |-> walks_o[update_q.epoch])

endmodule
