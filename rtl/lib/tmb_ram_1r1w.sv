// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Simple dual-port memory: one write port, one read port with a registered output. Inferred as
// block RAM (or distributed RAM when it is small).
//
// StrobeWidth   number of parts of a word that are written separately; 1: the whole word
//
// Latency: read data one cycle after read_enable_i, held until the next read. A read of the word
// that is written in the same cycle gives the old word.

`include "tmb_assert.svh"

module tmb_ram_1r1w #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 2,
  parameter int unsigned StrobeWidth = 1,
  localparam int unsigned AddrWidth = Depth > 1 ? $clog2(Depth) : 1
) (
  input  logic                   clk_i,
  input  logic                   write_enable_i,
  input  logic [AddrWidth-1:0]   write_addr_i,
  input  logic [StrobeWidth-1:0] write_strobe_i,
  input  logic [Width-1:0]       write_data_i,
  input  logic                   read_enable_i,
  input  logic [AddrWidth-1:0]   read_addr_i,
  output logic [Width-1:0]       read_data_o
);

  localparam int unsigned PartWidth = Width / StrobeWidth;

  logic [Width-1:0] mem_q [Depth];
  logic [Width-1:0] read_data_q;

  if (StrobeWidth == 1) begin : gen_whole
    always_ff @(posedge clk_i) begin
      if (write_enable_i && write_strobe_i[0]) mem_q[write_addr_i] <= write_data_i;
    end
  end else begin : gen_parts
    always_ff @(posedge clk_i) begin
      if (write_enable_i) begin
        for (int unsigned i = 0; i < StrobeWidth; i++) begin
          if (write_strobe_i[i]) begin
            mem_q[write_addr_i][i*PartWidth+:PartWidth] <= write_data_i[i*PartWidth+:PartWidth];
          end
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (read_enable_i) read_data_q <= mem_q[read_addr_i];
  end

  assign read_data_o = read_data_q;

  `TMB_ASSERT_INIT(PartsFillTheWord, PartWidth * StrobeWidth == Width)

endmodule
