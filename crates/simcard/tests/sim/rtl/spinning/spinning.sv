// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Test kernel: a counter that never rests and that nobody sees.

module spinning (
  input  logic        ap_clk,
  input  logic        ap_rst_n,
  output logic [31:0] count_o
);

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) count_o <= '0;
    else count_o <= count_o + 1'b1;
  end

endmodule
