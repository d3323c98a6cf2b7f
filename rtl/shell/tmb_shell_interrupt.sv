// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The shell's interrupt: pending, masked, acknowledged (register INTERRUPT).
//
// Without cfg_i.acknowledge each record in the event ring is an interrupt, one cycle later. With it an interrupt is
// sent while something is pending, and after it no other until the host has acknowledged it by writing EVENT_HEAD.
// Pending is a state, not an edge: a record that came while the host looked, or whose announcement the host had not
// seen, is pending after the acknowledge as long as EVENT_HEAD does not count it. So none is lost, without a read.
//
// Latency: one cycle without acknowledge; with it two from the record, four from the acknowledge. Ordering: an
// interrupt follows the records that it announces (record_i comes with their acceptance).
// No deadlock: nothing waits; a host that never acknowledges gets no second interrupt.

module tmb_shell_interrupt import tmb_shell_pkg::*; (
  input  logic             clk_i,
  input  logic             rst_ni,

  input  interrupt_cfg_t   cfg_i,
  output interrupt_state_t state_o,

  input  logic             record_i,       // the host has a record more: one cycle
  input  logic [31:0]      written_i,      // EVENT_TAIL, and
  input  logic [31:0]      consumed_i,     // EVENT_HEAD
  input  logic             error_i,        // ERROR is not 0
  input  logic             acknowledge_i,  // EVENT_HEAD is written: one cycle, before consumed_i has it

  output logic             irq_o           // one cycle
);

  interrupt_state_t state_q;
  logic raise, irq_q;
  // Cycles since the last acknowledge, up to when the pending bits know of it.
  logic [1:0] settled_q;

  assign raise = cfg_i.acknowledge && !state_q.sent && settled_q[1]
      && ((state_q.records && cfg_i.records) || (state_q.errors && cfg_i.errors));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= '0;
      settled_q <= '0;
      irq_q <= 1'b0;
    end else begin
      state_q.records <= written_i != consumed_i;
      state_q.errors <= error_i;
      settled_q <= acknowledge_i ? 2'b00 : {settled_q[0], 1'b1};
      if (raise) state_q.sent <= 1'b1;
      else if (acknowledge_i || !cfg_i.acknowledge) state_q.sent <= 1'b0;
      irq_q <= cfg_i.acknowledge ? raise : record_i && cfg_i.records;
    end
  end

  assign state_o = state_q;
  assign irq_o = irq_q;

endmodule
