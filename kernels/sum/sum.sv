// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: adds up the 64-bit words of `bytes` bytes from `input` (port m_axi_gmem0), in eight lanes,
// and writes the eight sums to `output` (port m_axi_gmem1) when it has read them all.
//
// Pointers are aligned to 64 bytes; the size is a multiple of 64, at least 64. 64 bytes a cycle in.
// Register map: kernel.toml. Control: ap_ctrl_hs.

`include "tmb_ports.svh"

module sum (
  `TMB_KERNEL_PORTS,
  `TMB_READ_PORTS(m_axi_gmem0),
  `TMB_WRITE_PORTS(m_axi_gmem1)
);

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [63:0] bytes;        // 0x20
    logic [63:0] destination;  // 0x18, output
    logic [63:0] source;       // 0x10, input
  } arguments_t;

  arguments_t arguments;
  logic start, done;
  logic row_valid;
  logic [511:0] row;
  logic unused_source;  // there is only one
  logic sum_valid, sum_ready;

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
    .rows_i(arguments.bytes[63:6]),
    .row_valid_o(row_valid),
    .row_ready_i(1'b1),
    .row_o(row),
    .row_source_o(unused_source),
    `TMB_CONNECT_READER(m_axi_gmem0)
  );

  // Eight lanes; the sums are complete when the last row has been added.
  logic [511:0] sum_q;
  logic [57:0] left_q;
  logic adding_q;

  assign sum_valid = adding_q && left_q == '0;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      adding_q <= 1'b0;
      left_q <= '0;
      sum_q <= '0;
    end else if (start) begin
      adding_q <= 1'b1;
      left_q <= arguments.bytes[63:6];
      sum_q <= '0;
    end else begin
      if (row_valid) begin
        left_q <= left_q - 1'b1;
        for (int unsigned lane = 0; lane < 8; lane++) begin
          sum_q[lane*64 +: 64] <= sum_q[lane*64 +: 64] + row[lane*64 +: 64];
        end
      end
      if (sum_valid && sum_ready) adding_q <= 1'b0;
    end
  end

  kernel_burst_writer u_writer (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .base_i(arguments.destination),
    .bytes_i(64'd64),
    .done_o(done),
    .row_valid_i(sum_valid),
    .row_ready_o(sum_ready),
    .row_i(sum_q),
    `TMB_CONNECT_WRITER(m_axi_gmem1)
  );

  // Every beat is a whole row, and addresses count upwards.
  `TMB_READ_WHOLE_ROWS(m_axi_gmem0)
  `TMB_WRITE_WHOLE_ROWS(m_axi_gmem1)

  // The shell reports failed accesses to the host.
  logic unused_responses;
  assign unused_responses = ^{m_axi_gmem0_rresp, m_axi_gmem1_bresp};
  logic unused_bytes;
  assign unused_bytes = ^arguments.bytes[5:0];

endmodule
