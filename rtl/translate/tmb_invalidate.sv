// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The order of an invalidation, after the table no longer holds the entry (docs/architecture.md):
//
//   Kill    the region is held: at the end of the lanes every translation for it becomes a retry
//           and no fill for it is made. The L1 TLB that pages of the region's size go to is
//           killed set by set; all L1 TLBs are, if the region is a whole space.
//   Drain   the kills reach the L1 TLBs.
//   Flash   parked bursts of the space that have a translation but have not left lose it, and the
//           epoch flips: later departures belong to the new epoch.
//   Walks   walks of the old epoch end (their results meet the hold), and so do replies of the host
//           that came before; new ones wait outside. Then the hold is released.
//   Bursts  bursts that left in the old epoch get their responses.
//
// Why nothing old issues after done_o: a translation for the region is in an L1 TLB (killed), in a
// walk or reply under way (meets the hold), parked (flashed), or has left (old epoch, waited for).
// A walk that begins after the hold reads the table after the entry went.
//
// A space that is disabled is flushed in the same way, as one region; until that is done its
// lookups are turned into retries, so that it can be enabled again with another table.
//
// Throughput: one sequence at a time. Latency: 6 cycles, plus the sets to kill, the oldest walk and
// the oldest burst. No deadlock: what it waits for needs only memory (and the table engine for
// marks, which it keeps serving): walks, replies in the lanes, bursts that have left.
//
// Two epochs are enough: a sequence ends only when its old epoch is empty.

`include "tmb_assert.svh"

module tmb_invalidate
  import tmb_pkg::*;
  import tmb_translate_pkg::*;
#(
  parameter l1_cfgs_t L1 = DefaultShellCfg.L1
) (
  input  logic    clk_i,
  input  logic    rst_ni,
  input  logic [2**AsidWidth-1:0] space_enable_i,
  output logic [2**AsidWidth-1:0] space_flushing_o,
  // table engine
  input  logic    start_valid_i,
  output logic    start_ready_o,
  input  region_t start_i,
  output logic    done_o,  // the sequence of start_i is over
  // lanes and parks
  output logic    hold_valid_o,
  output logic    kill_valid_o,
  output region_t region_o,
  output block_t  kill_block_o,
  input  logic    kill_busy_i,
  output logic    flash_valid_o,
  output logic    epoch_o,
  input  logic [1:0] walks_i,
  input  logic    reply_busy_i,
  input  logic [1:0] bursts_i,
  output logic    busy_o
);

  localparam int unsigned L1Width = $clog2(MaxL1s);
  typedef logic [L1Width-1:0] l1_index_t;
  typedef logic [2**AsidWidth-1:0] spaces_t;

  typedef enum logic [2:0] {
    StateIdle,
    StateKill,
    StateDrain,
    StateFlash,
    StateWalks,
    StateBursts
  } state_e;

  state_e state_q, state_d;
  region_t region_q, region_d;
  l1_index_t l1_q, l1_d, region_l1;  // L1 TLB that is killed
  logic last_l1, whole_space;
  block_t page_q, page_d, last_page;  // of that L1 TLB, counted from the region's first
  block_t page_block;                 // its first block
  logic for_space_q, for_space_d, epoch_q;
  spaces_t enable_q, flushing_q, flushing_d, flush_first;
  asid_t flush_asid;
  logic flush_done, busy_q, stays_busy;

  assign whole_space = region_q.mask == '1;

  // Pages of the L1 TLB that the region covers, minus one; no set needs a second visit.
  always_comb begin
    last_page = '0;
    page_block = '0;
    last_l1 = 1'b1;
    region_l1 = '0;
    for (int unsigned i = 0; i < MaxL1s; i++) begin
      block_t pages, last_set;
      pages = region_q.mask >> (L1[i].PageBits - MinPageBits);
      last_set = (block_t'(1) << L1[i].SetsLog2) - block_t'(1);
      if (l1_q == l1_index_t'(i)) begin
        last_page = (pages > last_set) ? last_set : pages;
        page_block = page_q << (L1[i].PageBits - MinPageBits);
      end
      if (L1[i].Ways != 0) begin
        if (l1_q < l1_index_t'(i)) last_l1 = 1'b0;
        // The one that pages of the next region's size go to.
        if (((block_t'(1) << (L1[i].PageBits - MinPageBits)) - block_t'(1)
            & ~start_i.mask) == '0) region_l1 = l1_index_t'(i);
      end
    end
  end

  assign flush_first = flushing_q & (~flushing_q + spaces_t'(1));
  tmb_one_hot_index #(
    .Width(2**AsidWidth)
  ) i_flush_asid (
    .one_hot_i(flush_first),
    .index_o  (flush_asid)
  );

  always_comb begin
    state_d = state_q;
    region_d = region_q;
    page_d = page_q;
    l1_d = l1_q;
    for_space_d = for_space_q;
    unique case (state_q)
      StateIdle: begin
        page_d = '0;
        l1_d = '0;
        if (flushing_q != '0) begin
          state_d = StateKill;
          for_space_d = 1'b1;
          region_d = '{asid: flush_asid, block: '0, mask: '1};
        end else if (start_valid_i) begin
          state_d = StateKill;
          for_space_d = 1'b0;
          region_d = start_i;
          if (start_i.mask != '1) l1_d = region_l1;
        end
      end
      StateKill: begin
        page_d = page_q + block_t'(1);
        if (page_q == last_page) begin
          page_d = '0;
          l1_d = l1_q + l1_index_t'(1);
          if (last_l1 || !whole_space) state_d = StateDrain;
        end
      end
      StateDrain: if (!kill_busy_i) state_d = StateFlash;
      StateFlash: state_d = StateWalks;
      StateWalks: if (!walks_i[!epoch_q] && !reply_busy_i) state_d = StateBursts;
      StateBursts: if (!bursts_i[!epoch_q]) state_d = StateIdle;
      default: state_d = StateIdle;
    endcase
  end

  assign start_ready_o = (state_q == StateIdle) && (flushing_q == '0);
  assign done_o = (state_q == StateBursts) && (state_d == StateIdle) && !for_space_q;
  assign flush_done = (state_q == StateBursts) && (state_d == StateIdle) && for_space_q;

  assign flushing_d = (flushing_q & ~(flush_done ? (spaces_t'(1) << region_q.asid) : spaces_t'(0)))
      | (enable_q & ~space_enable_i);

  // A space to flush alone keeps it busy.
  assign stays_busy = !(state_q == StateIdle && !start_valid_i)
      && !(state_q == StateBursts && !bursts_i[!epoch_q]);

  // That a sequence runs is known from a register: it decides which lookups go, at the start of a long path.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StateIdle;
      epoch_q <= 1'b0;
      enable_q <= '0;
      flushing_q <= '0;
      busy_q <= 1'b0;
    end else begin
      state_q <= state_d;
      if (state_q == StateFlash) epoch_q <= !epoch_q;
      enable_q <= space_enable_i;
      flushing_q <= flushing_d;
      busy_q <= stays_busy || (flushing_d != '0);
    end
  end
  always_ff @(posedge clk_i) begin
    region_q <= region_d;
    page_q <= page_d;
    l1_q <= l1_d;
    for_space_q <= for_space_d;
  end

  assign space_flushing_o = flushing_q;
  assign hold_valid_o = (state_q inside {StateKill, StateDrain, StateFlash, StateWalks});
  assign kill_valid_o = state_q == StateKill;
  assign region_o = region_q;
  assign kill_block_o = region_q.block + page_block;
  assign flash_valid_o = state_q == StateFlash;
  assign epoch_o = epoch_q;
  assign busy_o = busy_q;

  `TMB_ASSERT(BusyIsKnown, busy_q == ((state_q != StateIdle) || (flushing_q != '0)))
  `TMB_ASSERT(OldEpochIsEmpty, (state_q == StateKill) |-> !bursts_i[!epoch_q])

endmodule
