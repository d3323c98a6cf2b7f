// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// One slice of the directory's lines of kernel rpc_lines: every other payload line of both windows, and a control line
// (A of slice 0, B of slice 1). `turn_i` selects the window and the control line of the request.
//
// Reads of the request's window and control line are served at once; those of the answer's window wait for the next
// turn, the one of the answer's control line is a call. A payload line is *away* from the read that brought it
// to the CPU until it is written, or a recall is acknowledged. During a call (`go_i`) the walker
// goes through the lines of the request in order, waits for each, and gives it to the handler.
//
// Throughput: a read every three cycles, a write and a walked line every two. Ordering: none between lines.
// No deadlock: writes wait for nothing but an echo's row, which waits for nothing; the walker waits for lines
// that the CPU sends, and calls them home itself when none has come for StallCycles.

module rpc_lines_slice #(
  parameter bit          Slice = 0,
  parameter int unsigned LineWidth = 33,
  parameter int unsigned PairWidth = 10,      // payload lines of a window and slice
  parameter int unsigned StallCycles = 256
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  input  logic                 serving_i,     // else every line is an error
  input  logic [LineWidth-1:0] base_i,        // first line of all

  // Home port: see docs/kernels.md. IDs are below 32.
  input  logic                 arvalid_i,
  output logic                 arready_o,
  input  logic [4:0]           arid_i,
  input  logic [LineWidth-1:0] arline_i,
  output logic                 rvalid_o,
  input  logic                 rready_i,
  output logic [4:0]           rid_o,
  output logic [511:0]         rdata_o,
  output logic                 rerror_o,
  output logic                 rlast_o,
  input  logic                 awvalid_i,
  output logic                 awready_o,
  input  logic [4:0]           awid_i,
  input  logic [LineWidth-1:0] awline_i,
  input  logic                 wvalid_i,
  output logic                 wready_o,
  input  logic [511:0]         wdata_i,
  input  logic [63:0]          wstrb_i,
  output logic                 bvalid_o,
  input  logic                 bready_i,
  output logic [4:0]           bid_o,
  output logic                 berror_o,

  // Line operations: clean-invalidate alone.
  output logic                 op_valid_o,
  input  logic                 op_ready_i,
  output logic [5:0]           op_tag_o,
  output logic [LineWidth-1:0] op_line_o,
  input  logic                 ack_valid_i,
  input  logic [5:0]           ack_tag_i,

  // Calls.
  input  logic                 turn_i,        // 0: window X and line A are the request's; 1: Y and B
  output logic                 call_o,        // a read of the answer's control line waits here
  input  logic                 answer_i,      // it gets this row and then zeroes; one cycle, in which the turn ends
  input  logic [511:0]         answer_row_i,
  input  logic                 fetch_i,       // the request's control line is wanted here
  output logic                 fetched_o,     // and is home
  output logic [511:0]         control_o,     // its first row
  input  logic                 begin_i,       // one cycle before `go_i`
  input  logic                 go_i,          // the request's lines are walked
  input  logic [PairWidth+1:0] lines_i,       // so many, of both slices
  input  logic                 reads_i,       // the handler wants their rows
  input  logic                 echo_i,        // and they are the answer, too
  output logic                 over_o,        // all are home and handled
  output logic [63:0]          sum_o,         // of their words
  output logic [63:0]          xor_o
);

  localparam int unsigned Places = 32;
  localparam int unsigned Tags = 32;
  localparam logic [5:0] ControlTag = 6'(Tags);
  // Within the kernel's lines: control, window, pair, which of the pair.
  localparam int unsigned LocalWidth = PairWidth + 3;
  typedef logic [LineWidth-1:0] line_t;
  typedef logic [PairWidth-1:0] pair_t;

  // A line of the link.
  typedef struct packed {
    logic  error;
    logic  control;
    logic  window;
    pair_t pair;
  } place_t;
  function automatic place_t place_of(line_t line, line_t base, logic serving);
    line_t local_line;
    place_t place;
    local_line = line - base;
    place.control = local_line[LocalWidth-1];
    place.window = local_line[LocalWidth-2];
    place.pair = local_line[PairWidth:1];
    place.error = !serving || local_line[LineWidth-1:LocalWidth] != '0
        || (place.control && local_line[LocalWidth-2:1] != '0);
    return place;
  endfunction
  // Of two neighbours, the one that is this slice's (the directory's fold).
  function automatic logic which(logic fifth_bit);
    return Slice ^ fifth_bit;
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Memory: a row read and a row written a cycle in each window
  // ---------------------------------------------------------------------------------------------

  logic read_enable, read_window;
  logic [PairWidth:0] read_row;
  logic write_enable [2];
  logic [PairWidth:0] write_row [2];
  logic [511:0] write_data [2];
  logic [63:0] write_strobes [2];
  logic [511:0] rows [2];
  logic [511:0] row_q;
  logic window_q;
  for (genvar w = 0; w < 2; w++) begin : gen_window
    logic [511:0] memory [2 << PairWidth];
    logic [511:0] read_q;
    initial begin
      for (int unsigned i = 0; i < (2 << PairWidth); i++) memory[i] = '0;
    end
    always_ff @(posedge clk_i) begin
      if (read_enable && read_window == 1'(w)) read_q <= memory[read_row];
    end
    always_ff @(posedge clk_i) begin
      if (write_enable[w]) begin
        for (int unsigned b = 0; b < 64; b++) begin
          if (write_strobes[w][b]) memory[write_row[w]][8*b+:8] <= write_data[w][8*b+:8];
        end
      end
    end
    assign rows[w] = read_q;
  end
  always_ff @(posedge clk_i) begin
    if (read_enable) window_q <= read_window;
  end
  assign row_q = rows[window_q];

  // ---------------------------------------------------------------------------------------------
  // Writes of the directory
  // ---------------------------------------------------------------------------------------------

  logic w_busy_q, w_second_q, row_written, line_written, echo_write, unused_done_ready;
  logic [4:0] w_id_q;
  place_t w_place_q;
  logic [511:0] control_q;
  assign awready_o = !w_busy_q || line_written;
  assign wready_o = w_busy_q && !(echo_write && !w_place_q.control && w_place_q.window != turn_i);
  assign row_written = wvalid_i && wready_o;
  assign line_written = row_written && w_second_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      w_busy_q <= 1'b0;
      w_second_q <= 1'b0;
    end else begin
      if (awready_o) w_busy_q <= awvalid_i;
      if (row_written) w_second_q <= !w_second_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (awready_o) begin
      w_id_q <= awid_i;
      w_place_q <= place_of(awline_i, base_i, serving_i);
    end
  end
  kernel_fifo #(
    .Width(6),
    .Depth(Places)
  ) u_done (
    .clk_i,
    .rst_ni,
    .in_valid_i(line_written),
    .in_ready_o(unused_done_ready),
    .in_data_i({w_id_q, w_place_q.error}),
    .out_valid_o(bvalid_o),
    .out_ready_i(bready_i),
    .out_data_o({bid_o, berror_o})
  );

  // ---------------------------------------------------------------------------------------------
  // Reads of the directory: sorted, then one after the other
  // ---------------------------------------------------------------------------------------------

  typedef struct packed {
    logic [4:0] id;
    place_t     place;
  } read_t;
  logic new_valid;
  read_t head;
  kernel_fifo #(
    .Width($bits(read_t)),
    .Depth(Places)
  ) u_new (
    .clk_i,
    .rst_ni,
    .in_valid_i(arvalid_i),
    .in_ready_o(arready_o),
    .in_data_i({arid_i, place_of(arline_i, base_i, serving_i)}),
    .out_valid_o(new_valid),
    .out_ready_i(1'b1),
    .out_data_o(head)
  );

  // At most Places reads are under way, so each queue has room for all. Queue 2: what waits for no turn.
  logic is_call, call_q;
  logic [4:0] call_id_q;
  logic [2:0] queue_in, queue_valid, queue_take, unused_queue_ready;
  read_t queue_head [3];
  assign is_call = !head.place.error && head.place.control && turn_i != Slice && !answer_i;
  always_comb begin
    queue_in = '0;
    if (head.place.error || head.place.control) queue_in[2] = new_valid && !is_call;
    else queue_in[2'(head.place.window)] = new_valid;
  end
  for (genvar q = 0; q < 3; q++) begin : gen_queue
    kernel_fifo #(
      .Width($bits(read_t)),
      .Depth(Places)
    ) u_queue (
      .clk_i,
      .rst_ni,
      .in_valid_i(queue_in[q]),
      .in_ready_o(unused_queue_ready[q]),
      .in_data_i(head),
      .out_valid_o(queue_valid[q]),
      .out_ready_i(queue_take[q]),
      .out_data_o(queue_head[q])
    );
  end
  assign call_o = call_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) call_q <= 1'b0;
    else if (answer_i) call_q <= 1'b0;
    else if (new_valid && is_call) call_q <= 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (new_valid && is_call) call_id_q <= head.id;
  end

  // The answer of a call is a read of the control line that waits no longer.
  logic answer_q, serve, serve_answer, serve_payload, row_taken;
  read_t next, now_q;
  typedef enum logic [1:0] {
    StIdle,
    StFirst,
    StSecond
  } state_e;
  state_e state_q;
  always_comb begin
    serve_answer = answer_q;
    queue_take = '0;
    next = queue_head[2];
    if (serve_answer) begin
      next.id = call_id_q;
      next.place = '{error: 1'b0, control: 1'b1, window: 1'b0, pair: '0};
    end else if (!queue_valid[2]) begin
      next = queue_head[2'(turn_i)];
    end
    serve = state_q == StIdle && (answer_q || queue_valid[2] || (queue_valid[2'(turn_i)] && !answer_i));
    if (serve && !serve_answer) begin
      if (queue_valid[2]) queue_take[2] = 1'b1;
      else queue_take[2'(turn_i)] = 1'b1;
    end
  end
  assign serve_payload = serve && !next.place.error && !next.place.control;
  assign rvalid_o = state_q != StIdle;
  assign row_taken = rvalid_o && rready_i;
  assign rid_o = now_q.id;
  assign rerror_o = now_q.place.error;
  assign rlast_o = state_q == StSecond;
  always_comb begin
    rdata_o = row_q;
    if (now_q.place.error) rdata_o = '0;
    else if (now_q.place.control) rdata_o = rlast_o ? '0 : control_q;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      answer_q <= 1'b0;
    end else begin
      unique case (state_q)
        StIdle: if (serve) state_q <= StFirst;
        StFirst: if (rready_i) state_q <= StSecond;
        default: if (rready_i) state_q <= StIdle;
      endcase
      if (answer_i) answer_q <= 1'b1;
      else if (serve) answer_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (serve) now_q <= next;
  end

  // ---------------------------------------------------------------------------------------------
  // Lines that are home
  // ---------------------------------------------------------------------------------------------

  logic [(1<<PairWidth)-1:0] home_q [2];
  logic control_home_q, control_busy_q, ack_control, ack_payload;
  logic [Tags-1:0] busy_q;
  pair_t tag_pairs [Tags];
  assign ack_control = ack_valid_i && ack_tag_i == ControlTag;
  assign ack_payload = ack_valid_i && ack_tag_i != ControlTag;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      home_q[0] <= '1;
      home_q[1] <= '1;
      control_home_q <= 1'b1;
    end else begin
      if (ack_payload) home_q[turn_i][tag_pairs[ack_tag_i[4:0]]] <= 1'b1;
      if (line_written && !w_place_q.error && !w_place_q.control) begin
        home_q[w_place_q.window][w_place_q.pair] <= 1'b1;
      end
      if (serve_payload) home_q[next.place.window][next.place.pair] <= 1'b0;
      if (ack_control || (line_written && !w_place_q.error && w_place_q.control)) begin
        control_home_q <= 1'b1;
      end
      if (serve && next.place.control && !next.place.error) control_home_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (answer_i) begin
      control_q <= answer_row_i;
    end else if (row_written && !w_second_q && !w_place_q.error && w_place_q.control) begin
      for (int unsigned b = 0; b < 64; b++) begin
        if (wstrb_i[b]) control_q[8*b+:8] <= wdata_i[8*b+:8];
      end
    end
  end
  assign fetched_o = fetch_i && control_home_q;
  assign control_o = control_q;

  // ---------------------------------------------------------------------------------------------
  // The walker
  // ---------------------------------------------------------------------------------------------

  logic [PairWidth:0] walk_q, end_pair;
  logic here, step, walk_row, walking, second_q, row_here_q, row_second_q;
  pair_t row_pair_q;
  logic [3:0] adding_q;
  // This slice's line of the last pair may be behind the end.
  assign end_pair = (lines_i[0] && which(lines_i[5])) ? lines_i[PairWidth+1:1]
      : (PairWidth+1)'((lines_i + 1'b1) >> 1);
  assign walking = go_i && walk_q != end_pair;
  assign here = walking && home_q[turn_i][walk_q[PairWidth-1:0]];
  // The directory's reads come first.
  assign walk_row = here && reads_i && !serve && !rvalid_o;
  assign step = here && (!reads_i || (walk_row && second_q));
  // An acknowledgement that came in the next turn would be taken for one of its lines.
  assign over_o = go_i && walk_q == end_pair && !row_here_q && adding_q == '0 && busy_q == '0
      && !control_busy_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      walk_q <= '0;
      second_q <= 1'b0;
      row_here_q <= 1'b0;
    end else begin
      if (begin_i) walk_q <= '0;
      else if (step) walk_q <= walk_q + 1'b1;
      if (begin_i) second_q <= 1'b0;
      else if (walk_row) second_q <= !second_q;
      row_here_q <= walk_row;
    end
  end
  always_ff @(posedge clk_i) begin
    if (walk_row) begin
      row_pair_q <= walk_q[PairWidth-1:0];
      row_second_q <= second_q;
    end
  end

  always_comb begin
    read_enable = 1'b0;
    read_row = {next.place.pair, 1'b0};
    read_window = next.place.window;
    if (state_q == StFirst) begin
      read_enable = row_taken;
      read_row = {now_q.place.pair, 1'b1};
      read_window = now_q.place.window;
    end else if (serve_payload) begin
      read_enable = 1'b1;
    end else if (walk_row) begin
      read_enable = 1'b1;
      read_row = {walk_q[PairWidth-1:0], second_q};
      read_window = turn_i;
    end
  end

  // An echo's row goes into the other window as it comes.
  assign echo_write = row_here_q && echo_i;
  always_comb begin
    for (int unsigned w = 0; w < 2; w++) begin
      write_enable[w] = row_written && !w_place_q.error && !w_place_q.control && w_place_q.window == 1'(w);
      write_row[w] = {w_place_q.pair, w_second_q};
      write_data[w] = wdata_i;
      write_strobes[w] = wstrb_i;
      if (echo_write && turn_i != 1'(w)) begin
        write_enable[w] = 1'b1;
        write_row[w] = {row_pair_q, row_second_q};
        write_data[w] = row_q;
        write_strobes[w] = '1;
      end
    end
  end

  // Sum and exclusive or of the words, in stages: 8 words to 4, 2, 1, then into the call's.
  logic [3:0][63:0] sum4_q, xor4_q;
  logic [1:0][63:0] sum2_q, xor2_q;
  logic [63:0] sum1_q, xor1_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) adding_q <= '0;
    else adding_q <= {adding_q[2:0], row_here_q};
  end
  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < 4; i++) begin
      sum4_q[i] <= row_q[128*i+:64] + row_q[128*i+64+:64];
      xor4_q[i] <= row_q[128*i+:64] ^ row_q[128*i+64+:64];
    end
    for (int unsigned i = 0; i < 2; i++) begin
      sum2_q[i] <= sum4_q[2*i] + sum4_q[2*i+1];
      xor2_q[i] <= xor4_q[2*i] ^ xor4_q[2*i+1];
    end
    sum1_q <= sum2_q[0] + sum2_q[1];
    xor1_q <= xor2_q[0] ^ xor2_q[1];
    if (begin_i) begin
      sum_o <= '0;
      xor_o <= '0;
    end else if (adding_q[2]) begin
      sum_o <= sum_o + sum1_q;
      xor_o <= xor_o ^ xor1_q;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Lines are called home: the control line, and payload lines when none has come for long
  // ---------------------------------------------------------------------------------------------

  localparam int unsigned StallWidth = $clog2(StallCycles + 1);
  logic [StallWidth-1:0] stall_q;
  logic recalling_q, op_free, op_control, op_payload, recall_step, op_valid_q;
  logic [PairWidth:0] recall_q;
  logic [4:0] tag_q;
  logic [5:0] op_tag_q;
  logic [LocalWidth-1:0] op_local_q;
  assign op_free = !op_valid_q || op_ready_i;
  assign op_control = op_free && fetch_i && !control_home_q && !control_busy_q;
  assign recall_step = recalling_q && !op_control
      && (home_q[turn_i][recall_q[PairWidth-1:0]] || (op_free && !busy_q[tag_q]));
  assign op_payload = recall_step && !home_q[turn_i][recall_q[PairWidth-1:0]];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      stall_q <= '0;
      recalling_q <= 1'b0;
      recall_q <= '0;
      busy_q <= '0;
      tag_q <= '0;
      control_busy_q <= 1'b0;
      op_valid_q <= 1'b0;
    end else begin
      if (!walking || here || line_written || ack_valid_i || recalling_q) stall_q <= '0;
      else stall_q <= stall_q + 1'b1;
      if (stall_q == StallWidth'(StallCycles)) begin
        recalling_q <= 1'b1;
        recall_q <= walk_q;
      end else if (recalling_q && (!go_i || recall_q == end_pair
          || (recall_step && recall_q + 1'b1 == end_pair))) begin
        recalling_q <= 1'b0;
      end else if (recall_step) begin
        recall_q <= recall_q + 1'b1;
      end
      if (op_payload) begin
        busy_q[tag_q] <= 1'b1;
        tag_q <= tag_q + 1'b1;
      end
      if (ack_payload) busy_q[ack_tag_i[4:0]] <= 1'b0;
      if (op_control) control_busy_q <= 1'b1;
      else if (ack_control) control_busy_q <= 1'b0;
      if (op_free) op_valid_q <= op_control || op_payload;
    end
  end
  always_ff @(posedge clk_i) begin
    if (op_payload) tag_pairs[tag_q] <= recall_q[PairWidth-1:0];
    if (op_free) begin
      op_tag_q <= op_control ? ControlTag : 6'(tag_q);
      op_local_q <= {1'b0, turn_i, recall_q[PairWidth-1:0], which(recall_q[4])};
      if (op_control) op_local_q <= {1'b1, (LocalWidth-2)'(0), Slice};
    end
  end
  assign op_valid_o = op_valid_q;
  assign op_tag_o = op_tag_q;
  assign op_line_o = base_i + line_t'(op_local_q);

  logic unused_ok;
  assign unused_ok = &{1'b0, unused_done_ready, unused_queue_ready, adding_q[3], ack_tag_i[5]};

endmodule
