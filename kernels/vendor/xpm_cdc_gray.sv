// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Stand-in for xpm_cdc_gray: a number that changes by one at a time from one clock to another, in Gray's code.
//
// Latency: one cycle of the source, DEST_SYNC_FF of the destination, and one more with REG_OUTPUT.

// Some of the parameters and ports are for tools and for simulations of the vendor's.
// verilator lint_off UNUSEDPARAM
// verilator lint_off UNUSEDSIGNAL
// verilator lint_off WIDTHEXPAND

module xpm_cdc_gray #(
  parameter int DEST_SYNC_FF          = 4,
  parameter int INIT_SYNC_FF          = 0,
  parameter int REG_OUTPUT            = 0,
  parameter int SIM_ASSERT_CHK        = 0,
  parameter int SIM_LOSSLESS_GRAY_CHK = 0,
  parameter int VERSION               = 0,
  parameter int WIDTH                 = 2
) (
  input  logic             src_clk,
  input  logic [WIDTH-1:0] src_in_bin,
  input  logic             dest_clk,
  output logic [WIDTH-1:0] dest_out_bin
);

  logic [WIDTH-1:0] gray, binary, binary_q;

  xpm_cdc_array_single #(
    .DEST_SYNC_FF(DEST_SYNC_FF),
    .SRC_INPUT_REG(1),
    .WIDTH(WIDTH)
  ) u_bits (
    .src_clk(src_clk),
    .src_in(src_in_bin ^ (src_in_bin >> 1)),
    .dest_clk(dest_clk),
    .dest_out(gray)
  );

  always_comb begin
    for (int unsigned i = 0; i < WIDTH; i++) binary[i] = ^(gray >> i);
  end

  always_ff @(posedge dest_clk) binary_q <= binary;
  assign dest_out_bin = REG_OUTPUT != 0 ? binary_q : binary;

endmodule
