// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Width converter of an AXI4-Stream: the same bytes and the same packets, in beats of another width. It
// stands in the slot, between a kernel's port and the boundary.
//
// Cfg   stream_width_cfg_t. Without FlushCycles bytes wait for a full beat or the end of their packet; with it they
//       leave, too, once the sender has paused that long: for ports without TLAST, whose packet never ends
//
// Bytes of different IDs do not share a beat: bytes that wait leave, without TLAST, once a beat of another ID is offered.
//
// Beats that come may be partly filled, from the first byte on; beats that leave are full, but for the
// last of a packet, and the one before a pause or another ID. A packet that ends with an empty beat ends with an empty beat, unless
// bytes are left to carry TLAST. A TKEEP with a hole is passed on as one (only byte 1 kept), for the shell to see.
//
// held_o   bytes that are here and not offered
//
// Throughput: the narrower side's, when one width divides the other; else up to one cycle less for each
// wide beat; two cycles less at a change of ID within a packet. Latency: one cycle; FlushCycles more for what a pause
// brings out. The timer runs only while bytes wait
// and stops when they leave, so an idle converter changes no state. Ordering: in order. Back-pressure: in_ready_o
// depends on the fill, on the beat before a pause, which must leave before more is taken, and on in_valid_i and in_id_i.
// No deadlock: waits for its neighbours only.
//
// Source: vFPIO section 4.2 (width converters).

`include "tmb_assert.svh"

module tmb_stream_width
  import tmb_stream_width_pkg::*;
#(
  parameter stream_width_cfg_t Cfg = DefaultStreamWidthCfg,
  localparam int unsigned InBytes = Cfg.InBytes,
  localparam int unsigned OutBytes = Cfg.OutBytes,
  localparam int unsigned FlushCycles = Cfg.FlushCycles,
  localparam int unsigned IdWidth = Cfg.IdWidth,
  localparam int unsigned IdBits = IdWidth == 0 ? 1 : IdWidth,
  localparam int unsigned HeldWidth = $clog2(InBytes + OutBytes + 1)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  in_valid_i,
  output logic                  in_ready_o,
  input  logic [8*InBytes-1:0]  in_data_i,
  input  logic [InBytes-1:0]    in_keep_i,
  input  logic                  in_last_i,
  input  logic [IdBits-1:0]     in_id_i,
  output logic                  out_valid_o,
  input  logic                  out_ready_i,
  output logic [8*OutBytes-1:0] out_data_o,
  output logic [OutBytes-1:0]   out_keep_o,
  output logic                  out_last_o,
  output logic [IdBits-1:0]     out_id_o,
  output logic [HeldWidth-1:0]  held_o
);

  localparam int unsigned Room = InBytes + OutBytes;
  typedef logic [HeldWidth-1:0] count_t;

  // last: the packet ends with the bytes that are here; apart: in an empty beat behind them, because they
  // are being offered already. hole: a beat with a hole has come. flush: the sender has paused, or sends with
  // another ID, and what is here leaves. other_id: of what is offered, and bytes are here.
  logic [8*Room-1:0] bytes_q, rest;
  count_t fill_q, kept, sent, left;
  logic last_q, apart_q, hole_q, flush_q, hole, take, give, full, other_id;

  always_comb begin
    kept = '0;
    hole = 1'b0;
    for (int unsigned i = 0; i < InBytes; i++) begin
      if (in_keep_i[i]) kept = count_t'(i + 1);
      if (i > 0 && in_keep_i[i] && !in_keep_i[(i+InBytes-1)%InBytes]) hole = 1'b1;
    end
  end

  assign full = fill_q >= count_t'(OutBytes);
  assign in_ready_o = !last_q && !flush_q && fill_q <= count_t'(OutBytes) && !(hole && full) && !other_id;
  assign out_valid_o = full || last_q || flush_q;
  assign held_o = out_valid_o ? '0 : fill_q;
  assign take = in_valid_i && in_ready_o;
  assign give = out_valid_o && out_ready_i;

  assign sent = !give ? '0 : (full ? count_t'(OutBytes) : fill_q);
  assign left = fill_q - sent;
  assign rest = give ? bytes_q >> (8 * OutBytes) : bytes_q;

  assign out_data_o = bytes_q[8*OutBytes-1:0];
  assign out_last_o = last_q && !apart_q && fill_q <= count_t'(OutBytes);

  always_comb begin
    for (int unsigned i = 0; i < OutBytes; i++) begin
      out_keep_o[i] = hole_q ? i == 1 : count_t'(i) < fill_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      fill_q <= '0;
      last_q <= 1'b0;
      apart_q <= 1'b0;
      hole_q <= 1'b0;
    end else begin
      fill_q <= left + (take ? kept : '0);
      if (take) last_q <= in_last_i;
      else if (give && out_last_o) last_q <= 1'b0;
      if (take) apart_q <= in_last_i && kept == '0 && left == count_t'(OutBytes);
      else if (give) apart_q <= 1'b0;
      if (take && hole) hole_q <= 1'b1;
      else if (give) hole_q <= 1'b0;
    end
  end

  if (IdWidth == 0) begin : gen_no_id
    logic unused_id;
    assign unused_id = &{1'b0, in_id_i};
    assign other_id = 1'b0;
    assign out_id_o = '0;
  end else begin : gen_id
    // ID of the bytes, or the end, that are here.
    logic [IdBits-1:0] id_q;
    assign other_id = in_valid_i && fill_q != '0 && in_id_i != id_q;
    assign out_id_o = id_q;

    always_ff @(posedge clk_i) begin
      if (take) id_q <= in_id_i;
    end
  end

  // A beat that came would have been taken, if not for its ID: who leaves bytes here and sends nothing pauses.
  if (FlushCycles == 0 && IdWidth != 0) begin : gen_flush_id
    always_ff @(posedge clk_i) begin
      if (!rst_ni) flush_q <= 1'b0;
      else if (held_o == '0) flush_q <= flush_q && !give;
      else flush_q <= other_id;
    end
  end else if (FlushCycles == 0) begin : gen_no_flush
    assign flush_q = 1'b0;
  end else begin : gen_flush
    typedef logic [$clog2(FlushCycles+1)-1:0] pause_t;
    pause_t pause_q;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        pause_q <= '0;
        flush_q <= 1'b0;
      end else if (held_o == '0 || take) begin
        pause_q <= '0;
        if (give) flush_q <= 1'b0;
      end else begin
        pause_q <= pause_q + pause_t'(1);
        flush_q <= other_id || pause_q == pause_t'(FlushCycles - 1);
      end
    end
  end

  // Bytes beyond the fill are zero, so that a kernel without TKEEP sees a packet padded with zeroes.
  logic [8*Room-1:0] fresh, placed;
  always_comb begin
    fresh = '0;
    for (int unsigned i = 0; i < InBytes; i++) begin
      if (count_t'(i) < kept) fresh[8*i+:8] = in_data_i[8*i+:8];
    end
  end
  assign placed = fresh << {left, 3'b000};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) bytes_q <= '0;
    else if (take || give) bytes_q <= rest | (take ? placed : '0);
  end

  `TMB_ASSERT_INIT(WidthsArePositive, InBytes >= 1 && OutBytes >= 1)
  `TMB_ASSERT(FlushBringsBytes, flush_q |-> fill_q != '0 && !full && !last_q)
  `TMB_ASSERT(FillFits, fill_q <= count_t'(Room))
  `TMB_ASSERT_STABLE(OutputHeld, out_valid_o, out_ready_i, {out_keep_o, out_last_o, out_data_o, out_id_o})

endmodule
