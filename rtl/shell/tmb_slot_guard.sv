// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The guard of one slot: closes it when one of its ports breaks a rule, or when the kernel leaves a
// control access unanswered.
//
// NumPorts   ports of the slot
//
// In a closed slot, the ports take no further access to memory: what has not left ends with SLVERR,
// and so does everything new, while what has left drains. The kernel runs on and its control
// interface answers (unless that is what hung), so that the host can look at it. Only the slot's
// reset opens it again. report_o pulses once, for the host.
//
// Latency: one cycle. No deadlock: waits for nothing.

module tmb_slot_guard #(
  parameter int unsigned NumPorts = 1
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic live_i,                    // the slot is out of reset
  input  logic [NumPorts-1:0] violation_i,
  input  logic hung_i,
  output logic closed_o,
  output logic report_o
);

  logic closed_q, report_q, hung_q, closes;

  assign closes = live_i && !closed_q && (violation_i != '0 || (hung_i && !hung_q));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      closed_q <= 1'b0;
      report_q <= 1'b0;
      hung_q <= 1'b0;
    end else begin
      closed_q <= live_i && (closed_q || closes);
      report_q <= closes;
      hung_q <= hung_i;
    end
  end

  assign closed_o = closed_q;
  assign report_o = report_q;

endmodule
