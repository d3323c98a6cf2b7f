// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Proof: tmb_slot_guard closes a slot the cycle after a violation, and for no other reason than a
// violation or a control access that hangs; it stays closed until the slot's reset, which opens it;
// each closing is reported once.

module proof_slot_guard #(
  parameter int unsigned NumPorts = 2
) (
  input logic                clk_i,
  input logic                live_i,
  input logic [NumPorts-1:0] violation_i,
  input logic                hung_i
);

  logic reset_q = 1'b1;
  logic rst_n, closed, report;
  always_ff @(posedge clk_i) reset_q <= 1'b0;
  assign rst_n = !reset_q;

  tmb_slot_guard #(
    .NumPorts(NumPorts)
  ) dut (
    .clk_i, .rst_ni(rst_n), .live_i, .violation_i, .hung_i, .closed_o(closed), .report_o(report)
  );

  logic known_q, closed_q, live_q, violated_q, hung_q, reported_q;

  always_ff @(posedge clk_i) begin
    known_q <= rst_n;
    closed_q <= closed;
    live_q <= live_i;
    violated_q <= violation_i != '0;
    hung_q <= hung_i;
    // A report of the present closing.
    reported_q <= rst_n && closed && (reported_q || report);
  end

  always_comb begin
    if (rst_n && known_q) begin
      assert (!(live_q && violated_q) || closed);
      assert (!(live_q && closed_q) || closed);
      assert (!closed || (live_q && (closed_q || violated_q || hung_q)));
      assert (report == (closed && !closed_q));
      assert (!(report && reported_q));
    end
  end

endmodule
