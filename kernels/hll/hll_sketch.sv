// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// A HyperLogLog sketch of 2^14 registers of 6 bits, fed with a 64-bit number a cycle (Flajolet et al. 2007; the
// 64-bit hash as Heule et al. 2013 have it).
//
// The number is hashed by MurmurHash3's finalizer (fmix64). The first 14 bits of the hash say which register; one
// plus the zeroes before the first one in the other 50 bits is the rank; the register keeps the highest rank.
//
// Registers lie in words of 32, which a memory reads and writes in every cycle. Each multiplication has two
// stages, so that no path holds more than a partial product or an addition.
//
// Throughput: a number a cycle. Latency: 8 cycles from a number to its word in the memory; a number behind it sees it
// at once. Reading: the word of index_i is at word_o one cycle after a cycle with read_i, and is zero in the
// memory then. Nothing waits, so nothing can deadlock.

module hll_sketch (
  input  logic         clk_i,
  input  logic         rst_ni,

  input  logic         number_valid_i,
  input  logic [63:0]  number_i,

  // Reads a word and clears it. Not within 8 cycles of a number.
  input  logic         read_i,
  input  logic [8:0]   index_i,
  // 32 registers, the first one in the low bits; stays until the next read or number.
  output logic [191:0] word_o
);

  typedef logic [191:0] word_t;

  // -- Hash: fmix64 -------------------------------------------------------------------------------

  localparam logic [63:0] Factor1 = 64'hff51afd7ed558ccd;
  localparam logic [63:0] Factor2 = 64'hc4ceb9fe1a85ec53;

  logic [63:0] mixed1, mixed2, hash;
  logic [63:0] low1_q, product1_q, low2_q, product2_q;
  logic [31:0] middle1_q, middle2_q;
  logic [6:0] valid_q;

  assign mixed1 = number_i ^ (number_i >> 33);
  assign mixed2 = product1_q ^ (product1_q >> 33);
  assign hash = product2_q ^ (product2_q >> 33);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= '0;
    else valid_q <= {valid_q[5:0], number_valid_i};
  end
  always_ff @(posedge clk_i) begin
    if (number_valid_i) begin
      low1_q <= 64'(mixed1[31:0]) * 64'(Factor1[31:0]);
      middle1_q <= mixed1[31:0] * Factor1[63:32] + mixed1[63:32] * Factor1[31:0];
    end
    if (valid_q[0]) product1_q <= low1_q + {middle1_q, 32'd0};
    if (valid_q[1]) begin
      low2_q <= 64'(mixed2[31:0]) * 64'(Factor2[31:0]);
      middle2_q <= mixed2[31:0] * Factor2[63:32] + mixed2[63:32] * Factor2[31:0];
    end
    if (valid_q[2]) product2_q <= low2_q + {middle2_q, 32'd0};
  end

  // -- Rank: leading zeroes by groups of eight bits -----------------------------------------------

  function automatic logic [5:0] rank_of(logic [49:0] rest);
    // The one behind the 50 bits ends the count at 50.
    logic [63:0] bits;
    logic [5:0] zeroes;
    logic [2:0] here;
    bits = {rest, 1'b1, 13'd0};
    zeroes = '0;
    for (int unsigned group = 0; group < 8; group++) begin
      here = '0;
      for (int unsigned i = 0; i < 8; i++) begin
        if (bits[8*group+i]) here = 3'(7 - i);
      end
      if (bits[8*group+:8] != '0) zeroes = {3'(7 - group), here};
    end
    return zeroes + 6'd1;
  endfunction

  logic [13:0] register_q;
  logic [5:0] rank_q;

  always_ff @(posedge clk_i) begin
    if (valid_q[3]) begin
      register_q <= hash[63:50];
      rank_q <= rank_of(hash[49:0]);
    end
  end

  // -- Registers: read, compare, write ------------------------------------------------------------

  word_t memory [512];
  word_t read_q, base, updated, word_q, written_q;
  logic [13:0] reading_q;
  logic [5:0] reading_rank_q;
  logic [8:0] word_index_q, written_index_q;
  logic written_valid_q;

  // The word as it is after the numbers before: those that are on their way to the memory count.
  always_comb begin
    base = read_q;
    if (valid_q[6] && word_index_q == reading_q[13:5]) base = word_q;
    else if (written_valid_q && written_index_q == reading_q[13:5]) base = written_q;
    updated = base;
    for (int unsigned i = 0; i < 32; i++) begin
      if (reading_q[4:0] == 5'(i) && base[6*i+:6] < reading_rank_q) updated[6*i+:6] = reading_rank_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) written_valid_q <= 1'b0;
    else written_valid_q <= valid_q[6];
  end
  always_ff @(posedge clk_i) begin
    if (valid_q[4]) begin
      reading_q <= register_q;
      reading_rank_q <= rank_q;
    end
    if (valid_q[4] || read_i) read_q <= memory[read_i ? index_i : register_q[13:5]];
    if (valid_q[5]) begin
      word_q <= updated;
      word_index_q <= reading_q[13:5];
    end
    if (valid_q[6]) begin
      written_q <= word_q;
      written_index_q <= word_index_q;
    end
    if (read_i || valid_q[6]) memory[read_i ? index_i : word_index_q] <= read_i ? '0 : word_q;
  end

  assign word_o = read_q;

endmodule
