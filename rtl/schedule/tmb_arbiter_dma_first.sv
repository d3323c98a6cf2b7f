// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Arbitration policy of a memory channel: the DMA engine first, but bounded; the others round robin.
//
// The preferred request wins whenever it is up, except that after MaxStreak wins in a row during
// which another request waited, one other wins. So PCIe, the scarcest resource of the card, is
// served at once, and a tenant whose faults keep the DMA engine busy cannot starve the rest: they
// keep at least 1 in MaxStreak + 1 of the requests.
//
// This module is a policy and nothing else: requests in, one choice out, accept_i when the choice
// was taken. A scheduler with the same ports can take its place.
//
// Throughput: one choice a cycle. Latency: combinational from request_i. State changes only when
// something is requested. No deadlock: a choice needs nothing but its request.
//
// Source: FSRF section 5.3 (PCIe first, the others by a rotating list); the bound is ours.

`include "tmb_assert.svh"

module tmb_arbiter_dma_first #(
  parameter int unsigned NumRequests = 2,
  parameter int unsigned Preferred = 0,  // index of the DMA engine's request
  parameter int unsigned MaxStreak = 4,
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

  localparam int unsigned StreakWidth = $clog2(MaxStreak + 1);
  localparam logic [NumRequests-1:0] PreferredMask = NumRequests'(1) << Preferred;

  logic [NumRequests-1:0] others, other_grant;
  logic [IndexWidth-1:0] other_index;
  logic other_valid, choose_preferred;
  logic [StreakWidth-1:0] streak_q;

  assign others = request_i & ~PreferredMask;
  assign choose_preferred =
      request_i[Preferred] && !(other_valid && streak_q == StreakWidth'(MaxStreak));

  tmb_round_robin_arbiter #(
    .NumRequests(NumRequests)
  ) u_others (
    .clk_i,
    .rst_ni,
    .request_i(others),
    .accept_i(accept_i && !choose_preferred),
    .valid_o(other_valid),
    .grant_o(other_grant),
    .index_o(other_index)
  );

  assign valid_o = |request_i;
  assign grant_o = choose_preferred ? PreferredMask : other_grant;
  assign index_o = choose_preferred ? IndexWidth'(Preferred) : other_index;

  // Wins of the preferred request, in a row, while another waited.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) streak_q <= '0;
    else if (accept_i && valid_o) begin
      if (choose_preferred && other_valid) streak_q <= StreakWidth'(streak_q + 1'b1);
      else streak_q <= '0;
    end
  end

  `TMB_ASSERT_INIT(PreferredExists, Preferred < NumRequests)
  `TMB_ASSERT_INIT(StreakIsPositive, MaxStreak >= 1)
  `TMB_ASSERT(OneHot, $onehot0(grant_o))
  `TMB_ASSERT(OnlyRequested, (grant_o & ~request_i) == '0)

endmodule
