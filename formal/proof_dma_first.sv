// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Proof: tmb_arbiter_dma_first grants one of those that ask, the DMA engine whenever it may, and
// lets no requester wait for more than MaxStreak + 1 acceptances for each of the others.

module proof_dma_first #(
  parameter int unsigned NumRequests = 4,
  parameter int unsigned Preferred = 1,
  parameter int unsigned MaxStreak = 2,
  localparam int unsigned IndexWidth = NumRequests > 1 ? $clog2(NumRequests) : 1
) (
  input logic                   clk_i,
  input logic [NumRequests-1:0] request_i,
  input logic                   accept_i,
  input logic [IndexWidth-1:0]  chosen_i  // whose wait is watched: anyone's but the engine's
);

  // Before the chosen one: each other but the engine once, and a full streak before each of them and
  // before the chosen one.
  localparam int unsigned Bound = (NumRequests - 2) + MaxStreak * (NumRequests - 1);
  typedef logic [$clog2(Bound+2)-1:0] wait_t;
  typedef logic [$clog2(MaxStreak+2)-1:0] streak_t;

  logic reset_q = 1'b1;
  logic rst_n, valid;
  logic [NumRequests-1:0] grant, others;
  logic [IndexWidth-1:0] index;
  always_ff @(posedge clk_i) reset_q <= 1'b0;
  assign rst_n = !reset_q;
  assign others = request_i & ~(NumRequests'(1) << Preferred);

  tmb_arbiter_dma_first #(
    .NumRequests(NumRequests), .Preferred(Preferred), .MaxStreak(MaxStreak)
  ) dut (
    .clk_i, .rst_ni(rst_n), .request_i, .accept_i, .valid_o(valid), .grant_o(grant),
    .index_o(index)
  );

  wait_t waited_q;
  streak_t streak_q;
  logic [IndexWidth-1:0] chosen_q;
  logic started_q;

  always_ff @(posedge clk_i) begin
    chosen_q <= chosen_i;
    if (!rst_n) begin
      waited_q <= '0;
      streak_q <= '0;
      started_q <= 1'b0;
    end else begin
      started_q <= 1'b1;
      if (!request_i[chosen_i] || (accept_i && grant[chosen_i])) waited_q <= '0;
      else if (accept_i) waited_q <= waited_q + wait_t'(1);
      if (accept_i && valid) streak_q <= (grant[Preferred] && others != '0) ? streak_q + 1'b1 : '0;
    end
  end

  always_comb begin
    assume (32'(chosen_i) < NumRequests && 32'(chosen_i) != Preferred);
    assume (!started_q || chosen_i == chosen_q);
    if (rst_n) begin
      assert (valid == (request_i != '0));
      assert ((grant & (grant - 1'b1)) == '0);
      assert ((grant & ~request_i) == '0);
      assert ((grant != '0) == valid);
      assert (!valid || grant[index]);
      // First, but bounded.
      assert (streak_q <= streak_t'(MaxStreak));
      assert (!request_i[Preferred] || grant[Preferred]
          || (others != '0 && streak_q == streak_t'(MaxStreak)));
      assert (waited_q <= wait_t'(Bound));
    end
  end

endmodule
