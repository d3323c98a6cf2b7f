// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: products of matrices of 64 by 64 32-bit integers (wrapping: signed or not). A packet is pairs of
// matrices, A then B, rows first, 32 KiB a pair; for each pair C = A B leaves, 16 KiB, in one packet. A pair that the
// packet's end cuts short has no product; the packet out of the kernel then ends with an empty beat.
//
// Sixteen multipliers: row k of B is read in four parts of 16 numbers, each times A[i][k]. Throughput: 32 KiB in 17,158
// cycles at most: 512 to load, 16,384 to multiply and send. Latency: the first row of C leaves 256 cycles after the
// pair is there. Back-pressure: a pair waits for the product before it; a part of C waits until it is taken. No
// deadlock: it waits for its neighbours only. It has no registers; it runs when there are data.

`include "tmb_ports.svh"

module matmul (
  input  logic         ap_clk,
  input  logic         ap_rst_n,

  `TMB_STREAM_IN_PORTS(in, 64),
  `TMB_STREAM_OUT_PORTS(out, 64)
);

  localparam int unsigned Size = 64;
  localparam int unsigned Parts = 4;    // beats of a row
  localparam int unsigned Lanes = 16;   // numbers of a beat

  typedef enum logic [1:0] {
    StLoad,
    StMultiply,
    StSend,     // the product's last part leaves
    StCut
  } state_e;

  state_e phase_q;

  // -- Load ---------------------------------------------------------------------------------------

  logic [511:0] a_q [Size*Parts];
  logic [511:0] b_q [Size*Parts];
  logic [8:0] beat_q;   // of the pair; the upper half is B
  logic last_q;         // this pair ends the packet
  logic take, pair_ends;

  assign in_tready = phase_q == StLoad;
  assign take = in_tvalid && in_tready;
  assign pair_ends = beat_q == 9'd511 && in_tkeep[63];

  always_ff @(posedge ap_clk) begin
    if (take && !beat_q[8]) a_q[beat_q[7:0]] <= in_tdata;
    if (take && beat_q[8]) b_q[beat_q[7:0]] <= in_tdata;
  end

  // -- Multiply: row i and part p of C, over k; memories answer a cycle later ---------------------

  logic [5:0] i_q, k_q;
  logic [1:0] part_q;
  logic asks_q;                 // there are sums to ask for
  logic read_q, first_q, end_q, final_q;  // what the memories answer now
  logic [3:0] pick_q;
  logic product_q, product_first_q, product_end_q, product_final_q;
  logic advance;
  logic [511:0] a_row_q, b_row_q;
  logic [31:0] factor;
  logic [31:0] products_q [Lanes];
  logic [31:0] sums_q [Lanes];

  assign factor = a_row_q[32*pick_q+:32];

  always_ff @(posedge ap_clk) begin
    if (advance) begin
      a_row_q <= a_q[{i_q, k_q[5:4]}];
      b_row_q <= b_q[{k_q, part_q}];
      pick_q <= k_q[3:0];
    end
  end

  logic sum_ready, out_valid_q, out_last_q;
  logic [511:0] out_q;
  assign advance = !(product_q && product_end_q && out_valid_q && !out_tready);
  assign sum_ready = product_q && product_end_q && advance;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      phase_q <= StLoad;
      beat_q <= '0;
      asks_q <= 1'b0;
      read_q <= 1'b0;
      product_q <= 1'b0;
      out_valid_q <= 1'b0;
    end else begin
      if (take) begin
        beat_q <= in_tlast ? '0 : beat_q + 9'd1;
        if (pair_ends) begin
          phase_q <= StMultiply;
          asks_q <= 1'b1;
        end else if (in_tlast) begin
          phase_q <= StCut;
        end
      end
      if (advance) begin
        if (asks_q && {i_q, part_q, k_q} == '1) asks_q <= 1'b0;
        read_q <= asks_q;
        product_q <= read_q;
      end
      if (sum_ready && product_final_q) phase_q <= StSend;
      if ((phase_q == StSend || phase_q == StCut) && out_valid_q && out_tready) phase_q <= StLoad;
      if (sum_ready) out_valid_q <= 1'b1;
      else if (phase_q == StCut && !out_valid_q) out_valid_q <= 1'b1;
      else if (out_tready) out_valid_q <= 1'b0;
    end
  end

  always_ff @(posedge ap_clk) begin
    if (take) begin
      last_q <= in_tlast;
      {i_q, part_q, k_q} <= '0;
    end else if (asks_q && advance) begin
      {i_q, part_q, k_q} <= {i_q, part_q, k_q} + 14'd1;
    end
    if (advance) begin
      first_q <= k_q == '0;
      end_q <= k_q == '1;
      final_q <= {i_q, part_q, k_q} == '1;
      product_first_q <= first_q;
      product_end_q <= end_q;
      product_final_q <= final_q;
      for (int unsigned n = 0; n < Lanes; n++) begin
        products_q[n] <= factor * b_row_q[32*n+:32];
        if (product_q) sums_q[n] <= (product_first_q ? '0 : sums_q[n]) + products_q[n];
      end
    end
    if (sum_ready) begin
      for (int unsigned n = 0; n < Lanes; n++) out_q[32*n+:32] <= sums_q[n] + products_q[n];
      out_last_q <= last_q && product_final_q;
    end else if (phase_q == StCut && !out_valid_q) begin
      out_last_q <= 1'b1;
    end
  end

  assign out_tvalid = out_valid_q;
  assign out_tdata = out_q;
  assign out_tkeep = {64{phase_q != StCut}};
  assign out_tlast = out_last_q;

  // Beats are full; the last byte of a packet's last one shows whether it is.
  logic unused_keep;
  assign unused_keep = ^in_tkeep[62:0];

endmodule
