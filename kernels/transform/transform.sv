// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: transforms an array in place: each 32-bit word becomes (word + `addend`) rotated left by 7. Reads
// through port m_axi_gmem0, addresses counting upwards, and writes through it to where it read: the worst case
// of shared memory, each page read once and written once (FlexiMem, section IV-B).
//
// `data` is aligned to 64 bytes, the size is a multiple of 4. With `pace` p a row of 64
// bytes is taken every p cycles (0 and 1: each cycle), for accelerators that are slower than the memory.
// Throughput: 64 bytes a cycle in and out at pace 1. Latency: one cycle from a row read to a row written.
// Ordering: a row is written after it was read; rows are written in order. Deadlock: reads never wait for writes
// of later rows, and a row that waits for its turn waits for the clock only.
// Register map: kernel.toml. Control: ap_ctrl_hs.

`include "tmb_ports.svh"

module transform (
  `TMB_KERNEL_PORTS,
  `TMB_READ_PORTS(m_axi_gmem0),
  `TMB_WRITE_PORTS(m_axi_gmem0)
);

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [31:0] pace;    // 0x24
    logic [31:0] addend;  // 0x20
    logic [63:0] bytes;   // 0x18
    logic [63:0] data;    // 0x10
  } arguments_t;

  arguments_t arguments;
  logic start, done;
  logic row_valid, row_ready, turn;
  logic [511:0] row, changed;
  logic [31:0] wait_q;  // cycles until the next row
  logic unused_source;  // there is only one

  kernel_control_registers #(
    .ArgumentWords($bits(arguments_t) / 32)
  ) u_control (
    `TMB_CONNECT_CONTROL,
    .begin_o(start),
    .done_i(done),
    .arguments_o(arguments)
  );

  kernel_burst_reader u_reader (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .base_i(arguments.data),
    .rows_i(arguments.bytes[63:6] + 58'(arguments.bytes[5:0] != '0)),
    .row_valid_o(row_valid),
    .row_ready_i(row_ready && turn),
    .row_o(row),
    .row_source_o(unused_source),
    `TMB_CONNECT_READER(m_axi_gmem0)
  );

  assign turn = wait_q == '0;
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) wait_q <= '0;
    else if (!turn) wait_q <= wait_q - 32'd1;
    else if (row_valid && row_ready && arguments.pace != '0) wait_q <= arguments.pace - 32'd1;
  end

  for (genvar word = 0; word < 16; word++) begin : gen_words
    logic [31:0] sum;
    assign sum = row[32*word +: 32] + arguments.addend;
    assign changed[32*word +: 32] = {sum[24:0], sum[31:25]};
  end

  kernel_burst_writer u_writer (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .base_i(arguments.data),
    .bytes_i(arguments.bytes),
    .done_o(done),
    .row_valid_i(row_valid && turn),
    .row_ready_o(row_ready),
    .row_i(changed),
    `TMB_CONNECT_WRITER(m_axi_gmem0)
  );

  // Every beat is a whole row, and addresses count upwards.
  `TMB_READ_WHOLE_ROWS(m_axi_gmem0)
  `TMB_WRITE_WHOLE_ROWS(m_axi_gmem0)

  // The shell reports failed accesses to the host.
  logic unused_responses;
  assign unused_responses = ^{m_axi_gmem0_rresp, m_axi_gmem0_bresp};

endmodule
