// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: a scatter-gather engine. Reads `bursts` bursts of 2^length_log2 rows from places in
// `input` (port m_axi_gmem0), and writes them, in the order of the reads, to places in `output`
// (port m_axi_gmem1).
//
// Both buffers have 2^rows_log2 rows. Burst n is at place n modulo the number of bursts that
// fit; with `random` bit 0 the reads, with bit 1 the writes, are at the place that bits from 16
// on of a xorshift sequence say instead (from `seed`, and from `seed` turned by 32). Places are
// multiples of a burst's length, so a burst stays in 4 KiB. A place that is written twice has
// what was written last, since the bursts of a port keep their order.
//
// FlexiMem's evaluation makes its load with such engines: many bursts outstanding, a new one
// each cycle that the port takes one.
//
// Throughput: a row in and a row out a cycle. Latency: one cycle from a row that comes to the
// same that goes. No deadlock: requests wait for nothing but the port; rows wait only for their
// request, which goes out unconditionally. Register map: kernel.toml. Control: ap_ctrl_hs.

`include "tmb_ports.svh"

module traffic (
  `TMB_KERNEL_PORTS,
  `TMB_READ_PORTS(m_axi_gmem0),
  `TMB_WRITE_PORTS(m_axi_gmem1)
);

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [63:0] random;       // 0x40
    logic [63:0] seed;         // 0x38
    logic [63:0] rows_log2;    // 0x30
    logic [63:0] length_log2;  // 0x28
    logic [63:0] bursts;       // 0x20
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

  // -- Places -------------------------------------------------------------------------------------

  function automatic logic [63:0] step(logic [63:0] x);
    logic [63:0] a, b;
    a = x ^ (x << 13);
    b = a ^ (a >> 7);
    return b ^ (b << 17);
  endfunction

  // Settings of a run: rows of the buffers, and of a burst, minus one.
  logic [57:0] rows_mask_q;
  logic [5:0] len_q;

  always_ff @(posedge ap_clk) begin
    if (start) begin
      rows_mask_q <= (58'd1 << arguments.rows_log2[5:0]) - 58'd1;
      len_q <= 6'((7'd1 << arguments.length_log2[2:0]) - 7'd1);
    end
  end

  // The row where a burst is, in the order of the bursts or from a state.
  function automatic logic [57:0] place(logic is_random, logic [63:0] state, logic [57:0] next,
                                        logic [57:0] mask, logic [5:0] len);
    logic [57:0] row;
    row = is_random ? 58'(state >> 16) : next;
    return row & mask & ~58'(len);
  endfunction

  // -- Reads --------------------------------------------------------------------------------------

  logic [63:0] read_state_q, reads_left_q, araddr_q;
  logic [57:0] read_next_q;
  logic arvalid_q, ar_free, asks;

  assign ar_free = !arvalid_q || m_axi_gmem0_arready;
  assign asks = reads_left_q != '0 && ar_free;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      reads_left_q <= '0;
      arvalid_q <= 1'b0;
    end else begin
      if (start) reads_left_q <= arguments.bursts;
      else if (asks) reads_left_q <= reads_left_q - 64'd1;
      if (ar_free) arvalid_q <= asks;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (start) begin
      read_state_q <= step(arguments.seed);
      read_next_q <= '0;
    end else if (asks) begin
      read_state_q <= step(read_state_q);
      read_next_q <= read_next_q + 58'(len_q) + 58'd1;
    end
    if (asks) begin
      araddr_q <= arguments.source + {place(arguments.random[0], read_state_q, read_next_q,
                                            rows_mask_q, len_q), 6'd0};
    end
  end

  assign m_axi_gmem0_arvalid = arvalid_q;
  assign m_axi_gmem0_araddr = araddr_q;
  assign m_axi_gmem0_arlen = 8'(len_q);

  // -- Writes -------------------------------------------------------------------------------------

  logic [63:0] write_state_q, writes_left_q, awaddr_q, owed_q, responses_left_q;
  logic [57:0] write_next_q;
  logic [5:0] beat_q;
  logic awvalid_q, aw_free, announces, row_valid, row_leaves, burst_leaves;
  logic busy_q;

  assign aw_free = !awvalid_q || m_axi_gmem1_awready;
  assign announces = writes_left_q != '0 && aw_free;
  assign row_leaves = m_axi_gmem1_wvalid && m_axi_gmem1_wready;
  assign burst_leaves = row_leaves && m_axi_gmem1_wlast;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      writes_left_q <= '0;
      awvalid_q <= 1'b0;
      owed_q <= '0;
      beat_q <= '0;
      busy_q <= 1'b0;
    end else begin
      if (start) writes_left_q <= arguments.bursts;
      else if (announces) writes_left_q <= writes_left_q - 64'd1;
      if (aw_free) awvalid_q <= announces;
      // Requested bursts with rows still to go.
      owed_q <= owed_q + 64'(announces) - 64'(burst_leaves);
      if (row_leaves) beat_q <= m_axi_gmem1_wlast ? '0 : beat_q + 6'd1;
      busy_q <= start || (busy_q && !done);
    end
  end
  always_ff @(posedge ap_clk) begin
    if (start) begin
      write_state_q <= step({arguments.seed[31:0], arguments.seed[63:32]});
      write_next_q <= '0;
      responses_left_q <= arguments.bursts;
    end else begin
      if (announces) begin
        write_state_q <= step(write_state_q);
        write_next_q <= write_next_q + 58'(len_q) + 58'd1;
      end
      if (m_axi_gmem1_bvalid) responses_left_q <= responses_left_q - 64'd1;
    end
    if (announces) begin
      awaddr_q <= arguments.destination + {place(arguments.random[1], write_state_q, write_next_q,
                                                 rows_mask_q, len_q), 6'd0};
    end
  end

  kernel_fifo #(
    .Width(512),
    .Depth(2)
  ) u_rows (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .in_valid_i(m_axi_gmem0_rvalid),
    .in_ready_o(m_axi_gmem0_rready),
    .in_data_i(m_axi_gmem0_rdata),
    .out_valid_o(row_valid),
    .out_ready_i(m_axi_gmem1_wready && owed_q != '0),
    .out_data_o(m_axi_gmem1_wdata)
  );

  assign m_axi_gmem1_awvalid = awvalid_q;
  assign m_axi_gmem1_awaddr = awaddr_q;
  assign m_axi_gmem1_awlen = 8'(len_q);
  assign m_axi_gmem1_wvalid = row_valid && owed_q != '0;
  assign m_axi_gmem1_wstrb = '1;
  assign m_axi_gmem1_wlast = beat_q == len_q;
  assign m_axi_gmem1_bready = 1'b1;
  assign done = busy_q && responses_left_q == '0;

  // Every beat is a whole row, and addresses count upwards.
  `TMB_READ_WHOLE_ROWS(m_axi_gmem0)
  `TMB_WRITE_WHOLE_ROWS(m_axi_gmem1)

  // The shell reports failed accesses to the host.
  logic unused_ok;
  assign unused_ok = &{1'b0, m_axi_gmem0_rresp, m_axi_gmem0_rlast, m_axi_gmem1_bresp,
                       arguments.rows_log2[63:6], arguments.length_log2[63:3],
                       arguments.random[63:2]};

endmodule
