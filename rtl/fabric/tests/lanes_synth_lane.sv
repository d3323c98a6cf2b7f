// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// One address lane with FlexiMem's TLB, eight entries and fully associative, to see what it costs by the
// number of its requesters (tools/synthesis). One slot without levels, so the ports are those of
// tmb_translate_lane with one entry for its only slot.

module lanes_synth_lane import tmb_pkg::*; import tmb_translate_pkg::*; #(
  parameter int unsigned NumRequesters = 32
) (
  input  logic    clk_i,
  input  logic    rst_ni,
  input  logic    lookup_valid_i [NumRequesters],
  output logic    lookup_ready_o [NumRequesters],
  input  lookup_t lookup_i [NumRequesters],
  output logic    result_valid_o [NumRequesters],
  output result_t result_o,
  output logic         miss_valid_o [1],
  input  logic         miss_ready_i [1],
  output miss_t        miss_o [1],
  input  logic         walk_valid_i,
  output logic         walk_ready_o,
  input  walk_result_t walk_i,
  input  logic [2**AsidWidth-1:0] space_enable_i,
  input  logic [2**AsidWidth-1:0] l1_off_i,
  input  logic [2**AsidWidth-1:0] walker_off_i,
  input  logic [2**AsidWidth-1:0] space_waits_i,
  input  logic  skip_valid_i,
  input  asid_t skip_asid_i,
  input  logic       hold_valid_i,
  input  region_t    hold_i,
  input  logic       kill_valid_i,
  input  region_t    kill_i,
  output logic       kill_busy_o,
  output logic       reply_busy_o,
  input  logic       epoch_i,
  output logic [1:0] walks_o
);

  localparam l1_cfgs_t L1 = '{0: '{PageBits: 21, SetsLog2: 0, Ways: 8}, default: NoL1};

  tmb_translate_lane #(
    .Cfg(single_slot_lane(NumRequesters, L1))
  ) u_lane (
    .managed_i(1'b0),
    .level_i('{default: '0}),
    .*
  );

endmodule
