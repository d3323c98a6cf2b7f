// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Goes through the window: a match where a candidate gives one of at least four bytes, else a literal.
//
// Throughput: a byte a cycle inside of a match, two cycles for a literal without a candidate. Back-pressure: a symbol
// waits until it is taken. No deadlock: it waits for bytes that front takes whatever the matcher does, up to 508 ahead.

module gzip_matcher (
  input  logic        clk_i,
  input  logic        rst_ni,

  // From gzip_front.
  input  logic        ended_i,
  input  logic [31:0] bytes_i,
  input  logic [31:0] candidates_i,
  // Everything of the packet has left: a pulse.
  input  logic        closed_i,
  output logic [31:0] place_o,

  // The window, a cycle later.
  output logic [15:0] near_address_o,
  input  logic [7:0]  near_i,
  output logic [15:0] far_address_o,
  input  logic [7:0]  far_i,
  input  logic        candidate_valid_i,
  input  logic [15:0] candidate_i,

  // Symbols: a literal, a match, or the end of the packet.
  output logic        valid_o,
  input  logic        ready_i,
  output logic        is_match_o,
  output logic        is_end_o,
  output logic [7:0]  literal_o,
  output logic [8:0]  length_o,
  output logic [15:0] distance_o
);

  localparam logic [8:0] Longest = 9'd258;

  typedef enum logic [2:0] {
    StFetch,
    StDecide,
    StCompare,
    StSymbol,
    StEnd,
    StClosed
  } state_e;

  state_e phase_q;
  logic [31:0] place_q, compared;
  logic [15:0] candidate_q;
  logic [8:0] length_q, length;
  logic [7:0] literal_q;
  logic fresh_q;    // near_i and far_i are the bytes of length_q
  logic known, equal, goes_on, stops;

  // The position has its candidate, or will never have one.
  assign known = place_q < candidates_i || (ended_i && place_q != bytes_i);
  assign equal = fresh_q && near_i == far_i;
  assign length = equal ? length_q + 9'd1 : length_q;
  assign compared = place_q + 32'(length);
  assign goes_on = length != Longest && compared != bytes_i;
  assign stops = (fresh_q && !equal) || length == Longest || (ended_i && compared == bytes_i);

  always_comb begin
    near_address_o = place_q[15:0];
    far_address_o = candidate_i;
    if (phase_q == StCompare) begin
      near_address_o = compared[15:0];
      far_address_o = candidate_q + 16'(length);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      phase_q <= StFetch;
      place_q <= '0;
    end else begin
      unique case (phase_q)
        StFetch: begin
          if (known) phase_q <= StDecide;
          else if (ended_i) phase_q <= StEnd;
        end
        StDecide: begin
          phase_q <= place_q < candidates_i && candidate_valid_i ? StCompare : StSymbol;
        end
        StCompare: if (stops) phase_q <= StSymbol;
        StSymbol: begin
          if (ready_i) begin
            phase_q <= StFetch;
            place_q <= place_q + (is_match_o ? 32'(length_q) : 32'd1);
          end
        end
        StEnd: if (ready_i) phase_q <= StClosed;
        default: begin
          if (closed_i) begin
            phase_q <= StFetch;
            place_q <= '0;
          end
        end
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (phase_q == StDecide) begin
      literal_q <= near_i;
      candidate_q <= candidate_i;
      length_q <= '0;
      // The first byte of the candidate is read in this cycle, with the position's own.
      fresh_q <= 1'b1;
    end else if (phase_q == StCompare) begin
      length_q <= length;
      fresh_q <= goes_on;
    end
  end

  assign place_o = place_q;
  assign valid_o = phase_q == StSymbol || phase_q == StEnd;
  assign is_end_o = phase_q == StEnd;
  assign is_match_o = length_q >= 9'd4;
  assign literal_o = literal_q;
  assign length_o = length_q;
  assign distance_o = place_q[15:0] - candidate_q;

endmodule
