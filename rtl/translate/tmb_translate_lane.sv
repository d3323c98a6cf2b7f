// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// One lane of the address network: arbitrates the lookups of its streams and translates one a cycle
// in its L1 TLBs, all of them at once. The ends of walks and the replies of the host pass through the same pipeline, so
// that one comparator at its end (the *hold* of an invalidation) sees every translation that a
// stream may get, and every fill.
//
// Pipeline: choice | L1 read | compare, fill, hold | result.
//
// L1    the L1 TLBs. A page goes to the one of the largest pages that are not larger than it, so a
//       translation is in one of them at most.
//
// With walker_off_i (by space) a miss is a fault, and the host's replies fill the L1 TLBs: the SRAM
// TLB of Coyote and FSRF. With l1_off_i (by space) every lookup is a miss: FSRF's DRAM TLB.
//
// Priority of the choice: kill (an invalidation), end of a walk, then lookups and replies
// round-robin. The first two are bounded by the lookups before them, so no stream starves.
//
// Throughput: one translation a cycle. Latency: 3 cycles from the lookup to its result. Ordering:
// results come in the order of the choices. Back-pressure: results are always taken; a lookup is
// chosen only when the miss queue has room for it.
// No deadlock: a full miss queue empties as walks end, which needs only memory.
//
// FlexiMem's address lanes; FSRF section 5.2.

`include "tmb_assert.svh"

module tmb_translate_lane
  import tmb_pkg::*;
  import tmb_translate_pkg::*;
#(
  parameter int unsigned NumStreams = 2,  // of this lane
  parameter int unsigned NumLanes = 1,    // stream s belongs to lane s mod NumLanes
  parameter int unsigned Lane = 0,
  parameter int unsigned MaxWalks = 64,   // of this lane, in all queues
  parameter l1_cfgs_t L1 = DefaultShellCfg.L1
) (
  input  logic    clk_i,
  input  logic    rst_ni,
  // streams
  input  logic    lookup_valid_i [NumStreams],
  output logic    lookup_ready_o [NumStreams],
  input  lookup_t lookup_i [NumStreams],
  output logic    result_valid_o [NumStreams],
  output result_t result_o,
  // walker
  output logic         miss_valid_o,
  input  logic         miss_ready_i,
  output miss_t        miss_o,
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
  output logic       kill_busy_o,   // a kill is in the pipeline
  output logic       reply_busy_o,  // a reply is in the pipeline
  input  logic       epoch_i,
  output logic [1:0] walks_o  // walks of each epoch have not ended
);

  localparam int unsigned StreamWidth = NumStreams > 1 ? $clog2(NumStreams) : 1;
  localparam int unsigned MissDepth = 8;
  localparam int unsigned CreditWidth = $clog2(MissDepth + 1);
  localparam int unsigned WalksWidth = $clog2(MaxWalks + MissDepth + 1);
  typedef logic [StreamWidth-1:0] stream_t;

  typedef logic [MaxL1s-1:0] l1_set_t;

  typedef enum logic [1:0] {
    OpLookup,
    OpReply,
    OpWalk,
    OpKill
  } op_e;

  typedef struct packed {
    op_e          op;
    stream_t      stream;
    park_index_t  index;
    asid_t        asid;
    logic         write;
    block_t       block;
    block_t       mask;  // kill
    // what a walk or a reply found
    logic         epoch;
    outcome_e     outcome;
    fault_cause_e cause;
    frame_t       frame;
    l1_set_t      fill;  // the L1 TLB that takes it
    logic         page_read;
    logic         page_write;
    logic         page_dirty;
  } operation_t;

  function automatic stream_t local_stream(logic [StreamIdWidth-1:0] stream);
    return stream_t'(32'(stream) / NumLanes);
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Choice
  // ---------------------------------------------------------------------------------------------

  logic [NumStreams-1:0] request, grant;
  stream_t chosen;
  logic requested, lookup_turn, lookup_taken;
  logic [CreditWidth-1:0] credit_q;
  lookup_t lookup;

  assign lookup_turn = !kill_valid_i && !walk_valid_i && (credit_q != '0);
  assign lookup_taken = requested && lookup_turn;
  assign walk_ready_o = !kill_valid_i;

  for (genvar s = 0; s < NumStreams; s++) begin : gen_request
    assign request[s] = lookup_valid_i[s]
        && !(skip_valid_i && !lookup_i[s].is_reply && lookup_i[s].asid == skip_asid_i);
    assign lookup_ready_o[s] = grant[s] && lookup_turn;
  end

  tmb_round_robin_arbiter #(
    .NumRequests(NumStreams)
  ) i_arbiter (
    .clk_i    (clk_i),
    .rst_ni   (rst_ni),
    .request_i(request),
    .accept_i (lookup_turn),
    .valid_o  (requested),
    .grant_o  (grant),
    .index_o  (chosen)
  );

  assign lookup = lookup_i[chosen];

  operation_t choice, read_q, compare_q;
  logic read_valid_q, compare_valid_q;

  always_comb begin
    choice = '{
        op: lookup.is_reply ? OpReply : OpLookup,
        stream: chosen,
        index: lookup.token.index,
        asid: lookup.asid,
        write: lookup.write,
        block: lookup.block,
        mask: '0,
        epoch: 1'b0,
        outcome: lookup.fail ? OutcomeError : OutcomeReady,
        cause: FaultAbsent,
        frame: frame_of_block(lookup.frame, frame_t'(lookup.block), lookup.size_class),
        fill: walker_off_i[lookup.asid] ? l1_of_class(L1, lookup.size_class) : '0,
        page_read: lookup.page_read,
        page_write: lookup.page_write,
        page_dirty: lookup.page_dirty
    };
    if (kill_valid_i) begin
      choice.op = OpKill;
      choice.asid = kill_i.asid;
      choice.block = kill_i.block;
      choice.mask = kill_i.mask;
    end else if (walk_valid_i) begin
      choice = '{
          op: OpWalk,
          stream: local_stream(walk_i.token.stream),
          index: walk_i.token.index,
          asid: walk_i.asid,
          write: walk_i.write,
          block: walk_i.block,
          mask: '0,
          epoch: walk_i.epoch,
          outcome: walk_i.outcome,
          cause: walk_i.cause,
          frame: walk_i.frame,
          fill: l1_of_class(L1, walk_i.size_class),
          page_read: walk_i.page_read,
          page_write: walk_i.page_write,
          page_dirty: walk_i.page_dirty
      };
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_valid_q <= 1'b0;
      compare_valid_q <= 1'b0;
    end else begin
      read_valid_q <= kill_valid_i || walk_valid_i || lookup_taken;
      compare_valid_q <= read_valid_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (kill_valid_i || walk_valid_i || lookup_taken) read_q <= choice;
    if (read_valid_q) compare_q <= read_q;
  end

  // ---------------------------------------------------------------------------------------------
  // Compare
  // ---------------------------------------------------------------------------------------------

  logic held, hit, allowed, granted, page_read, page_write, page_dirty;
  l1_set_t fill, hits;
  frame_t l1_frame;
  logic is_lookup, is_walk, is_kill, missed;
  result_t result, result_q;

  assign is_lookup = compare_valid_q && (compare_q.op == OpLookup);
  assign is_walk = compare_valid_q && (compare_q.op == OpWalk);
  assign is_kill = compare_valid_q && (compare_q.op == OpKill);

  assign held = (hold_valid_i && in_region(hold_i, compare_q.asid, compare_q.block))
      || space_waits_i[compare_q.asid];
  // A write needs a page that is known to be dirty: otherwise a walk marks it first.
  assign granted = compare_q.write ? page_write : page_read;
  assign allowed = granted && (page_dirty || !compare_q.write);

  always_comb begin
    result = '{
        index: compare_q.index,
        block: compare_q.block,
        source: SourceLookup,
        outcome: (hit && allowed) ? OutcomeReady : OutcomeMiss,
        cause: compare_q.cause,
        frame: l1_frame
    };
    if (compare_q.op != OpLookup) begin
      result.source = (compare_q.op == OpWalk) ? SourceWalk : SourceReply;
      result.outcome = compare_q.outcome;
      result.frame = compare_q.frame;
    end else if (walker_off_i[compare_q.asid] && !(hit && allowed)) begin
      result.outcome = OutcomeFault;
      result.cause = (hit && !granted) ? FaultPermission : FaultAbsent;
    end
    if (!space_enable_i[compare_q.asid]) result.outcome = OutcomeError;
    else if (held) result.outcome = OutcomeRetry;
  end

  assign fill = (compare_valid_q && !is_lookup && !is_kill && (result.outcome == OutcomeReady)
      && !l1_off_i[compare_q.asid]) ? compare_q.fill : '0;
  assign missed = is_lookup && (result.outcome == OutcomeMiss);

  // What each L1 TLB found; zeroes where there is none.
  frame_t found_frame [MaxL1s];
  l1_set_t found_read, found_write, found_dirty;

  for (genvar i = 0; i < MaxL1s; i++) begin : gen_l1
    if (L1[i].Ways != 0) begin : gen_present
      tmb_l1_tlb #(
        .PageBits(L1[i].PageBits),
        .SetsLog2(L1[i].SetsLog2),
        .Ways    (L1[i].Ways)
      ) i_l1_tlb (
        .clk_i       (clk_i),
        .rst_ni      (rst_ni),
        .read_i      (read_valid_q),
        .read_block_i(read_q.block),
        .asid_i      (compare_q.asid),
        .block_i     (compare_q.block),
        .hit_o       (hits[i]),
        .frame_o     (found_frame[i]),
        .page_read_o (found_read[i]),
        .page_write_o(found_write[i]),
        .page_dirty_o(found_dirty[i]),
        .fill_i      (fill[i]),
        .fill_frame_i(compare_q.frame),
        .fill_read_i (compare_q.page_read),
        .fill_write_i(compare_q.page_write),
        .fill_dirty_i(compare_q.page_dirty),
        .kill_i      (is_kill),
        .kill_mask_i (compare_q.mask)
      );
    end else begin : gen_absent
      assign hits[i] = 1'b0;
      assign found_frame[i] = '0;
      assign found_read[i] = 1'b0;
      assign found_write[i] = 1'b0;
      assign found_dirty[i] = 1'b0;

      logic unused_ok;
      assign unused_ok = &{1'b0, fill[i]};
    end
  end

  always_comb begin
    l1_frame = '0;
    for (int unsigned i = 0; i < MaxL1s; i++) l1_frame |= found_frame[i];
  end
  assign hit = (hits != '0) && !l1_off_i[compare_q.asid];
  assign page_read = found_read != '0;
  assign page_write = found_write != '0;
  assign page_dirty = found_dirty != '0;

  assign kill_busy_o = (read_valid_q && read_q.op == OpKill) || is_kill;
  assign reply_busy_o = (read_valid_q && read_q.op == OpReply)
      || (compare_valid_q && compare_q.op == OpReply);

  // ---------------------------------------------------------------------------------------------
  // Result
  // ---------------------------------------------------------------------------------------------

  logic [NumStreams-1:0] result_valid_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) result_valid_q <= '0;
    else if (compare_valid_q && !is_kill) result_valid_q <= NumStreams'(1) << compare_q.stream;
    else result_valid_q <= '0;
  end
  always_ff @(posedge clk_i) begin
    if (compare_valid_q && !is_kill) result_q <= result;
  end

  for (genvar s = 0; s < NumStreams; s++) begin : gen_result
    assign result_valid_o[s] = result_valid_q[s];
  end
  assign result_o = result_q;

  // ---------------------------------------------------------------------------------------------
  // Misses
  // ---------------------------------------------------------------------------------------------

  miss_t miss;
  logic miss_room, miss_leaves, credit_back;

  assign miss = '{
      token: '{
          stream: StreamIdWidth'(32'(compare_q.stream) * NumLanes + Lane),
          index: compare_q.index
      },
      asid: compare_q.asid,
      write: compare_q.write,
      block: compare_q.block,
      epoch: epoch_i
  };

  tmb_fifo #(
    .T    (miss_t),
    .Depth(MissDepth)
  ) i_misses (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .in_valid_i (missed),
    .in_ready_o (miss_room),
    .in_data_i  (miss),
    .out_valid_o(miss_valid_o),
    .out_ready_i(miss_ready_i),
    .out_data_o (miss_o)
  );

  // A place in the miss queue is taken with the choice and comes back when the lookup does not miss
  // or its miss leaves (both in one cycle: two places).
  assign miss_leaves = miss_valid_o && miss_ready_i;
  assign credit_back = compare_valid_q && !is_kill && !is_walk && !missed;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      credit_q <= CreditWidth'(MissDepth);
    end else if (lookup_taken || miss_leaves || credit_back) begin
      credit_q <= credit_q - CreditWidth'(lookup_taken) + CreditWidth'(miss_leaves)
          + CreditWidth'(credit_back);
    end
  end

  // Walks by epoch, from the miss to the end at the hold comparator.
  logic [WalksWidth-1:0] walks_q [2];
  for (genvar e = 0; e < 2; e++) begin : gen_walks
    logic begins, ends;
    assign begins = missed && (epoch_i == 1'(e));
    assign ends = is_walk && (compare_q.epoch == 1'(e));
    assign walks_o[e] = walks_q[e] != '0;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) walks_q[e] <= '0;
      else if (begins && !ends) walks_q[e] <= walks_q[e] + WalksWidth'(1);
      else if (!begins && ends) walks_q[e] <= walks_q[e] - WalksWidth'(1);
    end
  end

  `TMB_ASSERT_INIT(L1sInOrder, l1_cfgs_legal(L1))
  `TMB_ASSERT(OneHit, is_lookup |-> $onehot0(hits))
  `TMB_ASSERT(MissHasRoom, missed |-> miss_room)
  `TMB_ASSERT(WalkWasCounted, is_walk |-> walks_o[compare_q.epoch])

endmodule
