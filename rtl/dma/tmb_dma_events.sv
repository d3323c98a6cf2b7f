// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Event writer: completions, faults, kernel interrupts, slots that the guard has closed, ends of stream
// transfers and trouble of the directory become records in the event ring.
//
// A record is one posted row. When the host side has accepted it, record_o pulses: an interrupt made of it
// never overtakes the record it announces, nor the data that a completion announces (a completion
// is made after the acceptance of its last row).
//
// Sources take turns, but a completion lets those faults go first that may have been queued before it:
// up to FaultQueueDepth, the room of tmb_fault_queue. So the completion of the no-op that ends a slot's
// reset comes after the slot's last fault, also when the ring was full. A record is started only while the ring has room (EVENT_HEAD), so nothing is
// ever dropped: sources wait instead. Interrupts, and reports of closed slots, are latched, one a
// slot; edges of a slot that come before its record has been made are one record. So is trouble.
//
// Throughput: one record every four cycles, up to MaxRecords on their way, so that what the host has to
// accept at once is bounded (with CopyOut: MaxBursts + MaxRecords writes). Latency: 3 cycles to the host
// bus. Ordering: records in the order of the ring; a source's in its own order.
// Back-pressure: a ring without room holds completions and the fault queue.
// No starvation: a completion waits for FaultQueueDepth faults at most, whatever comes behind them, and
// in between for the other sources' turns; a fault, for one record of each other source.
// No deadlock: the host gives room back by a register write, which waits for nothing here.
//
// Source: docs/architecture.md, Event ring.

`include "tmb_assert.svh"

module tmb_dma_events import tmb_pkg::*; import tmb_dma_pkg::*; import tmb_stream_pkg::*; #(
  parameter int unsigned NumSlots = 1,
  parameter bit Streams = 1'b0  // there are movers
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        enable_i,
  input  ring_t       ring_i,
  output logic [31:0] tail_o,  // records accepted by the host side
  output logic        record_o,  // one more, in the same cycle

  input  logic        completion_valid_i,
  output logic        completion_ready_o,
  input  completion_t completion_i,
  input  logic        fault_valid_i,
  output logic        fault_ready_o,
  input  fault_t      fault_i,
  input  logic        interrupt_i [NumSlots],
  input  logic        closed_i [NumSlots],
  input  logic        transfer_valid_i,  // the end of a transfer of a mover
  output logic        transfer_ready_o,
  input  logic [7:0]  transfer_mover_i,
  input  mover_done_t transfer_i,
  input  logic        trouble_i,  // of the directory: a level

  output logic        host_aw_valid_o,
  input  logic        host_aw_ready_i,
  output host_ax_t    host_aw_o,
  output logic        host_w_valid_o,
  input  logic        host_w_ready_i,
  output host_w_t     host_w_o,
  input  logic        host_b_valid_i,

  output logic        busy_o
);

  localparam int unsigned SlotWidth = NumSlots > 1 ? $clog2(NumSlots) : 1;

  // The last one only with movers.
  localparam int unsigned SourceCompletion = 0;
  localparam int unsigned SourceFault = 1;
  localparam int unsigned SourceInterrupt = 2;
  localparam int unsigned SourceClosed = 3;
  localparam int unsigned SourceTrouble = 4;
  localparam int unsigned SourceTransfer = 5;
  localparam int unsigned NumSources = Streams ? 6 : 5;
  localparam int unsigned SourceWidth = $clog2(NumSources);

  typedef enum logic [1:0] {
    StIdle,
    StAddress,
    StData
  } state_e;

  state_e state_q;

  // ---------------------------------------------------------------------------------------------
  // Interrupts and closed slots: rising edges, latched
  // ---------------------------------------------------------------------------------------------

  logic [NumSlots-1:0] interrupt, interrupt_q, pending_q, slot_grant;
  logic [NumSlots-1:0] closed, closed_q, closed_pending_q, closed_grant;
  logic [SlotWidth-1:0] slot, closed_slot;
  logic slot_valid, take_interrupt, closed_valid, take_closed;
  logic trouble_q, trouble_pending_q, take_trouble;

  for (genvar s = 0; s < NumSlots; s++) begin : gen_slot
    assign interrupt[s] = interrupt_i[s];
    assign closed[s] = closed_i[s];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      interrupt_q <= '0;
      pending_q <= '0;
      closed_q <= '0;
      closed_pending_q <= '0;
      trouble_q <= 1'b0;
      trouble_pending_q <= 1'b0;
    end else begin
      interrupt_q <= interrupt;
      pending_q <= (pending_q & ~(take_interrupt ? slot_grant : '0)) | (interrupt & ~interrupt_q);
      closed_q <= closed;
      closed_pending_q <= (closed_pending_q & ~(take_closed ? closed_grant : '0))
          | (closed & ~closed_q);
      trouble_q <= trouble_i;
      trouble_pending_q <= (trouble_pending_q && !take_trouble) || (trouble_i && !trouble_q);
    end
  end

  tmb_round_robin_arbiter #(
    .NumRequests(NumSlots)
  ) u_slots (
    .clk_i,
    .rst_ni,
    .request_i(pending_q),
    .accept_i(take_interrupt),
    .valid_o(slot_valid),
    .grant_o(slot_grant),
    .index_o(slot)
  );

  tmb_round_robin_arbiter #(
    .NumRequests(NumSlots)
  ) u_closed_slots (
    .clk_i,
    .rst_ni,
    .request_i(closed_pending_q),
    .accept_i(take_closed),
    .valid_o(closed_valid),
    .grant_o(closed_grant),
    .index_o(closed_slot)
  );

  // ---------------------------------------------------------------------------------------------
  // Choice of the next record
  // ---------------------------------------------------------------------------------------------

  localparam int unsigned UnderWayWidth = $clog2(MaxRecords);

  logic [31:0] issued_q, accepted_q, used;
  logic [UnderWayWidth:0] under_way_q;  // sent and not accepted; the top bit: no more
  logic room, any, take;
  logic [NumSources-1:0] request, grant;
  logic [SourceWidth-1:0] source;

  assign used = issued_q - ring_i.host_count;
  assign room = (used >> ring_i.size_log2) == '0;

  // Faults that may be older than the completion that waits; one hot, so that the choice looks at one bit.
  // None, once the fault queue was empty.
  logic [FaultQueueDepth:0] older_q;
  logic completion_may;
  assign completion_may = completion_valid_i && (older_q[0] || !fault_valid_i);

  always_ff @(posedge clk_i) begin
    if (!rst_ni || completion_ready_o) older_q <= (FaultQueueDepth + 1)'(1) << FaultQueueDepth;
    else if (completion_valid_i && !fault_valid_i) older_q <= (FaultQueueDepth + 1)'(1);
    else if (completion_valid_i && fault_ready_o && !older_q[0]) older_q <= older_q >> 1;
  end

  assign request[SourceCompletion] = completion_may;
  assign request[SourceFault] = fault_valid_i;
  assign request[SourceInterrupt] = slot_valid;
  assign request[SourceClosed] = closed_valid;
  assign request[SourceTrouble] = trouble_pending_q;
  if (Streams) begin : gen_transfers
    assign request[NumSources-1] = transfer_valid_i;
    assign transfer_ready_o = take && grant[NumSources-1];
  end else begin : gen_no_transfers
    assign transfer_ready_o = 1'b0;
  end

  tmb_round_robin_arbiter #(
    .NumRequests(NumSources)
  ) u_sources (
    .clk_i,
    .rst_ni,
    .request_i(request),
    .accept_i(take),
    .valid_o(any),
    .grant_o(grant),
    .index_o(source)
  );

  assign take = any && enable_i && room && !under_way_q[UnderWayWidth] && state_q == StIdle;
  assign completion_ready_o = take && grant[SourceCompletion];
  assign fault_ready_o = take && grant[SourceFault];
  assign take_interrupt = take && grant[SourceInterrupt];
  assign take_closed = take && grant[SourceClosed];
  assign take_trouble = take && grant[SourceTrouble];

  // ---------------------------------------------------------------------------------------------
  // The record
  // ---------------------------------------------------------------------------------------------

  // Words 0 to 2; the others are zero but for the phase.
  typedef struct packed {
    logic [63:0] word2;
    logic [63:0] word1;
    logic [63:0] word0;
  } record_t;

  record_t record_d, record_q;
  logic phase_q;
  logic [31:0] place;
  host_addr_t addr_q;

  always_comb begin
    record_d = '0;
    unique case (32'(source))
      SourceCompletion: begin
        record_d.word0[7:0] = EventCompletion;
        record_d.word0[15:8] = completion_i.status;
        record_d.word0[16] = completion_i.accessed;
        record_d.word0[17] = completion_i.dirty;
        record_d.word1[31:0] = completion_i.id;
      end
      SourceFault: begin
        record_d.word0[7:0] = EventFault;
        record_d.word0[15:8] = 8'(fault_i.cause);
        record_d.word0[16] = fault_i.write;
        record_d.word0[17] = fault_i.ahead;
        record_d.word0[27:24] = fault_i.asid;
        record_d.word1 = 64'(fault_i.addr);
        record_d.word2[5:0] = fault_i.token.index;
        record_d.word2[15:8] = fault_i.token.requester;
      end
      SourceInterrupt: begin
        record_d.word0[7:0] = EventInterrupt;
        record_d.word0[15:8] = 8'(slot);
      end
      SourceTrouble: record_d.word0[7:0] = EventDirectory;
      SourceTransfer: begin
        record_d.word0[7:0] = EventTransfer;
        record_d.word0[15:8] = 8'(transfer_i.status);
        record_d.word0[16] = transfer_i.last;
        record_d.word0[31:24] = transfer_mover_i;
        record_d.word1 = 64'(transfer_i.bytes);
      end
      default: begin
        record_d.word0[7:0] = EventSlotClosed;
        record_d.word0[15:8] = 8'(closed_slot);
      end
    endcase
  end

  assign place = issued_q & ~(32'hFFFF_FFFF << ring_i.size_log2);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StIdle;
    end else begin
      unique case (state_q)
        StIdle: if (take) state_q <= StAddress;
        StAddress: if (host_aw_ready_i) state_q <= StData;
        StData: if (host_w_ready_i) state_q <= StIdle;
        default: state_q <= StIdle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      record_q <= record_d;
      // 1 in the first lap, 0 in the second, and so on.
      phase_q <= !issued_q[ring_i.size_log2];
      addr_q <= ring_i.base + (host_addr_t'(place) << RowOffsetWidth);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) under_way_q <= '0;
    else if (take && !host_b_valid_i) under_way_q <= under_way_q + 1'b1;
    else if (!take && host_b_valid_i) under_way_q <= under_way_q - 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      issued_q <= '0;
      accepted_q <= '0;
    end else begin
      if (!enable_i) issued_q <= '0;
      else if (take) issued_q <= issued_q + 1'b1;
      if (!enable_i) accepted_q <= '0;
      else if (host_b_valid_i) accepted_q <= accepted_q + 1'b1;
    end
  end

  assign host_aw_valid_o = state_q == StAddress;
  assign host_aw_o = '{addr: addr_q, len: '0};
  assign host_w_valid_o = state_q == StData;
  assign host_w_o = '{
      row: {63'd0, phase_q, 256'd0, record_q},
      last: 1'b1
  };
  assign tail_o = accepted_q;
  assign record_o = host_b_valid_i;
  logic unused_ok;
  assign unused_ok = &{1'b0, transfer_valid_i};

  assign busy_o = state_q != StIdle || issued_q != accepted_q;

  `TMB_ASSERT_INIT(MaxRecordsPowerOfTwo, (MaxRecords & (MaxRecords - 1)) == 0)
  `TMB_ASSERT(AcceptedAfterSent, !host_b_valid_i || under_way_q != '0)
  // A record is one row at its own place, and its last word holds the phase: who carries a row keeps its words in
  // order, so a host that sees the phase sees the record.
  `TMB_ASSERT(RecordIsOneRow, !host_w_valid_o || (host_w_o.last && host_aw_o.len == '0
      && addr_q[RowOffsetWidth-1:0] == ring_i.base[RowOffsetWidth-1:0]))
  `TMB_ASSERT(LastWordHasThePhase, !host_w_valid_o || host_w_o.row[511:448] == {63'd0, phase_q})
  `TMB_ASSERT(NeverMoreThanTheRingHolds, !take || used < (32'd1 << ring_i.size_log2))

endmodule
