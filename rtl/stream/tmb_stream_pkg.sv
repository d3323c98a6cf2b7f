// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Types of the stream ports of a slot, and of the movers behind them.

// An importer uses a part of a package.
// verilator lint_off UNUSEDPARAM
package tmb_stream_pkg;

  import tmb_pkg::*;

  // One beat of AXI4-Stream. The kept bytes are the first ones: TKEEP has no hole.
  typedef struct packed {
    row_t        data;
    row_strobe_t keep;
    logic        last;  // ends a packet
  } stream_beat_t;

  // Most bits of TID, and of TDEST, that a shell carries between kernels.
  localparam int unsigned MaxTidWidth = 16;
  localparam int unsigned MaxTdestWidth = 16;

  typedef virt_addr_t byte_count_t;

  // A transfer between memory and a stream.
  typedef struct packed {
    virt_addr_t  addr;   // of the first byte, any alignment
    byte_count_t bytes;  // to move; out of the kernel: at most
    logic        last;   // into the kernel: the last beat carries TLAST
    logic        stop;   // out of the kernel, one cycle: the transfer under way ends as if its range were full
  } mover_command_t;

  typedef enum logic [1:0] {
    MoverOk = 2'd0,
    MoverAccess = 2'd1,  // an access to memory ended with an error
    MoverKeep = 2'd2,    // the kernel sent a beat whose TKEEP has a hole
    MoverNetwork = 2'd3  // of a network interface: its peer does not answer, or refuses
  } mover_status_e;

  // How a transfer ended.
  typedef struct packed {
    byte_count_t   bytes;  // moved
    logic          last;   // with TLAST
    mover_status_e status;
  } mover_done_t;

  // State of a mover.
  typedef struct packed {
    logic        busy;
    logic        valid;  // TVALID of its stream; out of the kernel: a beat of it waits in the shell
    logic        ready;  // TREADY
    byte_count_t moved;  // bytes of the transfer that have crossed the stream
  } mover_state_t;

  // Stream pairs of the largest shell.
  localparam int unsigned MaxPairs = 32;
  typedef logic [$clog2(MaxPairs)-1:0] pair_t;

  // Where an incoming port of a kernel takes its beats from.
  typedef struct packed {
    logic  from_port;  // 0: from its own mover
    pair_t pair;       // else: from the outgoing port of this pair
  } stream_source_t;

  // State of the switch at an incoming port.
  typedef struct packed {
    stream_source_t source;  // that is connected now; while nothing is, the mover
    logic pending;           // the host has asked for another one
    logic broken;            // a reset has cut a packet on its way here
    logic valid;             // TVALID of the incoming port
    logic ready;             // TREADY
  } switch_state_t;

  // Bytes of a beat: 0 to RowBytes.
  localparam int unsigned BeatCountWidth = RowOffsetWidth + 1;
  typedef logic [BeatCountWidth-1:0] beat_count_t;

  // The first `count` bytes.
  function automatic row_strobe_t first_bytes(beat_count_t count);
    row_strobe_t keep;
    for (int unsigned i = 0; i < RowBytes; i++) keep[i] = beat_count_t'(i) < count;
    return keep;
  endfunction

endpackage
// verilator lint_on UNUSEDPARAM
