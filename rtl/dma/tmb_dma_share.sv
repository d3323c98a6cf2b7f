// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Copies of all queues on their way to one copy unit: each queue's copies are cut into bursts, and the
// queues' bursts take turns. So a queue with a copy of 1 GiB delays another's page by a burst at a
// time, and no queue waits for another's copies to end.
//
// NumQueues    queues
// QueueDepth   copies of each queue that wait here
//
// Throughput: one burst a cycle if two queues have some; one every two cycles for one queue, which
// is enough for bursts of two rows. Latency: three cycles: choosing and taking a burst are a cycle
// each, so that the unit's ready does not reach the queues. Ordering: a queue's copies in order, their
// bursts in address order. Back-pressure: ready/valid.
// No deadlock: waits for its output only.
//
// Source: FSRF section 5.4 (concurrent requests of virtual queues).

module tmb_dma_share import tmb_pkg::*; import tmb_dma_pkg::*; #(
  parameter int unsigned NumQueues = 1,
  parameter int unsigned QueueDepth = 4
) (
  input  logic   clk_i,
  input  logic   rst_ni,

  input  logic   copy_valid_i [NumQueues],
  output logic   copy_ready_o [NumQueues],
  input  copy_t  copy_i [NumQueues],

  output logic   chunk_valid_o,
  input  logic   chunk_ready_i,
  output chunk_t chunk_o,

  output logic   busy_o
);

  localparam int unsigned IndexWidth = NumQueues > 1 ? $clog2(NumQueues) : 1;

  logic [NumQueues-1:0] chunk_valid, grant, waiting;
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
    .request_i(chunk_valid),
    .accept_i(accept),
    .valid_o(any),
    .grant_o(grant),
    .index_o(winner)
  );

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
