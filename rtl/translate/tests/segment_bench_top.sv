// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// tmb_translate_segment with flat pins, for segment_bench.cpp.

module segment_bench_top
  import tmb_pkg::*;
  import tmb_translate_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [3:0]  look_asid_i,
  input  logic [35:0] look_block_i,
  input  logic        look_write_i,
  output logic        hit_o,
  output logic [24:0] frame_o,
  output logic        granted_o,
  output logic        allowed_o,
  input  logic [3:0]  update_asid_i,
  input  logic [35:0] update_block_i,
  input  logic        fill_i,
  input  logic [24:0] fill_frame_i,
  input  logic [4:0]  fill_class_i,
  input  logic [2:0]  fill_rights_i,  // dirty, write, read
  input  logic        kill_i,
  input  logic [35:0] kill_mask_i
);

  tmb_translate_segment #(
    .NumSegments(3)
  ) u_segment (
    .clk_i,
    .rst_ni,
    .look_asid_i,
    .look_block_i,
    .look_write_i,
    .hit_o,
    .frame_o,
    .granted_o,
    .allowed_o,
    .update_asid_i,
    .update_block_i,
    .fill_i,
    .fill_frame_i,
    .fill_class_i,
    .fill_read_i(fill_rights_i[0]),
    .fill_write_i(fill_rights_i[1]),
    .fill_dirty_i(fill_rights_i[2]),
    .kill_i,
    .kill_mask_i
  );

endmodule
