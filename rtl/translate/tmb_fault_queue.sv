// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Collects the faults of all requesters for the host, round-robin.
//
// Each park reports a page once and limits its open reports, so the number of faults here is
// bounded by the requesters' look-ahead. FaultQueueDepth is the room before the event writer, which
// counts on it.
//
// Throughput: one fault a cycle. Latency: one cycle. Ordering: the faults of a requester stay in
// order. Back-pressure: faults wait in their parks. No deadlock: needs only the event writer.

module tmb_fault_queue
  import tmb_pkg::*;
#(
  parameter int unsigned NumRequesters = 2
) (
  input  logic   clk_i,
  input  logic   rst_ni,
  input  logic   fault_valid_i [NumRequesters],
  output logic   fault_ready_o [NumRequesters],
  input  fault_t fault_i [NumRequesters],
  output logic   fault_valid_o,
  input  logic   fault_ready_i,
  output fault_t fault_o
);

  localparam int unsigned RequesterWidth = NumRequesters > 1 ? $clog2(NumRequesters) : 1;
  logic [NumRequesters-1:0] request, grant;
  logic [RequesterWidth-1:0] requester;
  logic chosen, room;

  for (genvar s = 0; s < NumRequesters; s++) begin : gen_requester
    assign request[s] = fault_valid_i[s];
    assign fault_ready_o[s] = grant[s] && room;
  end

  tmb_round_robin_arbiter #(
    .NumRequests(NumRequesters)
  ) i_arbiter (
    .clk_i    (clk_i),
    .rst_ni   (rst_ni),
    .request_i(request),
    .accept_i (room),
    .valid_o  (chosen),
    .grant_o  (grant),
    .index_o  (requester)
  );

  tmb_fifo #(
    .T    (fault_t),
    .Depth(FaultQueueDepth)
  ) i_queue (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .in_valid_i (chosen),
    .in_ready_o (room),
    .in_data_i  (fault_i[requester]),
    .out_valid_o(fault_valid_o),
    .out_ready_i(fault_ready_i),
    .out_data_o (fault_o)
  );

endmodule
