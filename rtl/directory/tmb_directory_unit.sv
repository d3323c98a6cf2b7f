// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// One unit of the directory: the lines of one part of the address space.
//
// The place of a line in the directory (set and way) holds the whole state of its transaction, so
// every line may have one under way and nothing has to be allocated for it. An event is one pass of
// the pipeline:
//
//   issue   pick an event; read the set
//   match   compare tags with the line's, state with idle
//   choose  way and state; a line without a place takes an idle way, or asks for a recall
//   lookup  protocol ROM
//   commit  write state and labels, emit the actions, or put a stalled event back
//
// Cfg           of the directory; SetsPerUnit x Ways: the unit's share of the CPU's cache
// RecallDelay   cycles that a request waits for a way before another line is recalled: most often
//               the eviction that makes room is on its way
//
// Throughput: one event a cycle, as long as events of one set are four cycles apart. Latency: an
// event that arrives in cycle 0 has its action at the output in cycle 6.
// Ordering: none between lines; the events of a line are processed one after the other.
// Back-pressure: requests and operations wait in queues of their own while the protocol stalls
// them, and are offered only while those are ready; the unit itself never stops behind a line. Events are
// issued only when their actions have room.
// No deadlock: (1) what comes back from link and memory (sink_*) is never stalled by the protocol and
// is issued first, as soon as actions have room; (2) the slice takes actions without condition (its
// queues have room for all that can be outstanding); (3) requests never block operations, nor the
// reverse: they have queues of their own; (4) a stalled event is tried again after each change. So an
// application that delays a read of one line until an operation on another line of this unit is
// acknowledged gets its acknowledgement; (5) the queues hold every request ID and every operation tag
// of the slice, so neither link nor application ever waits to hand one in, however many are stalled.
//
// Sweep (sweep_i): goes through the sets and recalls what the CPU has, one line at a time, and with
// release_i also unlocks what is locked; swept_o when it has seen every set without. It comes after everything
// else, and waits for transactions under way: what starts meanwhile in sets that it has passed, it does not see.
//
// Source: CCKit, section 4.3 and figure 4. There a unit is serial and blocks; here it is pipelined and
// holds as many transactions as lines.

`include "tmb_assert.svh"

module tmb_directory_unit
  import tmb_mesi_protocol_pkg::*;
  import tmb_directory_pkg::*;
#(
  parameter tmb_pkg::directory_cfg_t Cfg = tmb_pkg::DefaultDirectoryCfg,
  parameter int unsigned LocalWidth = 27,  // line number without slice and unit
  parameter int unsigned RecallDelay = 255,
  parameter type sink_t = logic,
  parameter type start_t = logic,
  parameter type action_t = logic
) (
  input  logic    clk_i,
  input  logic    rst_ni,

  // Responses of the link, completions of memory.
  input  logic    sink_valid_i,
  output logic    sink_ready_o,
  input  sink_t   sink_i,

  // Requests of the link.
  input  logic    request_valid_i,
  output logic    request_ready_o,
  input  start_t  request_i,

  // Operations of the application.
  input  logic    operation_valid_i,
  output logic    operation_ready_o,
  input  start_t  operation_i,

  // Actions. The two parts of an action leave on their own: `first` (forwards and accesses to
  // memory) and `last` (answers and acknowledgements).
  output action_t action_o,
  output logic    first_valid_o,
  input  logic    first_ready_i,
  output logic    last_valid_o,
  input  logic    last_ready_i,

  // Lines come home, locks go: see above. Hold sweep_i until swept_o.
  input  logic    sweep_i,
  input  logic    release_i,
  output logic    swept_o,

  output logic    error_valid_o,  // one cycle
  output error_t  error_o
);

  // One copy of the code for all units.
  /* verilator no_inline_module */

  localparam int unsigned Sets = Cfg.SetsPerUnit;
  localparam int unsigned Ways = Cfg.Ways;
  localparam int unsigned SetWidth = $clog2(Sets);
  localparam int unsigned WayWidth = $clog2(Ways);
  localparam int unsigned TagWidth = LocalWidth - SetWidth;
  localparam int unsigned ActionDepth = 8;
  localparam int unsigned ActionCountWidth = $clog2(ActionDepth + 1);

  typedef logic [SetWidth-1:0] set_t;
  typedef logic [WayWidth-1:0] way_t;
  typedef logic [Ways-1:0] ways_t;
  typedef logic [TagWidth-1:0] tag_t;

  typedef struct packed {
    tag_t                       tag;
    logic [HomeStateWidth-1:0]  state;
  } place_t;

  typedef enum logic [1:0] {
    FromSink = 2'd0,
    FromRequest = 2'd1,
    FromOperation = 2'd2,
    FromSweep = 2'd3
  } source_e;

  // An event on its way through the pipeline.
  typedef struct packed {
    source_e        source;
    home_event_e    kind;
    set_t           set;
    tag_t           tag;
    way_t           way;      // with by_way only
    logic           by_way;
    payload_index_t payload;
    operation_tag_t label;    // request ID or operation tag
  } event_t;

  // ---------------------------------------------------------------------------------------------
  // Idle directory after reset
  // ---------------------------------------------------------------------------------------------

  logic ready_q;
  set_t clear_set_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ready_q <= 1'b0;
      clear_set_q <= '0;
    end else if (!ready_q) begin
      clear_set_q <= clear_set_q + 1'b1;
      ready_q <= clear_set_q == set_t'(Sets - 1);
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Input queues
  // ---------------------------------------------------------------------------------------------

  // The stages of the pipeline.
  logic match_valid_q, choose_valid_q, lookup_valid_q, commit_valid_q;
  event_t match_q, choose_q, lookup_q, commit_q;

  sink_t sink_head;
  start_t request_head, operation_head;
  logic sink_waits, request_waits, operation_waits;
  logic sink_take, request_take, operation_take;
  logic request_retire, request_again, operation_retire, operation_again;
  start_t again_data;
  logic wake;
  logic request_empty, operation_empty;

  tmb_directory_sink_queue #(
    .T(sink_t)
  ) u_sink_queue (
    .clk_i,
    .rst_ni,
    .in_valid_i(sink_valid_i),
    .in_ready_o(sink_ready_o),
    .in_data_i(sink_i),
    .out_valid_o(sink_waits),
    .out_ready_i(sink_take),
    .out_data_o(sink_head)
  );

  tmb_directory_retry_queue #(
    .T(start_t),
    .Depth(NumRequestIds)
  ) u_request_queue (
    .clk_i,
    .rst_ni,
    .in_valid_i(request_valid_i),
    .in_ready_o(request_ready_o),
    .in_data_i(request_i),
    .out_valid_o(request_waits),
    .out_take_i(request_take),
    .out_data_o(request_head),
    .outcome_i(lookup_valid_q && lookup_q.source == FromRequest),
    .retire_i(request_retire),
    .again_i(request_again),
    .again_data_i(again_data),
    .wake_i(wake),
    .empty_o(request_empty)
  );

  tmb_directory_retry_queue #(
    .T(start_t),
    .Depth(NumOperationTags)
  ) u_operation_queue (
    .clk_i,
    .rst_ni,
    .in_valid_i(operation_valid_i),
    .in_ready_o(operation_ready_o),
    .in_data_i(operation_i),
    .out_valid_o(operation_waits),
    .out_take_i(operation_take),
    .out_data_o(operation_head),
    .outcome_i(lookup_valid_q && lookup_q.source == FromOperation),
    .retire_i(operation_retire),
    .again_i(operation_again),
    .again_data_i(again_data),
    .wake_i(wake),
    .empty_o(operation_empty)
  );

  // ---------------------------------------------------------------------------------------------
  // Issue
  // ---------------------------------------------------------------------------------------------

  // The set that the sweep looks at, and whether its look is in the pipeline.
  set_t sweep_set_q;
  logic sweep_busy_q, swept_q, sweep_take;

  event_t from_sink, from_request, from_operation, from_sweep, issued;
  always_comb begin
    from_sink = '0;
    from_sink.source = FromSink;
    from_sink.kind = sink_head.kind;
    {from_sink.tag, from_sink.set} = sink_head.line;
    from_sink.by_way = sink_head.by_way;
    from_sink.way = sink_head.way;
    from_sink.payload = sink_head.payload;
    from_request = '0;
    from_request.source = FromRequest;
    from_request.kind = request_head.kind;
    {from_request.tag, from_request.set} = request_head.line;
    from_request.label = request_head.label;
    from_operation = '0;
    from_operation.source = FromOperation;
    from_operation.kind = operation_head.kind;
    {from_operation.tag, from_operation.set} = operation_head.line;
    from_operation.label = operation_head.label;
    from_sweep = '0;
    from_sweep.source = FromSweep;
    from_sweep.kind = HomeEvOpRecall;
    from_sweep.set = sweep_set_q;
  end

  // Whether an event of this set is in the pipeline.
  function automatic logic in_pipeline(set_t set, logic [3:0] valid, set_t a, set_t b, set_t c,
                                       set_t d);
    return (valid[0] && set == a) || (valid[1] && set == b) || (valid[2] && set == c)
        || (valid[3] && set == d);
  endfunction

  logic [3:0] stages_valid;
  assign stages_valid = {commit_valid_q, lookup_valid_q, choose_valid_q, match_valid_q};

  logic sink_free, request_free, operation_free, sweep_free;
  assign sink_free = sink_waits && !in_pipeline(from_sink.set, stages_valid, match_q.set,
      choose_q.set, lookup_q.set, commit_q.set);
  assign request_free = request_waits && !in_pipeline(from_request.set, stages_valid, match_q.set,
      choose_q.set, lookup_q.set, commit_q.set);
  assign operation_free = operation_waits && !in_pipeline(from_operation.set, stages_valid,
      match_q.set, choose_q.set, lookup_q.set, commit_q.set);

  assign sweep_free = sweep_i && !swept_q && !sweep_busy_q && !in_pipeline(sweep_set_q, stages_valid,
      match_q.set, choose_q.set, lookup_q.set, commit_q.set);

  // Room for the actions of everything in the pipeline and one more. Nothing before the directory is
  // cleared.
  logic [ActionCountWidth-1:0] reserved_q;
  logic issue, action_room, no_action, action_pop, action_popped_q;
  assign action_room = ready_q && reserved_q != ActionCountWidth'(ActionDepth);

  // Requests and operations take turns.
  logic prefer_request_q;
  always_comb begin
    sink_take = 1'b0;
    request_take = 1'b0;
    operation_take = 1'b0;
    sweep_take = 1'b0;
    issued = from_sink;
    if (action_room) begin
      if (sink_free) begin
        sink_take = 1'b1;
      end else if (request_free && (prefer_request_q || !operation_free)) begin
        request_take = 1'b1;
        issued = from_request;
      end else if (operation_free) begin
        operation_take = 1'b1;
        issued = from_operation;
      end else if (sweep_free) begin
        sweep_take = 1'b1;
        issued = from_sweep;
      end
    end
  end
  assign issue = sink_take || request_take || operation_take || sweep_take;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      prefer_request_q <= 1'b0;
      reserved_q <= '0;
      action_popped_q <= 1'b0;
    end else begin
      if (request_take || operation_take) prefer_request_q <= operation_take;
      action_popped_q <= action_pop;
      reserved_q <= reserved_q + ActionCountWidth'(issue) - ActionCountWidth'(action_popped_q)
          - ActionCountWidth'(no_action);
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Match
  // ---------------------------------------------------------------------------------------------

  logic places_write;
  ways_t places_strobe;
  place_t place_written;
  place_t [Ways-1:0] places;
  set_t places_write_set;

  tmb_ram_1r1w #(
    .Width(Ways * $bits(place_t)),
    .Depth(Sets),
    .StrobeWidth(Ways)
  ) u_places (
    .clk_i,
    .write_enable_i(places_write),
    .write_addr_i(places_write_set),
    .write_strobe_i(places_strobe),
    .write_data_i({Ways{place_written}}),
    .read_enable_i(issue),
    .read_addr_i(issued.set),
    .read_data_o(places)
  );

  // A line can be recalled when it has no transaction under way and is not locked.
  ways_t match_hits, match_idle, match_recallable, match_locked;
  always_comb begin
    for (int unsigned w = 0; w < Ways; w++) begin
      match_idle[w] = home_is_idle(home_state_e'(places[w].state));
      match_recallable[w] = home_is_stable(home_state_e'(places[w].state))
          && !home_is_locked(home_state_e'(places[w].state)) && !match_idle[w];
      match_locked[w] = home_is_stable(home_state_e'(places[w].state))
          && home_is_locked(home_state_e'(places[w].state));
      match_hits[w] = places[w].tag == match_q.tag && !match_idle[w];
      if (match_q.source == FromSweep) match_hits[w] = 1'b0;
      if (match_q.by_way) match_hits[w] = match_q.way == way_t'(w);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) match_valid_q <= 1'b0;
    else match_valid_q <= issue;
  end
  always_ff @(posedge clk_i) begin
    if (issue) match_q <= issued;
  end

  // ---------------------------------------------------------------------------------------------
  // Choose
  // ---------------------------------------------------------------------------------------------

  ways_t hits_q, idle_q, recallable_q, locked_q;
  place_t [Ways-1:0] places_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) choose_valid_q <= 1'b0;
    else choose_valid_q <= match_valid_q;
  end
  always_ff @(posedge clk_i) begin
    if (match_valid_q) begin
      choose_q <= match_q;
      hits_q <= match_hits;
      idle_q <= match_idle;
      recallable_q <= match_recallable;
      locked_q <= match_locked;
      places_q <= places;
    end
  end

  // Recall: a request or an operation needs a way, has waited long enough, no recall is under way, and a
  // line of the set can be recalled. Victims are taken in turn, beginning with these ways.
  logic recall_allowed_q, recall_under_way_q;
  ways_t victims_q;

  // A message that is not for a home (it decodes as a completion of memory) meets the idle state,
  // where the ROM refuses it.
  logic foreign;
  assign foreign = choose_q.kind == HomeEvWriteDone && !choose_q.by_way;

  logic hit, has_idle, needs_no_place, full;
  logic sweeps, unlocks, set_clean;
  ways_t chosen_ways, next_victims, first_next, first_victim, first_locked;
  way_t chosen_way;
  place_t chosen_place;
  assign hit = |hits_q;
  assign has_idle = |idle_q;
  assign needs_no_place = !hit
      && (choose_q.source == FromSink || foreign || idle_stays_idle(choose_q.kind));
  assign sweeps = choose_q.source == FromSweep;
  assign full = sweeps || (!hit && !has_idle && !needs_no_place);
  // The sweep unlocks when nothing is left to recall, and is through with a set that has neither.
  assign unlocks = sweeps && release_i && recallable_q == '0 && locked_q != '0;
  assign set_clean = (idle_q | (release_i ? '0 : locked_q)) == '1;

  assign next_victims = recallable_q & victims_q;
  assign first_next = next_victims & (~next_victims + ways_t'(1));
  assign first_victim = recallable_q & (~recallable_q + ways_t'(1));
  assign first_locked = locked_q & (~locked_q + ways_t'(1));

  always_comb begin
    if (hit) chosen_ways = hits_q;
    else if (unlocks) chosen_ways = first_locked;
    else if (full) chosen_ways = (next_victims != '0) ? first_next : first_victim;
    else chosen_ways = idle_q & (~idle_q + ways_t'(1));
    chosen_way = '0;
    chosen_place = '0;
    for (int unsigned w = 0; w < Ways; w++) begin
      if (chosen_ways[w]) begin
        chosen_way |= way_t'(w);
        chosen_place |= places_q[w];
      end
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Lookup
  // ---------------------------------------------------------------------------------------------

  typedef struct packed {
    way_t way;
    logic full;      // no way: the ROM sees a recall of another line, the event itself waits
    logic recall;    // and the recall may start
    logic clean;     // of the sweep: nothing is to be done in the set
    logic no_place;  // the line stays without a place
    tag_t tag;       // of the line in the way (the victim's for a recall)
  } choice_t;

  choice_t lookup_choice_q, commit_choice_q;
  home_state_e lookup_state_q;
  home_event_e lookup_event_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) lookup_valid_q <= 1'b0;
    else lookup_valid_q <= choose_valid_q;
  end
  always_ff @(posedge clk_i) begin
    if (choose_valid_q) begin
      lookup_q <= choose_q;
      lookup_choice_q.way <= chosen_way;
      lookup_choice_q.full <= full;
      lookup_choice_q.recall <= full && (recall_allowed_q || sweeps) && !recall_under_way_q
          && (recallable_q != '0 || unlocks);
      lookup_choice_q.clean <= set_clean;
      lookup_choice_q.no_place <= needs_no_place;
      lookup_choice_q.tag <= full ? chosen_place.tag : choose_q.tag;
      lookup_state_q <= ((hit && !foreign) || full) ? home_state_e'(chosen_place.state)
                                                    : home_state_e'(HomeStateWidth'(0));
      lookup_event_q <= unlocks ? HomeEvOpUnlock : full ? HomeEvOpRecall : choose_q.kind;
      if (hit && choose_q.by_way) lookup_choice_q.tag <= chosen_place.tag;
    end
  end

  home_entry_t entry;
  tmb_mesi_home_rom u_rom (
    .clk_i,
    .en_i(lookup_valid_q),
    .state_i(lookup_state_q),
    .event_i(lookup_event_q),
    .entry_o(entry)
  );

  // Labels of a line: the request that is being served, and the operation (with a flag: recall).
  typedef struct packed {
    logic           recall;
    operation_tag_t tag;
  } operation_label_t;

  typedef logic [SetWidth+WayWidth-1:0] place_index_t;
  place_index_t lookup_index, commit_index;
  assign lookup_index = {lookup_q.set, lookup_choice_q.way};
  assign commit_index = {commit_q.set, commit_choice_q.way};

  logic request_label_write, operation_label_write;
  request_id_t request_label;
  operation_label_t operation_label, operation_label_new;

  tmb_ram_1r1w #(
    .Width(RequestIdWidth),
    .Depth(Sets * Ways)
  ) u_request_labels (
    .clk_i,
    .write_enable_i(request_label_write),
    .write_addr_i(commit_index),
    .write_strobe_i(1'b1),
    .write_data_i(request_id_t'(commit_q.label)),
    .read_enable_i(lookup_valid_q),
    .read_addr_i(lookup_index),
    .read_data_o(request_label)
  );

  tmb_ram_1r1w #(
    .Width($bits(operation_label_t)),
    .Depth(Sets * Ways)
  ) u_operation_labels (
    .clk_i,
    .write_enable_i(operation_label_write),
    .write_addr_i(commit_index),
    .write_strobe_i(1'b1),
    .write_data_i(operation_label_new),
    .read_enable_i(lookup_valid_q),
    .read_addr_i(lookup_index),
    .read_data_o(operation_label)
  );

  // ---------------------------------------------------------------------------------------------
  // Commit
  // ---------------------------------------------------------------------------------------------

  always_ff @(posedge clk_i) begin
    if (!rst_ni) commit_valid_q <= 1'b0;
    else commit_valid_q <= lookup_valid_q;
  end
  home_state_e commit_state_q;
  always_ff @(posedge clk_i) begin
    if (lookup_valid_q) begin
      commit_q <= lookup_q;
      commit_choice_q <= lookup_choice_q;
      commit_state_q <= lookup_state_q;
    end
  end

  // go: the ROM's step is taken. own: the step is the event's own, not that of a recall.
  logic go, own, stalled, unexpected;
  assign own = !commit_choice_q.full;
  assign go = commit_valid_q && entry.valid && !entry.stall && (own || commit_choice_q.recall);
  assign unexpected = commit_valid_q && own && !entry.valid;
  assign stalled = commit_valid_q && (!own || (entry.valid && entry.stall));

  assign request_again = stalled && commit_q.source == FromRequest;
  assign operation_again = stalled && commit_q.source == FromOperation;
  assign request_retire = commit_valid_q && !stalled && commit_q.source == FromRequest;
  assign operation_retire = commit_valid_q && !stalled && commit_q.source == FromOperation;
  always_comb begin
    again_data = '0;
    again_data.kind = commit_q.kind;
    again_data.line = {commit_q.tag, commit_q.set};
    again_data.label = commit_q.label;
  end

  // The directory: cleared after reset, then written by steps.
  assign places_write = !ready_q || (go && !commit_choice_q.no_place);
  assign places_write_set = ready_q ? commit_q.set : clear_set_q;
  assign places_strobe = ready_q ? (ways_t'(1) << commit_choice_q.way) : '1;
  assign place_written = ready_q ? {commit_choice_q.tag, entry.next} : '0;

  assign request_label_write = go && own && commit_q.source == FromRequest
      && !commit_choice_q.no_place;
  assign operation_label_write = go && (!own || commit_q.source == FromOperation)
      && !commit_choice_q.no_place;
  assign operation_label_new = '{recall: !own, tag: commit_q.label};

  // Labels that the actions use: the event's own, or those the line holds.
  request_id_t used_request;
  operation_label_t used_operation;
  assign used_request = (own && commit_q.source == FromRequest) ? request_id_t'(commit_q.label)
                                                                : request_label;
  assign used_operation = (!own || commit_q.source == FromOperation) ? operation_label_new
                                                                      : operation_label;

  logic recall_ends;
  assign recall_ends = go && entry.done && used_operation.recall;

  action_t action_in;
  logic has_forward, has_memory, has_answer, has_acknowledge;
  assign has_forward = go && entry.send && entry.msg_class == ClassForward;
  assign has_answer = go && entry.send && entry.msg_class != ClassForward;
  assign has_memory = go && entry.memory != MemNone;
  assign has_acknowledge = go && entry.done && !used_operation.recall;
  always_comb begin
    action_in = '0;
    action_in.line = {commit_choice_q.tag, commit_q.set};
    action_in.way = commit_choice_q.way;
    action_in.forward = has_forward;
    action_in.access = has_memory;
    action_in.memory = entry.memory;
    action_in.answer = has_answer;
    action_in.acknowledge = has_acknowledge;
    action_in.message = entry.message;
    // Only the completion of a read brings data for an answer or an acknowledgement.
    action_in.with_data = commit_q.source == FromSink && commit_q.kind == HomeEvReadDone;
    action_in.payload = commit_q.payload;
    action_in.request = used_request;
    action_in.operation = used_operation.tag;
  end

  logic action_push;
  assign action_push = has_forward || has_memory || has_answer || has_acknowledge;
  assign no_action = commit_valid_q && !action_push;

  // ---------------------------------------------------------------------------------------------
  // Recall of another line when a set is full
  // ---------------------------------------------------------------------------------------------

  localparam int unsigned DelayWidth = $clog2(RecallDelay + 1);
  logic [DelayWidth-1:0] recall_delay_q;
  logic waits_for_way, counting, recall_delay_ends;
  assign waits_for_way = commit_valid_q && !own && !go && commit_q.source != FromSweep;
  assign counting = recall_delay_q != '0;
  assign recall_delay_ends = recall_delay_q == DelayWidth'(1);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      recall_delay_q <= '0;
      recall_allowed_q <= 1'b0;
      recall_under_way_q <= 1'b0;
      victims_q <= '0;
    end else begin
      if (request_empty && operation_empty) recall_delay_q <= '0;
      else if (counting) recall_delay_q <= recall_delay_q - 1'b1;
      else if (waits_for_way && !recall_allowed_q) recall_delay_q <= DelayWidth'(RecallDelay);

      if (recall_delay_ends) recall_allowed_q <= 1'b1;
      else if ((go && !own) || (request_empty && operation_empty)) recall_allowed_q <= 1'b0;

      if (go && !own) recall_under_way_q <= !entry.done;
      else if (recall_ends) recall_under_way_q <= 1'b0;

      // Next time, a later way.
      if (go && !own) victims_q <= ~((ways_t'(2) << commit_choice_q.way) - ways_t'(1));
    end
  end

  // Waiting events are tried again after every step and when the recall delay ends. Nothing else can make room
  // for them: a line that cannot be recalled now is freed by a step (an unlock, an answer).
  assign wake = go || recall_delay_ends;

  // ---------------------------------------------------------------------------------------------
  // Sweep
  // ---------------------------------------------------------------------------------------------

  logic sweep_ends;
  assign sweep_ends = commit_valid_q && commit_q.source == FromSweep;
  assign swept_o = swept_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      sweep_busy_q <= 1'b0;
      sweep_set_q <= '0;
      swept_q <= 1'b0;
    end else begin
      if (sweep_take) sweep_busy_q <= 1'b1;
      else if (sweep_ends) sweep_busy_q <= 1'b0;
      if (!sweep_i) begin
        sweep_set_q <= '0;
        swept_q <= 1'b0;
      end else if (sweep_ends && commit_choice_q.clean && !swept_q) begin
        sweep_set_q <= sweep_set_q + 1'b1;
        swept_q <= sweep_set_q == set_t'(Sets - 1);
      end
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Actions
  // ---------------------------------------------------------------------------------------------

  // The two parts of an action that are still to leave. They are kept apart from the queue, the head's in
  // registers, since the choice among all units begins with them.
  typedef struct packed {
    logic first;
    logic last;
  } pending_t;
  pending_t pending_in, pending_left;
  pending_t [ActionDepth:0] pending_q;  // one more, always empty
  pending_t [ActionDepth-1:0] pending_d;
  logic action_room_left;  // always: see reserved_q
  logic action_valid;
  assign pending_in = '{first: has_forward || has_memory, last: has_answer || has_acknowledge};
  assign pending_left = pending_q[0] & ~pending_t'{first: first_ready_i, last: last_ready_i};
  assign action_pop = pending_q[0] != '0 && pending_left == '0;
  assign first_valid_o = pending_q[0].first;
  assign last_valid_o = pending_q[0].last;

  always_comb begin
    for (int unsigned i = 0; i < ActionDepth; i++) begin
      if (action_pop) begin
        pending_d[i] = pending_q[i+1];
        if (pending_q[i] != '0 && pending_q[i+1] == '0) pending_d[i] = pending_in;
      end else begin
        pending_d[i] = (i == 0) ? pending_left : pending_q[i];
        if (pending_q[i] == '0 && (i == 0 || pending_q[i-1] != '0)) pending_d[i] = pending_in;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) pending_q <= '0;
    else pending_q[ActionDepth-1:0] <= pending_d;
  end

  tmb_fifo #(
    .T(action_t),
    .Depth(ActionDepth)
  ) u_action_queue (
    .clk_i,
    .rst_ni,
    .in_valid_i(action_push),
    .in_ready_o(action_room_left),
    .in_data_i(action_in),
    .out_valid_o(action_valid),
    .out_ready_i(action_pop),
    .out_data_o(action_o)
  );

  // ---------------------------------------------------------------------------------------------
  // Errors
  // ---------------------------------------------------------------------------------------------

  error_t error_q;
  logic error_valid_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) error_valid_q <= 1'b0;
    else error_valid_q <= unexpected;
  end
  always_ff @(posedge clk_i) begin
    if (unexpected) begin
      error_q.cause <= ErrorUnexpected;
      error_q.info <= 16'({commit_state_q, commit_q.kind});
    end
  end
  assign error_valid_o = error_valid_q;
  assign error_o = error_q;

  // Whether a message carries data follows from the event.
  logic unused_ok;
  assign unused_ok = &{1'b0, entry.with_data, action_room_left, commit_q.by_way, commit_q.way};

  `TMB_ASSERT_INIT(SetsArePowerOfTwo, Sets >= 2 && (Sets & (Sets - 1)) == 0)
  `TMB_ASSERT_INIT(WaysArePowerOfTwo, Ways >= 2 && (Ways & (Ways - 1)) == 0)
  `TMB_ASSERT(ResponsesNeverStall, !(stalled && commit_q.source == FromSink))
  `TMB_ASSERT(RecallsGo, !(commit_valid_q && commit_choice_q.recall) || go)
  `TMB_ASSERT(PendingBesideAction, (pending_q[0] != '0) == action_valid)
  `TMB_ASSERT(ActionsHaveRoom, !action_push || action_room_left)
  `TMB_ASSERT(DataFromReads, !(go && entry.send && entry.with_data) || action_in.with_data)
  `TMB_ASSERT(OnePlaceALine, !choose_valid_q || $onehot0(hits_q))

endmodule
