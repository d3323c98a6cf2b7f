// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: forwards words, each with TID from its bits 3..0 and TDEST from its bits 12..4. For tests of TID and TDEST.

module id_source (
  input  logic        ap_clk,
  input  logic        ap_rst_n,

  input  logic        in_tvalid,
  output logic        in_tready,
  input  logic [31:0] in_tdata,
  input  logic [3:0]  in_tkeep,
  input  logic        in_tlast,

  output logic        out_tvalid,
  input  logic        out_tready,
  output logic [31:0] out_tdata,
  output logic [3:0]  out_tkeep,
  output logic        out_tlast,
  output logic [3:0]  out_tid,
  output logic [8:0]  out_tdest
);

  assign out_tvalid = in_tvalid;
  assign in_tready = out_tready;
  assign out_tdata = in_tdata;
  assign out_tkeep = in_tkeep;
  assign out_tlast = in_tlast;
  assign {out_tdest, out_tid} = in_tdata[12:0];

  logic unused_ok;
  assign unused_ok = &{1'b0, ap_clk, ap_rst_n};

endmodule
