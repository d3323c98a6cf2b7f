// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Control registers of the example kernel prefix_sum, ap_ctrl_chain. See ../../README.md.
//
// 0x00 control: 0 ap_start, 1 ap_done, 2 ap_idle, 3 ap_ready, 4 ap_continue, 7 auto_restart,
//      9 interrupt
// 0x04 global interrupt enable   0x08 interrupt enable   0x0c interrupt status
// 0x10 values (64 bits)   0x18 sums (64 bits)   0x20 count (32 bits)

`timescale 1 ns / 1 ps

module prefix_sum_control_s_axi (
  input  wire        ACLK,
  input  wire        ARESET,
  input  wire [5:0]  AWADDR,
  input  wire        AWVALID,
  output wire        AWREADY,
  input  wire [31:0] WDATA,
  input  wire [3:0]  WSTRB,
  input  wire        WVALID,
  output wire        WREADY,
  output wire [1:0]  BRESP,
  output wire        BVALID,
  input  wire        BREADY,
  input  wire [5:0]  ARADDR,
  input  wire        ARVALID,
  output wire        ARREADY,
  output wire [31:0] RDATA,
  output wire [1:0]  RRESP,
  output wire        RVALID,
  input  wire        RREADY,
  output wire        interrupt,
  output wire [63:0] values,
  output wire [63:0] sums,
  output wire [31:0] count,
  output wire        ap_start,
  input  wire        ap_done,
  input  wire        ap_ready,
  output wire        ap_continue,
  input  wire        ap_idle
);

  localparam WRIDLE = 2'd0, WRDATA = 2'd1, WRRESP = 2'd2;

  reg [1:0] wstate;
  reg [5:0] waddr;
  reg rvalid;
  reg [31:0] rdata;

  reg int_ap_start;
  reg int_ap_continue;
  reg int_auto_restart;
  reg int_task_ap_ready;
  reg int_gie;
  reg [1:0] int_ier;
  reg [1:0] int_isr;
  reg [63:0] int_values;
  reg [63:0] int_sums;
  reg [31:0] int_count;

  wire [31:0] wmask = {{8{WSTRB[3]}}, {8{WSTRB[2]}}, {8{WSTRB[1]}}, {8{WSTRB[0]}}};
  wire w_hs = WVALID & WREADY;
  wire ar_hs = ARVALID & ARREADY;

  assign AWREADY = (wstate == WRIDLE);
  assign WREADY = (wstate == WRDATA);
  assign BRESP = 2'b00;
  assign BVALID = (wstate == WRRESP);
  assign ARREADY = ~rvalid;
  assign RDATA = rdata;
  assign RRESP = 2'b00;
  assign RVALID = rvalid;

  assign interrupt = int_gie & (|int_isr);
  assign values = int_values;
  assign sums = int_sums;
  assign count = int_count;
  assign ap_start = int_ap_start;
  assign ap_continue = int_ap_continue;

  always @(posedge ACLK) begin
    if (ARESET) wstate <= WRIDLE;
    else
      case (wstate)
        WRIDLE: if (AWVALID) wstate <= WRDATA;
        WRDATA: if (WVALID) wstate <= WRRESP;
        default: if (BREADY) wstate <= WRIDLE;
      endcase
  end

  always @(posedge ACLK) begin
    if (AWVALID & AWREADY) waddr <= AWADDR;
  end

  always @(posedge ACLK) begin
    if (ARESET) rvalid <= 1'b0;
    else if (ar_hs) rvalid <= 1'b1;
    else if (RREADY) rvalid <= 1'b0;
  end

  always @(posedge ACLK) begin
    if (ar_hs) begin
      rdata <= 32'd0;
      case (ARADDR)
        6'h00: begin
          rdata[0] <= int_ap_start;
          rdata[1] <= ap_done;
          rdata[2] <= ap_idle;
          rdata[3] <= int_task_ap_ready;
          rdata[7] <= int_auto_restart;
          rdata[9] <= interrupt;
        end
        6'h04: rdata[0] <= int_gie;
        6'h08: rdata[1:0] <= int_ier;
        6'h0c: rdata[1:0] <= int_isr;
        6'h10: rdata <= int_values[31:0];
        6'h14: rdata <= int_values[63:32];
        6'h18: rdata <= int_sums[31:0];
        6'h1c: rdata <= int_sums[63:32];
        6'h20: rdata <= int_count;
        default: ;
      endcase
    end
  end

  always @(posedge ACLK) begin
    if (ARESET) begin
      int_ap_start <= 1'b0;
      int_ap_continue <= 1'b0;
      int_auto_restart <= 1'b0;
      int_task_ap_ready <= 1'b0;
      int_gie <= 1'b0;
      int_ier <= 2'b00;
      int_isr <= 2'b00;
      int_values <= 64'd0;
      int_sums <= 64'd0;
      int_count <= 32'd0;
    end else begin
      int_ap_continue <= 1'b0;
      if (ap_ready) int_task_ap_ready <= 1'b1;
      else if (ar_hs & (ARADDR == 6'h00)) int_task_ap_ready <= 1'b0;
      if (ap_ready) int_ap_start <= int_auto_restart;
      if (w_hs)
        case (waddr)
          6'h00:
            if (WSTRB[0]) begin
              if (WDATA[0]) int_ap_start <= 1'b1;
              int_ap_continue <= WDATA[4];
              int_auto_restart <= WDATA[7];
            end
          6'h04: if (WSTRB[0]) int_gie <= WDATA[0];
          6'h08: if (WSTRB[0]) int_ier <= WDATA[1:0];
          6'h10: int_values[31:0] <= (WDATA & wmask) | (int_values[31:0] & ~wmask);
          6'h14: int_values[63:32] <= (WDATA & wmask) | (int_values[63:32] & ~wmask);
          6'h18: int_sums[31:0] <= (WDATA & wmask) | (int_sums[31:0] & ~wmask);
          6'h1c: int_sums[63:32] <= (WDATA & wmask) | (int_sums[63:32] & ~wmask);
          6'h20: int_count <= (WDATA & wmask) | (int_count & ~wmask);
          default: ;
        endcase
      // Written ones toggle; an event wins.
      if (w_hs & (waddr == 6'h0c) & WSTRB[0]) int_isr <= int_isr ^ WDATA[1:0];
      if (int_ier[0] & ap_ready) int_isr[0] <= 1'b1;
      if (int_ier[1] & ap_ready) int_isr[1] <= 1'b1;
    end
  end

endmodule
