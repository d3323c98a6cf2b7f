// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Stand-in for xpm_fifo_sync: a queue of one clock, after its documented behaviour.
//
// Both widths are the same, without error correction and sleep. A word is readable in the cycle behind its write, which is
// sooner than the vendor's; flags and counts are those of the words in it.
//
// READ_MODE  "std": dout follows rd_en by FIFO_READ_LATENCY cycles. "fwft": dout has the first word while empty is low.
// Words that fit: FIFO_WRITE_DEPTH, and two more with "fwft". A write while full and a read while empty change nothing.
// Throughput: a word in and a word out each cycle.

// Some of the parameters and ports are for tools and for simulations of the vendor's.
// verilator lint_off UNUSEDPARAM
// verilator lint_off UNUSEDSIGNAL
// verilator lint_off WIDTHEXPAND

module xpm_fifo_sync #(
  parameter int CASCADE_HEIGHT      = 0,
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
  localparam int unsigned Capacity = FIFO_WRITE_DEPTH + (Fwft ? 2 : 0);
  localparam int unsigned PlaceWidth = $clog2(Capacity);
  localparam int unsigned CountWidth = $clog2(FIFO_WRITE_DEPTH) + 1;
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

  logic [READ_DATA_WIDTH-1:0] mem_q [Capacity];
  logic [PlaceWidth-1:0] tail_q, head_q;
  logic [PlaceWidth:0] count_q;
  // The reset, and the cycles behind it in which the queue is busy.
  logic [2:0] busy_q;
  logic push, pop;

  function automatic logic [PlaceWidth-1:0] next(logic [PlaceWidth-1:0] place);
    return place == PlaceWidth'(Capacity - 1) ? '0 : place + 1'b1;
  endfunction

  assign wr_rst_busy = rst || busy_q != '0;
  assign rd_rst_busy = wr_rst_busy;
  assign empty = count_q == '0 || wr_rst_busy;
  assign full = wr_rst_busy ? FULL_RESET_VALUE != 0 : count_q >= (PlaceWidth + 1)'(Capacity);
  assign push = wr_en && !wr_rst_busy && count_q < (PlaceWidth + 1)'(Capacity);
  assign pop = rd_en && !empty;

  always_ff @(posedge wr_clk) begin
    busy_q <= {busy_q[1:0], rst};
    if (push) mem_q[tail_q] <= din;
    if (push) tail_q <= next(tail_q);
    if (pop) head_q <= next(head_q);
    count_q <= count_q + (PlaceWidth + 1)'(push) - (PlaceWidth + 1)'(pop);
    wr_ack <= push;
    overflow <= wr_en && !push;
    underflow <= rd_en && !pop;
    prog_full <= count_q >= (PlaceWidth + 1)'(PROG_FULL_THRESH);
    prog_empty <= count_q <= (PlaceWidth + 1)'(PROG_EMPTY_THRESH);
    if (rst) begin
      tail_q <= '0;
      head_q <= '0;
      count_q <= '0;
      wr_ack <= 1'b0;
      overflow <= 1'b0;
      underflow <= 1'b0;
      prog_full <= FULL_RESET_VALUE != 0;
      prog_empty <= 1'b1;
    end
  end

  assign almost_full = full || count_q >= (PlaceWidth + 1)'(Capacity - 1);
  assign almost_empty = empty || count_q <= 1;

  // A count with fewer bits lacks the low ones.
  logic [CountWidth-1:0] words;
  assign words = count_q >= (PlaceWidth + 1)'(FIFO_WRITE_DEPTH)
      ? CountWidth'(FIFO_WRITE_DEPTH) : CountWidth'(count_q);
  if (WR_DATA_COUNT_WIDTH >= CountWidth) begin : gen_write_count
    assign wr_data_count = WR_DATA_COUNT_WIDTH'(words);
  end else begin : gen_short_write_count
    assign wr_data_count = WR_DATA_COUNT_WIDTH'(words >> (CountWidth - WR_DATA_COUNT_WIDTH));
  end
  if (RD_DATA_COUNT_WIDTH >= CountWidth) begin : gen_read_count
    assign rd_data_count = RD_DATA_COUNT_WIDTH'(words);
  end else begin : gen_short_read_count
    assign rd_data_count = RD_DATA_COUNT_WIDTH'(words >> (CountWidth - RD_DATA_COUNT_WIDTH));
  end

  if (Fwft) begin : gen_fwft
    assign dout = mem_q[head_q];
    assign data_valid = !empty;
  end else begin : gen_std
    logic [Latency-1:0][READ_DATA_WIDTH-1:0] data_q;
    logic [Latency-1:0] valid_q;
    always_ff @(posedge wr_clk) begin
      if (pop) data_q[0] <= mem_q[head_q];
      valid_q[0] <= pop && !rst;
      for (int unsigned i = 1; i < Latency; i++) begin
        if (valid_q[i-1]) data_q[i] <= data_q[i-1];
        valid_q[i] <= valid_q[i-1] && !rst;
      end
      if (rst) data_q <= '0;
    end
    assign dout = data_q[Latency-1];
    assign data_valid = valid_q[Latency-1];
  end

  assign sbiterr = 1'b0;
  assign dbiterr = 1'b0;

endmodule
