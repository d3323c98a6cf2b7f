// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Full beats for a kernel's port of the slot's width that has no TKEEP: to it a beat that is partly filled would be data
// with zeroes behind. Such beats come in mid-packet from other kernels, whose senders pause or send few bytes a beat.
// It stands in the slot, before the port.
//
// Bytes     width of both sides
// IdWidth   bits of TID and TDEST together; 0: none are carried
//
// A beat that is full, or ends its packet, passes as it is while nothing is held; other bytes wait for those behind them. If those
// have another ID the beat leaves partly filled: its kernel sees zeroes behind its data.
//
// Throughput: a beat a cycle. Latency: none for what passes; one cycle behind a beat that was held. Ordering: in order.
// Back-pressure: in_ready_o follows out_ready_i while beats pass, else the fill and the ID offered. No deadlock: waits for its neighbours only.

`include "tmb_assert.svh"

module tmb_stream_gather #(
  parameter int unsigned Bytes = 64,
  parameter int unsigned IdWidth = 0,
  localparam int unsigned IdBits = IdWidth == 0 ? 1 : IdWidth
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               in_valid_i,
  output logic               in_ready_o,
  input  logic [8*Bytes-1:0] in_data_i,
  input  logic [Bytes-1:0]   in_keep_i,
  input  logic               in_last_i,
  input  logic [IdBits-1:0]  in_id_i,
  output logic               out_valid_o,
  input  logic               out_ready_i,
  output logic [8*Bytes-1:0] out_data_o,
  output logic [Bytes-1:0]   out_keep_o,
  output logic               out_last_o,
  output logic [IdBits-1:0]  out_id_o
);

  localparam int unsigned HeldWidth = $clog2(2 * Bytes + 1);

  logic passes, held_ready, held_valid, held_last;
  logic [8*Bytes-1:0] held_data;
  logic [Bytes-1:0] held_keep;
  logic [IdBits-1:0] held_id;
  logic [HeldWidth-1:0] held;

  assign passes = !held_valid && held == '0 && (in_last_i || &in_keep_i);

  tmb_stream_width #(
    .Cfg('{InBytes: Bytes, OutBytes: Bytes, FlushCycles: 0, IdWidth: IdWidth})
  ) u_held (
    .clk_i,
    .rst_ni,
    .in_valid_i (in_valid_i && !passes),
    .in_ready_o (held_ready),
    .in_data_i,
    .in_keep_i,
    .in_last_i,
    .in_id_i,
    .out_valid_o(held_valid),
    .out_ready_i,
    .out_data_o (held_data),
    .out_keep_o (held_keep),
    .out_last_o (held_last),
    .out_id_o   (held_id),
    .held_o     (held)
  );

  assign in_ready_o = passes ? out_ready_i : held_ready;
  assign out_valid_o = held_valid || (passes && in_valid_i);
  assign out_data_o = passes ? in_data_i : held_data;
  assign out_keep_o = passes ? in_keep_i : held_keep;
  assign out_last_o = passes ? in_last_i : held_last;
  assign out_id_o = passes && IdWidth != 0 ? in_id_i : held_id;

  `TMB_ASSERT_STABLE(OutputHeld, out_valid_o, out_ready_i, {out_keep_o, out_last_o, out_data_o, out_id_o})

endmodule
