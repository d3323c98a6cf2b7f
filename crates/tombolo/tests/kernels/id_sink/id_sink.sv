// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: each word that it receives it sends with its TID and TDEST: bits 31..0 the word, 47..32 TID, 63..48 TDEST. For
// tests of TID and TDEST.

module id_sink (
  input  logic        ap_clk,
  input  logic        ap_rst_n,

  input  logic        in_tvalid,
  output logic        in_tready,
  input  logic [31:0] in_tdata,
  input  logic        in_tlast,
  input  logic [5:0]  in_tid,
  input  logic [8:0]  in_tdest,

  output logic        out_tvalid,
  input  logic        out_tready,
  output logic [63:0] out_tdata,
  output logic        out_tlast
);

  assign out_tvalid = in_tvalid;
  assign in_tready = out_tready;
  assign out_tdata = {16'(in_tdest), 16'(in_tid), in_tdata};
  assign out_tlast = in_tlast;

  logic unused_ok;
  assign unused_ok = &{1'b0, ap_clk, ap_rst_n};

endmodule
