// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Weighted round-robin choice among requests.
//
// A round gives each requester as many grants as its weight, in turns; a requester that
// has none left waits while one that has some asks. Then a new round begins. So under load the
// requesters' shares are as their weights, and a request waits for at most what the others have in two
// rounds: the rest of the one in which it has had its turns, and the next.
//
// Weights   grants of each requester in a round, 1 to 15
//
// Throughput: one choice a cycle. Latency: combinational from request_i. A choice that is not
// accepted stays while its request stays up, unless a request that goes before it comes up. State
// changes only on an accepted choice. No deadlock: a choice needs nothing but its request.

`include "tmb_assert.svh"

module tmb_weighted_arbiter #(
  parameter int unsigned NumRequests = 2,
  parameter logic [NumRequests-1:0][3:0] Weights = {NumRequests{4'd1}},
  localparam int unsigned IndexWidth = NumRequests > 1 ? $clog2(NumRequests) : 1
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic [NumRequests-1:0] request_i,
  input  logic                   accept_i,  // the choice of this cycle is taken
  output logic                   valid_o,   // something is requested
  output logic [NumRequests-1:0] grant_o,   // the choice, one hot
  output logic [IndexWidth-1:0]  index_o    // the choice, as a number
);

  // Grants left in this round, and whether there are any (kept, so that the choice needs no compare).
  logic [NumRequests-1:0][3:0] left_q, left_d;
  logic [NumRequests-1:0] has_q, candidates;
  logic new_round;

  assign new_round = (request_i & has_q) == '0;
  assign candidates = new_round ? request_i : request_i & has_q;

  tmb_round_robin_arbiter #(
    .NumRequests(NumRequests)
  ) u_turns (
    .clk_i,
    .rst_ni,
    .request_i(candidates),
    .accept_i,
    .valid_o,
    .grant_o,
    .index_o
  );

  always_comb begin
    for (int unsigned r = 0; r < NumRequests; r++) begin
      left_d[r] = (new_round ? Weights[r] : left_q[r]) - 4'(grant_o[r]);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      left_q <= Weights;
      has_q <= '1;
    end else if (accept_i && valid_o) begin
      left_q <= left_d;
      for (int unsigned r = 0; r < NumRequests; r++) has_q[r] <= left_d[r] != '0;
    end
  end

  for (genvar r = 0; r < NumRequests; r++) begin : gen_check
    `TMB_ASSERT_INIT(WeightIsPositive, Weights[r] != '0)
    `TMB_ASSERT(FlagFollowsCount, has_q[r] == (left_q[r] != '0))
  end

endmodule
