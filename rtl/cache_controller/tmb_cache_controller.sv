// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The cache controller: the card's cache of lines whose home is the CPU.
//
// The counterpart of the directory. An application on the card gets coherent loads, stores and
// exclusive holds on host memory, a row (64 bytes) at a time; the protocol is the generated cache
// machine (tmb_mesi_cache_rom). One controller serves the lines of one link channel pair.
//
//   application ──► pending ─┬─► accesses ──► pipeline ──► answers ──► application
//   link ──► fill, headers ──┴─► messages ──┘   │  └──► requests ──► link
//                                holds ◄────────┘  └──► responses, lines ──► link
//
// Slice, NumSlices   which lines: folded line number mod NumSlices
// Cfg                Sets and Ways: geometry of the cache. HoldLimit: cycles that a hold lasts once
//                    another agent wants the line
//
// Accesses. Up to 32, by tag, answered in any order. A hold is a line that stays exclusive until its
// release: loads and stores with `held` take place only while it stands, so what is done under one hold
// is atomic for the CPU and for other accesses of the card (which wait; loads do not). A hold
// that another agent wants is broken after HoldLimit cycles; its owner's next held access answers `Lost`
// and does nothing, and it still has to release. A request/answer port instead of AXI4, since AXI4 knows
// no holds (exclusive accesses fail rather than wait, and cover one access), keeps order by ID, and
// would split the tag from the data of a store.
//
// Throughput: one access a cycle that hits, also to one line; one row a cycle on each data path of the
// link. Latency: an access that hits is answered six cycles after it was taken; one that misses shows
// its request at the link after six, and is answered eight cycles after the last row.
// Ordering: none. An application that needs an order waits for the answer.
// Back-pressure: accesses wait while messages of the home are worked on, and for every second cycle
// while waiting accesses are tried again; answers may be delayed as long as the application likes.
//
// No deadlock.
// 1. Forwards are answered whatever the state of our own requests: the protocol's cache machine has
//    an answer in every state (the checker proves it), they need no place, and they have a queue of
//    their own. They wait for (a) three cycles of events of their set, during which nothing else
//    is issued; (b) room for a response, which needs only that the home takes responses, which it
//    does without condition; (c) a hold, for at most HoldLimit cycles, parked in the hold, so
//    that no other forward waits behind it.
// 2. Answers of the home always sink: they need room for a response (a forward may have
//    overtaken them), and an answer to the application, which has a place for every tag.
// 3. Requests never fill their queue (one for each tag), so the pipeline never waits for the home to
//    take requests. Accesses that wait do so in a ring with room for all, apart from new ones.
// 4. An access waits for its line's answer (2), for a way: a line that is idle (the access takes
//    it or evicts it), under way (2) or held (bounded), or for a hold (bounded).
// An acquire has no bound. A forward may overtake each of its grants; then the
// line is given up at once and the acquire tries again, until one arrives in time.
//
// Source: CCKit, sections 3.3 and 4.2.

`include "tmb_assert.svh"

module tmb_cache_controller
  import tmb_pkg::*;
  import tmb_mesi_protocol_pkg::*;
  import tmb_directory_pkg::*;
  import tmb_cache_controller_pkg::*;
#(
  parameter int unsigned Slice = 0,
  parameter int unsigned NumSlices = 1,
  parameter cache_cfg_t Cfg = DefaultCacheCfg
) (
  input  logic          clk_i,
  input  logic          rst_ni,

  // The application.
  input  logic          access_valid_i,
  output logic          access_ready_o,
  input  access_req_t   access_i,
  output logic          answer_valid_o,
  input  logic          answer_ready_i,
  output access_rsp_t   answer_o,

  // To the home.
  output logic          request_valid_o,
  input  logic          request_ready_i,
  output link_header_t  request_o,
  output logic          response_valid_o,
  input  logic          response_ready_i,
  output link_header_t  response_o,
  output logic          response_data_valid_o,
  input  logic          response_data_ready_i,
  output link_data_t    response_data_o,

  // From the home.
  input  logic          forward_valid_i,
  output logic          forward_ready_o,
  input  link_header_t  forward_i,
  input  logic          response_valid_i,
  output logic          response_ready_o,
  input  link_header_t  response_i,
  input  logic          response_data_valid_i,
  output logic          response_data_ready_o,
  input  link_data_t    response_data_i,

  // Control and status.
  input  logic [31:0]   timeout_period_i,  // see tmb_directory_timeouts; 0: off
  output cache_events_t events_o,
  output logic          error_valid_o,     // one cycle
  output error_t        error_o
);

  localparam int unsigned SliceWidth = $clog2(NumSlices);
  localparam int unsigned LocalWidth = LineWidth - SliceWidth;

  typedef logic [LocalWidth-1:0] local_t;

  typedef struct packed {
    cache_event_e              kind;
    local_t                    line;
    access_tag_t               label;    // of the access that is answered
    logic                      forward;
    logic                      parked;   // a forward that comes back from a hold
    hold_index_t               hold;
    logic                      fill;     // brings a line
    logic [FillIndexWidth-1:0] index;
  } sink_t;

  typedef struct packed {
    access_e     access;
    logic        held;
    hold_index_t hold;
    access_tag_t tag;
    local_t      line;
    logic        second;
  } access_t;

  // ---------------------------------------------------------------------------------------------
  // Accesses
  // ---------------------------------------------------------------------------------------------

  line_t folded;
  local_t access_line;
  assign folded = fold_line(access_i.line);
  assign access_line = access_i.access == AccessSweep ? local_t'(access_i.line)
                                                      : local_t'(folded >> SliceWidth);

  access_t access_in, access_head;
  logic access_waits, access_taken;
  assign access_in = '{access: access_i.access,
                       held: access_i.held && access_i.access inside {AccessLoad, AccessStore},
                       hold: access_i.hold,
                       tag: access_i.tag,
                       line: access_line,
                       second: access_i.second};

  tmb_fifo #(
    .T(access_t),
    .Depth(4)
  ) u_accesses (
    .clk_i,
    .rst_ni,
    .in_valid_i(access_valid_i),
    .in_ready_o(access_ready_o),
    .in_data_i(access_in),
    .out_valid_o(access_waits),
    .out_ready_i(access_taken),
    .out_data_o(access_head)
  );

  pending_t pending_in, pending;
  logic pending_read;
  access_tag_t pending_tag;
  assign pending_in = '{access: access_i.access, second: access_i.second, row: access_i.row,
                        strobe: access_i.strobe};

  tmb_ram_1r1w #(
    .Width($bits(pending_t)),
    .Depth(NumAccessTags)
  ) u_pending (
    .clk_i,
    .write_enable_i(access_valid_i && access_ready_o),
    .write_addr_i(access_i.tag),
    .write_strobe_i(1'b1),
    .write_data_i(pending_in),
    .read_enable_i(pending_read),
    .read_addr_i(pending_tag),
    .read_data_o(pending)
  );

  // ---------------------------------------------------------------------------------------------
  // Messages of the home
  // ---------------------------------------------------------------------------------------------

  function automatic local_t local_of(logic [LinkAddrWidth-1:0] addr);
    return local_t'(addr >> (LineOffsetWidth + SliceWidth));
  endfunction

  logic fill_valid, fill_taken, fill_read, fill_free;
  link_header_t fill_header;
  logic [FillIndexWidth-1:0] fill_index, fill_read_index;
  line_rows_t fill_rows;

  tmb_cache_controller_fill #(
    .Depth(FillDepth)
  ) u_fill (
    .clk_i,
    .rst_ni,
    .in_valid_i(response_data_valid_i),
    .in_ready_o(response_data_ready_o),
    .in_i(response_data_i),
    .line_valid_o(fill_valid),
    .line_ready_i(fill_taken),
    .line_header_o(fill_header),
    .line_index_o(fill_index),
    .read_i(fill_read),
    .read_index_i(fill_read_index),
    .read_rows_o(fill_rows),
    .free_i(fill_free)
  );

  sink_t from_forward, from_response, from_fill, from_hold;
  sink_t sink, sink_head;
  logic [3:0] sink_grant;
  logic [1:0] sink_choice;
  logic parked_valid, sink_valid, sink_room, sink_waits, sink_taken;

  always_comb begin
    from_forward = '0;
    from_forward.kind = cache_event_of(forward_i.message);
    from_forward.line = local_of(forward_i.addr);
    from_forward.forward = 1'b1;
    from_response = '0;
    from_response.kind = cache_event_of(response_i.message);
    from_response.line = local_of(response_i.addr);
    from_response.label = response_i.id;
    from_fill = '0;
    from_fill.kind = cache_event_of(fill_header.message);
    from_fill.line = local_of(fill_header.addr);
    from_fill.label = fill_header.id;
    from_fill.fill = 1'b1;
    from_fill.index = fill_index;
    case (sink_choice)
      2'd0: sink = from_forward;
      2'd1: sink = from_response;
      2'd2: sink = from_fill;
      default: sink = from_hold;
    endcase
  end

  tmb_round_robin_arbiter #(
    .NumRequests(4)
  ) u_sink_arbiter (
    .clk_i,
    .rst_ni,
    .request_i({parked_valid, fill_valid, response_valid_i, forward_valid_i}),
    .accept_i(sink_room),
    .valid_o(sink_valid),
    .grant_o(sink_grant),
    .index_o(sink_choice)
  );
  assign forward_ready_o = sink_room && sink_grant[0];
  assign response_ready_o = sink_room && sink_grant[1];
  assign fill_taken = sink_room && sink_grant[2];

  tmb_fifo #(
    .T(sink_t),
    .Depth(4)
  ) u_sinks (
    .clk_i,
    .rst_ni,
    .in_valid_i(sink_valid),
    .in_ready_o(sink_room),
    .in_data_i(sink),
    .out_valid_o(sink_waits),
    .out_ready_i(sink_taken),
    .out_data_o(sink_head)
  );

  // ---------------------------------------------------------------------------------------------
  // Pipeline
  // ---------------------------------------------------------------------------------------------

  logic unexpected_valid;
  cache_error_t unexpected;
  logic request_push, response_push, response_pop, line_push, line_pop, answer_push;
  link_header_t request, response;
  link_line_t line;
  access_rsp_t answer;

  tmb_cache_controller_pipeline #(
    .Slice(Slice),
    .NumSlices(NumSlices),
    .Cfg(Cfg),
    .sink_t(sink_t),
    .access_t(access_t)
  ) u_pipeline (
    .clk_i,
    .rst_ni,
    .sink_valid_i(sink_waits),
    .sink_ready_o(sink_taken),
    .sink_i(sink_head),
    .access_valid_i(access_waits),
    .access_ready_o(access_taken),
    .access_i(access_head),
    .parked_valid_o(parked_valid),
    .parked_ready_i(sink_room && sink_grant[3]),
    .parked_o(from_hold),
    .pending_read_o(pending_read),
    .pending_tag_o(pending_tag),
    .pending_i(pending),
    .fill_read_o(fill_read),
    .fill_index_o(fill_read_index),
    .fill_rows_i(fill_rows),
    .fill_free_o(fill_free),
    .request_push_o(request_push),
    .request_o(request),
    .response_push_o(response_push),
    .response_o(response),
    .response_pop_i(response_pop),
    .line_push_o(line_push),
    .line_o(line),
    .line_pop_i(line_pop),
    .answer_push_o(answer_push),
    .answer_o(answer),
    .events_o,
    .error_valid_o(unexpected_valid),
    .error_o(unexpected)
  );

  // ---------------------------------------------------------------------------------------------
  // What leaves
  // ---------------------------------------------------------------------------------------------

  logic request_room, response_room, answer_room;
  tmb_fifo #(
    .T(link_header_t),
    .Depth(NumAccessTags),
    .OutputRegister(1'b1)
  ) u_requests (
    .clk_i,
    .rst_ni,
    .in_valid_i(request_push),
    .in_ready_o(request_room),
    .in_data_i(request),
    .out_valid_o(request_valid_o),
    .out_ready_i(request_ready_i),
    .out_data_o(request_o)
  );

  tmb_fifo #(
    .T(link_header_t),
    .Depth(HeaderDepth),
    .OutputRegister(1'b1)
  ) u_responses (
    .clk_i,
    .rst_ni,
    .in_valid_i(response_push),
    .in_ready_o(response_room),
    .in_data_i(response),
    .out_valid_o(response_valid_o),
    .out_ready_i(response_ready_i),
    .out_data_o(response_o)
  );
  assign response_pop = response_valid_o && response_ready_i;

  tmb_cache_controller_writeback #(
    .Depth(LineDepth)
  ) u_writeback (
    .clk_i,
    .rst_ni,
    .push_i(line_push),
    .push_line_i(line),
    .pop_o(line_pop),
    .out_valid_o(response_data_valid_o),
    .out_ready_i(response_data_ready_i),
    .out_o(response_data_o)
  );

  tmb_fifo #(
    .T(access_rsp_t),
    .Depth(NumAccessTags),
    .OutputRegister(1'b1)
  ) u_answers (
    .clk_i,
    .rst_ni,
    .in_valid_i(answer_push),
    .in_ready_o(answer_room),
    .in_data_i(answer),
    .out_valid_o(answer_valid_o),
    .out_ready_i(answer_ready_i),
    .out_data_o(answer_o)
  );

  // ---------------------------------------------------------------------------------------------
  // Timeouts and errors
  // ---------------------------------------------------------------------------------------------

  logic unused_busy, access_late;
  access_tag_t access_late_tag;
  tmb_directory_timeouts #(
    .NumItems(NumAccessTags)
  ) u_timeouts (
    .clk_i,
    .rst_ni,
    .period_i(timeout_period_i),
    .start_i(access_valid_i && access_ready_o),
    .start_index_i(access_i.tag),
    .end_i(answer_push),
    .end_index_i(answer.tag),
    .busy_o(unused_busy),
    .late_valid_o(access_late),
    .late_index_o(access_late_tag)
  );

  // An access that is still late is reported again, so the rarer error goes first.
  assign error_valid_o = unexpected_valid || access_late;
  assign error_o = unexpected_valid ? '{cause: ErrorUnexpected, info: 16'(unexpected)}
                                    : '{cause: ErrorTimeout, info: 16'(access_late_tag)};

  // Room that is proven by counting.
  logic unused_ok;
  assign unused_ok = &{1'b0, request_room, response_room, answer_room, forward_i, response_i,
                       fill_header};

  `TMB_ASSERT_INIT(SlicesArePowerOfTwo, NumSlices >= 1 && (NumSlices & (NumSlices - 1)) == 0)
  `TMB_ASSERT(RequestsHaveRoom, !request_push || request_room)
  `TMB_ASSERT(ResponsesHaveRoom, !response_push || response_room)
  `TMB_ASSERT(AnswersHaveRoom, !answer_push || answer_room)
  `TMB_ASSERT(OwnLines, !access_valid_i || access_i.access == AccessSweep || (folded & line_t'(NumSlices - 1)) == line_t'(Slice))
  `TMB_ASSERT_STABLE(RequestHeld, request_valid_o, request_ready_i, request_o)
  `TMB_ASSERT_STABLE(ResponseHeld, response_valid_o, response_ready_i, response_o)
  `TMB_ASSERT_STABLE(AnswerHeld, answer_valid_o, answer_ready_i, answer_o)

endmodule
