// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The paged translator: lanes with L1 TLBs, one walker, one table engine, and the
// invalidation between them. One of the two things that fit the translator socket (the other is
// tmb_translate_identity); the socket is this module's ports.
//
// Throughput: one translation a cycle and lane on L1 hits; one walk a cycle. Latency: 3 cycles on a
// hit. Ordering: a requester's results come in any order. Back-pressure: lookups wait; results never.
// No deadlock: see the parts. The chain is lane -> walker -> table engine -> memory, and no part
// waits for one before it.

`include "tmb_assert.svh"

module tmb_translate_paged
  import tmb_pkg::*;
  import tmb_translate_pkg::*;
  import tmb_schedule_pkg::*;
#(
  parameter translator_cfg_t Cfg = DefaultTranslatorCfg,
  localparam int unsigned NumRequesters = Cfg.NumRequesters,
  localparam int unsigned NumPorts = Cfg.NumPorts,
  localparam int unsigned NumSlots = Cfg.NumSlots
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  space_cfg_t space_cfg_i [Cfg.NumSpaces],
  // levels of slots
  input  logic       managed_i,
  input  level_t     level_i [NumSlots],
  // parks
  input  logic    lookup_valid_i [NumRequesters],
  output logic    lookup_ready_o [NumRequesters],
  input  lookup_t lookup_i [NumRequesters],
  output logic    result_valid_o [NumRequesters],
  output result_t result_o [NumRequesters],
  output logic    flash_valid_o,
  output asid_t   flash_asid_o,
  input  logic    reply_busy_i [NumRequesters],
  output logic    reply_stall_o,  // replies of the host wait outside
  // ports
  output logic       epoch_o,
  input  logic [1:0] bursts_i [NumPorts],
  // table commands
  input  logic       table_cmd_valid_i,
  output logic       table_cmd_ready_o,
  input  table_cmd_t table_cmd_i,
  output logic       table_rsp_valid_o,
  input  logic       table_rsp_ready_i,
  output table_rsp_t table_rsp_o,
  output table_switch_t table_switch_o,
  output logic          walk_read_o,
  // fabric: 0 the walker's reads, 1 the table engine's
  output logic            read_req_valid_o [2],
  input  logic            read_req_ready_i [2],
  output mem_req_t        read_req_o [2],
  input  logic            read_rsp_valid_i [2],
  output logic            read_rsp_ready_o [2],
  input  mem_read_rsp_t   read_rsp_i [2],
  output logic            write_req_valid_o,
  input  logic            write_req_ready_i,
  output mem_req_t        write_req_o,
  output logic            write_data_valid_o,
  input  logic            write_data_ready_i,
  output mem_write_data_t write_data_o,
  input  logic            write_rsp_valid_i,
  output logic            write_rsp_ready_o,
  input  mem_write_rsp_t  write_rsp_i
);

  localparam int unsigned RequestersPerLane = NumRequesters / Cfg.NumLanes;
  localparam int unsigned RequestersPerSlot = NumRequesters / NumSlots;

  // The most slots that a lane has requesters of; it has a queue of misses for each.
  function automatic int unsigned slots_per_lane();
    int unsigned most, first, last;
    most = 1;
    for (int unsigned l = 0; l < Cfg.NumLanes; l++) begin
      first = l * RequestersPerLane / RequestersPerSlot;
      last = ((l + 1) * RequestersPerLane - 1) / RequestersPerSlot;
      if (last - first + 1 > most) most = last - first + 1;
    end
    return most;
  endfunction
  localparam int unsigned LaneSlots = slots_per_lane();
  localparam int unsigned NumMisses = Cfg.NumLanes * LaneSlots;

  localparam lane_cfg_t LaneCfg = '{
      NumRequesters: RequestersPerLane,
      RequestersPerSlot: RequestersPerSlot,
      NumSlots: LaneSlots,
      MaxWalks: Cfg.MaxWalks,
      L1: Cfg.L1,
      Segments: Cfg.Segments
  };
  localparam walker_cfg_t WalkerCfg = '{
      NumLanes: Cfg.NumLanes,
      RequestersPerLane: RequestersPerLane,
      NumMisses: NumMisses,
      MaxWalks: Cfg.MaxWalks,
      HostChannel: Cfg.HostChannel
  };

  // Every ASID that can be said; those beyond Cfg.NumSpaces are not enabled.
  space_cfg_t space [2**AsidWidth];
  logic [2**AsidWidth-1:0] space_enable, space_flushing, l1_off, walker_off;
  for (genvar a = 0; a < 2**AsidWidth; a++) begin : gen_space
    if (a < Cfg.NumSpaces) begin : gen_configured
      assign space[a] = space_cfg_i[a];
      assign l1_off[a] = space_cfg_i[a].l1_off;
      assign walker_off[a] = space_cfg_i[a].walker_off || (Cfg.MaxWalks == 0);
    end else begin : gen_absent
      assign space[a] = '0;
      assign l1_off[a] = 1'b0;
      assign walker_off[a] = 1'b0;
    end
    assign space_enable[a] = space[a].enable;
  end

  // ---------------------------------------------------------------------------------------------
  // Lanes
  // ---------------------------------------------------------------------------------------------

  logic miss_valid [NumMisses];
  logic miss_ready [NumMisses];
  miss_t miss [NumMisses];
  level_t miss_level [NumMisses];
  logic walk_valid [Cfg.NumLanes];
  logic walk_ready [Cfg.NumLanes];
  walk_result_t walk;

  // A space whose table grows waits. Its lookups are skipped rather than made retries over and over,
  // except while an invalidation runs, which waits for replies behind them.
  logic growing_valid, invalidate_busy;
  asid_t growing_asid;
  logic [2**AsidWidth-1:0] space_growing;
  assign space_growing = (2**AsidWidth)'(growing_valid) << growing_asid;

  logic hold_valid, kill_valid, epoch;
  region_t region, kill_region;
  block_t kill_block;
  logic [Cfg.NumLanes-1:0] kill_busy, lane_reply_busy, walks_even, walks_odd;
  assign kill_region = '{asid: region.asid, block: kill_block, mask: region.mask};

  for (genvar l = 0; l < Cfg.NumLanes; l++) begin : gen_lane
    logic lane_lookup_valid [RequestersPerLane];
    logic lane_lookup_ready [RequestersPerLane];
    lookup_t lane_lookup [RequestersPerLane];
    logic lane_result_valid [RequestersPerLane];
    result_t lane_result;
    logic lane_miss_valid [LaneSlots];
    logic lane_miss_ready [LaneSlots];
    miss_t lane_miss [LaneSlots];
    level_t lane_level [LaneSlots];

    for (genvar q = 0; q < LaneSlots; q++) begin : gen_slot
      localparam int unsigned Slot = l * RequestersPerLane / RequestersPerSlot + q;
      assign lane_level[q] = Slot < NumSlots ? level_i[Slot < NumSlots ? Slot : 0] : '0;
      assign miss_level[l*LaneSlots+q] = lane_level[q];
      assign miss_valid[l*LaneSlots+q] = lane_miss_valid[q];
      assign lane_miss_ready[q] = miss_ready[l*LaneSlots+q];
      assign miss[l*LaneSlots+q] = lane_miss[q];
    end

    for (genvar s = 0; s < RequestersPerLane; s++) begin : gen_requester
      assign lane_lookup_valid[s] = lookup_valid_i[l*RequestersPerLane+s];
      assign lookup_ready_o[l*RequestersPerLane+s] = lane_lookup_ready[s];
      assign lane_lookup[s] = lookup_i[l*RequestersPerLane+s];
      assign result_valid_o[l*RequestersPerLane+s] = lane_result_valid[s];
      assign result_o[l*RequestersPerLane+s] = lane_result;
    end

    tmb_translate_lane #(
      .First(l * RequestersPerLane),
      .Cfg  (LaneCfg)
    ) i_lane (
      .clk_i           (clk_i),
      .rst_ni          (rst_ni),
      .lookup_valid_i  (lane_lookup_valid),
      .lookup_ready_o  (lane_lookup_ready),
      .lookup_i        (lane_lookup),
      .result_valid_o  (lane_result_valid),
      .result_o        (lane_result),
      .managed_i       (managed_i),
      .level_i         (lane_level),
      .miss_valid_o    (lane_miss_valid),
      .miss_ready_i    (lane_miss_ready),
      .miss_o          (lane_miss),
      .walk_valid_i    (walk_valid[l]),
      .walk_ready_o    (walk_ready[l]),
      .walk_i          (walk),
      .space_enable_i  (space_enable),
      .l1_off_i        (l1_off),
      .walker_off_i    (walker_off),
      .space_waits_i   (space_flushing | space_growing),
      .skip_valid_i    (growing_valid && !invalidate_busy),
      .skip_asid_i     (growing_asid),
      .hold_valid_i    (hold_valid),
      .hold_i          (region),
      .kill_valid_i    (kill_valid),
      .kill_i          (kill_region),
      .kill_busy_o     (kill_busy[l]),
      .reply_busy_o    (lane_reply_busy[l]),
      .epoch_i         (epoch),
      .walks_o         ({walks_odd[l], walks_even[l]})
    );
  end

  // ---------------------------------------------------------------------------------------------
  // Walker and table engine
  // ---------------------------------------------------------------------------------------------

  logic mark_valid, mark_ready, marked_valid, marked_ready;
  mark_t mark;
  mark_result_t marked;

  logic filter_update, filter_up;
  logic [2**AsidWidth-1:0] filter_busy;
  asid_t filter_asid;
  block_t filter_block;
  size_class_t filter_class;

  if (Cfg.MaxWalks > 0) begin : gen_walker
    logic query;
    asid_t query_asid;
    block_t query_block;
    size_class_t query_class [2];
    logic may_be [2];

    tmb_walker #(
      .Cfg(WalkerCfg)
    ) i_walker (
      .clk_i           (clk_i),
      .rst_ni          (rst_ni),
      .space_i         (space),
      .managed_i       (managed_i),
      .level_i         (miss_level),
      .miss_valid_i    (miss_valid),
      .miss_ready_o    (miss_ready),
      .miss_i          (miss),
      .walk_valid_o    (walk_valid),
      .walk_ready_i    (walk_ready),
      .walk_o          (walk),
      .query_o         (query),
      .query_asid_o    (query_asid),
      .query_block_o   (query_block),
      .query_class_o   (query_class),
      .may_be_i        (may_be),
      .read_o          (walk_read_o),
      .mark_valid_o    (mark_valid),
      .mark_ready_i    (mark_ready),
      .mark_o          (mark),
      .marked_valid_i  (marked_valid),
      .marked_ready_o  (marked_ready),
      .marked_i        (marked),
      .read_req_valid_o(read_req_valid_o[0]),
      .read_req_ready_i(read_req_ready_i[0]),
      .read_req_o      (read_req_o[0]),
      .read_rsp_valid_i(read_rsp_valid_i[0]),
      .read_rsp_ready_o(read_rsp_ready_o[0]),
      .read_rsp_i      (read_rsp_i[0])
    );

    if (Cfg.FilterLog2 != 0) begin : gen_filter
      tmb_size_filter #(
        .NumSpaces (Cfg.NumSpaces),
        .BitsLog2  (Cfg.FilterLog2),
        .NumQueries(2)
      ) i_filter (
        .clk_i         (clk_i),
        .rst_ni        (rst_ni),
        .space_enable_i(space_enable),
        .busy_o        (filter_busy),
        .query_i       (query),
        .query_asid_i  (query_asid),
        .query_block_i (query_block),
        .query_class_i (query_class),
        .may_be_o      (may_be),
        .update_i      (filter_update),
        .update_up_i   (filter_up),
        .update_asid_i (filter_asid),
        .update_block_i(filter_block),
        .update_class_i(filter_class)
      );
    end else begin : gen_no_filter
      assign filter_busy = '0;
      assign may_be[0] = 1'b1;
      assign may_be[1] = 1'b1;

      logic unused_ok;
      assign unused_ok = &{1'b0, query, query_asid, query_block, query_class[0], query_class[1],
                           filter_update, filter_up, filter_asid, filter_block, filter_class};
    end
  end else begin : gen_no_walker
    assign filter_busy = '0;
    assign walk_read_o = 1'b0;
    for (genvar m = 0; m < NumMisses; m++) begin : gen_miss
      assign miss_ready[m] = 1'b1;

      logic unused_ok;
      assign unused_ok = &{1'b0, miss_valid[m], miss[m], miss_level[m]};
    end
    for (genvar l = 0; l < Cfg.NumLanes; l++) begin : gen_lane
      assign walk_valid[l] = 1'b0;

      logic unused_ok;
      assign unused_ok = &{1'b0, walk_ready[l]};
    end
    assign walk = '0;
    assign mark_valid = 1'b0;
    assign mark = '0;
    assign marked_ready = 1'b1;
    assign read_req_valid_o[0] = 1'b0;
    assign read_req_o[0] = '0;
    assign read_rsp_ready_o[0] = 1'b1;

    logic unused_ok;
    assign unused_ok = &{1'b0, mark_ready, marked_valid, marked, read_req_ready_i[0],
                         read_rsp_valid_i[0], read_rsp_i[0], filter_update, filter_up,
                         filter_asid, filter_block, filter_class};
  end

  logic invalidate_valid, invalidate_ready, invalidate_done;
  region_t invalidate;

  tmb_table_engine #(
    .HostChannel(Cfg.HostChannel)
  ) i_table_engine (
    .clk_i             (clk_i),
    .rst_ni            (rst_ni),
    .space_i           (space),
    .walker_off_i      (walker_off),
    .table_cmd_valid_i (table_cmd_valid_i),
    .table_cmd_ready_o (table_cmd_ready_o),
    .table_cmd_i       (table_cmd_i),
    .table_rsp_valid_o (table_rsp_valid_o),
    .table_rsp_ready_i (table_rsp_ready_i),
    .table_rsp_o       (table_rsp_o),
    .mark_valid_i      (mark_valid),
    .mark_ready_o      (mark_ready),
    .mark_i            (mark),
    .marked_valid_o    (marked_valid),
    .marked_ready_i    (marked_ready),
    .marked_o          (marked),
    .invalidate_valid_o(invalidate_valid),
    .invalidate_ready_i(invalidate_ready),
    .invalidate_o      (invalidate),
    .invalidate_done_i (invalidate_done),
    .flushing_i        (space_flushing != '0),
    .filter_busy_i     (filter_busy),
    .filter_update_o   (filter_update),
    .filter_up_o       (filter_up),
    .filter_asid_o     (filter_asid),
    .filter_block_o    (filter_block),
    .filter_class_o    (filter_class),
    .growing_valid_o   (growing_valid),
    .growing_asid_o    (growing_asid),
    .table_switch_o    (table_switch_o),
    .read_req_valid_o  (read_req_valid_o[1]),
    .read_req_ready_i  (read_req_ready_i[1]),
    .read_req_o        (read_req_o[1]),
    .read_rsp_valid_i  (read_rsp_valid_i[1]),
    .read_rsp_ready_o  (read_rsp_ready_o[1]),
    .read_rsp_i        (read_rsp_i[1]),
    .write_req_valid_o (write_req_valid_o),
    .write_req_ready_i (write_req_ready_i),
    .write_req_o       (write_req_o),
    .write_data_valid_o(write_data_valid_o),
    .write_data_ready_i(write_data_ready_i),
    .write_data_o      (write_data_o),
    .write_rsp_valid_i (write_rsp_valid_i),
    .write_rsp_ready_o (write_rsp_ready_o),
    .write_rsp_i       (write_rsp_i)
  );

  // ---------------------------------------------------------------------------------------------
  // Invalidation
  // ---------------------------------------------------------------------------------------------

  logic [1:0] bursts, walks;
  logic [NumRequesters-1:0] requester_reply_busy;
  assign walks = {|walks_odd, |walks_even};
  always_comb begin
    bursts = '0;
    for (int unsigned p = 0; p < NumPorts; p++) bursts |= bursts_i[p];
  end
  for (genvar s = 0; s < NumRequesters; s++) begin : gen_reply
    assign requester_reply_busy[s] = reply_busy_i[s];
  end

  tmb_invalidate #(
    .L1(Cfg.L1)
  ) i_invalidate (
    .clk_i           (clk_i),
    .rst_ni          (rst_ni),
    .space_enable_i  (space_enable),
    .space_flushing_o(space_flushing),
    .start_valid_i   (invalidate_valid),
    .start_ready_o   (invalidate_ready),
    .start_i         (invalidate),
    .done_o          (invalidate_done),
    .hold_valid_o    (hold_valid),
    .kill_valid_o    (kill_valid),
    .region_o        (region),
    .kill_block_o    (kill_block),
    .kill_busy_i     (|kill_busy),
    .flash_valid_o   (flash_valid_o),
    .epoch_o         (epoch),
    .walks_i         (walks),
    .reply_busy_i    ((|requester_reply_busy) || (|lane_reply_busy)),
    .bursts_i        (bursts),
    .busy_o          (invalidate_busy)
  );

  assign flash_asid_o = region.asid;
  assign reply_stall_o = invalidate_busy;
  assign epoch_o = epoch;

  `TMB_ASSERT_INIT(LanesShareRequesters, Cfg.NumLanes >= 1 && NumRequesters % Cfg.NumLanes == 0)
  `TMB_ASSERT_INIT(SlotsShareRequesters, NumSlots >= 1 && NumRequesters % NumSlots == 0)

endmodule
