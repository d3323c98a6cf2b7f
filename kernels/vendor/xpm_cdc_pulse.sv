// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Stand-in for xpm_cdc_pulse: a pulse of one clock becomes a pulse of one cycle of another.
//
// Only the rising edge of src_pulse counts. Pulses closer than the crossing are one, as with the vendor's.
// Latency: one cycle of the source, DEST_SYNC_FF + 1 of the destination, and one more with REG_OUTPUT.

// Some of the parameters and ports are for tools and for simulations of the vendor's.
// verilator lint_off UNUSEDPARAM
// verilator lint_off UNUSEDSIGNAL
// verilator lint_off WIDTHEXPAND

module xpm_cdc_pulse #(
  parameter int DEST_SYNC_FF   = 4,
  parameter int INIT_SYNC_FF   = 0,
  parameter int REG_OUTPUT     = 0,
  parameter int RST_USED       = 1,
  parameter int SIM_ASSERT_CHK = 0,
  parameter int VERSION        = 0
) (
  input  logic src_clk,
  input  logic src_pulse,
  input  logic src_rst,
  input  logic dest_clk,
  input  logic dest_rst,
  output logic dest_pulse
);

  logic before_q, toggle_q, toggle_dest, seen_q, pulse, pulse_q;
  logic src_reset, dest_reset;

  assign src_reset = RST_USED != 0 && src_rst;
  assign dest_reset = RST_USED != 0 && dest_rst;

  always_ff @(posedge src_clk) begin
    before_q <= src_pulse && !src_reset;
    if (src_reset) toggle_q <= 1'b0;
    else if (src_pulse && !before_q) toggle_q <= !toggle_q;
  end

  xpm_cdc_array_single #(
    .DEST_SYNC_FF(DEST_SYNC_FF),
    .SRC_INPUT_REG(0),
    .WIDTH(1)
  ) u_toggle (
    .src_clk(src_clk),
    .src_in(toggle_q),
    .dest_clk(dest_clk),
    .dest_out(toggle_dest)
  );

  assign pulse = toggle_dest != seen_q && !dest_reset;
  always_ff @(posedge dest_clk) begin
    // In reset the toggle is followed, so that its return to zero is no pulse.
    seen_q <= toggle_dest;
    pulse_q <= pulse;
  end
  assign dest_pulse = REG_OUTPUT != 0 ? pulse_q : pulse;

endmodule
