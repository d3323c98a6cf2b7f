// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Reads of triangles, a row of 64 bytes each, through one port: the stream of records, the first row of each neighbour's
// record, and the rows behind it.
//
// StreamRows   rows of the stream requested ahead, a power of two
// Firsts       first rows that the caller has under way at most, a power of two
// Rests        rows behind first ones requested ahead, a power of two
//
// Throughput: a row a cycle. Latency: four cycles in addition to memory's. Ordering: all reads have one ID, so responses
// come in the order of requests; a queue holds the kind of each. Each kind leaves in its own order. Back-pressure: a request is
// made only with room reserved for its response, so responses are always taken; of first rows the caller has no more than
// Firsts under way. No deadlock: requests wait for room alone.

module triangles_fetch #(
  parameter int unsigned StreamRows = 8,
  parameter int unsigned Firsts = 16,
  parameter int unsigned Rests = 16
) (
  input  logic         clk_i,
  input  logic         rst_ni,

  // A pulse; the stream's first row (address / 64) and count of rows are taken with it.
  input  logic         start_i,
  input  logic [57:0]  stream_base_i,
  input  logic [57:0]  stream_rows_i,
  output logic         stream_valid_o,
  input  logic         stream_ready_i,
  output logic [511:0] stream_o,

  input  logic         first_ask_i,
  output logic         first_asked_o,
  input  logic [57:0]  first_at_i,
  output logic         first_valid_o,
  input  logic         first_ready_i,
  output logic [511:0] first_o,

  input  logic         rest_ask_i,
  output logic         rest_asked_o,
  input  logic [57:0]  rest_at_i,
  output logic         rest_valid_o,
  input  logic         rest_ready_i,
  output logic [511:0] rest_o,

  output logic         arvalid_o,
  input  logic         arready_i,
  output logic [63:0]  araddr_o,
  output logic [7:0]   arlen_o,
  input  logic         rvalid_i,
  output logic         rready_o,
  input  logic [511:0] rdata_i
);

  localparam int unsigned OrderDepth = 2 ** $clog2(StreamRows + Firsts + Rests);

  typedef logic [$clog2(StreamRows+1)-1:0] stream_room_t;
  typedef logic [$clog2(Rests+1)-1:0] rest_room_t;

  typedef enum logic [1:0] {
    KindStream,
    KindFirst,
    KindRest
  } kind_e;

  // -- Requests: the merge waits for rests, lookups for firsts; the stream is ahead ----------------

  logic [57:0] stream_at_q, stream_left_q;
  stream_room_t stream_room_q;
  rest_room_t rest_room_q;
  logic arvalid_q, free, order_ready, stream_asked, ask;
  logic [57:0] araddr_q, at;
  kind_e kind;

  assign free = (!arvalid_q || arready_i) && order_ready;
  assign rest_asked_o = free && rest_ask_i && rest_room_q != '0;
  assign first_asked_o = free && first_ask_i && !rest_asked_o;
  assign stream_asked = free && !rest_asked_o && !first_ask_i && stream_left_q != '0 && stream_room_q != '0;
  assign ask = rest_asked_o || first_asked_o || stream_asked;

  always_comb begin
    if (rest_asked_o) begin
      kind = KindRest;
      at = rest_at_i;
    end else if (first_asked_o) begin
      kind = KindFirst;
      at = first_at_i;
    end else begin
      kind = KindStream;
      at = stream_at_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      arvalid_q <= 1'b0;
      stream_left_q <= '0;
      stream_room_q <= stream_room_t'(StreamRows);
      rest_room_q <= rest_room_t'(Rests);
    end else begin
      if (ask) arvalid_q <= 1'b1;
      else if (arready_i) arvalid_q <= 1'b0;
      if (start_i) stream_left_q <= stream_rows_i;
      else if (stream_asked) stream_left_q <= stream_left_q - 58'd1;
      stream_room_q <= stream_room_q - stream_room_t'(stream_asked) + stream_room_t'(stream_valid_o && stream_ready_i);
      rest_room_q <= rest_room_q - rest_room_t'(rest_asked_o) + rest_room_t'(rest_valid_o && rest_ready_i);
    end
  end
  always_ff @(posedge clk_i) begin
    if (start_i) stream_at_q <= stream_base_i;
    else if (stream_asked) stream_at_q <= stream_at_q + 58'd1;
    if (ask) araddr_q <= at;
  end

  assign arvalid_o = arvalid_q;
  assign araddr_o = {araddr_q, 6'd0};
  assign arlen_o = '0;

  // -- Responses: what each is, in the order of requests ------------------------------------------

  kind_e row_kind, row_kind_q;
  logic row_known, row_valid_q;
  logic [511:0] row_q;

  kernel_fifo #(
    .Width(2),
    .Depth(OrderDepth)
  ) u_order (
    .clk_i,
    .rst_ni,
    .in_valid_i(ask),
    .in_ready_o(order_ready),
    .in_data_i({kind}),
    .out_valid_o(row_known),
    .out_ready_i(rvalid_i),
    .out_data_o({row_kind})
  );

  // A register, so that memory's row has a cycle to get here.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) row_valid_q <= 1'b0;
    else row_valid_q <= rvalid_i;
  end
  always_ff @(posedge clk_i) begin
    if (rvalid_i) begin
      row_q <= rdata_i;
      row_kind_q <= row_kind;
    end
  end
  assign rready_o = 1'b1;

  logic stream_room, first_room, rest_room;

  kernel_fifo #(
    .Width(512),
    .Depth(StreamRows)
  ) u_stream (
    .clk_i,
    .rst_ni,
    .in_valid_i(row_valid_q && row_kind_q == KindStream),
    .in_ready_o(stream_room),
    .in_data_i(row_q),
    .out_valid_o(stream_valid_o),
    .out_ready_i(stream_ready_i),
    .out_data_o(stream_o)
  );

  kernel_fifo #(
    .Width(512),
    .Depth(Firsts)
  ) u_first (
    .clk_i,
    .rst_ni,
    .in_valid_i(row_valid_q && row_kind_q == KindFirst),
    .in_ready_o(first_room),
    .in_data_i(row_q),
    .out_valid_o(first_valid_o),
    .out_ready_i(first_ready_i),
    .out_data_o(first_o)
  );

  kernel_fifo #(
    .Width(512),
    .Depth(Rests)
  ) u_rest (
    .clk_i,
    .rst_ni,
    .in_valid_i(row_valid_q && row_kind_q == KindRest),
    .in_ready_o(rest_room),
    .in_data_i(row_q),
    .out_valid_o(rest_valid_o),
    .out_ready_i(rest_ready_i),
    .out_data_o(rest_o)
  );

  // Rooms are reserved, and each row was asked for.
  logic unused_ok;
  assign unused_ok = &{1'b0, stream_room, first_room, rest_room, row_known};

endmodule
