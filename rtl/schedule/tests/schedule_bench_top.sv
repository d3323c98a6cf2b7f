// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Two schedulers that know of one another, as for the reads and the writes of a memory channel, each
// with its arbiter; a rate limit; and the settings of four command queues. Vectors are packed, element 0 in
// the low bits.

module schedule_bench_top import tmb_pkg::*; import tmb_schedule_pkg::*; #(
  parameter int unsigned NumSlots = 3,
  parameter int unsigned RequestsPerSlot = 2,
  localparam int unsigned NumRequests = NumSlots * RequestsPerSlot + 1
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic                            managed_i,
  input  logic [NumSlots-1:0][1:0]        level_i,
  input  logic [NumSlots-1:0][3:0]        weight_i,
  input  logic [NumSlots-1:0][7:0]        floor_i,
  input  logic [1:0][NumRequests-1:0]     request_i,
  input  logic [1:0][NumRequests-1:0][5:0] len_i,
  input  logic [1:0]                      accept_i,
  input  logic [1:0]                      low_done_i,
  input  logic [1:0]                      under_way_i,
  input  logic [1:0][1:0]                 under_way_level_i,
  output logic [1:0][NumRequests-1:0]     candidate_o,
  output logic [1:0][NumRequests-1:0]     grant_o,
  output logic [1:0]                      low_o,
  output logic [1:0][1:0]                 level_o,
  // rate limit
  input  logic [23:0] limit_i,
  input  logic [1:0]  limit_valid_i,
  output logic [1:0]  limit_ready_o,
  output logic [1:0]  limit_valid_o,
  input  logic [1:0]  limit_ready_i,
  input  logic [1:0][5:0] limit_len_i,
  // queues 1 to 3
  input  logic [NumSlots-1:0]      run_i,
  input  logic [NumSlots-1:0][3:0] asid_i,
  output logic [2:0][1:0]          queue_level_o,
  output logic [2:0][3:0]          queue_weight_o,
  output logic [2:0][7:0]          queue_floor_o
);

  schedule_t schedule [NumSlots];
  peer_t peer [2];

  for (genvar s = 0; s < NumSlots; s++) begin : gen_slot
    assign schedule[s] =
        '{level: level_i[s], weight: weight_i[s], floor: floor_i[s], limit: '0};
  end

  for (genvar d = 0; d < 2; d++) begin : gen_direction
    logic [$clog2(NumRequests)-1:0] index;
    logic any;

    tmb_schedule #(
      .NumRequests(NumRequests),
      .NumSlots(NumSlots),
      .RequestsPerSlot(RequestsPerSlot),
      .Bound('{LowRows: DefaultBoundCfg.LowRows, RecentLog2: 7})
    ) u_schedule (
      .clk_i,
      .rst_ni,
      .managed_i,
      .schedule_i(schedule),
      .request_i(request_i[d]),
      .candidate_o(candidate_o[d]),
      .accept_i(accept_i[d] && any),
      .grant_i(grant_o[d]),
      .len_i(len_i[d][index]),
      .low_o(low_o[d]),
      .low_done_i(low_done_i[d]),
      .level_o(level_o[d]),
      .under_way_i('{valid: under_way_i[d], level: under_way_level_i[d]}),
      .peer_o(peer[d]),
      .peer_i(peer[1-d])
    );

    tmb_arbiter #(
      .NumRequests(NumRequests),
      .Cfg('{Policy: ArbiterPreferred, Preferred: NumRequests - 1, Share: 4})
    ) u_arbiter (
      .clk_i,
      .rst_ni,
      .request_i(candidate_o[d]),
      .accept_i(accept_i[d]),
      .valid_o(any),
      .grant_o(grant_o[d]),
      .index_o(index)
    );
  end

  logic in_valid [2], in_ready [2], out_valid [2], out_ready [2];
  burst_len_t len [2];
  for (genvar r = 0; r < 2; r++) begin : gen_limit
    assign in_valid[r] = limit_valid_i[r];
    assign limit_ready_o[r] = in_ready[r];
    assign limit_valid_o[r] = out_valid[r];
    assign out_ready[r] = limit_ready_i[r];
    assign len[r] = limit_len_i[r];
  end

  tmb_schedule_limit #(
    .NumRequests(2)
  ) u_limit (
    .clk_i,
    .rst_ni,
    .limit_i,
    .in_valid_i(in_valid),
    .in_ready_o(in_ready),
    .len_i(len),
    .out_valid_o(out_valid),
    .out_ready_i(out_ready)
  );

  logic run [NumSlots];
  asid_t asid [NumSlots];
  schedule_t queue [3];
  for (genvar s = 0; s < NumSlots; s++) begin : gen_space
    assign run[s] = run_i[s];
    assign asid[s] = asid_i[s];
  end
  for (genvar q = 0; q < 3; q++) begin : gen_queue
    assign queue_level_o[q] = queue[q].level;
    assign queue_weight_o[q] = queue[q].weight;
    assign queue_floor_o[q] = queue[q].floor;
  end

  tmb_schedule_queues #(
    .NumSlots(NumSlots),
    .NumQueues(4)
  ) u_queues (
    .clk_i,
    .run_i(run),
    .asid_i(asid),
    .schedule_i(schedule),
    .schedule_o(queue)
  );

endmodule
