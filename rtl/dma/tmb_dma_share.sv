// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Copies of all queues on their way to one copy unit: each queue's copies are cut into bursts, and the
// queues' bursts take turns. So a queue with a copy of 1 GiB delays another's page by a burst at a
// time, and no queue waits for another's copies to end.
//
// NumQueues    queues
// Scheduled    the unit uses the host link: a scheduler (tmb_schedule) decides whose bursts may be chosen. Queue 0
//              belongs to no space: its bursts may always be
// LowRows      what it lets lower levels have outstanding: about what the link needs to be busy. At most
//              these rows and a burst are then before a burst of a higher level, and no whole row buffer
//
// Throughput: one burst a cycle if two queues have some; one every two cycles for one queue, which
// is enough for bursts of two rows. Latency: three cycles: choosing and taking a burst are a cycle
// each, so that the unit's ready does not reach the queues. While no slot differs from the others the
// scheduler costs no cycle. Ordering: a queue's copies in order, their
// bursts in address order. Back-pressure: ready/valid.
// No deadlock: waits for its output, and with a scheduler for rows that are outstanding.
//
// Source: FSRF section 5.4 (concurrent requests of virtual queues); vFPIO section 4.4.

`include "tmb_assert.svh"

module tmb_dma_share import tmb_pkg::*; import tmb_dma_pkg::*; import tmb_schedule_pkg::*; #(
  parameter int unsigned NumQueues = 1,
  parameter bit Scheduled = 1'b0,
  parameter int unsigned LowRows = 256,
  localparam int unsigned NumScheduled = NumQueues > 1 ? NumQueues - 1 : 1
) (
  input  logic   clk_i,
  input  logic   rst_ni,

  input  logic      managed_i,                  // the scheduler is in use
  input  schedule_t schedule_i [NumScheduled],  // of the queues from 1 on
  input  logic      row_done_i,                 // a row of the oldest burst is not outstanding any more
  input  logic      burst_done_i,               // it is the last of the burst

  input  logic   copy_valid_i [NumQueues],
  output logic   copy_ready_o [NumQueues],
  input  copy_t  copy_i [NumQueues],

  output logic   chunk_valid_o,
  input  logic   chunk_ready_i,
  output chunk_t chunk_o,

  output logic   busy_o
);

  localparam int unsigned IndexWidth = NumQueues > 1 ? $clog2(NumQueues) : 1;
  // Copies of each queue that wait here.
  localparam int unsigned QueueDepth = 4;
  // log2 of the cycles for which the bound stays: about the time from a fault to the next one of its slot.
  localparam int unsigned RecentLog2 = 14;

  logic [NumQueues-1:0] chunk_valid, candidate, grant, waiting;
  chunk_t chunk [NumQueues];
  logic [IndexWidth-1:0] winner;
  logic any, accept;

  for (genvar q = 0; q < NumQueues; q++) begin : gen_queue
    logic copy_valid, copy_ready;
    copy_t copy;

    tmb_fifo #(
      .T(copy_t),
      .Depth(QueueDepth)
    ) u_queue (
      .clk_i,
      .rst_ni,
      .in_valid_i(copy_valid_i[q]),
      .in_ready_o(copy_ready_o[q]),
      .in_data_i(copy_i[q]),
      .out_valid_o(copy_valid),
      .out_ready_i(copy_ready),
      .out_data_o(copy)
    );

    tmb_dma_splitter u_splitter (
      .clk_i,
      .rst_ni,
      .copy_valid_i(copy_valid),
      .copy_ready_o(copy_ready),
      .copy_i(copy),
      .chunk_valid_o(chunk_valid[q]),
      .chunk_ready_i(accept && grant[q]),
      .chunk_o(chunk[q])
    );

    assign waiting[q] = copy_valid || !copy_ready;
  end

  tmb_round_robin_arbiter #(
    .NumRequests(NumQueues)
  ) u_arbiter (
    .clk_i,
    .rst_ni,
    .request_i(candidate),
    .accept_i(accept),
    .valid_o(any),
    .grant_o(grant),
    .index_o(winner)
  );

  // ---------------------------------------------------------------------------------------------
  // Scheduler
  // ---------------------------------------------------------------------------------------------

  if (Scheduled && NumQueues > 1) begin : gen_scheduled
    // The requests of a scheduler begin with those of slots.
    logic [NumQueues-1:0] request, may, granted;
    logic low, head_low, head_valid, head_ready;
    level_t unused_level;
    peer_t unused_peer;

    assign request = {chunk_valid[0], chunk_valid[NumQueues-1:1]};
    assign candidate = {may[NumQueues-2:0], may[NumQueues-1]};
    assign granted = {grant[0], grant[NumQueues-1:1]};

    tmb_schedule #(
      .NumRequests(NumQueues),
      .NumSlots(NumScheduled),
      .RequestsPerSlot(1),
      .Bound('{LowRows: LowRows, RecentLog2: RecentLog2})
    ) u_schedule (
      .clk_i,
      .rst_ni,
      .managed_i,
      .schedule_i,
      .request_i(request),
      .candidate_o(may),
      .accept_i(any && accept),
      .grant_i(granted),
      .len_i(chunk[winner].len),
      .low_o(low),
      .low_done_i(row_done_i && head_low),
      .level_o(unused_level),
      // The link has a direction each for reads and writes.
      .under_way_i('0),
      .peer_o(unused_peer),
      .peer_i('0)
    );

    // Which bursts count against the bound, in their order: those in the unit's tracker, and two on their
    // way there.
    tmb_fifo #(
      .T(logic),
      .Depth(MaxBursts + 2)
    ) u_low (
      .clk_i,
      .rst_ni,
      .in_valid_i(any && accept),
      .in_ready_o(head_ready),
      .in_data_i(low),
      .out_valid_o(head_valid),
      .out_ready_i(row_done_i && burst_done_i),
      .out_data_o(head_low)
    );

    `TMB_ASSERT(BurstIsCounted, !(any && accept) || head_ready)
    `TMB_ASSERT(RowWasChosen, !row_done_i || head_valid)

    logic unused_ok;
    assign unused_ok = &{1'b0, head_ready, head_valid, unused_level, unused_peer};
  end else begin : gen_unscheduled
    assign candidate = chunk_valid;

    logic unused_ok;
    assign unused_ok = &{1'b0, managed_i, schedule_i[0], row_done_i, burst_done_i};
  end

  tmb_spill_register #(
    .T(chunk_t)
  ) u_chunk (
    .clk_i,
    .rst_ni,
    .in_valid_i(any),
    .in_ready_o(accept),
    .in_data_i(chunk[winner]),
    .out_valid_o(chunk_valid_o),
    .out_ready_i(chunk_ready_i),
    .out_data_o(chunk_o)
  );

  assign busy_o = waiting != '0 || chunk_valid_o;

endmodule
