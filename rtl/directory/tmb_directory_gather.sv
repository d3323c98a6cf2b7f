// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Gathers what many units offer into one stream: groups of eight into a spill register, then the
// groups. The spill registers keep the two choices apart: none sees the other's outcome in its cycle.
//
// Throughput: one word a cycle. Latency: one cycle. Fair: round robin in a group, round robin among
// groups. Back-pressure: a group whose two registers are full keeps its members waiting.
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
  localparam int unsigned GroupIndexWidth = NumGroups > 1 ? $clog2(NumGroups) : 1;

  logic [NumGroups-1:0] group_valid, group_ready;
  T groups [NumGroups];

  for (genvar g = 0; g < NumGroups; g++) begin : gen_group
    localparam int unsigned First = g * GroupSize;
    localparam int unsigned Members =
        (NumInputs - First) < GroupSize ? NumInputs - First : GroupSize;

    logic [GroupSize-1:0] request, grant;
    logic valid, room;
    logic [$clog2(GroupSize)-1:0] unused_index;
    assign request = GroupSize'(in_valid_i[First+:Members]);
    assign in_ready_o[First+:Members] = room ? grant[Members-1:0] : '0;

    tmb_round_robin_arbiter #(
      .NumRequests(GroupSize)
    ) u_member_arbiter (
      .clk_i,
      .rst_ni,
      .request_i(request),
      .accept_i(room),
      .valid_o(valid),
      .grant_o(grant),
      .index_o(unused_index)
    );

    T chosen;
    always_comb begin
      chosen = '0;
      for (int unsigned m = 0; m < Members; m++) begin
        chosen |= {$bits(T){grant[m]}} & in_data_i[First+m];
      end
    end

    tmb_spill_register #(
      .T(T)
    ) u_group (
      .clk_i,
      .rst_ni,
      .in_valid_i(valid),
      .in_ready_o(room),
      .in_data_i(chosen),
      .out_valid_o(group_valid[g]),
      .out_ready_i(group_ready[g]),
      .out_data_o(groups[g])
    );
  end

  logic [NumGroups-1:0] group_grant;
  logic [GroupIndexWidth-1:0] unused_group_index;
  tmb_round_robin_arbiter #(
    .NumRequests(NumGroups)
  ) u_group_arbiter (
    .clk_i,
    .rst_ni,
    .request_i(group_valid),
    .accept_i(out_ready_i),
    .valid_o(out_valid_o),
    .grant_o(group_grant),
    .index_o(unused_group_index)
  );
  assign group_ready = out_ready_i ? group_grant : '0;
  always_comb begin
    out_data_o = '0;
    for (int unsigned g = 0; g < NumGroups; g++) begin
      out_data_o |= {$bits(T){group_grant[g]}} & groups[g];
    end
  end

endmodule
