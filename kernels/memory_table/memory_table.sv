// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: counts in lines of card memory that the CPU changes, too. Memory serves the lines; this kernel goes with it
// and has line operations only (CCKit, section 3.3, figure 2). It goes through `rows` lines
// from `base` on, over and over, `updates` times in all: locks the line, reads it, adds 1 to its word 1, writes that
// quarter of it, unlocks it. While a line is locked the CPU has no copy of it and gets none.
//
// Up to `inflight` lines are under way at a time, each with a tag of the directory's operations.
//
// Throughput: inflight lines in the time of four operations; a line every six cycles at most. Ordering: lines are locked
// in their order. No deadlock: acknowledgements are always taken, each makes room for the operation that
// follows. Register map: kernel.toml. Control: ap_ctrl_hs.

`include "tmb_ports.svh"

module memory_table #(
  parameter int unsigned Tags = 16
) (
  `TMB_KERNEL_PORTS,
  `TMB_LINE_PORTS(m_line),
  output logic [3:0]   m_line_req_parts,
  output logic [511:0] m_line_req_row,
  output logic         m_line_req_last,
  input  logic [511:0] m_line_ack_row,
  input  logic         m_line_ack_last
);

  localparam int unsigned LineLog2 = 7;
  localparam int unsigned TagWidth = $clog2(Tags);
  typedef logic [TagWidth-1:0] tag_t;
  typedef logic [32:0] line_t;
  typedef logic [255:0] quarter_t;

  // The operation of a tag that is under way, by its number at the port.
  typedef enum logic [2:0] {
    Lock = 3'd2,
    Unlock = 3'd3,
    Read = 3'd4,
    Write = 3'd5
  } operation_e;

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [31:0] inflight;  // 0x20
    logic [31:0] updates;   // 0x1C
    logic [31:0] rows;      // 0x18
    logic [63:0] base;      // 0x10
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

  // ---------------------------------------------------------------------------------------------
  // What follows an acknowledgement
  // ---------------------------------------------------------------------------------------------

  operation_e operation_q [Tags];
  line_t line_q [Tags];
  quarter_t quarter_q [Tags];
  logic [Tags-1:0] busy_q;
  tag_t ack_tag, next_tag;
  logic follows, ends, next_valid, next_take, unused_next_ready;
  operation_e ack_operation, following;

  assign m_line_ack_ready = 1'b1;
  assign ack_tag = m_line_ack_tag[TagWidth-1:0];
  assign ack_operation = operation_q[ack_tag];
  assign ends = m_line_ack_valid && m_line_ack_last && ack_operation == Unlock;
  assign follows = m_line_ack_valid && m_line_ack_last && ack_operation != Unlock;
  always_comb begin
    unique case (ack_operation)
      Lock: following = Read;
      Read: following = Write;
      default: following = Unlock;
    endcase
  end

  // A place for every tag.
  kernel_fifo #(
    .Width(TagWidth),
    .Depth(Tags)
  ) u_next (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .in_valid_i(follows),
    .in_ready_o(unused_next_ready),
    .in_data_i(ack_tag),
    .out_valid_o(next_valid),
    .out_ready_i(next_take),
    .out_data_o(next_tag)
  );
  always_ff @(posedge ap_clk) begin
    // The first row of a line that was read.
    if (m_line_ack_valid && !m_line_ack_last) quarter_q[ack_tag] <= m_line_ack_row[255:0];
  end

  // ---------------------------------------------------------------------------------------------
  // Operations: what follows goes before new locks
  // ---------------------------------------------------------------------------------------------

  logic running_q, offer_q, second_q, offer_free, lock_sent, last_q;
  logic [31:0] left_q, row_q;
  operation_e offer_operation_q, next_operation;
  tag_t lock_tag_q, offer_tag_q;
  line_t offer_line_q;
  quarter_t offer_quarter_q, next_quarter;

  assign offer_free = !offer_q || m_line_req_ready;
  assign next_take = offer_free && !second_q;
  assign next_operation = operation_q[next_tag];
  assign next_quarter = quarter_q[next_tag];
  assign lock_sent = offer_free && !second_q && !next_valid && running_q && left_q != '0
      && !busy_q[lock_tag_q];

  assign m_line_req_valid = offer_q;
  assign m_line_req_operation = offer_operation_q;
  assign m_line_req_tag = 6'(offer_tag_q);
  assign m_line_req_line = offer_line_q;
  assign m_line_req_parts = 4'b0001;
  assign m_line_req_row = 512'(offer_quarter_q);
  assign m_line_req_last = last_q;

  assign done = running_q && !start && left_q == '0 && busy_q == '0;
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      running_q <= 1'b0;
      busy_q <= '0;
      offer_q <= 1'b0;
      second_q <= 1'b0;
      lock_tag_q <= '0;
      left_q <= '0;
      row_q <= '0;
    end else begin
      if (start) running_q <= 1'b1;
      else if (done) running_q <= 1'b0;
      if (start) begin
        left_q <= arguments.updates;
        row_q <= '0;
        lock_tag_q <= '0;
      end else if (lock_sent) begin
        left_q <= left_q - 1'b1;
        row_q <= row_q + 32'd1 >= arguments.rows ? '0 : row_q + 1'b1;
        lock_tag_q <= 32'(lock_tag_q) + 1 >= arguments.inflight ? '0 : lock_tag_q + 1'b1;
      end
      if (offer_free) begin
        offer_q <= second_q || next_valid || lock_sent;
        second_q <= !second_q && next_valid && next_operation == Write;
      end
      if (lock_sent) busy_q[lock_tag_q] <= 1'b1;
      if (ends) busy_q[ack_tag] <= 1'b0;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (offer_free && !second_q) begin
      offer_operation_q <= next_valid ? next_operation : Lock;
      offer_tag_q <= next_valid ? next_tag : lock_tag_q;
      offer_line_q <= next_valid ? line_q[next_tag] : arguments.base[39:LineLog2] + line_t'(row_q);
      offer_quarter_q <= {next_quarter[255:128], next_quarter[127:64] + 64'd1, next_quarter[63:0]};
      last_q <= !(next_valid && next_operation == Write);
    end else if (offer_free) begin
      last_q <= 1'b1;
    end
    if (lock_sent) begin
      operation_q[lock_tag_q] <= Lock;
      line_q[lock_tag_q] <= arguments.base[39:LineLog2] + line_t'(row_q);
    end
    if (follows) operation_q[ack_tag] <= following;
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, arguments.base[63:40], arguments.base[LineLog2-1:0], m_line_ack_tag[5:TagWidth],
                       m_line_ack_row[511:256], unused_next_ready};

endmodule
