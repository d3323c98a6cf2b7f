// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: AES-256 in counter mode, as `openssl enc -aes-256-ctr -K key -iv iv`: encrypts or
// decrypts `bytes` bytes from `input` (port m_axi_gmem0) to `output` (port m_axi_gmem1).
//
// Pointers are aligned to 64 bytes; the size is any. 64 bytes a cycle in and out. The key stream is
// made ahead of the data and waits for it, so a stall of the memory costs nothing more.
// Register map: kernel.toml. Control: ap_ctrl_hs.

`include "tmb_ports.svh"

module aes256ctr (
  `TMB_KERNEL_PORTS,
  `TMB_READ_PORTS(m_axi_gmem0),
  `TMB_WRITE_PORTS(m_axi_gmem1)
);

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [127:0] iv;          // 0x50
    logic [255:0] key;         // 0x30
    logic [63:0] unused;       // 0x28
    logic [63:0] bytes;        // 0x20
    logic [63:0] destination;  // 0x18, output
    logic [63:0] source;       // 0x10, input
  } arguments_t;

  arguments_t arguments;
  logic start, done;
  logic row_valid, row_ready, stream_valid, out_ready;
  logic [511:0] row, stream_row;
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
    .base_i(arguments.source),
    .rows_i(arguments.bytes[63:6] + 58'(arguments.bytes[5:0] != '0)),
    .row_valid_o(row_valid),
    .row_ready_i(row_ready),
    .row_o(row),
    .row_source_o(unused_source),
    `TMB_CONNECT_READER(m_axi_gmem0)
  );

  aes256_keystream u_keystream (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .key_i(arguments.key),
    .iv_i(arguments.iv),
    .row_valid_o(stream_valid),
    .row_ready_i(row_valid && out_ready),
    .row_o(stream_row)
  );

  // A row of data leaves with its row of the key stream.
  assign row_ready = stream_valid && out_ready;

  kernel_burst_writer u_writer (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .base_i(arguments.destination),
    .bytes_i(arguments.bytes),
    .done_o(done),
    .row_valid_i(row_valid && stream_valid),
    .row_ready_o(out_ready),
    .row_i(row ^ stream_row),
    `TMB_CONNECT_WRITER(m_axi_gmem1)
  );

  `TMB_READ_WHOLE_ROWS(m_axi_gmem0)
  `TMB_WRITE_WHOLE_ROWS(m_axi_gmem1)

  // The shell reports failed accesses to the host.
  logic unused_responses, unused_argument;
  assign unused_argument = ^arguments.unused;
  assign unused_responses = ^{m_axi_gmem0_rresp, m_axi_gmem1_bresp};

endmodule
