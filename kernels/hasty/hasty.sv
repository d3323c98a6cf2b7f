// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: writes a pattern, and reports its end before its writes are answered, or after, depending on its
// mode (README.md). For tests of the end of a run.
//
// Throughput: a row a cycle, unless the mode slows it down. Control: ap_ctrl_hs; the next run is to be
// started when the writes of the last one are over.

`include "tmb_ports.svh"

module hasty (
  `TMB_KERNEL_PORTS,
  `TMB_WRITE_PORTS(m_axi_gmem),
  `TMB_READ_PORTS(m_axi_gmem)
);

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [31:0] mode;    // 0x2c
    logic [31:0] seed;    // 0x28
    logic [63:0] source;  // 0x20
    logic [63:0] length;  // 0x18, bytes
    logic [63:0] base;    // 0x10, output
  } arguments_t;

  typedef logic [19:0] row_t;

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

  logic is_hasty, reads, trickles, data_first, deaf, mute;
  logic [2:0] burst_log2;
  assign is_hasty = arguments.mode[0];
  assign reads = arguments.mode[1];
  assign trickles = arguments.mode[2];
  assign data_first = arguments.mode[3];
  assign deaf = arguments.mode[4];
  assign mute = arguments.mode[5];
  assign burst_log2 = arguments.mode[10:8];

  // Rows with their address, and with their data, taken; bursts that are not answered.
  row_t rows, burst_rows, address_row_q, data_row_q, address_left, length;
  row_t outstanding_q;
  logic running_q, writing_q, read_asked_q, read_open_q;
  logic [3:0] pace_q;

  assign rows = row_t'((arguments.length + 64'd63) >> 6);
  assign burst_rows = row_t'(1) << burst_log2;
  assign address_left = rows - address_row_q;
  assign length = (address_left < burst_rows) ? address_left : burst_rows;

  logic address_taken, data_taken, answered, is_last_row;
  assign address_taken = m_axi_gmem_awvalid && m_axi_gmem_awready;
  assign data_taken = m_axi_gmem_wvalid && m_axi_gmem_wready;
  assign answered = m_axi_gmem_bvalid && m_axi_gmem_bready;
  assign is_last_row = data_row_q + row_t'(1) == rows;

  // Offers stay: what lets them begin does not end before they are taken.
  logic data_leads_q;
  assign m_axi_gmem_awvalid = writing_q && address_row_q < rows && (!data_first || data_leads_q);
  assign m_axi_gmem_awaddr = arguments.base + {38'd0, address_row_q, 6'd0};
  assign m_axi_gmem_awlen = 8'(length - row_t'(1));
  `TMB_WRITE_WHOLE_ROWS(m_axi_gmem)
  assign m_axi_gmem_wvalid = writing_q && (data_first ? data_row_q <= address_row_q && data_row_q < rows
                                         : data_row_q < address_row_q)
      && !mute && (!trickles || pace_q == '0);
  assign m_axi_gmem_wlast = is_last_row
      || ((data_row_q + row_t'(1)) & (burst_rows - row_t'(1))) == '0;
  assign m_axi_gmem_bready = !deaf;

  logic [63:0] last_strobe;
  assign last_strobe = (arguments.length[5:0] == '0) ? '1 : ~('1 << arguments.length[5:0]);
  assign m_axi_gmem_wstrb = is_last_row ? last_strobe : '1;
  for (genvar i = 0; i < 16; i++) begin : gen_word
    assign m_axi_gmem_wdata[32*i+:32] =
        arguments.seed + {8'd0, data_row_q, 4'(i)} * 32'h9e37_79b9;
  end

  assign m_axi_gmem_arvalid = read_asked_q;
  assign m_axi_gmem_araddr = arguments.source;
  assign m_axi_gmem_arlen = 8'd15;
  `TMB_READ_WHOLE_ROWS(m_axi_gmem)
  assign m_axi_gmem_rready = 1'b1;

  logic all_addressed, all_sent, all_answered, read_over;
  assign all_addressed = address_row_q == rows && !(reads && read_asked_q);
  assign all_sent = all_addressed && data_row_q == rows;
  assign read_over = !read_open_q;
  assign all_answered = all_sent && outstanding_q == '0 && read_over;
  assign done = running_q
      && (is_hasty ? (trickles ? all_addressed : all_sent) : all_answered);

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      running_q <= 1'b0;
      writing_q <= 1'b0;
      address_row_q <= '0;
      data_row_q <= '0;
      outstanding_q <= '0;
      read_asked_q <= 1'b0;
      read_open_q <= 1'b0;
      data_leads_q <= 1'b0;
      pace_q <= '0;
    end else begin
      if (start) begin
        running_q <= 1'b1;
        writing_q <= 1'b1;
        address_row_q <= '0;
        data_row_q <= '0;
        read_asked_q <= reads;
        read_open_q <= reads;
        data_leads_q <= 1'b0;
        pace_q <= '1;
      end else begin
        if (done) running_q <= 1'b0;
        if (all_sent) writing_q <= 1'b0;
        if (address_taken) address_row_q <= address_row_q + length;
        if (data_taken) data_row_q <= data_row_q + row_t'(1);
        // One burst's data begins, then its address follows.
        if (address_taken) data_leads_q <= 1'b0;
        else if (m_axi_gmem_wvalid && data_row_q == address_row_q) data_leads_q <= 1'b1;
        if (m_axi_gmem_arready) read_asked_q <= 1'b0;
        if (m_axi_gmem_rvalid && m_axi_gmem_rlast) read_open_q <= 1'b0;
        if (data_taken) pace_q <= '1;
        else if (pace_q != '0) pace_q <= pace_q - 4'd1;
      end
      if (address_taken && !answered) outstanding_q <= outstanding_q + row_t'(1);
      else if (!address_taken && answered) outstanding_q <= outstanding_q - row_t'(1);
    end
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, m_axi_gmem_bresp, m_axi_gmem_rdata, m_axi_gmem_rresp, arguments.mode};

endmodule
