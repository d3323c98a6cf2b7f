// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Page-table walker: looks up in the table (card memory) what missed in the L1 TLBs.
//
// A walk has a ticket from its miss to its end; the ticket is the tag of its memory reads. It reads one
// set (one row) for each size class that its space uses, largest first, until an entry matches. It
// asks the filter about two classes at once and leaves out those that are excluded, except that the
// last one is always read: an absent page costs one read too. An
// entry that has not been accessed, or a write to a clean page, goes to the table engine, which
// sets the bits in the table and gives the entry back; only then does the walk end.
//
// While slots differ (managed_i) a walk has the level of its slot. One ticket is kept for each level
// (tmb_walk_tickets); of misses that can begin, and of walks that have a further set to read, the highest
// level goes first (tmb_schedule_levels), and so do marks. So what a miss of a high level waits for of lower
// ones is: what is in the five stages to the read; turns, one in 16; ends of walks, one a cycle; and for a mark
// those that have begun. docs/blocks/scheduler.md counts it.
//
// Throughput: one set read a cycle, one walk a cycle. Latency: 6 cycles to the read (2 more for each
// two classes that are excluded), 4 from its response to the result. Ordering: none; walks overtake one another.
// Back-pressure: a miss waits for a ticket. Responses are always taken: every queue here has a place
// for every ticket.
// No deadlock: a walk needs memory, the table engine (which takes marks also while it waits for an
// invalidation) and its lane (which always takes the end of a walk).
//
// FSRF section 5.2, steps 4 and 5, figure 4.

`include "tmb_assert.svh"

module tmb_walker
  import tmb_pkg::*;
  import tmb_translate_pkg::*;
  import tmb_schedule_pkg::*;
#(
  parameter walker_cfg_t Cfg = DefaultWalkerCfg,
  localparam int unsigned NumLanes = Cfg.NumLanes,
  localparam int unsigned NumMisses = Cfg.NumMisses
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  space_cfg_t   space_i [2**AsidWidth],
  // lanes
  input  logic         managed_i,
  input  level_t       level_i [NumMisses],
  input  logic         miss_valid_i [NumMisses],
  output logic         miss_ready_o [NumMisses],
  input  miss_t        miss_i [NumMisses],
  output logic         walk_valid_o [NumLanes],
  input  logic         walk_ready_i [NumLanes],
  output walk_result_t walk_o,
  // filter: two classes of one block; the answer comes in the next cycle and stays
  output logic         query_o,
  output asid_t        query_asid_o,
  output block_t       query_block_o,
  output size_class_t  query_class_o [2],
  input  logic         may_be_i [2],
  output logic         read_o,  // a set is read (counted)
  // table engine
  output logic         mark_valid_o,
  input  logic         mark_ready_i,
  output mark_t        mark_o,
  input  logic         marked_valid_i,
  output logic         marked_ready_o,
  input  mark_result_t marked_i,
  // fabric
  output logic          read_req_valid_o,
  input  logic          read_req_ready_i,
  output mem_req_t      read_req_o,
  input  logic          read_rsp_valid_i,
  output logic          read_rsp_ready_o,
  input  mem_read_rsp_t read_rsp_i
);

  localparam int unsigned TicketWidth = Cfg.MaxWalks > 1 ? $clog2(Cfg.MaxWalks) : 1;
  localparam int unsigned LaneWidth = NumLanes > 1 ? $clog2(NumLanes) : 1;
  localparam int unsigned MissWidth = NumMisses > 1 ? $clog2(NumMisses) : 1;
  // Requesters by level: the misses, and the walks that go on.
  localparam int unsigned RequesterWidth = $clog2(NumMisses + 1);
  typedef logic [TicketWidth-1:0] ticket_t;
  typedef logic [MaxSizeClass:0] classes_t;
  typedef logic [TableTagWidth-1:0] tag_t;

  typedef struct packed {
    level_t level;
    miss_t  miss;
  } walk_t;
  walk_t walk_q [Cfg.MaxWalks];

  // Target of a ticket's set read, and the classes left to try after it.
  typedef struct packed {
    tag_t        tag;
    size_class_t size_class;
    classes_t    others;
  } probe_t;
  probe_t probe_q [Cfg.MaxWalks];

  // ---------------------------------------------------------------------------------------------
  // Tickets
  // ---------------------------------------------------------------------------------------------

  logic begins, ends;
  ticket_t ticket, end_ticket;
  logic [NumLevels-1:0] ticket_valid;
  walk_t begun;

  tmb_walk_tickets #(
    .MaxWalks(Cfg.MaxWalks)
  ) i_tickets (
    .clk_i          (clk_i),
    .rst_ni         (rst_ni),
    .managed_i      (managed_i),
    .valid_o        (ticket_valid),
    .take_i         (begins),
    .take_level_i   (begun.level),
    .ticket_o       (ticket),
    .return_i       (ends),
    .return_ticket_i(end_ticket)
  );

  // ---------------------------------------------------------------------------------------------
  // Next probe: a further class of a walk, or a new walk
  // ---------------------------------------------------------------------------------------------

  // While slots are alike, further classes go first, and a miss without a ticket keeps its turn.
  logic [NumMisses-1:0] could_begin, miss_request, miss_grant, miss_pass;
  logic [MissWidth-1:0] miss_from;
  logic miss_any, further_valid, further_pass, further_take, advance, loops, enters;
  level_t further_level;
  ticket_t further_ticket;
  miss_t miss;
  level_t level [NumMisses+1];

  assign enters = advance && !loops && !(further_valid && further_pass);
  for (genvar m = 0; m < NumMisses; m++) begin : gen_miss
    assign level[m] = managed_i ? level_i[m] : '0;
    assign could_begin[m] = miss_valid_i[m] && (!managed_i || ticket_valid[level[m]]);
    assign miss_request[m] = could_begin[m] && miss_pass[m];
    assign miss_ready_o[m] = miss_grant[m] && ticket_valid[level[m]] && enters;
  end
  assign level[NumMisses] = further_level;

  tmb_schedule_levels #(
    .NumSlots(NumMisses + 1)
  ) i_levels (
    .clk_i    (clk_i),
    .rst_ni   (rst_ni),
    .managed_i(managed_i),
    .level_i  (level),
    .waits_i  ({further_valid && !further_take, could_begin & ~(miss_grant & {NumMisses{begins}})}),
    .taken_i  ({further_take, miss_grant & {NumMisses{begins}}}),
    .pass_o   ({further_pass, miss_pass})
  );

  tmb_round_robin_arbiter #(
    .NumRequests(NumMisses)
  ) i_misses (
    .clk_i    (clk_i),
    .rst_ni   (rst_ni),
    .request_i(miss_request),
    .accept_i (begins),
    .valid_o  (miss_any),
    .grant_o  (miss_grant),
    .index_o  (miss_from)
  );

  assign miss = miss_i[miss_from];
  assign begun = '{level: level[RequesterWidth'(miss_from)], miss: miss};
  assign begins = miss_any && ticket_valid[begun.level] && enters;
  assign further_take = further_valid && further_pass && advance && !loops;

  always_ff @(posedge clk_i) begin
    if (begins) walk_q[ticket] <= begun;
  end

  // Stage 1: which two classes. Stage 2: the filter. Stage 3: one of the two, and the page number, or
  // round again with the classes that are left. Stage 4: set and tag. Then the request.
  typedef struct packed {
    ticket_t    ticket;
    asid_t    asid;
    block_t   block;
    classes_t classes;
  } choose_t;
  typedef struct packed {
    ticket_t       ticket;
    asid_t       asid;
    block_t      block;
    size_class_t first;
    size_class_t second;
    classes_t    after_first;
    classes_t    after_second;
  } pair_t;
  typedef struct packed {
    ticket_t        ticket;
    asid_t        asid;
    page_number_t number;
    size_class_t  size_class;
    classes_t     others;
  } index_t;
  typedef struct packed {
    ticket_t      ticket;
    asid_t      asid;
    table_set_t set;
  } issue_t;

  choose_t choose_q;
  pair_t pair_d, pair_q, query_q;
  index_t index_q;
  issue_t issue_q;
  logic choose_valid_q, pair_valid_q, query_valid_q, index_valid_q, issue_valid_q;
  walk_t further_walk;

  assign further_walk = walk_q[further_ticket];

  always_comb begin
    pair_d = '{
        ticket: choose_q.ticket,
        asid: choose_q.asid,
        block: choose_q.block,
        first: largest_class(choose_q.classes),
        second: '0,
        after_first: '0,
        after_second: '0
    };
    pair_d.after_first = choose_q.classes & ~(classes_t'(1) << pair_d.first);
    pair_d.second = largest_class(pair_d.after_first);
    pair_d.after_second = pair_d.after_first & ~(classes_t'(1) << pair_d.second);
  end

  assign query_o = advance && pair_valid_q;
  assign query_asid_o = pair_q.asid;
  assign query_block_o = pair_q.block;
  assign query_class_o[0] = pair_q.first;
  assign query_class_o[1] = pair_q.second;

  logic take_first, take_second;
  assign take_first = may_be_i[0] || (query_q.after_first == '0);
  assign take_second = may_be_i[1] || (query_q.after_second == '0);
  assign loops = query_valid_q && !take_first && !take_second;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      choose_valid_q <= 1'b0;
      pair_valid_q <= 1'b0;
      query_valid_q <= 1'b0;
      index_valid_q <= 1'b0;
      issue_valid_q <= 1'b0;
    end else if (advance) begin
      choose_valid_q <= begins || further_take || loops;
      pair_valid_q <= choose_valid_q;
      query_valid_q <= pair_valid_q;
      index_valid_q <= query_valid_q && !loops;
      issue_valid_q <= index_valid_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (advance && loops) begin
      choose_q <= '{
          ticket: query_q.ticket,
          asid: query_q.asid,
          block: query_q.block,
          classes: query_q.after_second
      };
    end else if (further_take) begin
      choose_q <= '{
          ticket: further_ticket,
          asid: further_walk.miss.asid,
          block: further_walk.miss.block,
          classes: probe_q[further_ticket].others
      };
    end else if (begins) begin
      choose_q <= '{
          ticket: ticket,
          asid: miss.asid,
          block: miss.block,
          classes: space_i[miss.asid].size_classes
      };
    end
    if (advance && choose_valid_q) pair_q <= pair_d;
    if (advance && pair_valid_q) query_q <= pair_q;
    if (advance && query_valid_q) begin
      index_q <= '{
          ticket: query_q.ticket,
          asid: query_q.asid,
          number: query_q.block >> (take_first ? query_q.first : query_q.second),
          size_class: take_first ? query_q.first : query_q.second,
          others: take_first ? query_q.after_first : query_q.after_second
      };
    end
    if (advance && index_valid_q) begin
      probe_q[index_q.ticket] <= '{
          tag: page_tag(index_q.number, space_i[index_q.asid].table_sets_log2),
          size_class: index_q.size_class,
          others: index_q.others
      };
      issue_q <= '{
          ticket: index_q.ticket,
          asid: index_q.asid,
          set: table_set(index_q.number, space_i[index_q.asid].table_sets_log2)
      };
    end
  end

  mem_req_t request;
  assign request = '{
      addr: space_i[issue_q.asid].table_base | {issue_q.set, RowOffsetWidth'(0)},
      len: '0,
      tag: mem_tag_t'(issue_q.ticket)
  };

  tmb_spill_register #(
    .T(mem_req_t)
  ) i_request (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .in_valid_i (issue_valid_q),
    .in_ready_o (advance),
    .in_data_i  (request),
    .out_valid_o(read_req_valid_o),
    .out_ready_i(read_req_ready_i),
    .out_data_o (read_req_o)
  );

  assign read_o = read_req_valid_o && read_req_ready_i;

  // ---------------------------------------------------------------------------------------------
  // Response: find the entry, then decide
  // ---------------------------------------------------------------------------------------------

  page_set_t set_q;
  ticket_t set_ticket_q, found_ticket_q;
  logic set_valid_q, set_error_q, found_valid_q, found_error_q, found_hit_q;
  logic set_write_q, found_write_q, found_others_q;
  level_t set_level_q, found_level_q;
  page_entry_t found_q;
  find_t find;
  probe_t set_probe, set_probe_q;
  walk_t set_walk;

  assign read_rsp_ready_o = 1'b1;
  assign set_probe = probe_q[ticket_t'(read_rsp_i.tag)];
  assign set_walk = walk_q[ticket_t'(read_rsp_i.tag)];
  assign find = find_entry(set_q, set_probe_q.tag, set_probe_q.size_class);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      set_valid_q <= 1'b0;
      found_valid_q <= 1'b0;
    end else begin
      set_valid_q <= read_rsp_valid_i;
      found_valid_q <= set_valid_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (read_rsp_valid_i) begin
      set_q <= read_rsp_i.row;
      set_ticket_q <= ticket_t'(read_rsp_i.tag);
      set_probe_q <= set_probe;
      set_write_q <= set_walk.miss.write;
      set_level_q <= set_walk.level;
      set_error_q <= read_rsp_i.error;
    end
    if (set_valid_q) begin
      found_q <= find.entry;
      found_hit_q <= |find.match;
      found_ticket_q <= set_ticket_q;
      found_write_q <= set_write_q;
      found_level_q <= set_level_q;
      found_others_q <= set_probe_q.others != '0;
      found_error_q <= set_error_q;
    end
  end

  typedef struct packed {
    ticket_t        ticket;
    outcome_e     outcome;
    fault_cause_e cause;
    page_entry_t  entry;
  } end_t;

  end_t found_end, mark_end, finished;
  logic found_right, found_marked, found_ends, to_mark, to_further;

  assign found_right = found_write_q ? found_q.write : found_q.read;
  assign found_marked = found_q.accessed && (found_q.dirty || !found_write_q);

  always_comb begin
    found_end = '{
        ticket: found_ticket_q,
        outcome: OutcomeFault,
        cause: FaultAbsent,
        entry: found_q
    };
    found_ends = found_valid_q;
    to_mark = 1'b0;
    to_further = 1'b0;
    if (found_error_q) begin
      found_end.outcome = OutcomeError;
    end else if (!found_hit_q) begin
      to_further = found_valid_q && found_others_q;
      found_ends = found_valid_q && !to_further;
    end else if (!found_right) begin
      found_end.cause = FaultPermission;
    end else if (!reachable(found_q.target, found_q.frame[FrameWidth-1], Cfg.HostChannel)) begin
      found_end.cause = FaultTarget;
    end else begin
      found_end.outcome = OutcomeReady;
      to_mark = found_valid_q && !found_marked;
      found_ends = found_valid_q && found_marked;
    end
  end

  logic unused_further_ready, unused_mark_ready, unused_end_ready;

  tmb_level_queue #(
    .T    (ticket_t),
    .Depth(Cfg.MaxWalks)
  ) i_further (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .managed_i  (managed_i),
    .in_valid_i (to_further),
    .in_ready_o (unused_further_ready),
    .in_level_i (found_level_q),
    .in_data_i  (found_ticket_q),
    .out_valid_o(further_valid),
    .out_ready_i(further_take),
    .out_level_o(further_level),
    .out_data_o (further_ticket)
  );

  // ---------------------------------------------------------------------------------------------
  // Marks
  // ---------------------------------------------------------------------------------------------

  ticket_t mark_ticket;
  level_t unused_mark_level;
  walk_t mark_walk;
  logic mark_finish;

  tmb_level_queue #(
    .T    (ticket_t),
    .Depth(Cfg.MaxWalks)
  ) i_marks (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .managed_i  (managed_i),
    .in_valid_i (to_mark),
    .in_ready_o (unused_mark_ready),
    .in_level_i (found_level_q),
    .in_data_i  (found_ticket_q),
    .out_valid_o(mark_valid_o),
    .out_ready_i(mark_ready_i),
    .out_level_o(unused_mark_level),
    .out_data_o (mark_ticket)
  );

  assign mark_walk = walk_q[mark_ticket];
  assign mark_o = '{
      asid: mark_walk.miss.asid,
      block: mark_walk.miss.block,
      size_class: probe_q[mark_ticket].size_class,
      write: mark_walk.miss.write,
      ticket: mem_tag_t'(mark_ticket)
  };
  assign marked_ready_o = !found_ends;
  assign mark_finish = marked_valid_i && marked_ready_o;
  assign mark_end = '{
      ticket: ticket_t'(marked_i.ticket),
      outcome: marked_i.gone ? OutcomeRetry : OutcomeReady,
      cause: FaultAbsent,
      entry: marked_i.entry
  };

  // ---------------------------------------------------------------------------------------------
  // End
  // ---------------------------------------------------------------------------------------------

  logic finished_valid, result_valid_q, result_free, result_taken;
  walk_result_t result_q;
  walk_t end_walk;
  size_class_t end_class;
  logic [LaneWidth-1:0] result_lane;

  tmb_fifo #(
    .T    (end_t),
    .Depth(Cfg.MaxWalks)
  ) i_ends (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .in_valid_i (found_ends || mark_finish),
    .in_ready_o (unused_end_ready),
    .in_data_i  (found_ends ? found_end : mark_end),
    .out_valid_o(finished_valid),
    .out_ready_i(result_free),
    .out_data_o (finished)
  );

  assign end_ticket = finished.ticket;
  assign end_walk = walk_q[end_ticket];
  assign end_class = probe_q[end_ticket].size_class;
  assign ends = finished_valid && result_free;
  assign result_free = !result_valid_q || result_taken;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) result_valid_q <= 1'b0;
    else if (result_free) result_valid_q <= finished_valid;
  end
  always_ff @(posedge clk_i) begin
    if (ends) begin
      result_q <= '{
          token: end_walk.miss.token,
          asid: end_walk.miss.asid,
          block: end_walk.miss.block,
          epoch: end_walk.miss.epoch,
          outcome: finished.outcome,
          cause: finished.cause,
          frame: frame_of_block(card_frame(finished.entry.frame, finished.entry.target, Cfg.HostChannel),
                                frame_t'(end_walk.miss.block), end_class),
          size_class: end_class,
          page_read: finished.entry.read,
          page_write: finished.entry.write,
          page_dirty: finished.entry.dirty
      };
    end
  end

  // Lane l has the requesters from l * Cfg.RequestersPerLane on.
  always_comb begin
    result_lane = '0;
    for (int unsigned l = 1; l < NumLanes; l++) begin
      if (32'(result_q.token.requester) >= l * Cfg.RequestersPerLane) result_lane = LaneWidth'(l);
    end
  end
  assign result_taken = walk_ready_i[result_lane];
  for (genvar l = 0; l < NumLanes; l++) begin : gen_walk
    assign walk_valid_o[l] = result_valid_q && (result_lane == LaneWidth'(l));
  end
  assign walk_o = result_q;

  logic unused_ok;
  assign unused_ok = &{1'b0, read_rsp_i, set_walk, further_walk, mark_walk, end_walk, finished,
                       marked_i, unused_further_ready, unused_mark_ready, unused_mark_level,
                       unused_end_ready};

  `TMB_ASSERT_INIT(TicketFitsTag, TicketWidth <= MemTagWidth)
  `TMB_ASSERT(OneMatch, set_valid_q |-> $onehot0(find.match))
  `TMB_ASSERT(FurtherFits, to_further |-> unused_further_ready)
  `TMB_ASSERT(MarkFits, to_mark |-> unused_mark_ready)
  `TMB_ASSERT(EndFits, (found_ends || mark_finish) |-> unused_end_ready)

endmodule
