// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The heart of the cache controller: places, data, and the protocol's steps.
//
// The place of a line (set and way) holds the whole state of its transaction, as in the directory, so
// nothing has to be allocated for one; what an access needs at its end is found by its tag, which
// the home's answer brings back. An event is one pass:
//
//   issue   pick an event; read the set
//   match   compare tags; which ways are free, which may be given up
//   lookup  choose the way; read protocol ROM, data, pending access, arrived line, hold
//   commit  write state and data; queue messages and the answer, or put the access back
//
// Messages of the home come first, and only when no event of their set is under way: they are
// done exactly once. Accesses are not checked at issue, so hits of one line follow each other in
// every cycle; one that was overtaken by a change of its set notices it at commit and tries again.
//
// Slice, NumSlices   which lines: folded line number mod NumSlices
// Cfg                see tmb_cache_controller
//
// Throughput: one event a cycle. Latency: an access that hits is answered four cycles after it was
// taken from its queue.
// Ordering: none between accesses; an access that was answered is seen by all that come later.
// Back-pressure and freedom from deadlock: see tmb_cache_controller.

`include "tmb_assert.svh"

module tmb_cache_controller_pipeline
  import tmb_pkg::*;
  import tmb_mesi_protocol_pkg::*;
  import tmb_directory_pkg::*;
  import tmb_cache_controller_pkg::*;
#(
  parameter int unsigned Slice = 0,
  parameter int unsigned NumSlices = 1,
  parameter cache_cfg_t Cfg = DefaultCacheCfg,
  parameter type sink_t = logic,
  parameter type access_t = logic,
  localparam int unsigned SliceWidth = $clog2(NumSlices),
  localparam int unsigned LocalWidth = LineWidth - SliceWidth
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,

  // Messages of the home.
  input  logic                      sink_valid_i,
  output logic                      sink_ready_o,
  input  sink_t                     sink_i,

  // Accesses at their first try.
  input  logic                      access_valid_i,
  output logic                      access_ready_o,
  input  access_t                   access_i,

  // Forwards whose hold has ended; they come back by sink_i with `parked` and `hold`.
  output logic                      parked_valid_o,
  input  logic                      parked_ready_i,
  output sink_t                     parked_o,

  // By tag, what was kept of an access; by index, lines that arrived. Both one cycle later.
  output logic                      pending_read_o,
  output access_tag_t               pending_tag_o,
  input  pending_t                  pending_i,
  output logic                      fill_read_o,
  output logic [FillIndexWidth-1:0] fill_index_o,
  input  line_rows_t                fill_rows_i,
  output logic                      fill_free_o,

  // Into the queues behind; they count departures by *_pop_i.
  output logic                      request_push_o,   // room for every tag
  output link_header_t              request_o,
  output logic                      response_push_o,
  output link_header_t              response_o,
  input  logic                      response_pop_i,
  output logic                      line_push_o,
  output link_line_t                line_o,
  input  logic                      line_pop_i,
  output logic                      answer_push_o,    // room for every tag
  output access_rsp_t               answer_o,

  output cache_events_t             events_o,
  output logic                      error_valid_o,    // one cycle
  output cache_error_t              error_o
);

  localparam int unsigned Sets = Cfg.Sets;
  localparam int unsigned Ways = Cfg.Ways;
  localparam int unsigned SetWidth = $clog2(Sets);
  localparam int unsigned WayWidth = $clog2(Ways);
  localparam int unsigned TagWidth = LocalWidth - SetWidth;

  typedef logic [SetWidth-1:0] set_t;
  typedef logic [WayWidth-1:0] way_t;
  typedef logic [Ways-1:0] ways_t;
  typedef logic [TagWidth-1:0] tag_t;

  typedef struct packed {
    tag_t                       tag;
    logic [CacheStateWidth-1:0] state;
  } place_t;

  // An event on its way. Fields of one kind of event are zero in the other.
  typedef struct packed {
    logic                      is_access;
    tag_t                      tag;
    set_t                      set;
    access_tag_t               label;    // of the access, or of the one that is answered
    cache_event_e              kind;     // message
    logic                      forward;  // it is a forward
    logic                      parked;   // and comes from this hold
    logic                      fill;     // it brings a line
    logic [FillIndexWidth-1:0] index;
    access_e                   access;
    logic                      second;
    logic                      held;
    hold_index_t               hold;
  } event_t;

  // ---------------------------------------------------------------------------------------------
  // Idle places after reset
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
  // Issue
  // ---------------------------------------------------------------------------------------------

  logic match_valid_q, lookup_valid_q, commit_valid_q;
  event_t match_q, lookup_q, commit_q;

  access_t waiting, again_data;
  logic waiting_valid, waiting_take, again, wake;
  tmb_cache_controller_waiting #(
    .T(access_t),
    .Depth(NumAccessTags)
  ) u_waiting (
    .clk_i,
    .rst_ni,
    .again_i(again),
    .again_data_i(again_data),
    .wake_i(wake),
    .out_valid_o(waiting_valid),
    .out_take_i(waiting_take),
    .out_data_o(waiting)
  );

  event_t from_sink, from_access, issued;
  access_t tried;
  logic try_fresh, prefer_waiting_q;
  assign try_fresh = access_valid_i && !(waiting_valid && prefer_waiting_q);
  assign tried = try_fresh ? access_i : waiting;

  always_comb begin
    from_sink = '0;
    {from_sink.tag, from_sink.set} = sink_i.line;
    from_sink.label = sink_i.label;
    from_sink.kind = sink_i.kind;
    from_sink.forward = sink_i.forward;
    from_sink.parked = sink_i.parked;
    from_sink.fill = sink_i.fill;
    from_sink.index = sink_i.index;
    from_sink.hold = sink_i.hold;
    from_access = '0;
    from_access.is_access = 1'b1;
    {from_access.tag, from_access.set} = tried.line;
    from_access.label = tried.tag;
    from_access.access = tried.access;
    from_access.second = tried.second;
    from_access.held = tried.held;
    from_access.hold = tried.hold;
  end

  logic set_busy, room, sink_take, access_take, issue;
  assign set_busy = (match_valid_q && match_q.set == from_sink.set)
      || (lookup_valid_q && lookup_q.set == from_sink.set)
      || (commit_valid_q && commit_q.set == from_sink.set);

  // A message of the home waits at most for the set's events, and for room. While it waits for the
  // set, no access is issued.
  assign sink_take = sink_valid_i && ready_q && room && !set_busy;
  assign access_take = ready_q && (access_valid_i || waiting_valid) && !(sink_valid_i && room);
  assign issue = sink_take || access_take;
  assign issued = sink_take ? from_sink : from_access;
  assign sink_ready_o = sink_take;
  assign access_ready_o = access_take && try_fresh;
  assign waiting_take = access_take && !try_fresh;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) prefer_waiting_q <= 1'b0;
    else if (access_take) prefer_waiting_q <= try_fresh;
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

  // Changes that an event may have missed: a change of a state of its set, and of data of its set, since it
  // read the set.
  logic state_changes, data_changes;
  logic match_stale_q, match_touched_q, lookup_stale_q, lookup_touched_q;
  logic commit_stale_q, commit_touched_q;
  logic changes_issued, changes_match, changes_lookup;
  assign changes_issued = issued.set == commit_q.set;
  assign changes_match = match_q.set == commit_q.set;
  assign changes_lookup = lookup_q.set == commit_q.set;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) match_valid_q <= 1'b0;
    else match_valid_q <= issue;
  end
  always_ff @(posedge clk_i) begin
    if (issue) begin
      match_q <= issued;
      match_stale_q <= state_changes && changes_issued;
      match_touched_q <= data_changes && changes_issued;
    end
  end

  ways_t match_hits, match_idle, match_removable, ways_held;
  always_comb begin
    for (int unsigned w = 0; w < Ways; w++) begin
      match_idle[w] = cache_is_idle(cache_state_e'(places[w].state));
      match_hits[w] = places[w].tag == match_q.tag && !match_idle[w];
      match_removable[w] = cache_is_stable(cache_state_e'(places[w].state)) && !ways_held[w] && !match_idle[w];
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Lookup
  // ---------------------------------------------------------------------------------------------

  ways_t hits_q, idle_q, removable_q;
  logic some_held_q;
  place_t [Ways-1:0] places_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) lookup_valid_q <= 1'b0;
    else lookup_valid_q <= match_valid_q;
  end
  always_ff @(posedge clk_i) begin
    if (match_valid_q) begin
      lookup_q <= match_q;
      lookup_stale_q <= match_stale_q || (state_changes && changes_match);
      lookup_touched_q <= match_touched_q || (data_changes && changes_match);
      hits_q <= match_hits;
      idle_q <= match_idle;
      removable_q <= match_removable;
      some_held_q <= |ways_held;
      places_q <= places;
    end
  end

  // Victims in turn.
  way_t victim_q;
  ways_t from_victim, removable_first;
  assign from_victim = removable_q & ~((ways_t'(1) << victim_q) - ways_t'(1));
  assign removable_first = (from_victim != '0) ? from_victim : removable_q;

  typedef struct packed {
    way_t way;
    logic hit;        // the line has its place
    logic removal;    // it has none: the line of this place is to be given up
    logic no_place;   // and no place can be made free now
    logic some_held;  // perhaps because of holds
    tag_t tag;        // of the line in the place
  } choice_t;

  choice_t lookup_choice, commit_choice_q;
  logic needs_place, sweeps;
  ways_t chosen_ways;
  place_t chosen_place;
  assign sweeps = lookup_q.is_access && lookup_q.access == AccessSweep;
  assign needs_place = lookup_q.is_access
      && lookup_q.access inside {AccessLoad, AccessStore, AccessAcquire};

  always_comb begin
    lookup_choice = '0;
    lookup_choice.hit = (|hits_q) && !sweeps;
    lookup_choice.removal = (sweeps || (needs_place && hits_q == '0 && idle_q == '0)) && removable_q != '0;
    lookup_choice.no_place = needs_place && hits_q == '0 && idle_q == '0 && removable_q == '0;
    lookup_choice.some_held = some_held_q;
    if (lookup_choice.hit) chosen_ways = hits_q;
    else if (lookup_choice.removal) chosen_ways = removable_first & (~removable_first + ways_t'(1));
    else chosen_ways = idle_q & (~idle_q + ways_t'(1));
    chosen_place = '0;
    for (int unsigned w = 0; w < Ways; w++) begin
      if (chosen_ways[w]) begin
        lookup_choice.way |= way_t'(w);
        chosen_place |= places_q[w];
      end
    end
    lookup_choice.tag = lookup_choice.removal ? chosen_place.tag : lookup_q.tag;
  end

  cache_state_e lookup_state, commit_state_q;
  cache_event_e lookup_event, commit_event_q;
  assign lookup_state = (lookup_choice.hit || lookup_choice.removal)
      ? cache_state_e'(chosen_place.state) : CacheStI;

  // The protocol's event for what is to be done.
  always_comb begin
    lookup_event = lookup_q.kind;
    if (lookup_choice.removal) begin
      lookup_event = CacheEvEvictToI;
    end else if (lookup_q.is_access) begin
      case (lookup_q.access)
        AccessLoad: lookup_event = CacheEvLoadToS;
        AccessStore: lookup_event = cache_is_writable(lookup_state) ? CacheEvStoreHit
                                                                    : CacheEvStoreToM;
        AccessAcquire: lookup_event = cache_is_idle(lookup_state) ? CacheEvPrefetchToE
                                                                  : CacheEvStoreToM;
        default: lookup_event = CacheEvEvictToI;
      endcase
    end
  end

  cache_entry_t entry;
  tmb_mesi_cache_rom u_rom (
    .clk_i,
    .en_i(lookup_valid_q),
    .state_i(lookup_state),
    .event_i(lookup_event),
    .entry_o(entry)
  );

  logic [LineRows-1:0] data_write;
  row_strobe_t [LineRows-1:0] data_strobe;
  line_rows_t data_rows, data_written;
  for (genvar r = 0; r < LineRows; r++) begin : gen_data
    tmb_ram_1r1w #(
      .Width(RowBits),
      .Depth(Sets * Ways),
      .StrobeWidth(RowBytes)
    ) u_data (
      .clk_i,
      .write_enable_i(data_write[r]),
      .write_addr_i({commit_q.set, commit_choice_q.way}),
      .write_strobe_i(data_strobe[r]),
      .write_data_i(data_written[r]),
      .read_enable_i(lookup_valid_q),
      .read_addr_i({lookup_q.set, lookup_choice.way}),
      .read_data_o(data_rows[r])
    );
  end

  assign pending_read_o = lookup_valid_q;
  assign pending_tag_o = lookup_q.label;
  assign fill_read_o = lookup_valid_q && lookup_q.fill;
  assign fill_index_o = lookup_q.index;

  // ---------------------------------------------------------------------------------------------
  // Commit
  // ---------------------------------------------------------------------------------------------

  always_ff @(posedge clk_i) begin
    if (!rst_ni) commit_valid_q <= 1'b0;
    else commit_valid_q <= lookup_valid_q;
  end
  always_ff @(posedge clk_i) begin
    if (lookup_valid_q) begin
      commit_q <= lookup_q;
      commit_choice_q <= lookup_choice;
      commit_state_q <= lookup_state;
      commit_event_q <= lookup_event;
      commit_stale_q <= lookup_stale_q || (state_changes && changes_lookup);
      commit_touched_q <= lookup_touched_q || (data_changes && changes_lookup);
    end
  end

  // Results of the holds.
  logic here_held, here_parked, hold_stands, hold_exists, hold_broken, hold_free, hold_ended;
  logic hold_was_broken;
  hold_index_t hold_free_index, parked_index;
  cache_event_e parked_event;
  logic [LocalWidth-1:0] parked_line;
  logic hold_begins, hold_released, wants_place, wants_set, parks, settles;

  tmb_cache_controller_holds #(
    .Cfg(Cfg),
    .LocalWidth(LocalWidth)
  ) u_holds (
    .clk_i,
    .rst_ni,
    .set_i(match_q.set),
    .ways_held_o(ways_held),
    .place_i({commit_q.set, commit_choice_q.way}),
    .held_o(here_held),
    .parked_o(here_parked),
    .index_i(commit_q.hold),
    .stands_o(hold_stands),
    .exists_o(hold_exists),
    .broken_o(hold_broken),
    .free_o(hold_free),
    .free_index_o(hold_free_index),
    .begin_i(hold_begins),
    .release_i(hold_released),
    .want_place_i(wants_place),
    .want_set_i(wants_set),
    .park_i(parks),
    .park_event_i(commit_q.kind),
    .park_line_i({commit_q.tag, commit_q.set}),
    .settle_i(settles),
    .settle_index_i(commit_q.hold),
    .ended_o(hold_ended),
    .was_broken_o(hold_was_broken),
    .forward_valid_o(parked_valid_o),
    .forward_ready_i(parked_ready_i),
    .forward_index_o(parked_index),
    .forward_event_o(parked_event),
    .forward_line_o(parked_line)
  );
  always_comb begin
    parked_o = '0;
    parked_o.kind = parked_event;
    parked_o.line = parked_line;
    parked_o.forward = 1'b1;
    parked_o.parked = 1'b1;
    parked_o.hold = parked_index;
  end

  logic from_home, is_access, is_current;
  assign from_home = commit_valid_q && !commit_q.is_access;
  assign is_access = commit_valid_q && commit_q.is_access;
  assign is_current = is_access && !commit_stale_q;

  // Messages of the home: a forward to a held line parks, everything else is done.
  logic message_goes, is_grant;
  assign parks = from_home && commit_q.forward && !commit_q.parked && commit_choice_q.hit
      && here_held;
  assign message_goes = from_home && !parks && entry.valid;
  assign settles = from_home && commit_q.parked;
  assign is_grant = message_goes && !commit_q.forward;

  // Accesses that have their line.
  logic readable, writable, own_hold_missing, hindered;
  assign readable = commit_choice_q.hit && cache_is_readable(commit_state_q);
  assign writable = commit_choice_q.hit && cache_is_writable(commit_state_q);
  assign own_hold_missing = commit_q.held && !(commit_choice_q.hit && hold_stands);
  // The line is held for another access, or will be given to the home before it is held again.
  assign hindered = commit_choice_q.hit
      && ((here_held && !commit_q.held && commit_q.access != AccessLoad)
          || (here_parked && commit_q.access == AccessAcquire));

  logic load_done, store_done, acquire_done, release_done, evict_done, lost;
  logic start, removal_goes, evicts, access_room;
  always_comb begin
    load_done = 1'b0;
    store_done = 1'b0;
    acquire_done = 1'b0;
    release_done = 1'b0;
    evict_done = 1'b0;
    lost = 1'b0;
    start = 1'b0;
    evicts = 1'b0;
    removal_goes = 1'b0;
    if (is_access && commit_q.access == AccessRelease) begin
      release_done = 1'b1;
    end else if (is_current && commit_q.access inside {AccessLoad, AccessStore}
                 && own_hold_missing) begin
      lost = 1'b1;
    end else if (is_current && commit_choice_q.removal) begin
      removal_goes = entry.valid && access_room && !commit_touched_q;
    end else if (is_current && !hindered) begin
      case (commit_q.access)
        AccessLoad: begin
          load_done = readable;
          start = !readable && entry.valid && !commit_choice_q.no_place;
        end
        AccessStore: begin
          store_done = writable;
          start = !writable && entry.valid && !commit_choice_q.no_place;
        end
        AccessAcquire: begin
          // Its answer carries the row as it is when the hold begins.
          acquire_done = writable && !commit_touched_q;
          start = !writable && entry.valid && !commit_choice_q.no_place;
        end
        default: begin
          evicts = commit_choice_q.hit && entry.valid && access_room && !commit_touched_q;
          evict_done = evicts || !commit_choice_q.hit;
        end
      endcase
    end
  end

  // A grant ends the access that asked for it, except an acquire that may not keep the line.
  logic grant_acquires, grant_again;
  assign grant_acquires = is_grant && pending_i.access == AccessAcquire
      && cache_is_writable(entry.next);
  assign grant_again = is_grant && pending_i.access == AccessAcquire
      && !cache_is_writable(entry.next);
  assign hold_begins = hold_free && (grant_acquires || (acquire_done));
  assign hold_released = release_done && hold_exists;

  logic access_ends;
  assign access_ends = load_done || store_done || acquire_done || release_done || evict_done || lost;
  assign again = (is_access && !access_ends && !start) || grant_again;
  always_comb begin
    again_data = '0;
    again_data.access = commit_q.is_access ? commit_q.access : pending_i.access;
    again_data.held = commit_q.held;
    again_data.hold = commit_q.hold;
    again_data.tag = commit_q.label;
    again_data.line = {commit_q.tag, commit_q.set};
    again_data.second = commit_q.is_access ? commit_q.second : pending_i.second;
  end

  // An access that waits for a hold, or for a way that holds occupy.
  assign wants_place = is_current && hindered && here_held;
  assign wants_set = is_current && commit_choice_q.no_place && commit_choice_q.some_held;

  // The ROM's step is taken.
  logic steps, store_hits;
  assign store_hits = store_done && entry.valid;
  assign steps = message_goes || start || removal_goes || evicts || store_hits;

  // A hold that begins counts as a change: no access behind it shall believe the line free.
  assign state_changes = (steps && (commit_choice_q.hit || commit_q.is_access))
      || (acquire_done && hold_free);
  assign places_write = !ready_q || (steps && (commit_choice_q.hit || commit_q.is_access));
  assign places_write_set = ready_q ? commit_q.set : clear_set_q;
  assign places_strobe = ready_q ? (ways_t'(1) << commit_choice_q.way) : '1;
  assign place_written = ready_q ? {commit_choice_q.tag, entry.next} : '0;

  // The line as it is, and as it is after the store.
  line_rows_t line_before, line_after;
  logic stores;
  assign stores = store_done || (message_goes && entry.store);
  assign line_before = commit_q.fill ? fill_rows_i : data_rows;
  row_strobe_t store_strobe;
  assign store_strobe = (stores && pending_i.access == AccessStore) ? pending_i.strobe : '0;
  always_comb begin
    line_after = line_before;
    for (int unsigned b = 0; b < RowBytes; b++) begin
      if (store_strobe[b]) line_after[pending_i.second][8*b+:8] = pending_i.row[8*b+:8];
    end
  end

  assign data_written = line_after;
  assign data_changes = store_done || (message_goes && (commit_q.fill || entry.store));
  always_comb begin
    for (int unsigned r = 0; r < LineRows; r++) begin
      data_write[r] = data_changes && commit_choice_q.hit;
      data_strobe[r] = commit_q.fill ? '1 : (pending_i.second == 1'(r)) ? store_strobe : '0;
    end
  end
  assign fill_free_o = commit_valid_q && commit_q.fill;

  // Accesses wait for changes of state, of holds, and for room.
  logic room_missed_q, room_missing;
  assign room_missing = is_current && !access_room;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) room_missed_q <= 1'b0;
    else if (room_missing) room_missed_q <= 1'b1;
    else if (wake) room_missed_q <= 1'b0;
  end
  assign wake = state_changes || hold_ended || grant_again
      || (is_access && !access_ends && (commit_stale_q || commit_touched_q))
      || (room_missed_q && (response_pop_i || line_pop_i));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) victim_q <= '0;
    else if (commit_valid_q && commit_choice_q.removal) victim_q <= victim_q + 1'b1;
  end

  // ---------------------------------------------------------------------------------------------
  // Messages and answers
  // ---------------------------------------------------------------------------------------------

  link_header_t header;
  always_comb begin
    header = '0;
    header.message = entry.message;
    header.id = start ? commit_q.label : '0;
    header.dmask = entry.with_data ? '1 : '0;
    header.addr = LinkAddrWidth'({(line_t'({commit_choice_q.tag, commit_q.set}) << SliceWidth)
                                  | line_t'(Slice), LineOffsetWidth'(0)});
  end

  logic sends;
  assign sends = steps && entry.send;
  assign request_push_o = sends && start;
  assign request_o = header;
  assign response_push_o = sends && !start && !entry.with_data;
  assign response_o = header;
  assign line_push_o = sends && !start && entry.with_data;
  assign line_o = '{header: header, rows: line_after};

  // Free places in the queues, less one for each message of the home under way.
  localparam int unsigned HeaderCountWidth = $clog2(HeaderDepth + 1);
  localparam int unsigned LineCountWidth = $clog2(LineDepth + 1);
  logic [HeaderCountWidth-1:0] headers_free_q;
  logic [LineCountWidth-1:0] lines_free_q;
  assign access_room = headers_free_q != '0 && lines_free_q != '0;
  // An access in commit may take the last place in the same cycle.
  assign room = headers_free_q > HeaderCountWidth'(1) && lines_free_q > LineCountWidth'(1);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      headers_free_q <= HeaderCountWidth'(HeaderDepth);
      lines_free_q <= LineCountWidth'(LineDepth);
    end else begin
      headers_free_q <= headers_free_q - HeaderCountWidth'(sink_take)
          + HeaderCountWidth'(from_home && !response_push_o)
          - HeaderCountWidth'(is_access && response_push_o)
          + HeaderCountWidth'(response_pop_i);
      lines_free_q <= lines_free_q - LineCountWidth'(sink_take)
          + LineCountWidth'(from_home && !line_push_o)
          - LineCountWidth'(is_access && line_push_o)
          + LineCountWidth'(line_pop_i);
    end
  end

  assign answer_push_o = access_ends || (is_grant && !grant_again);
  always_comb begin
    answer_o = '0;
    answer_o.tag = commit_q.label;
    answer_o.hold = hold_free_index;
    answer_o.row = line_before[commit_q.is_access ? commit_q.second : pending_i.second];
    answer_o.status = StatusOk;
    if (lost) answer_o.status = StatusLost;
    if (release_done && !hold_exists) answer_o.status = StatusRefused;
    if (release_done && hold_broken) answer_o.status = StatusLost;
    if ((acquire_done || grant_acquires) && !hold_free) answer_o.status = StatusRefused;
  end

  // ---------------------------------------------------------------------------------------------
  // Events and errors
  // ---------------------------------------------------------------------------------------------

  assign events_o = '{
      hit: load_done || store_done,
      request: start,
      forward: message_goes && commit_q.forward,
      eviction: removal_goes,
      broken: hold_was_broken
  };

  logic unexpected, error_valid_q;
  cache_error_t error_q;
  assign unexpected = from_home && !parks && !entry.valid;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) error_valid_q <= 1'b0;
    else error_valid_q <= unexpected;
  end
  always_ff @(posedge clk_i) begin
    if (unexpected) begin
      error_q.state <= commit_state_q;
      error_q.kind <= commit_event_q;
    end
  end
  assign error_valid_o = error_valid_q;
  assign error_o = error_q;

  // The class follows from what is sent; the line that arrived was read at lookup.
  logic unused_ok;
  assign unused_ok = &{1'b0, entry.msg_class, commit_q.index};

  `TMB_ASSERT_INIT(SetsArePowerOfTwo, Sets >= 2 && (Sets & (Sets - 1)) == 0)
  `TMB_ASSERT_INIT(WaysArePowerOfTwo, Ways >= 2 && (Ways & (Ways - 1)) == 0)
  `TMB_ASSERT_INIT(MessagesFit, HeaderDepth >= 4 && LineDepth >= 4)
  `TMB_ASSERT(OnePlaceALine, !lookup_valid_q || $onehot0(hits_q))
  `TMB_ASSERT(MessagesAreNeverStale, !from_home || !commit_stale_q)
  `TMB_ASSERT(NoPlaceNoState, !(message_goes && !commit_choice_q.hit) || cache_is_idle(entry.next))
  `TMB_ASSERT(HeldLinesStay, !((removal_goes || evicts) && here_held))
  `TMB_ASSERT(HeldLinesAreWritable, !(commit_valid_q && !commit_stale_q && commit_choice_q.hit
      && here_held) || writable)
  `TMB_ASSERT(RequestsAreRequests, !request_push_o || message_may_stall(entry.message))
  `TMB_ASSERT(ResponsesAreNot, !(response_push_o || line_push_o) || !message_may_stall(entry.message))

endmodule
