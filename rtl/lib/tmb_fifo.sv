// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// First-in first-out queue of any depth, ready/valid on both sides.
//
// Depth           words the memory holds (1 is allowed)
// FallThrough     a word that enters an empty queue shows at the output in the same cycle
//                 (combinational path from input to output)
// OutputRegister  the memory is read into a register, so that it becomes block RAM; holds Depth + 1
//                 words. Excludes FallThrough.
//
// Throughput: one word a cycle in and one out, for Depth >= 2. Latency: 0 (FallThrough), 2
// (OutputRegister) or 1 cycle. Back-pressure: in_ready_o falls when the memory is full; it does not
// depend on out_ready_i, so both sides are decoupled.
// No deadlock: in_ready_o depends on the fill level only.

`include "tmb_assert.svh"

module tmb_fifo #(
  parameter type T = logic,
  parameter int unsigned Depth = 2,
  parameter bit FallThrough = 1'b0,
  parameter bit OutputRegister = 1'b0
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

  localparam int unsigned IndexWidth = Depth > 1 ? $clog2(Depth) : 1;
  localparam int unsigned CountWidth = $clog2(Depth + 1);
  typedef logic [IndexWidth-1:0] index_t;
  typedef logic [CountWidth-1:0] count_t;

  function automatic index_t successor(index_t index);
    return (index == index_t'(Depth - 1)) ? index_t'(0) : index_t'(index + 1'b1);
  endfunction

  T mem_q [Depth];
  index_t write_index_q, read_index_q;
  count_t count_q;

  // Kept in addition to the count, so that what the output leads to begins at one register.
  logic empty_q;

  logic empty, push, pop, bypass;
  assign empty = empty_q;
  assign in_ready_o = count_q != count_t'(Depth);

  // Push and pop come late, so which bits would change is there before them: a bit of one more does when all bits
  // below it are 1, of one less when they are 0.
  count_t more, less;
  for (genvar b = 0; b < CountWidth; b++) begin : gen_count
    assign more[b] = b == 0 || (count_q | ~count_t'((1 << b) - 1)) == '1;
    assign less[b] = b == 0 || (count_q & count_t'((1 << b) - 1)) == '0;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_index_q <= '0;
      read_index_q <= '0;
      count_q <= '0;
      empty_q <= 1'b1;
    end else begin
      if (push) write_index_q <= successor(write_index_q);
      if (pop) read_index_q <= successor(read_index_q);
      if (push != pop) begin
        count_q <= count_q ^ (push ? more : less);
        empty_q <= pop && count_q == count_t'(1);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (push) mem_q[write_index_q] <= in_data_i;
  end

  // bypass: the word passes without touching the memory.
  assign push = in_valid_i && in_ready_o && !bypass;

  if (OutputRegister) begin : gen_output_register
    logic out_valid_q;
    T out_q;

    assign bypass = 1'b0;
    assign pop = !empty && (!out_valid_q || out_ready_i);

    always_ff @(posedge clk_i) begin
      if (!rst_ni) out_valid_q <= 1'b0;
      else if (!out_valid_q || out_ready_i) out_valid_q <= !empty;
    end
    always_ff @(posedge clk_i) begin
      if (pop) out_q <= mem_q[read_index_q];
    end

    assign out_valid_o = out_valid_q;
    assign out_data_o = out_q;
  end else if (FallThrough) begin : gen_fall_through
    assign bypass = empty && in_valid_i && out_ready_i;
    assign pop = !empty && out_ready_i;
    assign out_valid_o = !empty || in_valid_i;
    assign out_data_o = empty ? in_data_i : mem_q[read_index_q];
  end else begin : gen_plain
    assign bypass = 1'b0;
    assign pop = !empty && out_ready_i;
    assign out_valid_o = !empty;
    assign out_data_o = mem_q[read_index_q];
  end

  `TMB_ASSERT_INIT(DepthIsPositive, Depth >= 1)
  `TMB_ASSERT_INIT(OneOutputStyle, !(FallThrough && OutputRegister))
  `TMB_ASSERT(CountInRange, count_q <= count_t'(Depth))
  `TMB_ASSERT(EmptyFollowsCount, empty_q == (count_q == '0))

endmodule
