// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Command queue: fetches commands from their ring in host memory.
//
// FetchDepth   commands fetched ahead, a power of two; also the longest fetch
//
// When the host has moved the tail, commands are read in bursts as long as the ring's end, the
// end of the 4 KiB block and the room here allow; several bursts may be on their way, so the next
// doorbell need not wait for the last one's commands. Commands arrive decoded (tmb_dma_decode).
//
// Throughput: one command a cycle arrives; a fetch starts every three cycles. Ordering: ring order.
// Back-pressure: fetches reserve room, so the host is never held.
// No deadlock: room comes back as commands are dispatched.
//
// Source: FSRF section 5.4; docs/architecture.md, Command ring.

`include "tmb_assert.svh"

module tmb_dma_queue import tmb_pkg::*; import tmb_dma_pkg::*; #(
  parameter int unsigned FetchDepth = 16
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        enable_i,
  input  ring_t       ring_i,
  output logic [31:0] head_o,  // commands fetched

  output logic        host_ar_valid_o,
  input  logic        host_ar_ready_i,
  output host_ax_t    host_ar_o,
  input  logic        arrived_valid_i,  // always taken: a fetch reserves room
  input  command_t    arrived_i,

  output logic        command_valid_o,
  input  logic        command_ready_i,
  output command_t    command_o,

  output logic        busy_o
);

  localparam int unsigned CountWidth = $clog2(FetchDepth + 1);
  localparam int unsigned DepthLog2 = $clog2(FetchDepth);

  typedef logic [CountWidth-1:0] count_t;

  // ---------------------------------------------------------------------------------------------
  // Fetch
  // ---------------------------------------------------------------------------------------------

  typedef enum logic [1:0] {
    StIdle,
    StMeasure,
    StRead
  } state_e;

  state_e state_q;
  logic [31:0] fetch_q, head_q;  // free-running: asked for, arrived
  logic [31:0] waiting, place, last_place;
  count_t waiting_q, contiguous_q, room_q, room_then_q, burst_q, ring_left, block_left;
  logic ring_ends, block_ends;
  logic start, pop;

  function automatic count_t at_most_depth(logic [31:0] value);
    return (value >= 32'(FetchDepth)) ? count_t'(FetchDepth) : count_t'(value);
  endfunction

  function automatic count_t least(count_t a, count_t b);
    return (a < b) ? a : b;
  endfunction

  assign waiting = ring_i.host_count - fetch_q;
  assign last_place = ~(32'hFFFF_FFFF << ring_i.size_log2);
  assign place = fetch_q & last_place;
  // Ring or block end within the longest fetch, and after how many commands: the upper bits give the
  // one, the lower bits the other. The block does not end before the ring if the ring is that short.
  assign ring_ends = (place ^ last_place) >> DepthLog2 == '0;
  assign block_ends = place[BurstLenWidth-1:0] >> DepthLog2 == {BurstLenWidth{1'b1}} >> DepthLog2;
  assign ring_left = count_t'((place ^ last_place) & 32'(FetchDepth - 1)) + 1'b1;
  assign block_left = count_t'(~place & 32'(FetchDepth - 1)) + 1'b1;

  assign start = state_q == StRead && host_ar_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      fetch_q <= '0;
      head_q <= '0;
      room_q <= count_t'(FetchDepth);
    end else begin
      unique case (state_q)
        StIdle: if (enable_i && waiting != '0 && room_q != '0) state_q <= StMeasure;
        StMeasure: state_q <= StRead;
        StRead: if (host_ar_ready_i) state_q <= StIdle;
        default: state_q <= StIdle;
      endcase
      if (!enable_i) fetch_q <= '0;
      else if (start) fetch_q <= fetch_q + 32'(burst_q);
      if (!enable_i) head_q <= '0;
      else if (arrived_valid_i) head_q <= head_q + 1'b1;
      if (start || pop) room_q <= room_q - (start ? burst_q : '0) + count_t'(pop);
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == StIdle) begin
      if (enable_i && waiting != '0) begin
        waiting_q <= at_most_depth(waiting);
        room_then_q <= room_q;
        contiguous_q <= ring_ends ? ring_left : block_ends ? block_left : count_t'(FetchDepth);
      end
    end else if (state_q == StMeasure) begin
      burst_q <= least(least(waiting_q, room_then_q), contiguous_q);
    end
  end

  assign host_ar_valid_o = state_q == StRead;
  assign host_ar_o = '{
      addr: ring_i.base + (host_addr_t'(place) << RowOffsetWidth),
      len: burst_len_t'(burst_q - 1'b1)
  };
  assign head_o = head_q;

  // ---------------------------------------------------------------------------------------------
  // Commands in wait
  // ---------------------------------------------------------------------------------------------

  logic fifo_ready;

  tmb_fifo #(
    .T(command_t),
    .Depth(FetchDepth)
  ) u_commands (
    .clk_i,
    .rst_ni,
    .in_valid_i(arrived_valid_i),
    .in_ready_o(fifo_ready),
    .in_data_i(arrived_i),
    .out_valid_o(command_valid_o),
    .out_ready_i(command_ready_i),
    .out_data_o(command_o)
  );

  assign pop = command_valid_o && command_ready_i;
  assign busy_o = state_q != StIdle || room_q != count_t'(FetchDepth) ||
      (enable_i && waiting != '0);

  `TMB_ASSERT_INIT(FetchFitsBurst, FetchDepth <= MaxBurstRows)
  `TMB_ASSERT_INIT(FetchIsPowerOfTwo, FetchDepth >= 2 && FetchDepth == (1 << DepthLog2))
  `TMB_ASSERT(FetchHasRoom, !arrived_valid_i || fifo_ready)
  `TMB_ASSERT(RingIsAligned, !start || ring_i.base[MinPageBits-1:0] == '0)

  logic unused_ok;
  assign unused_ok = &{1'b0, fifo_ready};

endmodule
