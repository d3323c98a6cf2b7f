// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// 64 bytes to another width and back.

module width_bench_top #(
  parameter int unsigned NarrowBytes = 4
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         in_valid_i,
  output logic         in_ready_o,
  input  logic [511:0] in_data_i,
  input  logic [63:0]  in_keep_i,
  input  logic         in_last_i,
  output logic         out_valid_o,
  input  logic         out_ready_i,
  output logic [511:0] out_data_o,
  output logic [63:0]  out_keep_o,
  output logic         out_last_o
);

  logic valid, ready, last;
  logic [8*NarrowBytes-1:0] data;
  logic [NarrowBytes-1:0] keep;

  tmb_stream_width #(
    .InBytes(64),
    .OutBytes(NarrowBytes)
  ) i_narrow (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .in_valid_i (in_valid_i),
    .in_ready_o (in_ready_o),
    .in_data_i  (in_data_i),
    .in_keep_i  (in_keep_i),
    .in_last_i  (in_last_i),
    .out_valid_o(valid),
    .out_ready_i(ready),
    .out_data_o (data),
    .out_keep_o (keep),
    .out_last_o (last)
  );

  tmb_stream_width #(
    .InBytes(NarrowBytes),
    .OutBytes(64)
  ) i_wide (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .in_valid_i (valid),
    .in_ready_o (ready),
    .in_data_i  (data),
    .in_keep_i  (keep),
    .in_last_i  (last),
    .out_valid_o(out_valid_o),
    .out_ready_i(out_ready_i),
    .out_data_o (out_data_o),
    .out_keep_o (out_keep_o),
    .out_last_o (out_last_o)
  );

endmodule
