// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Where the bursts of one requester (the reads, or the writes, of a port) wait for their translation.
//
// A ring of bursts in order. Three pointers walk over it: bursts enter at the tail, the lookup
// pointer goes from head to tail and asks for a translation of everything that has none, and the
// burst at the head leaves when it is translated or refused. Bursts leave in order. Everything that
// may change what a lookup finds (a reply of the host, an invalidation) takes the lookup pointer
// back to the head.
//
//   ToLookup ── asked ──► Looking ──► Ready ──► leaves
//      ▲                    │  │ └──► Error ──► leaves, with an error response
//      │ invalidated, or    │  ▼
//      └── fault not reported  Faulted ── reply ──► Looking (past the invalidation comparator)
//
// A fault is reported unless the requester has already reported that page, or has LookAhead reports
// open behind its oldest burst (the oldest burst has a place of its own). A fault that is not
// reported is looked up again after the next reply; without look-ahead no reply need be due, and the
// burst is looked up again when it has become the oldest.
//
// Requester   its number: even for the reads of a port, odd for the writes
// Cfg         park_cfg_t. With HostChannel a reply may name a page in host memory; its frame lies in the
//             host window
//
// Throughput: one burst a cycle in, one lookup a cycle, one burst a cycle out. Latency: 1 cycle to
// the lookup, 1 from the result to departure. Ordering: bursts leave in the order in which they
// came. Back-pressure: a full ring stalls its own requester only. Results are always taken.
// No deadlock: Looking ends without the host (a walk needs only memory); Ready needs only the
// fabric. Faulted needs the host, and holds nothing that another requester needs.
//
// port_reset_i (the slot is held in reset, or closed): bursts that have not left leave with an error; lookups under way are waited for, so
// that no late result can meet a new burst. Indices go on where they were: a late reply of the host
// meets a burst of the same index only after Depth more bursts, and only if that has faulted too.
//
// FSRF section 5.2 (parking, retry), section 4.6.

`include "tmb_assert.svh"

module tmb_park
  import tmb_pkg::*;
  import tmb_translate_pkg::*;
#(
  parameter int unsigned Requester = 0,
  parameter park_cfg_t Cfg = DefaultParkCfg,
  localparam bit IsWrite = 1'(Requester % 2)
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        port_reset_i,
  input  asid_t       asid_i,
  input  size_class_t page_class_i,  // the smallest pages of the space: what "the same page" means
  // port
  input  logic        burst_valid_i,
  output logic        burst_ready_o,
  input  burst_t      burst_i,
  output logic        departure_valid_o,
  input  logic        departure_ready_i,
  output departure_t  departure_o,
  // translator
  output logic        lookup_valid_o,
  input  logic        lookup_ready_i,
  output lookup_t     lookup_o,
  input  logic        result_valid_i,
  input  result_t     result_i,
  input  logic        flash_valid_i,  // translate again whatever is Ready in this space
  input  asid_t       flash_asid_i,
  // host
  output logic         fault_valid_o,
  input  logic         fault_ready_i,
  output fault_t       fault_o,
  input  logic         reply_valid_i,
  output logic         reply_ready_o,
  input  fault_reply_t reply_i,
  output logic         reply_busy_o,  // a reply has not reached the translator
  output logic         idle_o,
  output port_events_t events_o
);

  localparam int unsigned IndexWidth = $clog2(Cfg.Depth);
  typedef logic [IndexWidth-1:0] index_t;
  typedef logic [IndexWidth:0] pointer_t;  // one bit more: tells full from empty

  // The state of each burst, one hot: bit i belongs to index i. An index without a bit is free.
  typedef logic [Cfg.Depth-1:0] set_t;
  set_t to_lookup_q, looking_q, ready_q, error_q, faulted_q;

  block_t block_q [Cfg.Depth];
  logic [MinPageBits-1:0] offset_q [Cfg.Depth];  // in the block
  burst_len_t len_q [Cfg.Depth];
  logic refused_q [Cfg.Depth];
  frame_t frame_q [Cfg.Depth];

  pointer_t tail_q, head_q, head_d, look_q;
  index_t tail, head, look;
  assign tail = index_t'(tail_q);
  assign head = index_t'(head_q);
  assign look = index_t'(look_q);

  logic empty, enter, leave;
  assign empty = tail_q == head_q;

  // ---------------------------------------------------------------------------------------------
  // Entry and departure
  // ---------------------------------------------------------------------------------------------

  assign burst_ready_o = (tail_q - head_q) != pointer_t'(Cfg.Depth);
  assign enter = burst_valid_i && burst_ready_o;

  logic head_leaves;
  assign head_leaves = ready_q[head] || error_q[head]
      || (port_reset_i && (to_lookup_q[head] || faulted_q[head]));

  assign departure_valid_o = !empty && head_leaves;
  assign departure_o = '{
      addr: {frame_q[head], offset_q[head][MinPageBits-1:RowOffsetWidth], RowOffsetWidth'(0)},
      len: len_q[head],
      refused: refused_q[head],
      error: !ready_q[head] || port_reset_i
  };
  assign leave = departure_valid_o && departure_ready_i;
  assign head_d = leave ? head_q + pointer_t'(1) : head_q;

  // ---------------------------------------------------------------------------------------------
  // Lookups, and replies of the host on their way to the comparator
  // ---------------------------------------------------------------------------------------------

  fault_reply_t reply_q;
  logic reply_valid_q, reply_meant, reply_goes;
  index_t reply_index;
  assign reply_index = index_t'(reply_q.token.index);
  assign reply_ready_o = !reply_valid_q;
  // A reply to a burst that does not wait for one is ignored.
  assign reply_meant = reply_valid_q && faulted_q[reply_index]
      && (32'(reply_q.token.index) < Cfg.Depth) && !port_reset_i;

  logic lookup_valid_q, lookup_free, look_asks, look_goes, look_moves;
  lookup_t lookup_q;
  index_t ask_index;
  assign lookup_free = !lookup_valid_q || lookup_ready_i;
  assign reply_goes = reply_meant && lookup_free;
  assign look_asks = (look_q != tail_q) && to_lookup_q[look] && !port_reset_i;
  assign look_goes = look_asks && lookup_free && !reply_meant;
  assign look_moves = (look_q != tail_q) && (!look_asks || look_goes);
  assign ask_index = reply_meant ? reply_index : look;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      reply_valid_q <= 1'b0;
      lookup_valid_q <= 1'b0;
    end else begin
      if (reply_ready_o) reply_valid_q <= reply_valid_i;
      else if (!reply_meant || reply_goes) reply_valid_q <= 1'b0;
      if (lookup_free) lookup_valid_q <= reply_goes || look_goes;
    end
  end

  always_ff @(posedge clk_i) begin
    if (reply_ready_o && reply_valid_i) reply_q <= reply_i;
    if (reply_goes || look_goes) begin
      lookup_q <= '{
          token: '{requester: RequesterIdWidth'(Requester), index: park_index_t'(ask_index)},
          asid: asid_i,
          write: IsWrite,
          block: block_q[ask_index],
          is_reply: reply_goes,
          fail: reply_q.fail
              || !reachable(reply_q.entry.target, reply_q.entry.frame[FrameWidth-1], Cfg.HostChannel),
          frame: card_frame(reply_q.entry.frame, reply_q.entry.target, Cfg.HostChannel),
          size_class: reply_q.entry.size_class,
          page_read: reply_q.entry.read,
          page_write: reply_q.entry.write,
          page_dirty: reply_q.entry.dirty
      };
    end
  end

  assign lookup_valid_o = lookup_valid_q;
  assign reply_busy_o = reply_valid_q || (lookup_valid_q && lookup_q.is_reply);
  assign lookup_o = lookup_q;

  // ---------------------------------------------------------------------------------------------
  // Results, and reports of faults
  // ---------------------------------------------------------------------------------------------

  // Place 0 is for the burst at the head, the others for look-ahead.
  localparam int unsigned NumReports = Cfg.LookAhead + 1;
  localparam int unsigned ReportWidth = NumReports > 1 ? $clog2(NumReports) : 1;
  typedef logic [ReportWidth-1:0] report_t;

  logic [NumReports-1:0] report_valid_q, report_closes;
  index_t report_index_q [2**ReportWidth];
  block_t report_block_q [2**ReportWidth];

  logic flash, faulted, is_head, reported, report_room, report, again;
  report_t report_place;
  index_t result_index;
  block_t page_blocks_q;
  always_ff @(posedge clk_i) page_blocks_q <= page_mask(page_class_i);
  assign flash = flash_valid_i && (flash_asid_i == asid_i);
  assign result_index = index_t'(result_i.index);
  assign is_head = result_index == head;
  assign faulted = result_valid_i && (result_i.outcome == OutcomeFault) && !port_reset_i;

  // Is the page reported, and which place is free for this burst (the lowest)?
  always_comb begin
    reported = 1'b0;
    report_place = '0;
    report_room = 1'b0;
    if (faulted) begin
      report_room = is_head && !report_valid_q[0];
      for (int unsigned i = 0; i < NumReports; i++) begin
        if (report_valid_q[i]
            && (((report_block_q[i] ^ result_i.block) & ~page_blocks_q) == '0)) begin
          reported = 1'b1;
        end
        if (!report_valid_q[i] && i != 0 && !is_head && !report_room) begin
          report_room = 1'b1;
          report_place = report_t'(i);
        end
      end
    end
  end
  assign report = report_room && !reported;

  // A reply closes the report of its burst.
  always_comb begin
    report_closes = '0;
    if (reply_goes) begin
      for (int unsigned i = 0; i < NumReports; i++) begin
        report_closes[i] = report_index_q[i] == reply_index;
      end
    end
  end

  // A burst goes back to be looked up again.
  assign again = result_valid_i
      && ((result_i.outcome == OutcomeRetry) || (result_i.outcome == OutcomeFault && !report));

  always_ff @(posedge clk_i) begin
    if (!rst_ni || port_reset_i) begin
      report_valid_q <= '0;
    end else if (report || reply_goes) begin
      report_valid_q <= (report_valid_q & ~report_closes) | (NumReports'(report) << report_place);
    end
  end
  always_ff @(posedge clk_i) begin
    if (report) begin
      report_index_q[report_place] <= result_index;
      report_block_q[report_place] <= result_i.block;
    end
  end

  fault_t report_fault;
  logic fault_room;
  assign report_fault = '{
      cause: result_i.cause,
      asid: asid_i,
      write: IsWrite,
      ahead: report_valid_q != '0,
      addr: {result_i.block, offset_q[result_index]},
      token: '{requester: RequesterIdWidth'(Requester), index: result_i.index}
  };

  // As many entries as reports can be open: never full.
  tmb_fifo #(
    .T    (fault_t),
    .Depth(NumReports)
  ) i_faults (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni && !port_reset_i),
    .in_valid_i (report),
    .in_ready_o (fault_room),
    .in_data_i  (report_fault),
    .out_valid_o(fault_valid_o),
    .out_ready_i(fault_ready_i),
    .out_data_o (fault_o)
  );

  // ---------------------------------------------------------------------------------------------
  // State
  // ---------------------------------------------------------------------------------------------

  // Without look-ahead only the oldest burst reports. One that faulted while it was second, behind a burst
  // that did not fault, waits for no reply: it is looked up again as the oldest.
  logic stranded;
  if (Cfg.LookAhead == 0) begin : gen_no_look_ahead
    assign stranded = !empty && to_lookup_q[head] && (look_q != head_q) && !report_valid_q[0];
  end else begin : gen_look_ahead
    assign stranded = 1'b0;
  end

  logic rewind;
  assign rewind = port_reset_i || flash || reply_goes || stranded
      || (result_valid_i && result_i.outcome == OutcomeRetry);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      tail_q <= '0;
      head_q <= '0;
      look_q <= '0;
    end else begin
      if (enter) tail_q <= tail_q + pointer_t'(1);
      if (leave) head_q <= head_d;
      if (rewind) look_q <= head_d;
      else if (look_moves) look_q <= look_q + pointer_t'(1);
    end
  end

  // Which burst changes, and to what.
  set_t enters, asks, replied, result_bit, leaves, made_ready, made_error, goes_back, made_faulted;
  assign enters = set_t'(enter) << tail;
  assign asks = set_t'(look_goes) << look;
  assign replied = set_t'(reply_goes) << reply_index;
  assign result_bit = set_t'(result_valid_i) << result_index;
  assign made_ready = (result_i.outcome == OutcomeReady) ? result_bit : '0;
  assign made_error = (result_i.outcome == OutcomeError) ? result_bit : '0;
  assign goes_back = again ? result_bit : '0;
  assign made_faulted = report ? result_bit : '0;
  assign leaves = set_t'(leave) << head;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      to_lookup_q <= '0;
      looking_q <= '0;
      ready_q <= '0;
      error_q <= '0;
      faulted_q <= '0;
    end else begin
      to_lookup_q <= (to_lookup_q & ~(asks | leaves)) | (burst_i.refused ? '0 : enters)
          | goes_back | (flash ? ready_q & ~leaves : '0);
      looking_q <= (looking_q & ~(made_ready | made_error | goes_back | made_faulted))
          | asks | replied;
      ready_q <= (flash ? '0 : ready_q & ~leaves) | made_ready;
      error_q <= (error_q & ~leaves) | (burst_i.refused ? enters : '0) | made_error;
      faulted_q <= (faulted_q & ~(replied | leaves)) | made_faulted;
    end
  end

  always_ff @(posedge clk_i) begin
    if (enter) begin
      block_q[tail] <= burst_i.addr[VirtAddrWidth-1:MinPageBits];
      offset_q[tail] <= burst_i.addr[MinPageBits-1:0];
      len_q[tail] <= burst_i.len;
      refused_q[tail] <= burst_i.refused;
    end
  end
  always_ff @(posedge clk_i) begin
    if (result_valid_i && result_i.outcome == OutcomeReady) frame_q[result_index] <= result_i.frame;
  end

  assign idle_o = empty && !reply_valid_q;

  // ---------------------------------------------------------------------------------------------
  // Counted events
  // ---------------------------------------------------------------------------------------------

  port_events_t events_q, events_d;
  logic by_lookup, by_walk;
  assign by_lookup = result_valid_i && (result_i.source == SourceLookup);
  assign by_walk = result_valid_i && (result_i.source == SourceWalk);
  assign events_d = '{
      lookup_hit: by_lookup && (result_i.outcome == OutcomeReady),
      lookup_miss: by_walk || (by_lookup && (result_i.outcome == OutcomeFault)),
      walk_hit: by_walk && (result_i.outcome == OutcomeReady),
      walk_miss: by_walk && (result_i.outcome == OutcomeFault),
      fault: report,
      retry: again
  };

  always_ff @(posedge clk_i) begin
    if (!rst_ni) events_q <= '0;
    else events_q <= events_d;
  end
  assign events_o = events_q;

  logic unused_ok;
  assign unused_ok = &{1'b0, result_i, reply_q};

  `TMB_ASSERT_INIT(DepthPowerOfTwo, (Cfg.Depth & (Cfg.Depth - 1)) == 0)
  `TMB_ASSERT_INIT(DepthInRange, Cfg.Depth >= 2 && Cfg.Depth <= (1 << ParkIndexWidth))
  `TMB_ASSERT_INIT(RequesterInRange, Requester < (1 << RequesterIdWidth))
  `TMB_ASSERT(ResultIsExpected, result_valid_i |-> looking_q[result_index])
  `TMB_ASSERT(ReportsFit, report |-> fault_room)
  `TMB_ASSERT(PlaceIsFree, report |-> !report_valid_q[report_place])

endmodule
