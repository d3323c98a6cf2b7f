// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Gradients of flow: of eight pixels at once in both directions and in time, with the taps 1, -8, 0, 8, -1 (twelve times the
// gradient), and the sums of their products over the eight pixels. The gradients belong to the line two lines before the one that
// comes in, and are 0 in the two outermost lines and columns of an image.
//
// MaxBlocks   rows of eight pixels in a line, a power of two
//
// Throughput: a row per cycle in which step_i is high; all stages move with it and only then. Latency: Steps steps, one of
// which waits for the neighbour to the right. Ordering: as they come. No deadlock: nothing waits.

module flow_gradients #(
  parameter int unsigned MaxBlocks = 256,
  localparam int unsigned BlockWidth = $clog2(MaxBlocks)
) (
  input  logic                  clk_i,

  input  logic                  step_i,
  input  logic [511:0]          row_i,
  input  logic [BlockWidth-1:0] block_i,
  // Of the line two lines before: the block is its first, its last; the line has gradients.
  input  logic                  first_i,
  input  logic                  last_i,
  input  logic                  covered_i,

  // Sums over the eight pixels: x x, x y, y y, x t, y t.
  output logic signed [4:0][29:0] sums_o
);

  localparam int unsigned Pixels = 8;

  typedef logic [Pixels-1:0][7:0] pixels_t;
  typedef logic signed [Pixels-1:0][12:0] gradients_t;

  function automatic logic signed [12:0] gradient(logic [7:0] a, logic [7:0] b, logic [7:0] d, logic [7:0] e);
    return 13'(a) - 13'(e) + ((13'(d) - 13'(b)) << 3);
  endfunction

  // -- The row, and what is left of the four lines before -------------------------------------------

  typedef struct packed {
    pixels_t [3:0] lines;       // the middle frame, of the last line first
    gradients_t [1:0] in_time;
  } history_t;

  history_t history_q [MaxBlocks];
  history_t before_q, after;
  logic [511:0] row_q;
  logic [BlockWidth-1:0] block_q;
  logic first1_q, last1_q, covered1_q;
  pixels_t middle;
  gradients_t in_time, vertical;

  always_comb begin
    for (int unsigned i = 0; i < Pixels; i++) begin
      middle[i] = row_q[64*i+16+:8];
      in_time[i] = gradient(row_q[64*i+:8], row_q[64*i+8+:8], row_q[64*i+24+:8], row_q[64*i+32+:8]);
      vertical[i] = gradient(before_q.lines[3][i], before_q.lines[2][i], before_q.lines[0][i], middle[i]);
    end
  end
  assign after.lines = {before_q.lines[2:0], middle};
  assign after.in_time = {before_q.in_time[0], in_time};

  always_ff @(posedge clk_i) begin
    if (step_i) before_q <= history_q[block_i];
  end
  always_ff @(posedge clk_i) begin
    if (step_i) history_q[block_q] <= after;
  end

  // -- Three blocks of the line in the middle: this one has its neighbours ---------------------------

  pixels_t next_q, this_q;
  logic [1:0][7:0] previous_q;
  gradients_t vertical_next_q, vertical_this_q, time_next_q, time_this_q;
  logic first2_q, last2_q, covered2_q, first3_q, last3_q, covered3_q;
  gradients_t across;
  logic [Pixels+3:0][7:0] around;
  logic [Pixels-1:0] kept;

  assign around = {next_q[1:0], this_q, previous_q};
  always_comb begin
    for (int unsigned i = 0; i < Pixels; i++) begin
      across[i] = gradient(around[i], around[i+1], around[i+3], around[i+4]);
    end
    kept = covered3_q ? '1 : '0;
    if (first3_q) kept[1:0] = '0;
    if (last3_q) kept[Pixels-1:Pixels-2] = '0;
  end

  gradients_t x_q, y_q, t_q;

  always_ff @(posedge clk_i) begin
    if (step_i) begin
      row_q <= row_i;
      block_q <= block_i;
      {first1_q, last1_q, covered1_q} <= {first_i, last_i, covered_i};
      next_q <= before_q.lines[1];
      vertical_next_q <= vertical;
      time_next_q <= before_q.in_time[1];
      {first2_q, last2_q, covered2_q} <= {first1_q, last1_q, covered1_q};
      this_q <= next_q;
      previous_q <= this_q[Pixels-1:Pixels-2];
      vertical_this_q <= vertical_next_q;
      time_this_q <= time_next_q;
      {first3_q, last3_q, covered3_q} <= {first2_q, last2_q, covered2_q};
      for (int unsigned i = 0; i < Pixels; i++) begin
        x_q[i] <= kept[i] ? across[i] : '0;
        y_q[i] <= kept[i] ? vertical_this_q[i] : '0;
        t_q[i] <= kept[i] ? time_this_q[i] : '0;
      end
    end
  end

  // -- Products and their sums ----------------------------------------------------------------------

  logic signed [4:0][Pixels-1:0][25:0] products_q;
  logic signed [4:0][29:0] sums_d, sums_q;

  function automatic logic signed [25:0] product(logic signed [12:0] a, logic signed [12:0] b);
    return a * b;
  endfunction

  always_comb begin
    for (int unsigned k = 0; k < 5; k++) begin
      sums_d[k] = '0;
      for (int unsigned i = 0; i < Pixels; i++) begin
        sums_d[k] = sums_d[k] + {{4{products_q[k][i][25]}}, products_q[k][i]};
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (step_i) begin
      for (int unsigned i = 0; i < Pixels; i++) begin
        products_q[0][i] <= product(x_q[i], x_q[i]);
        products_q[1][i] <= product(x_q[i], y_q[i]);
        products_q[2][i] <= product(y_q[i], y_q[i]);
        products_q[3][i] <= product(x_q[i], t_q[i]);
        products_q[4][i] <= product(y_q[i], t_q[i]);
      end
      sums_q <= sums_d;
    end
  end
  assign sums_o = sums_q;

endmodule
