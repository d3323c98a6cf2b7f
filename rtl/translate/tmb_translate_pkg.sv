// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Types shared by the ports, the parks and the translators. Nothing outside tmb_virtual_memory sees
// them.
//
// A *block* is the 4 KiB of virtual addresses that a burst lies in; its number is the virtual
// address without the low 12 bits.

// verilator lint_off UNUSEDPARAM
package tmb_translate_pkg;
  import tmb_pkg::*;

  typedef logic [ParkIndexWidth-1:0] park_index_t;
  typedef page_number_t block_t;

  // ---------------------------------------------------------------------------------------------
  // Configuration
  // ---------------------------------------------------------------------------------------------

  // Where the bursts of one requester wait (tmb_park).
  typedef struct packed {
    int unsigned Depth;      // bursts, a power of two, at most 64
    int unsigned LookAhead;  // open reports beyond that of the oldest burst
    bit HostChannel;         // pages in host memory can be reached
  } park_cfg_t;

  localparam park_cfg_t DefaultParkCfg = '{
      Depth: DefaultShellCfg.ParkDepth,
      LookAhead: DefaultShellCfg.LookAhead,
      HostChannel: DefaultShellCfg.HostChannel
  };

  // The paged translator (tmb_translate_paged).
  typedef struct packed {
    int unsigned NumRequesters;
    int unsigned NumPorts;
    int unsigned NumSlots;    // divides NumRequesters
    int unsigned NumLanes;    // divides NumRequesters; each has neighbours
    int unsigned NumSpaces;
    int unsigned MaxWalks;    // 0: no walker; an access that misses in the L1 TLBs is a fault
    int unsigned FilterLog2;  // 0: no size-class filter
    l1_cfgs_t L1;             // of a lane
    bit Segments;             // a lane's first L1 TLB is L1[0].Ways segments
    bit HostChannel;          // pages in host memory can be reached
  } translator_cfg_t;

  localparam translator_cfg_t DefaultTranslatorCfg = '{
      NumRequesters: 2,
      NumPorts: 1,
      NumSlots: 1,
      NumLanes: 1,
      NumSpaces: DefaultShellCfg.NumSpaces,
      MaxWalks: DefaultShellCfg.MaxWalks,
      FilterLog2: DefaultShellCfg.FilterLog2,
      L1: DefaultShellCfg.L1,
      Segments: 1'b0,
      HostChannel: DefaultShellCfg.HostChannel
  };

  // One address lane of it (tmb_translate_lane).
  typedef struct packed {
    int unsigned NumRequesters;      // of this lane
    int unsigned RequestersPerSlot;  // on the card
    int unsigned NumSlots;           // at least as many as this lane has requesters of
    int unsigned MaxWalks;           // of this lane, in all queues
    l1_cfgs_t L1;
    bit Segments;                    // L1[0].Ways segments instead of the first L1 TLB
  } lane_cfg_t;

  // A lane with the requesters of one slot.
  function automatic lane_cfg_t single_slot_lane(int unsigned requesters, l1_cfgs_t l1);
    return '{
        NumRequesters: requesters,
        RequestersPerSlot: requesters,
        NumSlots: 1,
        MaxWalks: 64,
        L1: l1,
        Segments: 1'b0
    };
  endfunction

  // The page-table walker (tmb_walker).
  typedef struct packed {
    int unsigned NumLanes;
    int unsigned RequestersPerLane;
    int unsigned NumMisses;  // queues of misses
    int unsigned MaxWalks;   // walks in flight
    bit HostChannel;         // pages in host memory can be reached
  } walker_cfg_t;

  localparam walker_cfg_t DefaultWalkerCfg =
      '{NumLanes: 1, RequestersPerLane: 1, NumMisses: 1, MaxWalks: 64, HostChannel: 1'b0};

  // ---------------------------------------------------------------------------------------------
  // Port and park
  // ---------------------------------------------------------------------------------------------

  // A burst that enters the park: all its data is buffered, or room for it is reserved.
  typedef struct packed {
    virt_addr_t addr;     // first byte
    burst_len_t len;      // rows - 1
    logic       refused;  // breaks a rule of the port: occupies no rows, gets an error response
  } burst_t;

  // A burst that leaves the park. Bursts leave in the order in which they came.
  typedef struct packed {
    card_addr_t addr;     // first row
    burst_len_t len;
    logic       refused;  // as it came
    logic       error;    // not to be issued: the kernel gets an error response
  } departure_t;

  // The last byte of a beat, in its row; the beat behind it begins with the next one. The row ends with
  // the beat if that is its last byte.
  typedef logic [RowOffsetWidth-1:0] row_offset_t;

  function automatic row_offset_t beat_last(row_offset_t offset, logic [2:0] size);
    return offset | ~({RowOffsetWidth{1'b1}} << size);
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Park and translator
  // ---------------------------------------------------------------------------------------------

  // Translate a parked burst; or (is_reply) take a translation that came from the host past the
  // comparator of an invalidation, like any other.
  typedef struct packed {
    park_token_t token;
    asid_t       asid;
    logic        write;
    block_t      block;
    logic        is_reply;
    logic        fail;        // reply: end the burst with an error
    frame_t      frame;       // reply: the page's frame
    size_class_t size_class;  // reply: the page's size
    logic        page_read;   // reply: the page's rights, for the L1 TLB
    logic        page_write;
    logic        page_dirty;
  } lookup_t;

  typedef enum logic [2:0] {
    OutcomeReady = 3'd0,  // translated
    OutcomeMiss = 3'd1,   // not in the L1 TLB: a walk begins; the end of the walk is the result
    OutcomeFault = 3'd2,  // the host is needed
    OutcomeError = 3'd3,  // refused: error response
    OutcomeRetry = 3'd4   // an invalidation was in the way: look up again
  } outcome_e;

  typedef enum logic [1:0] {
    SourceLookup = 2'd0,
    SourceWalk = 2'd1,
    SourceReply = 2'd2
  } source_e;

  typedef struct packed {
    park_index_t  index;
    block_t       block;
    source_e      source;
    outcome_e     outcome;
    fault_cause_e cause;  // OutcomeFault
    frame_t       frame;  // OutcomeReady: the 4 KiB of card memory that the block lies in
  } result_t;

  // ---------------------------------------------------------------------------------------------
  // Inside the paged translator
  // ---------------------------------------------------------------------------------------------

  // A lookup that missed in the L1 TLB.
  typedef struct packed {
    park_token_t token;
    asid_t       asid;
    logic        write;
    block_t      block;
    logic        epoch;
  } miss_t;

  // The end of a walk.
  typedef struct packed {
    park_token_t  token;
    asid_t        asid;
    block_t       block;
    logic         epoch;
    outcome_e     outcome;
    fault_cause_e cause;
    frame_t       frame;
    size_class_t  size_class;
    logic         page_read;
    logic         page_write;
    logic         page_dirty;
  } walk_result_t;

  // A set of virtual addresses: those that agree with `block` where `mask` is 0.
  typedef struct packed {
    asid_t  asid;
    block_t block;
    block_t mask;
  } region_t;

  // A walk asks the table engine to set accessed (and, for a write, dirty).
  typedef struct packed {
    asid_t       asid;
    block_t      block;
    size_class_t size_class;
    logic        write;
    mem_tag_t    ticket;      // the walk
  } mark_t;

  // The entry as it is now, or gone.
  typedef struct packed {
    mem_tag_t    ticket;
    logic        gone;
    page_entry_t entry;
  } mark_result_t;

  // Ones below bit `size_class`: the blocks of one page.
  function automatic block_t page_mask(size_class_t size_class);
    return ~(~block_t'(0) << size_class);
  endfunction

  function automatic logic in_region(region_t region, asid_t asid, block_t block);
    return {asid ^ region.asid, (block ^ region.block) & ~region.mask} == '0;
  endfunction

  // The frame of one block of a page; of the block's number only the low bits matter.
  function automatic frame_t frame_of_block(frame_t frame, frame_t block, size_class_t size_class);
    frame_t mask;
    mask = frame_t'(page_mask(size_class));
    return (frame & ~mask) | (block & mask);
  endfunction

  // The L1 TLB that pages of a size go to, one hot: the one of the largest pages that are not larger.
  // None, if all L1 pages are larger.
  function automatic logic [MaxL1s-1:0] l1_of_class(l1_cfgs_t l1, size_class_t size_class);
    logic [MaxL1s-1:0] result;
    result = '0;
    for (int unsigned i = 0; i < MaxL1s; i++) begin
      if (l1[i].Ways != 0 && 32'(size_class) + MinPageBits >= l1[i].PageBits) begin
        result = MaxL1s'(1) << i;
      end
    end
    return result;
  endfunction

  // Those that exist come first, with ever larger pages.
  function automatic bit l1_cfgs_legal(l1_cfgs_t l1);
    bit result;
    result = 1'b1;
    for (int unsigned i = 1; i < MaxL1s; i++) begin
      if (l1[i].Ways != 0 && (l1[i-1].Ways == 0 || l1[i-1].PageBits >= l1[i].PageBits)) begin
        result = 1'b0;
      end
    end
    return result;
  endfunction

  // The set of a table that a page belongs to: the low bits of an invertible fold of its number. The
  // fold does not depend on the table's size, so a table grows by splitting its sets in two.
  localparam int unsigned TableSetWidth = CardAddrWidth - RowOffsetWidth;
  typedef logic [TableSetWidth-1:0] table_set_t;

  function automatic table_set_t table_set(page_number_t number, logic [4:0] sets_log2);
    page_number_t fold;
    fold = number ^ (number >> 10) ^ (number >> 20) ^ (number >> 30);
    return table_set_t'(fold & ((page_number_t'(1) << sets_log2) - page_number_t'(1)));
  endfunction

  // The entry of a page in its set. Zeros if the set has none; at most one matches.
  typedef struct packed {
    logic [TableWays-1:0] match;
    page_entry_t          entry;
  } find_t;

  function automatic find_t find_entry(page_set_t set, logic [TableTagWidth-1:0] tag,
                                       size_class_t size_class);
    find_t result;
    result = '0;
    for (int unsigned w = 0; w < TableWays; w++) begin
      result.match[w] = set[w].valid && (set[w].tag == tag) && (set[w].size_class == size_class);
      if (result.match[w]) result.entry |= set[w];
    end
    return result;
  endfunction

  typedef logic [$clog2(TableWays)-1:0] way_t;

  // The largest size class of a mask (0 when the mask is empty).
  function automatic size_class_t largest_class(logic [MaxSizeClass:0] mask);
    size_class_t result;
    result = '0;
    for (int unsigned i = 0; i <= MaxSizeClass; i++) begin
      if (mask[i]) result = size_class_t'(i);
    end
    return result;
  endfunction

  function automatic size_class_t smallest_class(logic [MaxSizeClass:0] mask);
    size_class_t result;
    result = '0;
    for (int unsigned i = 0; i <= MaxSizeClass; i++) begin
      if (mask[MaxSizeClass-i]) result = size_class_t'(MaxSizeClass - i);
    end
    return result;
  endfunction

endpackage
// verilator lint_on UNUSEDPARAM
