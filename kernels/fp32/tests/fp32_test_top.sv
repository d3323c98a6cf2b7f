// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Test top: lanes of both operations, so that a test applies many pairs per cycle.

module fp32_test_top #(
  parameter int unsigned Lanes = 16
) (
  input  logic                   clk_i,
  input  logic [Lanes-1:0][31:0] a_i,
  input  logic [Lanes-1:0][31:0] b_i,
  output logic [Lanes-1:0][31:0] products_o,
  output logic [Lanes-1:0][31:0] sums_o
);

  for (genvar lane = 0; lane < Lanes; lane++) begin : g_lane
    fp32_multiply u_multiply (
      .clk_i,
      .a_i(a_i[lane]),
      .b_i(b_i[lane]),
      .result_o(products_o[lane])
    );

    fp32_add u_add (
      .clk_i,
      .a_i(a_i[lane]),
      .b_i(b_i[lane]),
      .result_o(sums_o[lane])
    );
  end

endmodule
