// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Joins a kernel's AXI4 port of 1,024 data bits to the slot's port of 512 bits.
//
// An INCR burst of whole beats (AxSIZE 7) becomes one of 64-byte beats with the same bytes: two for each of the kernel's,
// one for a first beat that begins in the upper half. Bursts of narrower beats keep their length; their data move
// between the halves as their addresses say. Signals that stay as they are (IDs, addresses, AxBURST, B) bypass
// this module. A burst that the slot cannot do (AxSIZE 7 with another burst type, or more beats than AXI4 has) leaves
// with AxSIZE 7, which the slot answers with an error.
//
// ReadBursts   read bursts between address and last beat; more stall at AR
// WriteBursts  write bursts between address and last data beat; more stall at AW
//
// Throughput: a 64-byte beat a cycle each way, so one of the kernel's in two cycles. Latency: one cycle for the lower half
// of a beat. Ordering: read data must come back in the order of the addresses, as tmb_port returns them.
// Back-pressure: ready and valid pass through; AR and AW stall while their queue is full, W while no address has
// passed.
// No deadlock: a queue drains with beats, which need nothing that a full queue holds back.

`include "tmb_assert.svh"

module tmb_port_narrower #(
  parameter int unsigned ReadBursts = 256,
  parameter int unsigned WriteBursts = 32,
  localparam int unsigned KernelWidth = 1024,
  localparam int unsigned SlotWidth = 512
) (
  input  logic clk_i,
  input  logic rst_ni,
  // bypasses this module
  input  logic [6:0] araddr_i,  // low bits
  input  logic [1:0] arburst_i,
  input  logic [6:0] awaddr_i,  // low bits
  input  logic [1:0] awburst_i,
  // reads
  input  logic [7:0]             kernel_arlen_i,
  output logic [7:0]             slot_arlen_o,
  input  logic [2:0]             kernel_arsize_i,
  output logic [2:0]             slot_arsize_o,
  input  logic                   kernel_arvalid_i,
  output logic                   slot_arvalid_o,
  output logic                   kernel_arready_o,
  input  logic                   slot_arready_i,
  output logic [KernelWidth-1:0] kernel_rdata_o,
  input  logic [SlotWidth-1:0]   slot_rdata_i,
  output logic [1:0]             kernel_rresp_o,
  input  logic [1:0]             slot_rresp_i,
  output logic                   kernel_rlast_o,
  input  logic                   slot_rlast_i,
  output logic                   kernel_rvalid_o,
  input  logic                   slot_rvalid_i,
  input  logic                   kernel_rready_i,
  output logic                   slot_rready_o,
  // writes
  input  logic [7:0]               kernel_awlen_i,
  output logic [7:0]               slot_awlen_o,
  input  logic [2:0]               kernel_awsize_i,
  output logic [2:0]               slot_awsize_o,
  input  logic                     kernel_awvalid_i,
  output logic                     slot_awvalid_o,
  output logic                     kernel_awready_o,
  input  logic                     slot_awready_i,
  input  logic [KernelWidth-1:0]   kernel_wdata_i,
  output logic [SlotWidth-1:0]     slot_wdata_o,
  input  logic [KernelWidth/8-1:0] kernel_wstrb_i,
  output logic [SlotWidth/8-1:0]   slot_wstrb_o,
  input  logic                     kernel_wlast_i,
  output logic                     slot_wlast_o,
  input  logic                     kernel_wvalid_i,
  output logic                     slot_wvalid_o,
  output logic                     kernel_wready_o,
  input  logic                     slot_wready_i
);

  localparam logic [2:0] WholeSize = 3'd7;
  localparam logic [2:0] HalfSize = 3'd6;
  localparam logic [1:0] BurstIncr = 2'b01;
  // Beats of the kernel that fit twice into a burst.
  localparam logic [7:0] LongestLen = 8'd127;

  typedef logic [6:0] offset_t;

  typedef struct packed {
    logic       whole;  // a beat of the kernel is two of the slot
    offset_t    offset;
    logic [2:0] size;
  } read_t;

  typedef struct packed {
    read_t      beats;
    logic [7:0] len;    // of the slot's burst
  } burst_t;

  function automatic burst_t burst_at_slot(offset_t addr, logic [1:0] kind, logic [2:0] size,
                                           logic [7:0] len);
    burst_t burst;
    burst = '{beats: '{whole: 1'b0, offset: addr, size: size}, len: len};
    if (size == WholeSize && kind == BurstIncr && len <= LongestLen) begin
      burst.beats.whole = 1'b1;
      burst.beats.size = HalfSize;
      burst.len = {len[6:0], !addr[6]};
    end
    return burst;
  endfunction

  // Where the next beat of an INCR burst begins.
  function automatic offset_t successor(offset_t offset, logic [2:0] size);
    offset_t below;
    below = offset_t'((8'd1 << size) - 8'd1);
    return offset_t'((offset | below) + offset_t'(1));
  endfunction

  // Reads

  burst_t read_in;
  read_t read;
  logic read_room, read_known, read_beat, read_inside_q, read_keeps;
  offset_t read_next_q, read_offset;
  logic [SlotWidth-1:0] low_data_q;
  logic [1:0] low_resp_q;

  assign read_in = burst_at_slot(araddr_i, arburst_i, kernel_arsize_i, kernel_arlen_i);
  assign slot_arlen_o = read_in.len;
  assign slot_arsize_o = read_in.beats.size;
  assign slot_arvalid_o = kernel_arvalid_i && read_room;
  assign kernel_arready_o = slot_arready_i && read_room;

  tmb_fifo #(
    .T    (read_t),
    .Depth(ReadBursts)
  ) i_reads (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .in_valid_i (kernel_arvalid_i && slot_arready_i),
    .in_ready_o (read_room),
    .in_data_i  (read_in.beats),
    .out_valid_o(read_known),
    .out_ready_i(read_beat && slot_rlast_i),
    .out_data_o (read)
  );

  assign read_offset = read_inside_q ? read_next_q : read.offset;
  // A lower half waits for the upper one, unless the burst ends here, as one that failed may.
  assign read_keeps = read.whole && !read_offset[6] && !slot_rlast_i;
  assign slot_rready_o = read_known && (read_keeps || kernel_rready_i);
  assign read_beat = slot_rvalid_i && slot_rready_o;
  assign kernel_rvalid_o = slot_rvalid_i && read_known && !read_keeps;
  assign kernel_rlast_o = slot_rlast_i;
  assign kernel_rdata_o = {slot_rdata_i, read.whole ? low_data_q : slot_rdata_i};
  // The worse of the two: an error is not lost.
  assign kernel_rresp_o = (read.whole && low_resp_q > slot_rresp_i) ? low_resp_q : slot_rresp_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_inside_q <= 1'b0;
      low_resp_q <= '0;
    end else if (read_beat) begin
      read_inside_q <= !slot_rlast_i;
      low_resp_q <= read_keeps ? slot_rresp_i : '0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (read_beat) begin
      read_next_q <= successor(read_offset, read.size);
      if (read_keeps) low_data_q <= slot_rdata_i;
    end
  end

  // Writes

  burst_t write_in, write;
  logic write_room, write_known, write_beat, write_last, write_upper, write_ends_beat;
  logic [7:0] write_beats_q;
  offset_t write_next_q, write_offset;

  assign write_in = burst_at_slot(awaddr_i, awburst_i, kernel_awsize_i, kernel_awlen_i);
  assign slot_awlen_o = write_in.len;
  assign slot_awsize_o = write_in.beats.size;
  assign slot_awvalid_o = kernel_awvalid_i && write_room;
  assign kernel_awready_o = slot_awready_i && write_room;

  tmb_fifo #(
    .T    (burst_t),
    .Depth(WriteBursts)
  ) i_writes (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .in_valid_i (kernel_awvalid_i && slot_awready_i),
    .in_ready_o (write_room),
    .in_data_i  (write_in),
    .out_valid_o(write_known),
    .out_ready_i(write_beat && write_last),
    .out_data_o (write)
  );

  // Beats are counted by AWLEN, as the slot counts them, independently of WLAST.
  assign write_offset = (write_beats_q == '0) ? write.beats.offset : write_next_q;
  assign write_upper = write_offset[6];
  assign write_ends_beat = !write.beats.whole || write_upper;
  assign write_last = write_beats_q == write.len;
  assign write_beat = slot_wvalid_o && slot_wready_i;
  assign slot_wvalid_o = kernel_wvalid_i && write_known;
  assign kernel_wready_o = slot_wready_i && write_known && write_ends_beat;
  assign slot_wlast_o = kernel_wlast_i && write_ends_beat;
  assign slot_wdata_o = kernel_wdata_i[write_upper*SlotWidth+:SlotWidth];
  assign slot_wstrb_o = kernel_wstrb_i[write_upper*(SlotWidth/8)+:SlotWidth/8];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) write_beats_q <= '0;
    else if (write_beat) write_beats_q <= write_last ? '0 : write_beats_q + 8'd1;
  end
  always_ff @(posedge clk_i) begin
    if (write_beat) write_next_q <= successor(write_offset, write.beats.size);
  end

  `TMB_ASSERT(DataFollowAddresses, slot_rvalid_i |-> read_known)

endmodule
