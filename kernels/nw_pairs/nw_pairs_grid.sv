// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The dynamic programming matrix of nw_pairs: the score of the global alignment of two sequences of 64 letters, of 2 bits
// each. Equal letters score 1, different ones -1, a letter against a gap -1.
//
// A pipeline stage is an anti-diagonal of the matrix, one cell per row. A cell has no score but the differences to its
// left and upper neighbours, plus 1, which are 0 to 3 and so have two bits each: with s = 3 for equal letters and 1 for
// different ones, z = max(s, across, down), across' = z - down and down' = z - across. The score is the sum along the
// last row. Bit i of a word belongs to row i.
//
// Throughput: a pair a cycle. Latency: 128 cycles in which advance_i is high. Ordering: as they come. All stages move
// together; nothing waits, so nothing can deadlock.
// Source: the differences, Suzuki, Kasahara, BMC Bioinformatics 19 (2018), 45; Needleman, Wunsch, J. Mol. Biol. 48 (1970).

module nw_pairs_grid (
  input  logic         clk_i,
  input  logic         rst_ni,

  // The stages move. High in every cycle that has a pair, and until its score is out.
  input  logic         advance_i,
  input  logic         pair_valid_i,
  // Letter k is in bits 2k+1:2k.
  input  logic [127:0] query_i,
  input  logic [127:0] target_i,

  output logic         score_valid_o,
  output logic [7:0]   score_o  // signed
);

  localparam int unsigned Letters = 64;
  localparam int unsigned Diagonals = 2 * Letters - 1;

  typedef logic [Letters-1:0] word_t;

  // Stage d holds what diagonal d needs. Arrays over the stages, so that a simulator does the same for many at once.
  word_t query0_d [Diagonals], query1_d [Diagonals], query0_q [Diagonals], query1_q [Diagonals];
  // Last letter first, so that a diagonal sees consecutive bits.
  word_t target0_d [Diagonals], target1_d [Diagonals], target0_q [Diagonals], target1_q [Diagonals];
  // Differences to the left neighbour, of the row above, and to the upper one.
  word_t across0_d [Diagonals+1], across1_d [Diagonals+1], across0_q [Diagonals+1], across1_q [Diagonals+1];
  word_t down0_d [Diagonals+1], down1_d [Diagonals+1], down0_q [Diagonals+1], down1_q [Diagonals+1];
  logic [7:0] sum_d [Diagonals+1];
  logic [7:0] sum_q [Diagonals+1];
  logic [Diagonals:0] valid_q;

  always_comb begin
    for (int unsigned k = 0; k < Letters; k++) begin
      query0_d[0][k] = query_i[2*k];
      query1_d[0][k] = query_i[2*k+1];
      target0_d[0][Letters-1-k] = target_i[2*k];
      target1_d[0][Letters-1-k] = target_i[2*k+1];
    end
    /* verilator unroll_disable */
    for (int unsigned d = 0; d < Diagonals - 1; d++) begin
      query0_d[d+1] = query0_q[d];
      query1_d[d+1] = query1_q[d];
      target0_d[d+1] = target0_q[d];
      target1_d[d+1] = target1_q[d];
    end
  end

  // The letters of the target on diagonal d: row i has letter d - i.
  function automatic word_t on_diagonal(word_t target, int unsigned d);
    return d < Letters ? target >> (Letters - 1 - d) : target << (d - (Letters - 1));
  endfunction

  always_comb begin
    across0_d[0] = '0;
    across1_d[0] = '0;
    down0_d[0] = '0;
    down1_d[0] = '0;
    sum_d[0] = '0;
    /* verilator unroll_disable */
    for (int unsigned d = 0; d < Diagonals; d++) begin
      word_t equal, z0, z1, rows;
      equal = ~((query0_q[d] ^ on_diagonal(target0_q[d], d)) | (query1_q[d] ^ on_diagonal(target1_q[d], d)));
      z1 = equal | across1_q[d] | down1_q[d];
      z0 = equal | (across1_q[d] & across0_q[d]) | (down1_q[d] & down0_q[d]) | ~(across1_q[d] | down1_q[d]);
      across0_d[d+1] = (z0 ^ down0_q[d]) << 1;
      across1_d[d+1] = (z1 ^ down1_q[d] ^ (~z0 & down0_q[d])) << 1;
      // Rows that the diagonal has not reached are left of the matrix.
      rows = d < Letters ? ~(~word_t'(1) << d) : '1;
      down0_d[d+1] = (z0 ^ across0_q[d]) & rows;
      down1_d[d+1] = (z1 ^ across1_q[d] ^ (~z0 & across0_q[d])) & rows;
      sum_d[d+1] = sum_q[d];
      if (d >= Letters - 1) begin
        sum_d[d+1] = sum_q[d] + 8'({
          z1[Letters-1] ^ down1_q[d][Letters-1] ^ (~z0[Letters-1] & down0_q[d][Letters-1]),
          z0[Letters-1] ^ down0_q[d][Letters-1]
        });
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= '0;
    else if (advance_i) valid_q <= {valid_q[Diagonals-1:0], pair_valid_i};
  end
  always_ff @(posedge clk_i) begin
    if (advance_i) begin
      query0_q <= query0_d;
      query1_q <= query1_d;
      target0_q <= target0_d;
      target1_q <= target1_d;
      across0_q <= across0_d;
      across1_q <= across1_d;
      down0_q <= down0_d;
      down1_q <= down1_d;
      sum_q <= sum_d;
    end
  end

  // The first column goes down by 64 gaps, and each of the 64 differences is 1 too large.
  assign score_valid_o = valid_q[Diagonals];
  assign score_o = sum_q[Diagonals] - 8'd128;

endmodule
