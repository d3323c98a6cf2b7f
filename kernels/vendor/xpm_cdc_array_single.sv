// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Stand-in for xpm_cdc_array_single: bits from one clock to another, each through registers of its own.
//
// Latency: DEST_SYNC_FF cycles of the destination, and one of the source with SRC_INPUT_REG.

// Some of the parameters and ports are for tools and for simulations of the vendor's.
// verilator lint_off UNUSEDPARAM
// verilator lint_off UNUSEDSIGNAL
// verilator lint_off WIDTHEXPAND

module xpm_cdc_array_single #(
  parameter int DEST_SYNC_FF   = 4,
  parameter int INIT_SYNC_FF   = 0,
  parameter int SIM_ASSERT_CHK = 0,
  parameter int SRC_INPUT_REG  = 1,
  parameter int VERSION        = 0,
  parameter int WIDTH          = 2
) (
  input  logic             src_clk,
  input  logic [WIDTH-1:0] src_in,
  input  logic             dest_clk,
  output logic [WIDTH-1:0] dest_out
);

  if (DEST_SYNC_FF < 2 || DEST_SYNC_FF > 10) begin : gen_illegal
    $error("DEST_SYNC_FF is from 2 to 10");
  end

  logic [WIDTH-1:0] source, source_q;
  logic [DEST_SYNC_FF-1:0][WIDTH-1:0] stages_q;

  always_ff @(posedge src_clk) source_q <= src_in;
  assign source = SRC_INPUT_REG != 0 ? source_q : src_in;

  always_ff @(posedge dest_clk) stages_q <= {stages_q[DEST_SYNC_FF-2:0], source};
  assign dest_out = stages_q[DEST_SYNC_FF-1];

endmodule
