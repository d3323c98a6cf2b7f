// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The address network of one direction, as tmb_virtual_memory has it: a park for each engine, address
// lanes with an L1 TLB each that neighbours share, and in the walker's place an answer to every miss:
// one page, whose frames are its blocks' numbers. The first lookups of a lane miss, and none after them.
//
// NumEngines, NumLanes   a power of two each
// IsWrite                the direction
//
// Throughput: a translation a cycle and lane.

module lanes_bench_network import tmb_pkg::*; import tmb_translate_pkg::*; #(
  parameter int unsigned NumEngines = 32,
  parameter int unsigned NumLanes = 1,
  parameter bit IsWrite = 1'b0
) (
  input  logic clk_i,
  input  logic rst_ni,

  input  logic       burst_valid_i [NumEngines],
  output logic       burst_ready_o [NumEngines],
  input  burst_t     burst_i [NumEngines],
  output logic       departure_valid_o [NumEngines],
  input  logic       departure_ready_i [NumEngines],
  output departure_t departure_o [NumEngines],

  output logic wrong_o  // a burst became a fault
);

  localparam int unsigned PerLane = NumEngines / NumLanes;

  // FlexiMem's: eight entries, fully associative; its pages cover all that the engines use.
  localparam l1_cfgs_t L1 = '{0: '{PageBits: 30, SetsLog2: 0, Ways: 8}, default: NoL1};

  logic lookup_valid [NumEngines];
  logic lookup_ready [NumEngines];
  lookup_t lookup [NumEngines];
  logic result_valid [NumEngines];
  result_t result [NumEngines];
  logic [NumEngines-1:0] faults;

  for (genvar e = 0; e < NumEngines; e++) begin : gen_park
    fault_t unused_fault;
    logic unused_reply_ready, unused_reply_busy, unused_idle;
    port_events_t unused_events;

    tmb_park #(
      .Requester(2 * e + 32'(IsWrite)),
      .Cfg('{Depth: 16, LookAhead: 0, HostChannel: 1'b0})
    ) u_park (
      .clk_i,
      .rst_ni,
      .port_reset_i(1'b0),
      .asid_i('0),
      .page_class_i(size_class_t'(MaxSizeClass)),
      .burst_valid_i(burst_valid_i[e]),
      .burst_ready_o(burst_ready_o[e]),
      .burst_i(burst_i[e]),
      .departure_valid_o(departure_valid_o[e]),
      .departure_ready_i(departure_ready_i[e]),
      .departure_o(departure_o[e]),
      .lookup_valid_o(lookup_valid[e]),
      .lookup_ready_i(lookup_ready[e]),
      .lookup_o(lookup[e]),
      .result_valid_i(result_valid[e]),
      .result_i(result[e]),
      .flash_valid_i(1'b0),
      .flash_asid_i('0),
      .fault_valid_o(faults[e]),
      .fault_ready_i(1'b1),
      .fault_o(unused_fault),
      .reply_valid_i(1'b0),
      .reply_ready_o(unused_reply_ready),
      .reply_i('0),
      .reply_busy_o(unused_reply_busy),
      .idle_o(unused_idle),
      .events_o(unused_events)
    );
  end

  for (genvar l = 0; l < NumLanes; l++) begin : gen_lane
    logic lane_result_valid [PerLane];
    result_t lane_result;
    logic miss_valid [1];
    logic miss_ready [1];
    logic walk_ready, unused_kill_busy, unused_reply_busy;
    miss_t miss [1];
    assign miss_ready[0] = walk_ready;
    walk_result_t walk;
    logic [1:0] unused_walks;

    for (genvar s = 0; s < PerLane; s++) begin : gen_engine
      assign result_valid[l*PerLane+s] = lane_result_valid[s];
      assign result[l*PerLane+s] = lane_result;
    end

    assign walk = '{
        token: miss[0].token,
        asid: miss[0].asid,
        block: miss[0].block,
        epoch: miss[0].epoch,
        outcome: OutcomeReady,
        cause: FaultAbsent,
        frame: frame_t'(miss[0].block),
        size_class: size_class_t'(MaxSizeClass),
        page_read: 1'b1,
        page_write: 1'b1,
        page_dirty: 1'b1
    };

    // The lane counts its requesters from nought: the parks' own numbers differ by direction.
    tmb_translate_lane #(
      .First(0),
      .Cfg(single_slot_lane(PerLane, L1))
    ) u_lane (
      .clk_i,
      .rst_ni,
      .lookup_valid_i(lookup_valid[l*PerLane+:PerLane]),
      .lookup_ready_o(lookup_ready[l*PerLane+:PerLane]),
      .lookup_i(lookup[l*PerLane+:PerLane]),
      .result_valid_o(lane_result_valid),
      .result_o(lane_result),
      .managed_i(1'b0),
      .level_i('{default: '0}),
      .miss_valid_o(miss_valid),
      .miss_ready_i(miss_ready),
      .miss_o(miss),
      .walk_valid_i(miss_valid[0]),
      .walk_ready_o(walk_ready),
      .walk_i(walk),
      .space_enable_i('1),
      .l1_off_i('0),
      .walker_off_i('0),
      .space_waits_i('0),
      .skip_valid_i(1'b0),
      .skip_asid_i('0),
      .hold_valid_i(1'b0),
      .hold_i('0),
      .kill_valid_i(1'b0),
      .kill_i('0),
      .kill_busy_o(unused_kill_busy),
      .reply_busy_o(unused_reply_busy),
      .epoch_i(1'b0),
      .walks_o(unused_walks)
    );

    logic unused_ok;
    assign unused_ok = &{1'b0, miss[0].write};
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) wrong_o <= 1'b0;
    else if (faults != '0) wrong_o <= 1'b1;
  end

endmodule
