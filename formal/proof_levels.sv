// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Proof: behind tmb_schedule_levels no request that has waited a cycle is passed by a lower level, except by
// turns, which are MaxStreak choices apart; and a request that waits is chosen after a bounded number of choices.

module proof_levels import tmb_schedule_pkg::*; #(
  parameter int unsigned NumSlots = 3,
  parameter int unsigned MaxStreak = 2,
  localparam int unsigned IndexWidth = $clog2(NumSlots)
) (
  input logic                  clk_i,
  input logic [NumSlots-1:0]   request_i,
  input logic                  accept_i,
  input logic [IndexWidth-1:0] chosen_i,             // whose wait is watched: anyone's
  input level_t                level_i [NumSlots]    // any, but they stay
);

  localparam int unsigned Bound = 2 * (MaxStreak + 2) * NumSlots;
  localparam int unsigned CountWidth = $clog2(Bound + 2);

  logic reset_q = 1'b1;
  logic rst_n, valid;
  logic [NumSlots-1:0] pass, grant, taken;
  logic [IndexWidth-1:0] unused_index;
  always_ff @(posedge clk_i) reset_q <= 1'b0;
  assign rst_n = !reset_q;
  assign taken = accept_i ? grant : '0;

  tmb_schedule_levels #(.NumSlots(NumSlots), .MaxStreak(MaxStreak)) dut (
    .clk_i, .rst_ni(rst_n), .managed_i(1'b1), .level_i, .waits_i(request_i & ~taken), .taken_i(taken),
    .pass_o(pass)
  );
  tmb_round_robin_arbiter #(.NumRequests(NumSlots)) arbiter (
    .clk_i, .rst_ni(rst_n), .request_i(request_i & pass), .accept_i, .valid_o(valid), .grant_o(grant),
    .index_o(unused_index)
  );

  // Waiting time of the chosen one.
  logic [CountWidth-1:0] passed_q;   // choices of others
  logic [CountWidth-1:0] since_q;    // choices since a lower level passed by
  logic waited_q, started_q, idle_q, lower, old_q;
  logic [NumSlots-1:0] request_q;
  level_t level_q [NumSlots];
  logic [IndexWidth-1:0] chosen_q;

  always_comb begin
    lower = 1'b0;
    for (int unsigned s = 0; s < NumSlots; s++) begin
      if (taken[s] && level_i[s] < level_i[chosen_i]) lower = 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    chosen_q <= chosen_i;
    level_q <= level_i;
    if (!rst_n) begin
      request_q <= '0;
      started_q <= 1'b0;
      idle_q <= 1'b0;
      waited_q <= 1'b0;
      old_q <= 1'b0;
      passed_q <= '0;
      since_q <= '0;
    end else begin
      started_q <= 1'b1;
      idle_q <= request_i != '0 && !valid;
      request_q <= request_i & ~taken;
      waited_q <= request_i[chosen_i] && !taken[chosen_i];
      if (!request_i[chosen_i] || taken[chosen_i]) begin
        passed_q <= '0;
        old_q <= 1'b0;
        since_q <= '0;
      end else if (taken != '0) begin
        passed_q <= passed_q + 1'b1;
        if (waited_q && lower) begin
          old_q <= 1'b1;
          since_q <= '0;
        end else if (32'(since_q) < MaxStreak) begin
          since_q <= since_q + 1'b1;
        end
      end
    end
  end

  always_comb begin
    assume (32'(chosen_i) < NumSlots);
    assume (!started_q || chosen_i == chosen_q);
    for (int unsigned s = 0; s < NumSlots; s++) assume (!started_q || level_i[s] == level_q[s]);
    if (rst_n) begin
      // Who asks goes on until it is chosen.
      assume ((request_q & ~request_i) == '0);
      assume (valid || !accept_i);
      // One may always go, but for a cycle: the one with a turn was chosen in that cycle.
      assert (valid || request_i == '0 || !idle_q);
      assert (32'(passed_q) <= Bound);
      // A lower level that passed it once passes it again MaxStreak choices later at the earliest.
      assert (!(waited_q && lower && old_q) || 32'(since_q) >= MaxStreak);
    end
  end

endmodule
