// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Card memory behind a slice of the directory: turns the guard's accesses to lines into bursts of the
// fabric.
//
// Slice   which lines come here: those with this folded line number mod Cfg.NumSlices
// Cfg     slices, channels, and reads that the guard may have under way (home_memory_cfg_t)
//
// Where a line is: with at least as many channels as slices, a slice has the channel of its number to
// itself (line n of memory is place n / NumSlices there); else all lines are in channel 0, in their order.
// In each channel the range begins at frame `base_i` and has `frames_i` frames of 4 KiB. A line outside
// is not accessed (a write has no strobes, a read's rows are zero) and answered with SLVERR.
//
// Throughput: a row a cycle each way. Latency: one cycle to the fabric, none back. Ordering: reads in the
// order of their requests, writes likewise: a slice uses one channel. So the rows of lines do not mix.
// Back-pressure: the fabric's.
// No deadlock: the fabric's contract holds. There is room for the rows of every read that the guard lets
// through, and a write is requested when its rows are here.
//
// Source: CCKit, section 3.3, figure 2 (directory in front of DRAM), and section 5.1 (a DIMM each slice).

`include "tmb_assert.svh"

module tmb_home_memory
  import tmb_pkg::*;
  import tmb_directory_pkg::*;
  import tmb_home_pkg::*;
#(
  parameter int unsigned Slice = 0,
  parameter home_memory_cfg_t Cfg = DefaultHomeMemoryCfg
) (
  input  logic            clk_i,
  input  logic            rst_ni,

  // The range in each channel that is used. To be changed only while nothing is under way.
  input  frame_t          base_i,
  input  frame_t          frames_i,

  // The guard, as the kernel's side sees it.
  input  axi_req_t        home_req_i,
  output axi_rsp_t        home_rsp_o,

  // A reader and a writer of the fabric.
  output logic            read_req_valid_o,
  input  logic            read_req_ready_i,
  output mem_req_t        read_req_o,
  input  logic            read_rsp_valid_i,
  output logic            read_rsp_ready_o,
  input  mem_read_rsp_t   read_rsp_i,
  output logic            write_req_valid_o,
  input  logic            write_req_ready_i,
  output mem_req_t        write_req_o,
  output logic            write_data_valid_o,
  input  logic            write_data_ready_i,
  output mem_write_data_t write_data_o,
  input  logic            write_rsp_valid_i,
  output logic            write_rsp_ready_o,
  input  mem_write_rsp_t  write_rsp_i
);

  localparam bit OwnChannel = Cfg.NumChannels >= Cfg.NumSlices;
  localparam int unsigned Channel = OwnChannel ? Slice : 0;
  localparam int unsigned Drop = OwnChannel ? $clog2(Cfg.NumSlices) : 0;
  localparam int unsigned FrameLinesLog2 = MinPageBits - LineOffsetWidth;
  localparam int unsigned ReadWidth = $clog2(Cfg.NumReads);

  // The fabric's tag: the guard's ID, and whether the line is outside.
  localparam int unsigned OutsideBit = MemTagWidth - 1;

  // Where a line is.
  function automatic mem_req_t request_of(axi_id_t id, line_t line, frame_t base, frame_t frames);
    line_t place;
    logic [LineWidth-FrameLinesLog2-1:0] frame;
    logic outside;
    place = line >> Drop;
    frame = place[LineWidth-1:FrameLinesLog2];
    outside = frame >= (LineWidth - FrameLinesLog2)'(frames);
    request_of = '0;
    request_of.addr = {outside ? base : base + frame_t'(frame),
                       place[FrameLinesLog2-1:0], LineOffsetWidth'(0)}
        | (card_addr_t'(Channel) << Cfg.ChannelBytesLog2);
    request_of.len = burst_len_t'(LineRows - 1);
    request_of.tag = mem_tag_t'(id);
    request_of.tag[OutsideBit] = outside;
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Reads
  // ---------------------------------------------------------------------------------------------

  logic ar_ready, row_valid;
  axi_r_t row_in, row;
  tmb_spill_register #(
    .T(mem_req_t)
  ) u_read (
    .clk_i,
    .rst_ni,
    .in_valid_i(home_req_i.ar_valid),
    .in_ready_o(ar_ready),
    .in_data_i(request_of(home_req_i.ar.id, home_req_i.ar.addr[LineOffsetWidth+:LineWidth],
                           base_i, frames_i)),
    .out_valid_o(read_req_valid_o),
    .out_ready_i(read_req_ready_i),
    .out_data_o(read_req_o)
  );

  logic read_outside;
  assign read_outside = read_rsp_i.tag[OutsideBit];
  assign row_in = '{
      id: axi_id_t'(read_rsp_i.tag[ReadWidth-1:0]),
      data: read_outside ? '0 : read_rsp_i.row,
      resp: (read_outside || read_rsp_i.error) ? AxiSlvErr : AxiOkay,
      last: read_rsp_i.last
  };
  tmb_fifo #(
    .T(axi_r_t),
    .Depth(LineRows * Cfg.NumReads),
    .FallThrough(1'b1)
  ) u_rows (
    .clk_i,
    .rst_ni,
    .in_valid_i(read_rsp_valid_i),
    .in_ready_o(read_rsp_ready_o),
    .in_data_i(row_in),
    .out_valid_o(row_valid),
    .out_ready_i(home_req_i.r_ready),
    .out_data_o(row)
  );

  // ---------------------------------------------------------------------------------------------
  // Writes: a request leaves when the last of its rows has come
  // ---------------------------------------------------------------------------------------------

  logic write_busy_q, aw_ready, w_ready, row_taken, line_taken, rows_ready, requests_ready;
  mem_req_t write_q;
  assign aw_ready = !write_busy_q || line_taken;
  assign w_ready = write_busy_q && rows_ready && requests_ready;
  assign row_taken = home_req_i.w_valid && w_ready;
  assign line_taken = row_taken && home_req_i.w.last;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) write_busy_q <= 1'b0;
    else if (aw_ready) write_busy_q <= home_req_i.aw_valid;
  end
  always_ff @(posedge clk_i) begin
    if (aw_ready) begin
      write_q <= request_of(home_req_i.aw.id, home_req_i.aw.addr[LineOffsetWidth+:LineWidth],
                            base_i, frames_i);
    end
  end

  mem_write_data_t write_row;
  assign write_row = '{
      row: home_req_i.w.data,
      strobe: write_q.tag[OutsideBit] ? '0 : home_req_i.w.strb,
      last: home_req_i.w.last
  };
  tmb_fifo #(
    .T(mem_write_data_t),
    .Depth(8 * LineRows)
  ) u_write_rows (
    .clk_i,
    .rst_ni,
    .in_valid_i(row_taken),
    .in_ready_o(rows_ready),
    .in_data_i(write_row),
    .out_valid_o(write_data_valid_o),
    .out_ready_i(write_data_ready_i),
    .out_data_o(write_data_o)
  );
  tmb_fifo #(
    .T(mem_req_t),
    .Depth(8)
  ) u_writes (
    .clk_i,
    .rst_ni,
    .in_valid_i(line_taken),
    .in_ready_o(requests_ready),
    .in_data_i(write_q),
    .out_valid_o(write_req_valid_o),
    .out_ready_i(write_req_ready_i),
    .out_data_o(write_req_o)
  );

  assign write_rsp_ready_o = home_req_i.b_ready;
  assign home_rsp_o = '{
      aw_ready: aw_ready,
      w_ready: w_ready,
      b: '{
          id: axi_id_t'(write_rsp_i.tag[ReadWidth-1:0]),
          resp: (write_rsp_i.tag[OutsideBit] || write_rsp_i.error) ? AxiSlvErr : AxiOkay
      },
      b_valid: write_rsp_valid_i,
      ar_ready: ar_ready,
      r: row,
      r_valid: row_valid
  };

  `TMB_ASSERT_INIT(ReadsArePowerOfTwo, Cfg.NumReads >= 2 && (Cfg.NumReads & (Cfg.NumReads - 1)) == 0)
  `TMB_ASSERT_INIT(ChannelsFit, OwnChannel || Cfg.NumChannels >= 1)
  `TMB_ASSERT(RowsHaveRoom, !read_rsp_valid_i || read_rsp_ready_o)

  logic unused_ok;
  assign unused_ok = &{1'b0, home_req_i.ar.len, home_req_i.ar.size, home_req_i.ar.burst,
                       home_req_i.aw.len, home_req_i.aw.size, home_req_i.aw.burst,
                       read_rsp_i.index, read_rsp_i.tag[OutsideBit-1:ReadWidth],
                       write_rsp_i.tag[OutsideBit-1:ReadWidth],
                       home_req_i.ar.addr[63:LinkAddrWidth], home_req_i.aw.addr[63:LinkAddrWidth],
                       home_req_i.ar.addr[LineOffsetWidth-1:0],
                       home_req_i.aw.addr[LineOffsetWidth-1:0]};

endmodule
