// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// A sum of products of dnn_float, in float32 (kernels/fp32): bias_i + a_i * b_i + ..., each operation rounded, in this
// order. Four sums take turns: a term of each sum every four cycles.
//
// Throughput: a term a cycle. Latency: three cycles to the product, when first_i and bias_i are sampled; seven to the sum.

module dnn_float_sum (
  input  logic        clk_i,
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
  // Of the term of three cycles ago: the first one of its sum.
  input  logic        first_i,
  input  logic [31:0] bias_i,
  output logic [31:0] sum_o
);

  logic [31:0] product;

  fp32_multiply u_multiply (
    .clk_i,
    .a_i,
    .b_i,
    .result_o(product)
  );

  fp32_add u_add (
    .clk_i,
    .a_i(first_i ? bias_i : sum_o),
    .b_i(product),
    .result_o(sum_o)
  );

endmodule
