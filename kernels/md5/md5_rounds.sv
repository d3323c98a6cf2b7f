// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The 64 steps of MD5 (RFC 1321, section 3.4), one stage each, without the addition at the end.
//
// A stage adds a, the step's constant and its message word for the next stage, which so has one addition less on
// its path. A message word moves along until its last use.
//
// Throughput: a block a cycle. Latency: 65 cycles in which advance_i is high. Ordering: as they come. All stages
// move together; nothing waits, so nothing can deadlock.

module md5_rounds (
  input  logic         clk_i,
  input  logic         rst_ni,

  // The stages move. High in every cycle that has a block, and until its result is out.
  input  logic         advance_i,
  // A block, byte 0 in bits 7:0, and the chaining value before it, word 0 in the low bits.
  input  logic         block_valid_i,
  input  logic [511:0] block_i,
  input  logic [127:0] state_i,

  // To be added to the chaining value.
  output logic         result_valid_o,
  output logic [127:0] result_o
);

  localparam int unsigned Steps = 64;

  typedef logic [31:0] word_t;

  // 2^32 times |sin(i + 1)|, without its fraction.
  localparam word_t StepConstant [64] = '{
    32'hd76aa478, 32'he8c7b756, 32'h242070db, 32'hc1bdceee, 32'hf57c0faf, 32'h4787c62a,
    32'ha8304613, 32'hfd469501, 32'h698098d8, 32'h8b44f7af, 32'hffff5bb1, 32'h895cd7be,
    32'h6b901122, 32'hfd987193, 32'ha679438e, 32'h49b40821, 32'hf61e2562, 32'hc040b340,
    32'h265e5a51, 32'he9b6c7aa, 32'hd62f105d, 32'h02441453, 32'hd8a1e681, 32'he7d3fbc8,
    32'h21e1cde6, 32'hc33707d6, 32'hf4d50d87, 32'h455a14ed, 32'ha9e3e905, 32'hfcefa3f8,
    32'h676f02d9, 32'h8d2a4c8a, 32'hfffa3942, 32'h8771f681, 32'h6d9d6122, 32'hfde5380c,
    32'ha4beea44, 32'h4bdecfa9, 32'hf6bb4b60, 32'hbebfbc70, 32'h289b7ec6, 32'heaa127fa,
    32'hd4ef3085, 32'h04881d05, 32'hd9d4d039, 32'he6db99e5, 32'h1fa27cf8, 32'hc4ac5665,
    32'hf4292244, 32'h432aff97, 32'hab9423a7, 32'hfc93a039, 32'h655b59c3, 32'h8f0ccc92,
    32'hffeff47d, 32'h85845dd1, 32'h6fa87e4f, 32'hfe2ce6e0, 32'ha3014314, 32'h4e0811a1,
    32'hf7537e82, 32'hbd3af235, 32'h2ad7d2bb, 32'heb86d391
  };

  // How far a step rotates.
  localparam int unsigned Rotation [64] = '{
    7, 12, 17, 22, 7, 12, 17, 22, 7, 12, 17, 22, 7, 12, 17, 22,
    5, 9, 14, 20, 5, 9, 14, 20, 5, 9, 14, 20, 5, 9, 14, 20,
    4, 11, 16, 23, 4, 11, 16, 23, 4, 11, 16, 23, 4, 11, 16, 23,
    6, 10, 15, 21, 6, 10, 15, 21, 6, 10, 15, 21, 6, 10, 15, 21
  };

  function automatic word_t rotate(word_t x, int unsigned n);
    return (x << n) | (x >> (32 - n));
  endfunction

  // Stage s holds the state before step s, with a and what is added to it in one word, and the message words.
  // Arrays over the stages, so that a simulator does the same for many stages at once.
  word_t b_d [Steps+1], c_d [Steps+1], d_d [Steps+1], a_t_x_d [Steps+1];
  word_t b_q [Steps+1], c_q [Steps+1], d_q [Steps+1], a_t_x_q [Steps+1];
  word_t words_d [16][Steps+1];
  word_t words_q [16][Steps+1];
  word_t mix [Steps], next_word [Steps];
  logic [Steps:0] valid_q;

  // The function of each round.
  always_comb begin
    /* verilator unroll_disable */
    for (int unsigned s = 0; s < 16; s++) mix[s] = (b_q[s] & c_q[s]) | (~b_q[s] & d_q[s]);
    /* verilator unroll_disable */
    for (int unsigned s = 16; s < 32; s++) mix[s] = (b_q[s] & d_q[s]) | (c_q[s] & ~d_q[s]);
    /* verilator unroll_disable */
    for (int unsigned s = 32; s < 48; s++) mix[s] = b_q[s] ^ c_q[s] ^ d_q[s];
    /* verilator unroll_disable */
    for (int unsigned s = 48; s < 64; s++) mix[s] = c_q[s] ^ (b_q[s] | ~d_q[s]);
  end

  // The message word of the step after step s, with its constant. After the last one a stands alone.
  always_comb begin
    /* verilator unroll_disable */
    for (int unsigned s = 0; s < 15; s++) next_word[s] = words_q[s+1][s];
    /* verilator unroll_disable */
    for (int unsigned s = 15; s < 31; s++) next_word[s] = words_q[(5*(s+1)+1)%16][s];
    /* verilator unroll_disable */
    for (int unsigned s = 31; s < 47; s++) next_word[s] = words_q[(3*(s+1)+5)%16][s];
    /* verilator unroll_disable */
    for (int unsigned s = 47; s < 63; s++) next_word[s] = words_q[(7*(s+1))%16][s];
    /* verilator unroll_disable */
    for (int unsigned s = 0; s < 63; s++) next_word[s] = next_word[s] + StepConstant[s+1];
    next_word[63] = '0;
  end

  always_comb begin
    a_t_x_d[0] = state_i[31:0] + StepConstant[0] + block_i[31:0];
    b_d[0] = state_i[63:32];
    c_d[0] = state_i[95:64];
    d_d[0] = state_i[127:96];
    /* verilator unroll_disable */
    for (int unsigned s = 0; s < Steps; s++) begin
      a_t_x_d[s+1] = d_q[s] + next_word[s];
      b_d[s+1] = b_q[s] + rotate(a_t_x_q[s] + mix[s], Rotation[s]);
      c_d[s+1] = b_q[s];
      d_d[s+1] = c_q[s];
    end
    for (int unsigned i = 0; i < 16; i++) begin
      words_d[i][0] = block_i[32*i+:32];
      /* verilator unroll_disable */
      for (int unsigned s = 0; s < Steps; s++) words_d[i][s+1] = words_q[i][s];
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= '0;
    else if (advance_i) valid_q <= {valid_q[Steps-1:0], block_valid_i};
  end
  always_ff @(posedge clk_i) begin
    if (advance_i) begin
      b_q <= b_d;
      c_q <= c_d;
      d_q <= d_d;
      a_t_x_q <= a_t_x_d;
      words_q <= words_d;
    end
  end

  assign result_valid_o = valid_q[Steps];
  assign result_o = {d_q[Steps], c_q[Steps], b_q[Steps], a_t_x_q[Steps]};

endmodule
