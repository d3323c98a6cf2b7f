// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Reset of one slot, guarded: the slot leaves reset only when nothing of its former life is left in
// the ports, and its address space changes only while it is in reset, whatever the host writes when.
//
// Latency: one cycle. State changes only when the host's registers do.
// No deadlock: in reset, ports drain without help of the kernel, so idle_i comes.

module tmb_slot_reset import tmb_pkg::*; (
  input  logic  clk_i,
  input  logic  rst_ni,
  input  logic  run_i,   // what the host asks for
  input  asid_t asid_i,
  input  logic  idle_i,  // nothing of the slot is in flight
  output logic  live_o,  // the slot is out of reset
  output asid_t asid_o
);

  logic live_q;
  asid_t asid_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      live_q <= 1'b0;
      asid_q <= '0;
    end else begin
      live_q <= run_i && (live_q || idle_i);
      if (!live_q) asid_q <= asid_i;
    end
  end

  assign live_o = live_q;
  assign asid_o = asid_q;

endmodule
