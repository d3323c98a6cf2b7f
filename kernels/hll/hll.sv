// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: HyperLogLog of `length` numbers of 64 bits from `input` (port m_axi_gmem0): how many different ones there
// are, within about 0.8 %. Writes the sketch to `output` (port m_axi_gmem1): 16,384 registers, a byte each, from
// which the program computes the estimate, and which it can merge with other sketches (the higher register counts).
//
// Eight sketches take a number each, so a row of 64 bytes a cycle; at the end they are merged and cleared, 32
// registers a cycle. After a reset they are cleared first: 512 cycles, in which a start waits.
// Pointers are aligned to 64 bytes. Register map: kernel.toml. Control: ap_ctrl_hs.

`include "tmb_ports.svh"

module hll (
  `TMB_KERNEL_PORTS,
  `TMB_READ_PORTS(m_axi_gmem0),
  `TMB_WRITE_PORTS(m_axi_gmem1)
);

  localparam int unsigned Lanes = 8;
  localparam logic [63:0] SketchBytes = 64'd16384;
  localparam logic [3:0] Latency = 4'd9;  // of a number, until the next read

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [63:0] length;       // 0x20
    logic [63:0] destination;  // 0x18, output
    logic [63:0] source;       // 0x10, input
  } arguments_t;

  arguments_t arguments;
  logic start, done;
  logic row_valid, row_ready, out_valid, out_ready;
  logic [511:0] row, out_row;
  logic [57:0] rows;
  logic unused_source;  // there is only one

  assign rows = 58'((arguments.length + 64'd7) >> 3);

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

  // -- Numbers in, then the sketch out ------------------------------------------------------------

  typedef enum logic [2:0] {
    StClear,   // after a reset
    StIdle,
    StRows,
    StDrain,   // the last numbers reach the memories
    StSketch   // words are read and cleared
  } state_e;

  state_e state_q;
  logic wanted_q;          // a run was started
  logic [57:0] rows_q;     // rows that are still to come
  logic [2:0] tail_q;      // numbers in a last row that is not whole, or 0
  logic [3:0] drain_q;
  logic [9:0] index_q;     // word that is read next; 512: none
  logic takes, moves, reads;
  logic word_valid_q, half_valid_q, out_valid_q;

  assign row_ready = state_q == StRows && rows_q != '0;
  assign takes = row_valid && row_ready;
  assign moves = !out_valid_q || out_ready;
  assign reads = (state_q == StClear || (state_q == StSketch && moves)) && !index_q[9];

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      state_q <= StClear;
      wanted_q <= 1'b0;
      index_q <= '0;
    end else begin
      if (start) wanted_q <= 1'b1;
      else if (state_q == StIdle) wanted_q <= 1'b0;
      unique case (state_q)
        StClear: if (index_q[9]) state_q <= StIdle;
        StIdle: if (wanted_q) state_q <= StRows;
        StRows: if (rows_q == '0) state_q <= StDrain;
        StDrain: if (drain_q == '0) state_q <= StSketch;
        default: if (done) state_q <= StIdle;
      endcase
      if (state_q == StDrain) index_q <= '0;
      else if (reads) index_q <= index_q + 10'd1;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (start) begin
      rows_q <= rows;
      tail_q <= arguments.length[2:0];
    end else if (takes) begin
      rows_q <= rows_q - 58'd1;
    end
    drain_q <= state_q == StDrain ? drain_q - 4'd1 : Latency;
  end

  // The valid numbers of a row.
  logic [Lanes-1:0] kept;
  assign kept = rows_q == 58'd1 && tail_q != '0 ? ~(8'hff << tail_q) : '1;

  logic [191:0] words [Lanes];
  for (genvar i = 0; i < Lanes; i++) begin : gen_lanes
    hll_sketch u_sketch (
      .clk_i(ap_clk),
      .rst_ni(ap_rst_n),
      .number_valid_i(takes && kept[i]),
      .number_i(row[64*i+:64]),
      .read_i(reads),
      .index_i(index_q[8:0]),
      .word_o(words[i])
    );
  end

  // -- The sketches become one, two words a row ---------------------------------------------------

  logic [5:0] merged [32];
  logic [255:0] half_q;
  logic high_q;
  logic [255:0] low_q;
  logic [511:0] out_q;

  always_comb begin
    for (int unsigned r = 0; r < 32; r++) begin
      merged[r] = '0;
      for (int unsigned i = 0; i < Lanes; i++) begin
        if (words[i][6*r+:6] > merged[r]) merged[r] = words[i][6*r+:6];
      end
    end
  end

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n || state_q != StSketch) begin
      word_valid_q <= 1'b0;
      half_valid_q <= 1'b0;
      out_valid_q <= 1'b0;
      high_q <= 1'b0;
    end else if (moves) begin
      word_valid_q <= reads;
      half_valid_q <= word_valid_q;
      out_valid_q <= half_valid_q && high_q;
      if (half_valid_q) high_q <= !high_q;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (moves && word_valid_q) begin
      for (int unsigned r = 0; r < 32; r++) half_q[8*r+:8] <= {2'd0, merged[r]};
    end
    if (moves && half_valid_q) begin
      if (high_q) out_q <= {half_q, low_q};
      else low_q <= half_q;
    end
  end

  assign out_valid = out_valid_q;
  assign out_row = out_q;

  kernel_burst_writer u_writer (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .base_i(arguments.destination),
    .bytes_i(SketchBytes),
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
  assign unused_ok = &{1'b0, m_axi_gmem0_rresp, m_axi_gmem1_bresp};

endmodule
