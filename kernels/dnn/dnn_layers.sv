// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The layers of dnn, for one image of 8 by 8 unsigned bytes at a time:
//
//   convolution       8 channels of 3 by 3 signed bytes and a bias: 6 by 6 sums
//   activation        ReLU, maximum of each 2 by 2, right shift, limited to 255: 3 by 3 bytes per channel
//   fully connected   10 classes of 72 signed bytes and a bias: scores
//   class             the largest score, the first of equal ones; its margin over the next is (difference >> 6), limited to 255
//
// Sums have 24 bits and wrap; with biases of up to 2^22 none does. Weights are kept here, in load_i's rows: 0 and 1 have
// four channels each, of 16 bytes: nine weights, three bytes of padding, the bias. Row 2 has the classes' biases, of 4 bytes.
// Two rows follow for each place of the 3 by 3, of 8 bytes per class: a weight per channel.
//
// Throughput: an image in 36 cycles, one convolution sum of all channels a cycle. Latency: 57 cycles, so at the start of an
// image there is one other at most whose result has not come. Back-pressure: none; a result is to be taken.

module dnn_layers (
  input  logic         clk_i,
  input  logic         rst_ni,

  input  logic         load_i,
  input  logic [4:0]   load_row_i,
  input  logic [4:0]   shift_i,
  input  logic [511:0] row_i,      // weights, or an image

  // The image is taken while idle_o.
  input  logic         start_i,
  output logic         idle_o,

  output logic         result_valid_o,
  output logic [7:0]   class_o,
  output logic [7:0]   margin_o
);

  localparam int unsigned Channels = 8;
  localparam int unsigned Taps = 9;
  localparam int unsigned Classes = 10;
  localparam int unsigned Places = 9;
  localparam int unsigned MarginShift = 6;
  localparam int unsigned FirstPlaceRow = 3;

  typedef logic signed [23:0] sum_t;

  // -- Weights --------------------------------------------------------------------------------------

  logic [Channels-1:0][Taps-1:0][7:0] taps_q;
  sum_t channel_bias_q [Channels];
  sum_t class_bias_q [Classes];
  logic [511:0] low_q [Places];    // weights of classes 0 to 7
  logic [127:0] high_q [Places];
  logic [4:0] place_row;

  assign place_row = load_row_i - 5'(FirstPlaceRow);

  always_ff @(posedge clk_i) begin
    if (load_i) begin
      for (int unsigned c = 0; c < Channels; c++) begin
        if (load_row_i == 5'(c / 4)) begin
          taps_q[c] <= row_i[128*(c%4)+:8*Taps];
          channel_bias_q[c] <= row_i[128*(c%4)+96+:24];
        end
      end
      if (load_row_i == 5'd2) begin
        for (int unsigned k = 0; k < Classes; k++) class_bias_q[k] <= row_i[32*k+:24];
      end
      if (load_row_i >= 5'(FirstPlaceRow)) begin
        if (place_row[0]) high_q[place_row[4:1]] <= row_i[127:0];
        else low_q[place_row[4:1]] <= row_i;
      end
    end
  end

  // -- Places of the image, four sums each ----------------------------------------------------------

  typedef struct packed {
    logic valid;
    logic first;         // of the four sums
    logic last;
    logic [3:0] place;   // 0 to 8, line by line
  } step_t;

  localparam int unsigned Stages = 8;

  logic busy_q;
  logic [511:0] image_q;
  logic [1:0] line_q, column_q, part_q;
  logic [2:0] y, x;
  logic image_ends;
  step_t step;
  step_t steps_q [Stages];

  assign idle_o = !busy_q || image_ends;
  assign image_ends = line_q == 2'd2 && column_q == 2'd2 && part_q == 2'd3;
  assign y = {line_q, part_q[1]};
  assign x = {column_q, part_q[0]};
  assign step = '{
      valid: busy_q,
      first: part_q == 2'd0,
      last: part_q == 2'd3,
      place: 4'(line_q) + {1'b0, line_q, 1'b0} + 4'(column_q)
  };

  always_ff @(posedge clk_i) begin
    if (!rst_ni) busy_q <= 1'b0;
    else if (start_i) busy_q <= 1'b1;
    else if (image_ends) busy_q <= 1'b0;
    if (start_i) begin
      image_q <= row_i;
      line_q <= '0;
      column_q <= '0;
      part_q <= '0;
    end else if (busy_q) begin
      part_q <= part_q + 2'd1;
      if (part_q == 2'd3) begin
        column_q <= column_q == 2'd2 ? '0 : column_q + 2'd1;
        if (column_q == 2'd2) line_q <= line_q + 2'd1;
      end
    end
    for (int unsigned i = 0; i < Stages; i++) begin
      if (!rst_ni) steps_q[i] <= '0;
      else steps_q[i] <= i == 0 ? step : steps_q[(i+Stages-1)%Stages];
    end
  end

  // -- Convolution, and the activation of each place ------------------------------------------------

  logic [Taps-1:0][7:0] window_q;
  logic signed [16:0] tap_products_q [Channels][Taps];
  sum_t channel_sums [Channels], channel_sums_q [Channels], most_q [Channels];
  logic [Channels-1:0][7:0] activations_q;

  always_comb begin
    for (int unsigned c = 0; c < Channels; c++) begin
      channel_sums[c] = channel_bias_q[c];
      for (int unsigned t = 0; t < Taps; t++) channel_sums[c] = channel_sums[c] + 24'(tap_products_q[c][t]);
    end
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned t = 0; t < Taps; t++) window_q[t] <= image_q[8*{3'(y + 3'(t / 3)), 3'(x + 3'(t % 3))}+:8];
    for (int unsigned c = 0; c < Channels; c++) begin
      for (int unsigned t = 0; t < Taps; t++) begin
        tap_products_q[c][t] <= $signed({1'b0, window_q[t]}) * $signed(taps_q[c][t]);
      end
      channel_sums_q[c] <= channel_sums[c];
      // ReLU: the maximum begins at 0.
      if (steps_q[2].first) most_q[c] <= channel_sums_q[c] < 0 ? '0 : channel_sums_q[c];
      else if (channel_sums_q[c] > most_q[c]) most_q[c] <= channel_sums_q[c];
      activations_q[c] <= (most_q[c] >> shift_i) > 24'sd255 ? 8'd255 : 8'(most_q[c] >> shift_i);
    end
  end

  // -- Scores ---------------------------------------------------------------------------------------

  logic [639:0] class_weights_q;
  logic signed [16:0] class_products_q [Classes][Channels];
  sum_t class_sums [Classes], class_sums_q [Classes], scores_q [Classes];

  always_comb begin
    for (int unsigned k = 0; k < Classes; k++) begin
      class_sums[k] = '0;
      for (int unsigned c = 0; c < Channels; c++) class_sums[k] = class_sums[k] + 24'(class_products_q[k][c]);
    end
  end

  always_ff @(posedge clk_i) begin
    class_weights_q <= {high_q[steps_q[3].place], low_q[steps_q[3].place]};
    for (int unsigned k = 0; k < Classes; k++) begin
      for (int unsigned c = 0; c < Channels; c++) begin
        class_products_q[k][c] <= $signed({1'b0, activations_q[c]}) * $signed(class_weights_q[64*k+8*c+:8]);
      end
      class_sums_q[k] <= class_sums[k];
      if (steps_q[6].valid && steps_q[6].last) begin
        scores_q[k] <= (steps_q[6].place == '0 ? class_bias_q[k] : scores_q[k]) + class_sums_q[k];
      end
    end
  end

  // -- Class: a score a cycle -----------------------------------------------------------------------

  logic scored, ranks_q, ranked_q;
  logic [3:0] rank_q;
  sum_t left_q [Classes];
  sum_t best_q, next_q;
  logic [3:0] class_q;
  logic [23:0] margin;

  assign scored = steps_q[7].valid && steps_q[7].last && steps_q[7].place == 4'(Places - 1);
  // Two's complement: the difference of two sums needs no sign.
  assign margin = 24'(best_q - next_q) >> MarginShift;
  assign result_valid_o = ranked_q;
  assign class_o = {4'd0, class_q};
  assign margin_o = margin > 24'd255 ? 8'd255 : margin[7:0];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ranks_q <= 1'b0;
      ranked_q <= 1'b0;
    end else begin
      if (scored) ranks_q <= 1'b1;
      else if (rank_q == 4'(Classes - 1)) ranks_q <= 1'b0;
      ranked_q <= ranks_q && rank_q == 4'(Classes - 1);
    end
    if (scored) begin
      rank_q <= '0;
      left_q <= scores_q;
    end else if (ranks_q) begin
      rank_q <= rank_q + 4'd1;
      for (int unsigned k = 0; k + 1 < Classes; k++) left_q[k] <= left_q[k+1];
      if (rank_q == '0 || left_q[0] > best_q) begin
        best_q <= left_q[0];
        class_q <= rank_q;
        next_q <= rank_q == '0 ? 24'sh800000 : best_q;
      end else if (left_q[0] > next_q) begin
        next_q <= left_q[0];
      end
    end
  end

endmodule
