// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Proof: with INTERRUPT.ACKNOWLEDGE the shell sends no second interrupt before the host has acknowledged the first, none
// that is masked, and none for nothing; and once something has been pending and unmasked for four cycles, an interrupt has
// been sent: none is lost. Without it each record is one interrupt, one cycle later.
//
// Assumed: EVENT_HEAD changes only when it is written, a cycle later.

module proof_shell_interrupt
  import tmb_shell_pkg::*;
(
  input logic clk_i,
  input interrupt_cfg_t cfg_i,
  input logic record_i,
  input logic [31:0] written_i,
  input logic [31:0] consumed_i,
  input logic error_i,
  input logic acknowledge_i
);

  logic reset_q = 1'b1;
  logic rst_n, irq;
  always_ff @(posedge clk_i) reset_q <= 1'b0;
  assign rst_n = !reset_q;

  logic [31:0] consumed_q;
  always_ff @(posedge clk_i) begin
    if (acknowledge_i) consumed_q <= consumed_i;
    if (!rst_n) consumed_q <= '0;
  end

  interrupt_state_t state;
  tmb_shell_interrupt dut (
    .clk_i, .rst_ni(rst_n), .cfg_i, .state_o(state), .record_i, .written_i, .consumed_i(consumed_q), .error_i,
    .acknowledge_i, .irq_o(irq)
  );

  // Sent and not acknowledged: from the interrupt on.
  logic owed_q;
  // As they were, one to four cycles ago.
  interrupt_cfg_t cfg_q;
  logic [2:0] records_q, errors_q, acknowledge_q;
  logic [3:0] records_wait_q, errors_wait_q;
  logic record_q, known_q, records_pending, errors_pending;

  assign records_pending = cfg_i.acknowledge && !acknowledge_i && written_i != consumed_q && cfg_i.records;
  assign errors_pending = cfg_i.acknowledge && !acknowledge_i && error_i && cfg_i.errors;

  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      owed_q <= 1'b0;
      records_wait_q <= '0;
      errors_wait_q <= '0;
      known_q <= 1'b0;
      records_q <= '0;
      errors_q <= '0;
      acknowledge_q <= '0;
    end else begin
      owed_q <= (owed_q && !acknowledge_i && cfg_i.acknowledge) || (irq && cfg_q.acknowledge
          && cfg_i.acknowledge && !acknowledge_i);
      records_wait_q <= records_pending ? {records_wait_q[2:0], 1'b1} : '0;
      errors_wait_q <= errors_pending ? {errors_wait_q[2:0], 1'b1} : '0;
      known_q <= 1'b1;
      records_q <= {records_q[1:0], written_i != consumed_q};
      errors_q <= {errors_q[1:0], error_i};
      acknowledge_q <= {acknowledge_q[1:0], acknowledge_i};
    end
    cfg_q <= cfg_i;
    record_q <= record_i;
  end

  always_comb begin
    if (rst_n && known_q) begin
      if (cfg_q.acknowledge) begin
        assert (!(irq && owed_q));
        assert (!irq || (records_q[1] && cfg_q.records) || (errors_q[1] && cfg_q.errors));
        assert (!irq || state.sent);
        // None of what an acknowledge has just settled.
        assert (!(irq && (acknowledge_q[1] || acknowledge_q[2])));
        assert ((records_wait_q != '1 && errors_wait_q != '1) || state.sent);
      end else begin
        assert (irq == (record_q && cfg_q.records));
      end
    end
  end

endmodule
