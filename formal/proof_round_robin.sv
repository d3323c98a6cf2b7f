// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Proof: tmb_round_robin_arbiter grants one of those that ask, sticks to an offer that is not taken,
// and lets no requester wait for more than one acceptance of each other.

module proof_round_robin #(
  parameter int unsigned NumRequests = 4,
  localparam int unsigned IndexWidth = NumRequests > 1 ? $clog2(NumRequests) : 1
) (
  input logic                   clk_i,
  input logic [NumRequests-1:0] request_i,
  input logic                   accept_i,
  input logic [IndexWidth-1:0]  chosen_i  // whose wait is watched: anyone's
);

  logic reset_q = 1'b1;
  logic rst_n, valid;
  logic [NumRequests-1:0] grant;
  logic [IndexWidth-1:0] index;
  always_ff @(posedge clk_i) reset_q <= 1'b0;
  assign rst_n = !reset_q;

  tmb_round_robin_arbiter #(.NumRequests(NumRequests)) dut (
    .clk_i, .rst_ni(rst_n), .request_i, .accept_i, .valid_o(valid), .grant_o(grant),
    .index_o(index)
  );

  // The other requests that have been accepted while the chosen one waits.
  logic [NumRequests-1:0] served_q, last_grant_q;
  logic [IndexWidth-1:0] chosen_q;
  logic open_q, started_q;

  always_ff @(posedge clk_i) begin
    chosen_q <= chosen_i;
    last_grant_q <= grant;
    if (!rst_n) begin
      served_q <= '0;
      open_q <= 1'b0;
      started_q <= 1'b0;
    end else begin
      started_q <= 1'b1;
      open_q <= valid && !accept_i;
      if (!request_i[chosen_i] || (accept_i && grant[chosen_i])) served_q <= '0;
      else if (accept_i) served_q <= served_q | grant;
    end
  end

  always_comb begin
    assume (32'(chosen_i) < NumRequests);
    assume (!started_q || chosen_i == chosen_q);
    if (rst_n) begin
      assert (valid == (request_i != '0));
      assert ((grant & (grant - 1'b1)) == '0);
      assert ((grant & ~request_i) == '0);
      assert ((grant != '0) == valid);
      assert (!valid || grant[index]);
      // The choice that was not taken stays while it asks.
      assert (!(open_q && (last_grant_q & request_i) != '0) || grant == last_grant_q);
      // No requester is served a second time before the one that waits.
      assert (!(request_i[chosen_i] && accept_i) || (served_q & grant) == '0);
    end
  end

endmodule
