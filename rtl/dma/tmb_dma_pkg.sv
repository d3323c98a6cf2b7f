// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Types of the DMA block: commands, completions, and the host side of the shell.
// docs/architecture.md has the formats of the two rings.

// An importer uses a part of a package.
// verilator lint_off UNUSEDPARAM
package tmb_dma_pkg;

  import tmb_pkg::*;

  // ---------------------------------------------------------------------------------------------
  // Host memory, AXI4: 512 bits, INCR, whole rows, bursts of at most 64 rows inside 4 KiB
  // ---------------------------------------------------------------------------------------------

  // One ID a user, so that answers are told apart; each user gets its answers in order.
  typedef enum logic [3:0] {
    HostIdCommand = 4'd0,
    HostIdCopyIn = 4'd1,
    HostIdCopyOut = 4'd2,
    HostIdEvent = 4'd3,
    HostIdDirect = 4'd4   // pages in host memory
  } host_id_e;

  typedef struct packed {
    host_addr_t addr;
    burst_len_t len;
  } host_ax_t;

  typedef struct packed {
    logic last;
    logic error;
    row_t row;
  } host_r_t;

  typedef struct packed {
    logic last;
    row_t row;
  } host_w_t;

  // Requests for pages in host memory, and their answers, which are always taken.
  typedef struct packed {
    logic            ar_valid;
    host_ax_t        ar;
    logic            aw_valid;
    host_ax_t        aw;
    logic            w_valid;
    mem_write_data_t w;
  } direct_req_t;

  typedef struct packed {
    logic    ar_ready;
    logic    aw_ready;
    logic    w_ready;
    logic    b_valid;
    logic    b_error;
    logic    r_valid;
    host_r_t r;
  } direct_rsp_t;

  // ---------------------------------------------------------------------------------------------
  // Commands
  // ---------------------------------------------------------------------------------------------

  typedef enum logic [7:0] {
    OpNop = 8'h00,
    OpCopyIn = 8'h01,
    OpCopyOut = 8'h02,
    OpZero = 8'h03,
    OpInstall = 8'h10,
    OpInvalidate = 8'h11,
    OpProtect = 8'h12,
    OpReadClear = 8'h13,
    OpGrow = 8'h14,
    OpFaultReply = 8'h20
  } opcode_e;

  // Words 0 to 4 of a command as they lie in its row; the rest of the row is reserved.
  typedef struct packed {
    logic [191:0] reserved5;
    logic [31:0]  reserved4;
    stripe_t      stripe;    // word 4
    logic [6:0]   reserved6;
    logic         fail;
    logic [7:0]   requester;
    logic [1:0]   reserved3;
    logic [5:0]   index;
    logic [63:0]  length;    // word 3
    logic [63:0]  operand;   // word 2
    logic [63:0]  addr;      // word 1
    logic [31:0]  id;        // word 0
    logic [11:0]  reserved2;
    logic [3:0]   asid;
    logic [5:0]   reserved1;
    logic         notify;
    logic         fence;
    logic [7:0]   opcode;
  } command_row_t;

  // Longest copy: 2^30 bytes.
  localparam int unsigned MaxCopyBytesLog2 = 30;
  localparam int unsigned RowCountWidth = MaxCopyBytesLog2 - RowOffsetWidth + 1;
  typedef logic [RowCountWidth-1:0] row_count_t;

  // Who does the work.
  typedef enum logic [2:0] {
    UnitNone = 3'd0,
    UnitCopyIn = 3'd1,
    UnitCopyOut = 3'd2,
    UnitZero = 3'd3,
    UnitTable = 3'd4
  } unit_e;

  // How the work ended.
  typedef enum logic [7:0] {
    StatusOk = 8'd0,
    StatusAbsent = 8'd1,
    StatusSetFull = 8'd2,
    StatusRefused = 8'd3,
    StatusBusError = 8'd4
  } status_e;

  // Command queues, at most 17: one a slot, and one for what belongs to none.
  localparam int unsigned QueueWidth = 5;
  typedef logic [QueueWidth-1:0] queue_t;

  // A command under way, until it completes.
  typedef struct packed {
    queue_t      queue_id;
    logic        notify;
    logic [31:0] id;
  } note_t;

  // A checked command. Status other than StatusOk: it is answered so, and nothing is done; its unit is
  // UnitNone then.
  typedef struct packed {
    status_e     status;
    unit_e       unit;
    logic        fence;
    note_t       note;
    opcode_e     opcode;
    asid_t       asid;
    virt_addr_t  addr;     // card address of copies, virtual address of table commands
    logic [63:0] operand;  // host address of copies, page entry of table commands
    row_count_t  rows;
    stripe_t     stripe;   // of the card address of copies
    logic [4:0]  sets_log2;  // of the table that OpGrow makes
    park_token_t token;
    logic        fail;
  } command_t;

  // The same for a copy unit.
  typedef struct packed {
    note_t      note;
    card_addr_t card_addr;
    stripe_t    stripe;
    host_addr_t host_addr;
    row_count_t rows;
  } copy_t;

  // A part of a copy that is one burst on both sides.
  typedef struct packed {
    note_t      note;
    logic       last;  // of its command
    card_addr_t card_addr;
    stripe_t    stripe;
    host_addr_t host_addr;
    burst_len_t len;
  } chunk_t;

  // A request to the card, with how its address is striped.
  typedef struct packed {
    mem_req_t req;
    stripe_t  stripe;
  } card_req_t;

  typedef struct packed {
    logic [31:0] id;
    status_e     status;
    logic        accessed;
    logic        dirty;
  } completion_t;

  // ---------------------------------------------------------------------------------------------
  // Events
  // ---------------------------------------------------------------------------------------------

  typedef enum logic [7:0] {
    EventCompletion = 8'd1,
    EventFault = 8'd2,
    EventInterrupt = 8'd3,
    EventSlotClosed = 8'd4,
    EventTransfer = 8'd5,
    EventDirectory = 8'd6
  } event_e;

  // ---------------------------------------------------------------------------------------------
  // Units
  // ---------------------------------------------------------------------------------------------

  // Bursts that a copy unit follows at the same time.
  localparam int unsigned MaxBursts = 64;
  localparam int unsigned BurstIndexWidth = $clog2(MaxBursts);
  typedef logic [BurstIndexWidth-1:0] burst_index_t;

  // Event records on their way to the host: sent and not accepted.
  localparam int unsigned MaxRecords = 64;

  // Ring of commands or records in host memory.
  typedef struct packed {
    host_addr_t  base;
    logic [4:0]  size_log2;
    logic [31:0] host_count;  // the host's free-running count: written commands, consumed records
  } ring_t;

endpackage
// verilator lint_on UNUSEDPARAM
