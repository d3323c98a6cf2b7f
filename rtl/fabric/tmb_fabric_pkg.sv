// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Types of the fabric: what passes between a channel and its memory controller, and between the
// stripe stages and the channels.

// Whoever imports a package uses a part of it.
// verilator lint_off UNUSEDPARAM
package tmb_fabric_pkg;

  import tmb_pkg::*;

  // Address phase of a read or a write: INCR, 64 bytes a beat. One ID, so none is named.
  typedef struct packed {
    logic [63:0] addr;  // offset within the channel
    logic [7:0]  len;
  } channel_ax_t;

  typedef struct packed {
    logic last;
    logic error;
    row_t row;
  } channel_r_t;

  // Rows that the host channel has asked for and not passed on: 32 KiB, 2 us of the link.
  localparam int unsigned HostReadRows = 512;

  // Bursts of one requester that are cut and not complete.
  localparam int unsigned MaxCuts = 32;
  typedef logic [$clog2(MaxCuts)-1:0] cut_id_t;

  // Which cut burst a piece belongs to. `valid` = 0: the piece is the whole burst.
  typedef struct packed {
    logic    valid;
    cut_id_t id;
  } cut_t;

  // A part of a burst that lies on one channel.
  typedef struct packed {
    card_addr_t addr;   // {channel, offset}
    burst_len_t len;
    mem_tag_t   tag;
    burst_len_t index;  // of its first row in the burst
    cut_t       cut;
  } piece_t;

  // `rsp.last` is the last row of the piece.
  typedef struct packed {
    cut_t          cut;
    mem_read_rsp_t rsp;
  } piece_row_t;

  typedef struct packed {
    mem_write_rsp_t rsp;
    cut_t           cut;
  } piece_done_t;

endpackage
// verilator lint_on UNUSEDPARAM
