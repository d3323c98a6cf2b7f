// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// One memory channel: arbitrates requests, drives the memory controller, sends responses back.
//
// Requesters   of the fabric (requesters_cfg_t). With ports of slots among them a scheduler before each
//              arbiter (tmb_schedule)
// Cfg          of the channel (channel_cfg_t)
//
// A controller answers in order, so a read waits for all rows asked before. Cfg.MaxReadRows keeps
// that short without letting the memory idle: what does not fit waits before the arbiter, where a
// walk of the page table, or another slot, goes in turn and not at the end.
//
// All requests leave with one ID, so the controller answers in order, and a short queue of "who
// asked" routes the answers: {reader, tag, place} a read, {writer, tag} a write. Requesters get answers of
// several channels at the same time, without reordering logic here.
//
// stop_i: nothing is granted any more. quiet_*_o: nothing that was granted is unanswered, of reads, of writes.
//
// Throughput: one request a cycle each for reads and writes, one row read and one row written a
// cycle; the writer of the next burst is known while the present one streams, so bursts follow
// each other without a bubble. Latency: request 1 cycle, row or response 1 cycle to the return
// network. Ordering: requests leave in the order of their grants; data follows in that order.
// Write data may be offered to the controller before its address has been taken.
//
// Back-pressure: all signals of the memory side are registered both ways. A request is granted only
// when the address register and the order queues have room.
// No deadlock: see tmb_fabric.
//
// Source: FSRF section 5.3.

`include "tmb_assert.svh"

module tmb_channel import tmb_pkg::*; import tmb_fabric_pkg::*; import tmb_schedule_pkg::*; #(
  parameter requesters_cfg_t Requesters = unscheduled(2, 2),
  parameter channel_cfg_t Cfg = DefaultChannelCfg,
  localparam int unsigned NumReaders = Requesters.NumReaders,
  localparam int unsigned NumWriters = Requesters.NumWriters,
  localparam int unsigned NumSlots = Requesters.NumSlots,
  localparam int unsigned SlotElements = NumSlots == 0 ? 1 : NumSlots,
  localparam int unsigned ReaderWidth = NumReaders > 1 ? $clog2(NumReaders) : 1,
  localparam int unsigned WriterWidth = NumWriters > 1 ? $clog2(NumWriters) : 1
) (
  input  logic clk_i,
  input  logic rst_ni,

  input  logic stop_i,
  output logic quiet_reads_o,
  output logic quiet_writes_o,

  input  logic      managed_i,                  // the schedulers are in use
  input  schedule_t schedule_i [SlotElements],

  // Read requests for this channel, one bit a reader.
  input  logic [NumReaders-1:0] read_req_valid_i,
  output logic [NumReaders-1:0] read_req_ready_o,
  input  piece_t                read_req_i [NumReaders],
  // Rows, and whom they are for.
  output logic                   read_rsp_valid_o,
  input  logic                   read_rsp_ready_i,
  output logic [ReaderWidth-1:0] read_rsp_reader_o,
  output piece_row_t             read_rsp_o,

  // Write requests for this channel, one bit a writer.
  input  logic [NumWriters-1:0] write_req_valid_i,
  output logic [NumWriters-1:0] write_req_ready_o,
  input  piece_t                write_req_i [NumWriters],
  // Rows; bit w of the valid vector only while the writer's next row is for this channel.
  input  logic [NumWriters-1:0] write_data_valid_i,
  output logic [NumWriters-1:0] write_data_ready_o,
  input  mem_write_data_t       write_data_i [NumWriters],
  // Write responses, and whom they are for.
  output logic                   write_rsp_valid_o,
  input  logic                   write_rsp_ready_i,
  output logic [WriterWidth-1:0] write_rsp_writer_o,
  output piece_done_t            write_rsp_o,

  // Memory controller.
  output logic            mem_ar_valid_o,
  input  logic            mem_ar_ready_i,
  output channel_ax_t     mem_ar_o,
  input  logic            mem_r_valid_i,
  output logic            mem_r_ready_o,
  input  channel_r_t      mem_r_i,
  output logic            mem_aw_valid_o,
  input  logic            mem_aw_ready_i,
  output channel_ax_t     mem_aw_o,
  output logic            mem_w_valid_o,
  input  logic            mem_w_ready_i,
  output mem_write_data_t mem_w_o,
  input  logic            mem_b_valid_i,
  output logic            mem_b_ready_o,
  input  logic            mem_b_error_i
);

  // Writers whose turn is decided ahead of the one that streams.
  localparam int unsigned TurnDepth = 4;

  typedef logic [ReaderWidth-1:0] reader_t;
  typedef logic [WriterWidth-1:0] writer_t;

  typedef struct packed {
    reader_t    reader;
    mem_tag_t   tag;
    burst_len_t index;  // of the piece's first row in its burst
    cut_t       cut;
    logic       low;    // counts against the bound of lower levels
  } read_order_t;

  typedef struct packed {
    writer_t  writer;
    mem_tag_t tag;
    cut_t     cut;
  } write_order_t;

  typedef struct packed {
    writer_t writer;
    logic    low;
    waiting_t level;  // of its slot
  } turn_t;

  // ---------------------------------------------------------------------------------------------
  // Reads
  // ---------------------------------------------------------------------------------------------

  logic read_any, read_accept, read_room, read_order_ready, ar_ready;
  reader_t read_winner;
  logic [NumReaders-1:0] read_candidate, read_grant;
  logic read_low, read_low_done, write_low, write_low_done;
  waiting_t write_level;

  tmb_arbiter #(
    .NumRequests(NumReaders),
    .Cfg('{Policy: Cfg.Policy, Preferred: Requesters.PreferredReader, Share: Cfg.Share})
  ) u_read_arbiter (
    .clk_i,
    .rst_ni,
    .request_i(read_candidate),
    .accept_i(read_accept),
    .valid_o(read_any),
    .grant_o(read_grant),
    .index_o(read_winner)
  );

  logic rows_left_q, granted;
  assign read_room = read_order_ready && rows_left_q && !stop_i;
  assign read_accept = ar_ready && read_room;
  assign granted = read_any && read_accept;
  assign read_req_ready_o = read_accept ? read_grant : '0;

  piece_t read_won;
  assign read_won = read_req_i[read_winner];

  tmb_spill_register #(
    .T(channel_ax_t)
  ) u_ar (
    .clk_i,
    .rst_ni,
    .in_valid_i(read_any && read_room),
    .in_ready_o(ar_ready),
    .in_data_i('{addr: 64'(read_won.addr[Cfg.BytesLog2-1:0]), len: 8'(read_won.len)}),
    .out_valid_o(mem_ar_valid_o),
    .out_ready_i(mem_ar_ready_i),
    .out_data_o(mem_ar_o)
  );

  logic r_valid, r_ready, read_order_valid;
  channel_r_t r;
  read_order_t read_head;
  burst_len_t row_index_q;

  tmb_fifo #(
    .T(read_order_t),
    .Depth(Cfg.MaxReads)
  ) u_read_order (
    .clk_i,
    .rst_ni,
    .in_valid_i(granted),
    .in_ready_o(read_order_ready),
    .in_data_i('{
        reader: read_winner,
        tag: read_won.tag,
        index: read_won.index,
        cut: read_won.cut,
        low: read_low
    }),
    .out_valid_o(read_order_valid),
    .out_ready_i(r_valid && r_ready && r.last),
    .out_data_o(read_head)
  );

  tmb_spill_register #(
    .T(channel_r_t)
  ) u_r (
    .clk_i,
    .rst_ni,
    .in_valid_i(mem_r_valid_i),
    .in_ready_o(mem_r_ready_o),
    .in_data_i(mem_r_i),
    .out_valid_o(r_valid),
    .out_ready_i(r_ready),
    .out_data_o(r)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) row_index_q <= '0;
    else if (r_valid && r_ready) row_index_q <= r.last ? '0 : burst_len_t'(row_index_q + 1'b1);
  end

  // Rows asked for and not returned: at most Cfg.MaxReadRows and a burst. They are added a cycle after
  // the grant, which until then counts as the longest burst: its length comes late.
  localparam int unsigned RowsWidth = $clog2(Cfg.MaxReadRows + MaxBurstRows + 1);
  typedef logic [RowsWidth-1:0] rows_t;
  rows_t rows_q, rows_d;
  logic granted_q;
  burst_len_t granted_len_q;

  always_comb begin
    rows_d = rows_q;
    if (granted_q) rows_d = rows_d + rows_t'(granted_len_q) + rows_t'(1);
    if (r_valid && r_ready) rows_d = rows_d - rows_t'(1);
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      rows_q <= '0;
      rows_left_q <= 1'b1;
      granted_q <= 1'b0;
    end else begin
      rows_q <= rows_d;
      // Both compares in parallel with the grant, which comes late.
      rows_left_q <= granted ? rows_d < rows_t'(Cfg.MaxReadRows - MaxBurstRows) : rows_d < rows_t'(Cfg.MaxReadRows);
      granted_q <= granted;
    end
  end
  always_ff @(posedge clk_i) begin
    if (granted) granted_len_q <= read_won.len;
  end

  assign r_ready = read_rsp_ready_i;
  assign read_low_done = r_valid && r_ready && read_head.low;
  assign read_rsp_valid_o = r_valid;
  assign read_rsp_reader_o = read_head.reader;
  assign read_rsp_o = '{
      rsp: '{
          row: r.row,
          tag: read_head.tag,
          index: burst_len_t'(read_head.index + row_index_q),
          last: r.last,
          error: r.error
      },
      cut: read_head.cut
  };

  // ---------------------------------------------------------------------------------------------
  // Writes
  // ---------------------------------------------------------------------------------------------

  logic write_any, write_accept, write_room, write_order_ready, turn_ready, aw_ready;
  writer_t write_winner;
  logic [NumWriters-1:0] write_candidate, write_grant;

  tmb_arbiter #(
    .NumRequests(NumWriters),
    .Cfg('{Policy: Cfg.Policy, Preferred: Requesters.PreferredWriter, Share: Cfg.Share})
  ) u_write_arbiter (
    .clk_i,
    .rst_ni,
    .request_i(write_candidate),
    .accept_i(write_accept),
    .valid_o(write_any),
    .grant_o(write_grant),
    .index_o(write_winner)
  );

  assign write_room = write_order_ready && turn_ready && !stop_i;
  assign write_accept = aw_ready && write_room;
  assign write_req_ready_o = write_accept ? write_grant : '0;

  piece_t write_won;
  assign write_won = write_req_i[write_winner];

  tmb_spill_register #(
    .T(channel_ax_t)
  ) u_aw (
    .clk_i,
    .rst_ni,
    .in_valid_i(write_any && write_room),
    .in_ready_o(aw_ready),
    .in_data_i('{addr: 64'(write_won.addr[Cfg.BytesLog2-1:0]), len: 8'(write_won.len)}),
    .out_valid_o(mem_aw_valid_o),
    .out_ready_i(mem_aw_ready_i),
    .out_data_o(mem_aw_o)
  );

  // Whose rows come next.
  logic turn_valid, turn_done, w_valid, w_ready;
  turn_t next_turn;
  writer_t turn;
  assign turn = next_turn.writer;

  tmb_fifo #(
    .T(turn_t),
    .Depth(TurnDepth)
  ) u_turn (
    .clk_i,
    .rst_ni,
    .in_valid_i(write_any && write_accept),
    .in_ready_o(turn_ready),
    .in_data_i('{writer: write_winner, low: write_low, level: write_level}),
    .out_valid_o(turn_valid),
    .out_ready_i(turn_done),
    .out_data_o(next_turn)
  );

  assign w_valid = turn_valid && write_data_valid_i[turn];
  assign write_low_done = w_valid && w_ready && next_turn.low;
  assign turn_done = w_valid && w_ready && write_data_i[turn].last;
  assign write_data_ready_o = (turn_valid && w_ready) ? NumWriters'(1) << turn : '0;

  tmb_spill_register #(
    .T(mem_write_data_t)
  ) u_w (
    .clk_i,
    .rst_ni,
    .in_valid_i(w_valid),
    .in_ready_o(w_ready),
    .in_data_i(write_data_i[turn]),
    .out_valid_o(mem_w_valid_o),
    .out_ready_i(mem_w_ready_i),
    .out_data_o(mem_w_o)
  );

  // Whose response comes next.
  logic b_valid, b_ready, b_error, write_order_valid;
  write_order_t write_head;

  tmb_fifo #(
    .T(write_order_t),
    .Depth(Cfg.MaxWrites)
  ) u_write_order (
    .clk_i,
    .rst_ni,
    .in_valid_i(write_any && write_accept),
    .in_ready_o(write_order_ready),
    .in_data_i('{writer: write_winner, tag: write_won.tag, cut: write_won.cut}),
    .out_valid_o(write_order_valid),
    .out_ready_i(b_valid && b_ready),
    .out_data_o(write_head)
  );

  tmb_spill_register #(
    .T(logic)
  ) u_b (
    .clk_i,
    .rst_ni,
    .in_valid_i(mem_b_valid_i),
    .in_ready_o(mem_b_ready_o),
    .in_data_i(mem_b_error_i),
    .out_valid_o(b_valid),
    .out_ready_i(b_ready),
    .out_data_o(b_error)
  );

  assign b_ready = write_rsp_ready_i;
  assign write_rsp_valid_o = b_valid;
  assign write_rsp_writer_o = write_head.writer;
  assign write_rsp_o = '{rsp: '{tag: write_head.tag, error: b_error}, cut: write_head.cut};

  // ---------------------------------------------------------------------------------------------
  // Schedulers, one a direction
  // ---------------------------------------------------------------------------------------------

  if (NumSlots == 0) begin : gen_unscheduled
    assign read_candidate = read_req_valid_i;
    assign write_candidate = write_req_valid_i;
    assign read_low = 1'b0;
    assign write_low = 1'b0;
    assign write_level = '0;

    logic unused_schedule;
    assign unused_schedule =
        &{1'b0, managed_i, schedule_i[0], read_low_done, write_low_done, next_turn.level};
  end else begin : gen_scheduled
    peer_t reads, writes;
    level_t unused_level, level;
    waiting_t under_way;

    // The rows of a write go at the speed of the memory, so a write that has been granted is still
    // before all lower ones until it has sent them.
    assign write_level = '{valid: managed_i && 32'(write_winner) < NumSlots * Requesters.PortsPerSlot, level: level};
    assign under_way = '{valid: turn_valid && next_turn.level.valid, level: next_turn.level.level};

    tmb_schedule #(
      .NumRequests(NumReaders),
      .NumSlots(NumSlots),
      .RequestsPerSlot(Requesters.PortsPerSlot)
    ) u_read_schedule (
      .clk_i,
      .rst_ni,
      .managed_i,
      .schedule_i,
      .request_i(read_req_valid_i),
      .candidate_o(read_candidate),
      .accept_i(granted),
      .grant_i(read_grant),
      .len_i(read_won.len),
      .low_o(read_low),
      .low_done_i(read_low_done),
      .level_o(unused_level),
      .under_way_i('0),
      .peer_o(reads),
      .peer_i(writes)
    );

    tmb_schedule #(
      .NumRequests(NumWriters),
      .NumSlots(NumSlots),
      .RequestsPerSlot(Requesters.PortsPerSlot)
    ) u_write_schedule (
      .clk_i,
      .rst_ni,
      .managed_i,
      .schedule_i,
      .request_i(write_req_valid_i),
      .candidate_o(write_candidate),
      .accept_i(write_any && write_accept),
      .grant_i(write_grant),
      .len_i(write_won.len),
      .low_o(write_low),
      .low_done_i(write_low_done),
      .level_o(level),
      .under_way_i(under_way),
      .peer_o(writes),
      .peer_i(reads)
    );
  end

  assign quiet_reads_o = !read_order_valid;
  assign quiet_writes_o = !write_order_valid;

  // The order queues are asked for nothing that was not requested.
  `TMB_ASSERT(RowWasAskedFor, !r_valid || read_order_valid)
  `TMB_ASSERT(ResponseWasAskedFor, !b_valid || write_order_valid)
  `TMB_ASSERT(RowsEndInTime, !(r_valid && r_ready && row_index_q == '1) || r.last)
  `TMB_ASSERT(ReadRowsAreCounted, !r_valid || rows_q != '0)
  `TMB_ASSERT_INIT(RowsForTwoBursts, Cfg.MaxReadRows >= 2 * MaxBurstRows)
  `TMB_ASSERT_INIT(BurstsMayBeOutstanding, Cfg.MaxReads >= 1 && Cfg.MaxWrites >= 1)
  `TMB_ASSERT_INIT(OffsetFitsAddress, Cfg.BytesLog2 <= CardAddrWidth)

  logic unused_ok;
  assign unused_ok = &{1'b0, read_won, write_won};

endmodule
