// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: one iteration of PageRank over a graph in compressed rows of incoming edges. It streams in vertex records and
// edges, fetches the weight at the source of each edge, and writes each vertex' new weight: the load PGRNK of FSRF's
// evaluation (section 6.1). 16 bytes a record, 8 an edge, 8 a weight in and 8 out, which are the bytes, reuse and read
// shares of the paper's table 1 (README.md).
//
// Ranks are fixed-point numbers of 64 bits, 2^62 for 1. With the sum S of the weights at its edges' sources a vertex has:
//
//   rank   = base + floor(damping * S / 2^32)
//   weight = floor(rank / outgoing), or rank if nothing goes out or `ranks` is 1
//
// The kernel ends whatever the numbers are. Edges that the records ask for beyond `edges` are taken for none, edges that
// no record asks for are read and not used, and an edge whose source is not below `sources` adds nothing; all are
// counted in the 64 bytes of `output`.
//
// Throughput: an edge a cycle and a vertex in four cycles, or what memory answers: a row of 64 bytes an edge, 64 of them
// under way; with `pause` at most an edge in 1 + pause cycles, while rows go on to arrive. Latency: a few hundred cycles.
// Ordering: weights are written in the order of the vertices. Back-pressure: pgrnk_fetch reserves room, pgrnk_rank
// waits. No deadlock: a vertex waits for its record and its weights, which are under way or have room reserved, and for
// nothing younger; a pause ends by itself.
// Register map: kernel.toml. Control: ap_ctrl_hs.

`include "tmb_ports.svh"

module pgrnk (
  `TMB_KERNEL_PORTS,
  `TMB_READ_PORTS(m_axi_gmem0),
  `TMB_WRITE_PORTS(m_axi_gmem1)
);

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [63:0] pause;         // 0x60
    logic [31:0] ranks;         // 0x5c
    logic [31:0] damping;       // 0x58
    logic [63:0] base;          // 0x50
    logic [63:0] sources;       // 0x48
    logic [63:0] edges;         // 0x40
    logic [63:0] vertices;      // 0x38
    logic [63:0] output_;       // 0x30, output
    logic [63:0] next_at;       // 0x28, next
    logic [63:0] weights_at;    // 0x20, weights
    logic [63:0] sources_at;    // 0x18, edge_sources
    logic [63:0] records_at;    // 0x10, records
  } arguments_t;

  // A vertex, as it lies in memory.
  typedef struct packed {
    logic [63:0] outgoing;  // edges that leave it
    logic [63:0] incoming;  // edges that lead to it, behind those of the vertices before
  } record_t;

  arguments_t arguments;
  logic start, done;

  kernel_control_registers #(
    .ArgumentWords($bits(arguments_t) / 32)
  ) u_control (
    `TMB_CONNECT_CONTROL,
    .begin_o(start),
    .done_i(done),
    .arguments_o(arguments)
  );

  // -- Reads --------------------------------------------------------------------------------------

  logic records_valid, records_ready, weight_valid, weight_ready;
  logic [511:0] records_row;
  logic [63:0] weight, out_of_range;

  pgrnk_fetch u_fetch (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .records_base_i(arguments.records_at),
    .edges_base_i(arguments.sources_at),
    .weights_base_i(arguments.weights_at),
    .vertices_i(arguments.vertices),
    .edges_i(arguments.edges),
    .sources_i(arguments.sources),
    .out_of_range_o(out_of_range),
    .records_valid_o(records_valid),
    .records_ready_i(records_ready),
    .records_o(records_row),
    .weight_valid_o(weight_valid),
    .weight_ready_i(weight_ready),
    .weight_o(weight),
    `TMB_CONNECT_READER(m_axi_gmem0)
  );

  // -- Sums: a vertex after the other -------------------------------------------------------------

  logic [63:0] vertices_left_q;  // records not yet taken
  logic [63:0] edges_left_q;     // weights not yet taken
  logic [1:0] lane_q;            // of the next record in its row
  logic [7:0] pause_q;           // cycles in which no weight is taken
  logic vertex_valid_q;
  record_t vertex_q, record;     // of the vertex that is summed up: incoming counts down
  logic [63:0] sum_q, asked_for_q;
  logic record_taken, record_last, adds, complete, vertex_taken, sums_ready, drains;

  assign record = records_row[128*lane_q+:128];
  assign record_last = lane_q == 2'd3 || vertices_left_q == 64'd1;
  assign complete = vertex_valid_q && (vertex_q.incoming == '0 || edges_left_q == '0);
  assign vertex_taken = complete && sums_ready;
  assign record_taken = records_valid && vertices_left_q != '0 && (!vertex_valid_q || vertex_taken);
  assign records_ready = record_taken && record_last;
  // Edges behind the last vertex are taken and dropped.
  assign drains = !vertex_valid_q && vertices_left_q == '0;
  assign weight_ready = pause_q == '0 && (drains || vertex_valid_q && !complete);
  assign adds = weight_valid && weight_ready;

  // Counted from edge to edge, so that memory's time and that of the next vertex overlap with it.
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) pause_q <= '0;
    else if (adds) pause_q <= arguments.pause[7:0];
    else if (pause_q != '0) pause_q <= pause_q - 8'd1;
  end

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      vertices_left_q <= '0;
      edges_left_q <= '0;
      lane_q <= '0;
      vertex_valid_q <= 1'b0;
    end else begin
      if (start) begin
        vertices_left_q <= arguments.vertices;
        edges_left_q <= arguments.edges;
        lane_q <= '0;
      end else begin
        if (record_taken) begin
          vertices_left_q <= vertices_left_q - 64'd1;
          lane_q <= record_last ? '0 : lane_q + 2'd1;
        end
        if (adds) edges_left_q <= edges_left_q - 64'd1;
      end
      if (record_taken) vertex_valid_q <= 1'b1;
      else if (vertex_taken) vertex_valid_q <= 1'b0;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (record_taken) begin
      vertex_q <= record;
      sum_q <= '0;
    end else if (adds) begin
      vertex_q.incoming <= vertex_q.incoming - 64'd1;
      sum_q <= sum_q + weight;
    end
    if (start) asked_for_q <= '0;
    else if (record_taken) asked_for_q <= asked_for_q + record.incoming;
  end

  // -- Ranks and weights --------------------------------------------------------------------------

  logic rank_valid, rank_ready, dangling, ranks_empty;
  logic [63:0] rank, next_weight;

  pgrnk_rank u_rank (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .base_i(arguments.base),
    .damping_i(arguments.damping),
    .valid_i(complete),
    .ready_o(sums_ready),
    .sum_i(sum_q),
    .outgoing_i(vertex_q.outgoing),
    .valid_o(rank_valid),
    .ready_i(rank_ready),
    .rank_o(rank),
    .weight_o(next_weight),
    .dangling_o(dangling),
    .empty_o(ranks_empty)
  );

  // Eight a row; the last row may have fewer.
  logic [7:0][63:0] row_q;
  logic [2:0] word_q;
  logic row_valid_q, row_ready, rank_taken;
  logic [63:0] written_left_q, dangling_q, total_q;

  assign rank_ready = !row_valid_q || row_ready;
  assign rank_taken = rank_valid && rank_ready;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      word_q <= '0;
      row_valid_q <= 1'b0;
    end else begin
      if (start) word_q <= '0;
      else if (rank_taken) word_q <= word_q + 3'd1;
      if (rank_taken) row_valid_q <= word_q == 3'd7 || written_left_q == 64'd1;
      else if (row_ready) row_valid_q <= 1'b0;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (rank_taken) row_q[word_q] <= arguments.ranks[0] ? rank : next_weight;
    if (start) begin
      written_left_q <= arguments.vertices;
      dangling_q <= '0;
      total_q <= '0;
    end else if (rank_taken) begin
      written_left_q <= written_left_q - 64'd1;
      dangling_q <= dangling_q + (dangling ? rank : '0);
      total_q <= total_q + rank;
    end
  end

  // -- Writes: the weights, then what was found ---------------------------------------------------

  typedef enum logic [2:0] {
    StepIdle,
    StepVertices,  // weights are written
    StepEdges,     // edges are left that no vertex asked for
    StepReport,    // the row of `output` is to leave
    StepEnd        // and is written
  } step_e;

  step_e step_q;
  logic written, reports, report_begins;

  assign reports = step_q == StepReport;
  assign report_begins = step_q == StepEdges && edges_left_q == '0;
  assign done = step_q == StepEnd && written;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      step_q <= StepIdle;
    end else begin
      unique case (step_q)
        StepIdle: if (start) step_q <= StepVertices;
        StepVertices: if (written) step_q <= StepEdges;
        StepEdges: if (report_begins) step_q <= StepReport;
        StepReport: if (row_ready) step_q <= StepEnd;
        default: if (written) step_q <= StepIdle;
      endcase
    end
  end

  kernel_burst_writer u_writer (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start || report_begins),
    .base_i(start ? arguments.next_at : arguments.output_),
    .bytes_i(start ? {arguments.vertices[60:0], 3'd0} : 64'd64),
    .done_o(written),
    .row_valid_i(row_valid_q || reports),
    .row_ready_o(row_ready),
    .row_i(reports ? {64'd0, 64'd0, 64'd0, out_of_range, asked_for_q, arguments.edges, total_q, dangling_q} : row_q),
    `TMB_CONNECT_WRITER(m_axi_gmem1)
  );

  `TMB_READ_WHOLE_ROWS(m_axi_gmem0)
  `TMB_WRITE_WHOLE_ROWS(m_axi_gmem1)

  // The shell reports failed accesses to the host.
  logic unused_ok;
  assign unused_ok = &{1'b0, m_axi_gmem0_rresp, m_axi_gmem1_bresp, arguments.ranks[31:1], arguments.pause[63:8],
                       ranks_empty};

endmodule
