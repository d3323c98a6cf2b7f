// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: optical flow by the method of Lucas and Kanade, the load FLOW of FSRF's evaluation (section 6.1): for each
// tile of 16 by 16 pixels the motion that explains the gradients of its pixels best (least squares). A pixel is 8 bytes,
// of which the first five are its grey values in five frames; the motion is that at the third. A tile gets 4 bytes: the
// motion to the right and down, signed, in 1/256 pixel per frame (flow_solver.sv).
//
// Images follow one another. Gradients: flow_gradients.sv. Throughput: a row of 64 bytes, eight pixels, a cycle. Latency:
// two lines and nine rows behind a tile's last. Ordering: tiles line by line. Back-pressure: rows wait while the sums of 256 tiles
// wait for the solver. No deadlock: the solver waits for the writer alone. If a count is 0, nothing is read or written;
// more than 128 tiles in a line count as 128, of the other counts the low 16 bits. Register map: kernel.toml. Control: ap_ctrl_hs.
// Source: Lucas, Kanade, IJCAI 1981; the taps and the packing of frames, Rosetta (FPGA 2018).

`include "tmb_ports.svh"

module flow (
  `TMB_KERNEL_PORTS,
  `TMB_READ_PORTS(m_axi_gmem0),
  `TMB_WRITE_PORTS(m_axi_gmem1)
);

  localparam int unsigned MaxTiles = 128;
  // Steps from a row to its sums, of which a tile needs both blocks.
  localparam int unsigned Steps = 6;

  typedef logic [7:0] tiles_t;

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [63:0] images;       // 0x30
    logic [63:0] tiles_y;      // 0x28
    logic [63:0] tiles_x;      // 0x20
    logic [63:0] destination;  // 0x18, output
    logic [63:0] source;       // 0x10, input
  } arguments_t;

  arguments_t arguments;
  logic start, done;

  kernel_control_registers #(
    .ArgumentWords($bits(arguments_t) / 32)
  ) u_control (
    `TMB_CONNECT_CONTROL,
    .begin_o(start),
    .done_i(done),
    .arguments_o(arguments)
  );

  // -- Sizes ----------------------------------------------------------------------------------------

  tiles_t tiles_x;
  logic [15:0] tiles_y, images;
  logic [31:0] lines_q;   // of tiles, in all images
  logic [39:0] tiles_q;
  logic counts_q, begins_q;

  assign tiles_x = arguments.tiles_x > 64'(MaxTiles) ? tiles_t'(MaxTiles) : arguments.tiles_x[7:0];
  assign tiles_y = arguments.tiles_y[15:0];
  assign images = arguments.images[15:0];

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) {begins_q, counts_q} <= '0;
    else {begins_q, counts_q} <= {counts_q, start};
    if (start) lines_q <= 32'(tiles_y) * 32'(images);
    if (counts_q) tiles_q <= 40'(lines_q) * 40'(tiles_x);
  end

  // -- Rows, and their places -----------------------------------------------------------------------

  logic row_valid, row_ready, sums_ready;
  logic [511:0] row;
  logic unused_source;  // there is only one

  kernel_burst_reader u_reader (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(begins_q),
    .base_i(arguments.source),
    .rows_i({13'd0, tiles_q, 5'd0}),
    .row_valid_o(row_valid),
    .row_ready_i(row_ready),
    .row_o(row),
    .row_source_o(unused_source),
    `TMB_CONNECT_READER(m_axi_gmem0)
  );

  // What goes along with a block: the gradients' line is two lines before.
  typedef struct packed {
    logic first_line;   // of its tile
    logic last_line;
    logic odd;          // the tile's second block
    logic covered;      // the line has gradients
    logic [6:0] tile;
  } place_t;

  logic [44:0] left_q;       // rows
  logic [7:0] block_q;
  logic [3:0] line_q;        // in its tile
  logic [15:0] tile_line_q;
  logic [3:0] flush_q;       // steps without a row that follow the last one
  logic step, takes, block_ends, image_ends, ripe;
  place_t place;
  place_t places_q [Steps];

  assign takes = row_valid && left_q != '0 && sums_ready;
  assign row_ready = left_q != '0 && sums_ready;
  assign step = takes || (flush_q != '0 && left_q == '0 && sums_ready);
  assign block_ends = 9'(block_q) + 9'd1 == {tiles_x, 1'b0};
  assign image_ends = line_q == 4'd15 && tile_line_q + 16'd1 == tiles_y;
  // The image has had four lines before this one.
  assign ripe = tile_line_q != '0 || line_q >= 4'd4;
  always_comb begin
    place.first_line = line_q == (tile_line_q == '0 ? 4'd4 : 4'd2);
    place.last_line = (tile_line_q != '0 && line_q == 4'd1) || image_ends;
    place.odd = block_q[0];
    place.covered = takes && ripe;
    place.tile = block_q[7:1];
  end

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      left_q <= '0;
      flush_q <= '0;
    end else begin
      if (begins_q) left_q <= {tiles_q, 5'd0};
      else if (takes) left_q <= left_q - 45'd1;
      if (begins_q) flush_q <= tiles_q == '0 ? '0 : 4'(Steps);
      else if (step && !takes) flush_q <= flush_q - 4'd1;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (begins_q) begin
      block_q <= '0;
      line_q <= '0;
      tile_line_q <= '0;
    end else if (takes) begin
      block_q <= block_ends ? '0 : block_q + 8'd1;
      if (block_ends) begin
        line_q <= line_q + 4'd1;
        if (line_q == 4'd15) tile_line_q <= image_ends ? '0 : tile_line_q + 16'd1;
      end
    end
    if (step) begin
      places_q[0] <= place;
      for (int unsigned i = 1; i < Steps; i++) places_q[i] <= places_q[i-1];
    end
  end

  // -- Sums of a block, of a tile's line, of a tile -------------------------------------------------

  logic signed [4:0][29:0] block_sums, even_q;
  logic signed [4:0][31:0] line_sums, tile_sums;
  logic [4:0][31:0] tiles_sums_q [MaxTiles];
  place_t here;
  logic adds, ends;

  flow_gradients #(
    .MaxBlocks(2 * MaxTiles)
  ) u_gradients (
    .clk_i(ap_clk),
    .step_i(step),
    .row_i(row),
    .block_i(block_q),
    .first_i(block_q == '0),
    .last_i(block_ends),
    .covered_i(takes && ripe),
    .sums_o(block_sums)
  );

  assign here = places_q[Steps-1];
  assign adds = step && here.covered && here.odd;
  assign ends = adds && here.last_line;
  always_comb begin
    for (int unsigned k = 0; k < 5; k++) begin
      line_sums[k] = 32'(signed'(even_q[k])) + 32'(signed'(block_sums[k]));
      tile_sums[k] = line_sums[k] + (here.first_line ? '0 : signed'(tiles_sums_q[here.tile][k]));
    end
  end
  always_ff @(posedge ap_clk) begin
    if (step && !here.odd) even_q <= block_sums;
    if (adds) tiles_sums_q[here.tile] <= tile_sums;
  end

  // -- Motions --------------------------------------------------------------------------------------

  logic solver_valid, solver_ready, motion_valid, motion_ready;
  logic signed [4:0][31:0] solver_sums;
  logic [31:0] motion;

  kernel_fifo #(
    .Width(160),
    .Depth(2 * MaxTiles)
  ) u_sums (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .in_valid_i(ends),
    .in_ready_o(sums_ready),
    .in_data_i(tile_sums),
    .out_valid_o(solver_valid),
    .out_ready_i(solver_ready),
    .out_data_o(solver_sums)
  );

  flow_solver u_solver (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .sums_valid_i(solver_valid),
    .sums_ready_o(solver_ready),
    .sums_i(solver_sums),
    .motion_valid_o(motion_valid),
    .motion_ready_i(motion_ready),
    .motion_o(motion)
  );

  logic [39:0] motions_q;    // left
  logic [3:0] word_q;
  logic [511:0] motions_row_q;
  logic full_q, writer_ready;

  assign motion_ready = !full_q;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) full_q <= 1'b0;
    else if (motion_valid && motion_ready) full_q <= word_q == 4'd15 || motions_q == 40'd1;
    else if (writer_ready) full_q <= 1'b0;
    if (begins_q) begin
      motions_q <= tiles_q;
      word_q <= '0;
    end else if (motion_valid && motion_ready) begin
      motions_q <= motions_q - 40'd1;
      word_q <= word_q + 4'd1;
      motions_row_q[32*word_q+:32] <= motion;
    end
  end

  kernel_burst_writer u_writer (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(begins_q),
    .base_i(arguments.destination),
    .bytes_i({22'd0, tiles_q, 2'd0}),
    .done_o(done),
    .row_valid_i(full_q),
    .row_ready_o(writer_ready),
    .row_i(motions_row_q),
    `TMB_CONNECT_WRITER(m_axi_gmem1)
  );

  `TMB_READ_WHOLE_ROWS(m_axi_gmem0)
  `TMB_WRITE_WHOLE_ROWS(m_axi_gmem1)

  // Of an access that failed, the shell tells the host.
  logic unused_ok;
  assign unused_ok = &{1'b0, m_axi_gmem0_rresp, m_axi_gmem1_bresp, arguments.tiles_y[63:16], arguments.images[63:16]};

endmodule
