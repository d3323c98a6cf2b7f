// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: a queue of work from which a plain load takes an item. It stands behind the directory and is the memory of
// 64 lines of 128 bytes from `base` on, four for each of 16 consumers. A consumer loads its lines one after the other,
// round and round. Each load is answered with the next item of the queue; while there is none, the load waits,
// and the CPU with it. So every item is taken once, in order of arrival, without a lock, an atomic operation, a poll
// over the link or an interrupt.
//
// The first row of an answer: status in word 0 (0: an item; 1: none came for `wait` cycles, try again; 2: no more
// come), the item's number in word 1, its value in word 2. Items come from work_source.sv: put yours there.
//
// A load must miss for that. So when a line is loaded, the one that the same consumer will load two loads later is
// brought home (a clean-invalidate), and an answer waits until the consumer has no copy of the line that comes next. That
// was asked for one load before, so no load waits for it as a rule. A consumer that loads its lines in another order
// reads what they had before: it sees items twice, and takes none from others.
//
// Register map: kernel.toml. Control: ap_ctrl_hs, done with the last item. Throughput: an item every three cycles.
// Latency: two cycles from a load to its answer, if an item is there. Ordering: items are given in their order;
// consumers that wait take turns. No deadlock: writes are always taken, and a load waits for acknowledgements and for
// time alone.

`include "tmb_ports.svh"

module work_queue (
  `TMB_KERNEL_PORTS,
  `TMB_HOME_PORTS(s_home),
  `TMB_LINE_PORTS(m_line)
);

  localparam int unsigned Consumers = 16;
  localparam int unsigned LinesLog2 = 6;
  localparam int unsigned LineLog2 = 7;
  localparam int unsigned WindowLog2 = LinesLog2 + LineLog2;
  localparam logic [2:0] CleanInvalidate = 3'd1;
  localparam logic [1:0] Okay = 2'b00;
  localparam logic [1:0] DecodeError = 2'b11;
  typedef logic [LinesLog2-1:0] line_t;
  typedef logic [3:0] consumer_t;
  typedef logic [1:0] place_t;  // of four lines

  typedef enum logic [1:0] {
    AnswerItem,
    AnswerNone,
    AnswerEnd
  } answer_e;

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [31:0] patience;  // 0x20
    logic [31:0] pace;      // 0x1C
    logic [31:0] items;     // 0x18
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

  logic read_enable, answer_write, unused_written;
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
    .write_i(answer_write),
    .write_row_i(write_row),
    .write_data_i(write_data),
    .write_strobes_i(write_strobes)
  );

  // ---------------------------------------------------------------------------------------------
  // Items
  // ---------------------------------------------------------------------------------------------

  logic item_valid, item_ready, ended;
  logic [63:0] item_number, item_value;
  work_source u_source (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .items_i(arguments.items),
    .pace_i(arguments.pace),
    .valid_o(item_valid),
    .ready_i(item_ready),
    .number_o(item_number),
    .value_o(item_value),
    .ended_o(ended)
  );

  // The run is over when the last item is taken.
  logic running_q;
  assign done = running_q && !start && ended;
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) running_q <= 1'b0;
    else if (start) running_q <= 1'b1;
    else if (done) running_q <= 1'b0;
  end

  // ---------------------------------------------------------------------------------------------
  // Loads: plain ones, and those that take
  // ---------------------------------------------------------------------------------------------

  typedef enum logic [1:0] {
    StIdle,
    StRows,    // two rows of memory to the directory
    StAnswer   // two rows of an answer
  } state_e;

  state_e state_q, state_d;
  logic second_q, second_d, inside_q;
  logic [15:0] id_q;
  line_t line_q;
  answer_e answer_q;
  logic [63:0] number_q, value_q;

  // By consumer: the line that it takes next with; it waits; it waited at the last tick; the recall of a
  // line is to be asked for.
  place_t next_q [Consumers];
  logic [Consumers-1:0] wait_q, old_q, late_q, ask_q;
  place_t ask_place_q [Consumers];
  logic [15:0] wait_id_q [Consumers];
  // By line: its consumer has no copy.
  logic [(1<<LinesLog2)-1:0] clear_q;

  logic ar_taken, ar_inside, is_take, row_taken, picked;
  line_t ar_line;
  consumer_t ar_consumer, last_q, pick;
  logic [Consumers-1:0] ready, after_last;
  answer_e answer;
  logic pick_valid;

  assign ar_line = s_home_araddr[LineLog2+:LinesLog2];
  assign ar_consumer = ar_line[LinesLog2-1:2];
  assign ar_inside = s_home_araddr[63:WindowLog2] == arguments.base[63:WindowLog2];
  assign is_take = ar_inside && ar_line[1:0] == next_q[ar_consumer];
  assign ar_taken = s_home_arvalid && s_home_arready;

  // Who can be answered, and with what.
  always_comb begin
    for (int unsigned c = 0; c < Consumers; c++) begin
      ready[c] = wait_q[c] && !ask_q[c] && clear_q[{consumer_t'(c), place_t'(next_q[c] + 2'd1)}]
          && (item_valid || !running_q || late_q[c]);
      after_last[c] = ready[c] && consumer_t'(c) > last_q;
    end
    pick_valid = ready != '0;
    pick = '0;
    for (int unsigned c = Consumers; c > 0; c--) begin
      if (after_last != '0 ? after_last[c-1] : ready[c-1]) pick = consumer_t'(c - 1);
    end
    if (item_valid) answer = AnswerItem;
    else if (running_q) answer = AnswerNone;
    else answer = AnswerEnd;
  end
  assign picked = state_q == StIdle && pick_valid;
  assign item_ready = picked;
  assign s_home_arready = state_q == StIdle && !pick_valid;
  assign s_home_rvalid = state_q == StRows || state_q == StAnswer;
  assign row_taken = s_home_rvalid && s_home_rready;

  always_comb begin
    state_d = state_q;
    second_d = second_q;
    read_enable = 1'b0;
    read_row = {line_q, 1'b1};
    unique case (state_q)
      StIdle: begin
        second_d = 1'b0;
        read_enable = ar_taken;
        read_row = {ar_line, 1'b0};
        if (ar_taken && !is_take) state_d = StRows;
        if (picked) state_d = StAnswer;
      end
      StRows, StAnswer: begin
        read_enable = row_taken && !second_q;
        if (row_taken) begin
          second_d = 1'b1;
          if (second_q) state_d = StIdle;
        end
      end
      default: state_d = StIdle;
    endcase
  end
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      state_q <= StIdle;
      second_q <= 1'b0;
    end else begin
      state_q <= state_d;
      second_q <= second_d;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (picked) begin
      id_q <= wait_id_q[pick];
      line_q <= {pick, next_q[pick]};
      inside_q <= 1'b1;
      answer_q <= answer;
      number_q <= answer == AnswerItem ? item_number : '0;
      value_q <= answer == AnswerItem ? item_value : '0;
    end else if (ar_taken) begin
      id_q <= s_home_arid;
      line_q <= ar_line;
      inside_q <= ar_inside;
    end
    if (ar_taken && is_take) wait_id_q[ar_consumer] <= s_home_arid;
  end

  // An answer is what its line holds from now on.
  assign answer_write = row_taken && state_q == StAnswer;
  assign s_home_rid = id_q;
  assign s_home_rlast = second_q;
  assign s_home_rresp = inside_q ? Okay : DecodeError;
  always_comb begin
    s_home_rdata = row_q;
    if (state_q == StAnswer) s_home_rdata = second_q ? '0 : 512'({value_q, number_q, 64'(answer_q)});
  end
  assign write_row = {line_q, second_q};
  assign write_data = s_home_rdata;
  assign write_strobes = '1;

  // Consumers. One that waits at a tick and at the next one has waited long.
  logic tick;
  logic [31:0] ticks_q;
  assign tick = ticks_q == '0;
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      last_q <= '0;
      wait_q <= '0;
      old_q <= '0;
      late_q <= '0;
      ticks_q <= '0;
      for (int unsigned c = 0; c < Consumers; c++) next_q[c] <= '0;
    end else begin
      ticks_q <= tick ? arguments.patience : ticks_q - 1'b1;
      if (tick) begin
        old_q <= wait_q;
        late_q <= late_q | (old_q & wait_q);
      end
      if (ar_taken && is_take) wait_q[ar_consumer] <= 1'b1;
      if (picked) begin
        last_q <= pick;
        wait_q[pick] <= 1'b0;
        old_q[pick] <= 1'b0;
        late_q[pick] <= 1'b0;
        next_q[pick] <= next_q[pick] + 2'd1;
      end
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Lines come home
  // ---------------------------------------------------------------------------------------------

  logic line_valid_q, issue, offer_free;
  line_t recall_q;
  consumer_t issue_consumer;
  logic [(1<<LinesLog2)-1:0] busy_q;  // of each line: its recall is under way; the line is its tag
  line_t issue_line;

  assign m_line_req_valid = line_valid_q;
  assign m_line_req_operation = CleanInvalidate;
  assign m_line_req_tag = recall_q;
  assign m_line_req_line = {arguments.base[39:WindowLog2], recall_q};
  assign m_line_ack_ready = 1'b1;
  assign offer_free = !line_valid_q || m_line_req_ready;

  always_comb begin
    issue = 1'b0;
    issue_consumer = '0;
    for (int unsigned c = Consumers; c > 0; c--) begin
      if (ask_q[c-1] && !busy_q[{consumer_t'(c - 1), ask_place_q[c-1]}]) begin
        issue = offer_free;
        issue_consumer = consumer_t'(c - 1);
      end
    end
  end
  assign issue_line = {issue_consumer, ask_place_q[issue_consumer]};
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      line_valid_q <= 1'b0;
      ask_q <= '0;
      busy_q <= '0;
      clear_q <= '1;
    end else begin
      if (offer_free) line_valid_q <= issue;
      if (issue) begin
        ask_q[issue_consumer] <= 1'b0;
        busy_q[issue_line] <= 1'b1;
      end
      if (ar_taken && is_take) ask_q[ar_consumer] <= 1'b1;
      if (m_line_ack_valid) begin
        busy_q[m_line_ack_tag] <= 1'b0;
        clear_q[m_line_ack_tag] <= 1'b1;
      end
      if (picked) clear_q[{pick, next_q[pick]}] <= 1'b0;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (issue) recall_q <= issue_line;
    if (ar_taken && is_take) ask_place_q[ar_consumer] <= ar_line[1:0] + 2'd2;
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, s_home_araddr[LineLog2-1:0],
                       arguments.base[63:40], arguments.base[WindowLog2-1:0],
                       unused_written, unused_written_line};

endmodule
