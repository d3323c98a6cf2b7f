// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Accesses that wait: for a line's transaction, for a way, for a hold of another.
//
// A ring. An access enters (again) when a try was in vain; after wake_i everything in the ring is
// tried once, in order. An access that enters after a wake is not tried before the next one: the wake of the
// same cycle counts. New accesses do not pass through here before their first try, so none waits
// behind those that wait.
//
// Depth   as many as there are accesses
//
// Throughput: one in and one out a cycle. Latency: one cycle. Ordering: that of entering.
// Back-pressure: none, there is room for every access. No deadlock: every change that an access may
// wait for comes with wake_i; a ring in which everything waits does not toggle.

`include "tmb_assert.svh"

module tmb_cache_controller_waiting #(
  parameter type T = logic,
  parameter int unsigned Depth = 32
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic again_i,
  input  T     again_data_i,
  input  logic wake_i,
  output logic out_valid_o,
  input  logic out_take_i,
  output T     out_data_o
);

  localparam int unsigned IndexWidth = $clog2(Depth);
  localparam int unsigned CountWidth = $clog2(Depth + 1);
  typedef logic [IndexWidth-1:0] index_t;
  typedef logic [CountWidth-1:0] count_t;

  T mem_q [Depth];
  index_t write_q, read_q;
  count_t stored_q, stored_d;
  count_t tries_q;             // at the front of the ring, still to be tried

  assign stored_d = stored_q + count_t'(again_i) - count_t'(out_take_i);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q <= '0;
      read_q <= '0;
      stored_q <= '0;
      tries_q <= '0;
    end else begin
      if (again_i) write_q <= write_q + 1'b1;
      if (out_take_i) read_q <= read_q + 1'b1;
      stored_q <= stored_d;
      if (wake_i) tries_q <= stored_d;
      else if (out_take_i) tries_q <= tries_q - 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (again_i) mem_q[write_q] <= again_data_i;
  end

  assign out_valid_o = tries_q != '0;
  assign out_data_o = mem_q[read_q];

  `TMB_ASSERT_INIT(DepthIsPowerOfTwo, Depth >= 2 && (Depth & (Depth - 1)) == 0)
  `TMB_ASSERT(HasRoom, !again_i || stored_q != count_t'(Depth))
  `TMB_ASSERT(TakesWhatIsThere, !out_take_i || out_valid_o)
  `TMB_ASSERT(TriesAreStored, tries_q <= stored_q)

endmodule
