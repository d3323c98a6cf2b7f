// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Checksum of a line: the sum of its sixteen 64-bit words modulo 2^64, and their exclusive or.
//
// The rows come one at a time; done_o pulses five cycles after the second. Throughput: a row a cycle.

module rpc_handler (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         row_valid_i,
  input  logic         row_last_i,
  input  logic [511:0] row_i,
  output logic         done_o,
  output logic [63:0]  sum_o,
  output logic [63:0]  xor_o
);

  // Stages of the adder: 8 words to 4, 2, 1, then into the line's.
  logic [4:0] valid_q, last_q;
  logic [3:0][63:0] sum4_q, xor4_q;
  logic [1:0][63:0] sum2_q, xor2_q;
  logic [63:0] sum1_q, xor1_q, sum_q, xor_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= '0;
      last_q <= '0;
    end else begin
      valid_q <= {valid_q[3:0], row_valid_i};
      last_q <= {last_q[3:0], row_valid_i && row_last_i};
    end
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < 4; i++) begin
      sum4_q[i] <= row_i[128*i+:64] + row_i[128*i+64+:64];
      xor4_q[i] <= row_i[128*i+:64] ^ row_i[128*i+64+:64];
    end
    for (int unsigned i = 0; i < 2; i++) begin
      sum2_q[i] <= sum4_q[2*i] + sum4_q[2*i+1];
      xor2_q[i] <= xor4_q[2*i] ^ xor4_q[2*i+1];
    end
    sum1_q <= sum2_q[0] + sum2_q[1];
    xor1_q <= xor2_q[0] ^ xor2_q[1];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || last_q[3]) begin
      sum_q <= '0;
      xor_q <= '0;
    end else if (valid_q[2]) begin
      sum_q <= sum_q + sum1_q;
      xor_q <= xor_q ^ xor1_q;
    end
  end

  assign done_o = last_q[3];
  assign sum_o = sum_q;
  assign xor_o = xor_q;

  logic unused_ok;
  assign unused_ok = &{1'b0, valid_q[4:3], last_q[4]};

endmodule
