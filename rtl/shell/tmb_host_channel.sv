// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The way to pages in host memory: between a tmb_channel of the fabric, which thinks that it has a memory
// controller, and the shell's manager to host memory (tmb_dma_host).
//
// An offset within the channel is a host address: the window starts at 0.
//
// Rows and write responses wait here until the fabric takes them, so the host's answers are always taken
// and a kernel's port never holds the DMA engine's. There is room for all that the channel may have asked
// for: HostReadRows and a burst, and MaxWrites responses.
//
// Throughput: one row a cycle each way. Latency: none out, 2 cycles in. Ordering: as asked.
// Back-pressure: addresses and rows of writes wait at the channel. No deadlock: answers have their place.

`include "tmb_assert.svh"

module tmb_host_channel import tmb_pkg::*; import tmb_fabric_pkg::*; import tmb_dma_pkg::*; #(
  parameter int unsigned MaxWrites = 32  // of the channel
) (
  input  logic clk_i,
  input  logic rst_ni,

  // The channel.
  input  logic            mem_ar_valid_i,
  output logic            mem_ar_ready_o,
  input  channel_ax_t     mem_ar_i,
  output logic            mem_r_valid_o,
  input  logic            mem_r_ready_i,
  output channel_r_t      mem_r_o,
  input  logic            mem_aw_valid_i,
  output logic            mem_aw_ready_o,
  input  channel_ax_t     mem_aw_i,
  input  logic            mem_w_valid_i,
  output logic            mem_w_ready_o,
  input  mem_write_data_t mem_w_i,
  output logic            mem_b_valid_o,
  input  logic            mem_b_ready_i,
  output logic            mem_b_error_o,

  // The manager to host memory; answers are always taken.
  output direct_req_t     direct_o,
  input  direct_rsp_t     direct_i
);

  assign direct_o = '{
      ar_valid: mem_ar_valid_i,
      ar: '{addr: mem_ar_i.addr, len: burst_len_t'(mem_ar_i.len)},
      aw_valid: mem_aw_valid_i,
      aw: '{addr: mem_aw_i.addr, len: burst_len_t'(mem_aw_i.len)},
      w_valid: mem_w_valid_i,
      w: mem_w_i
  };
  assign mem_ar_ready_o = direct_i.ar_ready;
  assign mem_aw_ready_o = direct_i.aw_ready;
  assign mem_w_ready_o = direct_i.w_ready;

  logic row_room, response_room;

  tmb_fifo #(
    .T(channel_r_t),
    .Depth(HostReadRows + MaxBurstRows),
    .OutputRegister(1'b1)
  ) u_rows (
    .clk_i,
    .rst_ni,
    .in_valid_i(direct_i.r_valid),
    .in_ready_o(row_room),
    .in_data_i('{last: direct_i.r.last, error: direct_i.r.error, row: direct_i.r.row}),
    .out_valid_o(mem_r_valid_o),
    .out_ready_i(mem_r_ready_i),
    .out_data_o(mem_r_o)
  );

  tmb_fifo #(
    .T(logic),
    .Depth(MaxWrites)
  ) u_responses (
    .clk_i,
    .rst_ni,
    .in_valid_i(direct_i.b_valid),
    .in_ready_o(response_room),
    .in_data_i(direct_i.b_error),
    .out_valid_o(mem_b_valid_o),
    .out_ready_i(mem_b_ready_i),
    .out_data_o(mem_b_error_o)
  );

  `TMB_ASSERT(RowsHaveRoom, !direct_i.r_valid || row_room)
  `TMB_ASSERT(ResponsesHaveRoom, !direct_i.b_valid || response_room)

  logic unused_ok;
  assign unused_ok = &{1'b0, row_room, response_room, mem_ar_i, mem_aw_i};

endmodule
