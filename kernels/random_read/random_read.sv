// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: reads `reads` rows of 64 bytes at random places of `input` (port m_axi_gmem0), and writes the
// exclusive or of all of them to `output` (port m_axi_gmem1).
//
// The state x starts as `seed` (not 0); each read steps it by xorshift (13, 7, 17) and takes row
// (x >> 16) mod 2^rows_log2. One request a cycle, as many outstanding as are accepted; answers are
// always taken.
// Register map: kernel.toml. Control: ap_ctrl_hs.

`include "tmb_ports.svh"

module random_read (
  `TMB_KERNEL_PORTS,
  `TMB_READ_PORTS(m_axi_gmem0),
  `TMB_WRITE_PORTS(m_axi_gmem1)
);

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [63:0] seed;         // 0x30
    logic [63:0] rows_log2;    // 0x28
    logic [63:0] reads;        // 0x20
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

  // -- Requests -----------------------------------------------------------------------------------

  function automatic logic [63:0] step(logic [63:0] x);
    logic [63:0] a, b;
    a = x ^ (x << 13);
    b = a ^ (a >> 7);
    return b ^ (b << 17);
  endfunction

  logic [63:0] state_q, to_ask_q, to_take_q, address_q, mask_q;
  logic address_valid_q, address_free, asks;

  assign address_free = !address_valid_q || m_axi_gmem0_arready;
  assign asks = to_ask_q != '0 && address_free;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      to_ask_q <= '0;
      address_valid_q <= 1'b0;
    end else begin
      if (start) to_ask_q <= arguments.reads;
      else if (asks) to_ask_q <= to_ask_q - 64'd1;
      if (address_free) address_valid_q <= asks;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (start) begin
      state_q <= step(arguments.seed);
      mask_q <= (64'd1 << arguments.rows_log2[5:0]) - 64'd1;
    end else if (asks) begin
      state_q <= step(state_q);
    end
    if (asks) address_q <= arguments.source + (((state_q >> 16) & mask_q) << 6);
  end

  assign m_axi_gmem0_arvalid = address_valid_q;
  assign m_axi_gmem0_araddr = address_q;
  assign m_axi_gmem0_arlen = '0;
  assign m_axi_gmem0_rready = 1'b1;

  // -- Answers, then the result -------------------------------------------------------------------

  typedef enum logic [1:0] {
    StIdle,
    StReads,
    StWrite,
    StWritten
  } state_e;

  state_e phase_q;
  logic row_valid_q, aw_done_q, w_done_q;
  logic [511:0] row_q, sum_q;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      phase_q <= StIdle;
      row_valid_q <= 1'b0;
      aw_done_q <= 1'b0;
      w_done_q <= 1'b0;
    end else begin
      row_valid_q <= m_axi_gmem0_rvalid;
      unique case (phase_q)
        StIdle: if (start) phase_q <= StReads;
        StReads: if (to_take_q == '0 && !row_valid_q) phase_q <= StWrite;
        StWrite: if ((aw_done_q || m_axi_gmem1_awready) && (w_done_q || m_axi_gmem1_wready)) begin
          phase_q <= StWritten;
        end
        default: if (m_axi_gmem1_bvalid) phase_q <= StIdle;
      endcase
      aw_done_q <= phase_q == StWrite && (aw_done_q || m_axi_gmem1_awready);
      w_done_q <= phase_q == StWrite && (w_done_q || m_axi_gmem1_wready);
    end
  end
  always_ff @(posedge ap_clk) begin
    if (m_axi_gmem0_rvalid) row_q <= m_axi_gmem0_rdata;
    if (start) begin
      to_take_q <= arguments.reads;
      sum_q <= '0;
    end else begin
      if (m_axi_gmem0_rvalid) to_take_q <= to_take_q - 64'd1;
      if (row_valid_q) sum_q <= sum_q ^ row_q;
    end
  end

  assign m_axi_gmem1_awvalid = phase_q == StWrite && !aw_done_q;
  assign m_axi_gmem1_awaddr = arguments.destination;
  assign m_axi_gmem1_awlen = '0;
  assign m_axi_gmem1_wvalid = phase_q == StWrite && !w_done_q;
  assign m_axi_gmem1_wdata = sum_q;
  assign m_axi_gmem1_wstrb = '1;
  assign m_axi_gmem1_wlast = 1'b1;
  assign m_axi_gmem1_bready = phase_q == StWritten;
  assign done = phase_q == StWritten && m_axi_gmem1_bvalid;

  // Every beat is a whole row.
  `TMB_READ_WHOLE_ROWS(m_axi_gmem0)
  `TMB_WRITE_WHOLE_ROWS(m_axi_gmem1)

  // The shell reports failed accesses to the host.
  logic unused_ok;
  assign unused_ok = &{1'b0, m_axi_gmem0_rresp, m_axi_gmem0_rlast, m_axi_gmem1_bresp,
                       arguments.rows_log2[63:6]};

endmodule
