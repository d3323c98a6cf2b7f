// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Hands out the indices of a payload buffer and takes them back, in any order.
//
// Throughput: one a cycle each way. Latency: an index that comes back can be handed out two cycles
// later. Back-pressure: valid_o is low while all are out. No deadlock: taking back never waits.

`include "tmb_assert.svh"

module tmb_directory_pool #(
  parameter int unsigned Depth = 32,
  localparam int unsigned IndexWidth = $clog2(Depth)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  output logic                  valid_o,
  output logic [IndexWidth-1:0] index_o,
  input  logic                  take_i,
  input  logic                  free_i,
  input  logic [IndexWidth-1:0] free_index_i
);

  // Indices that were never handed out, then those that came back.
  logic [IndexWidth:0] fresh_q;
  logic has_fresh, back_valid, back_room;
  logic [IndexWidth-1:0] back_index;
  assign has_fresh = fresh_q != (IndexWidth + 1)'(Depth);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) fresh_q <= '0;
    else if (take_i && has_fresh) fresh_q <= fresh_q + 1'b1;
  end

  tmb_fifo #(
    .T(logic [IndexWidth-1:0]),
    .Depth(Depth)
  ) u_back (
    .clk_i,
    .rst_ni,
    .in_valid_i(free_i),
    .in_ready_o(back_room),
    .in_data_i(free_index_i),
    .out_valid_o(back_valid),
    .out_ready_i(take_i && !has_fresh),
    .out_data_o(back_index)
  );

  assign valid_o = has_fresh || back_valid;
  assign index_o = has_fresh ? fresh_q[IndexWidth-1:0] : back_index;

  // Every index has its place.
  logic unused_ok;
  assign unused_ok = &{1'b0, back_room};

  `TMB_ASSERT(BackHasRoom, !free_i || back_room)
  `TMB_ASSERT(TakesWhatIsThere, !take_i || valid_o)

endmodule
