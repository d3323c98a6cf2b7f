// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Stand-in for xpm_cdc_sync_rst: a reset from one clock to another, through registers at both of its edges.
//
// Latency: DEST_SYNC_FF cycles.

// Some of the parameters and ports are for tools and for simulations of the vendor's.
// verilator lint_off UNUSEDPARAM
// verilator lint_off UNUSEDSIGNAL
// verilator lint_off WIDTHEXPAND

module xpm_cdc_sync_rst #(
  parameter int DEST_SYNC_FF   = 4,
  parameter int INIT           = 1,
  parameter int INIT_SYNC_FF   = 0,
  parameter int SIM_ASSERT_CHK = 0,
  parameter int VERSION        = 0
) (
  input  logic src_rst,
  input  logic dest_clk,
  output logic dest_rst
);

  logic [DEST_SYNC_FF-1:0] stages_q;

  always_ff @(posedge dest_clk) stages_q <= {stages_q[DEST_SYNC_FF-2:0], src_rst};
  assign dest_rst = stages_q[DEST_SYNC_FF-1];

endmodule
