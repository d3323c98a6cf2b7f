// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// One slice of the directory, and its memory port: lines of the table are memory's, lines of the view
// come from the sums, the slice's synchronisation line is answered when a commit is over.
//
// A commit (`begin_i`) calls the lines of the table home that the CPU may have changed, first_i to end_i - 1,
// and all lines of the view that the CPU has read. The content of a line of the table is taken on its way to
// memory; a line that came home earlier is read from memory. Each is counted once, when its operation is
// acknowledged. With `recompute_i` nothing is counted then; `scan_i` reads the whole table, of which this
// slice's port has every other page of 4 KiB.
//
// Throughput: a line of the table every two cycles each way. Ordering: none between lines.
// No deadlock: reads of lines never wait for a commit, but for the synchronisation line, which is not called
// home before it is answered; there is a place for it apart. Writes wait for memory alone, and reads of
// a line for the write of it that memory has not answered.

module view_slice #(
  parameter bit          Slice = 0,
  parameter int unsigned LineWidth = 33,
  parameter int unsigned CustomersLog2 = 14,
  localparam int unsigned ViewWidth = CustomersLog2 - 3,  // a line of the view
  localparam int unsigned IndexWidth = 26                 // a line of the table
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic                  serving_i,    // else every line is an error
  input  logic                  hold_i,       // reads wait
  input  logic [LineWidth-1:0]  base_i,       // first line of the table
  input  logic [LineWidth-1:0]  view_i,       // first line of the view
  input  logic [IndexWidth-1:0] rows_i,       // lines of the table
  input  logic [63:0]           data_i,       // its place in memory
  input  logic [CustomersLog2-1:0] customers_i,

  // Home port: see docs/kernels.md. IDs are below 32.
  input  logic                  arvalid_i,
  output logic                  arready_o,
  input  logic [4:0]            arid_i,
  input  logic [LineWidth-1:0]  arline_i,
  output logic                  rvalid_o,
  input  logic                  rready_i,
  output logic [4:0]            rid_o,
  output logic [511:0]          rdata_o,
  output logic                  rerror_o,
  output logic                  rlast_o,
  input  logic                  awvalid_i,
  output logic                  awready_o,
  input  logic [4:0]            awid_i,
  input  logic [LineWidth-1:0]  awline_i,
  input  logic                  wvalid_i,
  output logic                  wready_o,
  input  logic [511:0]          wdata_i,
  input  logic [63:0]           wstrb_i,
  output logic                  bvalid_o,
  input  logic                  bready_i,
  output logic [4:0]            bid_o,
  output logic                  berror_o,

  // Line operations: clean-invalidate alone.
  output logic                  op_valid_o,
  input  logic                  op_ready_i,
  output logic [5:0]            op_tag_o,
  output logic [LineWidth-1:0]  op_line_o,
  input  logic                  ack_valid_i,
  output logic                  ack_ready_o,
  input  logic [5:0]            ack_tag_i,

  // Memory.
  output logic                  m_arvalid_o,
  input  logic                  m_arready_i,
  output logic [63:0]           m_araddr_o,
  output logic [7:0]            m_arlen_o,
  input  logic                  m_rvalid_i,
  output logic                  m_rready_o,
  input  logic [511:0]          m_rdata_i,
  input  logic                  m_rlast_i,
  input  logic                  m_rerror_i,
  output logic                  m_awvalid_o,
  input  logic                  m_awready_i,
  output logic [63:0]           m_awaddr_o,
  output logic                  m_wvalid_o,
  input  logic                  m_wready_i,
  output logic [511:0]          m_wdata_o,
  output logic [63:0]           m_wstrb_o,
  output logic                  m_wlast_o,
  input  logic                  m_bvalid_i,
  output logic                  m_bready_o,

  // The sums.
  output logic                  add_valid_o,
  input  logic                  add_ready_i,
  output logic [CustomersLog2-1:0] add_customer_o,
  output logic [63:0]           add_price_o,
  input  logic                  adding_i,
  output logic                  line_valid_o,
  input  logic                  line_ready_i,
  output logic [ViewWidth-1:0]  line_o,
  input  logic                  row_valid_i,
  input  logic                  row_last_i,
  input  logic [511:0]          row_i,

  // Commits.
  output logic                  seen_valid_o,   // the CPU asks for this line of the table
  output logic [IndexWidth-1:0] seen_o,
  output logic                  sync_o,         // a read of the synchronisation line waits
  input  logic                  answer_i,       // it gets this; one cycle
  input  logic [511:0]          answer_row_i,
  input  logic                  begin_i,        // one cycle; what follows stays until `over_i`
  input  logic [IndexWidth-1:0] first_i,
  input  logic [IndexWidth-1:0] end_i,
  input  logic                  recompute_i,
  output logic                  home_o,         // lines are home and counted
  input  logic                  scan_i,         // one cycle
  output logic                  scanned_o,
  input  logic                  mark_i,         // one cycle: the sums are final
  output logic                  drained_o,      // nothing of the view that was read before is at the CPU
  input  logic                  over_i,         // one cycle
  output logic [IndexWidth-1:0] last_o,         // behind the last tuple that was found
  output logic [31:0]           refused_o       // tuples of customers that are too large
);

  localparam int unsigned Reads = 32;
  localparam int unsigned Tags = 64;
  // Lines of the view that one slice has, and its synchronisation line.
  localparam int unsigned GivenLog2 = ViewWidth;
  // A page: what a port reads at once.
  localparam int unsigned PageLinesLog2 = 5;
  localparam int unsigned PageWidth = IndexWidth - PageLinesLog2;
  typedef logic [LineWidth-1:0] line_t;
  typedef logic [IndexWidth-1:0] index_t;
  typedef logic [IndexWidth-2:0] pair_t;

  function automatic logic [63:0] address_of(index_t index, logic [63:0] data);
    return data + {(64 - IndexWidth - 7)'(0), index, 7'd0};
  endfunction
  // Of two neighbours, the one that is this slice's (the directory's fold).
  function automatic index_t mine(pair_t pair);
    return {pair, Slice ^ pair[4] ^ pair[12]};
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Reads of the CPU
  // ---------------------------------------------------------------------------------------------

  typedef struct packed {
    logic [4:0] id;
    line_t      line;
  } read_t;

  logic new_valid, new_go, new_take;
  read_t head;
  kernel_fifo #(
    .Width($bits(read_t)),
    .Depth(Reads)
  ) u_new (
    .clk_i,
    .rst_ni,
    .in_valid_i(arvalid_i),
    .in_ready_o(arready_o),
    .in_data_i({arid_i, arline_i}),
    .out_valid_o(new_valid),
    .out_ready_i(new_take),
    .out_data_o(head)
  );

  line_t in_table, in_view;
  logic is_table, is_view, is_sync, direct_free, view_free;
  assign in_table = head.line - base_i;
  assign in_view = head.line - view_i;
  assign is_table = serving_i && in_table < line_t'(rows_i);
  assign is_sync = serving_i && !is_table && in_view == {(LineWidth - ViewWidth - 1)'(0), 1'b1,
                                                         (ViewWidth - 1)'(0), Slice};
  assign is_view = serving_i && !is_table && !is_sync && in_view < line_t'(1 << ViewWidth);
  assign new_go = new_valid && !hold_i;
  assign new_take = new_go && (is_sync || (is_table ? direct_free : view_free && !answer_i));
  assign seen_valid_o = new_take && is_table;
  assign seen_o = index_t'(in_table);

  // The synchronisation line has at most one read under way.
  logic sync_q, answer_valid_q, answer_second_q, answer_take;
  logic [4:0] sync_id_q;
  logic [511:0] answer_row_q;
  assign sync_o = sync_q && !answer_valid_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      sync_q <= 1'b0;
      answer_valid_q <= 1'b0;
      answer_second_q <= 1'b0;
    end else begin
      if (new_take && is_sync) sync_q <= 1'b1;
      else if (answer_take && answer_second_q) sync_q <= 1'b0;
      if (answer_i) answer_valid_q <= 1'b1;
      else if (answer_take && answer_second_q) answer_valid_q <= 1'b0;
      if (answer_take) answer_second_q <= !answer_second_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (new_take && is_sync) sync_id_q <= head.id;
    if (answer_i) answer_row_q <= answer_row_i;
  end

  // ---------------------------------------------------------------------------------------------
  // Lines of the view that the CPU may have: a list, and whether a line is in it
  // ---------------------------------------------------------------------------------------------

  logic given [1 << GivenLog2];
  logic give, give_new, given_head_valid, given_take, unused_given_ready;
  logic [GivenLog2-1:0] give_pair, given_pair, clear_q;
  logic [ViewWidth:0] give_line, given_line;
  logic clearing_q;
  initial begin
    for (int unsigned i = 0; i < (1 << GivenLog2); i++) given[i] = 1'b0;
  end
  assign give = (new_take && is_view) || answer_i;
  assign give_line = answer_i ? {1'b1, (ViewWidth - 1)'(0), Slice} : in_view[ViewWidth:0];
  assign give_pair = give_line[ViewWidth:1];
  assign give_new = give && !given[give_pair];
  assign given_pair = given_line[ViewWidth:1];
  // After a reset the CPU has none; the bits need as many cycles.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      clearing_q <= 1'b1;
      clear_q <= '0;
    end else if (clearing_q && !give) begin
      clearing_q <= clear_q != '1;
      clear_q <= clear_q + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (give) given[give_pair] <= 1'b1;
    else if (given_take) given[given_pair] <= 1'b0;
    else if (clearing_q) given[clear_q] <= 1'b0;
  end
  kernel_fifo #(
    .Width(ViewWidth + 1),
    .Depth(1 << GivenLog2)
  ) u_given (
    .clk_i,
    .rst_ni,
    .in_valid_i(give_new),
    .in_ready_o(unused_given_ready),
    .in_data_i(give_line),
    .out_valid_o(given_head_valid),
    .out_ready_i(given_take),
    .out_data_o(given_line)
  );
  // How many are in the list; after the mark, how many were read before it.
  logic [GivenLog2:0] listed_q, to_drain_q;
  logic marked_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      listed_q <= '0;
      to_drain_q <= '0;
      marked_q <= 1'b0;
    end else begin
      listed_q <= listed_q + (GivenLog2+1)'(give_new) - (GivenLog2+1)'(given_take);
      if (mark_i) begin
        to_drain_q <= listed_q + (GivenLog2+1)'(give_new) - (GivenLog2+1)'(given_take);
      end else if (given_take && marked_q) begin
        to_drain_q <= to_drain_q - 1'b1;
      end
      if (mark_i) marked_q <= 1'b1;
      else if (over_i) marked_q <= 1'b0;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Operations: tags in turn. Lines of the view take one of eight places while there are lines of the table
  // ---------------------------------------------------------------------------------------------

  typedef struct packed {
    logic   view;
    index_t index;
  } entry_t;

  logic running_q, table_left_q, op_free, may_view, pick_view, take_table, issue, skip;
  logic [Tags-1:0] busy_q;
  entry_t entries [Tags];
  logic [5:0] next_q;
  logic [6:0] tables_q, views_q;  // operations under way
  logic [2:0] turn_q;
  pair_t pair_q, last_pair;
  index_t index;
  entry_t acked;
  logic ack, op_valid_q, op_view_q;
  logic [5:0] op_tag_q;
  index_t op_index_q;
  logic [ViewWidth:0] op_given_q;

  assign last_pair = pair_t'((end_i - 1'b1) >> 1);
  assign index = mine(pair_q);
  assign skip = index < first_i || index >= end_i;
  assign op_free = (!op_valid_q || op_ready_i) && !busy_q[next_q];
  assign may_view = running_q && given_head_valid && (!marked_q || to_drain_q != '0);
  assign pick_view = may_view && (!table_left_q || turn_q == '0);
  assign given_take = op_free && pick_view && !give;
  assign take_table = table_left_q && !pick_view && (skip || op_free);
  assign issue = given_take || (take_table && !skip);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      running_q <= 1'b0;
      table_left_q <= 1'b0;
      busy_q <= '0;
      next_q <= '0;
      tables_q <= '0;
      views_q <= '0;
      turn_q <= '0;
      op_valid_q <= 1'b0;
    end else begin
      if (begin_i) running_q <= 1'b1;
      else if (over_i) running_q <= 1'b0;
      if (begin_i) table_left_q <= first_i < end_i;
      else if (take_table && pair_q == last_pair) table_left_q <= 1'b0;
      if (issue) begin
        busy_q[next_q] <= 1'b1;
        next_q <= next_q + 1'b1;
        turn_q <= turn_q + 1'b1;
      end
      if (ack) busy_q[ack_tag_i] <= 1'b0;
      tables_q <= tables_q + 7'(issue && !pick_view) - 7'(ack && !acked.view);
      views_q <= views_q + 7'(issue && pick_view) - 7'(ack && acked.view);
      if (!op_valid_q || op_ready_i) op_valid_q <= issue;
    end
  end
  always_ff @(posedge clk_i) begin
    if (begin_i) pair_q <= pair_t'(first_i >> 1);
    else if (take_table) pair_q <= pair_q + 1'b1;
    if (issue) entries[next_q] <= '{view: pick_view, index: index};
    if (!op_valid_q || op_ready_i) begin
      op_view_q <= pick_view;
      op_tag_q <= next_q;
      op_index_q <= index;
      op_given_q <= given_line;
    end
  end
  assign op_valid_o = op_valid_q;
  assign op_tag_o = op_tag_q;
  assign op_line_o = op_view_q ? view_i + line_t'(op_given_q) : base_i + line_t'(op_index_q);

  // Content of lines on their way home, by the low bits of their pair: those under way differ there.
  logic [Tags-1:0] caught_valid_q;
  index_t caught_index [Tags];
  logic [127:0] caught [Tags];
  logic catch_now;
  logic [5:0] catch_place, acked_place;
  logic write_table_q;
  index_t write_index_q;
  assign acked = entries[ack_tag_i];
  assign acked_place = acked.index[6:1];
  assign catch_place = write_index_q[6:1];
  always_ff @(posedge clk_i) begin
    if (take_table && !skip) begin
      caught_index[index[6:1]] <= index;
      caught_valid_q[index[6:1]] <= 1'b0;
    end
    if (catch_now) begin
      caught[catch_place] <= wdata_i[127:0];
      caught_valid_q[catch_place] <= 1'b1;
    end
  end

  // An acknowledged line is counted as it was caught, or read.
  typedef struct packed {
    logic [63:0] price;
    logic [63:0] customer;
    index_t      index;
  } tuple_t;
  logic counts, caught_ready, late_ready, late_valid, late_take;
  index_t late_index;
  tuple_t from_line, from_memory;
  logic line_tuple_valid, line_tuple_take, memory_tuple, memory_tuple_ready;
  assign counts = !acked.view && !recompute_i;
  assign ack_ready_o = caught_ready && late_ready;
  assign ack = ack_valid_i && ack_ready_o;
  kernel_fifo #(
    .Width($bits(tuple_t)),
    .Depth(Tags)
  ) u_caught (
    .clk_i,
    .rst_ni,
    .in_valid_i(ack && counts && caught_valid_q[acked_place]),
    .in_ready_o(caught_ready),
    .in_data_i({caught[acked_place][127:64], caught[acked_place][63:0], acked.index}),
    .out_valid_o(line_tuple_valid),
    .out_ready_i(line_tuple_take),
    .out_data_o(from_line)
  );
  kernel_fifo #(
    .Width(IndexWidth),
    .Depth(Tags)
  ) u_late (
    .clk_i,
    .rst_ni,
    .in_valid_i(ack && counts && !caught_valid_q[acked_place]),
    .in_ready_o(late_ready),
    .in_data_i(acked.index),
    .out_valid_o(late_valid),
    .out_ready_i(late_take),
    .out_data_o(late_index)
  );

  // ---------------------------------------------------------------------------------------------
  // Tuples into the sums: those that memory gives first, since its rows wait
  // ---------------------------------------------------------------------------------------------

  tuple_t tuple;
  logic tuple_valid, tuple_take, tuple_empty, tuple_large;
  assign tuple_valid = memory_tuple || line_tuple_valid;
  assign tuple = memory_tuple ? from_memory : from_line;
  assign tuple_empty = tuple.customer == '0;
  assign tuple_large = tuple.customer > 64'(customers_i);
  assign add_valid_o = tuple_valid && !tuple_empty && !tuple_large;
  assign add_customer_o = tuple.customer[CustomersLog2-1:0];
  assign add_price_o = tuple.price;
  assign tuple_take = tuple_valid && (tuple_empty || tuple_large || add_ready_i);
  assign memory_tuple_ready = tuple_take;
  assign line_tuple_take = tuple_take && !memory_tuple;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      last_o <= '0;
      refused_o <= '0;
    end else if (begin_i) begin
      last_o <= first_i;
      if (recompute_i) begin
        last_o <= '0;
        refused_o <= '0;
      end
    end else if (tuple_take && !tuple_empty) begin
      if (tuple.index >= last_o) last_o <= tuple.index + 1'b1;
      if (tuple_large) refused_o <= refused_o + 1'b1;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Memory: lines that a core waits for, lines that came home earlier, pages of the table
  // ---------------------------------------------------------------------------------------------

  typedef enum logic [1:0] {
    ReadDirect,
    ReadLate,
    ReadPage
  } owner_e;
  typedef struct packed {
    owner_e     owner;
    logic [4:0] id;
    index_t     index;  // of the first line
  } owner_t;
  owner_t owner, first_owner;
  logic direct_valid, ask, ask_direct, ask_late, ask_page, request_ready, owner_ready, owner_valid;
  logic row_take, scanning_q;
  read_t direct;
  logic [PageWidth-1:0] page_q;
  logic [2:0] pages_q;  // under way
  logic page_end;

  kernel_fifo #(
    .Width($bits(read_t)),
    .Depth(Reads)
  ) u_direct (
    .clk_i,
    .rst_ni,
    .in_valid_i(new_go && is_table),
    .in_ready_o(direct_free),
    .in_data_i({head.id, in_table}),
    .out_valid_o(direct_valid),
    .out_ready_i(ask_direct),
    .out_data_o(direct)
  );
  // Lines that are being written, in order.
  logic [Reads-1:0] written_busy_q;
  index_t written_index_q [Reads];
  logic [4:0] written_in_q, written_out_q;
  logic direct_early, late_early;
  always_comb begin
    direct_early = 1'b0;
    late_early = 1'b0;
    for (int unsigned w = 0; w < Reads; w++) begin
      if (written_busy_q[w] && written_index_q[w] == index_t'(direct.line)) direct_early = 1'b1;
      if (written_busy_q[w] && written_index_q[w] == late_index) late_early = 1'b1;
    end
  end
  assign ask_direct = direct_valid && !direct_early && request_ready && owner_ready;
  assign ask_late = late_valid && !late_early && !direct_valid && request_ready && owner_ready;
  assign late_take = ask_late;
  assign ask_page = scanning_q && pages_q != 3'd4 && !direct_valid && !late_valid && request_ready
      && owner_ready;
  assign ask = ask_direct || ask_late || ask_page;
  always_comb begin
    owner = '{owner: ReadPage, id: '0, index: {page_q, PageLinesLog2'(0)}};
    if (direct_valid) owner = '{owner: ReadDirect, id: direct.id, index: index_t'(direct.line)};
    else if (late_valid) owner = '{owner: ReadLate, id: '0, index: late_index};
  end
  logic [71:0] request;
  kernel_fifo #(
    .Width(72),
    .Depth(2)
  ) u_requests (
    .clk_i,
    .rst_ni,
    .in_valid_i(ask),
    .in_ready_o(request_ready),
    .in_data_i({address_of(owner.index, data_i), ask_page ? 8'((2 << PageLinesLog2) - 1) : 8'd1}),
    .out_valid_o(m_arvalid_o),
    .out_ready_i(m_arready_i),
    .out_data_o(request)
  );
  assign {m_araddr_o, m_arlen_o} = request;
  kernel_fifo #(
    .Width($bits(owner_t)),
    .Depth(64)
  ) u_owners (
    .clk_i,
    .rst_ni,
    .in_valid_i(ask),
    .in_ready_o(owner_ready),
    .in_data_i(owner),
    .out_valid_o(owner_valid),
    .out_ready_i(row_take && m_rlast_i),
    .out_data_o(first_owner)
  );

  // Pages of the scan.
  assign page_end = row_take && m_rlast_i && first_owner.owner == ReadPage;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      scanning_q <= 1'b0;
      pages_q <= '0;
    end else begin
      if (scan_i) scanning_q <= {(IndexWidth-PageLinesLog2-1)'(0), Slice, PageLinesLog2'(0)} < end_i;
      else if (ask_page && {page_q + PageWidth'(2), PageLinesLog2'(0)} >= end_i) scanning_q <= 1'b0;
      pages_q <= pages_q + 3'(ask_page) - 3'(page_end);
    end
  end
  always_ff @(posedge clk_i) begin
    if (scan_i) page_q <= PageWidth'(Slice);
    else if (ask_page) page_q <= page_q + PageWidth'(2);
  end

  // Rows: even ones begin a line.
  logic odd_q, is_direct, is_tuple, direct_row, direct_taken;
  logic [PageLinesLog2-1:0] place_q;
  assign is_direct = owner_valid && first_owner.owner == ReadDirect;
  assign from_memory = '{price: m_rdata_i[127:64], customer: m_rdata_i[63:0],
                         index: first_owner.index + index_t'(place_q)};
  assign is_tuple = owner_valid && !is_direct && !odd_q && from_memory.index < end_i && !m_rerror_i;
  assign memory_tuple = m_rvalid_i && is_tuple;
  assign direct_row = m_rvalid_i && is_direct;
  assign m_rready_o = is_direct ? direct_taken : owner_valid && (!is_tuple || memory_tuple_ready);
  assign row_take = m_rvalid_i && m_rready_o;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      odd_q <= 1'b0;
      place_q <= '0;
    end else if (row_take) begin
      odd_q <= !odd_q;
      if (m_rlast_i) place_q <= '0;
      else if (odd_q) place_q <= place_q + 1'b1;
    end
  end

  // Late reads under way, as those of pages.
  logic [6:0] lates_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) lates_q <= '0;
    else lates_q <= lates_q + 7'(ask_late) - 7'(row_take && m_rlast_i && first_owner.owner == ReadLate);
  end
  logic quiet;
  assign quiet = !tuple_valid && !adding_i;
  assign home_o = !table_left_q && tables_q == '0 && !late_valid && lates_q == '0 && quiet
      && (!recompute_i || written_busy_q == '0);
  assign scanned_o = !scanning_q && pages_q == '0 && quiet;
  assign drained_o = marked_q && to_drain_q == '0 && views_q == '0;

  // ---------------------------------------------------------------------------------------------
  // Lines of the view
  // ---------------------------------------------------------------------------------------------

  typedef struct packed {
    logic [4:0]   id;
    logic         error;
    logic         last;
    logic [511:0] row;
  } row_t;
  row_t served, served_head;
  logic view_valid_q, view_error_q, served_valid, served_take, unused_served_ready, line_taken;
  logic [4:0] view_id_q, line_id_q;
  logic line_error_q;
  logic [ViewWidth-1:0] view_line_q;
  logic [2:0] room_q;  // rows that are here or asked for
  assign view_free = !view_valid_q || line_taken;
  assign line_valid_o = view_valid_q && room_q <= 3'd2;
  assign line_o = view_line_q;
  assign line_taken = line_valid_o && line_ready_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      view_valid_q <= 1'b0;
      room_q <= '0;
    end else begin
      if (view_free) view_valid_q <= new_go && !is_sync && !is_table && !answer_i;
      room_q <= room_q + (line_taken ? 3'd2 : 3'd0) - 3'(served_take);
    end
  end
  always_ff @(posedge clk_i) begin
    if (view_free) begin
      view_id_q <= head.id;
      view_error_q <= !is_view;
      view_line_q <= in_view[ViewWidth-1:0];
    end
    // Two lines may be asked for at a time; a line's rows come before those of the next.
    if (line_taken) begin
      line_id_q <= view_id_q;
      line_error_q <= view_error_q;
    end
  end
  // The ID of the row that comes: its line was asked for one cycle earlier (first row) or two.
  logic [4:0] last_id_q;
  logic last_error_q;
  always_ff @(posedge clk_i) begin
    if (row_valid_i && !row_last_i) begin
      last_id_q <= line_id_q;
      last_error_q <= line_error_q;
    end
  end
  always_comb begin
    served = '{id: line_id_q, error: line_error_q, last: row_last_i, row: row_i};
    if (row_last_i) begin
      served.id = last_id_q;
      served.error = last_error_q;
    end
    if (served.error) served.row = '0;
  end
  kernel_fifo #(
    .Width($bits(row_t)),
    .Depth(4)
  ) u_served (
    .clk_i,
    .rst_ni,
    .in_valid_i(row_valid_i),
    .in_ready_o(unused_served_ready),
    .in_data_i(served),
    .out_valid_o(served_valid),
    .out_ready_i(served_take),
    .out_data_o(served_head)
  );

  // ---------------------------------------------------------------------------------------------
  // Answers: memory's first; a line that has begun goes on
  // ---------------------------------------------------------------------------------------------

  typedef enum logic [1:0] {
    FromMemory,
    FromView,
    FromAnswer
  } source_e;
  logic half_q;
  source_e source, source_q;
  always_comb begin
    source = FromAnswer;
    if (half_q) source = source_q;
    else if (direct_row) source = FromMemory;
    else if (served_valid) source = FromView;
  end
  always_comb begin
    rvalid_o = answer_valid_q;
    rid_o = sync_id_q;
    rdata_o = answer_second_q ? '0 : answer_row_q;
    rerror_o = 1'b0;
    rlast_o = answer_second_q;
    unique case (source)
      FromMemory: begin
        rvalid_o = direct_row;
        rid_o = first_owner.id;
        rdata_o = m_rdata_i;
        rerror_o = m_rerror_i;
        rlast_o = odd_q;
      end
      FromView: begin
        rvalid_o = served_valid;
        rid_o = served_head.id;
        rdata_o = served_head.row;
        rerror_o = served_head.error;
        rlast_o = served_head.last;
      end
      default: ;
    endcase
  end
  assign direct_taken = source == FromMemory && rready_i;
  assign served_take = source == FromView && served_valid && rready_i;
  assign answer_take = source == FromAnswer && answer_valid_q && rready_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) half_q <= 1'b0;
    else if (rvalid_o && rready_i) half_q <= !half_q;
  end
  always_ff @(posedge clk_i) begin
    if (rvalid_o && rready_i) source_q <= source;
  end

  // ---------------------------------------------------------------------------------------------
  // Writes: to memory. Those to other lines than the table's go to its first, without strobes
  // ---------------------------------------------------------------------------------------------

  logic write_valid_q, write_asked_q, write_second_q, write_over, row_over, asked;
  logic writes_ready, unused_done_ready;
  logic [4:0] write_id_q;
  line_t aw_in_table;
  assign aw_in_table = awline_i - base_i;
  assign asked = write_asked_q || (m_awvalid_o && m_awready_i);
  assign row_over = m_wvalid_o && m_wready_i;
  assign write_over = row_over && write_second_q;
  assign awready_o = !write_valid_q || write_over;
  assign m_awvalid_o = write_valid_q && !write_asked_q && writes_ready;
  assign m_awaddr_o = address_of(write_table_q ? write_index_q : '0, data_i);
  // The last row waits for the address, so that a write is over at once.
  assign m_wvalid_o = wvalid_i && write_valid_q && (!write_second_q || asked);
  assign wready_o = m_wready_i && write_valid_q && (!write_second_q || asked);
  assign m_wdata_o = wdata_i;
  assign m_wstrb_o = write_table_q ? wstrb_i : '0;
  assign m_wlast_o = write_second_q;
  assign catch_now = row_over && !write_second_q && write_table_q && wstrb_i[15:0] == '1
      && caught_index[catch_place] == write_index_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_valid_q <= 1'b0;
      write_asked_q <= 1'b0;
      write_second_q <= 1'b0;
    end else begin
      if (awready_o) write_valid_q <= awvalid_i;
      if (write_over) write_asked_q <= 1'b0;
      else if (m_awvalid_o && m_awready_i) write_asked_q <= 1'b1;
      if (row_over) write_second_q <= !write_second_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (awready_o) begin
      write_id_q <= awid_i;
      write_table_q <= serving_i && aw_in_table < line_t'(rows_i);
      write_index_q <= index_t'(aw_in_table);
    end
  end
  // The directory hears of a write when memory has taken it; a read of the line then waits for memory's own
  // answer. Memory answers in order.
  logic b_table;
  kernel_fifo #(
    .Width(6),
    .Depth(Reads)
  ) u_done (
    .clk_i,
    .rst_ni,
    .in_valid_i(write_over),
    .in_ready_o(unused_done_ready),
    .in_data_i({write_id_q, write_table_q}),
    .out_valid_o(bvalid_o),
    .out_ready_i(bready_i),
    .out_data_o({bid_o, b_table})
  );
  assign berror_o = !b_table;
  assign m_bready_o = 1'b1;
  assign writes_ready = !written_busy_q[written_in_q];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      written_busy_q <= '0;
      written_in_q <= '0;
      written_out_q <= '0;
    end else begin
      if (m_bvalid_i) begin
        written_busy_q[written_out_q] <= 1'b0;
        written_out_q <= written_out_q + 1'b1;
      end
      if (m_awvalid_o && m_awready_i) begin
        written_busy_q[written_in_q] <= 1'b1;
        written_in_q <= written_in_q + 1'b1;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (m_awvalid_o && m_awready_i) written_index_q[written_in_q] <= write_index_q;
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, unused_given_ready, unused_served_ready, unused_done_ready, tuple.customer};

endmodule
