// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: calls of many lines (CCKit, section 5.7). Two windows X and Y of payload lines, and two control lines A and
// B, behind both slices of the directory:
//
//   the CPU has the request's lines in both. It writes the payload and, into the control line, how many lines that
//   is; it sends all of them home, and loads the other control line, exclusively. That is the
//   call. The kernel gathers the lines as they come, in whatever order, and answers when it has them
//   all. Then windows and control lines have changed roles: what the kernel answers is in the window
//   that the CPU writes next.
//
// The kernel knows which lines the CPU has, and waits for those; so the paper's barrier between payload and call is
// not needed, and the call may go first. Lines that the CPU
// did not send are called home: the control line at once, payload lines when none has come for 256 cycles.
//
// Register map: kernel.toml. Control: ap_ctrl_hs; a run has no end. Throughput: a line each way every one and a half
// cycles (3 cycles a slice); the link is slower. Latency: see rpc_lines_slice; the answer goes out three cycles after
// the last line is handled. Ordering and no deadlock: see rpc_lines_slice.

`include "tmb_ports.svh"

// Ports of a slice of the directory, and element `__slice` of what connects rpc_lines_slice.
`define CONNECT_SLICE(__slice)                                              \
  assign h_arvalid[__slice] = s_home``__slice``_arvalid;                    \
  assign s_home``__slice``_arready = h_arready[__slice];                    \
  assign h_arid[__slice] = s_home``__slice``_arid[4:0];                     \
  assign h_arline[__slice] = s_home``__slice``_araddr[LineLog2+:LineWidth]; \
  assign s_home``__slice``_rvalid = h_rvalid[__slice];                      \
  assign h_rready[__slice] = s_home``__slice``_rready;                      \
  assign s_home``__slice``_rid = 16'(h_rid[__slice]);                       \
  assign s_home``__slice``_rdata = h_rdata[__slice];                        \
  assign s_home``__slice``_rresp = h_rerror[__slice] ? SlaveError : 2'b00;  \
  assign s_home``__slice``_rlast = h_rlast[__slice];                        \
  assign h_awvalid[__slice] = s_home``__slice``_awvalid;                    \
  assign s_home``__slice``_awready = h_awready[__slice];                    \
  assign h_awid[__slice] = s_home``__slice``_awid[4:0];                     \
  assign h_awline[__slice] = s_home``__slice``_awaddr[LineLog2+:LineWidth]; \
  assign h_wvalid[__slice] = s_home``__slice``_wvalid;                      \
  assign s_home``__slice``_wready = h_wready[__slice];                      \
  assign h_wdata[__slice] = s_home``__slice``_wdata;                        \
  assign h_wstrb[__slice] = s_home``__slice``_wstrb;                        \
  assign s_home``__slice``_bvalid = h_bvalid[__slice];                      \
  assign h_bready[__slice] = s_home``__slice``_bready;                      \
  assign s_home``__slice``_bid = 16'(h_bid[__slice]);                       \
  assign s_home``__slice``_bresp = h_berror[__slice] ? SlaveError : 2'b00;  \
  assign m_line``__slice``_req_valid = op_valid[__slice];                   \
  assign op_ready[__slice] = m_line``__slice``_req_ready;                   \
  assign m_line``__slice``_req_operation = CleanInvalidate;                 \
  assign m_line``__slice``_req_tag = op_tag[__slice];                       \
  assign m_line``__slice``_req_line = op_line[__slice];                     \
  assign ack_valid[__slice] = m_line``__slice``_ack_valid;                  \
  assign m_line``__slice``_ack_ready = 1'b1;                                \
  assign ack_tag[__slice] = m_line``__slice``_ack_tag;

module rpc_lines #(
  parameter int unsigned PairWidth = 10
) (
  `TMB_KERNEL_PORTS,
  `TMB_HOME_PORTS(s_home0),
  `TMB_LINE_PORTS(m_line0),
  `TMB_HOME_PORTS(s_home1),
  `TMB_LINE_PORTS(m_line1)
);

  localparam int unsigned LineLog2 = 7;
  localparam int unsigned LineWidth = 33;
  localparam int unsigned LinesWidth = PairWidth + 2;
  localparam logic [31:0] MostLines = 32'd2 << PairWidth;
  localparam logic [1:0] SlaveError = 2'b10;
  localparam logic [2:0] CleanInvalidate = 3'd1;
  localparam logic [31:0] HandlerChecksum = 32'd1;
  localparam logic [31:0] HandlerEcho = 32'd2;

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [31:0] handler;  // 0x18
    logic [63:0] base;     // 0x10
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

  // A run has no end.
  logic serving_q;
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) serving_q <= 1'b0;
    else if (start) serving_q <= 1'b1;
  end

  // ---------------------------------------------------------------------------------------------
  // Calls
  // ---------------------------------------------------------------------------------------------

  typedef enum logic [2:0] {
    StIdle,
    StFetch,   // the request's control line comes home
    StBegin,
    StWalk,    // so do its payload lines, and go to the handler
    StAnswer
  } state_e;
  state_e state_q;
  logic turn_q;
  logic [LinesWidth-1:0] lines_q;
  logic [31:0] calls_q, cycles_q, wanted;
  logic call [2];
  logic fetched [2];
  logic [511:0] control [2];
  logic over [2];
  logic [63:0] sum [2];
  logic [63:0] check [2];
  logic answer_q;
  logic [511:0] answer_row_q;
  assign wanted = control[turn_q][31:0];
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      state_q <= StIdle;
      turn_q <= 1'b0;
      calls_q <= '0;
      answer_q <= 1'b0;
    end else begin
      answer_q <= 1'b0;
      unique case (state_q)
        StIdle: if (call[!turn_q]) state_q <= StFetch;
        StFetch: if (fetched[turn_q]) state_q <= StBegin;
        StBegin: state_q <= StWalk;
        StWalk: begin
          if (over[0] && over[1]) begin
            state_q <= StAnswer;
            answer_q <= 1'b1;
          end
        end
        default: begin
          state_q <= StIdle;
          turn_q <= !turn_q;
          calls_q <= calls_q + 1'b1;
        end
      endcase
    end
  end
  always_ff @(posedge ap_clk) begin
    if (state_q == StFetch) lines_q <= wanted > MostLines ? LinesWidth'(MostLines) : LinesWidth'(wanted);
    // From the call to its answer.
    if (state_q == StIdle) cycles_q <= '0;
    else cycles_q <= cycles_q + 1'b1;
    if (state_q == StWalk) begin
      answer_row_q <= 512'({32'd0, cycles_q, check[0] ^ check[1], sum[0] + sum[1], calls_q,
                            32'(lines_q)});
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Slices
  // ---------------------------------------------------------------------------------------------

  logic h_arvalid [2];
  logic h_arready [2];
  logic [4:0] h_arid [2];
  logic [LineWidth-1:0] h_arline [2];
  logic h_rvalid [2];
  logic h_rready [2];
  logic [4:0] h_rid [2];
  logic [511:0] h_rdata [2];
  logic h_rerror [2];
  logic h_rlast [2];
  logic h_awvalid [2];
  logic h_awready [2];
  logic [4:0] h_awid [2];
  logic [LineWidth-1:0] h_awline [2];
  logic h_wvalid [2];
  logic h_wready [2];
  logic [511:0] h_wdata [2];
  logic [63:0] h_wstrb [2];
  logic h_bvalid [2];
  logic h_bready [2];
  logic [4:0] h_bid [2];
  logic h_berror [2];
  logic op_valid [2];
  logic op_ready [2];
  logic [5:0] op_tag [2];
  logic [LineWidth-1:0] op_line [2];
  logic ack_valid [2];
  logic [5:0] ack_tag [2];

  for (genvar s = 0; s < 2; s++) begin : gen_slice
    rpc_lines_slice #(
      .Slice(1'(s)),
      .LineWidth(LineWidth),
      .PairWidth(PairWidth)
    ) u_slice (
      .clk_i(ap_clk),
      .rst_ni(ap_rst_n),
      .serving_i(serving_q),
      .base_i(arguments.base[LineLog2+:LineWidth]),
      .arvalid_i(h_arvalid[s]),
      .arready_o(h_arready[s]),
      .arid_i(h_arid[s]),
      .arline_i(h_arline[s]),
      .rvalid_o(h_rvalid[s]),
      .rready_i(h_rready[s]),
      .rid_o(h_rid[s]),
      .rdata_o(h_rdata[s]),
      .rerror_o(h_rerror[s]),
      .rlast_o(h_rlast[s]),
      .awvalid_i(h_awvalid[s]),
      .awready_o(h_awready[s]),
      .awid_i(h_awid[s]),
      .awline_i(h_awline[s]),
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
      .ack_tag_i(ack_tag[s]),
      .turn_i(turn_q),
      .call_o(call[s]),
      .answer_i(answer_q && turn_q != 1'(s)),
      .answer_row_i(answer_row_q),
      .fetch_i(state_q == StFetch && turn_q == 1'(s)),
      .fetched_o(fetched[s]),
      .control_o(control[s]),
      .begin_i(state_q == StBegin),
      .go_i(state_q == StWalk),
      .lines_i(lines_q),
      .reads_i(arguments.handler inside {HandlerChecksum, HandlerEcho}),
      .echo_i(arguments.handler == HandlerEcho),
      .over_o(over[s]),
      .sum_o(sum[s]),
      .xor_o(check[s])
    );
  end

  `CONNECT_SLICE(0)
  `CONNECT_SLICE(1)

  logic unused_ok;
  assign unused_ok = &{1'b0, s_home0_arid[15:5], s_home0_awid[15:5], s_home1_arid[15:5], s_home1_awid[15:5],
                       s_home0_araddr, s_home0_awaddr, s_home1_araddr, s_home1_awaddr, arguments.base,
                       control[0][511:32], control[1][511:32]};

endmodule
