// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Reads of pgrnk: two streams of rows (vertex records, edges), and the weight at the source of each edge, through one
// port. Records leave as rows, weights one by one in the order of the edges.
//
// StreamRows   rows buffered of each stream, a power of two, at least 2 * BurstRows
// BurstRows    rows of a stream's longest burst, a power of two, at most 64; bursts end at multiples of it
// Weights      weight reads outstanding, a power of two
//
// An edge whose source is not below `sources_i` reads row 0 of the weights, adds nothing and is counted.
//
// Throughput: an edge a cycle, less the cycles in which a stream's burst is requested. Latency: five cycles in addition to
// memory's from an edge's row to its weight. Ordering: all reads have one ID, so responses come in the order of
// requests; a queue holds the kind of each. Back-pressure: a request is made only with room reserved for its response, so
// responses are always taken. No deadlock: requests wait for room alone, which the consumer of rows and weights gives.

module pgrnk_fetch #(
  parameter int unsigned StreamRows = 32,
  parameter int unsigned BurstRows = 16,
  parameter int unsigned Weights = 64
) (
  input  logic         clk_i,
  input  logic         rst_ni,

  // A pulse; bases and counts are taken with it. Bases are aligned to 64 bytes.
  input  logic         start_i,
  input  logic [63:0]  records_base_i,
  input  logic [63:0]  edges_base_i,
  input  logic [63:0]  weights_base_i,
  input  logic [63:0]  vertices_i,      // records, 16 bytes each
  input  logic [63:0]  edges_i,         // edges, 8 bytes each
  input  logic [63:0]  sources_i,       // weights, 8 bytes each
  // Edges whose source is not below `sources_i`, since the start.
  output logic [63:0]  out_of_range_o,

  output logic         records_valid_o,
  input  logic         records_ready_i,
  output logic [511:0] records_o,
  output logic         weight_valid_o,
  input  logic         weight_ready_i,
  output logic [63:0]  weight_o,

  output logic         arvalid_o,
  input  logic         arready_i,
  output logic [63:0]  araddr_o,
  output logic [7:0]   arlen_o,
  input  logic         rvalid_i,
  output logic         rready_o,
  input  logic [511:0] rdata_i,
  input  logic         rlast_i
);

  if ((BurstRows & (BurstRows - 1)) != 0 || BurstRows > 64 || StreamRows < 2 * BurstRows) begin : gen_illegal
    $error("BurstRows is a power of two up to 64, StreamRows at least twice as many");
  end

  localparam int unsigned BurstWidth = $clog2(BurstRows);
  localparam int unsigned RoomWidth = $clog2(StreamRows + 1);
  localparam int unsigned WeightsWidth = $clog2(Weights + 1);
  // Responses outstanding: weights, and the bursts that fill both streams' buffers, one row each at worst.
  localparam int unsigned OrderDepth = Weights + 2 * StreamRows;

  typedef logic [BurstWidth:0] burst_t;
  typedef logic [RoomWidth-1:0] room_t;
  typedef logic [WeightsWidth-1:0] weights_t;

  typedef enum logic [1:0] {
    KindRecords,
    KindEdges,
    KindWeight
  } kind_e;

  // -- Streams: what each requests next -----------------------------------------------------------

  // Stream 0: records, four a row; stream 1: edges, eight a row. A burst is prepared with its room reserved, and
  // requested when its turn comes.
  logic [1:0][57:0] next_q, left_q;  // row numbers (address / 64), rows not yet prepared
  logic [1:0][57:0] burst_at_q;
  logic [1:0][5:0] burst_len_q;      // rows less one
  room_t [1:0] room_q;
  burst_t [1:0] burst;
  logic [1:0] wants_q, prepares, asks, pops;

  always_comb begin
    for (int unsigned i = 0; i < 2; i++) begin
      burst[i] = burst_t'(BurstRows) - burst_t'(next_q[i][BurstWidth-1:0]);
      if (left_q[i] < 58'(burst[i])) burst[i] = burst_t'(left_q[i]);
      prepares[i] = !wants_q[i] && left_q[i] != '0 && room_q[i] >= room_t'(BurstRows);
    end
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < 2; i++) begin
      if (!rst_ni) begin
        left_q[i] <= '0;
        room_q[i] <= room_t'(StreamRows);
        wants_q[i] <= 1'b0;
      end else begin
        if (start_i) begin
          left_q[i] <= i == 0 ? 58'((vertices_i + 64'd3) >> 2) : 58'((edges_i + 64'd7) >> 3);
        end else if (prepares[i]) begin
          left_q[i] <= left_q[i] - 58'(burst[i]);
        end
        room_q[i] <= room_q[i] - (prepares[i] ? room_t'(burst[i]) : '0) + room_t'(pops[i]);
        if (prepares[i]) wants_q[i] <= 1'b1;
        else if (asks[i]) wants_q[i] <= 1'b0;
      end
      if (start_i) next_q[i] <= i == 0 ? records_base_i[63:6] : edges_base_i[63:6];
      else if (prepares[i]) next_q[i] <= next_q[i] + 58'(burst[i]);
      if (prepares[i]) begin
        burst_at_q[i] <= next_q[i];
        burst_len_q[i] <= 6'(burst[i] - 1'b1);
      end
    end
  end

  // -- Edges, one by one --------------------------------------------------------------------------

  logic edges_valid, edges_ready, edge_taken, edge_last;
  logic [511:0] edges_row;
  logic [2:0] edge_lane_q;
  logic [63:0] edges_left_q;  // edges whose source has not been taken from its row

  // The next edge's source, then the address of its weight.
  logic source_valid_q, source_taken;
  logic [63:0] source_q;
  logic target_valid_q, target_taken, target_zero_q, source_inside;
  logic [60:0] target_q;

  assign edge_last = edge_lane_q == 3'd7 || edges_left_q == 64'd1;
  assign edge_taken = edges_valid && edges_left_q != '0 && (!source_valid_q || source_taken);
  assign edges_ready = edge_taken && edge_last;
  assign source_taken = source_valid_q && (!target_valid_q || target_taken);
  assign source_inside = source_q < sources_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      edge_lane_q <= '0;
      edges_left_q <= '0;
      source_valid_q <= 1'b0;
      target_valid_q <= 1'b0;
    end else begin
      if (start_i) begin
        edge_lane_q <= '0;
        edges_left_q <= edges_i;
      end else if (edge_taken) begin
        edge_lane_q <= edge_last ? '0 : edge_lane_q + 3'd1;
        edges_left_q <= edges_left_q - 64'd1;
      end
      if (edge_taken) source_valid_q <= 1'b1;
      else if (source_taken) source_valid_q <= 1'b0;
      if (source_taken) target_valid_q <= 1'b1;
      else if (target_taken) target_valid_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (edge_taken) source_q <= edges_row[64*edge_lane_q+:64];
    if (source_taken) begin
      target_q <= source_inside ? source_q[60:0] : '0;
      target_zero_q <= !source_inside;
    end
    if (start_i) out_of_range_o <= '0;
    else if (source_taken && !source_inside) out_of_range_o <= out_of_range_o + 64'd1;
  end

  // -- Requests: streams first, which are few -----------------------------------------------------

  weights_t weights_room_q;
  logic arvalid_q, request_free, weight_pop, ask;
  logic [57:0] araddr_q;
  logic [5:0] arlen_q;
  kind_e kind;
  logic kind_ready;

  assign request_free = (!arvalid_q || arready_i) && kind_ready;
  assign asks[0] = request_free && wants_q[0];
  assign asks[1] = request_free && wants_q[1] && !wants_q[0];
  assign target_taken = request_free && wants_q == '0 && target_valid_q && weights_room_q != '0;
  assign ask = |asks || target_taken;
  assign kind = asks[0] ? KindRecords : asks[1] ? KindEdges : KindWeight;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      arvalid_q <= 1'b0;
      weights_room_q <= weights_t'(Weights);
    end else begin
      if (ask) arvalid_q <= 1'b1;
      else if (arready_i) arvalid_q <= 1'b0;
      weights_room_q <= weights_room_q - weights_t'(target_taken) + weights_t'(weight_pop);
    end
  end
  always_ff @(posedge clk_i) begin
    if (ask) begin
      unique case (kind)
        KindRecords: {araddr_q, arlen_q} <= {burst_at_q[0], burst_len_q[0]};
        KindEdges: {araddr_q, arlen_q} <= {burst_at_q[1], burst_len_q[1]};
        default: {araddr_q, arlen_q} <= {weights_base_i[63:6] + target_q[60:3], 6'd0};
      endcase
    end
  end

  assign arvalid_o = arvalid_q;
  assign araddr_o = {araddr_q, 6'd0};
  assign arlen_o = {2'd0, arlen_q};

  // -- Responses: what each is, in the order of requests ------------------------------------------

  kind_e row_kind;
  logic [2:0] row_lane;
  logic row_zero, row_known;

  kernel_fifo #(
    .Width(6),
    .Depth(OrderDepth)
  ) u_order (
    .clk_i,
    .rst_ni,
    .in_valid_i(ask),
    .in_ready_o(kind_ready),
    .in_data_i({kind, target_zero_q, target_q[2:0]}),
    .out_valid_o(row_known),
    .out_ready_i(rvalid_i && rlast_i),
    .out_data_o({row_kind, row_zero, row_lane})
  );

  // A register, so that memory's row has a cycle to get here.
  logic row_valid_q, row_zero_q;
  kind_e row_kind_q;
  logic [2:0] row_lane_q;
  logic [511:0] row_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) row_valid_q <= 1'b0;
    else row_valid_q <= rvalid_i;
  end
  always_ff @(posedge clk_i) begin
    if (rvalid_i) begin
      row_q <= rdata_i;
      row_kind_q <= row_kind;
      row_zero_q <= row_zero;
      row_lane_q <= row_lane;
    end
  end
  assign rready_o = 1'b1;

  logic records_room, edges_room, weights_room;

  kernel_fifo #(
    .Width(512),
    .Depth(StreamRows)
  ) u_records (
    .clk_i,
    .rst_ni,
    .in_valid_i(row_valid_q && row_kind_q == KindRecords),
    .in_ready_o(records_room),
    .in_data_i(row_q),
    .out_valid_o(records_valid_o),
    .out_ready_i(records_ready_i),
    .out_data_o(records_o)
  );

  kernel_fifo #(
    .Width(512),
    .Depth(StreamRows)
  ) u_edges (
    .clk_i,
    .rst_ni,
    .in_valid_i(row_valid_q && row_kind_q == KindEdges),
    .in_ready_o(edges_room),
    .in_data_i(row_q),
    .out_valid_o(edges_valid),
    .out_ready_i(edges_ready),
    .out_data_o(edges_row)
  );

  kernel_fifo #(
    .Width(64),
    .Depth(Weights)
  ) u_weights (
    .clk_i,
    .rst_ni,
    .in_valid_i(row_valid_q && row_kind_q == KindWeight),
    .in_ready_o(weights_room),
    .in_data_i(row_zero_q ? 64'd0 : row_q[64*row_lane_q+:64]),
    .out_valid_o(weight_valid_o),
    .out_ready_i(weight_ready_i),
    .out_data_o(weight_o)
  );

  assign pops[0] = records_valid_o && records_ready_i;
  assign pops[1] = edges_valid && edges_ready;
  assign weight_pop = weight_valid_o && weight_ready_i;

  // Rooms are reserved, and each row was asked for.
  logic unused_ok;
  assign unused_ok = &{1'b0, records_room, edges_room, weights_room, row_known, records_base_i[5:0],
                       edges_base_i[5:0], weights_base_i[5:0]};

endmodule
