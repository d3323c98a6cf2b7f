// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Fabric: N readers and M writers share C memory channels.
//
// Cfg                               geometry: NumChannels, ChannelBytesLog2
// NumReaders, NumWriters            requesters
// PreferredReader, PreferredWriter  the DMA engine among them
//
// Parts, each with a clean seam: router (which channel), one tmb_channel each (arbiter, order,
// AXI4), return networks (rows and write responses to their requesters). A scheduler replaces the
// arbiter in tmb_channel and nothing else.
//
// Throughput: every channel reads one row and writes one row a cycle, all channels at once; every
// reader receives and every writer gives one row a cycle. Latency: request to memory 1 cycle, memory
// to requester 2 cycles. Ordering: as mem_read_rsp_t and mem_write_data_t say: per requester and
// channel in order, across channels none. A writer's data is pulled in the order of its requests.
//
// Back-pressure: requests wait at the requester; rows wait at the head of their channel.
//
// Why it cannot deadlock.
//  - Reads: a reader asks only for what it has room for, so every row that comes is taken, so every
//    channel drains.
//  - Writes: a writer's request is enqueued at its channel (u_turn) and, in the same cycle, in the
//    writer's own order (u_order). Look at the burst that was enqueued first of all that still have
//    rows to send (several of one cycle have different writers and channels: take any). Its channel
//    has nothing older, so it is at the head there; its writer has nothing older, so its rows are
//    next; and they are ready, because a write is requested only with all its rows. So it streams,
//    and by induction all do, for any number of writers and channels. It would be false if a
//    channel could take a writer's second request before the first was enqueued elsewhere; the
//    request port of a writer is one in-order queue, which excludes this.
//  - Neither kernel nor host is waited for.
//
// Source: FSRF section 5.3; DESIGN.md section 5 (four parts with clean seams).

`include "tmb_assert.svh"

module tmb_fabric import tmb_pkg::*; import tmb_fabric_pkg::*; #(
  parameter shell_cfg_t Cfg = DefaultShellCfg,
  parameter int unsigned NumReaders = 5,
  parameter int unsigned NumWriters = 4,
  parameter int unsigned PreferredReader = NumReaders - 1,
  parameter int unsigned PreferredWriter = NumWriters - 1
) (
  input  logic clk_i,
  input  logic rst_ni,

  input  logic            read_req_valid_i [NumReaders],
  output logic            read_req_ready_o [NumReaders],
  input  mem_req_t        read_req_i [NumReaders],
  output logic            read_rsp_valid_o [NumReaders],
  input  logic            read_rsp_ready_i [NumReaders],
  output mem_read_rsp_t   read_rsp_o [NumReaders],

  input  logic            write_req_valid_i [NumWriters],
  output logic            write_req_ready_o [NumWriters],
  input  mem_req_t        write_req_i [NumWriters],
  input  logic            write_data_valid_i [NumWriters],
  output logic            write_data_ready_o [NumWriters],
  input  mem_write_data_t write_data_i [NumWriters],
  output logic            write_rsp_valid_o [NumWriters],
  input  logic            write_rsp_ready_i [NumWriters],
  output mem_write_rsp_t  write_rsp_o [NumWriters],

  output logic            mem_ar_valid_o [Cfg.NumChannels],
  input  logic            mem_ar_ready_i [Cfg.NumChannels],
  output channel_ax_t     mem_ar_o [Cfg.NumChannels],
  input  logic            mem_r_valid_i [Cfg.NumChannels],
  output logic            mem_r_ready_o [Cfg.NumChannels],
  input  channel_r_t      mem_r_i [Cfg.NumChannels],
  output logic            mem_aw_valid_o [Cfg.NumChannels],
  input  logic            mem_aw_ready_i [Cfg.NumChannels],
  output channel_ax_t     mem_aw_o [Cfg.NumChannels],
  output logic            mem_w_valid_o [Cfg.NumChannels],
  input  logic            mem_w_ready_i [Cfg.NumChannels],
  output mem_write_data_t mem_w_o [Cfg.NumChannels],
  input  logic            mem_b_valid_i [Cfg.NumChannels],
  output logic            mem_b_ready_o [Cfg.NumChannels],
  input  logic            mem_b_error_i [Cfg.NumChannels]
);

  localparam int unsigned NumChannels = Cfg.NumChannels;
  localparam int unsigned ChannelWidth = NumChannels > 1 ? $clog2(NumChannels) : 1;
  localparam int unsigned ReaderWidth = NumReaders > 1 ? $clog2(NumReaders) : 1;
  localparam int unsigned WriterWidth = NumWriters > 1 ? $clog2(NumWriters) : 1;

  // Bursts that a writer may have enqueued before their rows are pulled.
  localparam int unsigned WriterOrderDepth = 8;

  // ---------------------------------------------------------------------------------------------
  // Router
  // ---------------------------------------------------------------------------------------------

  logic [NumReaders-1:0] channel_read_valid [NumChannels];
  logic [NumReaders-1:0] channel_read_ready [NumChannels];
  logic [ChannelWidth-1:0] read_channel [NumReaders];

  tmb_fabric_router #(
    .NumRequesters(NumReaders),
    .NumChannels(NumChannels),
    .ChannelBytesLog2(Cfg.ChannelBytesLog2)
  ) u_read_router (
    .valid_i(read_req_valid_i),
    .ready_o(read_req_ready_o),
    .req_i(read_req_i),
    .channel_o(read_channel),
    .channel_valid_o(channel_read_valid),
    .channel_ready_i(channel_read_ready)
  );

  logic write_valid [NumWriters];
  logic write_ready [NumWriters];
  logic [NumWriters-1:0] channel_write_valid [NumChannels];
  logic [NumWriters-1:0] channel_write_ready [NumChannels];
  logic [ChannelWidth-1:0] write_channel [NumWriters];

  tmb_fabric_router #(
    .NumRequesters(NumWriters),
    .NumChannels(NumChannels),
    .ChannelBytesLog2(Cfg.ChannelBytesLog2)
  ) u_write_router (
    .valid_i(write_valid),
    .ready_o(write_ready),
    .req_i(write_req_i),
    .channel_o(write_channel),
    .channel_valid_o(channel_write_valid),
    .channel_ready_i(channel_write_ready)
  );

  // ---------------------------------------------------------------------------------------------
  // Write data: each writer's rows go where its requests went, in their order.
  // ---------------------------------------------------------------------------------------------

  logic [NumWriters-1:0] channel_data_valid [NumChannels];
  logic [NumWriters-1:0] channel_data_ready [NumChannels];

  for (genvar w = 0; w < NumWriters; w++) begin : gen_writer
    logic order_ready, order_valid;
    logic [ChannelWidth-1:0] data_channel;

    assign write_valid[w] = write_req_valid_i[w] && order_ready;
    assign write_req_ready_o[w] = write_ready[w] && order_ready;

    tmb_fifo #(
      .T(logic [ChannelWidth-1:0]),
      .Depth(WriterOrderDepth)
    ) u_order (
      .clk_i,
      .rst_ni,
      .in_valid_i(write_req_valid_i[w] && write_ready[w]),
      .in_ready_o(order_ready),
      .in_data_i(write_channel[w]),
      .out_valid_o(order_valid),
      .out_ready_i(write_data_valid_i[w] && write_data_ready_o[w] && write_data_i[w].last),
      .out_data_o(data_channel)
    );

    assign write_data_ready_o[w] = order_valid && channel_data_ready[data_channel][w];
    for (genvar c = 0; c < NumChannels; c++) begin : gen_data_valid
      assign channel_data_valid[c][w] =
          write_data_valid_i[w] && order_valid && data_channel == ChannelWidth'(c);
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Channels
  // ---------------------------------------------------------------------------------------------

  logic channel_row_valid [NumChannels];
  logic channel_row_ready [NumChannels];
  logic [ReaderWidth-1:0] channel_row_reader [NumChannels];
  mem_read_rsp_t channel_row [NumChannels];

  logic channel_done_valid [NumChannels];
  logic channel_done_ready [NumChannels];
  logic [WriterWidth-1:0] channel_done_writer [NumChannels];
  mem_write_rsp_t channel_done [NumChannels];

  for (genvar c = 0; c < NumChannels; c++) begin : gen_channel
    tmb_channel #(
      .NumReaders(NumReaders),
      .NumWriters(NumWriters),
      .PreferredReader(PreferredReader),
      .PreferredWriter(PreferredWriter),
      .ChannelBytesLog2(Cfg.ChannelBytesLog2)
    ) u_channel (
      .clk_i,
      .rst_ni,
      .read_req_valid_i(channel_read_valid[c]),
      .read_req_ready_o(channel_read_ready[c]),
      .read_req_i,
      .read_rsp_valid_o(channel_row_valid[c]),
      .read_rsp_ready_i(channel_row_ready[c]),
      .read_rsp_reader_o(channel_row_reader[c]),
      .read_rsp_o(channel_row[c]),
      .write_req_valid_i(channel_write_valid[c]),
      .write_req_ready_o(channel_write_ready[c]),
      .write_req_i,
      .write_data_valid_i(channel_data_valid[c]),
      .write_data_ready_o(channel_data_ready[c]),
      .write_data_i,
      .write_rsp_valid_o(channel_done_valid[c]),
      .write_rsp_ready_i(channel_done_ready[c]),
      .write_rsp_writer_o(channel_done_writer[c]),
      .write_rsp_o(channel_done[c]),
      .mem_ar_valid_o(mem_ar_valid_o[c]),
      .mem_ar_ready_i(mem_ar_ready_i[c]),
      .mem_ar_o(mem_ar_o[c]),
      .mem_r_valid_i(mem_r_valid_i[c]),
      .mem_r_ready_o(mem_r_ready_o[c]),
      .mem_r_i(mem_r_i[c]),
      .mem_aw_valid_o(mem_aw_valid_o[c]),
      .mem_aw_ready_i(mem_aw_ready_i[c]),
      .mem_aw_o(mem_aw_o[c]),
      .mem_w_valid_o(mem_w_valid_o[c]),
      .mem_w_ready_i(mem_w_ready_i[c]),
      .mem_w_o(mem_w_o[c]),
      .mem_b_valid_i(mem_b_valid_i[c]),
      .mem_b_ready_o(mem_b_ready_o[c]),
      .mem_b_error_i(mem_b_error_i[c])
    );
  end

  // ---------------------------------------------------------------------------------------------
  // Return networks
  // ---------------------------------------------------------------------------------------------

  tmb_fabric_return #(
    .T(mem_read_rsp_t),
    .NumChannels(NumChannels),
    .NumRequesters(NumReaders)
  ) u_rows (
    .clk_i,
    .rst_ni,
    .valid_i(channel_row_valid),
    .ready_o(channel_row_ready),
    .requester_i(channel_row_reader),
    .data_i(channel_row),
    .valid_o(read_rsp_valid_o),
    .ready_i(read_rsp_ready_i),
    .data_o(read_rsp_o)
  );

  tmb_fabric_return #(
    .T(mem_write_rsp_t),
    .NumChannels(NumChannels),
    .NumRequesters(NumWriters)
  ) u_responses (
    .clk_i,
    .rst_ni,
    .valid_i(channel_done_valid),
    .ready_o(channel_done_ready),
    .requester_i(channel_done_writer),
    .data_i(channel_done),
    .valid_o(write_rsp_valid_o),
    .ready_i(write_rsp_ready_i),
    .data_o(write_rsp_o)
  );

  `TMB_ASSERT_INIT(ChannelsArePowerOfTwo, (NumChannels & (NumChannels - 1)) == 0)
  `TMB_ASSERT_INIT(ChannelsFitAddress, Cfg.ChannelBytesLog2 + $clog2(NumChannels) <= CardAddrWidth)

  for (genvar r = 0; r < NumReaders; r++) begin : gen_unused
    logic unused_ok;
    assign unused_ok = &{1'b0, read_channel[r]};
  end

endmodule
