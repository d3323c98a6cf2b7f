// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// A queue in which what has a higher level overtakes: a FIFO a level, and the highest one first; a lower
// one has a turn now and then (tmb_schedule_levels).
//
// T       what waits
// Depth   words of each level
//
// While managed_i is 0 everything should come with one level, and it is a FIFO.
//
// Throughput: one word a cycle in and one out. Latency: 1 cycle. Ordering: words of a level stay in order.
// The word that is offered may be another one in the next cycle, if it was not taken.
// Back-pressure: in_ready_o, of the word's own level. No deadlock: in_ready_o depends on the fill level
// only, and whatever waits is offered after a bounded number of others.

`include "tmb_assert.svh"

module tmb_level_queue import tmb_schedule_pkg::*; #(
  parameter type T = logic,
  parameter int unsigned Depth = 2
) (
  input  logic   clk_i,
  input  logic   rst_ni,
  input  logic   managed_i,
  input  logic   in_valid_i,
  output logic   in_ready_o,
  input  level_t in_level_i,
  input  T       in_data_i,
  output logic   out_valid_o,
  input  logic   out_ready_i,
  output level_t out_level_o,
  output T       out_data_o
);

  localparam int unsigned DataWidth = $bits(T);
  typedef logic [NumLevels-1:0] levels_t;

  levels_t room, valid, pass, offered, chosen;
  T data [NumLevels];
  level_t level [NumLevels];

  for (genvar l = 0; l < NumLevels; l++) begin : gen_level
    assign level[l] = level_t'(l);
    assign offered[l] = valid[l] && pass[l];
    assign chosen[l] = offered >> l == 1;

    tmb_fifo #(
      .T    (T),
      .Depth(Depth)
    ) u_fifo (
      .clk_i,
      .rst_ni,
      .in_valid_i (in_valid_i && in_level_i == level[l]),
      .in_ready_o (room[l]),
      .in_data_i,
      .out_valid_o(valid[l]),
      .out_ready_i(out_ready_i && chosen[l]),
      .out_data_o (data[l])
    );
  end

  tmb_schedule_levels #(
    .NumSlots(NumLevels)
  ) u_levels (
    .clk_i,
    .rst_ni,
    .managed_i,
    .level_i(level),
    .waits_i(valid & ~(chosen & {NumLevels{out_ready_i}})),
    .taken_i(chosen & {NumLevels{out_ready_i}}),
    .pass_o (pass)
  );

  assign in_ready_o = room[in_level_i];
  assign out_valid_o = offered != '0;
  always_comb begin
    out_level_o = '0;
    out_data_o = T'('0);
    for (int unsigned l = 0; l < NumLevels; l++) begin
      out_level_o |= level[l] & {LevelWidth{chosen[l]}};
      out_data_o = T'(DataWidth'(out_data_o) | (DataWidth'(data[l]) & {DataWidth{chosen[l]}}));
    end
  end

endmodule
