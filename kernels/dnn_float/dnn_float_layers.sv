// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The layers of dnn_float, for one image of 8 by 8 unsigned bytes at a time, in float32:
//
//   convolution       8 channels of 3 by 3 weights and a bias: 6 by 6 sums
//   activation        ReLU, maximum of each 2 by 2: 3 by 3 numbers per channel
//   fully connected   10 classes of 72 weights and a bias: scores
//   class             the largest score, the first of equal ones
//
// Each product and sum is rounded. Terms are added in this order: bias, then the window line by line; bias, then place
// by place of the 3 by 3, and in a place channel by channel. Weights are kept here, in load_i's rows of 16 numbers: a
// tap of all channels in each of 9 rows, the channels' biases, the classes' biases, then a row per place and channel
// with the weights of all classes.
//
// Throughput: an image in 324 cycles: 36 per place, a term of four sums of all channels. Latency: 386 cycles, so at the
// start of an image there is one other at most whose result has not come. Back-pressure: none; a result is to be taken.

module dnn_float_layers #(
  parameter int unsigned Classes = 10
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,

  input  logic                     load_i,
  input  logic [6:0]               load_row_i,
  input  logic [511:0]             row_i,      // weights, or an image

  // The image is taken while idle_o.
  input  logic                     start_i,
  output logic                     idle_o,

  output logic                     result_valid_o,
  output logic [3:0]               class_o,
  output logic [31:0]              score_o,    // of the class
  // Stable until the next result.
  output logic [Classes-1:0][31:0] scores_o
);

  localparam int unsigned Channels = 8;
  localparam int unsigned Taps = 9;
  localparam int unsigned Places = 9;
  // A lane of the fully connected layer has four classes, the last one fewer.
  localparam int unsigned Lanes = (Classes + 3) / 4;
  localparam int unsigned ChannelBiasRow = Taps;
  localparam int unsigned ClassBiasRow = Taps + 1;
  localparam int unsigned FirstWeightRow = Taps + 2;
  // Cycles of dnn_float_sum to a product, and to a sum.
  localparam int unsigned ProductLatency = 3;
  localparam int unsigned SumLatency = 7;

  // -- Weights --------------------------------------------------------------------------------------

  logic [Channels-1:0][31:0] taps_q [Taps];
  logic [Channels-1:0][31:0] channel_bias_q;
  logic [Classes-1:0][31:0] class_bias_q;
  logic [Classes-1:0][31:0] weights_q [Places*Channels];   // of place and channel

  always_ff @(posedge clk_i) begin
    if (load_i) begin
      if (load_row_i < 7'(Taps)) taps_q[load_row_i[3:0]] <= row_i[32*Channels-1:0];
      if (load_row_i == 7'(ChannelBiasRow)) channel_bias_q <= row_i[32*Channels-1:0];
      if (load_row_i == 7'(ClassBiasRow)) class_bias_q <= row_i[32*Classes-1:0];
      if (load_row_i >= 7'(FirstWeightRow)) weights_q[load_row_i-7'(FirstWeightRow)] <= row_i[32*Classes-1:0];
    end
  end

  // -- Steps: a tap of one of a place's four windows ------------------------------------------------

  typedef struct packed {
    logic valid;
    logic [1:0] part;    // window
    logic [3:0] tap;     // 0 to 8, line by line
    logic [3:0] place;   // 0 to 8, line by line
  } step_t;

  // A step's pixel is registered, then its number and taps, then come the latencies of its sum and of the maximum.
  localparam int unsigned Number = 1;
  localparam int unsigned Product = Number + ProductLatency;
  localparam int unsigned Sum = Number + SumLatency;
  localparam int unsigned Most = Sum + 1;

  logic busy_q;
  logic [511:0] image_q;
  logic [1:0] part_q, tap_line_q, tap_column_q, line_q, column_q;
  logic tap_ends, place_ends, image_ends;
  logic [2:0] y, x;
  step_t step;
  step_t steps_q [Most+1];

  assign tap_ends = part_q == 2'd3;
  assign place_ends = tap_ends && tap_line_q == 2'd2 && tap_column_q == 2'd2;
  assign image_ends = place_ends && line_q == 2'd2 && column_q == 2'd2;
  assign idle_o = !busy_q || image_ends;
  assign y = {line_q, part_q[1]} + 3'(tap_line_q);
  assign x = {column_q, part_q[0]} + 3'(tap_column_q);
  assign step = '{
      valid: busy_q,
      part: part_q,
      tap: 4'(tap_line_q) + {1'b0, tap_line_q, 1'b0} + 4'(tap_column_q),
      place: 4'(line_q) + {1'b0, line_q, 1'b0} + 4'(column_q)
  };

  always_ff @(posedge clk_i) begin
    if (!rst_ni) busy_q <= 1'b0;
    else if (start_i) busy_q <= 1'b1;
    else if (image_ends) busy_q <= 1'b0;
    if (start_i) begin
      image_q <= row_i;
      {part_q, tap_line_q, tap_column_q, line_q, column_q} <= '0;
    end else if (busy_q) begin
      part_q <= part_q + 2'd1;
      if (tap_ends) begin
        tap_column_q <= tap_column_q == 2'd2 ? '0 : tap_column_q + 2'd1;
        if (tap_column_q == 2'd2) tap_line_q <= tap_line_q == 2'd2 ? '0 : tap_line_q + 2'd1;
      end
      if (place_ends) begin
        column_q <= column_q == 2'd2 ? '0 : column_q + 2'd1;
        if (column_q == 2'd2) line_q <= line_q + 2'd1;
      end
    end
    for (int unsigned i = 0; i <= Most; i++) begin
      if (!rst_ni) steps_q[i] <= '0;
      else steps_q[i] <= i == 0 ? step : steps_q[(i+Most)%(Most+1)];
    end
  end

  // -- Convolution, and the maximum of each place ---------------------------------------------------

  // A byte as a number.
  function automatic logic [31:0] number(input logic [7:0] byte_i);
    logic [2:0] top;
    top = '0;
    for (int unsigned i = 0; i < 8; i++) if (byte_i[i]) top = 3'(i);
    return byte_i == '0 ? '0 : {1'b0, 8'd127 + 8'(top), 7'(byte_i << (3'd7 - top)), 16'd0};
  endfunction

  logic [7:0] pixel_q;
  logic [31:0] number_q;
  logic [Channels-1:0][31:0] step_taps_q, sums;
  logic [Channels-1:0][30:0] most_q;
  logic sum_is_last;

  assign sum_is_last = steps_q[Sum].valid && steps_q[Sum].tap == 4'(Taps - 1);

  always_ff @(posedge clk_i) begin
    pixel_q <= image_q[8*{y, x}+:8];
    number_q <= number(pixel_q);
    step_taps_q <= taps_q[steps_q[Number-1].tap];
    for (int unsigned c = 0; c < Channels; c++) begin
      // Numbers that are not negative compare as integers; the maximum begins at 0: ReLU.
      if (sum_is_last && steps_q[Sum].part == '0) most_q[c] <= sums[c][31] ? '0 : sums[c][30:0];
      else if (sum_is_last && !sums[c][31] && sums[c][30:0] > most_q[c]) most_q[c] <= sums[c][30:0];
    end
  end

  for (genvar c = 0; c < Channels; c++) begin : g_channel
    dnn_float_sum u_sum (
      .clk_i,
      .a_i(number_q),
      .b_i(step_taps_q[c]),
      .first_i(steps_q[Product].tap == '0),
      .bias_i(channel_bias_q[c]),
      .sum_o(sums[c])
    );
  end

  // -- Scores: a term of a class of each lane a cycle, 32 cycles per place --------------------------

  typedef struct packed {
    logic valid;
    logic [3:0] place;
    logic [2:0] channel;
    logic [1:0] part;    // class of a lane
  } term_t;

  logic most_ends;
  term_t term_q;
  // From its weights and activation to its sum.
  term_t terms_q [SumLatency+1];
  logic [30:0] activation_q;
  logic [Classes-1:0][31:0] class_weights_q, scores_q;
  logic [4*Lanes-1:0][31:0] lane_weights, lane_starts;
  logic [Lanes-1:0][31:0] lane_sums;

  assign most_ends = steps_q[Most].valid && steps_q[Most].tap == 4'(Taps - 1) && steps_q[Most].part == 2'd3;
  assign lane_weights = (128 * Lanes)'(class_weights_q);
  assign lane_starts = (128 * Lanes)'(terms_q[ProductLatency].place == '0 ? class_bias_q : scores_q);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) term_q <= '0;
    else if (most_ends) term_q <= '{valid: 1'b1, place: steps_q[Most].place, channel: '0, part: '0};
    else if (term_q.valid) begin
      {term_q.channel, term_q.part} <= {term_q.channel, term_q.part} + 5'd1;
      if (term_q.channel == '1 && term_q.part == '1) term_q.valid <= 1'b0;
    end
    for (int unsigned i = 0; i <= SumLatency; i++) begin
      if (!rst_ni) terms_q[i] <= '0;
      else terms_q[i] <= i == 0 ? term_q : terms_q[(i+SumLatency)%(SumLatency+1)];
    end
    activation_q <= most_q[term_q.channel];
    class_weights_q <= weights_q[{term_q.place, term_q.channel}];
    for (int unsigned k = 0; k < Classes; k++) begin
      if (terms_q[SumLatency].valid && terms_q[SumLatency].part == 2'(k % 4)) scores_q[k] <= lane_sums[k/4];
    end
  end

  for (genvar lane = 0; lane < Lanes; lane++) begin : g_lane
    dnn_float_sum u_sum (
      .clk_i,
      .a_i({1'b0, activation_q}),
      .b_i(lane_weights[4*lane+32'(terms_q[0].part)]),
      .first_i(terms_q[ProductLatency].channel == '0),
      .bias_i(lane_starts[4*lane+32'(terms_q[ProductLatency].part)]),
      .sum_o(lane_sums[lane])
    );
  end

  // -- Class: a score a cycle -----------------------------------------------------------------------

  // Integers in the order of numbers; both zeros are equal.
  function automatic logic signed [31:0] ranked(input logic [31:0] number_i);
    return number_i[31] ? -$signed({1'b0, number_i[30:0]}) : $signed({1'b0, number_i[30:0]});
  endfunction

  logic scored, scored_q, ranks_q, ranked_q;
  logic [3:0] rank_q, class_q;
  logic [Classes-1:0][31:0] results_q;
  logic [31:0] candidate, best_q;

  assign scored = terms_q[SumLatency].valid && terms_q[SumLatency].place == 4'(Places - 1) &&
      terms_q[SumLatency].channel == '1 && terms_q[SumLatency].part == '1;
  assign candidate = results_q[rank_q];
  assign result_valid_o = ranked_q;
  assign class_o = class_q;
  assign score_o = best_q;
  assign scores_o = results_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      scored_q <= 1'b0;
      ranks_q <= 1'b0;
      ranked_q <= 1'b0;
    end else begin
      scored_q <= scored;
      if (scored_q) ranks_q <= 1'b1;
      else if (rank_q == 4'(Classes - 1)) ranks_q <= 1'b0;
      ranked_q <= ranks_q && rank_q == 4'(Classes - 1);
    end
    // The next image's scores begin before this one's are ranked.
    if (scored_q) begin
      results_q <= scores_q;
      rank_q <= '0;
    end else if (ranks_q) begin
      rank_q <= rank_q + 4'd1;
      if (rank_q == '0 || ranked(candidate) > ranked(best_q)) begin
        best_q <= candidate;
        class_q <= rank_q;
      end
    end
  end

endmodule
