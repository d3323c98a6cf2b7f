// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Types of the fabric: what passes between a channel and its memory controller, and between the
// stripe stages and the channels.

// An importer uses a part of a package.
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

  // Channels of the fabric. Card address = {channel, offset}.
  typedef struct packed {
    int unsigned NumChannels;       // memory channels; the host channel is behind them
    int unsigned ChannelBytesLog2;  // where the channel number starts in the address
    bit HostChannel;                // there is one: requests in the host window are for it
  } channels_cfg_t;

  localparam channels_cfg_t DefaultChannelsCfg =
      '{NumChannels: 2, ChannelBytesLog2: 34, HostChannel: 1'b0};

  // Requesters of the fabric, at most MaxRequesters of each kind.
  localparam int unsigned MaxRequesters = 2 ** RequesterIdWidth;
  typedef struct packed {
    int unsigned NumReaders;
    int unsigned NumWriters;
    int unsigned PreferredReader;  // the DMA engine among them
    int unsigned PreferredWriter;
    int unsigned NumSlots;         // the first NumSlots x PortsPerSlot readers and writers are ports of
    int unsigned PortsPerSlot;     // slots, which the host schedules and limits. NumSlots = 0: none
    logic [MaxRequesters-1:0] StripedReaders;  // their addresses may be striped; the others' requests
    logic [MaxRequesters-1:0] StripedWriters;  // pass without the stripe stage's cycle
  } requesters_cfg_t;

  // Without slots: every address may be striped, the last reader and the last writer are preferred.
  function automatic requesters_cfg_t unscheduled(int unsigned readers, int unsigned writers);
    return '{
        NumReaders: readers,
        NumWriters: writers,
        PreferredReader: readers - 1,
        PreferredWriter: writers - 1,
        NumSlots: 0,
        PortsPerSlot: 1,
        StripedReaders: '1,
        StripedWriters: '1
    };
  endfunction

  // One channel (tmb_channel).
  typedef struct packed {
    arbiter_policy_e Policy;  // which requester goes first (tmb_arbiter)
    int unsigned Share;       // of the preferred one
    int unsigned BytesLog2;   // offsets in the channel
    int unsigned MaxReads;    // bursts outstanding: more than a controller takes, so that those on their
    int unsigned MaxWrites;   // way back leave no place of its queue empty
    int unsigned MaxReadRows; // reads leave while no more rows than this are outstanding
  } channel_cfg_t;

  localparam channel_cfg_t DefaultChannelCfg = '{
      Policy: ArbiterPreferred,
      Share: 4,
      BytesLog2: 34,
      MaxReads: 64,
      MaxWrites: 32,
      MaxReadRows: 128
  };

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
