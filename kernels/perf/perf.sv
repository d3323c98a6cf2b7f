// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: reads `bytes` bytes of `input` in chunks of `chunk` bytes (port m_axi_gmem0), with at most
// `window` chunks outstanding, and writes the exclusive or of all rows to `output` (port m_axi_gmem1).
//
// A burst is asked for when all its chunk may be: a chunk is over when its last row has come. With
// window = 1 the next chunk is asked for when the one before is there, as a program does that waits
// for each of its transfers; `pause` cycles later, with any window at most one chunk in `pause` cycles.
//
// Throughput: 64 bytes a cycle while the window lasts. Register map: kernel.toml. Control: ap_ctrl_hs.

`include "tmb_ports.svh"

module perf (
  `TMB_KERNEL_PORTS,
  `TMB_READ_PORTS(m_axi_gmem0),
  `TMB_WRITE_PORTS(m_axi_gmem1)
);

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [63:0] pause;        // 0x38
    logic [63:0] window;       // 0x30
    logic [63:0] chunk;        // 0x28
    logic [63:0] bytes;        // 0x20
    logic [63:0] destination;  // 0x18, output
    logic [63:0] source;       // 0x10, input
  } arguments_t;

  arguments_t arguments;
  logic start, done;
  logic row_valid, burst_valid, burst_ready;
  logic [511:0] row;
  logic unused_source;  // there is only one
  logic folded, folded_taken;

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
    .arvalid_o(burst_valid),
    .arready_i(burst_ready),
    .araddr_o(m_axi_gmem0_araddr),
    .arlen_o(m_axi_gmem0_arlen),
    .rvalid_i(m_axi_gmem0_rvalid),
    .rready_o(m_axi_gmem0_rready),
    .rdata_i(m_axi_gmem0_rdata),
    .rlast_i(m_axi_gmem0_rlast)
  );

  // Rows that may be asked for by now, and those that have been. A chunk that is over makes room for the next.
  logic [57:0] allowed_q, asked_q, chunk_left_q;
  logic chunk_over, next_allowed;
  logic [3:0] over_q;  // chunks that are over and have made no room yet
  logic [31:0] pause_q;
  assign next_allowed = over_q != '0 && pause_q == '0;
  assign chunk_over = row_valid && chunk_left_q == 58'd1;
  assign m_axi_gmem0_arvalid = burst_valid && asked_q < allowed_q;
  assign burst_ready = m_axi_gmem0_arready && asked_q < allowed_q;

  // How often a window holds a chunk: 1 to 15 times.
  logic [57:0] window_rows;
  always_comb begin
    window_rows = '0;
    for (int unsigned n = 0; n < 4; n++) begin
      if (arguments.window[n]) window_rows = window_rows + (arguments.chunk[63:6] << n);
    end
  end

  always_ff @(posedge ap_clk) begin
    if (start) begin
      allowed_q <= window_rows;
      asked_q <= '0;
      chunk_left_q <= arguments.chunk[63:6];
    end else begin
      if (m_axi_gmem0_arvalid && m_axi_gmem0_arready) begin
        asked_q <= asked_q + 58'(m_axi_gmem0_arlen) + 58'd1;
      end
      if (next_allowed) allowed_q <= allowed_q + arguments.chunk[63:6];
      if (chunk_over) chunk_left_q <= arguments.chunk[63:6];
      else if (row_valid) chunk_left_q <= chunk_left_q - 58'd1;
    end
  end

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n || start) begin
      over_q <= '0;
      pause_q <= arguments.pause[31:0];
    end else begin
      over_q <= over_q + 4'(chunk_over) - 4'(next_allowed);
      if (over_q == '0 || next_allowed) pause_q <= arguments.pause[31:0];
      else pause_q <= pause_q - 32'd1;
    end
  end

  // The result is complete when the last row has been folded in.
  logic [511:0] fold_q;
  logic [57:0] left_q;
  logic folding_q;

  assign folded = folding_q && left_q == '0;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) folding_q <= 1'b0;
    else if (start) folding_q <= 1'b1;
    else if (folded && folded_taken) folding_q <= 1'b0;
  end
  always_ff @(posedge ap_clk) begin
    if (start) begin
      left_q <= arguments.bytes[63:6];
      fold_q <= '0;
    end else if (row_valid) begin
      left_q <= left_q - 58'd1;
      fold_q <= fold_q ^ row;
    end
  end

  kernel_burst_writer u_writer (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .base_i(arguments.destination),
    .bytes_i(64'd64),
    .done_o(done),
    .row_valid_i(folded),
    .row_ready_o(folded_taken),
    .row_i(fold_q),
    `TMB_CONNECT_WRITER(m_axi_gmem1)
  );

  // Every beat is a whole row, and addresses count upwards.
  `TMB_READ_WHOLE_ROWS(m_axi_gmem0)
  `TMB_WRITE_WHOLE_ROWS(m_axi_gmem1)

  // The shell reports failed accesses to the host.
  logic unused_responses;
  assign unused_responses = ^{m_axi_gmem0_rresp, m_axi_gmem1_bresp};
  logic unused_arguments;
  assign unused_arguments = ^{arguments.bytes[5:0], arguments.chunk[5:0], arguments.window[63:4], arguments.pause[63:32]};

endmodule
