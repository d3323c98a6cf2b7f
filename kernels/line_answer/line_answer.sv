// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: 16 cache lines of the CPU, of 128 bytes, from `base` on. It stands behind the directory, and is their memory. While a
// run is under way, line 1 is not memory but the answer to what is in line 0:
//
//   a load of line 1 calls line 0 home (a clean-invalidate); when it is here, the load is answered with its 32-bit
//   words, each plus `add`. To ask again the CPU gives line 1 up (a flush), and loads it anew.
//
// The other lines are plain memory, zero at first. Lines outside of the 16 are answered with an error.
//
// Register map: kernel.toml. Control: ap_ctrl_hs. Throughput: a plain read every three cycles, a write every four; one answer at
// a time. Latency: two cycles from a read, or from the acknowledgement of the recall, to the first row. Ordering: reads in their
// order; writes concurrently. No deadlock: writes are always taken, also while a read waits for its recall, which always ends.

module line_answer (
  input  logic         ap_clk,
  input  logic         ap_rst_n,
  // Also a macro of some C headers, but the convention's name.
  // verilator lint_off SYMRSVDWORD
  output logic         interrupt,
  // verilator lint_on SYMRSVDWORD

  input  logic         s_axi_control_awvalid,
  output logic         s_axi_control_awready,
  input  logic [11:0]  s_axi_control_awaddr,
  input  logic         s_axi_control_wvalid,
  output logic         s_axi_control_wready,
  input  logic [31:0]  s_axi_control_wdata,
  input  logic [3:0]   s_axi_control_wstrb,
  output logic         s_axi_control_bvalid,
  input  logic         s_axi_control_bready,
  output logic [1:0]   s_axi_control_bresp,
  input  logic         s_axi_control_arvalid,
  output logic         s_axi_control_arready,
  input  logic [11:0]  s_axi_control_araddr,
  output logic         s_axi_control_rvalid,
  input  logic         s_axi_control_rready,
  output logic [31:0]  s_axi_control_rdata,
  output logic [1:0]   s_axi_control_rresp,

  input  logic         s_home_arvalid,
  output logic         s_home_arready,
  input  logic [15:0]  s_home_arid,
  input  logic [63:0]  s_home_araddr,
  output logic         s_home_rvalid,
  input  logic         s_home_rready,
  output logic [15:0]  s_home_rid,
  output logic [511:0] s_home_rdata,
  output logic [1:0]   s_home_rresp,
  output logic         s_home_rlast,
  input  logic         s_home_awvalid,
  output logic         s_home_awready,
  input  logic [15:0]  s_home_awid,
  input  logic [63:0]  s_home_awaddr,
  input  logic         s_home_wvalid,
  output logic         s_home_wready,
  input  logic [511:0] s_home_wdata,
  input  logic [63:0]  s_home_wstrb,
  output logic         s_home_bvalid,
  input  logic         s_home_bready,
  output logic [15:0]  s_home_bid,
  output logic [1:0]   s_home_bresp,

  output logic         m_line_req_valid,
  input  logic         m_line_req_ready,
  output logic [2:0]   m_line_req_operation,
  output logic [5:0]   m_line_req_tag,
  output logic [32:0]  m_line_req_line,
  input  logic         m_line_ack_valid,
  output logic         m_line_ack_ready,
  input  logic [5:0]   m_line_ack_tag
);

  localparam int unsigned LinesLog2 = 4;
  localparam int unsigned LineLog2 = 7;
  localparam int unsigned WindowLog2 = LinesLog2 + LineLog2;
  localparam logic [2:0] CleanInvalidate = 3'd1;
  localparam logic [1:0] Okay = 2'b00;
  localparam logic [1:0] DecodeError = 2'b11;
  typedef logic [LinesLog2-1:0] line_t;
  localparam line_t Question = line_t'(0);
  localparam line_t Answer = line_t'(1);

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [31:0] answers;  // 0x1C
    logic [31:0] add;      // 0x18
    logic [63:0] base;     // 0x10
  } arguments_t;

  arguments_t arguments;
  logic start, done;

  kernel_control_registers #(
    .ArgumentWords($bits(arguments_t) / 32)
  ) u_control (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .awvalid_i(s_axi_control_awvalid),
    .awready_o(s_axi_control_awready),
    .awaddr_i(s_axi_control_awaddr),
    .wvalid_i(s_axi_control_wvalid),
    .wready_o(s_axi_control_wready),
    .wdata_i(s_axi_control_wdata),
    .wstrb_i(s_axi_control_wstrb),
    .bvalid_o(s_axi_control_bvalid),
    .bready_i(s_axi_control_bready),
    .bresp_o(s_axi_control_bresp),
    .arvalid_i(s_axi_control_arvalid),
    .arready_o(s_axi_control_arready),
    .araddr_i(s_axi_control_araddr),
    .rvalid_o(s_axi_control_rvalid),
    .rready_i(s_axi_control_rready),
    .rdata_o(s_axi_control_rdata),
    .rresp_o(s_axi_control_rresp),
    .interrupt_o(interrupt),
    .begin_o(start),
    .done_i(done),
    .arguments_o(arguments)
  );

  // ---------------------------------------------------------------------------------------------
  // The lines: this part takes what the CPU writes back
  // ---------------------------------------------------------------------------------------------

  logic read_enable, unused_written;
  logic [LinesLog2:0] read_row;
  logic [511:0] row;
  line_t unused_line;

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
    .written_o(unused_written),
    .line_o(unused_line),
    .read_i(read_enable),
    .read_row_i(read_row),
    .row_o(row),
    .write_i(1'b0),
    .write_row_i('0),
    .write_data_i('0),
    .write_strobes_i('0)
  );

  // ---------------------------------------------------------------------------------------------
  // What the CPU loads
  // ---------------------------------------------------------------------------------------------

  typedef enum logic [1:0] {
    StIdle,
    StRecall,  // the question is called home: the operation is offered
    StWait,    // until it is acknowledged: then memory is up to date
    StRows     // two rows to the directory
  } state_e;

  state_e state_q;
  logic running_q, second_q, inside_q, answer_q;
  logic [31:0] left_q;
  logic [15:0] id_q;
  line_t line_q;  // whose rows are sent

  line_t ar_line;
  logic ar_taken, ar_inside, is_answer, row_taken, answered;
  assign s_home_arready = state_q == StIdle;
  assign ar_taken = s_home_arvalid && s_home_arready;
  assign ar_line = s_home_araddr[LineLog2+:LinesLog2];
  assign ar_inside = s_home_araddr[63:WindowLog2] == arguments.base[63:WindowLog2];
  assign is_answer = running_q && ar_inside && ar_line == Answer;
  assign row_taken = s_home_rvalid && s_home_rready;
  assign answered = row_taken && second_q && answer_q;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      state_q <= StIdle;
    end else begin
      unique case (state_q)
        StIdle: if (ar_taken) state_q <= is_answer ? StRecall : StRows;
        StRecall: if (m_line_req_ready) state_q <= StWait;
        StWait: if (m_line_ack_valid) state_q <= StRows;
        default: if (row_taken && second_q) state_q <= StIdle;
      endcase
    end
  end
  always_ff @(posedge ap_clk) begin
    if (ar_taken) begin
      id_q <= s_home_arid;
      inside_q <= ar_inside;
      answer_q <= is_answer;
      line_q <= is_answer ? Question : ar_line;
    end
    if (state_q == StIdle) second_q <= 1'b0;
    else if (row_taken) second_q <= 1'b1;
  end

  // A row of memory is there one cycle after it is asked for.
  always_comb begin
    read_enable = (ar_taken && !is_answer) || (state_q == StWait && m_line_ack_valid)
        || (row_taken && !second_q);
    read_row = {line_q, 1'b0};
    if (ar_taken) read_row = {ar_line, 1'b0};
    if (state_q == StRows) read_row = {line_q, 1'b1};
  end

  // ---------------------------------------------------------------------------------------------
  // What it answers: change this
  // ---------------------------------------------------------------------------------------------

  logic [511:0] answer_row;
  for (genvar i = 0; i < 16; i++) begin : gen_words
    assign answer_row[32*i+:32] = row[32*i+:32] + arguments.add;
  end

  assign s_home_rvalid = state_q == StRows;
  assign s_home_rid = id_q;
  assign s_home_rdata = answer_q ? answer_row : row;
  assign s_home_rresp = inside_q ? Okay : DecodeError;
  assign s_home_rlast = second_q;

  // ---------------------------------------------------------------------------------------------
  // Operations, and runs
  // ---------------------------------------------------------------------------------------------

  // One operation at a time, so one tag.
  assign m_line_req_valid = state_q == StRecall;
  assign m_line_req_operation = CleanInvalidate;
  assign m_line_req_tag = '0;
  assign m_line_req_line = {arguments.base[39:WindowLog2], Question};
  assign m_line_ack_ready = 1'b1;

  assign done = running_q && answered && left_q == 32'd1;
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      running_q <= 1'b0;
      left_q <= '0;
    end else begin
      if (start) running_q <= 1'b1;
      else if (done) running_q <= 1'b0;
      if (start) left_q <= arguments.answers;
      else if (answered && left_q != '0) left_q <= left_q - 1'b1;
    end
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, s_home_araddr[LineLog2-1:0], arguments.base[63:40], arguments.base[WindowLog2-1:0],
                       m_line_ack_tag, unused_written, unused_line};

endmodule
