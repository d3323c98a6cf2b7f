// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Types of the directory controller: what crosses the link, the application's side and the units.
//
// The link's 64-bit header and the address fold are those of Enzian (docs/blocks/directory.md). An
// address on the link is *folded* (the CPU's cache index); the application and memory use *plain*
// addresses. Both number lines of 128 bytes.
//
// Source: CCKit, sections 3.3, 4.1 and 4.3; the public documentation of Enzian's link.

// An importer uses a part of a package.
// verilator lint_off UNUSEDPARAM
package tmb_directory_pkg;

  import tmb_pkg::*;
  import tmb_mesi_protocol_pkg::*;

  // ---------------------------------------------------------------------------------------------
  // Lines
  // ---------------------------------------------------------------------------------------------

  localparam int unsigned LineBytes = 128;
  localparam int unsigned LineOffsetWidth = $clog2(LineBytes);
  localparam int unsigned LinkAddrWidth = 40;
  localparam int unsigned LineWidth = LinkAddrWidth - LineOffsetWidth;
  // A line is two rows; every data path moves a row a cycle.
  localparam int unsigned LineRows = LineBytes / RowBytes;
  // Parts of a line that are written separately.
  localparam int unsigned NumParts = 4;
  localparam int unsigned PartBytes = LineBytes / NumParts;

  typedef logic [LineWidth-1:0] line_t;
  typedef logic [NumParts-1:0] dmask_t;

  // Plain line number to folded one: spreads regular strides over the units. A bijection.
  function automatic line_t fold_line(line_t plain);
    line_t folded;
    folded = plain;
    folded[12:8] = plain[12:8] ^ plain[17:13];
    folded[7:5] = plain[7:5] ^ plain[20:18];
    folded[4:3] = plain[4:3] ^ plain[17:16] ^ plain[6:5];
    folded[2:0] = plain[2:0] ^ plain[15:13] ^ plain[7:5];
    return folded;
  endfunction

  // The inverse of fold_line.
  function automatic line_t unfold_line(line_t folded);
    line_t plain;
    plain = folded;
    plain[12:8] = folded[12:8] ^ folded[17:13];
    plain[7:5] = folded[7:5] ^ folded[20:18];
    plain[4:3] = folded[4:3] ^ folded[17:16] ^ plain[6:5];
    plain[2:0] = folded[2:0] ^ folded[15:13] ^ plain[7:5];
    return plain;
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Link
  // ---------------------------------------------------------------------------------------------

  // The CPU keeps the IDs of its outstanding requests apart, by class and slice.
  // Enzian's header has five bits for one, and our CPU as many; +define+TMB_REQUEST_ID_WIDTH=6 takes one
  // of the reserved bits above them. 6 at most: a buffer's index has as many bits as an operation's tag.
`ifdef TMB_REQUEST_ID_WIDTH
  localparam int unsigned RequestIdWidth = `TMB_REQUEST_ID_WIDTH;
`else
  localparam int unsigned RequestIdWidth = 5;
`endif
  localparam int unsigned NumRequestIds = 1 << RequestIdWidth;
  typedef logic [RequestIdWidth-1:0] request_id_t;

  typedef struct packed {
    message_e                 message;    // [63:59]
    logic                     poisoned;   // [58] the holder of the line answered with an error: no data
    logic [7-RequestIdWidth:0] reserved_h; // [57:55]
    request_id_t              id;         // [54:50] of a request and of what answers it
    dmask_t                   dmask;      // [49:46] parts that the payload holds
    logic                     non_secure; // [45]
    logic [4:0]               reserved_l; // [44:40]
    logic [LinkAddrWidth-1:0] addr;       // [39:0] folded
  } link_header_t;

  // One row of a message with payload; the header accompanies every row.
  typedef struct packed {
    link_header_t header;
    row_t         row;
    logic         last;
  } link_data_t;

  // ---------------------------------------------------------------------------------------------
  // Local operations of the application
  // ---------------------------------------------------------------------------------------------

  localparam int unsigned OperationTagWidth = 6;
  localparam int unsigned NumOperationTags = 1 << OperationTagWidth;
  typedef logic [OperationTagWidth-1:0] operation_tag_t;

  typedef enum logic [2:0] {
    OperationClean = 3'd0,            // the CPU keeps at most a shared copy; memory is up to date
    OperationCleanInvalidate = 3'd1,  // the CPU keeps nothing; memory is up to date
    OperationLock = 3'd2,             // the same, and the CPU gets nothing until the unlock
    OperationUnlock = 3'd3,
    OperationRead = 3'd4,             // coherent read
    OperationWrite = 3'd5             // coherent write
  } operation_e;

  // A write takes two of these, with the line's rows; every other operation one, with `last`.
  typedef struct packed {
    operation_e     operation;
    operation_tag_t tag;    // not in use by another operation of this slice
    line_t          line;   // plain
    dmask_t         dmask;  // parts to write
    row_t           row;
    logic           last;
  } operation_req_t;

  // The answer to a read takes two of these, every other answer one.
  typedef struct packed {
    operation_tag_t tag;
    row_t           row;
    logic           last;
  } operation_rsp_t;

  // The protocol's event for an operation.
  function automatic home_event_e event_of_operation(operation_e operation);
    case (operation)
      OperationClean: return HomeEvOpClean;
      OperationCleanInvalidate: return HomeEvOpCleanInvalidate;
      OperationLock: return HomeEvOpLock;
      OperationUnlock: return HomeEvOpUnlock;
      OperationRead: return HomeEvOpRead;
      default: return HomeEvOpWrite;
    endcase
  endfunction

  // Whether an operation on a line without copies and without lock changes nothing and needs no
  // memory: it is acknowledged without a place in the directory.
  function automatic logic idle_stays_idle(home_event_e event_in);
    return event_in inside {HomeEvOpClean, HomeEvOpCleanInvalidate, HomeEvOpUnlock};
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Between slice and units
  // ---------------------------------------------------------------------------------------------

  // Index into a payload buffer, and name of a request or of an operation.
  localparam int unsigned PayloadIndexWidth = 5;
  localparam int unsigned NumPayloads = 1 << PayloadIndexWidth;
  typedef logic [PayloadIndexWidth-1:0] payload_index_t;

  // Which buffer holds the payload of a write.
  typedef enum logic [1:0] {
    PayloadResponse = 2'd0,   // by payload index
    PayloadRequest = 2'd1,    // by request ID
    PayloadOperation = 2'd2   // by operation tag
  } payload_source_e;

  // An access to memory.
  typedef struct packed {
    axi_id_t id;    // {unit, set, way}
    line_t   line;  // plain
  } memory_access_t;

  typedef struct packed {
    payload_source_e source;
    operation_tag_t  index;  // in the buffer
    memory_access_t  access;
  } memory_write_t;

  // AXI4 address of a line: two full rows.
  function automatic axi_ax_t address_of(memory_access_t access);
    return '{id: access.id, addr: 64'({access.line, LineOffsetWidth'(0)}),
             len: 8'(LineRows - 1), size: 3'(RowOffsetWidth), burst: 2'b01};
  endfunction

  // Errors that a slice, or a cache controller, reports.
  typedef enum logic [1:0] {
    ErrorUnexpected = 2'd0,  // the protocol does not know this event in the line's state
    ErrorTimeout = 2'd1,     // a request, an operation or an access takes too long
    ErrorMemory = 2'd2,      // memory answered a read with an error
    ErrorWrite = 2'd3        // memory answered a write with an error: what was written is lost
  } error_cause_e;

  typedef struct packed {
    error_cause_e cause;
    logic [15:0]  info;  // Unexpected: state and event. Timeout: operation?, ID or tag
  } error_t;

  // Counted events.
  typedef struct packed {
    logic request;
    logic operation;
    logic forward;
    logic read;
    logic write;
  } slice_events_t;

endpackage
// verilator lint_on UNUSEDPARAM
