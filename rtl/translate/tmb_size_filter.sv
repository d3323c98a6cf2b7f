// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Which size classes may a page of this address have? A counting filter: before a walk reads the set
// of a size class, it asks here, and a class that is excluded costs no read.
//
// A space has two tables of 2^BitsLog2 counters. A page counts in one counter of each, chosen by two
// hashes of its size class and its region (2 MiB of addresses, or the page if it is larger). A class
// is excluded when one of the two is zero. The walker reads only whether counters are zero: one bit
// each, kept in memories of their own.
//
// Conservative: a counter goes up before the entry is written, and down after it is gone; one that
// reaches its maximum stays there until the space is enabled again. A table is empty when its space
// is enabled (architecture.md), so a space's counters are then cleared; until that is done, nothing
// is excluded and the space's table commands wait (busy_o).
//
// BitsLog2   log2(counters of a table and space). With p pages (regions, below 2 MiB) of a class in a
//            space, about (p / 2^BitsLog2)^2 of the addresses without one are not excluded.
// NumQueries questions a cycle
//
// Throughput: NumQueries answers a cycle; an update takes three cycles, a clearing 2^BitsLog2.
// Latency: one cycle. Ordering: an answer three cycles after an update counts it.
// No deadlock: nothing waits.
//
// The table: docs/architecture.md.

`include "tmb_assert.svh"

module tmb_size_filter
  import tmb_pkg::*;
  import tmb_translate_pkg::*;
#(
  parameter int unsigned NumSpaces = 4,
  parameter int unsigned BitsLog2 = 12,
  parameter int unsigned NumQueries = 2
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic [2**AsidWidth-1:0] space_enable_i,
  output logic [2**AsidWidth-1:0] busy_o,  // the space is being cleared: no updates
  // walker
  input  logic        query_i,
  input  asid_t       query_asid_i,
  input  block_t      query_block_i,
  input  size_class_t query_class_i [NumQueries],
  output logic        may_be_o [NumQueries],  // one cycle later
  // table engine
  input  logic        update_i,
  input  logic        update_up_i,
  input  asid_t       update_asid_i,
  input  block_t      update_block_i,
  input  size_class_t update_class_i
);

  localparam int unsigned SpaceWidth = NumSpaces > 1 ? $clog2(NumSpaces) : 1;
  localparam int unsigned Depth = NumSpaces << BitsLog2;
  localparam int unsigned CountWidth = 6;
  localparam int unsigned RegionClass = 9;
  typedef logic [SpaceWidth-1:0] space_t;
  typedef logic [BitsLog2-1:0] index_t;
  typedef logic [$clog2(Depth)-1:0] place_t;
  typedef logic [CountWidth-1:0] count_t;
  typedef logic [NumSpaces-1:0] spaces_t;

  // The two hashes keep neighbouring regions apart, and differ in how far regions must be from one
  // another to meet.
  function automatic index_t hash(block_t block, size_class_t size_class, bit second);
    block_t region;
    index_t salt;
    region = block >> ((size_class > size_class_t'(RegionClass)) ? size_class
        : size_class_t'(RegionClass));
    // The class in the upper bits, lowest first.
    salt = '0;
    for (int unsigned i = 0; i < SizeClassWidth; i++) salt[BitsLog2-1-i] = size_class[i];
    if (second) begin
      return index_t'(region ^ (region >> (BitsLog2 - 4)) ^ (region >> (2 * BitsLog2 - 4)))
          ^ {salt[BitsLog2-3:0], salt[BitsLog2-1-:2]};
    end
    return index_t'(region ^ (region >> BitsLog2) ^ (region >> (2 * BitsLog2))) ^ salt;
  endfunction

  function automatic place_t place_of(space_t space, index_t index);
    return place_t'({space, index});
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Clearing
  // ---------------------------------------------------------------------------------------------

  // Stale: enabled since its last clearing, or never cleared.
  logic updates_q;
  spaces_t enable, enable_q, stale_q, rises, chosen, busy;
  space_t clear_space;
  index_t clear_index_q;
  logic clears;

  assign enable = space_enable_i[NumSpaces-1:0];
  assign rises = enable & ~enable_q;
  assign chosen = stale_q & enable_q & (~(stale_q & enable_q) + spaces_t'(1));
  always_comb begin
    clear_space = '0;
    for (int unsigned i = 0; i < NumSpaces; i++) begin
      if (chosen[i]) clear_space |= space_t'(i);
    end
  end
  // Updates of other spaces go first.
  assign clears = chosen != '0 && !update_i && !updates_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      enable_q <= '0;
      stale_q <= '1;
      clear_index_q <= '0;
    end else begin
      enable_q <= enable;
      stale_q <= (stale_q & ~((clears && clear_index_q == '1) ? chosen : '0)) | rises;
      // One that is enabled anew in the middle of it begins again.
      if ((chosen & (rises | ~enable)) != '0) clear_index_q <= '0;
      else if (clears) clear_index_q <= clear_index_q + index_t'(1);
    end
  end
  assign busy = (stale_q & enable_q) | rises;
  assign busy_o = (2**AsidWidth)'(busy);

  // ---------------------------------------------------------------------------------------------
  // Updates: read the counter, then write it
  // ---------------------------------------------------------------------------------------------

  logic update_up_q, clears_q;
  space_t update_space_q, clear_space_q;
  index_t cleared_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) updates_q <= 1'b0;
    else updates_q <= update_i;
    if (!rst_ni) clears_q <= 1'b0;
    else clears_q <= clears;
  end
  always_ff @(posedge clk_i) begin
    if (update_i) begin
      update_up_q <= update_up_i;
      update_space_q <= space_t'(update_asid_i);
    end
    if (clears) begin
      clear_space_q <= clear_space;
      cleared_q <= clear_index_q;
    end
  end

  // Nothing is known of a space that is stale.
  logic unknown_q;
  always_ff @(posedge clk_i) begin
    if (query_i) unknown_q <= stale_q[space_t'(query_asid_i)];
  end

  // ---------------------------------------------------------------------------------------------
  // The two tables
  // ---------------------------------------------------------------------------------------------

  logic [NumQueries-1:0] used [2];

  for (genvar t = 0; t < 2; t++) begin : gen_table
    index_t update_index, update_index_q;
    place_t place;
    count_t count, count_d;

    assign update_index = hash(update_block_i, update_class_i, 1'(t));
    assign place = clears_q ? place_of(clear_space_q, cleared_q)
        : place_of(update_space_q, update_index_q);
    always_ff @(posedge clk_i) begin
      if (update_i) update_index_q <= update_index;
    end

    always_comb begin
      count_d = update_up_q ? count + count_t'(1) : count - count_t'(1);
      if (count == '1) count_d = count;
      if (clears_q) count_d = '0;
    end

    tmb_ram_1r1w #(
      .Width(CountWidth),
      .Depth(Depth)
    ) i_counters (
      .clk_i         (clk_i),
      .write_enable_i(clears_q || updates_q),
      .write_addr_i  (place),
      .write_strobe_i(1'b1),
      .write_data_i  (count_d),
      .read_enable_i (update_i),
      .read_addr_i   (place_of(space_t'(update_asid_i), update_index)),
      .read_data_o   (count)
    );

    for (genvar q = 0; q < NumQueries; q++) begin : gen_query
      index_t query_index;
      assign query_index = hash(query_block_i, query_class_i[q], 1'(t));

      tmb_ram_1r1w #(
        .Width(1),
        .Depth(Depth)
      ) i_used (
        .clk_i         (clk_i),
        .write_enable_i(clears_q || updates_q),
        .write_addr_i  (place),
        .write_strobe_i(1'b1),
        .write_data_i  (count_d != '0),
        .read_enable_i (query_i),
        .read_addr_i   (place_of(space_t'(query_asid_i), query_index)),
        .read_data_o   (used[t][q])
      );
    end
  end

  for (genvar q = 0; q < NumQueries; q++) begin : gen_answer
    assign may_be_o[q] = unknown_q || (used[0][q] && used[1][q]);
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, space_enable_i, query_asid_i};

  `TMB_ASSERT_INIT(HashHasRoom, BitsLog2 >= 8)
  `TMB_ASSERT(UpdatesApart, update_i |-> !updates_q)
  `TMB_ASSERT(NoUpdateWhileClearing, update_i |-> !busy_o[update_asid_i])

endmodule
