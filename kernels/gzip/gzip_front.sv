// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Takes bytes into the window, sums them up (CRC-32 of RFC 1952), and finds for each position the last one before it
// whose four bytes have the same hash.
//
// Throughput: a byte a cycle, at most 508 ahead of the matcher. Latency: a candidate is known two cycles after its
// fourth byte. Read data come a cycle after the address. No deadlock: it waits for the matcher only, which never
// waits for more than 258 bytes.

module gzip_front (
  input  logic        clk_i,
  input  logic        rst_ni,

  // Bytes; one that is not kept has the packet's end only.
  input  logic        valid_i,
  output logic        ready_o,
  input  logic [7:0]  byte_i,
  input  logic        kept_i,
  input  logic        last_i,

  // Position of the matcher. Packet and all are forgotten when everything has left: a pulse.
  input  logic [31:0] place_i,
  input  logic        closed_i,

  // All bytes of the packet are here, and every candidate.
  output logic        ended_o,
  // Bytes that can be read; positions below candidates_o have had their chance of a candidate.
  output logic [31:0] bytes_o,
  output logic [31:0] candidates_o,
  // Over all bytes, when ended.
  output logic [31:0] crc_o,

  // The window, at two places. The candidate is of position near_address_i.
  input  logic [15:0] near_address_i,
  output logic [7:0]  near_o,
  input  logic [15:0] far_address_i,
  output logic [7:0]  far_o,
  output logic        candidate_valid_o,
  output logic [15:0] candidate_o
);

  localparam int unsigned HashBits = 13;
  localparam logic [31:0] Ahead = 32'd508;
  localparam logic [31:0] Window = 32'd32768;

  function automatic logic [31:0] crc_step(logic [31:0] crc, logic [7:0] value);
    crc_step = crc ^ {24'd0, value};
    for (int unsigned i = 0; i < 8; i++) begin
      crc_step = (crc_step >> 1) ^ (crc_step[0] ? 32'hedb88320 : 32'd0);
    end
  endfunction

  // Knuth's multiplicative hash.
  function automatic logic [HashBits-1:0] hash(logic [31:0] bytes);
    return HashBits'((bytes * 32'd2654435761) >> (32 - HashBits));
  endfunction

  // -- Bytes --------------------------------------------------------------------------------------

  logic [31:0] bytes_q, crc_q;
  logic [23:0] recent_q;    // the three bytes before, the oldest one low
  logic ended_q, clearing_q, take, keep;

  assign ready_o = !ended_q && !clearing_q && bytes_q - place_i < Ahead;
  assign take = valid_i && ready_o;
  assign keep = take && kept_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || closed_i) begin
      bytes_q <= '0;
      crc_q <= '1;
      ended_q <= 1'b0;
    end else begin
      if (keep) bytes_q <= bytes_q + 32'd1;
      if (keep) crc_q <= crc_step(crc_q, byte_i);
      if (take && last_i) ended_q <= 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (keep) recent_q <= {byte_i, recent_q[23:8]};
  end

  logic [7:0] near_q [65536];
  logic [7:0] far_q [65536];
  always_ff @(posedge clk_i) begin
    if (keep) begin
      near_q[bytes_q[15:0]] <= byte_i;
      far_q[bytes_q[15:0]] <= byte_i;
    end
    near_o <= near_q[near_address_i];
    far_o <= far_q[far_address_i];
  end

  // -- Stage 1: a hash; stage 2: what the table had for it ----------------------------------------

  typedef struct packed {
    logic [7:0]  packet;  // 0: nothing
    logic [15:0] place;
  } entry_t;

  entry_t table_q [2**HashBits];
  entry_t found_q;
  logic [7:0] packet_q;   // 1 to 255
  logic [HashBits-1:0] clear_q;
  logic hash_valid_q, looked_q;
  logic [HashBits-1:0] hash_q;
  logic [31:0] hashed_q, place_q, candidates_q;
  logic write;
  logic [HashBits-1:0] write_at;
  entry_t written;

  assign write = clearing_q || hash_valid_q;
  assign write_at = clearing_q ? clear_q : hash_q;
  assign written = clearing_q ? '0 : '{packet: packet_q, place: hashed_q[15:0]};

  always_ff @(posedge clk_i) begin
    if (write) table_q[write_at] <= written;
    found_q <= table_q[hash_q];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      hash_valid_q <= 1'b0;
      looked_q <= 1'b0;
      clearing_q <= 1'b1;
      clear_q <= '0;
      packet_q <= 8'd1;
      candidates_q <= '0;
    end else begin
      hash_valid_q <= keep && bytes_q >= 32'd3;
      looked_q <= hash_valid_q;
      if (clearing_q) clear_q <= clear_q + 1'b1;
      if (clear_q == '1) clearing_q <= 1'b0;
      if (closed_i) begin
        packet_q <= packet_q == 8'd255 ? 8'd1 : packet_q + 8'd1;
        if (packet_q == 8'd255) clearing_q <= 1'b1;
        candidates_q <= '0;
      end else if (looked_q) begin
        candidates_q <= candidates_q + 32'd1;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (keep) begin
      hash_q <= hash({byte_i, recent_q});
      hashed_q <= bytes_q - 32'd3;
    end
    place_q <= hashed_q;
  end

  // -- Candidates, until the matcher is past them -------------------------------------------------

  logic [15:0] back;
  logic is_candidate;
  assign back = place_q[15:0] - found_q.place;
  assign is_candidate = found_q.packet == packet_q && back != '0 && {16'd0, back} <= Window &&
      {16'd0, back} <= place_q;

  logic [16:0] ring_q [512];
  logic [16:0] candidate_q;
  always_ff @(posedge clk_i) begin
    if (looked_q) ring_q[place_q[8:0]] <= {is_candidate, found_q.place};
    candidate_q <= ring_q[near_address_i[8:0]];
  end
  assign {candidate_valid_o, candidate_o} = candidate_q;

  assign ended_o = ended_q && !hash_valid_q && !looked_q;
  assign bytes_o = bytes_q;
  assign candidates_o = candidates_q;
  assign crc_o = ~crc_q;

endmodule
