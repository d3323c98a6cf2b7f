// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The one interface of arbitration policies: requests in, one choice out, accept_i when it was taken.
// Every shared resource instantiates this and knows nothing of the policy.
//
// Cfg.Policy  ArbiterPreferred   requester Preferred first, at most Share times in a row while others
//                                wait; the others round robin (FSRF: PCIe first; the bound is ours)
//             ArbiterWeighted    round robin, with Share turns a round for Preferred and one for each
//                                of the others
//             ArbiterRoundRobin  round robin; Preferred and Share have no meaning
//
// Under any of them a request waits for a bounded number of others' grants: NumRequests - 1 (round
// robin), 2 x (NumRequests - 2 + Share) (weighted), (Share + 1) x (NumRequests - 1) (preferred, for
// the others).
//
// Throughput: one choice a cycle. Latency: combinational from request_i. No deadlock: a choice needs
// nothing but its request.
//
// Source: FSRF section 5.3.

`include "tmb_assert.svh"

module tmb_arbiter import tmb_pkg::*; #(
  parameter int unsigned NumRequests = 2,
  parameter arbiter_cfg_t Cfg = DefaultArbiterCfg,
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

  if (Cfg.Policy == ArbiterPreferred) begin : gen_preferred
    tmb_arbiter_dma_first #(
      .NumRequests(NumRequests),
      .Preferred(Cfg.Preferred),
      .MaxStreak(Cfg.Share)
    ) u_policy (
      .clk_i,
      .rst_ni,
      .request_i,
      .accept_i,
      .valid_o,
      .grant_o,
      .index_o
    );
  end else if (Cfg.Policy == ArbiterWeighted) begin : gen_weighted
    // One each, and Cfg.Share for the preferred one.
    localparam logic [NumRequests-1:0][3:0] Weights =
        {NumRequests{4'd1}} + ((4 * NumRequests)'(Cfg.Share - 1) << (4 * Cfg.Preferred));

    tmb_weighted_arbiter #(
      .NumRequests(NumRequests),
      .Weights(Weights)
    ) u_policy (
      .clk_i,
      .rst_ni,
      .request_i,
      .accept_i,
      .valid_o,
      .grant_o,
      .index_o
    );
  end else begin : gen_round_robin
    tmb_round_robin_arbiter #(
      .NumRequests(NumRequests)
    ) u_policy (
      .clk_i,
      .rst_ni,
      .request_i,
      .accept_i,
      .valid_o,
      .grant_o,
      .index_o
    );
  end

  `TMB_ASSERT_INIT(PreferredExists, Cfg.Preferred < NumRequests)
  `TMB_ASSERT_INIT(ShareIsPossible, Cfg.Share >= 1 && Cfg.Share <= 15)

endmodule
