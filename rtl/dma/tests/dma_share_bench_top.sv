// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The copies of four queues on their way to one copy unit, with a scheduler whose bound is more than two bursts, and
// flat pins for share_bench.cpp.

module dma_share_bench_top
  import tmb_pkg::*;
  import tmb_dma_pkg::*;
  import tmb_schedule_pkg::*;
#(
  localparam int unsigned NumQueues = 4,
  parameter int unsigned LowRows = 200
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        managed_i,
  input  logic [1:0]  level_i [NumQueues-1],
  input  logic        row_done_i,
  input  logic        burst_done_i,

  input  logic        copy_valid_i [NumQueues],
  output logic        copy_ready_o [NumQueues],
  input  logic [36:0] copy_card_i [NumQueues],
  input  logic [63:0] copy_host_i [NumQueues],
  input  logic [24:0] copy_rows_i [NumQueues],
  input  logic [7:0]  copy_note_i [NumQueues],
  input  logic [7:0]  copy_stripe_i [NumQueues],

  output logic        chunk_valid_o,
  input  logic        chunk_ready_i,
  output logic [36:0] chunk_card_o,
  output logic [63:0] chunk_host_o,
  output logic [5:0]  chunk_len_o,
  output logic        chunk_last_o,
  output logic [7:0]  chunk_note_o,
  output logic [7:0]  chunk_stripe_o,
  output logic        busy_o
);

  schedule_t schedule [NumQueues-1];
  for (genvar q = 0; q < NumQueues - 1; q++) begin : gen_schedule
    assign schedule[q] = '{level: level_i[q], weight: weight_t'(1), floor: LeastFloor, limit: '0};
  end

  copy_t copy [NumQueues];
  for (genvar q = 0; q < NumQueues; q++) begin : gen_copy
    always_comb begin
      copy[q] = '0;
      copy[q].note = note_t'(copy_note_i[q]);
      copy[q].card_addr = copy_card_i[q];
      copy[q].stripe = copy_stripe_i[q];
      copy[q].host_addr = copy_host_i[q];
      copy[q].rows = row_count_t'(copy_rows_i[q]);
    end
  end

  chunk_t chunk;
  assign chunk_card_o = chunk.card_addr;
  assign chunk_host_o = chunk.host_addr;
  assign chunk_len_o = chunk.len;
  assign chunk_last_o = chunk.last;
  assign chunk_note_o = 8'(chunk.note);
  assign chunk_stripe_o = chunk.stripe;

  tmb_dma_share #(
    .NumQueues(NumQueues),
    .Scheduled(1'b1),
    .LowRows(LowRows)
  ) u_share (
    .clk_i,
    .rst_ni,
    .managed_i,
    .schedule_i(schedule),
    .row_done_i,
    .burst_done_i,
    .copy_valid_i,
    .copy_ready_o,
    .copy_i(copy),
    .chunk_valid_o,
    .chunk_ready_i,
    .chunk_o(chunk),
    .busy_o
  );

  logic unused_ok;
  assign unused_ok = &{1'b0, chunk};

endmodule
