// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Types of the scheduler: the host's settings of a slot, and messages between schedulers.

// An importer uses a part of a package.
// verilator lint_off UNUSEDPARAM
package tmb_schedule_pkg;

  import tmb_pkg::burst_len_t;

  // Priority levels; the higher goes first.
  localparam int unsigned NumLevels = 4;
  localparam int unsigned LevelWidth = $clog2(NumLevels);
  typedef logic [LevelWidth-1:0] level_t;

  typedef logic [3:0] weight_t;  // 0 counts as 1
  typedef logic [7:0] floor_t;   // in 1/256
  typedef logic [23:0] limit_t;  // in rows a 2^16 cycles; 0: none

  // No slot gets less than this, so that every request ends.
  localparam floor_t LeastFloor = 8'd1;

  // The host's settings of a slot.
  typedef struct packed {
    level_t  level;
    weight_t weight;  // share among slots of its level
    floor_t  floor;   // share of what all slots get that it gets whatever their levels
    limit_t  limit;   // of its reads, and of its writes
  } schedule_t;

  localparam schedule_t DefaultSchedule =
      '{level: level_t'(1), weight: weight_t'(1), floor: LeastFloor, limit: '0};

  // The bound of what lower levels have outstanding (tmb_schedule).
  typedef struct packed {
    int unsigned LowRows;     // rows
    int unsigned RecentLog2;  // log2 of the cycles for which the bound stays
  } bound_cfg_t;

  // For a memory channel: about as many rows as keep it busy.
  localparam bound_cfg_t DefaultBoundCfg = '{LowRows: 42, RecentLog2: 12};

  // The highest level of some requests, if there are any.
  typedef struct packed {
    logic   valid;
    level_t level;
  } waiting_t;

  // From the scheduler of one direction to that of the other.
  typedef struct packed {
    waiting_t   waiting;  // here
    logic       taken;    // a burst of a slot was granted
    burst_len_t len;      // its rows - 1
  } peer_t;

endpackage
// verilator lint_on UNUSEDPARAM
