// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Stand-in for xpm_cdc_async_rst: a reset that begins at once and ends with the destination's clock.
//
// Latency of the end: DEST_SYNC_FF cycles.

// Some of the parameters and ports are for tools and for simulations of the vendor's.
// verilator lint_off UNUSEDPARAM
// verilator lint_off UNUSEDSIGNAL
// verilator lint_off WIDTHEXPAND

module xpm_cdc_async_rst #(
  parameter int DEST_SYNC_FF    = 4,
  parameter int INIT_SYNC_FF    = 0,
  parameter int RST_ACTIVE_HIGH = 0,
  parameter int VERSION         = 0
) (
  input  logic src_arst,
  input  logic dest_clk,
  output logic dest_arst
);

  logic active;
  logic [DEST_SYNC_FF-1:0] stages_q;

  assign active = src_arst == (RST_ACTIVE_HIGH != 0);

  always_ff @(posedge dest_clk or posedge active) begin
    if (active) stages_q <= '1;
    else stages_q <= {stages_q[DEST_SYNC_FF-2:0], 1'b0};
  end
  assign dest_arst = stages_q[DEST_SYNC_FF-1] == (RST_ACTIVE_HIGH != 0);

endmodule
