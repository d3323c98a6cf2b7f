// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// First-in first-out queue whose readiness is a register, so that the slice can choose among many
// such queues by it and hand a word over in the same cycle.
//
// Depth   words, at least 3 for full throughput
//
// Throughput: one word a cycle in and one out. Latency: one cycle. Ordering: kept.
// Back-pressure: in_ready_o, a register, rises when there was room for two words the cycle before.
// No deadlock: in_ready_o depends on the fill level only.

`include "tmb_assert.svh"

module tmb_directory_sink_queue #(
  parameter type T = logic,
  parameter int unsigned Depth = 4
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic in_valid_i,
  output logic in_ready_o,
  input  T     in_data_i,
  output logic out_valid_o,
  input  logic out_ready_i,
  output T     out_data_o
);

  localparam int unsigned IndexWidth = $clog2(Depth);
  typedef logic [IndexWidth-1:0] index_t;

  T mem_q [Depth];
  index_t write_q, read_q;
  logic ready_q, push, pop;
  assign push = in_valid_i && ready_q;
  assign pop = out_valid_o && out_ready_i;

  // Bit n: more than n words. A word arrives late in the cycle, and an adder behind it would be
  // long: the bits move by one.
  logic [Depth-1:0] fill_q, fill_less, fill_more;
  assign fill_less = pop ? {1'b0, fill_q[Depth-1:1]} : fill_q;
  assign fill_more = pop ? fill_q : {fill_q[Depth-2:0], 1'b1};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q <= '0;
      read_q <= '0;
      fill_q <= '0;
      ready_q <= 1'b0;
    end else begin
      if (push) write_q <= write_q + 1'b1;
      if (pop) read_q <= read_q + 1'b1;
      fill_q <= push ? fill_more : fill_less;
      ready_q <= !fill_q[Depth-2];
    end
  end

  always_ff @(posedge clk_i) begin
    if (push) mem_q[write_q] <= in_data_i;
  end

  assign in_ready_o = ready_q;
  assign out_valid_o = fill_q[0];
  assign out_data_o = mem_q[read_q];

  `TMB_ASSERT_INIT(DepthIsPowerOfTwo, Depth >= 4 && (Depth & (Depth - 1)) == 0)
  `TMB_ASSERT(NoGaps, (fill_q & (fill_q + 1'b1)) == '0)
  `TMB_ASSERT(HasRoom, !push || pop || !fill_q[Depth-1])

endmodule
