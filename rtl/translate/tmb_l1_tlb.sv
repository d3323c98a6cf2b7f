// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// L1 TLB of one page size: a set-associative SRAM, tagged with the ASID.
//
// Two ports of two stages each: lookups, and updates, which fill or kill. In the first stage a port
// reads a set. In the next cycle the caller gives the same block (and its ASID) to the second stage,
// which compares. A fill whose page is present overwrites it. Otherwise it takes a free way, or the
// ways of a set in turn. The entries are translations to card memory only: other targets never fill.
//
// The set is a fold of the whole page number and the ASID: programs lay out their buffers alike, at
// round addresses, and the low bits alone would put the same page of each of them into one set.
//
// PageBits     log2(bytes of a page)
// SetsLog2     log2(sets)
// Ways         at least 1
//
// Everything, valid bits too, is in memories, one copy for each port, so that size costs no flip-flops.
// They are cleared set by set after reset; until that is over nothing hits and nothing is filled.
//
// Throughput: one lookup and one update a cycle. Latency: hit_o in the cycle after look_read_i.
// Ordering: a read of a set sees all writes up to and including the cycle of the read. The result of
// a lookup is zero on a miss.
// No deadlock: nothing waits.
//
// FSRF section 5.2 (SRAM TLB), figure 2.

`include "tmb_assert.svh"

module tmb_l1_tlb
  import tmb_pkg::*;
  import tmb_translate_pkg::*;
#(
  parameter int unsigned PageBits = 21,
  parameter int unsigned SetsLog2 = 5,
  parameter int unsigned Ways = 2
) (
  input  logic   clk_i,
  input  logic   rst_ni,
  // lookups: first stage, second stage
  input  logic   look_read_i,
  input  asid_t  look_read_asid_i,
  input  block_t look_read_block_i,
  input  asid_t  look_asid_i,
  input  block_t look_block_i,
  input  logic   look_write_i,
  output logic   hit_o,  // the page is here
  output frame_t frame_o,  // of the block
  output logic   granted_o,  // it is here, with the right to write or read
  output logic   allowed_o,  // the same, and a page that is written is known to be dirty
  // updates: first stage, second stage
  input  logic   update_read_i,
  input  asid_t  update_read_asid_i,
  input  block_t update_read_block_i,
  input  asid_t  update_asid_i,
  input  block_t update_block_i,
  input  logic   fill_i,
  input  frame_t fill_frame_i,  // of the block
  input  logic   fill_read_i,
  input  logic   fill_write_i,
  input  logic   fill_dirty_i,
  input  logic   kill_i,
  input  block_t kill_mask_i  // kills the pages of the set that agree with the block where this is 0
);

  // Blocks in a page, and where the tag starts in a block number.
  localparam int unsigned InPage = PageBits - MinPageBits;
  localparam int unsigned TagStart = InPage + SetsLog2;
  localparam int unsigned TagWidth = PageNumberWidth - TagStart;
  localparam int unsigned SetWidth = SetsLog2 > 0 ? SetsLog2 : 1;
  localparam int unsigned NumSets = 1 << SetsLog2;
  localparam int unsigned LastSet = NumSets - 1;
  localparam int unsigned WayWidth = Ways > 1 ? $clog2(Ways) : 1;
  typedef logic [TagWidth-1:0] tag_t;
  typedef logic [SetWidth-1:0] set_t;
  typedef logic [WayWidth-1:0] way_t;

  typedef struct packed {
    logic                         valid;
    asid_t                        asid;
    tag_t                         tag;
    logic [FrameWidth-InPage-1:0] frame;
    logic                         page_read;
    logic                         page_write;
    logic                         page_dirty;
  } entry_t;

  // For given upper bits and ASID a bijection of the low bits, so that consecutive pages visit all
  // sets (a kill counts on it) and the tag needs the upper bits only. The ASID enters from the top:
  // spaces are numbered from 0, pages are used in order, and the two should stay apart.
  function automatic set_t set_of(asid_t asid, block_t block);
    page_number_t page;
    set_t set;
    page = block >> InPage;
    set = '0;
    for (int unsigned b = 0; b < PageNumberWidth - InPage; b++) set[b%SetWidth] ^= page[b];
    for (int unsigned b = 0; b < AsidWidth; b++) set[(SetWidth-1)-(b%SetWidth)] ^= asid[b];
    return set & set_t'(LastSet);
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Clearing after reset
  // ---------------------------------------------------------------------------------------------

  logic clear_q;
  set_t clear_set_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      clear_q <= 1'b1;
      clear_set_q <= '0;
    end else if (clear_q) begin
      clear_q <= clear_set_q != set_t'(LastSet);
      clear_set_q <= clear_set_q + set_t'(1);
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Memories
  // ---------------------------------------------------------------------------------------------

  set_t set_q, write_set;
  tag_t tag, tag_ignore;
  assign write_set = clear_q ? clear_set_q : set_q;
  assign tag = tag_t'(update_block_i >> TagStart);
  assign tag_ignore = tag_t'(kill_mask_i >> TagStart);

  // Port 0: lookups. Port 1: updates.
  localparam int unsigned Look = 0;
  localparam int unsigned Update = 1;
  logic read [2];
  set_t read_set [2];
  assign read[Look] = look_read_i;
  assign read[Update] = update_read_i;
  assign read_set[Look] = set_of(look_read_asid_i, look_read_block_i);
  assign read_set[Update] = set_of(update_read_asid_i, update_read_block_i);
  always_ff @(posedge clk_i) begin
    if (update_read_i) set_q <= read_set[Update];
  end

  logic [Ways-1:0] valid, match, look_match, doomed, fill_way, write_way;
  logic [Ways-1:0] look_granted, look_allowed;
  entry_t write_entry;
  logic [FrameWidth-InPage-1:0] match_frame;
  entry_t read_entry [2][Ways];

  always_comb begin
    write_entry = '{
        valid: 1'b1,
        asid: update_asid_i,
        tag: tag,
        frame: fill_frame_i[FrameWidth-1:InPage],
        page_read: fill_read_i,
        page_write: fill_write_i,
        page_dirty: fill_dirty_i
    };
    if (clear_q || kill_i) write_entry = '0;
  end

  // A fill is known late (the lane compares it with the hold), so it enters late.
  assign write_way = {Ways{clear_q}} | (doomed & {Ways{kill_i}}) | (fill_way & {Ways{fill_i}});

  for (genvar p = 0; p < 2; p++) begin : gen_port
    // The set that is read is the one that is written in the same cycle.
    logic same_set;
    entry_t bypass_q;
    assign same_set = read_set[p] == write_set;
    always_ff @(posedge clk_i) begin
      if (read[p]) bypass_q <= write_entry;
    end

    for (genvar w = 0; w < Ways; w++) begin : gen_way
      entry_t stored;
      logic bypassed_q;

      tmb_ram_1r1w #(
        .Width($bits(entry_t)),
        .Depth(NumSets)
      ) i_entries (
        .clk_i         (clk_i),
        .write_enable_i(write_way[w]),
        .write_addr_i  (write_set),
        .write_strobe_i(1'b1),
        .write_data_i  (write_entry),
        .read_enable_i (read[p]),
        .read_addr_i   (read_set[p]),
        .read_data_o   (stored)
      );

      always_ff @(posedge clk_i) begin
        if (read[p]) bypassed_q <= write_way[w] && same_set;
      end
      assign read_entry[p][w] = bypassed_q ? bypass_q : stored;
    end
  end

  for (genvar w = 0; w < Ways; w++) begin : gen_match
    assign look_match[w] = read_entry[Look][w].valid && !clear_q
        && (read_entry[Look][w].asid == look_asid_i)
        && (read_entry[Look][w].tag == tag_t'(look_block_i >> TagStart));
    // Beside the compare, not behind it.
    assign look_granted[w] = look_write_i ? read_entry[Look][w].page_write
        : read_entry[Look][w].page_read;
    assign look_allowed[w] = look_granted[w] && (read_entry[Look][w].page_dirty || !look_write_i);
    assign valid[w] = read_entry[Update][w].valid && !clear_q;
    assign match[w] = valid[w] && (read_entry[Update][w].asid == update_asid_i)
        && (read_entry[Update][w].tag == tag);
    assign doomed[w] = valid[w] && (read_entry[Update][w].asid == update_asid_i)
        && (((read_entry[Update][w].tag ^ tag) & ~tag_ignore) == '0);
  end

  always_comb begin
    match_frame = '0;
    for (int unsigned w = 0; w < Ways; w++) begin
      if (look_match[w]) match_frame |= read_entry[Look][w].frame;
    end
  end

  assign hit_o = |look_match;
  assign frame_o = (frame_t'(match_frame) << InPage)
      | (hit_o ? (frame_t'(look_block_i) & frame_t'((32'd1 << InPage) - 32'd1)) : '0);
  assign granted_o = |(look_match & look_granted);
  assign allowed_o = |(look_match & look_allowed);

  // ---------------------------------------------------------------------------------------------
  // Replacement
  // ---------------------------------------------------------------------------------------------

  logic [Ways-1:0] free, victim_way;
  assign free = ~valid & (valid + Ways'(1));  // lowest way that is not valid
  assign fill_way = (match != '0) ? match : ((free != '0) ? free : victim_way);

  if (Ways > 1) begin : gen_victim
    way_t stored, victim, next, bypass_q;
    logic bypassed_q, replaces;

    assign replaces = fill_i && (match == '0) && (free == '0) && !clear_q;
    assign next = (clear_q || victim == way_t'(Ways - 1)) ? '0 : victim + way_t'(1);

    tmb_ram_1r1w #(
      .Width(WayWidth),
      .Depth(NumSets)
    ) i_victims (
      .clk_i         (clk_i),
      .write_enable_i(replaces || clear_q),
      .write_addr_i  (write_set),
      .write_strobe_i(1'b1),
      .write_data_i  (next),
      .read_enable_i (update_read_i),
      .read_addr_i   (read_set[Update]),
      .read_data_o   (stored)
    );

    always_ff @(posedge clk_i) begin
      if (update_read_i) begin
        bypassed_q <= (replaces || clear_q) && (read_set[Update] == write_set);
        bypass_q <= next;
      end
    end

    assign victim = bypassed_q ? bypass_q : stored;
    assign victim_way = Ways'(1) << victim;
  end else begin : gen_no_choice
    assign victim_way = 1'b1;
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, fill_frame_i, kill_mask_i};

  `TMB_ASSERT_INIT(SomeWay, Ways >= 1)
  `TMB_ASSERT(SameBlock, (fill_i || kill_i) |->
      (set_q == set_of(update_asid_i, update_block_i)))
  `TMB_ASSERT(OneCopy, $onehot0(look_match))
  `TMB_ASSERT_INIT(PageNotSmallerThanBlock, PageBits >= MinPageBits && PageBits < CardAddrWidth)
  `TMB_ASSERT_INIT(TagNotEmpty, PageBits + SetsLog2 < VirtAddrWidth)

endmodule
