// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// 64 bytes to another width and back, with a flush behind a pause if one is asked for, and to a port without TKEEP behind.

module width_bench_top #(
  parameter int unsigned NarrowBytes = 4,
  parameter int unsigned FlushCycles = 0,
  parameter int unsigned IdWidth = 0,
  localparam int unsigned IdBits = IdWidth == 0 ? 1 : IdWidth
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         in_valid_i,
  output logic         in_ready_o,
  input  logic [511:0] in_data_i,
  input  logic [63:0]  in_keep_i,
  input  logic         in_last_i,
  input  logic [7:0]   in_id_i,
  output logic         out_valid_o,
  input  logic         out_ready_i,
  output logic [511:0] out_data_o,
  output logic [63:0]  out_keep_o,
  output logic         out_last_o,
  output logic [7:0]   out_id_o,
  output logic         out_taken_o,
  output logic         enters_o,  // a beat of the narrow width comes to where a pause is noticed
  output logic [15:0]  held_o,
  // the same beats behind tmb_stream_gather
  output logic         full_valid_o,
  output logic [511:0] full_data_o,
  output logic [63:0]  full_keep_o,
  output logic         full_last_o,
  output logic [7:0]   full_id_o
);

  logic valid, ready, last, full_ready;
  logic [$clog2(NarrowBytes+65)-1:0] held, unused_held;
  logic [8*NarrowBytes-1:0] data;
  logic [NarrowBytes-1:0] keep;
  logic [IdBits-1:0] id, out_id, full_id;

  assign out_id_o = 8'(out_id);
  assign full_id_o = 8'(full_id);

  tmb_stream_width #(
    .Cfg('{InBytes: 64, OutBytes: NarrowBytes, FlushCycles: 0, IdWidth: IdWidth})
  ) i_narrow (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .in_valid_i (in_valid_i),
    .in_ready_o (in_ready_o),
    .in_data_i  (in_data_i),
    .in_keep_i  (in_keep_i),
    .in_last_i  (in_last_i),
    .in_id_i    (IdBits'(in_id_i)),
    .out_valid_o(valid),
    .out_ready_i(ready),
    .out_data_o (data),
    .out_keep_o (keep),
    .out_last_o (last),
    .out_id_o   (id),
    .held_o     (unused_held)
  );

  tmb_stream_width #(
    .Cfg('{InBytes: NarrowBytes, OutBytes: 64, FlushCycles: FlushCycles, IdWidth: IdWidth})
  ) i_wide (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .in_valid_i (valid),
    .in_ready_o (ready),
    .in_data_i  (data),
    .in_keep_i  (keep),
    .in_last_i  (last),
    .in_id_i    (id),
    .out_valid_o(out_valid_o),
    .out_ready_i(out_ready_i && full_ready),
    .out_data_o (out_data_o),
    .out_keep_o (out_keep_o),
    .out_last_o (out_last_o),
    .out_id_o   (out_id),
    .held_o     (held)
  );

  assign out_taken_o = out_valid_o && out_ready_i && full_ready;
  assign enters_o = valid && ready;
  assign held_o = 16'(held);

  tmb_stream_gather #(
    .IdWidth(IdWidth)
  ) i_gather (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .in_valid_i (out_valid_o && out_ready_i),
    .in_ready_o (full_ready),
    .in_data_i  (out_data_o),
    .in_keep_i  (out_keep_o),
    .in_last_i  (out_last_o),
    .in_id_i    (out_id),
    .out_valid_o(full_valid_o),
    .out_ready_i(1'b1),
    .out_data_o (full_data_o),
    .out_keep_o (full_keep_o),
    .out_last_o (full_last_o),
    .out_id_o   (full_id)
  );

endmodule
