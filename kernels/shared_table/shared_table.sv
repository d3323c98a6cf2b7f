// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: a table of 512 rows of 128 bytes that the CPU and this kernel both change (CCKit, section 5.4). The
// kernel is the memory of the table's lines; it goes through the first `rows` of them, over and over, `updates`
// times in all: locks the row, adds 1 to its word 1, unlocks it. While a row is locked, the CPU has no copy of
// it and gets none.
//
// Up to `inflight` rows are locked, or about to be, at a time; each has a tag of the directory's operations.
// Between two locks are at least `pause` cycles.
//
// Throughput: a row every seven cycles at most, inflight rows in the time of a lock and an unlock. Ordering: rows
// are locked in their order. The CPU's lines: one at a time, three cycles each.
// No deadlock: writes of lines wait for two cycles of an update at most, reads for nothing; an update waits for
// its acknowledgements alone. Register map: kernel.toml. Control: ap_ctrl_hs.

`include "tmb_ports.svh"

module shared_table #(
  parameter int unsigned Tags = 16
) (
  `TMB_KERNEL_PORTS,
  `TMB_HOME_PORTS(s_home),
  `TMB_LINE_PORTS(m_line)
);

  localparam int unsigned LinesLog2 = 9;
  localparam int unsigned LineLog2 = 7;
  localparam int unsigned WindowLog2 = LinesLog2 + LineLog2;
  localparam int unsigned TagWidth = $clog2(Tags);
  localparam logic [2:0] Lock = 3'd2;
  localparam logic [2:0] Unlock = 3'd3;
  localparam logic [1:0] Okay = 2'b00;
  localparam logic [1:0] DecodeError = 2'b11;
  typedef logic [LinesLog2-1:0] line_t;
  typedef logic [TagWidth-1:0] tag_t;

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [31:0] pause;     // 0x24
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
  // Lines
  // ---------------------------------------------------------------------------------------------

  logic read_enable, update_write, unused_written;
  logic [LinesLog2:0] read_row;
  logic [511:0] row_q, write_data;
  logic [63:0] write_strobes;
  logic [LinesLog2:0] write_row;
  line_t unused_written_line;

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
    .line_o(unused_written_line),
    .read_i(read_enable),
    .read_row_i(read_row),
    .row_o(row_q),
    .write_i(update_write),
    .write_row_i(write_row),
    .write_data_i(write_data),
    .write_strobes_i(write_strobes)
  );

  // ---------------------------------------------------------------------------------------------
  // The memory's read port: lines of the CPU, and rows to update, one after the other
  // ---------------------------------------------------------------------------------------------

  typedef enum logic [2:0] {
    StIdle,
    StFirst,   // the first row is here
    StSecond,
    StUpdate,  // the row of an update is here
    StUnlock   // its unlock waits to be sent
  } state_e;

  state_e state_q, state_d;
  logic [15:0] id_q;
  line_t line_q;
  logic inside_q, ar_taken, locked_valid, locked_take, unlock_sent;
  tag_t locked_tag, tag_q;
  line_t tag_line_q [Tags];

  assign s_home_arready = state_q == StIdle && !locked_valid;
  assign ar_taken = s_home_arvalid && s_home_arready;
  assign locked_take = state_q == StIdle && locked_valid;
  always_comb begin
    state_d = state_q;
    read_enable = 1'b0;
    read_row = {s_home_araddr[LineLog2+:LinesLog2], 1'b0};
    unique case (state_q)
      StIdle: begin
        read_enable = locked_valid || ar_taken;
        if (locked_valid) begin
          read_row = {tag_line_q[locked_tag], 1'b0};
          state_d = StUpdate;
        end else if (ar_taken) begin
          state_d = StFirst;
        end
      end
      StFirst: begin
        read_enable = s_home_rready;
        read_row = {line_q, 1'b1};
        if (s_home_rready) state_d = StSecond;
      end
      StSecond: if (s_home_rready) state_d = StIdle;
      StUpdate: state_d = StUnlock;
      default: if (unlock_sent) state_d = StIdle;
    endcase
  end
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) state_q <= StIdle;
    else state_q <= state_d;
  end
  always_ff @(posedge ap_clk) begin
    if (ar_taken) begin
      id_q <= s_home_arid;
      inside_q <= s_home_araddr[63:WindowLog2] == arguments.base[63:WindowLog2];
      line_q <= s_home_araddr[LineLog2+:LinesLog2];
    end
    if (locked_take) begin
      tag_q <= locked_tag;
      line_q <= tag_line_q[locked_tag];
    end
  end
  assign s_home_rvalid = state_q == StFirst || state_q == StSecond;
  assign s_home_rid = id_q;
  assign s_home_rdata = row_q;
  assign s_home_rlast = state_q == StSecond;
  assign s_home_rresp = inside_q ? Okay : DecodeError;

  assign update_write = state_q == StUpdate;
  assign write_row = {line_q, 1'b0};
  assign write_data = {row_q[511:128], row_q[127:64] + 64'd1, row_q[63:0]};
  assign write_strobes = 64'h0000_0000_0000_ff00;

  // ---------------------------------------------------------------------------------------------
  // Locks and unlocks
  // ---------------------------------------------------------------------------------------------

  // By tag: under way, and whether it is the unlock.
  logic [Tags-1:0] busy_q, unlocking_q;
  logic running_q, lock_valid, lock_sent;
  logic [31:0] left_q, pause_q;
  line_t next_q;
  tag_t lock_tag_q, ack_tag;
  logic ack;

  assign ack = m_line_ack_valid;
  assign ack_tag = m_line_ack_tag[TagWidth-1:0];
  assign m_line_ack_ready = 1'b1;
  // A place for every tag.
  logic unused_locked_ready;
  kernel_fifo #(
    .Width(TagWidth),
    .Depth(Tags)
  ) u_locked (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .in_valid_i(ack && !unlocking_q[ack_tag]),
    .in_ready_o(unused_locked_ready),
    .in_data_i(ack_tag),
    .out_valid_o(locked_valid),
    .out_ready_i(locked_take),
    .out_data_o(locked_tag)
  );

  // An offer stays until it is taken. Unlocks first.
  logic offer_q, offer_unlock_q;
  logic [5:0] offer_tag_q;
  line_t offer_line_q;
  logic offer_free;
  assign offer_free = !offer_q || m_line_req_ready;
  assign lock_valid = running_q && left_q != '0 && pause_q == '0 && !busy_q[lock_tag_q];
  assign unlock_sent = state_q == StUnlock && offer_free;
  assign lock_sent = lock_valid && offer_free && state_q != StUnlock;
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) offer_q <= 1'b0;
    else if (offer_free) offer_q <= unlock_sent || lock_sent;
  end
  always_ff @(posedge ap_clk) begin
    if (offer_free) begin
      offer_unlock_q <= unlock_sent;
      offer_tag_q <= 6'(unlock_sent ? tag_q : lock_tag_q);
      offer_line_q <= unlock_sent ? line_q : next_q;
    end
    if (lock_sent) tag_line_q[lock_tag_q] <= next_q;
  end
  assign m_line_req_valid = offer_q;
  assign m_line_req_operation = offer_unlock_q ? Unlock : Lock;
  assign m_line_req_tag = offer_tag_q;
  assign m_line_req_line = {arguments.base[39:WindowLog2], offer_line_q};

  assign done = running_q && left_q == '0 && busy_q == '0;
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      running_q <= 1'b0;
      busy_q <= '0;
      unlocking_q <= '0;
      lock_tag_q <= '0;
      next_q <= '0;
      left_q <= '0;
      pause_q <= '0;
    end else begin
      if (start) running_q <= 1'b1;
      else if (done) running_q <= 1'b0;
      if (start) begin
        left_q <= arguments.updates;
        next_q <= '0;
        lock_tag_q <= '0;
      end else if (lock_sent) begin
        left_q <= left_q - 1'b1;
        next_q <= 32'(next_q) + 1 >= arguments.rows ? '0 : next_q + 1'b1;
        lock_tag_q <= (32'(lock_tag_q) + 1 >= arguments.inflight) ? '0 : lock_tag_q + 1'b1;
      end
      if (lock_sent) pause_q <= arguments.pause;
      else if (pause_q != '0) pause_q <= pause_q - 1'b1;
      if (lock_sent) busy_q[lock_tag_q] <= 1'b1;
      if (ack && unlocking_q[ack_tag]) begin
        busy_q[ack_tag] <= 1'b0;
        unlocking_q[ack_tag] <= 1'b0;
      end
      if (unlock_sent) unlocking_q[tag_q] <= 1'b1;
    end
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, s_home_araddr[LineLog2-1:0],
                       arguments.base[63:40], arguments.base[WindowLog2-1:0], m_line_ack_tag[5:TagWidth],
                       unused_locked_ready, unused_written, unused_written_line};

endmodule
