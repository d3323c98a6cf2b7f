// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Queue of the example kernel prefix_sum. See ../../README.md.

`timescale 1 ns / 1 ps

module prefix_sum_fifo #(
  parameter DATA_WIDTH = 32,
  parameter ADDR_WIDTH = 6
) (
  input  wire                  clk,
  input  wire                  reset,
  output wire                  if_full_n,
  input  wire                  if_write,
  input  wire [DATA_WIDTH-1:0] if_din,
  output wire                  if_empty_n,
  input  wire                  if_read,
  output wire [DATA_WIDTH-1:0] if_dout,
  output wire [ADDR_WIDTH:0]   if_num_data_valid
);

  reg [DATA_WIDTH-1:0] mem [0:(1 << ADDR_WIDTH)-1];
  reg [ADDR_WIDTH-1:0] waddr;
  reg [ADDR_WIDTH-1:0] raddr;
  reg [ADDR_WIDTH:0] usedw;

  wire push = if_write & if_full_n;
  wire pop = if_read & if_empty_n;

  assign if_full_n = ~usedw[ADDR_WIDTH];
  assign if_empty_n = |usedw;
  assign if_dout = mem[raddr];
  assign if_num_data_valid = usedw;

  always @(posedge clk) begin
    if (push) mem[waddr] <= if_din;
  end

  always @(posedge clk) begin
    if (reset) begin
      waddr <= 0;
      raddr <= 0;
      usedw <= 0;
    end else begin
      if (push) waddr <= waddr + 1'b1;
      if (pop) raddr <= raddr + 1'b1;
      if (push & ~pop) usedw <= usedw + 1'b1;
      if (pop & ~push) usedw <= usedw - 1'b1;
    end
  end

endmodule
