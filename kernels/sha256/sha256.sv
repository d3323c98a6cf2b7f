// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: SHA-256 of `bytes` bytes from `input` (port m_axi_gmem0), in `lanes` lanes: row i, 64 bytes, belongs to
// lane i mod lanes, and the rows of a lane are one message. The digests go to `output` (port m_axi_gmem1), 32 bytes
// each, lane 0 first. With one lane that is `sha256sum`.
//
// Pointers are aligned to 64 bytes; the size is any, and `lanes` is 1 to 128 (0 is taken as 1, more as 128). 64
// bytes a cycle with 67 lanes and more, because the pipeline has a stage a round; with fewer, as many 67ths of that. At
// the end each lane has one block more, which holds its length.
// Register map: kernel.toml. Control: ap_ctrl_hs.

`include "tmb_ports.svh"

module sha256 (
  `TMB_KERNEL_PORTS,
  `TMB_READ_PORTS(m_axi_gmem0),
  `TMB_WRITE_PORTS(m_axi_gmem1)
);

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [63:0] lanes;        // 0x28
    logic [63:0] bytes;        // 0x20
    logic [63:0] destination;  // 0x18, output
    logic [63:0] source;       // 0x10, input
  } arguments_t;

  arguments_t arguments;
  logic start, done;
  logic row_valid, row_ready, digests_valid, digests_ready;
  logic advance, block_valid, result_valid;
  logic [511:0] row, block, digests;
  logic [255:0] state, result;
  logic [63:0] digest_bytes;
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

  hash_lanes #(
    .StateWords(8),
    .InitialState(sha256_pkg::InitialState),
    .BigEndian(1'b1)
  ) u_lanes (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .bytes_i(arguments.bytes),
    .lanes_i(arguments.lanes),
    .digest_bytes_o(digest_bytes),
    .row_valid_i(row_valid),
    .row_ready_o(row_ready),
    .row_i(row),
    .row_last_i(1'b0),
    .row_bytes_i('0),
    .advance_o(advance),
    .block_valid_o(block_valid),
    .block_o(block),
    .state_o(state),
    .result_valid_i(result_valid),
    .result_i(result),
    .digests_valid_o(digests_valid),
    .digests_ready_i(digests_ready),
    .digests_o(digests)
  );

  sha256_rounds u_rounds (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .advance_i(advance),
    .block_valid_i(block_valid),
    .block_i(block),
    .state_i(state),
    .result_valid_o(result_valid),
    .result_o(result)
  );

  kernel_burst_writer u_writer (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .base_i(arguments.destination),
    .bytes_i(digest_bytes),
    .done_o(done),
    .row_valid_i(digests_valid),
    .row_ready_o(digests_ready),
    .row_i(digests),
    `TMB_CONNECT_WRITER(m_axi_gmem1)
  );

  `TMB_READ_WHOLE_ROWS(m_axi_gmem0)
  `TMB_WRITE_WHOLE_ROWS(m_axi_gmem1)

  // The shell reports failed accesses to the host.
  logic unused_responses;
  assign unused_responses = ^{m_axi_gmem0_rresp, m_axi_gmem1_bresp};

endmodule
