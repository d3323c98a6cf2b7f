// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: 3 by 3 convolution of a picture of 8-bit pixels, from `input` (port m_axi_gmem0) to `output` (port
// m_axi_gmem1) of the same size. Pixel (y, x) becomes the sum of weight[i][j] times pixel (y + i - 1, x + j - 1),
// shifted right by `shift` (rounded down), and limited to 0 ... 255. Outside the picture everything is zero.
//
// A line has 64 `blocks` pixels, 1 to 4096 blocks; a picture with other blocks is left alone. Any number of
// lines. Pointers are aligned to 64 bytes.
// 64 pixels a cycle in and out, and a line more at the end. Stages: window, products and sums of a line of weights,
// sum of the three, shift and limits; they move together, while a row out is free or taken.
// Register map: kernel.toml. Control: ap_ctrl_hs.

`include "tmb_ports.svh"

module conv (
  `TMB_KERNEL_PORTS,
  `TMB_READ_PORTS(m_axi_gmem0),
  `TMB_WRITE_PORTS(m_axi_gmem1)
);

  localparam int unsigned Pixels = 64;  // a row
  localparam int unsigned MaxBlocks = 4096;

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [31:0] shift;         // 0x3c
    logic [11:0][7:0] weights;  // 0x30: nine signed bytes, line by line
    logic [63:0] lines;         // 0x28
    logic [63:0] blocks;        // 0x20
    logic [63:0] destination;   // 0x18, output
    logic [63:0] source;        // 0x10, input
  } arguments_t;

  arguments_t arguments;
  logic start, done;
  logic row_valid, row_ready, out_valid, out_ready;
  logic [511:0] row, out_row;
  logic [57:0] rows;
  logic some;
  logic unused_source;  // there is only one

  assign some = arguments.blocks != '0 && arguments.blocks <= 64'(MaxBlocks) &&
                arguments.lines != '0 && arguments.lines[63:32] == '0;
  assign rows = some ? 58'(arguments.blocks[12:0]) * 58'(arguments.lines[31:0]) : '0;

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
    .rows_i(rows),
    .row_valid_o(row_valid),
    .row_ready_i(row_ready),
    .row_o(row),
    .row_source_o(unused_source),
    `TMB_CONNECT_READER(m_axi_gmem0)
  );

  // -- Windows ------------------------------------------------------------------------------------

  logic advance, window_valid;
  logic [2:0][527:0] window;

  conv_window #(
    .MaxBlocks(MaxBlocks)
  ) u_window (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start && some),
    .last_block_i(12'(arguments.blocks - 64'd1)),
    .lines_i(arguments.lines[31:0]),
    .advance_i(advance),
    .row_valid_i(row_valid),
    .row_ready_o(row_ready),
    .row_i(row),
    .window_valid_o(window_valid),
    .window_o(window)
  );

  // -- Sums ---------------------------------------------------------------------------------------

  typedef logic signed [18:0] part_t;  // three products of 8 and 8 bits
  typedef logic signed [20:0] sum_t;   // nine

  logic [7:0] pixels [3][Pixels+2];
  part_t parts_d [3][Pixels];
  part_t parts_q [3][Pixels];
  sum_t sums_d [Pixels];
  sum_t sums_q [Pixels];
  logic [511:0] out_d, out_q;
  logic parts_valid_q, sums_valid_q, out_valid_q;

  function automatic part_t product(logic [7:0] weight, logic [7:0] pixel);
    return part_t'($signed(weight)) * part_t'($signed({1'b0, pixel}));
  endfunction

  function automatic logic [7:0] limited(sum_t sum);
    if (sum < 0) return 8'd0;
    if (sum > 21'sd255) return 8'd255;
    return sum[7:0];
  endfunction

  always_comb begin
    for (int unsigned i = 0; i < 3; i++) begin
      for (int unsigned x = 0; x < Pixels + 2; x++) pixels[i][x] = window[i][8*x+:8];
    end
  end
  always_comb begin
    for (int unsigned i = 0; i < 3; i++) begin
      /* verilator unroll_disable */
      for (int unsigned x = 0; x < Pixels; x++) begin
        parts_d[i][x] = product(arguments.weights[3*i], pixels[i][x]) +
                        product(arguments.weights[3*i+1], pixels[i][x+1]) +
                        product(arguments.weights[3*i+2], pixels[i][x+2]);
      end
    end
  end
  always_comb begin
    /* verilator unroll_disable */
    for (int unsigned x = 0; x < Pixels; x++) begin
      sums_d[x] = sum_t'(parts_q[0][x]) + sum_t'(parts_q[1][x]) + sum_t'(parts_q[2][x]);
    end
  end
  always_comb begin
    for (int unsigned x = 0; x < Pixels; x++) begin
      out_d[8*x+:8] = limited(sums_q[x] >>> arguments.shift[4:0]);
    end
  end

  assign advance = !out_valid_q || out_ready;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      parts_valid_q <= 1'b0;
      sums_valid_q <= 1'b0;
      out_valid_q <= 1'b0;
    end else if (advance) begin
      parts_valid_q <= window_valid;
      sums_valid_q <= parts_valid_q;
      out_valid_q <= sums_valid_q;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (advance && window_valid) parts_q <= parts_d;
    if (advance && parts_valid_q) sums_q <= sums_d;
    if (advance && sums_valid_q) out_q <= out_d;
  end

  assign out_valid = out_valid_q;
  assign out_row = out_q;

  kernel_burst_writer u_writer (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .base_i(arguments.destination),
    .bytes_i({rows, 6'd0}),
    .done_o(done),
    .row_valid_i(out_valid),
    .row_ready_o(out_ready),
    .row_i(out_row),
    `TMB_CONNECT_WRITER(m_axi_gmem1)
  );

  // Every beat is a whole row, and addresses count upwards.
  `TMB_READ_WHOLE_ROWS(m_axi_gmem0)
  `TMB_WRITE_WHOLE_ROWS(m_axi_gmem1)

  // The shell reports failed accesses to the host.
  logic unused_ok;
  assign unused_ok = &{1'b0, m_axi_gmem0_rresp, m_axi_gmem1_bresp, arguments.weights[11:9],
                       arguments.shift[31:5]};

endmodule
