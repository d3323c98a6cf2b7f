// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// One flag for each place of a ring. Flags go up at any place, in any order; they are looked at, and
// go down, at the head only.
//
// Depth     places, a power of two
// SetOnce   a flag that is up does not go up again (asserted)
//
// The flag of the head is kept in a register: it is looked up a cycle ahead, for the head staying
// where it is and for its next place, so that no multiplexer of Depth flags lies between the head and
// what follows from its flag. The number of the next place is kept in a register too.
//
// Throughput: one flag up and one down a cycle. Latency: one cycle from set_valid_i to flag_o.
// After a jump flag_o is low for one cycle, whatever the flag, and the head does not step in it.
// No deadlock: waits for nothing.

`include "tmb_assert.svh"

module tmb_ring_flags #(
  parameter int unsigned Depth = 2,
  parameter bit SetOnce = 1'b1,
  localparam int unsigned IndexWidth = $clog2(Depth)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  set_valid_i,
  input  logic [IndexWidth-1:0] set_index_i,
  input  logic [IndexWidth-1:0] head_i,
  input  logic                  step_i,  // the head's flag goes down, the head moves to the next place
  input  logic                  jump_i,  // the head moves elsewhere; all flags between are down
  output logic                  flag_o   // of the head
);

  typedef logic [IndexWidth-1:0] index_t;

  logic flags_q [Depth];
  logic flag_q;
  index_t next_q;  // the place behind the head, except after a jump

  always_ff @(posedge clk_i) begin
    if (!rst_ni) next_q <= index_t'(1);
    else next_q <= (step_i ? next_q : head_i) + index_t'(1);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      for (int unsigned i = 0; i < Depth; i++) flags_q[i] <= 1'b0;
    end else begin
      if (step_i) flags_q[head_i] <= 1'b0;
      if (set_valid_i) flags_q[set_index_i] <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || jump_i) flag_q <= 1'b0;
    else if (step_i) flag_q <= flags_q[next_q] || (set_valid_i && set_index_i == next_q);
    else flag_q <= flags_q[head_i] || (set_valid_i && set_index_i == head_i);
  end

  assign flag_o = flag_q;

  `TMB_ASSERT_INIT(DepthIsPowerOfTwo, Depth >= 2 && Depth == (1 << IndexWidth))
  `TMB_ASSERT(FlagIsTheHeads, flag_q |-> flags_q[head_i])
  `TMB_ASSERT(NextIsBehindTheHead, step_i |-> next_q == head_i + index_t'(1))
  if (SetOnce) begin : gen_set_once
    `TMB_ASSERT(IsDown, set_valid_i |-> !flags_q[set_index_i])
  end

endmodule
