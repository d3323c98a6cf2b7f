// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// An offer that was not taken stays, unchanged, and there is none in reset (IHI 0022, A3.1.2 and
// A3.2). For simulation only.
//
// Ours   the sender is part of the shell or of the simulator, not a kernel
//
// Costs next to nothing while offers are taken at once: the payload is copied, and compared, only
// while it waits.

`include "tmb_bus_rule.svh"

module tmb_offer_assert #(
  parameter bit Ours = 1'b1,
  parameter int unsigned Width = 1
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             suspended_i,  // nothing can be said
  input  logic             valid_i,
  input  logic             ready_i,
  input  logic [Width-1:0] payload_i,
  output logic             broken_o  // by a kernel, since the reset
);

  logic waits_q, reported_q, in_reset_q;
  logic [Width-1:0] held_q;

  always_ff @(posedge clk_i) begin
    in_reset_q <= !rst_ni;
    if (!rst_ni) begin
      waits_q <= 1'b0;
      reported_q <= 1'b0;
      // A kernel's own reset may take its time.
      `TMB_BUS_RULE(1'b1, !(Ours && in_reset_q && valid_i), "VALID is high in reset")
    end else begin
      `TMB_BUS_RULE(Ours, !$isunknown({valid_i, ready_i}), "VALID or READY is unknown")
      waits_q <= valid_i && !ready_i && !suspended_i;
      if (valid_i && !ready_i) held_q <= payload_i;
      if (waits_q && !suspended_i) begin
        `TMB_BUS_RULE(Ours, valid_i, "VALID fell before READY took the offer")
        else `TMB_BUS_RULE(Ours, payload_i == held_q, "an offer changed before READY took it")
      end
    end
  end

  assign broken_o = reported_q;

endmodule
