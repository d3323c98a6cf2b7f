// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Mover into the kernel: reads a range of virtual memory through a port of the slot and sends it as a
// packet. The range begins and ends at any byte.
//
// It is an address generator (bursts of up to 64 rows that end at 4 KiB) and a row shifter. The port
// behind it translates, parks, reserves room for the rows and returns them in order.
//
// Throughput: one beat of 64 bytes a cycle, at any alignment. Latency: 1 cycle from start_i to
// ar_valid_o; from a row to its beat 1 cycle, 2 for the first of a range that is not aligned.
// Ordering: the bytes in the order of their addresses, packets in the order of their commands.
// Back-pressure: a kernel that does not take its beats stops the shifter; the rows that were asked for
// wait in the port's own buffer, the next bursts are not admitted there. No other port waits.
// No deadlock: what has been issued needs only memory, and room for it is reserved (tmb_port_read).
//
// A failed access gives zeroes; the transfer goes on to its end and reports it (MoverAccess).
// Reset (the slot's, too) forgets the transfer; there is no answer to it then.
// Bytes beyond the end of the range are sent as zero, with TKEEP low.
//
// Source: vFPIO section 4.1 (controllers and DMAs that turn memory into streams).

`include "tmb_assert.svh"

module tmb_stream_mover_in
  import tmb_pkg::*;
  import tmb_stream_pkg::*;
(
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
  output logic           ar_valid_o,
  input  logic           ar_ready_i,
  output axi_ax_t        ar_o,
  input  logic           r_valid_i,
  output logic           r_ready_o,
  input  axi_r_t         r_i,
  // kernel
  output logic           t_valid_o,
  input  logic           t_ready_i,
  output stream_beat_t   t_o
);

  localparam int unsigned RowNumberWidth = VirtAddrWidth - RowOffsetWidth;
  typedef logic [RowNumberWidth-1:0] row_number_t;
  typedef logic [RowOffsetWidth-1:0] row_offset_t;
  localparam int unsigned BlockRows = 4096 / RowBytes;

  logic busy_q, done_q, last_q, start;
  assign start = start_i && !busy_q;

  // ---------------------------------------------------------------------------------------------
  // Addresses
  // ---------------------------------------------------------------------------------------------

  row_number_t next_row_q;
  logic [RowNumberWidth:0] rows_left_q, rows_of_command;
  beat_count_t block_left, count;
  logic [VirtAddrWidth:0] end_of_command;

  assign end_of_command = (VirtAddrWidth + 1)'(command_i.addr[RowOffsetWidth-1:0])
      + (VirtAddrWidth + 1)'(command_i.bytes) + (VirtAddrWidth + 1)'(RowBytes - 1);
  assign rows_of_command = (command_i.bytes == '0)
      ? '0 : (RowNumberWidth + 1)'(end_of_command >> RowOffsetWidth);

  assign block_left = beat_count_t'(BlockRows) - beat_count_t'(next_row_q[RowOffsetWidth-1:0]);
  assign count = (rows_left_q < (RowNumberWidth + 1)'(block_left))
      ? beat_count_t'(rows_left_q) : block_left;

  assign ar_valid_o = rows_left_q != '0;
  assign ar_o = '{
      id: '0,
      addr: 64'({next_row_q, row_offset_t'(0)}),
      len: 8'(count - beat_count_t'(1)),
      size: 3'(RowOffsetWidth),
      burst: 2'b01
  };

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      rows_left_q <= '0;
    end else if (start) begin
      rows_left_q <= rows_of_command;
    end else if (ar_valid_o && ar_ready_i) begin
      rows_left_q <= rows_left_q - (RowNumberWidth + 1)'(count);
    end
  end

  always_ff @(posedge clk_i) begin
    if (start) next_row_q <= command_i.addr[VirtAddrWidth-1:RowOffsetWidth];
    else if (ar_valid_o && ar_ready_i) next_row_q <= next_row_q + row_number_t'(count);
  end

  // ---------------------------------------------------------------------------------------------
  // Rows to beats
  // ---------------------------------------------------------------------------------------------

  // The carry is the row before, of which the bytes from the offset on are still to be sent.
  byte_count_t left_q;
  row_offset_t offset_q;
  row_t carry_q, shifted;
  logic carry_valid_q, flush, from_row, load, put, put_ready, final_beat;
  beat_count_t carried, beat_bytes;
  row_strobe_t keep;

  typedef struct packed {
    stream_beat_t beat;
    beat_count_t  count;
    logic         final_beat;
  } sent_t;

  sent_t put_beat, sent;

  assign carried = beat_count_t'(RowBytes) - beat_count_t'(offset_q);
  assign flush = carry_valid_q && left_q <= byte_count_t'(carried);
  assign from_row = r_valid_i && left_q != '0 && !flush && (carry_valid_q || offset_q == '0);
  assign load = r_valid_i && left_q != '0 && !carry_valid_q && offset_q != '0;
  assign put = flush || from_row;
  assign r_ready_o = load || (from_row && put_ready);

  assign final_beat = left_q <= byte_count_t'(RowBytes);
  assign beat_bytes = final_beat ? beat_count_t'(left_q) : beat_count_t'(RowBytes);
  assign keep = first_bytes(beat_bytes);
  assign shifted = row_t'({r_i.data, carry_q} >> {offset_q, 3'b000});

  always_comb begin
    put_beat.beat.data = '0;
    for (int unsigned i = 0; i < RowBytes; i++) begin
      if (keep[i]) begin
        put_beat.beat.data[8*i+:8] = (offset_q == '0) ? r_i.data[8*i+:8] : shifted[8*i+:8];
      end
    end
    put_beat.beat.keep = keep;
    put_beat.beat.last = final_beat && last_q;
    put_beat.count = beat_bytes;
    put_beat.final_beat = final_beat;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      left_q <= '0;
      carry_valid_q <= 1'b0;
    end else if (start) begin
      left_q <= command_i.bytes;
      carry_valid_q <= 1'b0;
    end else if (load) begin
      carry_valid_q <= 1'b1;
    end else if (put && put_ready) begin
      left_q <= left_q - byte_count_t'(beat_bytes);
      carry_valid_q <= offset_q != '0 && !final_beat;
    end
  end

  always_ff @(posedge clk_i) begin
    if (start) begin
      offset_q <= command_i.addr[RowOffsetWidth-1:0];
      last_q <= command_i.last;
    end
    if (r_valid_i && r_ready_o) carry_q <= r_i.data;
  end

  tmb_spill_register #(
    .T(sent_t)
  ) i_beat (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .in_valid_i (put),
    .in_ready_o (put_ready),
    .in_data_i  (put_beat),
    .out_valid_o(t_valid_o),
    .out_ready_i(t_ready_i),
    .out_data_o (sent)
  );

  assign t_o = sent.beat;

  // ---------------------------------------------------------------------------------------------
  // The end
  // ---------------------------------------------------------------------------------------------

  byte_count_t moved_q;
  logic failed_q, crosses;
  assign crosses = t_valid_o && t_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      done_q <= 1'b0;
      moved_q <= '0;
      failed_q <= 1'b0;
    end else if (start) begin
      busy_q <= 1'b1;
      done_q <= command_i.bytes == '0;
      moved_q <= '0;
      failed_q <= 1'b0;
    end else begin
      if (done_q && done_ready_i) begin
        busy_q <= 1'b0;
        done_q <= 1'b0;
      end else if (crosses && sent.final_beat) begin
        done_q <= 1'b1;
      end
      if (crosses) moved_q <= moved_q + byte_count_t'(sent.count);
      if (r_valid_i && r_ready_o && r_i.resp[1]) failed_q <= 1'b1;
    end
  end

  assign state_o = '{busy: busy_q, valid: t_valid_o, ready: t_ready_i, moved: moved_q};
  assign done_valid_o = done_q;
  assign done_o = '{
      bytes: moved_q,
      last: last_q && moved_q != '0,
      status: failed_q ? MoverAccess : MoverOk
  };

  logic unused_ok;
  assign unused_ok = &{1'b0, command_i.stop, r_i.id, r_i.last, r_i.resp[0]};

  `TMB_ASSERT_STABLE(ArHeld, ar_valid_o, ar_ready_i, ar_o)
  `TMB_ASSERT(RowIsExpected, r_valid_i |-> busy_q)
  `TMB_ASSERT(DoneIsComplete, done_q |-> rows_left_q == '0 && left_q == '0)

endmodule
