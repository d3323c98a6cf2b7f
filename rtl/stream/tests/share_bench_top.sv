// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// A divider and a combiner, the bench between them. Beats of 8 bytes.

module share_bench_top #(
  parameter int unsigned NumPorts = 3,
  parameter bit InTurn = 1'b1
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  // Into the divider, out of its ports.
  input  logic                      in_valid_i,
  output logic                      in_ready_o,
  input  logic [63:0]               in_data_i,
  input  logic [7:0]                in_keep_i,
  input  logic                      in_last_i,
  output logic [NumPorts-1:0]       part_valid_o,
  input  logic [NumPorts-1:0]       part_ready_i,
  output logic [NumPorts-1:0][63:0] part_data_o,
  output logic [NumPorts-1:0][7:0]  part_keep_o,
  output logic [NumPorts-1:0]       part_last_o,
  // Into the combiner's ports, out of it.
  input  logic [NumPorts-1:0]       part_valid_i,
  output logic [NumPorts-1:0]       part_ready_o,
  input  logic [NumPorts-1:0][63:0] part_data_i,
  input  logic [NumPorts-1:0][7:0]  part_keep_i,
  input  logic [NumPorts-1:0]       part_last_i,
  output logic                      out_valid_o,
  input  logic                      out_ready_i,
  output logic [63:0]               out_data_o,
  output logic [7:0]                out_keep_o,
  output logic                      out_last_o
);

  tmb_stream_divider #(
    .NumPorts(NumPorts),
    .Bytes(8),
    .InTurn(InTurn)
  ) u_divider (
    .clk_i,
    .rst_ni,
    .in_valid_i,
    .in_ready_o,
    .in_data_i,
    .in_keep_i,
    .in_last_i,
    .out_valid_o(part_valid_o),
    .out_ready_i(part_ready_i),
    .out_data_o(part_data_o),
    .out_keep_o(part_keep_o),
    .out_last_o(part_last_o)
  );

  tmb_stream_combiner #(
    .NumPorts(NumPorts),
    .Bytes(8),
    .InTurn(InTurn)
  ) u_combiner (
    .clk_i,
    .rst_ni,
    .in_valid_i(part_valid_i),
    .in_ready_o(part_ready_o),
    .in_data_i(part_data_i),
    .in_keep_i(part_keep_i),
    .in_last_i(part_last_i),
    .out_valid_o,
    .out_ready_i,
    .out_data_o,
    .out_keep_o,
    .out_last_o
  );

endmodule
