// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Types and constants that cross blocks of the shell.
//
// A *row* is 64 bytes: the width of every data path inside the shell, of a memory channel and of a
// page-table set. A *burst* is 1 to 64 rows that never cross a 4 KiB boundary, so that one
// translation serves all of it. docs/architecture.md explains the formats.

// An importer uses a part of a package.
// verilator lint_off UNUSEDPARAM
package tmb_pkg;

  // ---------------------------------------------------------------------------------------------
  // Geometry
  // ---------------------------------------------------------------------------------------------

  localparam int unsigned RowBits = 512;
  localparam int unsigned RowBytes = RowBits / 8;
  localparam int unsigned RowOffsetWidth = $clog2(RowBytes);

  // Rows of the largest burst: one 4 KiB page.
  localparam int unsigned MaxBurstRows = 64;
  localparam int unsigned BurstLenWidth = $clog2(MaxBurstRows);

  // The smallest page, and the granule of frame numbers.
  localparam int unsigned MinPageBits = 12;

  localparam int unsigned VirtAddrWidth = 48;
  localparam int unsigned FrameWidth = 25;
  // 128 GiB of card memory (or of host memory reached over PCIe).
  localparam int unsigned CardAddrWidth = FrameWidth + MinPageBits;
  localparam int unsigned HostAddrWidth = 64;

  typedef logic [VirtAddrWidth-1:0] virt_addr_t;
  typedef logic [CardAddrWidth-1:0] card_addr_t;
  typedef logic [HostAddrWidth-1:0] host_addr_t;
  typedef logic [FrameWidth-1:0] frame_t;
  typedef logic [RowBits-1:0] row_t;
  typedef logic [RowBytes-1:0] row_strobe_t;

  // Rows of a burst, minus one.
  typedef logic [BurstLenWidth-1:0] burst_len_t;

  localparam int unsigned AsidWidth = 4;
  typedef logic [AsidWidth-1:0] asid_t;

  // log2(page bytes) - MinPageBits: 0 = 4 KiB, 9 = 2 MiB, 18 = 1 GiB.
  localparam int unsigned SizeClassWidth = 5;
  localparam int unsigned MaxSizeClass = 18;
  typedef logic [SizeClassWidth-1:0] size_class_t;

  // ---------------------------------------------------------------------------------------------
  // Page table
  // ---------------------------------------------------------------------------------------------

  // Where a page is now.
  typedef enum logic [2:0] {
    TargetNone = 3'd0,
    TargetCard = 3'd1,
    TargetHost = 3'd2,
    TargetDirectory = 3'd3,
    TargetRemote = 3'd4
  } target_e;

  // A table has at least 2^10 sets, and the tag omits the index bits.
  localparam int unsigned MinTableSetsLog2 = 10;
  localparam int unsigned TableTagWidth = VirtAddrWidth - MinPageBits - MinTableSetsLog2;
  localparam int unsigned TableWays = 8;

  // One 64-bit entry; eight of them make a set, which is one row. Entry 0 is in the low bits.
  typedef struct packed {
    logic [TableTagWidth-1:0] tag;         // [63:38] page number, index bits dropped
    frame_t                   frame;       // [37:13] in units of 4 KiB
    size_class_t              size_class;  // [12:8]
    target_e                  target;      // [7:5]
    logic                     dirty;       // [4]
    logic                     accessed;    // [3]
    logic                     write;       // [2]
    logic                     read;        // [1]
    logic                     valid;       // [0]
  } page_entry_t;

  typedef page_entry_t [TableWays-1:0] page_set_t;

  // With a host channel the upper half of the card's addresses is the *host window*: a window onto the
  // lower half of the host addresses that an entry can name. Card memory lies in the lower half.
  localparam int unsigned HostWindowBit = CardAddrWidth - 1;

  // Whether the shell can reach where an entry points to. upper_half: the top bit of its frame.
  function automatic logic reachable(target_e target, logic upper_half, bit host_channel);
    if (!host_channel) return target == TargetCard;
    return (target == TargetCard || target == TargetHost) && !upper_half;
  endfunction

  // The card's frame of an entry that can be reached: one of the window for a page in host memory.
  function automatic frame_t card_frame(frame_t frame, target_e target, bit host_channel);
    frame_t window;
    window = frame_t'(host_channel && target == TargetHost) << (FrameWidth - 1);
    return frame | window;
  endfunction

  // An address space, for the translator.
  typedef struct packed {
    logic                      enable;
    card_addr_t                table_base;       // aligned to the table's size
    logic [4:0]                table_sets_log2;  // >= MinTableSetsLog2
    logic [MaxSizeClass:0]     size_classes;     // bit k: pages of size class k may exist
    logic                      l1_off;           // every lookup goes to the table
    logic                      walker_off;       // what misses in the L1 TLBs is a fault
  } space_cfg_t;

  // ---------------------------------------------------------------------------------------------
  // Commands to the page table, and their answers
  // ---------------------------------------------------------------------------------------------

  typedef enum logic [2:0] {
    TableInstall = 3'd0,    // write an entry; same page present: replaced
    TableInvalidate = 3'd1, // remove the entry, with the whole invalidation sequence
    TableProtect = 3'd2,    // clear W and dirty, with the whole invalidation sequence
    TableReadClear = 3'd3,  // report accessed and dirty, clear accessed (dirty stays)
    TableGrow = 3'd4        // move the table to one of twice the size
  } table_op_e;

  typedef struct packed {
    table_op_e   op;
    asid_t       asid;
    virt_addr_t  addr;       // page-aligned; TableGrow: the new table's card address
    page_entry_t entry;      // size_class always; the rest only for TableInstall; tag is ignored
    logic [4:0]  sets_log2;  // TableGrow: of the new table
  } table_cmd_t;

  // A table has grown: its space's registers follow.
  typedef struct packed {
    logic       valid;
    asid_t      asid;
    card_addr_t table_base;
    logic [4:0] table_sets_log2;
  } table_switch_t;

  typedef enum logic [1:0] {
    TableOk = 2'd0,
    TableAbsent = 2'd1,   // no such entry
    TableSetFull = 2'd2,  // no free way; the pager must invalidate one of the set first
    TableRefused = 2'd3   // space not enabled, size class not in use, misaligned address
  } table_status_e;

  typedef struct packed {
    table_status_e status;
    logic          accessed;
    logic          dirty;
  } table_rsp_t;

  // ---------------------------------------------------------------------------------------------
  // Faults
  // ---------------------------------------------------------------------------------------------

  // Requesters: port p of the card has read requester 2p and write requester 2p+1.
  localparam int unsigned RequesterIdWidth = 8;
  localparam int unsigned ParkIndexWidth = 6;

  // Names one parked burst; the host hands it back in the reply.
  typedef struct packed {
    logic [RequesterIdWidth-1:0]  requester;
    logic [ParkIndexWidth-1:0] index;
  } park_token_t;

  typedef enum logic [1:0] {
    FaultAbsent = 2'd0,      // no entry
    FaultPermission = 2'd1,  // entry without the right that the access needs
    FaultTarget = 2'd2       // the entry's target cannot be reached by this shell
  } fault_cause_e;

  typedef struct packed {
    fault_cause_e cause;
    asid_t        asid;
    logic         write;
    logic         ahead;  // found by look-ahead: an older burst of the requester waits too
    virt_addr_t   addr;   // first byte of the burst
    park_token_t  token;
  } fault_t;

  // Faults between the parks and the event writer (tmb_fault_queue).
  localparam int unsigned FaultQueueDepth = 4;

  // `fail` ends the burst with an error response. Otherwise `entry` translates it, without a look
  // at the table; tag and valid are ignored.
  typedef struct packed {
    park_token_t token;
    logic        fail;
    page_entry_t entry;
  } fault_reply_t;

  // ---------------------------------------------------------------------------------------------
  // Striping
  // ---------------------------------------------------------------------------------------------

  // How the card addresses of a space are spread over channels: over 2^channels_log2 neighbouring
  // channels, 2^granule_log2 bytes on each in turn. channels_log2 = 0: addresses are not striped.
  // docs/architecture.md, Striping. Legal: MinGranuleLog2 <= granule_log2 <= ChannelBytesLog2.
  localparam int unsigned MinGranuleLog2 = RowOffsetWidth;
  typedef struct packed {
    logic [2:0] channels_log2;
    logic [4:0] granule_log2;
  } stripe_t;

  // ---------------------------------------------------------------------------------------------
  // Requests to card memory (the seam between sources of addresses and the fabric)
  // ---------------------------------------------------------------------------------------------

  // The requester's own note; comes back with the response.
  localparam int unsigned MemTagWidth = 16;
  typedef logic [MemTagWidth-1:0] mem_tag_t;

  // A row stands last in every structure, at bit 0, so that simulators move it in whole words.

  // Reads and writes have the same request. Rows [addr, addr + 64*(len+1)) stay in one 4 KiB block;
  // addr is row-aligned. A write request is sent only when all its rows are ready to follow without
  // waiting; a read request only when the requester has room for all its rows.
  typedef struct packed {
    card_addr_t addr;
    burst_len_t len;
    mem_tag_t   tag;
  } mem_req_t;

  // One row of a read response. Rows of a burst arrive in order (index 0..len); bursts of one
  // requester arrive in order on a channel, in any order across channels.
  typedef struct packed {
    mem_tag_t   tag;
    burst_len_t index;
    logic       last;
    logic       error;
    row_t       row;
  } mem_read_rsp_t;

  typedef struct packed {
    logic        last;
    row_strobe_t strobe;
    row_t        row;
  } mem_write_data_t;

  typedef struct packed {
    mem_tag_t tag;
    logic     error;
  } mem_write_rsp_t;

  // ---------------------------------------------------------------------------------------------
  // Configuration of a shell
  // ---------------------------------------------------------------------------------------------

  typedef enum logic [1:0] {
    TranslatorPaged = 2'd0,    // L1 TLB, walker, faults
    TranslatorIdentity = 2'd1, // virtual address = card address (the physical baseline)
    // AmorphOS: L1[0].Ways segments a lane, MaxWalks 0, and a slot's bursts leave row by row
    TranslatorSegment = 2'd2
  } translator_e;

  // One L1 TLB of an address lane.
  typedef struct packed {
    int unsigned PageBits;  // log2(page bytes), 12 .. 30
    int unsigned SetsLog2;
    int unsigned Ways;      // 0: there is none
  } l1_cfg_t;

  localparam int unsigned MaxL1s = 4;
  localparam l1_cfg_t NoL1 = '{PageBits: 12, SetsLog2: 0, Ways: 0};
  // Those that exist come first, smallest pages first.
  typedef l1_cfg_t [MaxL1s-1:0] l1_cfgs_t;

  // How a shared resource chooses (tmb_arbiter).
  typedef enum logic [1:0] {
    ArbiterPreferred = 2'd0,   // one first, but bounded
    ArbiterWeighted = 2'd1,    // turns by weight
    ArbiterRoundRobin = 2'd2
  } arbiter_policy_e;

  // One arbiter (tmb_arbiter).
  typedef struct packed {
    arbiter_policy_e Policy;
    int unsigned Preferred;  // requester; without meaning for ArbiterRoundRobin
    int unsigned Share;      // its grants in a row, or in a round: 1 .. 15
  } arbiter_cfg_t;

  localparam arbiter_cfg_t DefaultArbiterCfg = '{Policy: ArbiterPreferred, Preferred: 0, Share: 4};

  // The directory of a shell that keeps a CPU's copies of lines coherent (tmb_directory, tmb_home).
  typedef struct packed {
    int unsigned Slices;         // link channel pairs; 0: there is no directory
    int unsigned UnitsPerSlice;
    int unsigned SetsPerUnit;
    int unsigned Ways;
  } directory_cfg_t;

  localparam directory_cfg_t NoDirectory = '{Slices: 0, UnitsPerSlice: 2, SetsPerUnit: 2, Ways: 2};

  // Every line of a CPU cache of 16 MiB.
  localparam directory_cfg_t DefaultDirectoryCfg =
      '{Slices: 2, UnitsPerSlice: 32, SetsPerUnit: 128, Ways: 16};

  // The card's cache of lines whose home is the CPU, one each slice of the link (tmb_host_lines); needs a directory.
  typedef struct packed {
    int unsigned Sets;       // 0: there is no cache
    int unsigned Ways;
    int unsigned HoldLimit;  // cycles that a hold lasts once another agent wants the line
  } cache_cfg_t;

  localparam cache_cfg_t NoCache = '{Sets: 0, Ways: 2, HoldLimit: 1};
  localparam cache_cfg_t DefaultCacheCfg = '{Sets: 64, Ways: 4, HoldLimit: 1024};

  typedef struct packed {
    int unsigned NumSlots;
    int unsigned PortsPerSlot;      // of virtual memory: AXI4 ports, and one for each stream pair
    int unsigned StreamsPerSlot;    // stream pairs (one in, one out): the last ports of each slot
    int unsigned NetworkPairs;      // stream pairs that lead to network interfaces; need stream pairs
    int unsigned TidWidth;          // bits of TID carried between kernels; 0: none
    int unsigned TdestWidth;        // bits of TDEST, likewise
    int unsigned NumChannels;       // a power of two
    int unsigned ChannelBytesLog2;  // card memory of one channel
    int unsigned NumSpaces;         // ASIDs 0 .. NumSpaces-1
    int unsigned NumQueues;         // command queues, 1 .. 17
    arbiter_policy_e ChannelPolicy; // of memory channels; the DMA engine is the preferred one
    int unsigned DmaShare;          // its grants in a row, or in a round
    translator_e Translator;
    int unsigned NumLanes;          // address lanes, a power of two that divides the requesters
    l1_cfgs_t    L1;                // L1 TLBs of a lane; none: the walker alone (DRAM TLB)
    int unsigned ParkDepth;         // bursts a requester may hold, at most 64
    int unsigned MaxWalks;          // walks in flight; 0: no walker (SRAM TLB)
    int unsigned FilterLog2;        // log2(counters) of a space's size-class filter; 0: none
    int unsigned LookAhead;         // faults a requester may report beyond its oldest
    int unsigned ReadBufferRows;    // per port
    int unsigned WriteBufferRows;   // per port
    bit HostChannel;                // pages may lie in host memory (tmb_host_channel)
    directory_cfg_t Directory;
    cache_cfg_t Cache;
  } shell_cfg_t;

  localparam shell_cfg_t DefaultShellCfg = '{
      NumSlots: 1,
      PortsPerSlot: 2,
      StreamsPerSlot: 0,
      NetworkPairs: 0,
      TidWidth: 0,
      TdestWidth: 0,
      NumChannels: 2,
      ChannelBytesLog2: 34,
      NumSpaces: 4,
      NumQueues: 2,
      ChannelPolicy: ArbiterPreferred,
      DmaShare: 4,
      Translator: TranslatorPaged,
      NumLanes: 1,
      L1: '{
          0: '{PageBits: 12, SetsLog2: 8, Ways: 4},
          1: '{PageBits: 21, SetsLog2: 5, Ways: 2},
          default: NoL1
      },
      ParkDepth: 64,
      MaxWalks: 64,
      FilterLog2: 12,
      LookAhead: 8,
      ReadBufferRows: 512,
      WriteBufferRows: 256,
      HostChannel: 1'b0,
      Directory: NoDirectory,
      Cache: NoCache
  };

  // ---------------------------------------------------------------------------------------------
  // AXI4 at a slot port (the kernel is the manager)
  // ---------------------------------------------------------------------------------------------

  localparam int unsigned AxiIdWidth = 16;
  typedef logic [AxiIdWidth-1:0] axi_id_t;

  typedef enum logic [1:0] {
    AxiOkay = 2'b00,
    AxiExOkay = 2'b01,
    AxiSlvErr = 2'b10,
    AxiDecErr = 2'b11
  } axi_resp_e;

  typedef struct packed {
    axi_id_t     id;
    logic [63:0] addr;
    logic [7:0]  len;
    logic [2:0]  size;
    logic [1:0]  burst;
  } axi_ax_t;

  typedef struct packed {
    logic        last;
    row_strobe_t strb;
    row_t        data;
  } axi_w_t;

  typedef struct packed {
    axi_id_t   id;
    axi_resp_e resp;
    logic      last;
    row_t      data;
  } axi_r_t;

  typedef struct packed {
    axi_id_t   id;
    axi_resp_e resp;
  } axi_b_t;

  typedef struct packed {
    axi_ax_t aw;
    logic    aw_valid;
    logic    w_valid;
    logic    b_ready;
    axi_ax_t ar;
    logic    ar_valid;
    logic    r_ready;
    axi_w_t  w;
  } axi_req_t;

  typedef struct packed {
    logic   aw_ready;
    logic   w_ready;
    axi_b_t b;
    logic   b_valid;
    logic   ar_ready;
    logic   r_valid;
    axi_r_t r;
  } axi_rsp_t;

  // ---------------------------------------------------------------------------------------------
  // Events counted per port: pulses, in the order of the counters' registers, the first at bit 0
  // ---------------------------------------------------------------------------------------------

  typedef struct packed {
    logic retry;        // lookup repeated (after a fault or an invalidation)
    logic fault;        // fault reported to the host
    logic walk_miss;    // walk that did not
    logic walk_hit;     // walk that found an entry with the right
    logic lookup_miss;  // L1 TLB miss
    logic lookup_hit;   // L1 TLB hit
  } port_events_t;

  // ---------------------------------------------------------------------------------------------
  // Page-number arithmetic of the table (shared by walker and table engine)
  // ---------------------------------------------------------------------------------------------

  localparam int unsigned PageNumberWidth = VirtAddrWidth - MinPageBits;
  typedef logic [PageNumberWidth-1:0] page_number_t;

  function automatic page_number_t page_number(virt_addr_t addr, size_class_t size_class);
    return page_number_t'(addr >> (MinPageBits + 32'(size_class)));
  endfunction

  // Page number without the index bits. At least MinTableSetsLog2 bits drop out, so the rest fits.
  function automatic logic [TableTagWidth-1:0] page_tag(page_number_t number,
                                                        logic [4:0] sets_log2);
    return TableTagWidth'(number >> sets_log2);
  endfunction

endpackage
// verilator lint_on UNUSEDPARAM
