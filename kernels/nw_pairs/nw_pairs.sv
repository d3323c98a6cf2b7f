// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: scores of the global alignments (Needleman and Wunsch) of every pair of a query and a target, the load NW of
// FSRF's evaluation (section 6.1). Sequences have 64 letters of 2 bits, so a row of 64 bytes has four; a score is a signed
// byte (nw_pairs_grid.sv).
//
// Queries go in groups of 2^held_log2; a group holds while all targets pass. The scores of a group are target after
// target, those of a target query after query; groups follow one another. So for groups of one query `output` is the matrix
// of scores, a line per query.
//
// Throughput: a pair a cycle, and `pause` cycles less per row of targets. Latency: 128 cycles. Ordering: scores as above.
// Back-pressure: the grid stands while its scores are not written. No deadlock: it waits for memory alone. If a count
// is 0, nothing is read or written. Register map: kernel.toml. Control: ap_ctrl_hs.

`include "tmb_ports.svh"

module nw_pairs (
  `TMB_KERNEL_PORTS,
  `TMB_READ_PORTS(m_axi_gmem0),
  `TMB_WRITE_PORTS(m_axi_gmem1)
);

  localparam int unsigned SequenceBits = 128;
  localparam int unsigned Latency = 128;

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [63:0] pause;         // 0x40
    logic [63:0] held_log2;     // 0x38
    logic [63:0] target_count;  // 0x30
    logic [63:0] query_count;   // 0x28
    logic [63:0] output_;       // 0x20, output
    logic [63:0] targets;       // 0x18
    logic [63:0] queries;       // 0x10
  } arguments_t;

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

  logic [31:0] query_count, target_count;
  logic [2:0] held;        // queries of a group
  logic begins_q;          // the size of the output is known
  logic [63:0] scores_q;

  assign query_count = arguments.query_count[31:0];
  assign target_count = arguments.target_count[31:0];
  assign held = arguments.held_log2 == '0 ? 3'd1 : arguments.held_log2 == 64'd1 ? 3'd2 : 3'd4;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begins_q <= 1'b0;
    else begins_q <= start;
    if (start) scores_q <= 64'(query_count) * 64'(target_count);
  end

  logic row_valid, row_ready;
  logic [511:0] row;

  nw_pairs_fetch u_fetch (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(begins_q && scores_q != '0),
    .queries_i(arguments.queries[63:6]),
    .targets_i(arguments.targets[63:6]),
    .query_count_i(query_count),
    .target_count_i(target_count),
    .held_i(held),
    .row_valid_o(row_valid),
    .row_ready_i(row_ready),
    .row_o(row),
    .arvalid_o(m_axi_gmem0_arvalid),
    .arready_i(m_axi_gmem0_arready),
    .araddr_o(m_axi_gmem0_araddr),
    .arlen_o(m_axi_gmem0_arlen),
    .rvalid_i(m_axi_gmem0_rvalid),
    .rready_o(m_axi_gmem0_rready),
    .rdata_i(m_axi_gmem0_rdata)
  );

  // -- Pairs: of the row of targets that is here with the row of queries that is held ---------------

  logic held_row_q;           // the queries are here
  logic [511:0] query_row_q;
  logic [31:0] queries_q;     // left, with this group's
  logic [31:0] targets_q;     // left in this pass, with this one
  logic [1:0] first_q;        // the group's first query in its row
  logic [1:0] query_q;        // the next one in the group
  logic [1:0] query_lane;     // its place in its row
  logic [1:0] lane_q;         // the target's place in its row
  logic [3:0] pause_q;

  logic moves, pair, target_ends, pass_ends, row_used, group_ends_row;
  logic [127:0] query, target;

  assign pair = held_row_q && row_valid && moves && pause_q == '0;
  assign target_ends = pair && (3'(query_q) + 3'd1 == held || queries_q == 32'(query_q) + 32'd1);
  assign pass_ends = target_ends && targets_q == 32'd1;
  assign row_used = target_ends && (lane_q == 2'd3 || targets_q == 32'd1);
  assign group_ends_row = pass_ends && (3'(first_q) + held == 3'd4 || queries_q <= 32'(held));
  assign row_ready = !held_row_q || row_used;
  assign query_lane = first_q + query_q;
  assign query = query_row_q[SequenceBits*query_lane+:SequenceBits];
  assign target = row[SequenceBits*lane_q+:SequenceBits];

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      held_row_q <= 1'b0;
      pause_q <= '0;
    end else begin
      if (!held_row_q) held_row_q <= row_valid;
      else if (group_ends_row) held_row_q <= 1'b0;
      if (row_used) pause_q <= arguments.pause[3:0];
      else if (pause_q != '0) pause_q <= pause_q - 4'd1;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (!held_row_q && row_valid) query_row_q <= row;
    if (start) begin
      queries_q <= query_count;
      targets_q <= target_count;
      first_q <= '0;
      query_q <= '0;
      lane_q <= '0;
    end else if (pair) begin
      query_q <= target_ends ? '0 : query_q + 2'd1;
      if (target_ends) begin
        lane_q <= row_used ? '0 : lane_q + 2'd1;
        targets_q <= pass_ends ? target_count : targets_q - 32'd1;
      end
      if (pass_ends) begin
        queries_q <= queries_q - 32'(held);
        first_q <= 2'(3'(first_q) + held);
      end
    end
  end

  // -- Scores: the grid moves while it has a pair, and while rows of scores leave -------------------

  logic score_valid, scores_full_q, scores_ready, in_flight, score_ends;
  logic [7:0] score;
  logic [$clog2(Latency+1)-1:0] in_flight_q;
  logic [63:0] left_q;
  logic [5:0] byte_q;
  logic [511:0] scores_row_q;

  assign in_flight = in_flight_q != '0;
  assign moves = !scores_full_q || scores_ready;
  assign score_ends = score_valid && moves && (byte_q == 6'd63 || left_q == 64'd1);

  nw_pairs_grid u_grid (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .advance_i(moves && (pair || in_flight)),
    .pair_valid_i(pair),
    .query_i(query),
    .target_i(target),
    .score_valid_o(score_valid),
    .score_o(score)
  );

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      in_flight_q <= '0;
      scores_full_q <= 1'b0;
    end else begin
      if (pair != (score_valid && moves)) in_flight_q <= pair ? in_flight_q + 1'b1 : in_flight_q - 1'b1;
      if (moves) scores_full_q <= score_ends;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (begins_q) begin
      left_q <= scores_q;
      byte_q <= '0;
    end else if (score_valid && moves) begin
      left_q <= left_q - 64'd1;
      byte_q <= byte_q + 6'd1;
      scores_row_q[8*byte_q+:8] <= score;
    end
  end

  kernel_burst_writer u_writer (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(begins_q),
    .base_i(arguments.output_),
    .bytes_i(scores_q),
    .done_o(done),
    .row_valid_i(scores_full_q),
    .row_ready_o(scores_ready),
    .row_i(scores_row_q),
    `TMB_CONNECT_WRITER(m_axi_gmem1)
  );

  `TMB_READ_WHOLE_ROWS(m_axi_gmem0)
  `TMB_WRITE_WHOLE_ROWS(m_axi_gmem1)

  // Of an access that failed, the shell tells the host.
  logic unused_ok;
  assign unused_ok = &{1'b0, m_axi_gmem0_rresp, m_axi_gmem0_rlast, m_axi_gmem1_bresp, arguments.queries[5:0],
                       arguments.targets[5:0], arguments.query_count[63:32], arguments.target_count[63:32],
                       arguments.pause[63:4]};

endmodule
