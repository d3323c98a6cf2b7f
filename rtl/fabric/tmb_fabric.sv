// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Fabric: N readers and M writers share C memory channels, and with Cfg.HostChannel one more behind
// them: the way to host memory (tmb_host_channel), for addresses in the host window.
//
// Cfg          NumChannels, ChannelBytesLog2, HostChannel, ChannelPolicy, DmaShare, Translator
// Requesters   readers and writers, which of them are ports of slots, and whose addresses may be striped
//
// Parts, each with a clean seam: stripe stages (bursts become pieces on one channel), router (which
// channel), one tmb_channel each (arbiter, order, AXI4), return networks (rows and write responses to
// their requesters). The channels' schedulers say whose requests may be chosen, their arbiters choose.
//
// Throughput: every channel reads one row and writes one row a cycle, all channels at once; every
// reader receives and every writer gives one row a cycle. Latency: request to memory 1 cycle (2 with a
// stripe stage), memory to requester 2 cycles. Ordering: as mem_read_rsp_t and mem_write_data_t say: per requester and
// channel in order, across channels none. A writer's data is pulled in the order of its requests.
//
// Back-pressure: requests wait at the requester; rows wait at the head of their channel.
//
// Why it cannot deadlock.
//  - Reads: a reader asks only for what it has room for, so every row that comes is taken, so every
//    channel drains.
//  - Writes: a writer's request is enqueued at its channel (u_turn) and, in the same cycle, in the
//    writer's own order (tmb_fabric_order). Look at the burst that was enqueued first of all that still have
//    rows to send (several of one cycle have different writers and channels: take any). Its channel
//    has nothing older, so it is at the head there; its writer has nothing older, so its rows are
//    next; and they are ready, because a write is requested only with all its rows. So it streams,
//    and by induction all do, for any number of writers and channels. It would be false if a
//    channel could take a writer's second request before the first was enqueued elsewhere; the
//    request port of a writer is one in-order queue, which excludes this.
//  - Neither kernel nor host software is waited for. The host channel takes the rows of a write as the
//    PCIe link does, which needs nothing of this card; a writer whose rows go there holds a turn at
//    a memory channel meanwhile.
//
// Source: FSRF section 5.3.

`include "tmb_assert.svh"

module tmb_fabric import tmb_pkg::*; import tmb_fabric_pkg::*; import tmb_schedule_pkg::*; #(
  parameter shell_cfg_t Cfg = DefaultShellCfg,
  parameter requesters_cfg_t Requesters = unscheduled(5, 4),
  localparam int unsigned NumReaders = Requesters.NumReaders,
  localparam int unsigned NumWriters = Requesters.NumWriters,
  localparam int unsigned NumSlots = Requesters.NumSlots,
  localparam int unsigned SlotElements = NumSlots == 0 ? 1 : NumSlots,
  localparam int unsigned MemoryChannels = Cfg.NumChannels,
  localparam int unsigned NumChannels = MemoryChannels + 32'(Cfg.HostChannel),
  localparam bit RowPieces = Cfg.Translator == TranslatorSegment
) (
  input  logic clk_i,
  input  logic rst_ni,

  input  logic stop_i,          // grant nothing any more
  output logic quiet_reads_o,   // nothing that was granted is unanswered, at any channel
  output logic quiet_writes_o,

  input  logic      managed_i,  // the schedulers are in use
  input  schedule_t schedule_i [SlotElements],

  input  logic            read_req_valid_i [NumReaders],
  output logic            read_req_ready_o [NumReaders],
  input  mem_req_t        read_req_i [NumReaders],
  input  stripe_t         read_stripe_i [NumReaders],  // of the request beside it
  output logic            read_rsp_valid_o [NumReaders],
  input  logic            read_rsp_ready_i [NumReaders],
  output mem_read_rsp_t   read_rsp_o [NumReaders],

  input  logic            write_req_valid_i [NumWriters],
  output logic            write_req_ready_o [NumWriters],
  input  mem_req_t        write_req_i [NumWriters],
  input  stripe_t         write_stripe_i [NumWriters],
  input  logic            write_data_valid_i [NumWriters],
  output logic            write_data_ready_o [NumWriters],
  input  mem_write_data_t write_data_i [NumWriters],
  output logic            write_rsp_valid_o [NumWriters],
  input  logic            write_rsp_ready_i [NumWriters],
  output mem_write_rsp_t  write_rsp_o [NumWriters],

  output logic            mem_ar_valid_o [NumChannels],
  input  logic            mem_ar_ready_i [NumChannels],
  output channel_ax_t     mem_ar_o [NumChannels],
  input  logic            mem_r_valid_i [NumChannels],
  output logic            mem_r_ready_o [NumChannels],
  input  channel_r_t      mem_r_i [NumChannels],
  output logic            mem_aw_valid_o [NumChannels],
  input  logic            mem_aw_ready_i [NumChannels],
  output channel_ax_t     mem_aw_o [NumChannels],
  output logic            mem_w_valid_o [NumChannels],
  input  logic            mem_w_ready_i [NumChannels],
  output mem_write_data_t mem_w_o [NumChannels],
  input  logic            mem_b_valid_i [NumChannels],
  output logic            mem_b_ready_o [NumChannels],
  input  logic            mem_b_error_i [NumChannels]
);

  localparam int unsigned PortsPerSlot = Requesters.PortsPerSlot;
  localparam channels_cfg_t Channels = '{
      NumChannels: MemoryChannels,
      ChannelBytesLog2: Cfg.ChannelBytesLog2,
      HostChannel: Cfg.HostChannel
  };
  localparam channel_cfg_t MemoryChannel = '{
      Policy: Cfg.ChannelPolicy,
      Share: Cfg.DmaShare,
      BytesLog2: Cfg.ChannelBytesLog2,
      MaxReads: DefaultChannelCfg.MaxReads,
      MaxWrites: DefaultChannelCfg.MaxWrites,
      MaxReadRows: DefaultChannelCfg.MaxReadRows
  };
  localparam channel_cfg_t HostChannel = '{
      Policy: Cfg.ChannelPolicy,
      Share: Cfg.DmaShare,
      BytesLog2: HostWindowBit,
      MaxReads: DefaultChannelCfg.MaxReads,
      MaxWrites: DefaultChannelCfg.MaxWrites,
      MaxReadRows: HostReadRows
  };

  localparam int unsigned ChannelWidth = NumChannels > 1 ? $clog2(NumChannels) : 1;
  localparam int unsigned ReaderWidth = NumReaders > 1 ? $clog2(NumReaders) : 1;
  localparam int unsigned WriterWidth = NumWriters > 1 ? $clog2(NumWriters) : 1;

  // Addresses in the host window are not striped.
  function automatic logic in_host_window(card_addr_t addr);
    return Cfg.HostChannel && addr[HostWindowBit];
  endfunction

  // Bursts that a writer may have enqueued before their rows are pulled.
  localparam int unsigned WriterOrderDepth = 8;

  // ---------------------------------------------------------------------------------------------
  // Rate limits
  // ---------------------------------------------------------------------------------------------

  localparam int unsigned NumLimited = NumSlots * PortsPerSlot;

  logic read_valid [NumReaders];
  logic read_ready [NumReaders];
  logic write_enters [NumWriters];
  logic write_taken [NumWriters];

  if (NumSlots == 0) begin : gen_unscheduled
    logic unused_schedule;
    assign unused_schedule = &{1'b0, managed_i, schedule_i[0]};
  end
  for (genvar s = 0; s < NumSlots; s++) begin : gen_limit
    localparam int unsigned First = s * PortsPerSlot;
    localparam int unsigned Last = First + PortsPerSlot - 1;
    burst_len_t read_len [PortsPerSlot];
    burst_len_t write_len [PortsPerSlot];
    for (genvar p = 0; p < PortsPerSlot; p++) begin : gen_len
      assign read_len[p] = read_req_i[First+p].len;
      assign write_len[p] = write_req_i[First+p].len;
    end

    tmb_schedule_limit #(
      .NumRequests(PortsPerSlot)
    ) u_reads (
      .clk_i,
      .rst_ni,
      .limit_i(schedule_i[s].limit),
      .in_valid_i(read_req_valid_i[First:Last]),
      .in_ready_o(read_req_ready_o[First:Last]),
      .len_i(read_len),
      .out_valid_o(read_valid[First:Last]),
      .out_ready_i(read_ready[First:Last])
    );
    tmb_schedule_limit #(
      .NumRequests(PortsPerSlot)
    ) u_writes (
      .clk_i,
      .rst_ni,
      .limit_i(schedule_i[s].limit),
      .in_valid_i(write_req_valid_i[First:Last]),
      .in_ready_o(write_req_ready_o[First:Last]),
      .len_i(write_len),
      .out_valid_o(write_enters[First:Last]),
      .out_ready_i(write_taken[First:Last])
    );
  end
  for (genvar r = NumLimited; r < NumReaders; r++) begin : gen_unlimited_reader
    assign read_valid[r] = read_req_valid_i[r];
    assign read_req_ready_o[r] = read_ready[r];
  end
  for (genvar w = NumLimited; w < NumWriters; w++) begin : gen_unlimited_writer
    assign write_enters[w] = write_req_valid_i[w];
    assign write_req_ready_o[w] = write_taken[w];
  end

  // ---------------------------------------------------------------------------------------------
  // Stripe stages
  // ---------------------------------------------------------------------------------------------

  logic read_piece_valid [NumReaders];
  logic read_piece_ready [NumReaders];
  piece_t read_piece [NumReaders];
  logic row_valid [NumReaders];
  piece_row_t row [NumReaders];

  for (genvar r = 0; r < NumReaders; r++) begin : gen_reader
    logic is_final;

    if (MemoryChannels > 1 && Requesters.StripedReaders[r]) begin : gen_striped
      logic unused_error;
      tmb_fabric_stripe #(
        .NumChannels(MemoryChannels),
        .ChannelBytesLog2(Cfg.ChannelBytesLog2),
        .RowPieces(RowPieces && r < NumSlots * PortsPerSlot)
      ) u_stripe (
        .clk_i,
        .rst_ni,
        .req_valid_i(read_valid[r]),
        .req_ready_o(read_ready[r]),
        .req_i(read_req_i[r]),
        .stripe_i(in_host_window(read_req_i[r].addr) ? '0 : read_stripe_i[r]),
        .piece_valid_o(read_piece_valid[r]),
        .piece_ready_i(read_piece_ready[r]),
        .piece_o(read_piece[r]),
        .done_valid_i(row_valid[r] && read_rsp_ready_i[r] && row[r].rsp.last),
        .done_cut_i(row[r].cut),
        .done_error_i(1'b0),  // each row tells of itself
        .final_o(is_final),
        .error_o(unused_error)
      );
    end else begin : gen_plain
      assign read_piece_valid[r] = read_valid[r];
      assign read_ready[r] = read_piece_ready[r];
      assign read_piece[r] = '{
          addr: read_req_i[r].addr,
          len: read_req_i[r].len,
          tag: read_req_i[r].tag,
          index: '0,
          cut: '0
      };
      assign is_final = 1'b1;

      logic unused_ok;
      assign unused_ok = &{1'b0, read_stripe_i[r], row[r].cut};
    end

    // The requester of the burst sees one last row.
    assign read_rsp_valid_o[r] = row_valid[r];
    always_comb begin
      read_rsp_o[r] = row[r].rsp;
      read_rsp_o[r].last = row[r].rsp.last && is_final;
    end
  end

  logic write_piece_valid [NumWriters];
  logic write_piece_ready [NumWriters];
  piece_t write_piece [NumWriters];
  logic done_valid [NumWriters];
  logic done_ready [NumWriters];
  piece_done_t done [NumWriters];

  for (genvar w = 0; w < NumWriters; w++) begin : gen_writer
    if (MemoryChannels > 1 && Requesters.StripedWriters[w]) begin : gen_striped
      logic is_final, failed;

      tmb_fabric_stripe #(
        .NumChannels(MemoryChannels),
        .ChannelBytesLog2(Cfg.ChannelBytesLog2),
        .RowPieces(RowPieces && w < NumSlots * PortsPerSlot)
      ) u_stripe (
        .clk_i,
        .rst_ni,
        .req_valid_i(write_enters[w]),
        .req_ready_o(write_taken[w]),
        .req_i(write_req_i[w]),
        .stripe_i(in_host_window(write_req_i[w].addr) ? '0 : write_stripe_i[w]),
        .piece_valid_o(write_piece_valid[w]),
        .piece_ready_i(write_piece_ready[w]),
        .piece_o(write_piece[w]),
        .done_valid_i(done_valid[w] && done_ready[w]),
        .done_cut_i(done[w].cut),
        .done_error_i(done[w].rsp.error),
        .final_o(is_final),
        .error_o(failed)
      );

      // The responses of a burst become one.
      assign done_ready[w] = write_rsp_ready_i[w] || !is_final;
      assign write_rsp_valid_o[w] = done_valid[w] && is_final;
      assign write_rsp_o[w] = '{tag: done[w].rsp.tag, error: failed};
    end else begin : gen_plain
      assign write_piece_valid[w] = write_enters[w];
      assign write_taken[w] = write_piece_ready[w];
      assign write_piece[w] = '{
          addr: write_req_i[w].addr,
          len: write_req_i[w].len,
          tag: write_req_i[w].tag,
          index: '0,
          cut: '0
      };
      assign done_ready[w] = write_rsp_ready_i[w];
      assign write_rsp_valid_o[w] = done_valid[w];
      assign write_rsp_o[w] = done[w].rsp;

      logic unused_ok;
      assign unused_ok = &{1'b0, write_stripe_i[w], done[w].cut};
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Router
  // ---------------------------------------------------------------------------------------------

  logic [NumReaders-1:0] channel_read_valid [NumChannels];
  logic [NumReaders-1:0] channel_read_ready [NumChannels];
  logic [ChannelWidth-1:0] read_channel [NumReaders];

  tmb_fabric_router #(
    .NumRequesters(NumReaders),
    .Cfg(Channels)
  ) u_read_router (
    .valid_i(read_piece_valid),
    .ready_o(read_piece_ready),
    .req_i(read_piece),
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
    .Cfg(Channels)
  ) u_write_router (
    .valid_i(write_valid),
    .ready_o(write_ready),
    .req_i(write_piece),
    .channel_o(write_channel),
    .channel_valid_o(channel_write_valid),
    .channel_ready_i(channel_write_ready)
  );

  // ---------------------------------------------------------------------------------------------
  // Write data: each writer's rows go where its pieces went, in their order.
  // ---------------------------------------------------------------------------------------------

  logic [NumWriters-1:0] channel_data_valid [NumChannels];
  logic [NumWriters-1:0] channel_data_ready [NumChannels];

  mem_write_data_t write_row [NumWriters];

  for (genvar w = 0; w < NumWriters; w++) begin : gen_data
    logic order_ready, order_valid, sent, piece_ends;
    logic [ChannelWidth-1:0] channel;

    assign write_valid[w] = write_piece_valid[w] && order_ready;
    assign write_piece_ready[w] = write_ready[w] && order_ready;

    tmb_fabric_order #(
      .NumChannels(NumChannels),
      .Depth(WriterOrderDepth)
    ) u_order (
      .clk_i,
      .rst_ni,
      .piece_valid_i(write_piece_valid[w] && write_ready[w]),
      .piece_ready_o(order_ready),
      .piece_channel_i(write_channel[w]),
      .piece_len_i(write_piece[w].len),
      .row_valid_o(order_valid),
      .row_channel_o(channel),
      .row_last_o(piece_ends),
      .row_leaves_i(sent)
    );

    assign sent = write_data_valid_i[w] && write_data_ready_o[w];

    assign write_row[w] = '{
        row: write_data_i[w].row,
        strobe: write_data_i[w].strobe,
        last: piece_ends
    };
    assign write_data_ready_o[w] = order_valid && channel_data_ready[channel][w];
    for (genvar c = 0; c < NumChannels; c++) begin : gen_data_valid
      assign channel_data_valid[c][w] =
          write_data_valid_i[w] && order_valid && channel == ChannelWidth'(c);
    end

    // The end of a burst is the end of a piece.
    `TMB_ASSERT(LastRowsEndPieces, !(sent && write_data_i[w].last) || piece_ends)
  end

  // ---------------------------------------------------------------------------------------------
  // Channels
  // ---------------------------------------------------------------------------------------------

  logic channel_row_valid [NumChannels];
  logic channel_row_ready [NumChannels];
  logic [ReaderWidth-1:0] channel_row_reader [NumChannels];
  piece_row_t channel_row [NumChannels];

  logic channel_done_valid [NumChannels];
  logic channel_done_ready [NumChannels];
  logic [WriterWidth-1:0] channel_done_writer [NumChannels];
  piece_done_t channel_done [NumChannels];

  logic [NumChannels-1:0] quiet_reads, quiet_writes;
  assign quiet_reads_o = &quiet_reads;
  assign quiet_writes_o = &quiet_writes;

  for (genvar c = 0; c < NumChannels; c++) begin : gen_channel
    tmb_channel #(
      .Requesters(Requesters),
      .Cfg(c < MemoryChannels ? MemoryChannel : HostChannel)
    ) u_channel (
      .clk_i,
      .rst_ni,
      .stop_i,
      .quiet_reads_o(quiet_reads[c]),
      .quiet_writes_o(quiet_writes[c]),
      .managed_i,
      .schedule_i,
      .read_req_valid_i(channel_read_valid[c]),
      .read_req_ready_o(channel_read_ready[c]),
      .read_req_i(read_piece),
      .read_rsp_valid_o(channel_row_valid[c]),
      .read_rsp_ready_i(channel_row_ready[c]),
      .read_rsp_reader_o(channel_row_reader[c]),
      .read_rsp_o(channel_row[c]),
      .write_req_valid_i(channel_write_valid[c]),
      .write_req_ready_o(channel_write_ready[c]),
      .write_req_i(write_piece),
      .write_data_valid_i(channel_data_valid[c]),
      .write_data_ready_o(channel_data_ready[c]),
      .write_data_i(write_row),
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
    .T(piece_row_t),
    .NumChannels(NumChannels),
    .NumRequesters(NumReaders)
  ) u_rows (
    .clk_i,
    .rst_ni,
    .valid_i(channel_row_valid),
    .ready_o(channel_row_ready),
    .requester_i(channel_row_reader),
    .data_i(channel_row),
    .valid_o(row_valid),
    .ready_i(read_rsp_ready_i),
    .data_o(row)
  );

  tmb_fabric_return #(
    .T(piece_done_t),
    .NumChannels(NumChannels),
    .NumRequesters(NumWriters)
  ) u_responses (
    .clk_i,
    .rst_ni,
    .valid_i(channel_done_valid),
    .ready_o(channel_done_ready),
    .requester_i(channel_done_writer),
    .data_i(channel_done),
    .valid_o(done_valid),
    .ready_i(done_ready),
    .data_o(done)
  );

  `TMB_ASSERT_INIT(RequestersFitSet, NumReaders >= 1 && NumReaders <= MaxRequesters
      && NumWriters >= 1 && NumWriters <= MaxRequesters)
  `TMB_ASSERT_INIT(SlotsAreRequesters, NumLimited <= NumReaders && NumLimited <= NumWriters)

  for (genvar r = 0; r < NumReaders; r++) begin : gen_unused
    logic unused_ok;
    assign unused_ok = &{1'b0, read_channel[r]};
  end

endmodule
