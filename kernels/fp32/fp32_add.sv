// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Sum of two float32 numbers, as IEEE 754 rounds it (to nearest, ties to even), but without subnormal numbers: one of
// them counts as 0 as an operand, and becomes 0 as a result, with its sign. NaN is 0x7fc00000.
//
// Throughput: a sum a cycle. Latency: four cycles, so four sums can take turns in one adder, each a term in four cycles.
// Back-pressure: none; the pipeline always moves.

module fp32_add (
  input  logic        clk_i,
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
  output logic [31:0] result_o
);

  typedef struct packed {
    logic sign;              // of the greater operand
    logic subtract;
    logic nan;
    logic infinite;
    logic [7:0] exponent;    // of the greater operand
  } sum_t;

  // -- The operand of greater magnitude --------------------------------------------------------------

  logic a_greater, subtract;
  logic [31:0] greater, lesser;
  logic [23:0] greater_q, lesser_q, greater_aligned_q;
  logic [7:0] distance_q;
  sum_t operands_q, aligned_q, sum_about_q;

  assign a_greater = a_i[30:0] >= b_i[30:0];
  assign greater = a_greater ? a_i : b_i;
  assign lesser = a_greater ? b_i : a_i;
  assign subtract = a_i[31] ^ b_i[31];

  always_ff @(posedge clk_i) begin
    greater_q <= greater[30:23] == '0 ? '0 : {1'b1, greater[22:0]};
    lesser_q <= lesser[30:23] == '0 ? '0 : {1'b1, lesser[22:0]};
    distance_q <= greater[30:23] - lesser[30:23];
    operands_q <= '{
        sign: greater[31],
        subtract: subtract,
        nan: greater[30:23] == '1 && (greater[22:0] != '0 || (lesser[30:23] == '1 && subtract)),
        infinite: greater[30:23] == '1,
        exponent: greater[30:23]
    };
  end

  // -- Alignment: behind the mantissa guard, round and sticky bits ----------------------------------

  logic [26:0] shifted;
  logic [26:0] lesser_aligned_q;
  logic lost;

  assign shifted = {lesser_q, 3'b0} >> distance_q[4:0];
  // Bits that leave to the right.
  assign lost = ({lesser_q, 3'b0} & ~(27'h7ff_ffff << distance_q[4:0])) != '0;

  always_ff @(posedge clk_i) begin
    greater_aligned_q <= greater_q;
    if (distance_q > 8'd26) lesser_aligned_q <= 27'(lesser_q != '0);
    else lesser_aligned_q <= {shifted[26:1], shifted[0] || lost};
    aligned_q <= operands_q;
  end

  // -- Sum ------------------------------------------------------------------------------------------

  logic [27:0] sum_q;

  always_ff @(posedge clk_i) begin
    if (aligned_q.subtract) sum_q <= {1'b0, greater_aligned_q, 3'b0} - {1'b0, lesser_aligned_q};
    else sum_q <= {1'b0, greater_aligned_q, 3'b0} + {1'b0, lesser_aligned_q};
    sum_about_q <= aligned_q;
  end

  // -- Rounding, for a shift of at most one; a longer one to the left is exact -----------------------

  logic guard, sticky, up;
  logic [23:0] mantissa;
  logic [9:0] exponent, exponent_rounded;
  logic [22:0] fraction;

  always_comb begin
    if (sum_q[27]) begin
      {mantissa, guard} = sum_q[27:3];
      sticky = sum_q[2:0] != '0;
      exponent = 10'(sum_about_q.exponent) + 10'd1;
    end else if (sum_q[26]) begin
      {mantissa, guard} = sum_q[26:2];
      sticky = sum_q[1:0] != '0;
      exponent = 10'(sum_about_q.exponent);
    end else begin
      {mantissa, guard} = sum_q[25:1];
      sticky = sum_q[0];
      exponent = 10'(sum_about_q.exponent) - 10'd1;
    end
  end
  assign up = guard && (sticky || mantissa[0]);
  // A carry out of the fraction raises the exponent.
  assign {exponent_rounded, fraction} = {exponent, mantissa[22:0]} + 33'(up);

  // Leading zeros, of sum_q[25:0].
  logic [4:0] zeros;
  logic [25:0] exact;
  logic [9:0] exponent_exact;

  always_comb begin
    zeros = '0;
    for (int unsigned i = 0; i < 26; i++) if (sum_q[i]) zeros = 5'(25 - i);
  end
  assign exact = sum_q[25:0] << zeros;
  assign exponent_exact = 10'(sum_about_q.exponent) - 10'(zeros) - 10'd1;

  // -- Result ---------------------------------------------------------------------------------------

  logic rounds, none, negative;

  assign rounds = sum_q[27:25] != '0;
  // Of two zeros the sum is negative if both are; a difference of 0 is positive.
  assign none = sum_q == '0;
  assign negative = sum_about_q.sign && !(none && sum_about_q.subtract);

  always_ff @(posedge clk_i) begin
    if (sum_about_q.nan) result_o <= 32'h7fc0_0000;
    else if (sum_about_q.infinite) result_o <= {negative, 8'hff, 23'd0};
    else if (none) result_o <= {negative, 31'd0};
    else if (rounds && exponent_rounded >= 10'd255) result_o <= {negative, 8'hff, 23'd0};
    else if (rounds) result_o <= exponent == '0 ? {negative, 31'd0} : {negative, exponent_rounded[7:0], fraction};
    // Not above 0: a subnormal number.
    else if (exponent_exact[9] || exponent_exact == '0) result_o <= {negative, 31'd0};
    else result_o <= {negative, exponent_exact[7:0], exact[24:2]};
  end

  // The first bit of an exact sum is 1, the last ones are 0.
  logic unused_ok;
  assign unused_ok = &{1'b0, lesser[31], exact[25], exact[1:0], mantissa[23]};

endmodule
