// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: inference of a small network with int8 weights (dnn_layers.sv), the load DNN of FSRF's evaluation (section
// 6.1). Weights are read once and kept; images, a row of 64 bytes each, pass by. They come in records of 4 KiB, of
// which the first `batch` rows are images; what follows them, labels for instance, is not read. An image gets two bytes,
// its class and the margin of its score. A record's results begin with a new row; the rest of its last row is 0.
//
// Throughput: an image in 36 cycles, plus `pause`. With `in_turn` a burst, a record's images at most, is requested when
// those before are computed, so each adds memory's latency. Latency: weights, then 57 cycles. Ordering: results as images.
// Back-pressure: no image begins unless its row of results has room. No deadlock: results wait for memory alone. If a
// count is 0, nothing is read or written; more than 64 images per record count as 64, of `records` the low 32 bits.
// Register map: kernel.toml. Control: ap_ctrl_hs.

`include "tmb_ports.svh"

module dnn (
  `TMB_KERNEL_PORTS,
  `TMB_READ_PORTS(m_axi_gmem0),
  `TMB_WRITE_PORTS(m_axi_gmem1)
);

  localparam int unsigned MaxBatch = 64;
  localparam int unsigned WeightRows = 21;
  // Rows of results that may wait for memory.
  localparam int unsigned ResultRows = 4;
  // Images that are under way, the one that begins included; each may complete a row.
  localparam int unsigned UnderWay = 2;

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [63:0] in_turn;      // 0x48
    logic [63:0] pause;        // 0x40
    logic [63:0] shift;        // 0x38
    logic [63:0] batch;        // 0x30
    logic [63:0] records;      // 0x28
    logic [63:0] destination;  // 0x20, output
    logic [63:0] images;       // 0x18
    logic [63:0] weights;      // 0x10
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

  logic [31:0] records;
  logic [6:0] batch;
  logic [33:0] result_rows_q;
  logic begins_q;             // the size of the output is known

  assign records = arguments.records[31:0];
  assign batch = arguments.batch > 64'(MaxBatch) ? 7'(MaxBatch) : arguments.batch[6:0];

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begins_q <= 1'b0;
    else begins_q <= start;
    // A row has 32 results.
    if (start) result_rows_q <= batch == '0 ? '0 : batch > 7'd32 ? {1'b0, records, 1'b0} : {2'b0, records};
  end

  logic row_valid, row_ready, fetch_arvalid, may_ask;
  logic [511:0] row;

  dnn_fetch #(
    .WeightRows(WeightRows)
  ) u_fetch (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(begins_q && result_rows_q != '0),
    .weights_i(arguments.weights[63:6]),
    .images_i(arguments.images[63:6]),
    .records_i(records),
    .batch_i(batch),
    .row_valid_o(row_valid),
    .row_ready_i(row_ready),
    .row_o(row),
    .arvalid_o(fetch_arvalid),
    .arready_i(m_axi_gmem0_arready && may_ask),
    .araddr_o(m_axi_gmem0_araddr),
    .arlen_o(m_axi_gmem0_arlen),
    .rvalid_i(m_axi_gmem0_rvalid),
    .rready_o(m_axi_gmem0_rready),
    .rdata_i(m_axi_gmem0_rdata)
  );

  // -- Weights, then images -------------------------------------------------------------------------

  logic [4:0] load_row_q;
  logic loaded, load, image, idle, room;
  logic [7:0] pause_q;

  assign loaded = load_row_q == 5'(WeightRows);
  assign load = row_valid && !loaded;
  assign image = row_valid && loaded && idle && pause_q == '0 && room;
  assign row_ready = !loaded || (idle && pause_q == '0 && room);

  always_ff @(posedge ap_clk) begin
    if (begins_q) load_row_q <= '0;
    else if (load) load_row_q <= load_row_q + 5'd1;
    // The pause counts while there is no image.
    if (!ap_rst_n || begins_q) pause_q <= '0;
    else if (image) pause_q <= arguments.pause[7:0];
    else if (idle && pause_q != '0) pause_q <= pause_q - 8'd1;
  end

  // -- Requests in turn ---------------------------------------------------------------------------

  logic in_turn;
  logic [6:0] rows_left_q;  // requested, and not taken

  assign in_turn = arguments.in_turn[0];
  assign may_ask = !in_turn || (rows_left_q == '0 && idle && pause_q == '0);
  assign m_axi_gmem0_arvalid = fetch_arvalid && may_ask;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n || begins_q || !in_turn) rows_left_q <= '0;
    else if (m_axi_gmem0_arvalid && m_axi_gmem0_arready) rows_left_q <= 7'(m_axi_gmem0_arlen) + 7'd1;
    else if (row_valid && row_ready) rows_left_q <= rows_left_q - 7'd1;
  end

  logic result_valid;
  logic [7:0] class_, margin;

  dnn_layers u_layers (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .load_i(load),
    .load_row_i(load_row_q),
    .shift_i(arguments.shift[4:0]),
    .row_i(row),
    .start_i(image),
    .idle_o(idle),
    .result_valid_o(result_valid),
    .class_o(class_),
    .margin_o(margin)
  );

  // -- Results --------------------------------------------------------------------------------------

  logic [6:0] result_q;      // its number in the record
  logic record_ends, row_ends, row_full_q, unused_ready, out_valid, out_ready;
  logic [511:0] results_q, out_row;
  logic [$clog2(ResultRows+1)-1:0] waiting_q;   // rows of results

  assign record_ends = result_q + 7'd1 == batch;
  assign row_ends = result_valid && (record_ends || result_q[4:0] == 5'd31);
  assign room = waiting_q <= 3'(ResultRows - UnderWay);

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      row_full_q <= 1'b0;
      waiting_q <= '0;
    end else begin
      row_full_q <= row_ends;
      if (row_ends != (out_valid && out_ready)) waiting_q <= row_ends ? waiting_q + 1'b1 : waiting_q - 1'b1;
    end
    if (begins_q) result_q <= '0;
    else if (result_valid) result_q <= record_ends ? '0 : result_q + 7'd1;
    if (result_valid) begin
      // The first result of a row clears it.
      if (result_q[4:0] == '0) results_q <= 512'({margin, class_});
      else results_q[16*result_q[4:0]+:16] <= {margin, class_};
    end
  end

  kernel_fifo #(
    .Width(512),
    .Depth(ResultRows)
  ) u_results (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .in_valid_i(row_full_q),
    .in_ready_o(unused_ready),  // `room` keeps places
    .in_data_i(results_q),
    .out_valid_o(out_valid),
    .out_ready_i(out_ready),
    .out_data_o(out_row)
  );

  kernel_burst_writer u_writer (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(begins_q),
    .base_i(arguments.destination),
    .bytes_i({24'd0, result_rows_q, 6'd0}),
    .done_o(done),
    .row_valid_i(out_valid),
    .row_ready_o(out_ready),
    .row_i(out_row),
    `TMB_CONNECT_WRITER(m_axi_gmem1)
  );

  `TMB_READ_WHOLE_ROWS(m_axi_gmem0)
  `TMB_WRITE_WHOLE_ROWS(m_axi_gmem1)

  // Of an access that failed, the shell tells the host.
  logic unused_ok;
  assign unused_ok = &{1'b0, unused_ready, m_axi_gmem0_rresp, m_axi_gmem0_rlast, m_axi_gmem1_bresp, arguments.weights[5:0],
                       arguments.images[5:0], arguments.records[63:32], arguments.batch[63:7], arguments.shift[63:5],
                       arguments.pause[63:8], arguments.in_turn[63:1]};

endmodule
