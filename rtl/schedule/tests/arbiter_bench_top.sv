// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// tmb_arbiter under each of its policies, side by side on the same requests.

module arbiter_bench_top import tmb_pkg::*; #(
  parameter int unsigned NumRequests = 5
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic [NumRequests-1:0] request_i,
  input  logic                   accept_i,
  output logic                   valid_o [3],
  output logic [NumRequests-1:0] grant_o [3],
  output logic [2:0]             index_o [3]
);

  for (genvar p = 0; p < 3; p++) begin : gen_policy
    tmb_arbiter #(
      .NumRequests(NumRequests),
      .Cfg('{Policy: arbiter_policy_e'(p), Preferred: NumRequests - 1, Share: 4})
    ) u_arbiter (
      .clk_i,
      .rst_ni,
      .request_i,
      .accept_i,
      .valid_o(valid_o[p]),
      .grant_o(grant_o[p]),
      .index_o(index_o[p])
    );
  end

endmodule
