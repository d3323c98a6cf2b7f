// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Key expansion of AES-256 (FIPS 197, section 5.2): one round key a cycle, so all fifteen are ready
// 14 cycles after start_i. They stay until the next start.

module aes256_key_schedule import aes_pkg::*; (
  input  logic         clk_i,
  input  logic         rst_ni,

  // A pulse; the key is taken with it.
  input  logic         start_i,
  input  logic [255:0] key_i,

  output logic         ready_o,
  output block_t       round_keys_o [15]
);

  block_t round_keys_q [15];
  logic busy_q, ready_q;
  logic [3:0] round_q;   // the round key that is made in this cycle
  block_t older_q, newer_q;  // the two before it
  logic [7:0] constant_q;

  // Even round keys rotate and add a constant, odd ones only substitute.
  column_t last, mixed, word;
  block_t made;
  assign last = newer_q[127:96];
  assign mixed = round_q[0] ? sub_word(last) :
      sub_word({last[7:0], last[31:8]}) ^ column_t'(constant_q);

  always_comb begin
    word = mixed;
    for (int unsigned c = 0; c < 4; c++) begin
      word ^= older_q[32*c+:32];
      made[32*c+:32] = word;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      ready_q <= 1'b0;
    end else if (start_i) begin
      busy_q <= 1'b1;
      ready_q <= 1'b0;
    end else if (busy_q && round_q == 4'd14) begin
      busy_q <= 1'b0;
      ready_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      round_keys_q[0] <= key_i[127:0];
      round_keys_q[1] <= key_i[255:128];
      {newer_q, older_q} <= key_i;
      round_q <= 4'd2;
      constant_q <= 8'h01;
    end else if (busy_q) begin
      round_keys_q[round_q] <= made;
      older_q <= newer_q;
      newer_q <= made;
      round_q <= round_q + 4'd1;
      if (!round_q[0]) constant_q <= xtime(constant_q);
    end
  end

  assign ready_o = ready_q;
  assign round_keys_o = round_keys_q;

endmodule
