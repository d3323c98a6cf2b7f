// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Interrupts of one slot, bounded by the host: a rising edge is announced once, and the next one
// not before the host has asked for it (rearm_i). Edges in between become one announcement. So a
// kernel that raises its interrupt without end costs the event ring one record for each time that the
// host has looked, and cannot crowd out the other slots.
//
// An interrupt follows the writes that it announces: an edge waits until the writes that the slot's ports
// had taken by then are answered (edge_o asks tmb_port_owed, owed_i is its answer). A kernel that takes B
// before it raises its interrupt loses no cycle.
//
// Latency: 2 cycles. State changes only with the kernel's line or on the host's request.
// No deadlock: an edge is never lost, only merged with one that the host has not yet seen. A kernel that
// never sends the data of a write announces nothing any more, and no other slot waits for it.

module tmb_slot_interrupt (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic live_i,       // a kernel in reset announces nothing
  input  logic interrupt_i,
  input  logic rearm_i,
  output logic edge_o,
  input  logic owed_i,
  output logic announce_o    // one cycle each
);

  logic interrupt_q, pending_q, armed_q, announce_q, announce;

  assign announce = pending_q && armed_q && !owed_i;
  assign edge_o = interrupt_i && !interrupt_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || !live_i) begin
      interrupt_q <= 1'b0;
      pending_q <= 1'b0;
      armed_q <= 1'b1;
      announce_q <= 1'b0;
    end else begin
      interrupt_q <= interrupt_i;
      pending_q <= (pending_q && !announce) || edge_o;
      armed_q <= (armed_q && !announce) || rearm_i;
      announce_q <= announce;
    end
  end

  assign announce_o = announce_q;

endmodule
