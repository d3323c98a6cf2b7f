// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Proof: what goes into a queue comes out, once, in order, and nothing else does.
//
// Kind 0: tmb_fifo; 1: tmb_fifo, FallThrough; 2: tmb_fifo, OutputRegister; 3: tmb_spill_register.
//
// Data are one bit: a queue does not look at its data, so it is enough that one arbitrary word, the
// only one that carries a 1, comes out in its place and every other place carries a 0. If a word were
// lost, repeated or out of place, the solver would mark it or its neighbour.

module proof_queue #(
  parameter int unsigned Kind = 0,
  parameter int unsigned Depth = 3
) (
  input logic clk_i,
  input logic in_valid_i,
  input logic in_data_i,
  input logic out_ready_i
);

  // Words that the queue may hold.
  localparam int unsigned Capacity = (Kind == 2) ? Depth + 1 : (Kind == 3) ? 2 : Depth;
  typedef logic [$clog2(Capacity+2)-1:0] count_t;

  logic reset_q = 1'b1;
  logic rst_n, in_ready, out_valid, out_data;
  always_ff @(posedge clk_i) reset_q <= 1'b0;
  assign rst_n = !reset_q;

  if (Kind == 3) begin : gen_spill
    tmb_spill_register #(.T(logic)) dut (
      .clk_i, .rst_ni(rst_n), .in_valid_i, .in_ready_o(in_ready), .in_data_i,
      .out_valid_o(out_valid), .out_ready_i, .out_data_o(out_data)
    );
  end else begin : gen_fifo
    tmb_fifo #(
      .T(logic), .Depth(Depth), .FallThrough(Kind == 1), .OutputRegister(Kind == 2)
    ) dut (
      .clk_i, .rst_ni(rst_n), .in_valid_i, .in_ready_o(in_ready), .in_data_i,
      .out_valid_o(out_valid), .out_ready_i, .out_data_o(out_data)
    );
  end

  logic push, pop, marked_q, gone_q, offered_q, stalled_q;
  count_t count_q, ahead_q;
  assign push = in_valid_i && in_ready;
  assign pop = out_valid && out_ready_i;

  always_comb begin
    // One word is marked.
    assume (!(in_data_i && marked_q));
    // AXI-like: an offer stays.
    assume (!offered_q || in_valid_i);
  end

  // How many cycles a word has been inside without being offered.
  logic [1:0] hidden_q;

  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      count_q <= '0;
      ahead_q <= '0;
      marked_q <= 1'b0;
      gone_q <= 1'b0;
      offered_q <= 1'b0;
      stalled_q <= 1'b0;
      hidden_q <= '0;
    end else begin
      count_q <= count_q + count_t'(push) - count_t'(pop);
      offered_q <= in_valid_i && !in_ready;
      stalled_q <= out_valid && !out_ready_i;
      hidden_q <= (count_q != '0 && !out_valid) ? hidden_q + 2'd1 : '0;
      if (push && in_data_i) begin
        marked_q <= 1'b1;
        ahead_q <= count_q - count_t'(pop);
        if (pop && count_q == '0) gone_q <= 1'b1;
      end else if (pop && marked_q && !gone_q) begin
        ahead_q <= ahead_q - count_t'(1);
        if (ahead_q == '0) gone_q <= 1'b1;
      end
    end
  end

  // The word at the output is the marked one.
  logic its_turn;
  assign its_turn = (marked_q && !gone_q && ahead_q == '0)
      || (Kind == 1 && count_q == '0 && in_data_i);

  always_comb begin
    if (rst_n) begin
      assert (count_q <= count_t'(Capacity));
      // Nothing comes out of an empty queue, but in the same cycle when it falls through.
      assert (!out_valid || count_q != '0 || (Kind == 1 && in_valid_i));
      assert (!out_valid || out_data == its_turn);
      // A word shows within two cycles (one register behind the memory).
      assert (hidden_q < ((Kind == 2) ? 2'd2 : 2'd1));
      // An offer stays.
      assert (!stalled_q || out_valid);
      // Room is used: a queue that is not full takes a word. (A spill register opens one cycle late.)
      if (Kind <= 1) assert (in_ready == (count_q != count_t'(Capacity)));
      if (Kind == 2) assert (in_ready || count_q >= count_t'(Depth));
    end
  end

endmodule
