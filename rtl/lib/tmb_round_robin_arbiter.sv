// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Round-robin choice among requests.
//
// The search starts behind the request that was accepted last, so that a request waits for at most
// one acceptance of each other. A choice that is not accepted stays: as long as its request stays
// up, index_o does not move (an offer made from it is stable).
//
// Throughput: one choice a cycle. Latency: combinational from request_i; state changes only when
// something is requested. No deadlock: a choice needs nothing but its request.

`include "tmb_assert.svh"

module tmb_round_robin_arbiter #(
  parameter int unsigned NumRequests = 2,
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

  assign valid_o = |request_i;

  if (NumRequests == 1) begin : gen_single
    assign grant_o = request_i;
    assign index_o = '0;

    logic unused_ok;
    assign unused_ok = &{1'b0, clk_i, rst_ni, accept_i};
  end else begin : gen_round_robin
    // Requests at or above the start of the search. When there is none, the search wraps round: both
    // searches run side by side, so that the choice is few levels deep.
    logic [NumRequests-1:0] mask_q, mask_d, above, first_above, first_of_all;
    assign above = request_i & mask_q;
    always_comb begin
      for (int unsigned i = 0; i < NumRequests; i++) begin
        first_above[i] = above[i] && (above & ((NumRequests'(1) << i) - NumRequests'(1))) == '0;
        first_of_all[i] =
            request_i[i] && (request_i & ((NumRequests'(1) << i) - NumRequests'(1))) == '0;
      end
    end
    assign grant_o = (above != '0) ? first_above : first_of_all;
    always_comb begin
      index_o = '0;
      for (int unsigned i = 0; i < NumRequests; i++) begin
        if (grant_o[i]) index_o |= IndexWidth'(i);
      end
    end

    // The bits from the choice upwards.
    logic [NumRequests-1:0] from_choice;
    always_comb begin
      for (int unsigned i = 0; i < NumRequests; i++) begin
        from_choice[i] = (grant_o & (NumRequests'(2) << i) - NumRequests'(1)) != '0;
      end
    end
    assign mask_d = accept_i ? (from_choice & ~grant_o) : from_choice;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) mask_q <= '1;
      else if (valid_o) mask_q <= mask_d;
    end
  end

  `TMB_ASSERT(OneHot, $onehot0(grant_o))
  `TMB_ASSERT(OnlyRequested, (grant_o & ~request_i) == '0)

endmodule
