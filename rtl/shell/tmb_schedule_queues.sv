// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The host's settings of slots, by command queue: copies and table commands come by queue. Queue
// 1 + ASID mod (NumQueues - 1) is that of a space (docs/architecture.md, Command ring), queue 0 of none.
//
// A queue is as its highest slot that runs; without any, as a slot with default settings.
//
// NumSlots    slots
// NumQueues   command queues; with one there is nothing to tell apart
//
// Latency: a cycle. No deadlock: waits for nothing.

module tmb_schedule_queues import tmb_pkg::*; import tmb_schedule_pkg::*; #(
  parameter int unsigned NumSlots = 1,
  parameter int unsigned NumQueues = 2,
  localparam int unsigned NumScheduled = NumQueues > 1 ? NumQueues - 1 : 1
) (
  input  logic      clk_i,

  input  logic      run_i [NumSlots],
  input  asid_t     asid_i [NumSlots],
  input  schedule_t schedule_i [NumSlots],
  output schedule_t schedule_o [NumScheduled]  // of the queues from 1 on
);

  for (genvar q = 0; q < NumScheduled; q++) begin : gen_queue
    logic found;
    schedule_t highest, highest_q;

    always_comb begin
      found = 1'b0;
      highest = DefaultSchedule;
      for (int unsigned s = 0; s < NumSlots; s++) begin
        if (run_i[s] && 32'(asid_i[s]) % NumScheduled == q
            && (!found || schedule_i[s].level > highest.level)) begin
          found = 1'b1;
          highest = schedule_i[s];
        end
      end
    end
    always_ff @(posedge clk_i) highest_q <= highest;
    assign schedule_o[q] = highest_q;
  end

endmodule
