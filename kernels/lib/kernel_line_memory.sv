// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Lines of 128 bytes that a kernel behind the directory keeps on the card, zero at first: their memory, and the writes
// of its home port. The kernel answers the reads of that port itself, from read_i.
//
// LinesLog2   log2 of the lines; a line is two rows
//
// Throughput: a row read and a row written a cycle; a line of the directory every four. A write of the kernel's own
// goes first. Latency: a row is there one cycle after read_i. Ordering: the directory's lines one at a time; a row that
// is read in the cycle in which it is written is the old one.
// No deadlock: the directory's writes wait for the kernel's own rows and for the taking of their response alone.

module kernel_line_memory #(
  parameter int unsigned LinesLog2 = 6,
  localparam int unsigned LineLog2 = 7,
  localparam int unsigned WindowLog2 = LinesLog2 + LineLog2
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic [63:0]          base_i,  // of the first line; a multiple of all lines together

  // The home port's writes. A line that is not here is taken and refused.
  input  logic                 awvalid_i,
  output logic                 awready_o,
  input  logic [15:0]          awid_i,
  input  logic [63:0]          awaddr_i,
  input  logic                 wvalid_i,
  output logic                 wready_o,
  input  logic [511:0]         wdata_i,
  input  logic [63:0]          wstrb_i,
  output logic                 bvalid_o,
  input  logic                 bready_i,
  output logic [15:0]          bid_o,
  output logic [1:0]           bresp_o,
  output logic                 written_o,  // the second row of a line that is here is taken
  output logic [LinesLog2-1:0] line_o,     // that line

  // The kernel's reads.
  input  logic                 read_i,
  input  logic [LinesLog2:0]   read_row_i,
  output logic [511:0]         row_o,  // stays until the next read

  // The kernel's writes.
  input  logic                 write_i,
  input  logic [LinesLog2:0]   write_row_i,
  input  logic [511:0]         write_data_i,
  input  logic [63:0]          write_strobes_i
);

  localparam logic [1:0] Okay = 2'b00;
  localparam logic [1:0] DecodeError = 2'b11;

  logic busy_q, second_q, inside_q, bvalid_q;
  logic [15:0] id_q, bid_q;
  logic [1:0] bresp_q;
  logic [LinesLog2-1:0] line_q;
  logic row_written, line_written;

  assign awready_o = !busy_q && !bvalid_q;
  assign wready_o = busy_q && !write_i;
  assign row_written = wvalid_i && wready_o;
  assign line_written = row_written && second_q;
  assign written_o = line_written && inside_q;
  assign line_o = line_q;
  assign bvalid_o = bvalid_q;
  assign bid_o = bid_q;
  assign bresp_o = bresp_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      second_q <= 1'b0;
      bvalid_q <= 1'b0;
    end else begin
      if (awvalid_i && awready_o) busy_q <= 1'b1;
      else if (line_written) busy_q <= 1'b0;
      if (row_written) second_q <= !second_q;
      if (line_written) bvalid_q <= 1'b1;
      else if (bready_i) bvalid_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (awvalid_i && awready_o) begin
      id_q <= awid_i;
      line_q <= awaddr_i[LineLog2+:LinesLog2];
      inside_q <= awaddr_i[63:WindowLog2] == base_i[63:WindowLog2];
    end
    if (line_written) begin
      bid_q <= id_q;
      bresp_q <= inside_q ? Okay : DecodeError;
    end
  end

  logic [511:0] memory [2 << LinesLog2];
  logic [511:0] row_q, data;
  logic [LinesLog2:0] row;
  logic [63:0] strobes;

  assign row = write_i ? write_row_i : {line_q, second_q};
  assign data = write_i ? write_data_i : wdata_i;
  assign strobes = write_i ? write_strobes_i : wstrb_i;
  assign row_o = row_q;

  initial begin
    for (int unsigned i = 0; i < (2 << LinesLog2); i++) memory[i] = '0;
  end
  always_ff @(posedge clk_i) begin
    if (read_i) row_q <= memory[read_row_i];
  end
  always_ff @(posedge clk_i) begin
    if (write_i || (row_written && inside_q)) begin
      for (int unsigned b = 0; b < 64; b++) begin
        if (strobes[b]) memory[row][8*b+:8] <= data[8*b+:8];
      end
    end
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, awaddr_i[LineLog2-1:0], base_i[WindowLog2-1:0]};

endmodule
