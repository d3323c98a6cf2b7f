// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Skid buffer: a register for valid and data, and one for ready.
//
// Cuts every combinational path between its two sides, which is what makes the slot boundary
// registered. It costs two copies of the data.
//
// Throughput: one word a cycle. Latency: one cycle. Ordering: first in, first out.
// Back-pressure: ready_o falls one cycle after the output stalls; the word that arrives meanwhile
// waits in the second copy. While in reset ready_o is low.
// No deadlock: each side depends on the other only through valid and ready, and ready_o never waits
// for valid_i.

`include "tmb_assert.svh"

module tmb_spill_register #(
  parameter type T = logic
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic in_valid_i,
  output logic in_ready_o,
  input  T     in_data_i,
  output logic out_valid_o,
  input  logic out_ready_i,
  output T     out_data_o
);

  // The output copy, and the spare one that is filled only while the output stalls.
  logic out_valid_q, spare_valid_q;
  T out_q, spare_q;
  logic ready_q;

  logic take, advance, spill;
  assign take = in_valid_i && ready_q;
  assign advance = !out_valid_q || out_ready_i;
  assign spill = take && !advance;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      out_valid_q <= 1'b0;
      spare_valid_q <= 1'b0;
      ready_q <= 1'b0;
    end else begin
      if (advance) begin
        out_valid_q <= spare_valid_q || take;
        spare_valid_q <= 1'b0;
      end else if (spill) begin
        spare_valid_q <= 1'b1;
      end
      ready_q <= advance || !(spare_valid_q || spill);
    end
  end

  always_ff @(posedge clk_i) begin
    if (advance && spare_valid_q) out_q <= spare_q;
    else if (advance && take) out_q <= in_data_i;
    if (spill) spare_q <= in_data_i;
  end

  assign in_ready_o = ready_q;
  assign out_valid_o = out_valid_q;
  assign out_data_o = out_q;

  `TMB_ASSERT(NoLoss, !(take && spare_valid_q))
  `TMB_ASSERT_STABLE(OutputHeld, out_valid_o, out_ready_i, out_data_o)

endmodule
