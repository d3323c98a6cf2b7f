// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Types of the cache controller: the application's port, and what moves inside.
//
// Lines, link header and address fold are those of the directory (tmb_directory_pkg).
//
// Source: CCKit, sections 3.3 and 4.2 (the remote agent).

// An importer uses a part of a package.
// verilator lint_off UNUSEDPARAM
package tmb_cache_controller_pkg;

  import tmb_pkg::*;
  import tmb_mesi_protocol_pkg::*;
  import tmb_directory_pkg::*;

  // An access keeps its tag until it is answered; the tag is also the request ID on the link.
  localparam int unsigned AccessTagWidth = RequestIdWidth;
  localparam int unsigned NumAccessTags = 1 << AccessTagWidth;
  typedef logic [AccessTagWidth-1:0] access_tag_t;

  localparam int unsigned HoldIndexWidth = 3;
  localparam int unsigned NumHolds = 1 << HoldIndexWidth;
  typedef logic [HoldIndexWidth-1:0] hold_index_t;
  typedef logic [NumHolds-1:0] holds_t;

  // Lines that arrive from the home and are not yet in the cache.
  localparam int unsigned FillDepth = 8;
  localparam int unsigned FillIndexWidth = $clog2(FillDepth);
  // Messages to the home without and with data, in the queues behind the pipeline.
  localparam int unsigned HeaderDepth = 16;
  localparam int unsigned LineDepth = 8;

  typedef enum logic [2:0] {
    AccessLoad = 3'd0,     // answers with the row
    AccessStore = 3'd1,    // writes the bytes of the strobe
    AccessAcquire = 3'd2,  // makes the line exclusive and holds it; answers with the row and the hold
    AccessRelease = 3'd3,  // ends a hold
    AccessEvict = 3'd4,    // gives the line up, with its data if they changed
    AccessSweep = 3'd5     // of the shell: gives up every line of a set (in place of a line: its number) that is not
                           // held or under way
  } access_e;

  typedef struct packed {
    access_e     access;
    logic        held;    // load or store: only if the hold below still stands
    hold_index_t hold;    // of a held load or store, and of a release
    access_tag_t tag;     // not in use by another access of this controller
    line_t       line;    // plain
    logic        second;  // which row of the line
    row_t        row;     // of a store
    row_strobe_t strobe;
  } access_req_t;

  typedef enum logic [1:0] {
    StatusOk = 2'd0,
    StatusLost = 2'd1,    // the hold was broken: nothing was done. Release: it had been broken
    StatusRefused = 2'd2  // Acquire: all holds are in use; the line is not held. Release: no such hold
  } status_e;

  typedef struct packed {
    access_tag_t tag;
    status_e     status;
    hold_index_t hold;  // of an acquire
    row_t        row;   // of a load or an acquire
  } access_rsp_t;

  // An access until it is answered, by tag.
  typedef struct packed {
    access_e     access;
    logic        second;
    row_t        row;
    row_strobe_t strobe;
  } pending_t;

  // Both rows of a line, the first below.
  typedef row_t [LineRows-1:0] line_rows_t;

  // A message with the line's data.
  typedef struct packed {
    link_header_t header;
    line_rows_t   rows;
  } link_line_t;

  // State and kind of an unexpected event (ErrorUnexpected).
  typedef struct packed {
    cache_state_e state;
    cache_event_e kind;
  } cache_error_t;

  // Counted events.
  typedef struct packed {
    logic hit;        // a load or a store that needed no message
    logic request;    // a request to the home
    logic forward;    // a forward of the home was answered
    logic eviction;   // a line gave its place to another
    logic broken;     // a hold was broken
  } cache_events_t;

endpackage
// verilator lint_on UNUSEDPARAM
