// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The queues' one reader of host memory: their fetches take turns, and commands find their queue.
//
// NumQueues   queues
// MaxFetches  fetches outstanding
//
// Throughput: one fetch a cycle asked for, one command a cycle back. Latency: one cycle to the host
// bus, none back. Ordering: fetches of all queues are answered in order (one AXI ID); a short queue
// holds whose is next. Back-pressure: a fetch waits while MaxFetches are outstanding; commands are
// always taken. No deadlock: the host answers reads without anything of ours.
//
// Source: FSRF section 5.4 (a virtual queue an application).

`include "tmb_assert.svh"

module tmb_dma_fetch import tmb_pkg::*; import tmb_dma_pkg::*; #(
  parameter int unsigned NumQueues = 1,
  parameter int unsigned MaxFetches = 8
) (
  input  logic clk_i,
  input  logic rst_ni,

  input  logic     queue_ar_valid_i [NumQueues],
  output logic     queue_ar_ready_o [NumQueues],
  input  host_ax_t queue_ar_i [NumQueues],

  output logic     host_ar_valid_o,
  input  logic     host_ar_ready_i,
  output host_ax_t host_ar_o,

  // A command arrives: for this queue.
  input  logic                 host_r_valid_i,
  input  logic                 host_r_last_i,
  output queue_t               queue_o,
  output logic [NumQueues-1:0] arrived_o
);

  localparam int unsigned IndexWidth = NumQueues > 1 ? $clog2(NumQueues) : 1;

  logic [NumQueues-1:0] request, grant;
  logic [IndexWidth-1:0] winner;
  logic any, accept, order_ready, ar_ready, order_valid;
  queue_t head;

  for (genvar q = 0; q < NumQueues; q++) begin : gen_queue
    assign request[q] = queue_ar_valid_i[q];
    assign queue_ar_ready_o[q] = accept && grant[q];
    assign arrived_o[q] = host_r_valid_i && head == queue_t'(q);
  end

  tmb_round_robin_arbiter #(
    .NumRequests(NumQueues)
  ) u_arbiter (
    .clk_i,
    .rst_ni,
    .request_i(request),
    .accept_i(accept),
    .valid_o(any),
    .grant_o(grant),
    .index_o(winner)
  );

  assign accept = order_ready && ar_ready;
  assign queue_o = head;

  tmb_spill_register #(
    .T(host_ax_t)
  ) u_ar (
    .clk_i,
    .rst_ni,
    .in_valid_i(any && order_ready),
    .in_ready_o(ar_ready),
    .in_data_i(queue_ar_i[winner]),
    .out_valid_o(host_ar_valid_o),
    .out_ready_i(host_ar_ready_i),
    .out_data_o(host_ar_o)
  );

  tmb_fifo #(
    .T(queue_t),
    .Depth(MaxFetches)
  ) u_order (
    .clk_i,
    .rst_ni,
    .in_valid_i(any && accept),
    .in_ready_o(order_ready),
    .in_data_i(queue_t'(winner)),
    .out_valid_o(order_valid),
    .out_ready_i(host_r_valid_i && host_r_last_i),
    .out_data_o(head)
  );

  `TMB_ASSERT(CommandsWereAskedFor, !host_r_valid_i || order_valid)

  logic unused_ok;
  assign unused_ok = &{1'b0, order_valid};

endmodule
