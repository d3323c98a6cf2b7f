// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Stand-in for xpm_fifo_axis: a queue of an AXI4-Stream, of one clock or between two, after its documented behaviour.
//
// All of a beat passes through it: tdata, tkeep, tstrb, tlast, tid, tdest, tuser. s_aresetn belongs to s_aclk.
//
// CLOCKING_MODE  "common_clock": m_aclk is not looked at. "independent_clock": the queue crosses from s_aclk to m_aclk.
// PACKET_FIFO    "true": a packet comes out when its tlast is in, or when no more of it fits.
// Throughput: a beat in and a beat out each cycle. Nothing waits for anything but room and beats, so it cannot deadlock.

// Some of the parameters and ports are for tools and for simulations of the vendor's.
// verilator lint_off UNUSEDPARAM
// verilator lint_off UNUSEDSIGNAL
// verilator lint_off WIDTHEXPAND
// verilator lint_off PINCONNECTEMPTY

module xpm_fifo_axis #(
  parameter int CASCADE_HEIGHT      = 0,
  parameter int CDC_SYNC_STAGES     = 2,
  parameter     CLOCKING_MODE       = "common_clock",
  parameter     ECC_MODE            = "no_ecc",
  parameter     EN_SIM_ASSERT_ERR   = "warning",
  parameter int FIFO_DEPTH          = 2048,
  parameter     FIFO_MEMORY_TYPE    = "auto",
  parameter     PACKET_FIFO         = "false",
  parameter int PROG_EMPTY_THRESH   = 10,
  parameter int PROG_FULL_THRESH    = 10,
  parameter int RD_DATA_COUNT_WIDTH = 1,
  parameter int RELATED_CLOCKS      = 0,
  parameter int SIM_ASSERT_CHK      = 0,
  parameter int TDATA_WIDTH         = 32,
  parameter int TDEST_WIDTH         = 1,
  parameter int TID_WIDTH           = 1,
  parameter int TUSER_WIDTH         = 1,
  parameter     USE_ADV_FEATURES    = "1000",
  parameter int WR_DATA_COUNT_WIDTH = 1
) (
  input  logic                           s_aresetn,
  input  logic                           s_aclk,
  input  logic                           m_aclk,
  input  logic                           s_axis_tvalid,
  output logic                           s_axis_tready,
  input  logic [TDATA_WIDTH-1:0]         s_axis_tdata,
  input  logic [TDATA_WIDTH/8-1:0]       s_axis_tstrb,
  input  logic [TDATA_WIDTH/8-1:0]       s_axis_tkeep,
  input  logic                           s_axis_tlast,
  input  logic [TID_WIDTH-1:0]           s_axis_tid,
  input  logic [TDEST_WIDTH-1:0]         s_axis_tdest,
  input  logic [TUSER_WIDTH-1:0]         s_axis_tuser,
  output logic                           m_axis_tvalid,
  input  logic                           m_axis_tready,
  output logic [TDATA_WIDTH-1:0]         m_axis_tdata,
  output logic [TDATA_WIDTH/8-1:0]       m_axis_tstrb,
  output logic [TDATA_WIDTH/8-1:0]       m_axis_tkeep,
  output logic                           m_axis_tlast,
  output logic [TID_WIDTH-1:0]           m_axis_tid,
  output logic [TDEST_WIDTH-1:0]         m_axis_tdest,
  output logic [TUSER_WIDTH-1:0]         m_axis_tuser,
  output logic                           prog_full_axis,
  output logic [WR_DATA_COUNT_WIDTH-1:0] wr_data_count_axis,
  output logic                           almost_full_axis,
  output logic                           prog_empty_axis,
  output logic [RD_DATA_COUNT_WIDTH-1:0] rd_data_count_axis,
  output logic                           almost_empty_axis,
  input  logic                           injectsbiterr_axis,
  input  logic                           injectdbiterr_axis,
  output logic                           sbiterr_axis,
  output logic                           dbiterr_axis
);

  localparam bit Crosses = CLOCKING_MODE == "independent_clock";
  localparam bit Packets = PACKET_FIFO == "true";
  localparam int unsigned KeepWidth = TDATA_WIDTH / 8;
  localparam int unsigned Width =
      TDATA_WIDTH + 2 * KeepWidth + 1 + TID_WIDTH + TDEST_WIDTH + TUSER_WIDTH;
  // Packets in the queue are no more than its beats.
  localparam int unsigned CountWidth = $clog2(FIFO_DEPTH) + 2;

  if (ECC_MODE != "no_ecc") begin : gen_ecc
    $error("this stand-in has no ECC_MODE");
  end

  logic [Width-1:0] in_word, out_word;
  logic full, wr_busy, empty, rd_busy, push, pop, may_leave, out_clk;
  assign in_word = {
    s_axis_tuser, s_axis_tdest, s_axis_tid, s_axis_tlast, s_axis_tkeep, s_axis_tstrb, s_axis_tdata
  };
  assign {m_axis_tuser, m_axis_tdest, m_axis_tid, m_axis_tlast, m_axis_tkeep, m_axis_tstrb,
          m_axis_tdata} = out_word;
  assign s_axis_tready = !full && !wr_busy;
  assign push = s_axis_tvalid && s_axis_tready;
  assign m_axis_tvalid = !empty && may_leave;
  assign pop = m_axis_tvalid && m_axis_tready;

  if (Crosses) begin : gen_async
    assign out_clk = m_aclk;
    xpm_fifo_async #(
      .CDC_SYNC_STAGES(CDC_SYNC_STAGES),
      .FIFO_WRITE_DEPTH(FIFO_DEPTH),
      .PROG_EMPTY_THRESH(PROG_EMPTY_THRESH),
      .PROG_FULL_THRESH(PROG_FULL_THRESH),
      .RD_DATA_COUNT_WIDTH(RD_DATA_COUNT_WIDTH),
      .READ_DATA_WIDTH(Width),
      .READ_MODE("fwft"),
      .WRITE_DATA_WIDTH(Width),
      .WR_DATA_COUNT_WIDTH(WR_DATA_COUNT_WIDTH)
    ) u_queue (
      .sleep(1'b0),
      .rst(!s_aresetn),
      .wr_clk(s_aclk),
      .wr_en(push),
      .din(in_word),
      .full(full),
      .prog_full(prog_full_axis),
      .wr_data_count(wr_data_count_axis),
      .overflow(),
      .wr_rst_busy(wr_busy),
      .almost_full(almost_full_axis),
      .wr_ack(),
      .rd_clk(m_aclk),
      .rd_en(pop),
      .dout(out_word),
      .empty(empty),
      .prog_empty(prog_empty_axis),
      .rd_data_count(rd_data_count_axis),
      .underflow(),
      .rd_rst_busy(rd_busy),
      .almost_empty(almost_empty_axis),
      .data_valid(),
      .injectsbiterr(1'b0),
      .injectdbiterr(1'b0),
      .sbiterr(sbiterr_axis),
      .dbiterr(dbiterr_axis)
    );
  end else begin : gen_sync
    assign out_clk = s_aclk;
    xpm_fifo_sync #(
      .FIFO_WRITE_DEPTH(FIFO_DEPTH),
      .PROG_EMPTY_THRESH(PROG_EMPTY_THRESH),
      .PROG_FULL_THRESH(PROG_FULL_THRESH),
      .RD_DATA_COUNT_WIDTH(RD_DATA_COUNT_WIDTH),
      .READ_DATA_WIDTH(Width),
      .READ_MODE("fwft"),
      .WRITE_DATA_WIDTH(Width),
      .WR_DATA_COUNT_WIDTH(WR_DATA_COUNT_WIDTH)
    ) u_queue (
      .sleep(1'b0),
      .rst(!s_aresetn),
      .wr_clk(s_aclk),
      .wr_en(push),
      .din(in_word),
      .full(full),
      .prog_full(prog_full_axis),
      .wr_data_count(wr_data_count_axis),
      .overflow(),
      .wr_rst_busy(wr_busy),
      .almost_full(almost_full_axis),
      .wr_ack(),
      .rd_en(pop),
      .dout(out_word),
      .empty(empty),
      .prog_empty(prog_empty_axis),
      .rd_data_count(rd_data_count_axis),
      .underflow(),
      .rd_rst_busy(rd_busy),
      .almost_empty(almost_empty_axis),
      .data_valid(),
      .injectsbiterr(1'b0),
      .injectdbiterr(1'b0),
      .sbiterr(sbiterr_axis),
      .dbiterr(dbiterr_axis)
    );
  end

  if (Packets) begin : gen_packets
    logic [CountWidth-1:0] came_q, came_out, gone_q;
    logic full_out, open_q;
    always_ff @(posedge s_aclk) begin
      came_q <= wr_busy ? '0 : came_q + CountWidth'(push && s_axis_tlast);
    end
    if (Crosses) begin : gen_cross
      xpm_cdc_gray #(
        .DEST_SYNC_FF(CDC_SYNC_STAGES < 2 ? 2 : CDC_SYNC_STAGES),
        .WIDTH(CountWidth)
      ) u_came (
        .src_clk(s_aclk),
        .src_in_bin(came_q),
        .dest_clk(m_aclk),
        .dest_out_bin(came_out)
      );
      xpm_cdc_array_single #(
        .DEST_SYNC_FF(CDC_SYNC_STAGES < 2 ? 2 : CDC_SYNC_STAGES),
        .WIDTH(1)
      ) u_full (
        .src_clk(s_aclk),
        .src_in(full),
        .dest_clk(m_aclk),
        .dest_out(full_out)
      );
    end else begin : gen_same
      assign came_out = came_q;
      assign full_out = full;
    end
    // open_q: the packet at the head was begun because no more of it fits.
    assign may_leave = came_out != gone_q || open_q || full_out;
    always_ff @(posedge out_clk) begin
      if (rd_busy) begin
        gone_q <= '0;
        open_q <= 1'b0;
      end else begin
        gone_q <= gone_q + CountWidth'(pop && m_axis_tlast);
        if (m_axis_tvalid) open_q <= !(pop && m_axis_tlast);
      end
    end
  end else begin : gen_beats
    assign may_leave = 1'b1;
  end

endmodule
