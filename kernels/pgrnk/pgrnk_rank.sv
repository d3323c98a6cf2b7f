// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// From the sum of a vertex' weights to its rank and its own weight:
//
//   rank   = base + floor(damping * sum / 2^32)   modulo 2^64
//   weight = floor(rank / outgoing), or the rank itself if nothing goes out
//
// A product of four steps of eight bits, then a restoring division in sixteen stages of four steps of one bit. All
// stages move on together, once in four cycles.
//
// Throughput: a vertex in four cycles. Latency: 68 cycles while the other side takes what comes. Ordering: first in,
// first out. Back-pressure: while a result is not taken, every stage waits. No deadlock: nothing is waited for but that.

module pgrnk_rank (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic [63:0] base_i,
  input  logic [31:0] damping_i,

  input  logic        valid_i,
  output logic        ready_o,
  input  logic [63:0] sum_i,
  input  logic [63:0] outgoing_i,

  output logic        valid_o,
  input  logic        ready_i,
  output logic [63:0] rank_o,
  output logic [63:0] weight_o,
  output logic        dangling_o,  // nothing goes out
  // Nothing is inside.
  output logic        empty_o
);

  localparam int unsigned Stages = 16;

  // The step of all stages: 0 to 3; the next stage takes over behind the last.
  logic [1:0] step_q;
  logic moves, steps;
  logic [Stages:0] valid_q;

  assign empty_o = valid_q == '0;
  // The last step waits for the result to be taken.
  assign steps = !empty_o && (step_q != 2'd3 || !valid_q[Stages] || ready_i);
  assign moves = empty_o || steps && step_q == 2'd3;
  assign ready_o = moves;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      step_q <= '0;
      valid_q <= '0;
    end else begin
      if (moves) step_q <= '0;
      else if (steps) step_q <= step_q + 2'd1;
      if (moves) valid_q <= {valid_q[Stages-1:0], valid_i};
    end
  end

  // -- Product: damping, eight bits a step, the highest first -------------------------------------

  // It begins as the base, which the four steps shift to its place.

  logic [63:0] sum_q, product_outgoing_q;
  logic [31:0] damping_q;
  logic [87:0] product_q;
  logic [95:0] product_d;

  assign product_d = {product_q, 8'd0} + 96'(sum_q) * 96'(damping_q[31:24]);

  always_ff @(posedge clk_i) begin
    if (moves) begin
      if (valid_i) begin
        sum_q <= sum_i;
        product_outgoing_q <= outgoing_i;
        damping_q <= damping_i;
        product_q <= 88'(base_i);
      end
    end else if (steps && valid_q[0]) begin
      damping_q <= {damping_q[23:0], 8'd0};
      product_q <= product_d[87:0];
    end
  end

  logic [63:0] rank;
  assign rank = product_d[95:32];

  // -- Division: a bit a step, the highest first --------------------------------------------------

  typedef struct packed {
    logic [63:0] remainder;
    logic [63:0] quotient;   // bits of the rank that are left, then bits of the quotient
    logic [63:0] divisor;
    logic [63:0] rank;
  } stage_t;

  function automatic stage_t divide(stage_t stage);
    logic [64:0] shifted, difference;
    divide = stage;
    shifted = {stage.remainder, stage.quotient[63]};
    difference = shifted - {1'b0, stage.divisor};
    // A borrow: the divisor is larger.
    divide.remainder = difference[64] ? shifted[63:0] : difference[63:0];
    divide.quotient = {stage.quotient[62:0], !difference[64]};
    return divide;
  endfunction

  stage_t [Stages-1:0] stage_q, stage_d;

  always_comb begin
    for (int unsigned i = 0; i < Stages; i++) stage_d[i] = divide(stage_q[i]);
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Stages; i++) begin
      if (moves) begin
        if (valid_q[i]) begin
          stage_q[i] <= i == 0 ? {64'd0, rank, product_outgoing_q, rank} : stage_d[i == 0 ? 0 : i-1];
        end
      end else if (steps && valid_q[i+1]) begin
        stage_q[i] <= stage_d[i];
      end
    end
  end

  assign dangling_o = stage_q[Stages-1].divisor == '0;
  assign rank_o = stage_q[Stages-1].rank;
  assign weight_o = dangling_o ? rank_o : stage_d[Stages-1].quotient;
  assign valid_o = valid_q[Stages] && step_q == 2'd3;

endmodule
