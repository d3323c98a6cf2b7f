// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The 64 rounds of SHA-256 (FIPS 180-4, section 6.2.2), one stage each, without the addition at the end.
//
// A stage adds h, the round's constant and its message word for the next stage, which so has one addition less
// on its path. The message schedule moves along: a stage holds the sixteen words from its round's on.
//
// Throughput: a block a cycle. Latency: 65 cycles in which advance_i is high. Ordering: as they come. All stages
// move together; nothing waits, so nothing can deadlock.

module sha256_rounds import sha256_pkg::*; (
  input  logic         clk_i,
  input  logic         rst_ni,

  // The stages move. High in every cycle that has a block, and until its result is out.
  input  logic         advance_i,
  // A block, byte 0 in bits 7:0, and the chaining value before it, word 0 in the low bits.
  input  logic         block_valid_i,
  input  logic [511:0] block_i,
  input  logic [255:0] state_i,

  // To be added to the chaining value.
  output logic         result_valid_o,
  output logic [255:0] result_o
);

  localparam int unsigned Rounds = 64;

  function automatic word_t swap(word_t word);
    return {word[7:0], word[15:8], word[23:16], word[31:24]};
  endfunction

  // Stage r holds the state before round r, with h and what is added to it in one word, and the message words r
  // to r + 15. Arrays over the stages, so that a simulator does the same for many stages at once.
  word_t a_d [Rounds+1], b_d [Rounds+1], c_d [Rounds+1], d_d [Rounds+1];
  word_t a_q [Rounds+1], b_q [Rounds+1], c_q [Rounds+1], d_q [Rounds+1];
  word_t e_d [Rounds+1], f_d [Rounds+1], g_d [Rounds+1], h_k_w_d [Rounds+1];
  word_t e_q [Rounds+1], f_q [Rounds+1], g_q [Rounds+1], h_k_w_q [Rounds+1];
  word_t words_d [16][Rounds+1];
  word_t words_q [16][Rounds+1];
  logic [Rounds:0] valid_q;

  always_comb begin
    a_d[0] = state_i[31:0];
    b_d[0] = state_i[63:32];
    c_d[0] = state_i[95:64];
    d_d[0] = state_i[127:96];
    e_d[0] = state_i[159:128];
    f_d[0] = state_i[191:160];
    g_d[0] = state_i[223:192];
    h_k_w_d[0] = state_i[255:224] + RoundConstant[0] + swap(block_i[31:0]);
    /* verilator unroll_disable */
    for (int unsigned r = 0; r < Rounds; r++) begin
      a_d[r+1] = h_k_w_q[r] + sum1(e_q[r]) + choose(e_q[r], f_q[r], g_q[r]) +
                 sum0(a_q[r]) + majority(a_q[r], b_q[r], c_q[r]);
      b_d[r+1] = a_q[r];
      c_d[r+1] = b_q[r];
      d_d[r+1] = c_q[r];
      e_d[r+1] = d_q[r] + h_k_w_q[r] + sum1(e_q[r]) + choose(e_q[r], f_q[r], g_q[r]);
      f_d[r+1] = e_q[r];
      g_d[r+1] = f_q[r];
      // After the last round h stands alone.
      h_k_w_d[r+1] = g_q[r] + (r == Rounds - 1 ? '0 : RoundConstant[6'(r+1)] + words_q[1][r]);
    end
  end

  always_comb begin
    for (int unsigned i = 0; i < 16; i++) words_d[i][0] = swap(block_i[32*i+:32]);
    for (int unsigned i = 0; i < 15; i++) begin
      /* verilator unroll_disable */
      for (int unsigned r = 0; r < Rounds; r++) words_d[i][r+1] = words_q[i+1][r];
    end
    /* verilator unroll_disable */
    for (int unsigned r = 0; r < Rounds; r++) begin
      words_d[15][r+1] = schedule1(words_q[14][r]) + words_q[9][r] + schedule0(words_q[1][r]) +
                         words_q[0][r];
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= '0;
    else if (advance_i) valid_q <= {valid_q[Rounds-1:0], block_valid_i};
  end
  always_ff @(posedge clk_i) begin
    if (advance_i) begin
      a_q <= a_d;
      b_q <= b_d;
      c_q <= c_d;
      d_q <= d_d;
      e_q <= e_d;
      f_q <= f_d;
      g_q <= g_d;
      h_k_w_q <= h_k_w_d;
      words_q <= words_d;
    end
  end

  assign result_valid_o = valid_q[Rounds];
  assign result_o = {h_k_w_q[Rounds], g_q[Rounds], f_q[Rounds], e_q[Rounds],
                     d_q[Rounds], c_q[Rounds], b_q[Rounds], a_q[Rounds]};

endmodule
