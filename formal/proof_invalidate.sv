// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Proof: after the acknowledgement of tmb_invalidate nothing old issues.
//
// One page of one space is watched, any. "Old" is a translation of it that was read before its entry
// was removed (or before its space was disabled). Around tmb_invalidate is a model of the lanes, parks
// and ports with one bit a place: an old translation may be there. Its steps are those of the RTL, and
// more: whatever the RTL may do, it may, at any time.
//
//   walk_q[e]   a walk of epoch e that has read, or may read, the old entry
//   reply_q     a reply of the host with the old entry, on its way to the end of its lane
//   l1_q        an L1 TLB
//   compare_q   a lookup that has read the L1 TLB and is at the end of its lane now
//   early_q     a result that waits in its lane for those of walks, since before the hold
//   late_q      the same, since the hold began (it met it)
//   result_q    a result on its way to a park
//   parked_q    a parked burst that may leave
//   left_q[e]   a burst that has left in epoch e and has no response yet
//
// Assumed: a covered region is started only after the entry was removed; old
// replies come before that; walks_i, bursts_i and reply_busy_i are up while their bit is, and the
// first two rise only for the present epoch.

module proof_invalidate import tmb_pkg::*; import tmb_translate_pkg::*; (
  input logic    clk_i,
  // the page
  input asid_t   asid_i,
  input block_t  block_i,
  // surroundings
  input logic    remove_i,
  input logic [2**AsidWidth-1:0] space_enable_i,
  input logic    start_valid_i,
  input region_t start_i,
  input logic [1:0] walks_i,
  input logic [1:0] bursts_i,
  input logic    reply_busy_i,
  // what may happen in this cycle
  input logic       walk_begins_i,
  input logic [1:0] walk_ends_i,
  input logic [1:0] walk_stays_i,  // another old walk of the epoch is left
  input logic       reply_begins_i,
  input logic       reply_ends_i,
  input logic       lookup_i,      // reads the L1 TLB
  input logic       lost_i,        // the L1 TLB loses the page by itself
  input logic       queue_enters_i,
  input logic [1:0] queue_leaves_i,
  input logic [1:0] queue_stays_i,  // another one is left
  input logic       leaves_i,
  input logic       last_leaves_i,
  input logic [1:0] answered_i
);

  // One L1 TLB for blocks of 4 KiB, with two sets.
  localparam l1_cfgs_t L1 = '{
      0: '{PageBits: 12, SetsLog2: 1, Ways: 1},
      default: NoL1
  };

  logic reset_q = 1'b1;
  logic rst_n;
  always_ff @(posedge clk_i) reset_q <= 1'b0;
  assign rst_n = !reset_q;

  logic start_ready, done, hold_valid, kill_valid, kill_busy, flash_valid, epoch, unused_busy;
  logic [2**AsidWidth-1:0] flushing;
  region_t region;
  block_t kill_block;

  tmb_invalidate #(
    .L1(L1)
  ) dut (
    .clk_i, .rst_ni(rst_n), .space_enable_i, .space_flushing_o(flushing), .start_valid_i,
    .start_ready_o(start_ready), .start_i, .done_o(done), .hold_valid_o(hold_valid),
    .kill_valid_o(kill_valid), .region_o(region), .kill_block_o(kill_block),
    .kill_busy_i(kill_busy), .flash_valid_o(flash_valid), .epoch_o(epoch), .walks_i,
    .reply_busy_i, .bursts_i, .busy_o(unused_busy)
  );

  // ---------------------------------------------------------------------------------------------
  // The model
  // ---------------------------------------------------------------------------------------------

  logic removed_q, covered_q, acknowledged_q, enable_q, flushing_q, started_q;
  logic reply_q, l1_q, compare_q, early_q, late_q, result_q, parked_q;
  logic [1:0] walk_q, left_q, bursts_q, walks_q;
  logic epoch_q;
  asid_t asid_q;
  block_t block_q;
  // A kill in the two stages of the lane; whether it is one for the page.
  logic [1:0] kills_q, kills_page_q;

  logic enabled, held, passes, to_result, starts;
  assign enabled = space_enable_i[asid_i];
  assign held = (hold_valid && in_region(region, asid_i, block_i)) || flushing[asid_i];
  assign passes = enabled && !held;
  assign kill_busy = kills_q != '0 || early_q;
  assign starts = start_valid_i && start_ready;

  logic walk_ends, reply_ends, kill_page, to_queue;
  logic [1:0] queue_stay;
  assign walk_ends = (walk_ends_i & walk_q) != '0;
  assign reply_ends = reply_ends_i && reply_q;
  assign to_queue = passes && compare_q && queue_enters_i;
  assign queue_stay = {late_q, early_q} & (~queue_leaves_i | queue_stays_i);
  assign to_result = (passes && (walk_ends || reply_ends || (compare_q && !queue_enters_i)))
      || ({late_q, early_q} & queue_leaves_i) != '0;
  assign kill_page = kill_valid && in_region('{asid: region.asid, block: kill_block,
      mask: region.mask}, asid_i, block_i)
      && kill_block[0] == block_i[0];

  always_ff @(posedge clk_i) begin
    asid_q <= asid_i;
    block_q <= block_i;
    epoch_q <= epoch;
    if (!rst_n) begin
      removed_q <= 1'b0;
      covered_q <= 1'b0;
      acknowledged_q <= 1'b0;
      enable_q <= 1'b0;
      flushing_q <= 1'b0;
      started_q <= 1'b0;
      {reply_q, l1_q, compare_q, early_q, late_q, result_q, parked_q} <= '0;
      {walk_q, left_q, bursts_q, walks_q, kills_q, kills_page_q} <= '0;
    end else begin
      started_q <= 1'b1;
      enable_q <= enabled;
      flushing_q <= flushing[asid_i];
      bursts_q <= bursts_i;
      walks_q <= walks_i;
      removed_q <= removed_q || remove_i || (enable_q && !enabled);
      if (starts) covered_q <= in_region(start_i, asid_i, block_i);
      acknowledged_q <= acknowledged_q || (done && covered_q)
          || (flushing_q && !flushing[asid_i]);

      for (int unsigned e = 0; e < 2; e++) begin
        walk_q[e] <= (walk_q[e] && !(walk_ends_i[e] && !walk_stays_i[e]))
            || (walk_begins_i && !removed_q && passes && epoch == 1'(e));
        left_q[e] <= (left_q[e] && !answered_i[e])
            || (leaves_i && parked_q && epoch == 1'(e));
      end
      reply_q <= (reply_q && !reply_ends_i) || (reply_begins_i && !removed_q);

      kills_q <= {kills_q[0], kill_valid};
      kills_page_q <= {kills_page_q[0], kill_page};
      l1_q <= (l1_q && !kills_page_q[1] && !lost_i)
          || ((walk_ends || reply_ends) && passes);
      // The read does not learn of a kill or fill at the end of the lane: worse than the RTL.
      compare_q <= lookup_i && l1_q;
      early_q <= hold_valid ? queue_stay[0] : (queue_stay != '0 || to_queue);
      late_q <= hold_valid && (queue_stay[1] || to_queue);
      result_q <= to_result;
      parked_q <= (parked_q && !(leaves_i && last_leaves_i)
          && !(flash_valid && region.asid == asid_i)) || result_q;
    end
  end

  always_comb begin
    // Which page does not change.
    assume (!started_q || (asid_i == asid_q && block_i == block_q));
    // Regions are pages of 4 KiB or 16 KiB here, aligned.
    assume (start_i.mask == block_t'(0) || start_i.mask == block_t'(3));
    assume ((start_i.block & start_i.mask) == '0);
    assume (!(starts && in_region(start_i, asid_i, block_i)) || removed_q);
    // Only what is there can end.
    for (int unsigned e = 0; e < 2; e++) begin
      assume (!walk_q[e] || walks_i[e]);
      assume (!left_q[e] || bursts_i[e]);
      assume (!(walks_i[e] && !walks_q[e]) || epoch_q == 1'(e));
      assume (!(bursts_i[e] && !bursts_q[e]) || epoch_q == 1'(e));
    end
    assume (!reply_q || reply_busy_i);

    if (rst_n && acknowledged_q) begin
      assert (!l1_q);
      assert (walk_q == '0);
      assert (!reply_q);
      assert (!compare_q && !early_q && !late_q && !result_q && !parked_q);
      assert (left_q == '0);
    end
  end

endmodule
