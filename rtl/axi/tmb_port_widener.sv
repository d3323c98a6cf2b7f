// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Joins a kernel's AXI4 port of 32 to 256 data bits to the slot's port of 512 bits.
//
// The slot serves bursts of narrow beats (AxSIZE below 6), so no burst is changed: only the data of
// each beat moves to, or comes from, the byte lanes that its address selects, as AXI4 defines them
// for the wider bus. Signals that stay as they are (IDs, upper address bits, ARLEN, AxBURST, WLAST,
// responses) bypass this module.
//
// DataWidth    bits of the kernel's port: 32, 64, 128 or 256
// ReadBursts   read bursts between address and last beat; more stall at AR
// WriteBursts  write bursts between address and last data beat; more stall at AW
//
// Throughput: one beat a cycle each way. Latency: none, but that the first beat of a write passes
// one cycle after its address. Ordering: read data must come back in the order of the addresses, as
// tmb_port returns them.
// Back-pressure: ready and valid pass through; AR and AW stall while their queue is full, W while no
// address has passed (a manager that waits for WREADY before it raises AWVALID breaks AXI4).
// No deadlock: a queue drains with beats, which need nothing that a full queue holds back: reads
// that fill the queue have passed to the slot already, and so have the addresses of writes.
// An AxSIZE above the port's width leaves as 7, which the slot answers with an error.

`include "tmb_assert.svh"

module tmb_port_widener #(
  parameter int unsigned DataWidth = 32,
  parameter int unsigned ReadBursts = 256,
  parameter int unsigned WriteBursts = 32,
  localparam int unsigned WideWidth = 512,
  localparam int unsigned StrobeWidth = DataWidth / 8,
  localparam int unsigned WideStrobeWidth = WideWidth / 8
) (
  input  logic clk_i,
  input  logic rst_ni,
  // bypasses this module
  input  logic [5:0] araddr_i,  // low bits
  input  logic       rvalid_i,
  input  logic       rready_i,
  input  logic       rlast_i,
  input  logic [5:0] awaddr_i,  // low bits
  input  logic [7:0] awlen_i,
  // reads
  input  logic [2:0]             narrow_arsize_i,
  output logic [2:0]             wide_arsize_o,
  input  logic                   narrow_arvalid_i,
  output logic                   wide_arvalid_o,
  output logic                   narrow_arready_o,
  input  logic                   wide_arready_i,
  output logic [DataWidth-1:0]   narrow_rdata_o,
  input  logic [WideWidth-1:0]   wide_rdata_i,
  // writes
  input  logic [2:0]                 narrow_awsize_i,
  output logic [2:0]                 wide_awsize_o,
  input  logic                       narrow_awvalid_i,
  output logic                       wide_awvalid_o,
  output logic                       narrow_awready_o,
  input  logic                       wide_awready_i,
  input  logic [DataWidth-1:0]       narrow_wdata_i,
  output logic [WideWidth-1:0]       wide_wdata_o,
  input  logic [StrobeWidth-1:0]     narrow_wstrb_i,
  output logic [WideStrobeWidth-1:0] wide_wstrb_o,
  input  logic                       narrow_wvalid_i,
  output logic                       wide_wvalid_o,
  output logic                       narrow_wready_o,
  input  logic                       wide_wready_i
);

  localparam int unsigned Lanes = WideWidth / DataWidth;
  localparam int unsigned LaneWidth = $clog2(Lanes);
  localparam int unsigned OffsetWidth = $clog2(WideStrobeWidth);
  localparam logic [2:0] FullSize = 3'($clog2(StrobeWidth));
  localparam logic [2:0] RefusedSize = 3'd7;

  typedef logic [OffsetWidth-1:0] offset_t;
  typedef logic [LaneWidth-1:0] lane_t;

  typedef struct packed {
    offset_t    offset;
    logic [2:0] size;
  } read_t;

  typedef struct packed {
    offset_t    offset;
    logic [2:0] size;
    logic [7:0] len;
  } write_t;

  // Where the next beat of an INCR burst begins.
  function automatic offset_t successor(offset_t offset, logic [2:0] size);
    offset_t below;
    below = offset_t'((offset_t'(1) << size) - offset_t'(1));
    return offset_t'((offset | below) + offset_t'(1));
  endfunction

  function automatic lane_t lane_of(offset_t offset);
    return lane_t'(offset >> FullSize);
  endfunction

  // Reads

  logic read_room, read_known, read_beat;
  read_t read;
  logic read_inside_q;
  offset_t read_next_q, read_offset;

  tmb_fifo #(
    .T    (read_t),
    .Depth(ReadBursts)
  ) i_reads (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .in_valid_i (narrow_arvalid_i && wide_arready_i),
    .in_ready_o (read_room),
    .in_data_i  ({araddr_i, narrow_arsize_i}),
    .out_valid_o(read_known),
    .out_ready_i(read_beat && rlast_i),
    .out_data_o (read)
  );

  assign wide_arsize_o = (narrow_arsize_i > FullSize) ? RefusedSize : narrow_arsize_i;
  assign wide_arvalid_o = narrow_arvalid_i && read_room;
  assign narrow_arready_o = wide_arready_i && read_room;

  assign read_beat = rvalid_i && rready_i;
  assign read_offset = read_inside_q ? read_next_q : read.offset;
  assign narrow_rdata_o = wide_rdata_i[lane_of(read_offset)*DataWidth+:DataWidth];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) read_inside_q <= 1'b0;
    else if (read_beat) read_inside_q <= !rlast_i;
  end
  always_ff @(posedge clk_i) begin
    if (read_beat) read_next_q <= successor(read_offset, read.size);
  end

  // Writes

  logic write_room, write_known, write_beat, write_last;
  write_t write;
  logic [7:0] write_beats_q;
  offset_t write_next_q, write_offset;

  tmb_fifo #(
    .T    (write_t),
    .Depth(WriteBursts)
  ) i_writes (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .in_valid_i (narrow_awvalid_i && wide_awready_i),
    .in_ready_o (write_room),
    .in_data_i  ({awaddr_i, narrow_awsize_i, awlen_i}),
    .out_valid_o(write_known),
    .out_ready_i(write_beat && write_last),
    .out_data_o (write)
  );

  assign wide_awsize_o = (narrow_awsize_i > FullSize) ? RefusedSize : narrow_awsize_i;
  assign wide_awvalid_o = narrow_awvalid_i && write_room;
  assign narrow_awready_o = wide_awready_i && write_room;

  // Beats are counted by AWLEN, as the slot counts them, independently of WLAST.
  assign write_beat = narrow_wvalid_i && wide_wready_i && write_known;
  assign write_last = write_beats_q == write.len;
  assign write_offset = (write_beats_q == '0) ? write.offset : write_next_q;
  assign wide_wvalid_o = narrow_wvalid_i && write_known;
  assign narrow_wready_o = wide_wready_i && write_known;
  // The strobes alone say which copy counts.
  assign wide_wdata_o = {Lanes{narrow_wdata_i}};

  for (genvar lane = 0; lane < Lanes; lane++) begin : gen_strobe
    assign wide_wstrb_o[lane*StrobeWidth+:StrobeWidth] =
        (lane_of(write_offset) == lane_t'(lane)) ? narrow_wstrb_i : '0;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) write_beats_q <= '0;
    else if (write_beat) write_beats_q <= write_last ? '0 : write_beats_q + 8'd1;
  end
  always_ff @(posedge clk_i) begin
    if (write_beat) write_next_q <= successor(write_offset, write.size);
  end

  `TMB_ASSERT_INIT(WidthIsLegal, DataWidth inside {32, 64, 128, 256})
  `TMB_ASSERT(DataFollowAddresses, rvalid_i |-> read_known)

endmodule
