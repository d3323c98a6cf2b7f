// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: memory of the card behind the directory, with a prefetcher that knows what the CPU reads (CCKit,
// section 5.5). It serves the CPU's lines from `base` on with the bytes of the pages at `data`: what is mapped
// there, a file or memory, is what cores load and store.
//
// Eight units hold a block of 8 KiB each. A line that is in no block is read alone, at once, and its block
// is fetched behind it; a line in the second half of a block asks for the next one. A block is two bursts of 64
// rows, one through each memory port. Write-backs go to memory, and the line is read there from then on.
//
// Between two slices and two ports: prefetcher_slice, prefetcher_units. The rows of blocks lie in four
// memories, by half (the port that writes it) and slice (which reads it).
//
// Throughput: a row a cycle for each slice, each way. Ordering: none between lines. Back-pressure, no deadlock:
// see prefetcher_slice; what a port reads always has a place, but for lines that wait for the directory to
// take them, which it does.
// The rate of the CPU's link needs both ports. Register map: kernel.toml. Control: ap_ctrl_hs; a run has no end.

`include "tmb_ports.svh"

module prefetcher #(
  parameter int unsigned Units = 8
) (
  `TMB_KERNEL_PORTS,
  `TMB_HOME_PORTS(s_home0),
  `TMB_LINE_PORTS(m_line0),
  `TMB_HOME_PORTS(s_home1),
  `TMB_LINE_PORTS(m_line1),
  `TMB_READ_ID_PORTS(m_axi_gmem0, 1),
  `TMB_READ_PORTS(m_axi_gmem0),
  `TMB_WRITE_ID_PORTS(m_axi_gmem0, 1),
  `TMB_WRITE_PORTS(m_axi_gmem0),
  `TMB_READ_ID_PORTS(m_axi_gmem1, 1),
  `TMB_READ_PORTS(m_axi_gmem1),
  `TMB_WRITE_ID_PORTS(m_axi_gmem1, 1),
  `TMB_WRITE_PORTS(m_axi_gmem1)
);

  localparam int unsigned LineLog2 = 7;
  localparam int unsigned LineWidth = 33;
  localparam int unsigned BlockLinesLog2 = 6;
  localparam int unsigned BlockLines = 1 << BlockLinesLog2;
  localparam int unsigned BlockWidth = LineWidth - BlockLinesLog2;
  localparam int unsigned UnitWidth = $clog2(Units);
  // Rows of a memory: a half of every unit's block, every other line of it.
  localparam int unsigned BankWidth = UnitWidth + BlockLinesLog2 - 1;
  // Bit of a block's number that its lines' slices depend on (the directory's fold of line numbers).
  localparam int unsigned FoldBit = 13 - BlockLinesLog2;

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [31:0] units;  // 0x28
    logic [63:0] bytes;  // 0x20
    logic [63:0] data;   // 0x18
    logic [63:0] base;   // 0x10
  } arguments_t;

  arguments_t arguments;
  logic start, serving_q;

  kernel_control_registers #(
    .ArgumentWords($bits(arguments_t) / 32)
  ) u_control (
    `TMB_CONNECT_CONTROL,
    .begin_o(start),
    .done_i(1'b0),
    .arguments_o(arguments)
  );

  // Before the first run the range is empty: lines are answered with errors.
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) serving_q <= 1'b0;
    else if (start) serving_q <= 1'b1;
  end
  logic [LineWidth-1:0] base, lines;
  assign base = arguments.base[LineLog2+:LineWidth];
  assign lines = serving_q ? arguments.bytes[LineLog2+:LineWidth] : '0;

  // ---------------------------------------------------------------------------------------------
  // Pins of the slices, as arrays
  // ---------------------------------------------------------------------------------------------

  `TMB_TWO_HOMES(h, s_home0, s_home1)
  `TMB_TWO_MANAGERS(m, m_axi_gmem0, m_axi_gmem1)

  `TMB_HOME_OF(s_home0, h, 0)
  `TMB_MANAGER_OF(m_axi_gmem0, m, 0)
  // It needs none of the directory's operations.
  assign m_line0_req_valid = 1'b0;
  assign m_line0_req_operation = '0;
  assign m_line0_req_tag = '0;
  assign m_line0_req_line = '0;
  assign m_line0_ack_ready = 1'b1;

  `TMB_HOME_OF(s_home1, h, 1)
  `TMB_MANAGER_OF(m_axi_gmem1, m, 1)
  assign m_line1_req_valid = 1'b0;
  assign m_line1_req_operation = '0;
  assign m_line1_req_tag = '0;
  assign m_line1_req_line = '0;
  assign m_line1_ack_ready = 1'b1;

  // ---------------------------------------------------------------------------------------------
  // Units and slices
  // ---------------------------------------------------------------------------------------------

  logic [Units-1:0] unit_valid;
  logic [BlockWidth-1:0] unit_block [Units];
  logic [BlockLines-1:0] unit_here [Units];
  logic [BlockLines-1:0] unit_dead [Units];
  logic [Units-1:0] unit_used [2];
  logic [Units-1:0] unit_reading [2];
  logic fetch_valid [2];
  logic [BlockWidth-1:0] fetch_block [2];
  logic dead_valid [2];
  logic [LineWidth-1:0] dead_line [2];
  logic burst_valid [2];
  logic burst_ready [2];
  logic [UnitWidth-1:0] burst_unit [2];
  logic come_valid [2];
  logic [UnitWidth-1:0] come_unit [2];
  logic [BlockLinesLog2-2:0] come_place [2];
  logic come_error [2];
  logic come_last [2];

  prefetcher_units #(
    .Units(Units),
    .BlockLinesLog2(BlockLinesLog2),
    .LineWidth(LineWidth)
  ) u_units (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .base_i(base[LineWidth-1:BlockLinesLog2]),
    .blocks_i(lines[LineWidth-1:BlockLinesLog2]),
    .enabled_i(arguments.units),
    .valid_o(unit_valid),
    .block_o(unit_block),
    .here_o(unit_here),
    .dead_o(unit_dead),
    .used_i(unit_used),
    .reading_i(unit_reading),
    .fetch_valid_i(fetch_valid),
    .fetch_block_i(fetch_block),
    .dead_valid_i(dead_valid),
    .dead_line_i(dead_line),
    .burst_valid_o(burst_valid),
    .burst_ready_i(burst_ready),
    .burst_unit_o(burst_unit),
    .come_valid_i(come_valid),
    .come_unit_i(come_unit),
    .come_place_i(come_place),
    .come_error_i(come_error),
    .come_last_i(come_last)
  );

  // Rows of blocks that come through the ports.
  logic fill_write [2];
  logic fill_slice [2];
  logic [BankWidth-1:0] fill_addr [2];
  logic row_read [2];
  logic [UnitWidth+BlockLinesLog2:0] row_addr [2];
  logic direct_valid [2];
  logic direct_ready [2];
  logic [63:0] direct_addr [2];
  logic direct_row_valid [2];
  logic direct_row_ready [2];

  for (genvar s = 0; s < 2; s++) begin : gen_slice
    // The rows: {unit, line of the half that is this slice's, row}.
    logic [511:0] row_q [2];
    logic half_q;
    logic [BankWidth-1:0] bank_addr;
    assign bank_addr = {row_addr[s][BlockLinesLog2+1+:UnitWidth],
                        row_addr[s][2+:BlockLinesLog2-2], row_addr[s][0]};
    for (genvar h = 0; h < 2; h++) begin : gen_bank
      logic [511:0] bank [1 << BankWidth];
      always_ff @(posedge ap_clk) begin
        if (fill_write[h] && fill_slice[h] == s[0]) bank[fill_addr[h]] <= m_rdata[h];
      end
      always_ff @(posedge ap_clk) begin
        if (row_read[s] && row_addr[s][BlockLinesLog2] == h[0]) row_q[h] <= bank[bank_addr];
      end
    end
    always_ff @(posedge ap_clk) begin
      if (row_read[s]) half_q <= row_addr[s][BlockLinesLog2];
    end

    prefetcher_slice #(
      .Units(Units),
      .BlockLinesLog2(BlockLinesLog2),
      .LineWidth(LineWidth)
    ) u_slice (
      .clk_i(ap_clk),
      .rst_ni(ap_rst_n),
      .base_i(base),
      .lines_i(lines),
      .data_i(arguments.data),
      .arvalid_i(h_arvalid[s]),
      .arready_o(h_arready[s]),
      .arid_i(h_arid[s][4:0]),
      .arline_i(h_araddr[s][LineLog2+:LineWidth]),
      .rvalid_o(h_rvalid[s]),
      .rready_i(h_rready[s]),
      .rid_o(h_rid[s]),
      .rdata_o(h_rdata[s]),
      .rerror_o(h_rerror[s]),
      .rlast_o(h_rlast[s]),
      .awvalid_i(h_awvalid[s]),
      .awready_o(h_awready[s]),
      .awid_i(h_awid[s][4:0]),
      .awline_i(h_awaddr[s][LineLog2+:LineWidth]),
      .wvalid_i(h_wvalid[s]),
      .wready_o(h_wready[s]),
      .wdata_i(h_wdata[s]),
      .wstrb_i(h_wstrb[s]),
      .bvalid_o(h_bvalid[s]),
      .bready_i(h_bready[s]),
      .bid_o(h_bid[s]),
      .berror_o(h_berror[s]),
      .unit_valid_i(unit_valid),
      .unit_block_i(unit_block),
      .unit_here_i(unit_here),
      .unit_dead_i(unit_dead),
      .unit_used_o(unit_used[s]),
      .unit_reading_o(unit_reading[s]),
      .fetch_valid_o(fetch_valid[s]),
      .fetch_block_o(fetch_block[s]),
      .dead_valid_o(dead_valid[s]),
      .dead_line_o(dead_line[s]),
      .row_read_o(row_read[s]),
      .row_addr_o(row_addr[s]),
      .row_i(row_q[half_q]),
      .direct_valid_o(direct_valid[s]),
      .direct_ready_i(direct_ready[s]),
      .direct_addr_o(direct_addr[s]),
      .direct_row_valid_i(direct_row_valid[s]),
      .direct_row_ready_o(direct_row_ready[s]),
      .direct_row_i(m_rdata[s]),
      .direct_row_error_i(m_rresp[s][1]),
      .m_awvalid_o(m_awvalid[s]),
      .m_awready_i(m_awready[s]),
      .m_awaddr_o(m_awaddr[s]),
      .m_wvalid_o(m_wvalid[s]),
      .m_wready_i(m_wready[s]),
      .m_wdata_o(m_wdata[s]),
      .m_wstrb_o(m_wstrb[s]),
      .m_wlast_o(m_wlast[s]),
      .m_bvalid_i(m_bvalid[s]),
      .m_bready_o(m_bready[s]),
      .m_berror_i(m_bresp[s][1])
    );
  end

  // ---------------------------------------------------------------------------------------------
  // Reads of the ports: lines of the slice of the same number, and the block halves of that number
  // ---------------------------------------------------------------------------------------------

  typedef struct packed {
    logic [63:0] addr;
    logic [7:0]  len;
  } request_t;
  typedef struct packed {
    logic                 direct;
    logic [UnitWidth-1:0] unit;
  } owner_t;

  for (genvar h = 0; h < 2; h++) begin : gen_port
    request_t request, request_out;
    owner_t owner, head;
    logic ask, request_ready, owner_ready, head_valid, take, last;
    logic [BlockWidth-1:0] block;

    // Lines first: a core waits for them.
    assign owner = '{direct: direct_valid[h], unit: burst_unit[h]};
    assign block = unit_block[burst_unit[h]] - base[LineWidth-1:BlockLinesLog2];
    always_comb begin
      request = '{addr: direct_addr[h], len: 8'd1};
      if (!direct_valid[h]) begin
        request.addr = arguments.data + {(64 - LineWidth - LineLog2)'(0), block,
                                         h[0], (BlockLinesLog2 + LineLog2 - 1)'(0)};
        request.len = 8'(BlockLines - 1);
      end
    end
    assign ask = (direct_valid[h] || burst_valid[h]) && request_ready && owner_ready;
    assign direct_ready[h] = request_ready && owner_ready;
    assign burst_ready[h] = request_ready && owner_ready && !direct_valid[h];

    kernel_fifo #(
      .Width($bits(request_t)),
      .Depth(2)
    ) u_requests (
      .clk_i(ap_clk),
      .rst_ni(ap_rst_n),
      .in_valid_i(ask),
      .in_ready_o(request_ready),
      .in_data_i(request),
      .out_valid_o(m_arvalid[h]),
      .out_ready_i(m_arready[h]),
      .out_data_o(request_out)
    );
    assign m_araddr[h] = request_out.addr;
    assign m_arlen[h] = request_out.len;
    // Whose rows come next; a place for every line and every block.
    kernel_fifo #(
      .Width($bits(owner_t)),
      .Depth(64)
    ) u_owners (
      .clk_i(ap_clk),
      .rst_ni(ap_rst_n),
      .in_valid_i(ask),
      .in_ready_o(owner_ready),
      .in_data_i(owner),
      .out_valid_o(head_valid),
      .out_ready_i(take && last),
      .out_data_o(head)
    );
    assign m_rready[h] = head_valid && (!head.direct || direct_row_ready[h]);
    assign direct_row_valid[h] = m_rvalid[h] && head_valid && head.direct;
    assign take = m_rvalid[h] && m_rready[h];
    assign last = m_rlast[h];

    // Rows of a half: {line of the half, row}.
    logic [BlockLinesLog2-1:0] row_q;
    logic first_error_q;
    assign fill_write[h] = take && !head.direct;
    always_ff @(posedge ap_clk) begin
      if (!ap_rst_n) row_q <= '0;
      else if (fill_write[h]) row_q <= row_q + 1'b1;
    end
    always_ff @(posedge ap_clk) begin
      if (fill_write[h] && !row_q[0]) first_error_q <= m_rresp[h][1];
    end
    // The directory's fold: even and odd lines, changed by two bits of the line's number.
    assign fill_slice[h] = row_q[1] ^ h[0] ^ unit_block[head.unit][FoldBit];
    assign fill_addr[h] = {head.unit, row_q[BlockLinesLog2-1:2], row_q[0]};
    assign come_valid[h] = fill_write[h] && row_q[0];
    assign come_unit[h] = head.unit;
    assign come_place[h] = row_q[BlockLinesLog2-1:1];
    assign come_error[h] = m_rresp[h][1] || first_error_q;
    assign come_last[h] = last;
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, arguments.base[63:40], arguments.base[LineLog2-1:0],
                       arguments.bytes[63:40], arguments.bytes[LineLog2-1:0],
                       s_home0_arid[15:5], s_home0_awid[15:5], s_home0_araddr[63:40],
                       s_home0_araddr[6:0], s_home0_awaddr[63:40], s_home0_awaddr[6:0],
                       m_line0_req_ready, m_line0_ack_valid, m_line0_ack_tag,
                       m_axi_gmem0_rid, m_axi_gmem0_bid, m_rresp[0][0], m_bresp[0][0],
                       s_home1_arid[15:5], s_home1_awid[15:5], s_home1_araddr[63:40],
                       s_home1_araddr[6:0], s_home1_awaddr[63:40], s_home1_awaddr[6:0],
                       m_line1_req_ready, m_line1_ack_valid, m_line1_ack_tag,
                       m_axi_gmem1_rid, m_axi_gmem1_bid, m_rresp[1][0], m_bresp[1][0]};
endmodule
