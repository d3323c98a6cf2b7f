// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Key stream of AES-256 in counter mode (NIST SP 800-38A, section 6.5): rows of four blocks, which
// are the encryptions of a 128-bit big-endian counter that starts at the IV and wraps.
//
// Throughput: one row a cycle. Latency: the key schedule (14 cycles) and 15 stages. One stage a
// round; all stages move together, and only when the last one is empty or its row is taken. So the
// pipeline fills after a start and then stands still until it is needed.

module aes256_keystream import aes_pkg::*; (
  input  logic         clk_i,
  input  logic         rst_ni,

  // A pulse; key and IV are taken with it, rows under way are dropped. Byte 0 is in bits 7:0.
  input  logic         start_i,
  input  logic [255:0] key_i,
  input  logic [127:0] iv_i,

  output logic         row_valid_o,
  input  logic         row_ready_i,
  output logic [511:0] row_o
);

  localparam int unsigned Rounds = 14;

  function automatic block_t reverse_bytes(block_t block);
    for (int unsigned i = 0; i < 16; i++) reverse_bytes[8*i+:8] = block[8*(15-i)+:8];
  endfunction

  // -- Keys ---------------------------------------------------------------------------------------

  logic keys_ready;
  block_t round_keys [Rounds+1];

  aes256_key_schedule u_key_schedule (
    .clk_i,
    .rst_ni,
    .start_i,
    .key_i,
    .ready_o(keys_ready),
    .round_keys_o(round_keys)
  );

  // -- Counter ------------------------------------------------------------------------------------

  logic advance;
  logic [127:0] counter_q;  // of the next row's first block
  logic [511:0] counters;

  always_ff @(posedge clk_i) begin
    if (start_i) counter_q <= reverse_bytes(iv_i);
    else if (advance) counter_q <= counter_q + 128'd4;
  end

  always_comb begin
    for (int unsigned b = 0; b < 4; b++) begin
      counters[128*b+:128] = reverse_bytes(counter_q + 128'(b)) ^ round_keys[0];
    end
  end

  // -- Rounds: stage r holds the state after round r ----------------------------------------------

  // One lookup a byte for SubBytes and MixColumns together: a ROM, which simulates fast and in
  // which synthesis finds the equal bits.
  column_t column_shares [256];
  initial begin
    for (int i = 0; i < 256; i++) column_shares[i] = column_share(8'(i));
  end

  // SubBytes, ShiftRows, MixColumns, AddRoundKey. The share of a byte in row r is that of row 0,
  // rotated by r rows.
  function automatic block_t round(block_t state, block_t key);
    for (int unsigned c = 0; c < 4; c++) begin
      column_t column, share;
      column = key[32*c+:32];
      for (int unsigned r = 0; r < 4; r++) begin
        share = column_shares[state[32*((c+r)%4)+8*r+:8]];
        column ^= (share << (8 * r)) | (share >> (32 - 8 * r));
      end
      round[32*c+:32] = column;
    end
  endfunction

  logic [Rounds:0] valid_q;
  logic [511:0] states [Rounds+1];

  assign advance = keys_ready && !(valid_q[Rounds] && !row_ready_i);

  always_ff @(posedge clk_i) begin
    if (!rst_ni || start_i) valid_q <= '0;
    else if (advance) valid_q <= {valid_q[Rounds-1:0], 1'b1};
  end

  for (genvar r = 0; r <= Rounds; r++) begin : gen_stages
    logic [511:0] state_d, state_q;

    if (r == 0) begin : gen_first
      assign state_d = counters;
    end else begin : gen_round
      for (genvar b = 0; b < 4; b++) begin : gen_blocks
        if (r < Rounds) begin : gen_inner
          assign state_d[128*b+:128] = round(states[r-1][128*b+:128], round_keys[r]);
        end else begin : gen_last
          assign state_d[128*b+:128] = last_round(states[r-1][128*b+:128], round_keys[r]);
        end
      end
    end

    always_ff @(posedge clk_i) begin
      if (advance) state_q <= state_d;
    end
    assign states[r] = state_q;
  end

  assign row_valid_o = valid_q[Rounds];
  assign row_o = states[Rounds];

endmodule
