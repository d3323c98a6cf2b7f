// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The rate limit of one direction (reads or writes) of one slot: its requests pass only so often that
// their rows keep to the limit.
//
// NumRequests   requesters of the slot
//
// An account gets limit_i / 2^16 rows a cycle, up to a burst, and gives what passes; while it is
// empty nothing new passes. So in n cycles at most n x limit_i / 2^16 rows pass, and a burst from before,
// and a burst of each requester of which the request was offered already: an offer is never
// withdrawn.
//
// Throughput: one request a cycle and requester. Latency: none while the account holds something.
// Ordering: each requester's requests stay in order. No deadlock: an account fills at its rate; without
// a limit it is not asked.
//
// Source: ours.

`include "tmb_assert.svh"

module tmb_schedule_limit import tmb_pkg::*; import tmb_schedule_pkg::*; #(
  parameter int unsigned NumRequests = 2
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  limit_t     limit_i,                // rows in 2^16 cycles; 0: none
  input  logic       in_valid_i [NumRequests],
  output logic       in_ready_o [NumRequests],
  input  burst_len_t len_i [NumRequests],    // rows - 1
  output logic       out_valid_o [NumRequests],
  input  logic       out_ready_i [NumRequests]
);

  localparam int unsigned FractionBits = 16;
  // A debt is at most a burst of each requester.
  localparam int unsigned AccountWidth =
      $clog2(MaxBurstRows * (NumRequests + 1) + 2 ** ($bits(limit_t) - FractionBits))
      + FractionBits + 2;
  typedef logic signed [AccountWidth-1:0] account_t;
  localparam int unsigned FullLog2 = $clog2(MaxBurstRows) + FractionBits;
  localparam account_t Full = account_t'(1) <<< FullLog2;

  logic [NumRequests-1:0] offered_q, passes;
  logic open_q, positive;
  account_t account_q, account_d;

  for (genvar r = 0; r < NumRequests; r++) begin : gen_request
    assign out_valid_o[r] = in_valid_i[r] && (open_q || offered_q[r]);
    assign in_ready_o[r] = out_ready_i[r] && (open_q || offered_q[r]);
    assign passes[r] = out_valid_o[r] && out_ready_i[r];
    always_ff @(posedge clk_i) begin
      if (!rst_ni) offered_q[r] <= 1'b0;
      else offered_q[r] <= out_valid_o[r] && !out_ready_i[r];
    end
  end

  always_comb begin
    account_d = account_q + account_t'(limit_i);
    for (int unsigned r = 0; r < NumRequests; r++) begin
      if (passes[r]) begin
        account_d = account_d - ((account_t'(len_i[r]) + account_t'(1)) <<< FractionBits);
      end
    end
    positive = !account_d[AccountWidth-1] && account_d != '0;
    if (!account_d[AccountWidth-1] && account_d[AccountWidth-2:FullLog2] != '0) account_d = Full;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || limit_i == '0) begin
      account_q <= Full;
      open_q <= 1'b1;
    end else begin
      account_q <= account_d;
      open_q <= positive;
    end
  end

  `TMB_ASSERT_INIT(BurstIsPowerOfTwo, MaxBurstRows == (1 << $clog2(MaxBurstRows)))
  `TMB_ASSERT(DebtIsBounded,
      account_q >= -(account_t'(MaxBurstRows * (NumRequests + 1)) <<< FractionBits))

endmodule
