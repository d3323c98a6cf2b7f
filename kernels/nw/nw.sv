// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: scores of global alignments (Needleman and Wunsch, linear gaps) of a query with many targets. The query
// is an argument, `query_bytes` letters of `query`, 1 to 64. A packet into the kernel is targets one behind the other,
// `target_bytes` letters each, the last one maybe shorter; the packet out of it is their scores, 32 bits each.
// A letter is a byte; equal ones score `match`, others `mismatch`, a letter against a gap `gap` (signed, wrapping).
//
// A systolic array: cell j holds letter j of the query, letters of targets pass by. Throughput: a letter a cycle,
// targets without a cycle between them. Latency: `query_bytes` + 1 cycles. Ordering: scores as targets. Back-pressure:
// the array stands while a score is not taken. No deadlock: it waits for its neighbours only. Between runs no letter is
// taken. Register map: kernel.toml. Control: ap_ctrl_hs; done when the last score has left.
// Source: Needleman, Wunsch, J. Mol. Biol. 48 (1970); vFPIO table 3.

`include "tmb_ports.svh"

module nw (
  `TMB_KERNEL_PORTS,

  input  logic [7:0]   in_tdata,
  input  logic         in_tkeep,
  input  logic         in_tlast,
  input  logic         in_tvalid,
  output logic         in_tready,

  `TMB_STREAM_OUT_PORTS(out, 4)
);

  localparam int unsigned Cells = 64;

  typedef struct packed {
    logic [8*Cells-1:0] query;   // 0x38
    logic [63:0] gap;            // 0x30, the low half counts, as of the next two
    logic [63:0] mismatch;       // 0x28
    logic [63:0] match;          // 0x20
    logic [63:0] target_bytes;   // 0x18
    logic [63:0] query_bytes;    // 0x10
  } arguments_t;

  // State that travels with a letter.
  typedef struct packed {
    logic letter;   // there is one; an empty beat with TLAST has none
    logic first;    // of its target
    logic last;     // of its target: what comes out is a score
    logic ends;     // the packet
    logic [7:0] value;
  } token_t;

  arguments_t arguments;
  logic start, done_q, running_q;

  kernel_control_registers #(
    .ArgumentWords($bits(arguments_t) / 32)
  ) u_control (
    `TMB_CONNECT_CONTROL,
    .begin_o(start),
    .done_i(done_q),
    .arguments_o(arguments)
  );

  logic advance, take;
  logic [63:0] place_q;  // of the next letter in its target
  token_t token;
  logic valid;

  assign in_tready = running_q && advance;
  assign take = in_tvalid && in_tready;
  always_comb begin
    token.letter = in_tkeep;
    token.first = place_q == '0;
    token.last = in_tkeep && (in_tlast || place_q + 64'd1 >= arguments.target_bytes);
    token.ends = in_tlast;
    token.value = in_tdata;
  end
  assign valid = take && (in_tkeep || in_tlast);

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) running_q <= 1'b0;
    else if (start) running_q <= 1'b1;
    else if (take && in_tlast) running_q <= 1'b0;
  end
  always_ff @(posedge ap_clk) begin
    if (start || (take && token.last)) place_q <= '0;
    else if (take && in_tkeep) place_q <= place_q + 64'd1;
  end

  // -- Cells: each takes what its left neighbour gave a cycle before ------------------------------

  logic [31:0] match, mismatch, gap;
  assign match = arguments.match[31:0];
  assign mismatch = arguments.mismatch[31:0];
  assign gap = arguments.gap[31:0];

  token_t token_q [Cells];
  logic [Cells-1:0] valid_q;
  logic [31:0] score_q [Cells];     // of the letters so far with the query up to this cell
  logic [31:0] diagonal_q [Cells];  // what came from the left a letter ago
  logic [31:0] row_q;               // letters of this target so far, as gaps

  // Scores without a letter of the target: gaps only.
  logic [31:0] border_q [Cells+1];
  always_ff @(posedge ap_clk) begin
    // A new border is right after as many cycles as there are cells before it; the first letter is slower.
    border_q[0] <= '0;
    for (int unsigned j = 0; j < Cells; j++) border_q[j+1] <= border_q[j] + gap;
  end

  token_t token_d [Cells];
  logic [Cells-1:0] valid_d;
  logic [31:0] left_d [Cells], score_d [Cells];

  function automatic logic [31:0] larger(logic [31:0] a, logic [31:0] b);
    return $signed(a) > $signed(b) ? a : b;
  endfunction

  always_comb begin
    for (int unsigned j = 0; j < Cells; j++) begin
      logic [31:0] up, diagonal;
      if (j == 0) begin
        token_d[j] = token;
        valid_d[j] = valid;
        left_d[j] = (token.first ? '0 : row_q) + gap;
      end else begin
        token_d[j] = token_q[(j+Cells-1)%Cells];
        valid_d[j] = valid_q[(j+Cells-1)%Cells];
        left_d[j] = score_q[(j+Cells-1)%Cells];
      end
      up = token_d[j].first ? border_q[j+1] : score_q[j];
      diagonal = token_d[j].first ? border_q[j] : diagonal_q[j];
      score_d[j] = larger(larger(up, left_d[j]) + gap,
          diagonal + (token_d[j].value == arguments.query[8*j+:8] ? match : mismatch));
    end
  end

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) valid_q <= '0;
    else if (advance) valid_q <= valid_d;
  end
  always_ff @(posedge ap_clk) begin
    if (advance) begin
      for (int unsigned j = 0; j < Cells; j++) begin
        if (valid_d[j]) begin
          token_q[j] <= token_d[j];
          if (token_d[j].letter) begin
            score_q[j] <= score_d[j];
            diagonal_q[j] <= left_d[j];
          end
        end
      end
      if (valid && token.letter) row_q <= left_d[0];
    end
  end

  // -- The score is that of the query's last cell ------------------------------------------------

  logic [5:0] tap;
  logic out_valid_q, out_last_q, out_kept_q;
  logic [31:0] out_q;
  assign tap = arguments.query_bytes == '0 ? 6'd0 :
      (arguments.query_bytes > 64'(Cells) ? 6'd63 : 6'(arguments.query_bytes - 64'd1));

  assign advance = !out_valid_q || out_tready;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      out_valid_q <= 1'b0;
      done_q <= 1'b0;
    end else begin
      if (advance) out_valid_q <= valid_q[tap] && (token_q[tap].last || token_q[tap].ends);
      done_q <= out_valid_q && out_tready && out_last_q;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (advance) begin
      out_q <= score_q[tap];
      out_last_q <= token_q[tap].ends;
      out_kept_q <= token_q[tap].last;
    end
  end

  assign out_tvalid = out_valid_q;
  assign out_tdata = out_q;
  assign out_tkeep = {4{out_kept_q}};
  assign out_tlast = out_last_q;

  logic unused_halves;
  assign unused_halves = ^{arguments.match[63:32], arguments.mismatch[63:32], arguments.gap[63:32]};

endmodule
