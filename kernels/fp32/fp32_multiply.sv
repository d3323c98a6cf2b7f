// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Product of two float32 numbers, as IEEE 754 rounds it (to nearest, ties to even), but without subnormal numbers: one
// of them counts as 0 as an operand, and becomes 0 as a result, with its sign. A result is flushed after rounding, so
// what rounds up to 2^-126 stays. NaN is 0x7fc00000.
//
// Throughput: a product a cycle. Latency: three cycles. Back-pressure: none; the pipeline always moves.

module fp32_multiply (
  input  logic        clk_i,
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
  output logic [31:0] result_o
);

  typedef struct packed {
    logic sign;
    logic nan;
    logic infinite;
    logic zero;
    logic [8:0] exponents;   // sum of both, biased twice
  } product_t;

  // -- Operands, product ----------------------------------------------------------------------------

  logic a_zero, b_zero, a_infinite, b_infinite, a_nan, b_nan;
  logic [23:0] a_q, b_q;
  logic [47:0] product_q;
  product_t operands_q, about_q;

  assign a_zero = a_i[30:23] == '0;
  assign b_zero = b_i[30:23] == '0;
  assign a_infinite = a_i[30:23] == '1 && a_i[22:0] == '0;
  assign b_infinite = b_i[30:23] == '1 && b_i[22:0] == '0;
  assign a_nan = a_i[30:23] == '1 && a_i[22:0] != '0;
  assign b_nan = b_i[30:23] == '1 && b_i[22:0] != '0;

  always_ff @(posedge clk_i) begin
    a_q <= {1'b1, a_i[22:0]};
    b_q <= {1'b1, b_i[22:0]};
    operands_q <= '{
        sign: a_i[31] ^ b_i[31],
        nan: a_nan || b_nan || (a_infinite && b_zero) || (b_infinite && a_zero),
        infinite: a_infinite || b_infinite,
        zero: a_zero || b_zero,
        exponents: 9'(a_i[30:23]) + 9'(b_i[30:23])
    };
    product_q <= a_q * b_q;
    about_q <= operands_q;
  end

  // -- Rounding -------------------------------------------------------------------------------------

  logic high, guard, sticky, up;
  logic [23:0] mantissa;
  logic signed [10:0] exponent;
  logic signed [10:0] exponent_rounded;
  logic [22:0] fraction;

  // The product of two numbers in [1, 2) is in [1, 4).
  assign high = product_q[47];
  assign mantissa = high ? product_q[47:24] : product_q[46:23];
  assign guard = high ? product_q[23] : product_q[22];
  assign sticky = high ? product_q[22:0] != '0 : product_q[21:0] != '0;
  assign exponent = $signed({2'b0, about_q.exponents}) - 11'sd127 + $signed({10'b0, high});
  // Below 2^-126 IEEE rounds at a coarser place: what has all ones there rounds up to it.
  assign up = (guard && (sticky || mantissa[0])) || (exponent == '0 && mantissa == '1);
  // A carry out of the fraction raises the exponent.
  assign {exponent_rounded, fraction} = {exponent, mantissa[22:0]} + 34'(up);

  always_ff @(posedge clk_i) begin
    if (about_q.nan) result_o <= 32'h7fc0_0000;
    else if (about_q.infinite || (!about_q.zero && exponent_rounded >= 11'sd255)) result_o <= {about_q.sign, 8'hff, 23'd0};
    else if (about_q.zero || exponent_rounded <= 0) result_o <= {about_q.sign, 31'd0};
    else result_o <= {about_q.sign, exponent_rounded[7:0], fraction};
  end

endmodule
