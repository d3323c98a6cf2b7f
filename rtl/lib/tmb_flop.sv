// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// A register. It is a module where it would be the only state among logic that joins others: a simulation
// clocks it, and with it all that logic, only when it changes (docs/blocks/simulator.md).
//
// Latency: one cycle.

module tmb_flop #(
  parameter type T = logic
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  T     d_i,
  output T     q_o  // '0 after reset
);

  T value_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) value_q <= '0;
    else value_q <= d_i;
  end

  assign q_o = value_q;

endmodule
