// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Which blocks are here: tags, lines that have come, and what is to be fetched.
//
// A slice wishes for a block (`fetch_*`). Is it in the range and in no unit, the unit that was used longest
// ago gets it, of those that neither wait for rows nor have rows that are being read; is there none, the wish
// is lost. Each half of a block is a burst of 64 rows through a port of its own (`burst_*`).
//
// Coherence. The CPU's write-backs go to memory, not here. When one is done, its line is dead in a block that
// has it, or that has been asked for: reads of it go to memory. A line's read and write are never under way
// together (the directory sees to it), so a block that is asked for after the write was done has the line as
// it is, and one that was asked for before has it dead.

module prefetcher_units #(
  parameter int unsigned Units = 8,
  parameter int unsigned BlockLinesLog2 = 6,
  parameter int unsigned LineWidth = 33,
  localparam int unsigned UnitWidth = $clog2(Units),
  localparam int unsigned BlockWidth = LineWidth - BlockLinesLog2,
  localparam int unsigned BlockLines = 1 << BlockLinesLog2
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic [BlockWidth-1:0] base_i,    // first block of the range
  input  logic [BlockWidth-1:0] blocks_i,  // whole blocks of the range
  input  logic [31:0]           enabled_i, // units that are used

  output logic [Units-1:0]      valid_o,
  output logic [BlockWidth-1:0] block_o [Units],
  output logic [BlockLines-1:0] here_o [Units],
  output logic [BlockLines-1:0] dead_o [Units],

  // The slices.
  input  logic [Units-1:0]      used_i [2],
  input  logic [Units-1:0]      reading_i [2],
  input  logic                  fetch_valid_i [2],
  input  logic [BlockWidth-1:0] fetch_block_i [2],
  input  logic                  dead_valid_i [2],
  input  logic [LineWidth-1:0]  dead_line_i [2],

  // The halves of blocks.
  output logic                  burst_valid_o [2],
  input  logic                  burst_ready_i [2],
  output logic [UnitWidth-1:0]  burst_unit_o [2],
  input  logic                  come_valid_i [2],  // a line of the half has come whole
  input  logic [UnitWidth-1:0]  come_unit_i [2],
  input  logic [BlockLinesLog2-2:0] come_place_i [2],
  input  logic                  come_error_i [2],
  input  logic                  come_last_i [2]
);

  logic [Units-1:0] valid_q;
  logic [BlockWidth-1:0] block_q [Units];
  logic [BlockLines-1:0] here_q [Units];
  logic [BlockLines-1:0] dead_q [Units];
  logic [1:0] owed_q [Units];  // halves that have rows to come
  // older_q[i][j]: unit i was used before unit j.
  logic [Units-1:0] older_q [Units];

  assign valid_o = valid_q;
  assign block_o = block_q;
  assign here_o = here_q;
  assign dead_o = dead_q;

  // A wish; the slices take turns.
  logic wish_q, turn_q;
  logic [BlockWidth-1:0] wished_q;
  logic pick;
  assign pick = fetch_valid_i[1] && (turn_q || !fetch_valid_i[0]);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      wish_q <= 1'b0;
      turn_q <= 1'b0;
    end else begin
      wish_q <= fetch_valid_i[0] || fetch_valid_i[1];
      turn_q <= !pick;
    end
  end
  always_ff @(posedge clk_i) wished_q <= fetch_block_i[pick];

  logic [Units-1:0] same, eligible, oldest;
  logic [UnitWidth-1:0] victim;
  logic take;
  logic [1:0] queue_ready;
  always_comb begin
    victim = '0;
    for (int unsigned u = 0; u < Units; u++) begin
      same[u] = valid_q[u] && block_q[u] == wished_q;
      eligible[u] = 32'(u) < enabled_i && owed_q[u] == '0
          && !reading_i[0][u] && !reading_i[1][u] && !used_i[0][u] && !used_i[1][u];
    end
    for (int unsigned u = 0; u < Units; u++) begin
      oldest[u] = eligible[u];
      for (int unsigned v = 0; v < Units; v++) begin
        if (v != u && eligible[v] && !older_q[u][v]) oldest[u] = 1'b0;
      end
      if (oldest[u]) victim |= UnitWidth'(u);
    end
  end
  assign take = wish_q && same == '0 && (|oldest) && (&queue_ready)
      && BlockWidth'(wished_q - base_i) < blocks_i;

  for (genvar h = 0; h < 2; h++) begin : gen_half
    kernel_fifo #(
      .Width(UnitWidth),
      .Depth(Units)
    ) u_bursts (
      .clk_i,
      .rst_ni,
      .in_valid_i(take),
      .in_ready_o(queue_ready[h]),
      .in_data_i(victim),
      .out_valid_o(burst_valid_o[h]),
      .out_ready_i(burst_ready_i[h]),
      .out_data_o(burst_unit_o[h])
    );
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= '0;
      for (int unsigned u = 0; u < Units; u++) owed_q[u] <= '0;
    end else begin
      for (int unsigned u = 0; u < Units; u++) begin
        for (int unsigned h = 0; h < 2; h++) begin
          if (come_valid_i[h] && come_last_i[h] && come_unit_i[h] == UnitWidth'(u)) begin
            owed_q[u][h] <= 1'b0;
          end
        end
        if (take && victim == UnitWidth'(u)) begin
          valid_q[u] <= 1'b1;
          owed_q[u] <= '1;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned u = 0; u < Units; u++) begin
      for (int unsigned h = 0; h < 2; h++) begin
        if (come_valid_i[h] && come_unit_i[h] == UnitWidth'(u)) begin
          here_q[u][{h[0], come_place_i[h]}] <= 1'b1;
          if (come_error_i[h]) dead_q[u][{h[0], come_place_i[h]}] <= 1'b1;
        end
      end
      for (int unsigned s = 0; s < 2; s++) begin
        if (dead_valid_i[s] && valid_q[u]
            && block_q[u] == dead_line_i[s][LineWidth-1:BlockLinesLog2]) begin
          dead_q[u][dead_line_i[s][BlockLinesLog2-1:0]] <= 1'b1;
        end
      end
      if (take && victim == UnitWidth'(u)) begin
        block_q[u] <= wished_q;
        here_q[u] <= '0;
        dead_q[u] <= '0;
      end
    end
  end

  // The last use of each: a unit that is used now is older than none.
  logic [Units-1:0] touched;
  assign touched = used_i[0] | used_i[1] | (take ? oldest : '0);
  always_ff @(posedge clk_i) begin
    for (int unsigned u = 0; u < Units; u++) begin
      for (int unsigned v = 0; v < Units; v++) begin
        if (!rst_ni) older_q[u][v] <= u < v;
        else if (touched[u] && touched[v]) older_q[u][v] <= u < v;
        else if (touched[u]) older_q[u][v] <= 1'b0;
        else if (touched[v]) older_q[u][v] <= 1'b1;
      end
    end
  end

endmodule
