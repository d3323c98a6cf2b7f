// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The order of one writer's pieces: where its next row goes, and whether that ends a piece.
//
// NumChannels   where pieces go
// Depth         pieces that may be enqueued before their rows have left
//
// Throughput: one piece enqueued and one row left a cycle. Latency: one cycle from a piece to its first row.
// Ordering: rows leave in the order of their pieces.
// No deadlock: a piece waits for the rows of those before it; tmb_fabric argues why they leave.

module tmb_fabric_order import tmb_pkg::*; #(
  parameter int unsigned NumChannels = 2,
  parameter int unsigned Depth = 8,
  localparam int unsigned ChannelWidth = NumChannels > 1 ? $clog2(NumChannels) : 1
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,

  input  logic                    piece_valid_i,
  output logic                    piece_ready_o,
  input  logic [ChannelWidth-1:0] piece_channel_i,
  input  burst_len_t              piece_len_i,

  output logic                    row_valid_o,    // there is a piece
  output logic [ChannelWidth-1:0] row_channel_o,  // where its rows go
  output logic                    row_last_o,     // its next row is its last
  input  logic                    row_leaves_i
);

  typedef struct packed {
    logic [ChannelWidth-1:0] channel;
    burst_len_t              len;
  } order_t;

  order_t order;
  burst_len_t sent_q;  // rows of the piece

  tmb_fifo #(
    .T(order_t),
    .Depth(Depth)
  ) u_pieces (
    .clk_i,
    .rst_ni,
    .in_valid_i(piece_valid_i),
    .in_ready_o(piece_ready_o),
    .in_data_i('{channel: piece_channel_i, len: piece_len_i}),
    .out_valid_o(row_valid_o),
    .out_ready_i(row_leaves_i && row_last_o),
    .out_data_o(order)
  );

  assign row_channel_o = order.channel;
  assign row_last_o = sent_q == order.len;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) sent_q <= '0;
    else if (row_leaves_i) sent_q <= row_last_o ? '0 : burst_len_t'(sent_q + 1'b1);
  end

endmodule
