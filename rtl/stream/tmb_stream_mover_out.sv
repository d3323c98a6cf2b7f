// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Mover out of the kernel: takes a packet and writes it to a range of virtual memory through a port of
// the slot. The range begins at any byte, and beats bring any number of bytes.
//
// The transfer ends with the beat that carries TLAST, or when the range is full. Bytes of a beat
// beyond a full range stay here for the next transfer: no byte is lost. A full range whose last byte
// is also the last of its packet ends with TLAST. A transfer that is stopped ends as if its range were full,
// two cycles later: what has come is written, what comes stays for the next transfer.
//
// It is a row packer, and bursts whose length is known before they begin: rows gather until a 4 KiB
// block or the transfer ends. The port behind it translates, parks and writes.
//
// BufferRows   rows that gather; at least two bursts (128) for full throughput
//
// Throughput: one beat of up to 64 bytes a cycle, at any alignment. Latency: 3 cycles from a beat to its
// row in the buffer. Ordering: bytes in the order of the stream. Back-pressure: a port that takes no
// rows fills the buffer, then TREADY falls. A kernel that sends nothing holds nothing but what it has
// sent.
// No deadlock: a burst is offered to the port with all its rows here, and waits for nothing else.
//
// The sender lets a packet begin only while begin_o is high: then no beat of a packet that no transfer
// has asked for lies here, and the next packet may as well go elsewhere. Only a packet that begins while its
// transfer is stopped waits here for the next one.
//
// A beat whose TKEEP has a hole ends the transfer (MoverKeep); its bytes are dropped. Done means: every
// row has its write response. Reset (the slot's, too) forgets the transfer and all beats; there is no
// answer to it then.
//
// Source: vFPIO section 4.1.

`include "tmb_assert.svh"

module tmb_stream_mover_out
  import tmb_pkg::*;
  import tmb_stream_pkg::*;
#(
  parameter int unsigned BufferRows = 128
) (
  input  logic           clk_i,
  input  logic           rst_ni,
  // host
  input  logic           start_i,       // begins the command, unless one is under way
  input  mover_command_t command_i,
  output mover_state_t   state_o,
  output logic           done_valid_o,  // stays until it is taken
  input  logic           done_ready_i,
  output mover_done_t    done_o,
  // port
  output logic           aw_valid_o,
  input  logic           aw_ready_i,
  output axi_ax_t        aw_o,
  output logic           w_valid_o,
  input  logic           w_ready_i,
  output axi_w_t         w_o,
  input  logic           b_valid_i,
  output logic           b_ready_o,
  input  axi_b_t         b_i,
  // kernel
  output logic           begin_o,       // a transfer waits for a packet, and has none of it
  input  logic           t_valid_i,
  output logic           t_ready_o,
  input  stream_beat_t   t_i
);

  localparam int unsigned RowNumberWidth = VirtAddrWidth - RowOffsetWidth;
  // Bursts between their last row and their first row out; their rows are in the buffer.
  localparam int unsigned BurstDepth = 4;
  typedef logic [RowNumberWidth-1:0] row_number_t;
  typedef logic [RowOffsetWidth-1:0] row_offset_t;

  // ---------------------------------------------------------------------------------------------
  // Beats in: counted
  // ---------------------------------------------------------------------------------------------

  typedef struct packed {
    row_t        data;
    beat_count_t count;
    logic        last;
    logic        holes;
  } counted_t;

  logic raw_valid, raw_ready, beat_valid, beat_ready;
  stream_beat_t raw;
  counted_t counted, beat;

  tmb_spill_register #(
    .T(stream_beat_t)
  ) i_raw (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .in_valid_i (t_valid_i),
    .in_ready_o (t_ready_o),
    .in_data_i  (t_i),
    .out_valid_o(raw_valid),
    .out_ready_i(raw_ready),
    .out_data_o (raw)
  );

  always_comb begin
    counted = '{data: raw.data, count: '0, last: raw.last, holes: 1'b0};
    for (int unsigned i = 0; i < RowBytes; i++) begin
      if (raw.keep[i] && (i == RowBytes - 1 || !raw.keep[(i+1)%RowBytes])) begin
        counted.count |= beat_count_t'(i + 1);
      end
      if (i > 0 && raw.keep[i] && !raw.keep[(i+RowBytes-1)%RowBytes]) counted.holes = 1'b1;
    end
  end

  tmb_spill_register #(
    .T(counted_t)
  ) i_counted (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .in_valid_i (raw_valid),
    .in_ready_o (raw_ready),
    .in_data_i  (counted),
    .out_valid_o(beat_valid),
    .out_ready_i(beat_ready),
    .out_data_o (beat)
  );

  // A transfer takes one packet's end: behind it none begins before the next transfer.
  logic active_q, last_inside_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) last_inside_q <= 1'b0;
    else if (t_valid_i && t_ready_o && t_i.last) last_inside_q <= 1'b1;
    else if (beat_valid && beat_ready && beat.last) last_inside_q <= 1'b0;
  end

  assign begin_o = active_q && !last_inside_q;

  // ---------------------------------------------------------------------------------------------
  // Beats to rows
  // ---------------------------------------------------------------------------------------------

  // active: beats are taken. flush: the rest of the last beat is still to become a row.
  // stop: the transfer ends in this cycle, in which no beat is taken.
  logic busy_q, flush_q, last_q, holes_q, stop_q, start;
  virt_addr_t pos_q;
  byte_count_t left_q, moved_q;
  beat_count_t skip_q;  // bytes of the beat that went to the transfer before
  row_t part_q;
  row_strobe_t part_strobe_q;

  assign start = start_i && !busy_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) stop_q <= 1'b0;
    else stop_q <= command_i.stop && active_q;
  end

  row_offset_t offset, turn;
  beat_count_t have, taken, row_end;
  logic rows_ready, accept, whole, ends, completes, rest;
  row_t turned, merged;
  row_strobe_t here, merged_strobe, beyond;

  assign offset = pos_q[RowOffsetWidth-1:0];
  assign have = beat.holes ? '0 : beat.count - skip_q;
  assign taken = (left_q < byte_count_t'(have)) ? beat_count_t'(left_q) : have;
  assign whole = taken == have;
  assign row_end = beat_count_t'(offset) + taken;
  assign completes = row_end[RowOffsetWidth];
  assign rest = completes && row_end[RowOffsetWidth-1:0] != '0;
  assign ends = left_q == byte_count_t'(taken) || (whole && beat.last) || beat.holes;
  assign accept = active_q && !stop_q && beat_valid && rows_ready;
  assign beat_ready = accept && whole;

  // The beat turned so that its next byte comes to lie at the offset.
  assign turn = offset - row_offset_t'(skip_q);
  assign turned = row_t'({beat.data, beat.data} >> {(RowOffsetWidth + 1)'(RowBytes)
      - (RowOffsetWidth + 1)'(turn), 3'b000});

  assign here = first_bytes(completes ? beat_count_t'(RowBytes) : row_end)
      & ~first_bytes(beat_count_t'(offset));
  assign beyond = completes ? first_bytes(beat_count_t'(row_end[RowOffsetWidth-1:0])) : '0;
  assign merged_strobe = part_strobe_q | here;

  always_comb begin
    merged = part_q;
    for (int unsigned i = 0; i < RowBytes; i++) begin
      if (here[i]) merged[8*i+:8] = turned[8*i+:8];
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      flush_q <= 1'b0;
      skip_q <= '0;
      part_strobe_q <= '0;
      moved_q <= '0;
      last_q <= 1'b0;
      holes_q <= 1'b0;
    end else if (start) begin
      active_q <= command_i.bytes != '0;
      part_strobe_q <= '0;
      moved_q <= '0;
      last_q <= 1'b0;
      holes_q <= 1'b0;
    end else if (accept) begin
      active_q <= !ends;
      flush_q <= ends && rest;
      skip_q <= whole ? '0 : skip_q + taken;
      part_strobe_q <= completes ? beyond : (ends ? '0 : merged_strobe);
      moved_q <= moved_q + byte_count_t'(taken);
      last_q <= whole && beat.last && !beat.holes;
      holes_q <= beat.holes;
    end else if (stop_q && active_q) begin
      active_q <= 1'b0;
      flush_q <= part_strobe_q != '0;
    end else if (flush_q && rows_ready) begin
      flush_q <= 1'b0;
      part_strobe_q <= '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (start) begin
      pos_q <= command_i.addr;
      left_q <= command_i.bytes;
    end else if (accept) begin
      pos_q <= pos_q + virt_addr_t'(taken);
      left_q <= left_q - byte_count_t'(taken);
    end
    if (accept) part_q <= completes ? turned : merged;
  end

  // ---------------------------------------------------------------------------------------------
  // Rows to bursts
  // ---------------------------------------------------------------------------------------------

  typedef struct packed {
    row_t        row;
    row_strobe_t strobe;
  } gathered_t;

  typedef struct packed {
    row_number_t row;
    burst_len_t  len;
  } gathered_burst_t;

  logic push, push_flush, close, row_ready, row_valid, row_pop;
  logic burst_ready, burst_valid, block_ends, gathering;
  beat_count_t gathered_q;  // rows of the burst that is open
  row_number_t row_number, first_row_q;
  gathered_t row_in, row_out;
  gathered_burst_t burst_in, burst;

  assign rows_ready = row_ready && burst_ready;
  assign push_flush = flush_q && rows_ready;
  assign push = push_flush || (accept && (completes || (ends && merged_strobe != '0)));
  assign row_in = push_flush ? '{row: part_q, strobe: part_strobe_q}
      : '{row: merged, strobe: merged_strobe};
  assign row_number = pos_q[VirtAddrWidth-1:RowOffsetWidth];
  assign block_ends = &row_number[RowOffsetWidth-1:0];

  // A burst is closed with the last row of a block, or when no more rows will come.
  assign gathering = active_q || flush_q;
  assign close = (push && block_ends) || (!gathering && gathered_q != '0 && burst_ready);
  assign burst_in = '{
      row: (gathered_q == '0) ? row_number : first_row_q,
      len: push ? burst_len_t'(gathered_q) : burst_len_t'(gathered_q - beat_count_t'(1))
  };

  always_ff @(posedge clk_i) begin
    if (!rst_ni) gathered_q <= '0;
    else if (close) gathered_q <= '0;
    else if (push) gathered_q <= gathered_q + beat_count_t'(1);
  end
  always_ff @(posedge clk_i) begin
    if (push && gathered_q == '0) first_row_q <= row_number;
  end

  tmb_fifo #(
    .T             (gathered_t),
    .Depth         (BufferRows),
    .OutputRegister(1'b1)
  ) i_rows (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .in_valid_i (push),
    .in_ready_o (row_ready),
    .in_data_i  (row_in),
    .out_valid_o(row_valid),
    .out_ready_i(row_pop),
    .out_data_o (row_out)
  );

  tmb_fifo #(
    .T    (gathered_burst_t),
    .Depth(BurstDepth)
  ) i_bursts (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .in_valid_i (close),
    .in_ready_o (burst_ready),
    .in_data_i  (burst_in),
    .out_valid_o(burst_valid),
    .out_ready_i(aw_valid_o && aw_ready_i),
    .out_data_o (burst)
  );

  // ---------------------------------------------------------------------------------------------
  // To the port
  // ---------------------------------------------------------------------------------------------

  logic sending_ready, sending_valid, sent_last;
  burst_len_t sending_len, sent_q;

  assign aw_valid_o = burst_valid && sending_ready;
  assign aw_o = '{
      id: '0,
      addr: 64'({burst.row, row_offset_t'(0)}),
      len: 8'(burst.len),
      size: 3'(RowOffsetWidth),
      burst: 2'b01
  };

  tmb_fifo #(
    .T    (burst_len_t),
    .Depth(2)
  ) i_sending (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .in_valid_i (aw_valid_o && aw_ready_i),
    .in_ready_o (sending_ready),
    .in_data_i  (burst.len),
    .out_valid_o(sending_valid),
    .out_ready_i(sent_last),
    .out_data_o (sending_len)
  );

  assign w_valid_o = row_valid && sending_valid;
  assign w_o = '{data: row_out.row, strb: row_out.strobe, last: sent_q == sending_len};
  assign row_pop = w_ready_i && sending_valid;
  assign sent_last = w_valid_o && w_ready_i && w_o.last;
  assign b_ready_o = 1'b1;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) sent_q <= '0;
    else if (w_valid_o && w_ready_i) sent_q <= w_o.last ? '0 : sent_q + burst_len_t'(1);
  end

  // ---------------------------------------------------------------------------------------------
  // The end
  // ---------------------------------------------------------------------------------------------

  // Bursts closed and not answered: those here, and those that the port holds.
  logic [15:0] open_q;
  logic failed_q, done_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      done_q <= 1'b0;
      open_q <= '0;
      failed_q <= 1'b0;
    end else begin
      if (start) begin
        busy_q <= 1'b1;
        failed_q <= 1'b0;
      end else if (done_q && done_ready_i) begin
        busy_q <= 1'b0;
        done_q <= 1'b0;
      end else if (busy_q && !gathering && gathered_q == '0 && open_q == '0) begin
        done_q <= 1'b1;
      end
      if (close && !b_valid_i) open_q <= open_q + 16'd1;
      else if (!close && b_valid_i) open_q <= open_q - 16'd1;
      if (b_valid_i && b_i.resp[1]) failed_q <= 1'b1;
    end
  end

  // Bytes here without a transfer wait for the next one.
  assign state_o = '{
      busy: busy_q,
      valid: t_valid_i || (!active_q && (raw_valid || beat_valid)),
      ready: t_ready_o,
      moved: moved_q
  };
  assign done_valid_o = done_q;
  assign done_o = '{
      bytes: moved_q,
      last: last_q,
      status: failed_q ? MoverAccess : (holes_q ? MoverKeep : MoverOk)
  };

  logic unused_ok;
  assign unused_ok = &{1'b0, b_i.id, b_i.resp[0], command_i.last};

  `TMB_ASSERT_INIT(RowsHoldOneBurst, BufferRows >= MaxBurstRows)
  `TMB_ASSERT_STABLE(AwHeld, aw_valid_o, aw_ready_i, aw_o)
  `TMB_ASSERT_STABLE(WHeld, w_valid_o, w_ready_i, w_o)
  `TMB_ASSERT(ResponseIsExpected, b_valid_i |-> open_q != '0)

endmodule
