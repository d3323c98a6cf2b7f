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

  // SubBytes, MixColumns and AddRoundKey of a column. The share of a byte in row r is that of row 0, rotated by r
  // rows.
  function automatic column_t round_column(column_t shifted, column_t key);
    column_t share1, share2, share3;
    share1 = column_shares[shifted[15:8]];
    share2 = column_shares[shifted[23:16]];
    share3 = column_shares[shifted[31:24]];
    return key ^ column_shares[shifted[7:0]] ^ {share1[23:0], share1[31:24]}
           ^ {share2[15:0], share2[31:16]} ^ {share3[7:0], share3[31:8]};
  endfunction

  logic [Rounds:0] valid_q;

  assign advance = keys_ready && !(valid_q[Rounds] && !row_ready_i);

  always_ff @(posedge clk_i) begin
    if (!rst_ni || start_i) valid_q <= '0;
    else if (advance) valid_q <= {valid_q[Rounds-1:0], 1'b1};
  end

  // Sixteen columns, four a block.
  for (genvar r = 0; r <= Rounds; r++) begin : gen_stages
    for (genvar k = 0; k < 16; k++) begin : gen_columns
      column_t column_q;
      if (r == 0) begin : gen_first
        always_ff @(posedge clk_i) begin
          if (advance) column_q <= counters[32*k+:32];
        end
      end else begin : gen_round
        // ShiftRows: row i comes from the column i places further on in the block.
        localparam int unsigned C1 = k / 4 * 4 + (k + 1) % 4;
        localparam int unsigned C2 = k / 4 * 4 + (k + 2) % 4;
        localparam int unsigned C3 = k / 4 * 4 + (k + 3) % 4;
        column_t shifted, key;
        assign shifted = {gen_stages[r-1].gen_columns[C3].column_q[31:24],
                          gen_stages[r-1].gen_columns[C2].column_q[23:16],
                          gen_stages[r-1].gen_columns[C1].column_q[15:8],
                          gen_stages[r-1].gen_columns[k].column_q[7:0]};
        assign key = round_keys[r][32*(k%4)+:32];
        always_ff @(posedge clk_i) begin
          if (advance) column_q <= r < Rounds ? round_column(shifted, key) : sub_word(shifted) ^ key;
        end
      end
    end
  end

  for (genvar k = 0; k < 16; k++) begin : gen_row
    assign row_o[32*k+:32] = gen_stages[Rounds].gen_columns[k].column_q;
  end

  assign row_valid_o = valid_q[Rounds];

endmodule
