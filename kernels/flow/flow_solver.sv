// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Solves the normal equations of a tile: with the sums xx, xy, yy, xt, yt the motion (u, v) has xx u + xy v = -xt and
// xy u + yy v = -yt. Both are rounded towards zero to 1/256 pixel and limited to +-32767; if the determinant is 0,
// both are -32768.
//
// Throughput: a tile in 22 cycles. Latency: the same. Back-pressure: no tile is taken until the motion has left. No
// deadlock: it waits for its neighbours alone.

module flow_solver (
  input  logic                    clk_i,
  input  logic                    rst_ni,

  input  logic                    sums_valid_i,
  output logic                    sums_ready_o,
  input  logic signed [4:0][31:0] sums_i,  // xx, xy, yy, xt, yt

  output logic                    motion_valid_o,
  input  logic                    motion_ready_i,
  output logic [31:0]             motion_o  // u in the low half
);

  // Bits of a quotient: 7 before the point, 8 behind it.
  localparam int unsigned Bits = 15;

  typedef logic signed [31:0] sum_t;
  typedef logic signed [64:0] wide_t;
  typedef logic [71:0] rest_t;

  typedef enum logic [2:0] {
    StIdle,
    StDeterminant,  // xx yy - xy xy
    StFirst,        // xy yt - yy xt
    StSecond,       // xy xt - xx yt
    StCompare,      // is a quotient too large?
    StDivide,
    StMotion
  } state_e;

  state_e state_q;
  logic signed [4:0][31:0] sums_q;
  logic signed [63:0] left_q, right_q;
  wide_t difference, u_q;
  logic [64:0] determinant_q;
  logic [3:0] bit_q;
  logic [1:0] negative_q, limited_q;
  rest_t divisor, rest_q [2];
  logic [Bits-1:0] quotient_q [2];

  assign difference = wide_t'(left_q) - wide_t'(right_q);
  // A quotient begins at 2^7: its rest moves up.
  assign divisor = {determinant_q, 7'd0};
  assign sums_ready_o = state_q == StIdle;
  assign motion_valid_o = state_q == StMotion;

  function automatic rest_t magnitude(wide_t value);
    wide_t positive;
    positive = value < 0 ? -value : value;
    return {7'd0, positive};
  endfunction

  // -- Products: two a step, of which a step later the difference is there ---------------------------

  sum_t left_a, left_b, right_a, right_b;
  always_comb begin
    unique case (state_q)
      StIdle: begin
        {left_a, left_b} = {sums_i[0], sums_i[2]};
        {right_a, right_b} = {sums_i[1], sums_i[1]};
      end
      StDeterminant: begin
        {left_a, left_b} = {sums_q[1], sums_q[4]};
        {right_a, right_b} = {sums_q[2], sums_q[3]};
      end
      default: begin
        {left_a, left_b} = {sums_q[1], sums_q[3]};
        {right_a, right_b} = {sums_q[0], sums_q[4]};
      end
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StIdle;
    end else begin
      unique case (state_q)
        StIdle: if (sums_valid_i) state_q <= StDeterminant;
        StDeterminant: state_q <= StFirst;
        StFirst: state_q <= StSecond;
        StSecond: state_q <= StCompare;
        StCompare: state_q <= StDivide;
        StDivide: if (bit_q == '0) state_q <= StMotion;
        default: if (motion_ready_i) state_q <= StIdle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == StIdle && sums_valid_i) sums_q <= sums_i;
    if ((state_q == StIdle && sums_valid_i) || state_q == StDeterminant || state_q == StFirst) begin
      left_q <= 64'(left_a) * 64'(left_b);
      right_q <= 64'(right_a) * 64'(right_b);
    end
    unique case (state_q)
      StDeterminant: determinant_q <= difference;
      StFirst: u_q <= difference;
      StSecond: begin
        negative_q <= {difference < 0, u_q < 0};
        rest_q[0] <= magnitude(u_q);
        rest_q[1] <= magnitude(difference);
      end
      StCompare: begin
        for (int unsigned k = 0; k < 2; k++) limited_q[k] <= rest_q[k] >= divisor;
        bit_q <= 4'(Bits - 1);
      end
      StDivide: begin
        bit_q <= bit_q - 4'd1;
        for (int unsigned k = 0; k < 2; k++) begin
          if ({rest_q[k], 1'b0} >= {1'b0, divisor}) begin
            rest_q[k] <= rest_t'({rest_q[k], 1'b0} - {1'b0, divisor});
            quotient_q[k] <= {quotient_q[k][Bits-2:0], 1'b1};
          end else begin
            rest_q[k] <= rest_t'({rest_q[k], 1'b0});
            quotient_q[k] <= {quotient_q[k][Bits-2:0], 1'b0};
          end
        end
      end
      default: ;
    endcase
  end

  always_comb begin
    for (int unsigned k = 0; k < 2; k++) begin
      logic [15:0] value;
      value = {1'b0, limited_q[k] ? '1 : quotient_q[k]};
      motion_o[16*k+:16] = determinant_q == '0 ? 16'h8000 : negative_q[k] ? -value : value;
    end
  end

endmodule
