// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The scheduler of one direction with levels alone, as far as it can be without: weights, floors and limits
// are those of reset, for good, so that synthesis (tools/synthesis) leaves out what sets them. The least
// floor, the turn by weight of one and the bound of outstanding rows stay. Not for simulation.
//
// Throughput, latency, ordering, no deadlock: as tmb_schedule.

module schedule_synth_levels import tmb_pkg::*; import tmb_schedule_pkg::*; #(
  parameter int unsigned NumRequests = 4,
  parameter int unsigned NumSlots = 1
) (
  input  logic clk_i,
  input  logic rst_ni,

  input  logic                   managed_i,           // some slot differs from the others
  input  level_t                 level_i [NumSlots],  // the level of each slot
  input  logic [NumRequests-1:0] request_i,           // who asks
  output logic [NumRequests-1:0] candidate_o,         // may be chosen

  input  logic                   accept_i,            // the choice of this cycle is taken
  input  logic [NumRequests-1:0] grant_i,             // the choice, one hot
  input  burst_len_t             len_i,               // its rows - 1
  output logic                   low_o,               // its rows count against the bound
  input  logic                   low_done_i,          // such a row is not outstanding any more

  output level_t                 level_o,             // the choice's, if it is a slot's
  input  waiting_t               under_way_i,         // counts as if it waited
  output peer_t                  peer_o,              // to the other direction
  input  peer_t                  peer_i               // of the other direction
);

  schedule_t schedule [NumSlots];
  for (genvar s = 0; s < NumSlots; s++) begin : gen_schedule
    always_comb begin
      schedule[s] = DefaultSchedule;
      schedule[s].level = level_i[s];
    end
  end

  tmb_schedule #(
    .NumRequests(NumRequests),
    .NumSlots   (NumSlots)
  ) u_schedule (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .managed_i  (managed_i),
    .schedule_i (schedule),
    .request_i  (request_i),
    .candidate_o(candidate_o),
    .accept_i   (accept_i),
    .grant_i    (grant_i),
    .len_i      (len_i),
    .low_o      (low_o),
    .low_done_i (low_done_i),
    .level_o    (level_o),
    .under_way_i(under_way_i),
    .peer_o     (peer_o),
    .peer_i     (peer_i)
  );

endmodule
