// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// A kernel that takes every beat and never sends one: for tests of what is told then.

module mute (
  input  logic        ap_clk,
  input  logic        ap_rst_n,

  input  logic [63:0] in_tdata,
  input  logic [7:0]  in_tkeep,
  input  logic        in_tlast,
  input  logic        in_tvalid,
  output logic        in_tready,

  output logic [63:0] out_tdata,
  output logic [7:0]  out_tkeep,
  output logic        out_tlast,
  output logic        out_tvalid,
  input  logic        out_tready
);

  assign in_tready = 1'b1;
  assign out_tdata = '0;
  assign out_tkeep = '0;
  assign out_tlast = 1'b0;
  assign out_tvalid = 1'b0;

  logic unused;
  assign unused = ^{ap_clk, ap_rst_n, in_tdata, in_tkeep, in_tlast, in_tvalid, out_tready};

endmodule
