// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Rows of 64 pixels in, line by line; out come the 64 pixels of each with all their neighbours: three lines of
// 66. Pixels outside the image are zero.
//
// MaxBlocks   rows of 64 pixels that a line may have; two lines are kept in memories
//
// A window is out when the row right of its own in the line below has come, so an image of W rows a line takes W + 1
// more steps than it has rows: a line below the last one, and one step.
//
// Throughput: a row a cycle. Latency: a line and four cycles. Ordering: as they come. All stages move together, while
// advance_i is high; rows wait otherwise. No deadlock: nothing here waits for what comes later.

module conv_window #(
  parameter int unsigned MaxBlocks = 4096,
  localparam int unsigned BlockWidth = $clog2(MaxBlocks)
) (
  input  logic              clk_i,
  input  logic              rst_ni,

  // A pulse; the size is taken with it: rows of 64 pixels a line, less one, and lines, at least one.
  input  logic                  start_i,
  input  logic [BlockWidth-1:0] last_block_i,
  input  logic [31:0]           lines_i,

  // Stages move.
  input  logic              advance_i,

  input  logic              row_valid_i,
  output logic              row_ready_o,
  // Pixel 0 in bits 7:0.
  input  logic [511:0]      row_i,

  output logic              window_valid_o,
  // Lines above, same, below; pixels from the left neighbour of the first to the right one of the last.
  output logic [2:0][527:0] window_o
);

  typedef logic [BlockWidth-1:0] block_t;

  // A step, without its pixels.
  typedef struct packed {
    logic first;    // of a line
    logic last;     // of a line
    logic above;    // there is a line above
    logic above2;   // ... and one above that
    logic column;   // not the step behind the image
  } step_t;

  // -- Steps: the image, a line below it, and one step --------------------------------------------

  logic running_q, behind_q;
  block_t block_q, last_block_q;
  logic [32:0] line_q, lines_q;
  logic in_image, takes, ends_line;
  step_t step;

  assign in_image = line_q != lines_q;
  assign row_ready_o = running_q && in_image && advance_i;
  assign takes = running_q && advance_i && (row_valid_i || !in_image);
  assign ends_line = block_q == last_block_q;
  assign step = '{
    first: block_q == '0,
    last: ends_line,
    above: line_q != '0,
    above2: line_q > 33'd1,
    column: !behind_q
  };

  always_ff @(posedge clk_i) begin
    if (!rst_ni) running_q <= 1'b0;
    else if (start_i) running_q <= 1'b1;
    else if (takes && behind_q) running_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      block_q <= '0;
      line_q <= '0;
      behind_q <= 1'b0;
      last_block_q <= last_block_i;
      lines_q <= 33'(lines_i);
    end else if (takes) begin
      block_q <= ends_line ? '0 : block_q + 1'b1;
      if (ends_line && in_image) line_q <= line_q + 33'd1;
      if (ends_line && !in_image) behind_q <= 1'b1;
    end
  end

  // -- Columns: a row with the two above it -------------------------------------------------------

  logic [511:0] lines1 [MaxBlocks];  // the line before
  logic [511:0] lines2 [MaxBlocks];  // and the one before that
  logic [511:0] row_q, read1_q, read2_q, above1, above2, passed1_q, passed2_q;
  block_t row_block_q;
  step_t row_step_q;
  logic row_valid_q, same_block_q;

  // With one row a line, the row above is written in the cycle in which it is read.
  assign above1 = same_block_q ? passed1_q : read1_q;
  assign above2 = same_block_q ? passed2_q : read2_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) row_valid_q <= 1'b0;
    else if (advance_i) row_valid_q <= takes;
  end
  always_ff @(posedge clk_i) begin
    if (takes) begin
      row_q <= in_image ? row_i : '0;
      row_step_q <= step;
      row_block_q <= block_q;
      read1_q <= lines1[block_q];
      read2_q <= lines2[block_q];
      same_block_q <= row_valid_q && row_block_q == block_q;
    end
    if (advance_i && row_valid_q) begin
      lines1[row_block_q] <= row_q;
      lines2[row_block_q] <= above1;
      passed1_q <= row_q;
      passed2_q <= above1;
    end
  end

  // -- Windows: a column between its neighbours ---------------------------------------------------

  logic [2:0][511:0] column, column_q;
  logic [2:0][7:0] left_q;
  logic [2:0][527:0] window_q;
  step_t column_step_q;
  logic column_valid_q, window_valid_q, pushes;

  assign column[0] = row_step_q.above2 ? above2 : '0;
  assign column[1] = row_step_q.above ? above1 : '0;
  assign column[2] = row_q;
  // A window leaves when its right neighbour comes. Columns of the first line are of the line above the image.
  assign pushes = row_valid_q && column_valid_q && column_step_q.above && column_step_q.column;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      column_valid_q <= 1'b0;
      window_valid_q <= 1'b0;
    end else if (advance_i) begin
      if (row_valid_q) column_valid_q <= row_step_q.column;
      window_valid_q <= pushes;
    end
  end
  always_ff @(posedge clk_i) begin
    if (advance_i && row_valid_q) begin
      column_q <= column;
      column_step_q <= row_step_q;
      for (int unsigned i = 0; i < 3; i++) begin
        left_q[i] <= column_q[i][511:504];
        window_q[i] <= {column_step_q.last ? 8'd0 : column[i][7:0], column_q[i],
                        column_step_q.first ? 8'd0 : left_q[i]};
      end
    end
  end

  // The column has been made.
  logic unused_step;
  assign unused_step = column_step_q.above2;

  assign window_valid_o = window_valid_q;
  assign window_o = window_q;

endmodule
