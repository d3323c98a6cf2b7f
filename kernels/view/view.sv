// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: a table of orders in card memory behind the directory, and a materialised view over it (CCKit, section
// 5.6): SELECT SUM(O_TOTALPRICE) FROM ORDERS GROUP BY O_CUSTKEY ORDER BY O_CUSTKEY. A line of the table is a
// tuple, O_CUSTKEY in word 0 (0: no tuple yet) and O_TOTALPRICE in word 1; the view is on the card's chip and has
// an entry of two words for each customer, orders and sum.
//
// The CPU appends by loading the next lines exclusively and storing. It commits by loading a synchronisation
// line (there are two behind the view, by turns): the kernel calls home the lines that the CPU has asked for since
// the last commit, and what it has of the view; counts the tuples; and answers the load.
//
// Throughput: a line every two cycles for each slice and direction; the CPU's link is slower. Ordering: none between
// lines; the answer of a commit comes after all that it changed. No deadlock: see view_slice; a
// commit waits for line operations and memory, and nothing but its own synchronisation line waits for it.
// Register map: kernel.toml. Control: ap_ctrl_hs; a run has no end.

`include "tmb_ports.svh"

module view #(
  parameter int unsigned CustomersLog2 = 14
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
  localparam int unsigned IndexWidth = 26;
  localparam int unsigned ViewWidth = CustomersLog2 - 3;
  localparam logic [2:0] CleanInvalidate = 3'd1;
  typedef logic [IndexWidth-1:0] index_t;

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [31:0] recompute;  // 0x34
    logic [31:0] customers;  // 0x30
    logic [63:0] view;       // 0x28
    logic [31:0] tuples;     // 0x24
    logic [31:0] rows;       // 0x20
    logic [63:0] data;       // 0x18
    logic [63:0] base;       // 0x10
  } arguments_t;

  arguments_t arguments;
  logic start;

  kernel_control_registers #(
    .ArgumentWords($bits(arguments_t) / 32)
  ) u_control (
    `TMB_CONNECT_CONTROL,
    .begin_o(start),
    .done_i(1'b0),
    .arguments_o(arguments)
  );

  // ---------------------------------------------------------------------------------------------
  // Pins of the slices, as arrays
  // ---------------------------------------------------------------------------------------------

  `TMB_TWO_HOMES(h, s_home0, s_home1)
  `TMB_TWO_MANAGERS(m, m_axi_gmem0, m_axi_gmem1)

  // Requests of the slices to the directory, and their readiness for its answers.
  logic op_valid [2];
  logic [5:0] op_tag [2];
  logic [LineWidth-1:0] op_line [2];
  logic ack_ready [2];

  `TMB_HOME_OF(s_home0, h, 0)
  `TMB_MANAGER_OF(m_axi_gmem0, m, 0)
  assign m_line0_req_valid = op_valid[0];
  assign m_line0_req_operation = CleanInvalidate;
  assign m_line0_req_tag = op_tag[0];
  assign m_line0_req_line = op_line[0];
  assign m_line0_ack_ready = ack_ready[0];

  `TMB_HOME_OF(s_home1, h, 1)
  `TMB_MANAGER_OF(m_axi_gmem1, m, 1)
  assign m_line1_req_valid = op_valid[1];
  assign m_line1_req_operation = CleanInvalidate;
  assign m_line1_req_tag = op_tag[1];
  assign m_line1_req_line = op_line[1];
  assign m_line1_ack_ready = ack_ready[1];

  // ---------------------------------------------------------------------------------------------
  // The slices, and the sums
  // ---------------------------------------------------------------------------------------------

  logic op_ready [2];
  logic ack_valid [2];
  logic [5:0] ack_tag [2];
  assign op_ready = '{m_line0_req_ready, m_line1_req_ready};
  assign ack_valid = '{m_line0_ack_valid, m_line1_ack_valid};
  assign ack_tag = '{m_line0_ack_tag, m_line1_ack_tag};

  typedef enum logic [3:0] {
    StStop,    // before the first run
    StClear,   // the view becomes empty
    StIdle,
    StBegin,
    StHome,    // lines come home
    StAnew,    // the view becomes empty, to be made anew
    StScan,
    StScanned, // the whole table is read
    StMark,
    StDrain,   // the CPU gives back what it has of the old view
    StAnswer
  } state_e;

  state_e state_q, state_d;
  logic serving, sums_clear, sums_clearing;
  logic [CustomersLog2-3:0] sums_clear_last;
  logic add_valid [2];
  logic add_ready [2];
  logic [CustomersLog2-1:0] add_customer [2];
  logic [63:0] add_price [2];
  logic adding [2];
  logic line_valid [2];
  logic line_ready [2];
  logic [ViewWidth-1:0] line [2];
  logic row_valid [2];
  logic row_last;
  logic [511:0] row;
  logic seen_valid [2];
  index_t seen [2];
  logic sync [2];
  logic answer [2];
  logic home [2];
  logic scanned [2];
  logic drained [2];
  index_t last [2];
  logic [31:0] refused [2];
  logic begin_commit, scan, mark, over, recompute_q;
  index_t first_q, end_q;
  logic [511:0] answer_row;

  view_sums #(
    .CustomersLog2(CustomersLog2)
  ) u_sums (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .clear_i(sums_clear),
    .clear_last_i(sums_clear_last),
    .clearing_o(sums_clearing),
    .add_valid_i(add_valid),
    .add_ready_o(add_ready),
    .add_customer_i(add_customer),
    .add_price_i(add_price),
    .adding_o(adding),
    .line_valid_i(line_valid),
    .line_ready_o(line_ready),
    .line_i(line),
    .row_valid_o(row_valid),
    .row_last_o(row_last),
    .row_o(row)
  );

  for (genvar s = 0; s < 2; s++) begin : gen_slice
    view_slice #(
      .Slice(s[0]),
      .LineWidth(LineWidth),
      .CustomersLog2(CustomersLog2)
    ) u_slice (
      .clk_i(ap_clk),
      .rst_ni(ap_rst_n),
      .serving_i(serving),
      .hold_i(state_q == StClear),
      .base_i(arguments.base[LineLog2+:LineWidth]),
      .view_i(arguments.view[LineLog2+:LineWidth]),
      .rows_i(arguments.rows[IndexWidth-1:0]),
      .data_i(arguments.data),
      .customers_i(arguments.customers[CustomersLog2-1:0]),
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
      .op_valid_o(op_valid[s]),
      .op_ready_i(op_ready[s]),
      .op_tag_o(op_tag[s]),
      .op_line_o(op_line[s]),
      .ack_valid_i(ack_valid[s]),
      .ack_ready_o(ack_ready[s]),
      .ack_tag_i(ack_tag[s]),
      .m_arvalid_o(m_arvalid[s]),
      .m_arready_i(m_arready[s]),
      .m_araddr_o(m_araddr[s]),
      .m_arlen_o(m_arlen[s]),
      .m_rvalid_i(m_rvalid[s]),
      .m_rready_o(m_rready[s]),
      .m_rdata_i(m_rdata[s]),
      .m_rlast_i(m_rlast[s]),
      .m_rerror_i(m_rresp[s][1]),
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
      .add_valid_o(add_valid[s]),
      .add_ready_i(add_ready[s]),
      .add_customer_o(add_customer[s]),
      .add_price_o(add_price[s]),
      .adding_i(adding[s]),
      .line_valid_o(line_valid[s]),
      .line_ready_i(line_ready[s]),
      .line_o(line[s]),
      .row_valid_i(row_valid[s]),
      .row_last_i(row_last),
      .row_i(row),
      .seen_valid_o(seen_valid[s]),
      .seen_o(seen[s]),
      .sync_o(sync[s]),
      .answer_i(answer[s]),
      .answer_row_i(answer_row),
      .begin_i(begin_commit),
      .first_i(first_q),
      .end_i(end_q),
      .recompute_i(recompute_q),
      .home_o(home[s]),
      .scan_i(scan),
      .scanned_o(scanned[s]),
      .mark_i(mark),
      .drained_o(drained[s]),
      .over_i(over),
      .last_o(last[s]),
      .refused_o(refused[s])
    );
  end

  // ---------------------------------------------------------------------------------------------
  // Commits, one at a time
  // ---------------------------------------------------------------------------------------------

  logic which_q;
  index_t high_q [2];  // behind the last line that the CPU has asked for since the last commit began
  index_t high;
  logic [63:0] commits_q, cycles_q;
  // A pulse in the first cycle of a state that waits for something to begin.
  logic sums_clear_q;

  assign high = high_q[0] > high_q[1] ? high_q[0] : high_q[1];
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StStop: if (start) state_d = StClear;
      StClear: if (!sums_clear_q && !sums_clearing) state_d = StIdle;
      StIdle: if (sync[0] || sync[1]) state_d = StBegin;
      StBegin: state_d = StHome;
      StHome: if (home[0] && home[1]) state_d = recompute_q ? StAnew : StMark;
      StAnew: if (!sums_clear_q && !sums_clearing) state_d = StScan;
      StScan: state_d = StScanned;
      StScanned: if (scanned[0] && scanned[1]) state_d = StMark;
      StMark: state_d = StDrain;
      StDrain: if (drained[0] && drained[1]) state_d = StAnswer;
      default: state_d = StIdle;
    endcase
  end
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      state_q <= StStop;
      sums_clear_q <= 1'b0;
    end else begin
      state_q <= state_d;
      sums_clear_q <= state_d != state_q && (state_d == StClear || state_d == StAnew);
    end
  end
  assign sums_clear = sums_clear_q;
  assign sums_clear_last = state_q == StClear ? '1 : arguments.customers[CustomersLog2-1:2];
  assign serving = state_q != StStop && state_q != StClear;
  assign begin_commit = state_q == StBegin;
  assign scan = state_q == StScan;
  assign mark = state_q == StMark;
  assign over = state_q == StAnswer;
  for (genvar s = 0; s < 2; s++) begin : gen_answer
    assign answer[s] = over && which_q == s[0];
    always_ff @(posedge ap_clk) begin
      if (!ap_rst_n) begin
        high_q[s] <= '0;
      end else if (seen_valid[s]) begin
        if (state_q == StIdle && state_d == StBegin) high_q[s] <= seen[s] + 1'b1;
        else if (seen[s] >= high_q[s]) high_q[s] <= seen[s] + 1'b1;
      end else if (state_q == StIdle && state_d == StBegin) begin
        high_q[s] <= '0;
      end
    end
  end
  index_t found;
  assign found = last[0] > last[1] ? last[0] : last[1];
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      commits_q <= '0;
      first_q <= '0;
    end else begin
      if (over) commits_q <= commits_q + 1'b1;
      if (state_q == StStop) first_q <= arguments.tuples[IndexWidth-1:0];
      else if (over) first_q <= found;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (state_q == StIdle) begin
      which_q <= !sync[0];
      end_q <= high > first_q ? high : first_q;
      recompute_q <= arguments.recompute[0];
      cycles_q <= '0;
    end else begin
      cycles_q <= cycles_q + 1'b1;
    end
  end
  // Words: commits before, tuples, those of customers that are too large, cycles.
  assign answer_row = {256'd0, cycles_q, 32'd0, refused[0] + refused[1],
                       (64 - IndexWidth)'(0), found, commits_q};

  logic unused_ok;
  assign unused_ok = &{1'b0, arguments.base[63:40], arguments.base[LineLog2-1:0], arguments.view[63:40],
                       arguments.view[LineLog2-1:0], arguments.rows[31:IndexWidth],
                       arguments.tuples[31:IndexWidth], arguments.customers[31:CustomersLog2],
                       arguments.recompute[31:1],
                       s_home0_arid[15:5], s_home0_awid[15:5], s_home0_araddr[63:40],
                       s_home0_araddr[6:0], s_home0_awaddr[63:40], s_home0_awaddr[6:0],
                       m_axi_gmem0_rid, m_axi_gmem0_bid, m_rresp[0][0], m_bresp[0],
                       s_home1_arid[15:5], s_home1_awid[15:5], s_home1_araddr[63:40],
                       s_home1_araddr[6:0], s_home1_awaddr[63:40], s_home1_awaddr[6:0],
                       m_axi_gmem1_rid, m_axi_gmem1_bid, m_rresp[1][0], m_bresp[1]};
endmodule
