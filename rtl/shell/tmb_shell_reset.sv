// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Reset of the shell by its host (register RESET): whatever a program was in the middle of, the next one finds the
// shell as after power-on, and no write of the old one is on its way.
//
// ResetCycles   how long the reset lasts
//
// Steps: stop_o, no burst is granted any more at host memory and card memory, and no network interface sends a packet;
// quiet_i, all that had been granted or sent is answered; hold_o, the BAR takes no further access, and bar_idle_i, the
// one under way has been answered; then rst_no is low for ResetCycles. This block and the BAR's bridge stay out of the
// reset. Peripherals, which stand outside of the shell (network interfaces, the link to a CPU), are reset in the same
// cycles by peripheral_rst_no, so that neither side keeps half of an exchange.
//
// rst_no follows rst_ni at once: power-on takes no cycle longer than without this block. peripheral_rst_no does not:
// power-on of what is outside is the board's.
//
// Latency: five cycles and ResetCycles, and what memories take to answer. Ordering: none.
// No deadlock: what has been granted needs neither kernel nor host (a write leaves with its data, a read with room
// for its answer), so quiet_i comes when memories and peers answer, or a peer is given up; an access to a kernel is
// bounded (tmb_slot_control). A part that never answers holds the reset off for good: WAITS_FOR names it.

`include "tmb_assert.svh"

module tmb_shell_reset import tmb_shell_pkg::*; #(
  parameter int unsigned ResetCycles = 16
) (
  input  logic         clk_i,
  input  logic         rst_ni,

  input  logic         start_i,     // the host asks: one cycle
  input  logic         used_i,      // the host writes another register: one cycle
  output reset_state_t state_o,

  output logic         stop_o,      // grant nothing more
  input  quiet_t       quiet_i,     // nothing granted is unanswered
  output logic         hold_o,      // take no further access
  input  logic         bar_idle_i,  // none is under way
  output logic         rst_no,      // of everything else in the shell
  output logic         peripheral_rst_no
);

  localparam int unsigned CountWidth = $clog2(ResetCycles + 1);

  typedef enum logic [1:0] {
    StRun,
    StDrain,
    StHold,
    StReset
  } state_e;

  state_e state_q;
  quiet_t quiet_q;
  logic done_q, used_q, stop_q, hold_q, reset_q;
  // Cycles of this step; a stop counts from the first one, and is seen in quiet_q two cycles later.
  logic [CountWidth-1:0] count_q;
  logic settled, drained, ends;

  assign settled = count_q >= CountWidth'(3);
  assign drained = settled && (&quiet_q);
  assign ends = count_q == CountWidth'(ResetCycles - 1);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StRun;
      count_q <= '0;
      stop_q <= 1'b0;
      hold_q <= 1'b0;
      reset_q <= 1'b0;
      done_q <= 1'b0;
      used_q <= 1'b0;
    end else begin
      if (used_i) used_q <= 1'b1;
      unique case (state_q)
        StRun: begin
          hold_q <= 1'b0;
          if (start_i) begin
            state_q <= StDrain;
            stop_q <= 1'b1;
            done_q <= 1'b0;
            count_q <= '0;
          end
        end
        StDrain: begin
          if (!settled) count_q <= count_q + 1'b1;
          if (drained) begin
            state_q <= StHold;
            hold_q <= 1'b1;
          end
        end
        StHold: begin
          count_q <= '0;
          if (bar_idle_i) begin
            state_q <= StReset;
            reset_q <= 1'b1;
          end
        end
        default: begin  // StReset
          count_q <= count_q + 1'b1;
          if (ends) begin
            state_q <= StRun;
            reset_q <= 1'b0;
            stop_q <= 1'b0;
            done_q <= 1'b1;
            used_q <= 1'b0;
          end
        end
      endcase
    end
  end

  always_ff @(posedge clk_i) quiet_q <= quiet_i;

  assign state_o = '{
      waits_for: (state_q == StDrain) ? ~quiet_q : '0,
      used: used_q,
      done: done_q,
      busy: state_q != StRun
  };
  assign stop_o = stop_q;
  assign hold_o = hold_q;
  assign rst_no = rst_ni && !reset_q;
  assign peripheral_rst_no = !reset_q;

  `TMB_ASSERT_INIT(ResetIsSeen, ResetCycles >= 4)
  `TMB_ASSERT(NothingIsCut, !reset_q || (&quiet_q))

endmodule
