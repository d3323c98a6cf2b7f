// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// A traffic engine: bursts of one length without an end, of reads or of writes, from the place behind a
// port. FlexiMem's scatter-gather engines, which the paper describes only by: they "create memory
// requests non-stop".
//
// Number      of the engine; its own channel is this number modulo NumChannels
// IsWrite     what it does
// RoomRows    rows that a read may have asked for and not received, as the buffer of a port
//
// Places: apart_i: bursts at random places of the engine's own channel (no contention); else at random
// places of random channels. A burst starts at a multiple of its own length, so it stays in 4 KiB.
//
// It checks: rows that it reads hold their own address, which is that of the burst (the translation is
// the identity), so their sum is known in advance (wrong_o when it is idle and the sums differ). Rows that
// it writes hold theirs, which the memory checks.
//
// Throughput: a burst a cycle, a row a cycle. Always takes what comes, so nothing waits for it.

module traffic_engine import tmb_pkg::*; import tmb_translate_pkg::*; #(
  parameter int unsigned Number = 0,
  parameter bit IsWrite = 1'b0,
  parameter int unsigned NumChannels = 4,
  parameter int unsigned ChannelBytesLog2 = 20,
  parameter int unsigned RoomRows = 512
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic enable_i,       // bursts are made
  input  logic apart_i,        // in the engine's own channel
  input  burst_len_t len_i,    // rows of a burst, minus one; a power of two minus one

  // To the park.
  output logic   burst_valid_o,
  input  logic   burst_ready_i,
  output burst_t burst_o,
  // From the park, and what of it goes to the fabric.
  input  logic       departure_valid_i,
  output logic       departure_ready_o,
  input  departure_t departure_i,
  output logic       req_valid_o,
  input  logic       req_ready_i,
  output mem_req_t   req_o,
  // Rows that are read.
  input  logic          row_valid_i,
  input  mem_read_rsp_t row_i,
  // Rows that are written, and their responses.
  output logic            data_valid_o,
  input  logic            data_ready_i,
  output mem_write_data_t data_o,
  input  logic            rsp_valid_i,
  input  mem_write_rsp_t  rsp_i,

  output logic idle_o,   // nothing is under way
  output logic wrong_o   // an error response, or idle with a row that was not the right one
);

  localparam int unsigned ChannelWidth = NumChannels > 1 ? $clog2(NumChannels) : 1;
  localparam int unsigned RowLog2 = ChannelBytesLog2 - RowOffsetWidth;
  typedef logic [15:0] count_t;

  // ---------------------------------------------------------------------------------------------
  // Bursts
  // ---------------------------------------------------------------------------------------------

  logic [63:0] random_q, shifted;  // xorshift
  always_comb begin
    shifted = random_q ^ (random_q << 13);
    shifted = shifted ^ (shifted >> 7);
    shifted = shifted ^ (shifted << 17);
  end

  logic [ChannelWidth-1:0] channel;
  logic [RowLog2-1:0] row;
  count_t room_q;  // rows
  logic takes;

  assign channel = apart_i ? ChannelWidth'(Number % NumChannels) : random_q[62-:ChannelWidth];
  assign row = random_q[8+:RowLog2] & ~RowLog2'(len_i);
  assign burst_valid_o = enable_i && (IsWrite || room_q > count_t'(len_i));
  assign takes = burst_valid_o && burst_ready_i;
  assign burst_o = '{
      addr: virt_addr_t'({channel, row, RowOffsetWidth'(0)}),
      len: len_i,
      refused: 1'b0
  };

  always_ff @(posedge clk_i) begin
    if (!rst_ni) random_q <= 64'h9E37_79B9_7F4A_7C15 * (64'(2 * Number) + 64'(IsWrite) + 64'd1);
    else if (takes) random_q <= shifted;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      room_q <= count_t'(RoomRows);
    end else if (!IsWrite) begin
      room_q <= room_q + count_t'(row_valid_i) - (takes ? count_t'(len_i) + count_t'(1) : '0);
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Requests, and what they are worth
  // ---------------------------------------------------------------------------------------------

  logic row_room, departs;
  assign req_valid_o = departure_valid_i && row_room;
  assign departure_ready_o = req_ready_i && row_room;
  assign departs = req_valid_o && req_ready_i;
  assign req_o = '{addr: departure_i.addr, len: departure_i.len, tag: mem_tag_t'(Number)};

  count_t open_q;  // bursts between the park's entry and their end
  logic ends, failed_q;
  assign ends = IsWrite ? rsp_valid_i : (row_valid_i && row_i.last);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      open_q <= '0;
      failed_q <= 1'b0;
    end else begin
      open_q <= open_q + count_t'(takes) - count_t'(ends);
      if (departs && (departure_i.error || departure_i.refused)) failed_q <= 1'b1;
      if (row_valid_i && row_i.error) failed_q <= 1'b1;
      if (rsp_valid_i && rsp_i.error) failed_q <= 1'b1;
    end
  end
  assign idle_o = open_q == '0;

  if (IsWrite) begin : gen_write
    typedef struct packed {
      card_addr_t addr;
      burst_len_t len;
    } owed_t;
    owed_t owed;
    logic owed_valid, row_leaves, row_last;
    burst_len_t index_q;
    card_addr_t address;

    // All rows of a request are ready, since they are made of its address.
    tmb_fifo #(
      .T(owed_t),
      .Depth(16)
    ) u_owed (
      .clk_i,
      .rst_ni,
      .in_valid_i(departs),
      .in_ready_o(row_room),
      .in_data_i('{addr: departure_i.addr, len: departure_i.len}),
      .out_valid_o(owed_valid),
      .out_ready_i(row_leaves && row_last),
      .out_data_o(owed)
    );

    assign address = owed.addr + card_addr_t'({index_q, RowOffsetWidth'(0)});
    assign row_last = index_q == owed.len;
    assign row_leaves = data_valid_o && data_ready_i;
    assign data_valid_o = owed_valid;
    assign data_o = '{
        row: row_t'(address),
        strobe: '1,
        last: row_last
    };
    always_ff @(posedge clk_i) begin
      if (!rst_ni) index_q <= '0;
      else if (row_leaves) index_q <= row_last ? '0 : burst_len_t'(index_q + 1'b1);
    end

    assign wrong_o = failed_q;
    logic unused_ok;
    assign unused_ok = &{1'b0, row_valid_i, row_i, room_q, rsp_i};
  end else begin : gen_read
    logic [63:0] asked_q, got_q, base, steps;
    assign row_room = 1'b1;
    assign data_valid_o = 1'b0;
    assign data_o = '0;

    // The sum of the addresses of all rows of a burst.
    assign base = 64'(burst_o.addr) * (64'(burst_o.len) + 64'd1);
    assign steps = ((64'(burst_o.len) * (64'(burst_o.len) + 64'd1)) >> 1) << RowOffsetWidth;
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        asked_q <= '0;
        got_q <= '0;
      end else begin
        if (takes) asked_q <= asked_q + base + steps;
        if (row_valid_i) got_q <= got_q + 64'(row_i.row);
      end
    end
    assign wrong_o = failed_q || (idle_o && asked_q != got_q);
    logic unused_ok;
    assign unused_ok = &{1'b0, data_ready_i, rsp_valid_i, rsp_i, row_i};
  end

endmodule
