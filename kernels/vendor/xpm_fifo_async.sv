// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Stand-in for xpm_fifo_async: a queue between two clocks, after its documented behaviour.
//
// Both widths are the same, without error correction and sleep. rst belongs to wr_clk; both sides are busy until the reset has
// gone to the other clock and come back. Counts and flags of a side see the other CDC_SYNC_STAGES cycles later.
//
// READ_MODE  "std": dout follows rd_en by FIFO_READ_LATENCY cycles. "fwft": dout has the first word while empty is low.
// Words that fit: FIFO_WRITE_DEPTH. A write while full and a read while empty change nothing.
// Throughput: a word in each cycle of wr_clk, a word out each cycle of rd_clk.
// Latency: a word is readable one cycle of wr_clk and CDC_SYNC_STAGES of rd_clk behind its write.

// Some of the parameters and ports are for tools and for simulations of the vendor's.
// verilator lint_off UNUSEDPARAM
// verilator lint_off UNUSEDSIGNAL
// verilator lint_off WIDTHEXPAND

module xpm_fifo_async #(
  parameter int CASCADE_HEIGHT      = 0,
  parameter int CDC_SYNC_STAGES     = 2,
  parameter     DOUT_RESET_VALUE    = "0",
  parameter     ECC_MODE            = "no_ecc",
  parameter     EN_SIM_ASSERT_ERR   = "warning",
  parameter     FIFO_MEMORY_TYPE    = "auto",
  parameter int FIFO_READ_LATENCY   = 1,
  parameter int FIFO_WRITE_DEPTH    = 2048,
  parameter int FULL_RESET_VALUE    = 0,
  parameter int PROG_EMPTY_THRESH   = 10,
  parameter int PROG_FULL_THRESH    = 10,
  parameter int RD_DATA_COUNT_WIDTH = 1,
  parameter int READ_DATA_WIDTH     = 32,
  parameter     READ_MODE           = "std",
  parameter int RELATED_CLOCKS      = 0,
  parameter int SIM_ASSERT_CHK      = 0,
  parameter     USE_ADV_FEATURES    = "0707",
  parameter int VERSION             = 0,
  parameter int WAKEUP_TIME         = 0,
  parameter int WRITE_DATA_WIDTH    = 32,
  parameter int WR_DATA_COUNT_WIDTH = 1
) (
  input  logic                           sleep,
  input  logic                           rst,
  input  logic                           wr_clk,
  input  logic                           wr_en,
  input  logic [WRITE_DATA_WIDTH-1:0]    din,
  output logic                           full,
  output logic                           prog_full,
  output logic [WR_DATA_COUNT_WIDTH-1:0] wr_data_count,
  output logic                           overflow,
  output logic                           wr_rst_busy,
  output logic                           almost_full,
  output logic                           wr_ack,
  input  logic                           rd_clk,
  input  logic                           rd_en,
  output logic [READ_DATA_WIDTH-1:0]     dout,
  output logic                           empty,
  output logic                           prog_empty,
  output logic [RD_DATA_COUNT_WIDTH-1:0] rd_data_count,
  output logic                           underflow,
  output logic                           rd_rst_busy,
  output logic                           almost_empty,
  output logic                           data_valid,
  input  logic                           injectsbiterr,
  input  logic                           injectdbiterr,
  output logic                           sbiterr,
  output logic                           dbiterr
);

  localparam bit Fwft = READ_MODE == "fwft" || READ_MODE == "FWFT";
  localparam int unsigned PlaceWidth = $clog2(FIFO_WRITE_DEPTH);
  localparam int unsigned CountWidth = PlaceWidth + 1;
  localparam int unsigned Stages = CDC_SYNC_STAGES < 2 ? 2 : CDC_SYNC_STAGES;
  localparam int unsigned Latency = FIFO_READ_LATENCY < 1 ? 1 : FIFO_READ_LATENCY;

  if (WRITE_DATA_WIDTH != READ_DATA_WIDTH) begin : gen_widths
    $error("this stand-in has one width: WRITE_DATA_WIDTH = READ_DATA_WIDTH");
  end
  if (FIFO_WRITE_DEPTH < 16 || (FIFO_WRITE_DEPTH & (FIFO_WRITE_DEPTH - 1)) != 0) begin : gen_depth
    $error("FIFO_WRITE_DEPTH is a power of two, at least 16");
  end
  if (ECC_MODE != "no_ecc") begin : gen_ecc
    $error("this stand-in has no ECC_MODE");
  end

  // The reset goes to the readers' clock and back: a side leaves it when it has reached the other.
  logic hold_q, hold_rd, hold_back;
  always_ff @(posedge wr_clk) hold_q <= rst || (hold_q && !hold_back);
  xpm_cdc_array_single #(
    .DEST_SYNC_FF(Stages + 1),
    .SRC_INPUT_REG(0),
    .WIDTH(1)
  ) u_hold (
    .src_clk(wr_clk),
    .src_in(hold_q),
    .dest_clk(rd_clk),
    .dest_out(hold_rd)
  );
  xpm_cdc_array_single #(
    .DEST_SYNC_FF(Stages + 1),
    .SRC_INPUT_REG(0),
    .WIDTH(1)
  ) u_back (
    .src_clk(rd_clk),
    .src_in(hold_rd),
    .dest_clk(wr_clk),
    .dest_out(hold_back)
  );
  assign wr_rst_busy = rst || hold_q || hold_back;
  assign rd_rst_busy = hold_rd;

  // Places with one bit more: how often the end was passed, modulo 2.
  logic [CountWidth-1:0] tail_q, tail_rd, head_q, head_wr;
  xpm_cdc_gray #(
    .DEST_SYNC_FF(Stages),
    .WIDTH(CountWidth)
  ) u_tail (
    .src_clk(wr_clk),
    .src_in_bin(tail_q),
    .dest_clk(rd_clk),
    .dest_out_bin(tail_rd)
  );
  xpm_cdc_gray #(
    .DEST_SYNC_FF(Stages),
    .WIDTH(CountWidth)
  ) u_head (
    .src_clk(rd_clk),
    .src_in_bin(head_q),
    .dest_clk(wr_clk),
    .dest_out_bin(head_wr)
  );

  logic [READ_DATA_WIDTH-1:0] mem_q [FIFO_WRITE_DEPTH];
  logic [CountWidth-1:0] written, readable;
  logic push, pop;
  assign written = tail_q - head_wr;
  assign readable = tail_rd - head_q;
  assign full = wr_rst_busy ? FULL_RESET_VALUE != 0 : written >= CountWidth'(FIFO_WRITE_DEPTH);
  assign empty = readable == '0 || rd_rst_busy;
  assign push = wr_en && !wr_rst_busy && written < CountWidth'(FIFO_WRITE_DEPTH);
  assign pop = rd_en && !empty;

  always_ff @(posedge wr_clk) begin
    if (push) mem_q[tail_q[PlaceWidth-1:0]] <= din;
    tail_q <= wr_rst_busy ? '0 : tail_q + CountWidth'(push);
    wr_ack <= push;
    overflow <= wr_en && !push;
    prog_full <= wr_rst_busy ? FULL_RESET_VALUE != 0 : written >= CountWidth'(PROG_FULL_THRESH);
  end

  always_ff @(posedge rd_clk) begin
    head_q <= rd_rst_busy ? '0 : head_q + CountWidth'(pop);
    underflow <= rd_en && !pop;
    prog_empty <= rd_rst_busy || readable <= CountWidth'(PROG_EMPTY_THRESH);
  end

  assign almost_full = full || written >= CountWidth'(FIFO_WRITE_DEPTH - 1);
  assign almost_empty = empty || readable <= 1;

  // A count with fewer bits lacks the low ones.
  if (WR_DATA_COUNT_WIDTH >= CountWidth) begin : gen_write_count
    assign wr_data_count = WR_DATA_COUNT_WIDTH'(written);
  end else begin : gen_short_write_count
    assign wr_data_count = WR_DATA_COUNT_WIDTH'(written >> (CountWidth - WR_DATA_COUNT_WIDTH));
  end
  if (RD_DATA_COUNT_WIDTH >= CountWidth) begin : gen_read_count
    assign rd_data_count = RD_DATA_COUNT_WIDTH'(readable);
  end else begin : gen_short_read_count
    assign rd_data_count = RD_DATA_COUNT_WIDTH'(readable >> (CountWidth - RD_DATA_COUNT_WIDTH));
  end

  if (Fwft) begin : gen_fwft
    assign dout = mem_q[head_q[PlaceWidth-1:0]];
    assign data_valid = !empty;
  end else begin : gen_std
    logic [Latency-1:0][READ_DATA_WIDTH-1:0] data_q;
    logic [Latency-1:0] valid_q;
    always_ff @(posedge rd_clk) begin
      if (pop) data_q[0] <= mem_q[head_q[PlaceWidth-1:0]];
      valid_q[0] <= pop;
      for (int unsigned i = 1; i < Latency; i++) begin
        if (valid_q[i-1]) data_q[i] <= data_q[i-1];
        valid_q[i] <= valid_q[i-1];
      end
      if (rd_rst_busy) begin
        data_q <= '0;
        valid_q <= '0;
      end
    end
    assign dout = data_q[Latency-1];
    assign data_valid = valid_q[Latency-1];
  end

  assign sbiterr = 1'b0;
  assign dbiterr = 1'b0;

endmodule
