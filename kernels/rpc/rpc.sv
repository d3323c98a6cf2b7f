// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: calls through two coherent lines (CCKit, section 5.7). It stands behind the directory and is the
// memory of 64 lines of 128 bytes from `base` on. Lines 0 and 1 are the call's of context 0, the next two those of
// context 1, and so on, `contexts` in all; each context has a call under way of its own:
//
//   the CPU has one of them (the request line; after a reset line 0), writes the arguments into it, and loads the
//   other one, exclusively. The kernel sees that read, brings the request line home, and only
//   then answers, with the result. Now the CPU has the other line: the roles have changed.
//
// The roles stay from run to run. The other lines are plain memory, zero at first; so are all while no run is under way. Lines
// outside of the 64 are answered with an error.
//
// The request line is brought home by a clean-invalidate. Its arguments are here as soon as they have been
// written; if the CPU's copy was not dirty they are here already, and the acknowledgement shows it. The
// answer waits for whichever comes first; the CPU waits with it, so no store can change the request line
// meanwhile.
//
// Register map: kernel.toml. Control: ap_ctrl_hs. Throughput: a plain read every three cycles, a write every
// four. Latency: a read two cycles to its first row; an echo one cycle after the arguments.
// Ordering: one read at a time; writes concurrently. Calls wait aside for the end of their operations, and
// are answered as their arguments come, the lowest context first. No deadlock: writes are always taken, and a call
// waits for nothing but its operation's end.

`include "tmb_ports.svh"

module rpc (
  `TMB_KERNEL_PORTS,
  `TMB_HOME_PORTS(s_home),
  `TMB_LINE_PORTS(m_line)
);

  localparam int unsigned LinesLog2 = 6;
  localparam int unsigned LineLog2 = 7;
  localparam int unsigned WindowLog2 = LinesLog2 + LineLog2;
  localparam logic [2:0] CleanInvalidate = 3'd1;
  localparam logic [2:0] Lock = 3'd2;
  localparam int unsigned Contexts = 1 << (LinesLog2 - 1);
  localparam logic [1:0] Okay = 2'b00;
  localparam logic [1:0] DecodeError = 2'b11;
  typedef logic [LinesLog2-1:0] line_t;
  typedef logic [LinesLog2-2:0] context_t;

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [31:0] contexts; // 0x20
    logic [31:0] calls;    // 0x1C
    logic [31:0] handler;  // 0x18
    logic [63:0] base;     // 0x10
  } arguments_t;

  localparam logic [31:0] HandlerChecksum = 32'd1;
  localparam logic [31:0] HandlerSilent = 32'd2;
  localparam logic [31:0] HandlerLocked = 32'd3;

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

  // ---------------------------------------------------------------------------------------------
  // Lines
  // ---------------------------------------------------------------------------------------------

  logic read_enable, result_write, written;
  logic [LinesLog2:0] read_row;
  logic [511:0] row_q, write_data;
  logic [63:0] write_strobes;
  logic [LinesLog2:0] write_row;
  line_t written_line;

  kernel_line_memory #(
    .LinesLog2(LinesLog2)
  ) u_lines (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .base_i(arguments.base),
    .awvalid_i(s_home_awvalid),
    .awready_o(s_home_awready),
    .awid_i(s_home_awid),
    .awaddr_i(s_home_awaddr),
    .wvalid_i(s_home_wvalid),
    .wready_o(s_home_wready),
    .wdata_i(s_home_wdata),
    .wstrb_i(s_home_wstrb),
    .bvalid_o(s_home_bvalid),
    .bready_i(s_home_bready),
    .bid_o(s_home_bid),
    .bresp_o(s_home_bresp),
    .written_o(written),
    .line_o(written_line),
    .read_i(read_enable),
    .read_row_i(read_row),
    .row_o(row_q),
    .write_i(result_write),
    .write_row_i(write_row),
    .write_data_i(write_data),
    .write_strobes_i(write_strobes)
  );

  // ---------------------------------------------------------------------------------------------
  // Reads, and calls
  // ---------------------------------------------------------------------------------------------

  typedef enum logic [2:0] {
    StIdle,
    StRows,     // two rows of memory to the directory
    StSum,      // the request line's rows go to the handler
    StResult,   // two rows of the result to the directory
    StSilent    // for ever
  } state_e;

  state_e state_q, state_d;
  logic serving_q;      // a run is under way
  logic [31:0] left_q;  // calls of the run
  logic second_q, second_d;
  logic inside_q, echo_q;
  logic [15:0] id_q;
  line_t line_q;        // that is answered
  line_t request_q;     // with what is in this one

  // By context: the request line is its second; a call waits; its recall is not offered yet; the
  // arguments are here.
  logic [Contexts-1:0] turn_q, wait_q, ask_q, home_q;
  logic [15:0] call_id_q [Contexts];
  // By line: its recall has been offered, and not been acknowledged.
  logic [2*Contexts-1:0] busy_q;
  logic line_valid_q;   // a recall is offered
  line_t recall_q;      // of this line

  logic ar_taken, ar_inside, is_call, row_taken, call_done;
  line_t ar_line;
  context_t ar_context;
  assign ar_line = s_home_araddr[LineLog2+:LinesLog2];
  assign ar_context = ar_line[LinesLog2-1:1];
  assign ar_inside = s_home_araddr[63:WindowLog2] == arguments.base[63:WindowLog2];
  assign is_call = serving_q && ar_inside && ar_line[0] != turn_q[ar_context]
      && (ar_context == '0 || 32'(ar_context) < arguments.contexts);
  assign ar_taken = s_home_arvalid && s_home_arready;
  assign s_home_rvalid = state_q == StRows || state_q == StResult;
  assign row_taken = s_home_rvalid && s_home_rready;

  // Calls whose arguments are here: written, or acknowledged as unchanged.
  logic [Contexts-1:0] asked, recalled;
  logic pick_valid, picked;
  context_t pick;
  line_t pick_line;
  always_comb begin
    pick_valid = 1'b0;
    pick = '0;
    for (int unsigned c = Contexts; c > 0; c--) begin
      asked[c-1] = wait_q[c-1] && !ask_q[c-1]
          && !(line_valid_q && recall_q == {context_t'(c - 1), turn_q[c-1]});
      recalled[c-1] = asked[c-1] && (home_q[c-1] || (m_line_ack_valid
          && m_line_ack_tag == {context_t'(c - 1), turn_q[c-1]}));
      if (recalled[c-1]) begin
        pick_valid = 1'b1;
        pick = context_t'(c - 1);
      end
    end
  end
  assign pick_line = {pick, turn_q[pick]};
  assign picked = state_q == StIdle && pick_valid;
  assign s_home_arready = state_q == StIdle && !pick_valid;

  logic sum_valid, sum_done;
  logic summed_q;   // both rows are in the handler
  logic [63:0] sum, checksum;
  assign sum_valid = state_q == StSum;
  rpc_handler u_handler (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .row_valid_i(sum_valid && !summed_q),
    .row_last_i(second_q),
    .row_i(row_q),
    .done_o(sum_done),
    .sum_o(sum),
    .xor_o(checksum)
  );

  always_comb begin
    state_d = state_q;
    second_d = second_q;
    read_enable = 1'b0;
    read_row = {line_q, 1'b1};
    unique case (state_q)
      StIdle: begin
        second_d = 1'b0;
        read_enable = ar_taken || picked;
        read_row = {picked ? pick_line : ar_line, 1'b0};
        if (ar_taken && !is_call) state_d = StRows;
        if (picked) begin
          if (arguments.handler inside {HandlerSilent, HandlerLocked}) state_d = StSilent;
          else if (arguments.handler == HandlerChecksum) state_d = StSum;
          else state_d = StRows;
        end
      end
      StSum: begin
        read_enable = !second_q;
        read_row = {request_q, 1'b1};
        second_d = 1'b1;
        if (sum_done) begin
          state_d = StResult;
          second_d = 1'b0;
        end
      end
      StRows: begin
        read_enable = row_taken && !second_q;
        if (echo_q) read_row = {request_q, 1'b1};
        if (row_taken) begin
          second_d = 1'b1;
          if (second_q) state_d = StIdle;
        end
      end
      StResult: begin
        if (row_taken) begin
          second_d = 1'b1;
          if (second_q) state_d = StIdle;
        end
      end
      default: state_d = StSilent;
    endcase
  end

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      state_q <= StIdle;
      second_q <= 1'b0;
      summed_q <= 1'b0;
    end else begin
      state_q <= state_d;
      second_q <= second_d;
      summed_q <= sum_valid && second_q;
    end
  end

  logic [63:0] result_sum_q, result_xor_q;
  always_ff @(posedge ap_clk) begin
    if (picked) begin
      id_q <= call_id_q[pick];
      line_q <= pick_line ^ line_t'(1);
      request_q <= pick_line;
      inside_q <= 1'b1;
      echo_q <= arguments.handler != HandlerChecksum;
    end else if (ar_taken) begin
      id_q <= s_home_arid;
      line_q <= ar_line;
      inside_q <= ar_inside;
      echo_q <= 1'b0;
    end
    if (ar_taken && is_call) call_id_q[ar_context] <= s_home_arid;
    if (sum_done) begin
      result_sum_q <= sum;
      result_xor_q <= checksum;
    end
  end

  // The answer of an echo comes from the request line; so it is written to the answer's, as any result is.
  assign result_write = row_taken && (echo_q || state_q == StResult);
  assign call_done = result_write && second_q;
  assign s_home_rid = id_q;
  assign s_home_rlast = second_q;
  assign s_home_rresp = inside_q ? Okay : DecodeError;
  always_comb begin
    s_home_rdata = row_q;
    if (state_q == StResult) s_home_rdata = second_q ? '0 : 512'({result_xor_q, result_sum_q});
  end
  assign write_row = {line_q, second_q};
  assign write_data = s_home_rdata;
  assign write_strobes = '1;

  // Runs, and turns.
  assign done = call_done && serving_q && left_q == 32'd1;
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      serving_q <= 1'b0;
      turn_q <= '0;
      left_q <= '0;
    end else begin
      if (start) serving_q <= 1'b1;
      else if (done) serving_q <= 1'b0;
      if (call_done) turn_q[line_q[LinesLog2-1:1]] <= line_q[0];
      if (start) left_q <= arguments.calls;
      else if (call_done && left_q != '0) left_q <= left_q - 1'b1;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Request lines come home
  // ---------------------------------------------------------------------------------------------

  assign m_line_req_operation = arguments.handler == HandlerLocked ? Lock : CleanInvalidate;
  assign m_line_req_tag = recall_q;
  assign m_line_req_line = {arguments.base[39:WindowLog2], recall_q};
  assign m_line_req_valid = line_valid_q;
  assign m_line_ack_ready = 1'b1;

  // A tag is used again only when its last acknowledgement has come.
  logic [Contexts-1:0] ask, may_ask;
  logic issue;
  context_t issue_context;
  always_comb begin
    ask = ask_q;
    if (ar_taken && is_call) ask[ar_context] = 1'b1;
    issue = 1'b0;
    issue_context = '0;
    for (int unsigned c = Contexts; c > 0; c--) begin
      may_ask[c-1] = ask[c-1] && !busy_q[{context_t'(c - 1), turn_q[c-1]}];
      if (may_ask[c-1] && (!line_valid_q || m_line_req_ready)) begin
        issue = 1'b1;
        issue_context = context_t'(c - 1);
      end
    end
  end
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      line_valid_q <= 1'b0;
      wait_q <= '0;
      ask_q <= '0;
      home_q <= '0;
      busy_q <= '0;
    end else begin
      if (!line_valid_q || m_line_req_ready) line_valid_q <= issue;
      ask_q <= ask;
      if (issue) ask_q[issue_context] <= 1'b0;
      if (m_line_ack_valid) busy_q[m_line_ack_tag] <= 1'b0;
      if (issue) busy_q[{issue_context, turn_q[issue_context]}] <= 1'b1;
      if (ar_taken && is_call) wait_q[ar_context] <= 1'b1;
      // An acknowledgement is seen once.
      home_q <= home_q | recalled;
      if (written && asked[written_line[LinesLog2-1:1]]
          && written_line[0] == turn_q[written_line[LinesLog2-1:1]]) begin
        home_q[written_line[LinesLog2-1:1]] <= 1'b1;
      end
      if (picked) begin
        wait_q[pick] <= 1'b0;
        home_q[pick] <= 1'b0;
      end
    end
  end
  always_ff @(posedge ap_clk) begin
    if (issue) recall_q <= {issue_context, turn_q[issue_context]};
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, s_home_araddr[LineLog2-1:0],
                       arguments.base[63:40], arguments.base[WindowLog2-1:0]};

endmodule
