// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Everything of a hash kernel but the rounds: cuts the input into lanes, pads each lane's message, keeps the
// lanes' chaining values, and hands out the digests. For hashes of blocks of 64 bytes with a 64-bit length at the
// end and a chaining value that the rounds' result is added to: MD5 (RFC 1321), SHA-256 (FIPS 180-4).
//
// Row i of the input belongs to lane i mod lanes. A lane's rows are one message, padded and hashed as any
// other; a last row that is not whole ends its lane's message with as many bytes. So the blocks of one message
// are `lanes` blocks apart, and the pipeline of rounds is full although each block needs the one before.
//
// StateWords     words of 32 bits of a chaining value and of a digest
// InitialState   word 0 in the low bits
// BigEndian      words of digests, and the length, have their first byte high
// Packets        the input is a packet of any length, whose last row is marked; else bytes_i is its length
// MaxLanes       a power of two; more lanes than the rounds have stages, plus two, fill the pipeline
//
// Throughput: a block a cycle, or lanes / (stages + 2) where that is less; after the rows, one or two blocks of
// padding a lane. Ordering: blocks, results and digests go lane by lane, in turns. Back-pressure: rows wait;
// what is in the pipeline never does. No deadlock: a block waits only for the result of an older one.

module hash_lanes #(
  parameter int unsigned StateWords = 8,
  parameter logic [32*StateWords-1:0] InitialState = '0,
  parameter bit BigEndian = 1'b1,
  parameter bit Packets = 1'b0,
  parameter int unsigned MaxLanes = 128,
  localparam int unsigned StateWidth = 32 * StateWords
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  // A pulse; lanes are taken with it, and the size, if not Packets. The size is any; 0 lanes are taken as 1, too many as MaxLanes.
  input  logic                  start_i,
  input  logic [63:0]           bytes_i,
  input  logic [63:0]           lanes_i,
  // Bytes of all digests for these lanes; follows lanes_i in the same cycle.
  output logic [63:0]           digest_bytes_o,

  // The input, byte 0 in bits 7:0; of the last row only the bytes that it has count.
  input  logic                  row_valid_i,
  output logic                  row_ready_o,
  input  logic [511:0]          row_i,
  // With Packets: it is the last one, and how many bytes it has, maybe none. Others have 64.
  input  logic                  row_last_i,
  input  logic [6:0]            row_bytes_i,

  // To the rounds, which take a block in every cycle that has one: bytes as in memory, with the chaining value
  // before it. They move only while advance_o is high.
  output logic                  advance_o,
  output logic                  block_valid_o,
  output logic [511:0]          block_o,
  output logic [StateWidth-1:0] state_o,
  // From the rounds, in the same order: what is to be added to the chaining value.
  input  logic                  result_valid_i,
  input  logic [StateWidth-1:0] result_i,

  // The digests as they lie in memory, lane 0 first; in the last row there may be fewer.
  output logic                  digests_valid_o,
  input  logic                  digests_ready_i,
  output logic [511:0]          digests_o
);

  localparam int unsigned LaneWidth = $clog2(MaxLanes);
  localparam int unsigned PerRow = 512 / StateWidth;  // digests of a row
  localparam int unsigned PartWidth = $clog2(PerRow);
  // Bytes of a block before the length.
  localparam logic [5:0] Room = 6'd56;

  typedef logic [LaneWidth-1:0] lane_t;
  typedef logic [LaneWidth:0] count_t;

  if (MaxLanes < 2 || (MaxLanes & (MaxLanes - 1)) != 0) begin : gen_illegal
    $error("MaxLanes is a power of two, at least 2");
  end

  function automatic logic [31:0] swap(logic [31:0] word);
    return {word[7:0], word[15:8], word[23:16], word[31:24]};
  endfunction

  count_t lanes;
  always_comb begin
    lanes = count_t'(lanes_i);
    if (lanes_i == '0) lanes = count_t'(1);
    if (lanes_i > 64'(MaxLanes)) lanes = count_t'(MaxLanes);
  end
  assign digest_bytes_o = 64'(lanes) * 64'(StateWidth / 8);

  // -- Blocks: the rows, then an end for every lane -----------------------------------------------

  typedef enum logic [2:0] {
    StIdle,
    StRows,
    StClose,    // every lane's last block of padding
    StDrain,    // the last results come
    StDigests
  } state_e;

  state_e phase_q;
  count_t lanes_q, close_q;   // close_q: lanes without an end
  lane_t lane_q, last_lane_q;
  logic [57:0] before_q;      // blocks of this lane before the next one
  logic [57:0] rows_q;        // rows that are still to come; of a packet 1 until its last one was here
  logic [5:0] tail_q;         // bytes of a last row that is not whole, or 0
  count_t in_flight_q;        // blocks in the rounds
  logic moving_q;

  logic [5:0] tail;
  logic accepts, in_flight_room, tail_row, tail_fits, takes_row, closes, skips, issues, lane_wraps;
  assign in_flight_room = in_flight_q != lanes_q;
  assign lane_wraps = lane_q == last_lane_q;
  assign tail = Packets && phase_q == StRows ? row_bytes_i[5:0] : tail_q;
  assign tail_row = (Packets ? row_last_i : rows_q == 58'd1) && tail != '0;
  assign tail_fits = tail < Room;
  assign row_ready_o = phase_q == StRows && rows_q != '0 && in_flight_room;
  assign accepts = row_valid_i && row_ready_o;
  assign takes_row = accepts && !(Packets && row_bytes_i == '0);
  // The lane that the last row belongs to is the last one to end; it may have ended with that row.
  assign skips = close_q == count_t'(1) && tail_q != '0 && tail_fits;
  assign closes = phase_q == StClose && close_q != '0 && (in_flight_room || skips);
  assign issues = takes_row || (closes && !skips);

  // Bits of the lane's message, if this is its last block.
  logic tail_closes;
  logic [63:0] message_bits;
  assign tail_closes = close_q == count_t'(1) && tail_q != '0;
  always_comb begin
    message_bits = {before_q[54:0], 9'd0};
    if (phase_q == StRows) message_bits = {before_q[54:0], tail, 3'd0};
    else if (tail_closes) message_bits = {before_q[54:0] - 55'd1, tail_q, 3'd0};
  end

  logic [511:0] block_d;
  logic [63:0] length_field;
  always_comb begin
    for (int unsigned i = 0; i < 8; i++) begin
      length_field[8*i+:8] = message_bits[8*(BigEndian ? 7 - i : i)+:8];
    end
    block_d = '0;
    if (phase_q == StRows) begin
      block_d = row_i;
      if (tail_row) begin
        block_d = row_i & ~(~512'd0 << {tail, 3'd0});
        block_d[{tail, 3'd0}+:8] = 8'h80;
        if (tail_fits) block_d[511:448] = length_field;
      end
    end else begin
      if (!tail_closes) block_d[7:0] = 8'h80;
      block_d[511:448] = length_field;
    end
  end

  logic block_valid_q, first_q;
  lane_t block_lane_q;
  logic [511:0] block_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      block_valid_q <= 1'b0;
      in_flight_q <= '0;
      moving_q <= 1'b0;
    end else begin
      block_valid_q <= issues;
      if (issues != result_valid_i) begin
        in_flight_q <= issues ? in_flight_q + 1'b1 : in_flight_q - 1'b1;
      end
      moving_q <= issues || in_flight_q > count_t'(result_valid_i);
    end
  end
  always_ff @(posedge clk_i) begin
    if (issues) begin
      block_q <= block_d;
      block_lane_q <= lane_q;
      first_q <= before_q == '0;
    end
    if (start_i) begin
      lanes_q <= lanes;
      last_lane_q <= lane_t'(lanes - 1'b1);
      lane_q <= '0;
      before_q <= '0;
      rows_q <= Packets ? 58'd1 : bytes_i[63:6] + 58'(bytes_i[5:0] != '0);
      tail_q <= bytes_i[5:0];
      close_q <= lanes;
    end else begin
      if (takes_row || closes) begin
        lane_q <= lane_wraps ? '0 : lane_q + 1'b1;
        if (lane_wraps) before_q <= before_q + 58'd1;
      end
      if (accepts && (!Packets || row_last_i)) rows_q <= rows_q - 58'd1;
      if (Packets && accepts) tail_q <= row_bytes_i[5:0];
      if (closes) close_q <= close_q - 1'b1;
    end
  end

  assign advance_o = moving_q;
  assign block_valid_o = block_valid_q;
  assign block_o = block_q;

  // -- Chaining values: read for a block, read and written for its result -------------------------

  logic [StateWidth-1:0] states_q [MaxLanes];
  lane_t read_lane, result_lane_q, digest_lane_q;
  count_t results_q;   // lanes that have had no result yet
  logic [StateWidth-1:0] read_state, old_state, new_state;

  assign read_lane = phase_q == StDigests ? digest_lane_q : block_lane_q;
  assign read_state = states_q[read_lane];
  assign state_o = first_q ? InitialState : read_state;
  assign old_state = results_q != '0 ? InitialState : states_q[result_lane_q];

  always_comb begin
    for (int unsigned i = 0; i < StateWords; i++) begin
      new_state[32*i+:32] = old_state[32*i+:32] + result_i[32*i+:32];
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      result_lane_q <= '0;
      results_q <= lanes;
    end else if (result_valid_i) begin
      result_lane_q <= result_lane_q == last_lane_q ? '0 : result_lane_q + 1'b1;
      if (results_q != '0) results_q <= results_q - 1'b1;
    end
    if (result_valid_i) states_q[result_lane_q] <= new_state;
  end

  // -- Digests ------------------------------------------------------------------------------------

  logic [PartWidth-1:0] part_q;
  logic digests_valid_q, digests_last_q, gathers, digests_end, digest_last;
  logic [PerRow-1:0][StateWidth-1:0] digests_q;
  logic [StateWidth-1:0] digest;

  always_comb begin
    digest = read_state;
    for (int unsigned i = 0; i < StateWords; i++) begin
      if (BigEndian) digest[32*i+:32] = swap(read_state[32*i+:32]);
    end
  end

  assign digest_last = digest_lane_q == last_lane_q;
  assign gathers = phase_q == StDigests && !digests_valid_q;
  assign digests_end = digests_valid_q && digests_ready_i && digests_last_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      phase_q <= StIdle;
      digests_valid_q <= 1'b0;
    end else begin
      unique case (phase_q)
        StIdle: if (start_i) phase_q <= StRows;
        StRows: if (rows_q == '0) phase_q <= StClose;
        StClose: if (close_q == '0) phase_q <= StDrain;
        StDrain: if (in_flight_q == '0) phase_q <= StDigests;
        default: if (digests_end) phase_q <= StIdle;
      endcase
      if (gathers) digests_valid_q <= digest_last || part_q == PartWidth'(PerRow - 1);
      else if (digests_ready_i) digests_valid_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      part_q <= '0;
      digest_lane_q <= '0;
    end else if (gathers) begin
      part_q <= part_q + 1'b1;
      digests_q[part_q] <= digest;
      digests_last_q <= digest_last;
      digest_lane_q <= digest_lane_q + 1'b1;
    end
  end

  assign digests_valid_o = digests_valid_q;
  assign digests_o = digests_q;

endmodule
