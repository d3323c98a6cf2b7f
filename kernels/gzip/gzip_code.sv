// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Symbols become bits: the header of the file, the fixed codes of Deflate (RFC 1951, sections 3.2.5 and 3.2.6), the end.
//
// Throughput: a symbol a cycle. Latency: none within a packet; header and end take three and five cycles. No deadlock:
// it waits for the packer only.

module gzip_code (
  input  logic        clk_i,
  input  logic        rst_ni,

  // Symbols of gzip_matcher.
  input  logic        valid_i,
  output logic        ready_o,
  input  logic        is_match_i,
  input  logic        is_end_i,
  input  logic [7:0]  literal_i,
  input  logic [8:0]  length_i,
  input  logic [15:0] distance_i,
  // The packet's, with its end.
  input  logic [31:0] crc_i,
  input  logic [31:0] bytes_i,
  // Bits that are missing to a whole byte.
  input  logic [2:0]  bits_to_byte_i,

  // Up to 32 bits at a time, the first one low.
  output logic        valid_o,
  input  logic        ready_i,
  output logic [31:0] code_o,
  output logic [5:0]  bits_o,
  // The packet is complete; until what is left has gone out.
  output logic        flush_o,
  input  logic        flush_done_i
);

  typedef enum logic [3:0] {
    StMagic,      // 1f 8b 08 00
    StTime,       // none
    StSystem,     // fastest, unknown, and the header of the block: the last one, with fixed codes
    StSymbols,
    StAlign,
    StCrc,
    StSize,
    StFlush
  } state_e;

  state_e phase_q;

  // Codes have their first bit high, everything else its lowest bit first.
  function automatic logic [8:0] reversed(logic [8:0] code, int unsigned bits);
    reversed = '0;
    for (int unsigned i = 0; i < 9; i++) begin
      if (i < bits) reversed[i] = code[bits-1-i];
    end
  endfunction

  // Number of the highest bit that is set; 0 if none is.
  function automatic logic [3:0] highest(logic [15:0] value);
    highest = '0;
    for (int unsigned i = 0; i < 16; i++) begin
      if (value[i]) highest = 4'(i);
    end
  endfunction

  // -- Literals -----------------------------------------------------------------------------------

  logic [8:0] literal_code;
  logic [5:0] literal_bits;
  always_comb begin
    if (literal_i < 8'd144) begin
      literal_code = reversed(9'h030 + 9'(literal_i), 8);
      literal_bits = 6'd8;
    end else begin
      literal_code = reversed(9'h190 + 9'(literal_i - 8'd144), 9);
      literal_bits = 6'd9;
    end
  end

  // -- Matches ------------------------------------------------------------------------------------

  logic [7:0] over;          // length - 3
  logic [2:0] length_extra;
  logic [4:0] length_number; // of the code, from 257 on
  logic [8:0] length_code;
  logic [5:0] length_bits;
  logic [4:0] length_rest;
  always_comb begin
    over = 8'(length_i - 9'd3);
    length_extra = over < 8'd8 ? 3'd0 : 3'(highest({8'd0, over}) - 4'd2);
    length_number = over < 8'd8 ? 5'(over) :
        5'({length_extra + 3'd1, 2'b00}) + 5'(2'(over >> length_extra));
    length_rest = 5'(over & ~(8'hff << length_extra));
    if (length_i == 9'd258) begin
      length_extra = 3'd0;
      length_number = 5'd28;
      length_rest = '0;
    end
    // 257 to 279 have 7 bits, from 0000001 on; 280 to 285 have 8, from 11000000 on.
    if (length_number < 5'd23) begin
      length_code = reversed(9'(length_number) + 9'd1, 7);
      length_bits = 6'd7;
    end else begin
      length_code = reversed(9'h0c0 + 9'(length_number - 5'd23), 8);
      length_bits = 6'd8;
    end
  end

  logic [15:0] away;         // distance - 1
  logic [3:0] distance_extra;
  logic [4:0] distance_code;
  logic [12:0] distance_rest;
  always_comb begin
    away = distance_i - 16'd1;
    distance_extra = away < 16'd4 ? 4'd0 : highest(away) - 4'd1;
    distance_code = away < 16'd4 ? 5'(away) :
        5'({distance_extra + 4'd1, 1'b0}) + 5'(1'(away >> distance_extra));
    distance_rest = 13'(away & ~(16'hffff << distance_extra));
  end

  logic [5:0] distance_at, distance_rest_at, match_bits;
  logic [31:0] match_code;
  always_comb begin
    distance_at = length_bits + 6'(length_extra);
    distance_rest_at = distance_at + 6'd5;
    match_bits = distance_rest_at + 6'(distance_extra);
    match_code = 32'(length_code) | (32'(length_rest) << length_bits) |
        (32'(reversed(9'(distance_code), 5)) << distance_at) |
        (32'(distance_rest) << distance_rest_at);
  end

  // -- What leaves --------------------------------------------------------------------------------

  always_comb begin
    valid_o = 1'b1;
    code_o = '0;
    bits_o = 6'd32;
    unique case (phase_q)
      StMagic: begin
        valid_o = valid_i;
        code_o = 32'h00088b1f;
      end
      StTime: code_o = '0;
      StSystem: begin
        code_o = 32'h0003ff04;
        bits_o = 6'd19;
      end
      StSymbols: begin
        valid_o = valid_i;
        code_o = is_match_i ? match_code : 32'(literal_code);
        bits_o = is_match_i ? match_bits : literal_bits;
        if (is_end_i) begin
          code_o = '0;
          bits_o = 6'd7;
        end
      end
      StAlign: bits_o = 6'(bits_to_byte_i);
      StCrc: code_o = crc_i;
      StSize: code_o = bytes_i;
      default: valid_o = 1'b0;
    endcase
  end

  // The end is taken when everything has left, so that CRC and size stay.
  assign ready_o = phase_q == StSymbols && ready_i;
  assign flush_o = phase_q == StFlush;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      phase_q <= StMagic;
    end else if (phase_q == StFlush) begin
      if (flush_done_i) phase_q <= StMagic;
    end else if (valid_o && ready_i && (phase_q != StSymbols || is_end_i)) begin
      phase_q <= state_e'(phase_q + 4'd1);
    end
  end

endmodule
