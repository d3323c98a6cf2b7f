// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Segments: a few registers that translate a page of any size each, with a comparator each. It takes the
// place of the first L1 TLB of a lane (Translator = TranslatorSegment), and with it everything around that: a
// miss is a fault, the host's reply fills a register, an invalidation kills it.
//
// NumSegments   at least 1
//
// The host gives a mapping one page that covers all of it, so a segment is loaded as a whole at the first
// access and never misses again while there are registers enough. A fill whose page is present overwrites
// it; otherwise it takes a free register, or the registers in turn.
//
// Throughput: one lookup and one update a cycle. Latency: none; the caller's two stages (tmb_l1_tlb) stay,
// and the answer is that of the second. Ordering: a lookup sees the updates of the cycles before.
// The result of a lookup is zero on a miss.
// No deadlock: nothing waits.
//
// AmorphOS's segment translation as in FSRF section 6.2; figure 2 has the same as a TLB of 4 GiB pages.

`include "tmb_assert.svh"

module tmb_translate_segment
  import tmb_pkg::*;
  import tmb_translate_pkg::*;
#(
  parameter int unsigned NumSegments = 8
) (
  input  logic   clk_i,
  input  logic   rst_ni,
  // lookups
  input  asid_t  look_asid_i,
  input  block_t look_block_i,
  input  logic   look_write_i,
  output logic   hit_o,      // the page is here
  output frame_t frame_o,    // of the block
  output logic   granted_o,  // it is here, with the right to write or read
  output logic   allowed_o,  // the same, and a page that is written is known to be dirty
  // updates
  input  asid_t       update_asid_i,
  input  block_t      update_block_i,
  input  logic        fill_i,
  input  frame_t      fill_frame_i,  // of the block
  input  size_class_t fill_class_i,  // of the page
  input  logic        fill_read_i,   // the page's rights, and whether it is known to be dirty
  input  logic        fill_write_i,
  input  logic        fill_dirty_i,
  input  logic        kill_i,
  input  block_t      kill_mask_i    // kills the pages that agree with the block where this is 0
);

  typedef struct packed {
    logic   valid;
    asid_t  asid;
    block_t block;  // of any of its addresses
    block_t mask;   // ones: inside the page
    frame_t frame;  // of that block
    logic   page_read;
    logic   page_write;
    logic   page_dirty;
  } segment_t;

  typedef logic [NumSegments-1:0] segments_t;

  segment_t segment_q [NumSegments];
  segments_t valid, look_match, look_granted, look_allowed, match, doomed, free, fill_to, turn_q;
  segment_t fill;
  frame_t frame [NumSegments];

  assign fill = '{
      valid: 1'b1,
      asid: update_asid_i,
      block: update_block_i,
      mask: page_mask(fill_class_i),
      frame: fill_frame_i,
      page_read: fill_read_i,
      page_write: fill_write_i,
      page_dirty: fill_dirty_i
  };

  for (genvar s = 0; s < NumSegments; s++) begin : gen_segment
    segment_t own;
    assign own = segment_q[s];
    assign valid[s] = own.valid;
    assign frame[s] = (own.frame & ~frame_t'(own.mask))
        | (frame_t'(look_block_i) & frame_t'(own.mask));
    assign look_match[s] = own.valid && (own.asid == look_asid_i)
        && (((own.block ^ look_block_i) & ~own.mask) == '0);
    assign look_granted[s] = look_write_i ? own.page_write : own.page_read;
    assign look_allowed[s] = look_granted[s] && (own.page_dirty || !look_write_i);
    assign match[s] = own.valid && (own.asid == update_asid_i)
        && (((own.block ^ update_block_i) & ~own.mask) == '0);
    assign doomed[s] = own.valid && (own.asid == update_asid_i)
        && (((own.block ^ update_block_i) & ~own.mask & ~kill_mask_i) == '0);

    always_ff @(posedge clk_i) begin
      if (!rst_ni) segment_q[s] <= '0;
      else if (kill_i && doomed[s]) segment_q[s].valid <= 1'b0;
      else if (fill_i && fill_to[s]) segment_q[s] <= fill;
    end
  end

  assign free = ~valid & (valid + segments_t'(1));  // the lowest that is not valid
  assign fill_to = (match != '0) ? match : ((free != '0) ? free : turn_q);

  // Whose turn it is when all are in use, one hot.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) turn_q <= segments_t'(1);
    else if (fill_i && (match == '0) && (free == '0)) begin
      turn_q <= (turn_q << 1) | (turn_q >> (NumSegments - 1));
    end
  end

  always_comb begin
    frame_o = '0;
    for (int unsigned s = 0; s < NumSegments; s++) begin
      if (look_match[s]) frame_o |= frame[s];
    end
  end
  assign hit_o = |look_match;
  assign granted_o = |(look_match & look_granted);
  assign allowed_o = |(look_match & look_allowed);

  `TMB_ASSERT_INIT(SomeSegment, NumSegments >= 1)
  `TMB_ASSERT(OneCopy, $onehot0(look_match))
  `TMB_ASSERT(FillOrKill, !(fill_i && kill_i))

endmodule
