// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Stand-in for xpm_cdc_single: one bit from one clock to another, through registers.
//
// Latency: DEST_SYNC_FF cycles of the destination, and one of the source with SRC_INPUT_REG.

// Some of the parameters and ports are for tools and for simulations of the vendor's.
// verilator lint_off UNUSEDPARAM
// verilator lint_off UNUSEDSIGNAL
// verilator lint_off WIDTHEXPAND

module xpm_cdc_single #(
  parameter int DEST_SYNC_FF   = 4,
  parameter int INIT_SYNC_FF   = 0,
  parameter int SIM_ASSERT_CHK = 0,
  parameter int SRC_INPUT_REG  = 1,
  parameter int VERSION        = 0
) (
  input  logic src_clk,
  input  logic src_in,
  input  logic dest_clk,
  output logic dest_out
);

  xpm_cdc_array_single #(
    .DEST_SYNC_FF(DEST_SYNC_FF),
    .SRC_INPUT_REG(SRC_INPUT_REG),
    .WIDTH(1)
  ) u_bits (
    .src_clk(src_clk),
    .src_in(src_in),
    .dest_clk(dest_clk),
    .dest_out(dest_out)
  );

endmodule
