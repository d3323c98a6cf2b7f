// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: forwards rows and their TID and TDEST, without a converter of width at its ports. For tests of TID and TDEST.

module id_middle (
  input  logic         ap_clk,
  input  logic         ap_rst_n,

  input  logic         in_tvalid,
  output logic         in_tready,
  input  logic [511:0] in_tdata,
  input  logic [63:0]  in_tkeep,
  input  logic         in_tlast,
  input  logic [3:0]   in_tid,
  input  logic [8:0]   in_tdest,

  output logic         out_tvalid,
  input  logic         out_tready,
  output logic [511:0] out_tdata,
  output logic [63:0]  out_tkeep,
  output logic         out_tlast,
  output logic [3:0]   out_tid,
  output logic [8:0]   out_tdest
);

  assign out_tvalid = in_tvalid;
  assign in_tready = out_tready;
  assign out_tdata = in_tdata;
  assign out_tkeep = in_tkeep;
  assign out_tlast = in_tlast;
  assign out_tid = in_tid;
  assign out_tdest = in_tdest;

  logic unused_ok;
  assign unused_ok = &{1'b0, ap_clk, ap_rst_n};

endmodule
