// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// One lane of the address network: arbitrates the lookups of its streams and translates one a cycle
// in the L1 TLB. The ends of walks and the replies of the host pass through the same pipeline, so
// that one comparator at its end (the *hold* of an invalidation) sees every translation that a
// stream may get, and every fill.
//
// Pipeline: choice | L1 read | compare, fill, hold | result.
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
  parameter int unsigned L1PageBits = 21,
  parameter int unsigned L1SetsLog2 = 5,
  parameter int unsigned L1Ways = 2
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
  input  logic [2**AsidWidth-1:0] space_flushing_i,  // results wait
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
    logic         fill;
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
    assign request[s] = lookup_valid_i[s];
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
        fill: 1'b0,
        page_read: 1'b0,
        page_write: 1'b0,
        page_dirty: 1'b0
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
          fill: walk_i.fill,
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

  logic held, hit, allowed, page_read, page_write, page_dirty, fill;
  frame_t l1_frame;
  logic is_lookup, is_walk, is_kill, missed;
  result_t result, result_q;

  assign is_lookup = compare_valid_q && (compare_q.op == OpLookup);
  assign is_walk = compare_valid_q && (compare_q.op == OpWalk);
  assign is_kill = compare_valid_q && (compare_q.op == OpKill);

  assign held = (hold_valid_i && in_region(hold_i, compare_q.asid, compare_q.block))
      || space_flushing_i[compare_q.asid];
  // A write needs a page that is known to be dirty: otherwise a walk marks it first.
  assign allowed = compare_q.write ? (page_write && page_dirty) : page_read;

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
    end
    if (!space_enable_i[compare_q.asid]) result.outcome = OutcomeError;
    else if (held) result.outcome = OutcomeRetry;
  end

  assign fill = is_walk && compare_q.fill && (result.outcome == OutcomeReady);
  assign missed = is_lookup && (result.outcome == OutcomeMiss);

  tmb_l1_tlb #(
    .PageBits(L1PageBits),
    .SetsLog2(L1SetsLog2),
    .Ways    (L1Ways)
  ) i_l1_tlb (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .read_i      (read_valid_q),
    .read_block_i(read_q.block),
    .asid_i      (compare_q.asid),
    .block_i     (compare_q.block),
    .hit_o       (hit),
    .frame_o     (l1_frame),
    .page_read_o (page_read),
    .page_write_o(page_write),
    .page_dirty_o(page_dirty),
    .fill_i      (fill),
    .fill_frame_i(compare_q.frame),
    .fill_read_i (compare_q.page_read),
    .fill_write_i(compare_q.page_write),
    .fill_dirty_i(compare_q.page_dirty),
    .kill_i      (is_kill),
    .kill_mask_i (compare_q.mask)
  );

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

  `TMB_ASSERT(MissHasRoom, missed |-> miss_room)
  `TMB_ASSERT(WalkWasCounted, is_walk |-> walks_o[compare_q.epoch])

endmodule
