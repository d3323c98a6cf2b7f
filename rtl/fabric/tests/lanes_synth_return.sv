// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// One requester's share of the fabric's return networks, to see what it costs (tools/synthesis): a row
// and a write response a cycle, from whichever of the channels has one for it.
//
// NumChannels   of the fabric
//
// `for_me_i` and its like stand for the comparison of a requester's number.

module lanes_synth_return import tmb_pkg::*; import tmb_fabric_pkg::*; #(
  parameter int unsigned NumChannels = 32
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        row_for_me_i [NumChannels],
  output logic        row_ready_o [NumChannels],
  input  piece_row_t  row_i [NumChannels],
  output logic        row_valid_o,
  input  logic        row_ready_i,
  output piece_row_t  row_o,
  input  logic        rsp_for_me_i [NumChannels],
  output logic        rsp_ready_o [NumChannels],
  input  piece_done_t rsp_i [NumChannels],
  output logic        rsp_valid_o,
  input  logic        rsp_ready_i,
  output piece_done_t rsp_o
);

  logic none [NumChannels];
  for (genvar c = 0; c < NumChannels; c++) begin : gen_channel
    assign none[c] = 1'b0;
  end

  logic row_valid [1];
  logic row_ready [1];
  piece_row_t row [1];
  tmb_fabric_return #(
    .T(piece_row_t),
    .NumChannels(NumChannels),
    .NumRequesters(1)
  ) u_rows (
    .clk_i,
    .rst_ni,
    .valid_i(row_for_me_i),
    .ready_o(row_ready_o),
    .requester_i(none),
    .data_i(row_i),
    .valid_o(row_valid),
    .ready_i(row_ready),
    .data_o(row)
  );
  assign row_valid_o = row_valid[0];
  assign row_ready[0] = row_ready_i;
  assign row_o = row[0];

  logic rsp_valid [1];
  logic rsp_ready [1];
  piece_done_t rsp [1];
  tmb_fabric_return #(
    .T(piece_done_t),
    .NumChannels(NumChannels),
    .NumRequesters(1)
  ) u_responses (
    .clk_i,
    .rst_ni,
    .valid_i(rsp_for_me_i),
    .ready_o(rsp_ready_o),
    .requester_i(none),
    .data_i(rsp_i),
    .valid_o(rsp_valid),
    .ready_i(rsp_ready),
    .data_o(rsp)
  );
  assign rsp_valid_o = rsp_valid[0];
  assign rsp_ready[0] = rsp_ready_i;
  assign rsp_o = rsp[0];

endmodule
