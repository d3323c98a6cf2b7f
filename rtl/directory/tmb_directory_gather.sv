// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Gathers what many units offer into one stream: groups of eight into a register, then the groups.
//
// Throughput: one word a cycle. Latency: one cycle. Fair: round robin in a group, round robin among
// groups. Back-pressure: a register that is not taken keeps its group waiting.
// No deadlock: a word at the output depends on nothing but out_ready_i.

module tmb_directory_gather #(
  parameter type T = logic,
  parameter int unsigned NumInputs = 32
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic [NumInputs-1:0] in_valid_i,
  output logic [NumInputs-1:0] in_ready_o,
  input  T                     in_data_i [NumInputs],
  output logic                 out_valid_o,
  input  logic                 out_ready_i,
  output T                     out_data_o
);

  localparam int unsigned GroupSize = NumInputs < 8 ? NumInputs : 8;
  localparam int unsigned NumGroups = (NumInputs + GroupSize - 1) / GroupSize;
  localparam int unsigned MemberWidth = GroupSize > 1 ? $clog2(GroupSize) : 1;
  localparam int unsigned GroupWidth = NumGroups > 1 ? $clog2(NumGroups) : 1;

  logic [NumGroups-1:0] group_valid_q, group_ready;
  T group_q [NumGroups];

  for (genvar g = 0; g < NumGroups; g++) begin : gen_group
    localparam int unsigned First = g * GroupSize;
    localparam int unsigned Members =
        (NumInputs - First) < GroupSize ? NumInputs - First : GroupSize;

    logic [GroupSize-1:0] request, grant;
    logic [MemberWidth-1:0] index;
    logic valid, take;
    assign request = GroupSize'(in_valid_i[First+:Members]);
    assign take = valid && (!group_valid_q[g] || group_ready[g]);
    assign in_ready_o[First+:Members] = take ? grant[Members-1:0] : '0;

    tmb_round_robin_arbiter #(
      .NumRequests(GroupSize)
    ) u_member_arbiter (
      .clk_i,
      .rst_ni,
      .request_i(request),
      .accept_i(take),
      .valid_o(valid),
      .grant_o(grant),
      .index_o(index)
    );

    T members [GroupSize];
    for (genvar m = 0; m < GroupSize; m++) begin : gen_member
      if (m < Members) begin : gen_used
        assign members[m] = in_data_i[First+m];
      end else begin : gen_unused
        assign members[m] = '0;
      end
    end

    always_ff @(posedge clk_i) begin
      if (!rst_ni) group_valid_q[g] <= 1'b0;
      else if (!group_valid_q[g] || group_ready[g]) group_valid_q[g] <= valid;
    end
    always_ff @(posedge clk_i) begin
      if (take) group_q[g] <= members[index];
    end
  end

  logic [NumGroups-1:0] group_grant;
  logic [GroupWidth-1:0] group_index;
  tmb_round_robin_arbiter #(
    .NumRequests(NumGroups)
  ) u_group_arbiter (
    .clk_i,
    .rst_ni,
    .request_i(group_valid_q),
    .accept_i(out_ready_i),
    .valid_o(out_valid_o),
    .grant_o(group_grant),
    .index_o(group_index)
  );
  assign group_ready = out_ready_i ? group_grant : '0;
  assign out_data_o = group_q[group_index];

endmodule
