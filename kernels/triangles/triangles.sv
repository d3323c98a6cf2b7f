// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: counts the triangles of a graph, the load TRI of FSRF's evaluation (section 6.1). The graph is records of 4-byte
// words, one a vertex: a count, and as many neighbours, increasing, each given as the place of its record. So a neighbour
// is looked up without an index, by one read. Each edge is stored once, at its first end (README.md).
//
// The list of each record in `records` is held on the chip, and each neighbour's record in `graph` is merged with the
// entries behind that neighbour's: a number that both have is a triangle. The last neighbour has none behind it and is not
// looked up.
//
// The kernel ends whatever the numbers are. A record ends with its array; entries behind the Longest-th are skipped; an
// entry outside `graph` is not looked up. All are counted in the 64 bytes of `output`.
//
// Longest   entries of a list that are held on the chip
// Visits    neighbours looked up at once, a power of two
//
// Throughput: a neighbour takes seven cycles and one for each number merged, or what memory answers, with up to Visits
// first rows under way; none is requested in the `pause` cycles after a neighbour is merged. Latency: of each vertex that of its list and of a neighbour. Back-pressure: triangles_fetch reserves room.
// No deadlock: a lookup waits for rows that are under way or have room reserved.
// Register map: kernel.toml. Control: ap_ctrl_hs.

`include "tmb_ports.svh"

module triangles #(
  parameter int unsigned Longest = 8192,
  parameter int unsigned Visits = 16
) (
  `TMB_KERNEL_PORTS,
  `TMB_READ_PORTS(m_axi_gmem0),
  `TMB_WRITE_PORTS(m_axi_gmem1)
);

  localparam int unsigned IndexWidth = $clog2(Longest + 1);

  typedef logic [IndexWidth-1:0] index_t;
  typedef logic [$clog2(Visits+1)-1:0] visits_t;

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [63:0] pause;         // 0x40
    logic [63:0] under_way;     // 0x38
    logic [63:0] graph_words;   // 0x30
    logic [63:0] record_words;  // 0x28
    logic [63:0] output_;       // 0x20, output
    logic [63:0] graph_at;      // 0x18, graph
    logic [63:0] records_at;    // 0x10, records
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

  // -- Reads --------------------------------------------------------------------------------------

  logic stream_valid, stream_ready, first_ask, first_asked, first_valid, first_ready;
  logic rest_ask, rest_asked, rest_valid, rest_ready;
  logic [511:0] stream_row, first_row, rest_row;
  logic [57:0] first_at, rest_at;

  triangles_fetch #(
    .Firsts(Visits)
  ) u_fetch (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .stream_base_i(arguments.records_at[63:6]),
    .stream_rows_i(58'((arguments.record_words + 64'd15) >> 4)),
    .stream_valid_o(stream_valid),
    .stream_ready_i(stream_ready),
    .stream_o(stream_row),
    .first_ask_i(first_ask),
    .first_asked_o(first_asked),
    .first_at_i(first_at),
    .first_valid_o(first_valid),
    .first_ready_i(first_ready),
    .first_o(first_row),
    .rest_ask_i(rest_ask),
    .rest_asked_o(rest_asked),
    .rest_at_i(rest_at),
    .rest_valid_o(rest_valid),
    .rest_ready_i(rest_ready),
    .rest_o(rest_row),
    .arvalid_o(m_axi_gmem0_arvalid),
    .arready_i(m_axi_gmem0_arready),
    .araddr_o(m_axi_gmem0_araddr),
    .arlen_o(m_axi_gmem0_arlen),
    .rvalid_i(m_axi_gmem0_rvalid),
    .rready_o(m_axi_gmem0_rready),
    .rdata_i(m_axi_gmem0_rdata)
  );

  // -- Records, word by word ----------------------------------------------------------------------

  logic [63:0] unread_q;    // words that are in no register yet
  logic [63:0] untaken_q;   // words that the walk has not taken
  logic [3:0] lane_q;
  logic word_valid_q, word_read, word_taken, row_ends;
  logic [31:0] word_q;

  assign word_read = stream_valid && unread_q != '0 && (!word_valid_q || word_taken);
  assign row_ends = lane_q == 4'd15 || unread_q == 64'd1;
  assign stream_ready = word_read && row_ends;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      word_valid_q <= 1'b0;
      unread_q <= '0;
      untaken_q <= '0;
      lane_q <= '0;
    end else begin
      if (start) begin
        unread_q <= arguments.record_words;
        untaken_q <= arguments.record_words;
        lane_q <= '0;
      end else begin
        if (word_read) begin
          unread_q <= unread_q - 64'd1;
          lane_q <= row_ends ? '0 : lane_q + 4'd1;
        end
        if (word_taken) untaken_q <= untaken_q - 64'd1;
      end
      if (word_read) word_valid_q <= 1'b1;
      else if (word_taken) word_valid_q <= 1'b0;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (word_read) word_q <= stream_row[32*lane_q+:32];
  end

  // -- The walk: a record after the other ---------------------------------------------------------

  typedef enum logic [3:0] {
    StepIdle,
    StepHeader,   // the next record's count is to be taken, or there is none
    StepLimit,    // and held against the end of the records
    StepLength,   // and against what the chip holds
    StepLoad,     // entries are taken
    StepVisit,    // neighbours are looked up
    StepReport,   // the row of `output` is to leave
    StepEnd       // and is written
  } step_e;

  step_e step_q;
  logic [31:0] count_q, entries_q;
  index_t length_q, filled_q;
  logic keeps, walk_ends, visits_end, row_ready, written;

  assign word_taken = word_valid_q && (step_q == StepHeader || step_q == StepLoad && entries_q != '0);
  assign keeps = step_q == StepLoad && word_taken && filled_q != length_q;
  assign walk_ends = step_q == StepHeader && untaken_q == '0;
  assign done = step_q == StepEnd && written;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      step_q <= StepIdle;
    end else begin
      unique case (step_q)
        StepIdle: if (start) step_q <= StepHeader;
        StepHeader: begin
          if (walk_ends) step_q <= StepReport;
          else if (word_taken) step_q <= StepLimit;
        end
        StepLimit: step_q <= StepLength;
        StepLength: step_q <= StepLoad;
        StepLoad: if (entries_q == '0) step_q <= StepVisit;
        StepVisit: if (visits_end) step_q <= StepHeader;
        StepReport: if (row_ready) step_q <= StepEnd;
        default: if (written) step_q <= StepIdle;
      endcase
    end
  end
  always_ff @(posedge ap_clk) begin
    unique case (step_q)
      StepHeader: count_q <= word_q;
      StepLimit: entries_q <= 64'(count_q) < untaken_q ? count_q : untaken_q[31:0];
      StepLength: begin
        length_q <= entries_q < Longest ? index_t'(entries_q) : index_t'(Longest);
        filled_q <= '0;
      end
      default: begin
        if (step_q == StepLoad && word_taken) entries_q <= entries_q - 32'd1;
        if (keeps) filled_q <= filled_q + index_t'(1);
      end
    endcase
  end

  // -- The list: one copy for lookups, one for the merge ------------------------------------------

  logic [31:0] list_q [Longest];
  logic [31:0] merge_list_q [Longest];
  logic [31:0] neighbour, merge_entry;
  index_t visit_q, merge_at;

  always_ff @(posedge ap_clk) begin
    if (keeps) list_q[filled_q[$clog2(Longest)-1:0]] <= word_q;
    neighbour <= list_q[visit_q[$clog2(Longest)-1:0]];
  end
  always_ff @(posedge ap_clk) begin
    if (keeps) merge_list_q[filled_q[$clog2(Longest)-1:0]] <= word_q;
    merge_entry <= merge_list_q[merge_at[$clog2(Longest)-1:0]];
  end

  // -- Lookups: of every neighbour but the last ---------------------------------------------------

  typedef enum logic [1:0] {
    LookRead,   // the list is read
    LookTake,   // the neighbour is there
    LookAsk     // its record's first row is requested
  } look_e;

  look_e look_q;
  logic [31:0] neighbour_q;
  logic inside_q, looks, skips, visit_ready, visit_valid, merge_ready, merged, hit;
  visits_t under_way_q, limit_q;
  logic [7:0] pause_q;
  index_t visit_next, queued_entry;
  logic [31:0] queued_at;

  assign visit_next = visit_q + index_t'(1);
  assign looks = step_q == StepVisit && visit_next < length_q;
  assign visits_end = !looks && under_way_q == '0;
  assign first_ask = looks && look_q == LookAsk && inside_q && under_way_q < limit_q && visit_ready &&
                     pause_q == '0;
  assign first_at = arguments.graph_at[63:6] + 58'(neighbour_q[31:4]);
  assign skips = looks && look_q == LookAsk && !inside_q;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      look_q <= LookRead;
      under_way_q <= '0;
      pause_q <= '0;
    end else begin
      if (merged) pause_q <= arguments.pause[7:0];
      else if (pause_q != '0) pause_q <= pause_q - 8'd1;
      if (!looks || first_asked || skips) look_q <= LookRead;
      else if (look_q == LookRead) look_q <= LookTake;
      else look_q <= LookAsk;
      under_way_q <= under_way_q + visits_t'(first_asked) - visits_t'(merged);
    end
  end
  always_ff @(posedge ap_clk) begin
    if (start) begin
      limit_q <= arguments.under_way == '0 || arguments.under_way > 64'(Visits) ? visits_t'(Visits)
          : visits_t'(arguments.under_way);
    end
    if (step_q == StepLoad) visit_q <= '0;
    else if (first_asked || skips) visit_q <= visit_next;
    if (look_q == LookTake) begin
      neighbour_q <= neighbour;
      inside_q <= 64'(neighbour) < arguments.graph_words;
    end
  end

  kernel_fifo #(
    .Width(32 + IndexWidth),
    .Depth(Visits)
  ) u_visits (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .in_valid_i(first_asked),
    .in_ready_o(visit_ready),
    .in_data_i({neighbour_q, visit_next}),
    .out_valid_o(visit_valid),
    .out_ready_i(merge_ready),
    .out_data_o({queued_at, queued_entry})
  );

  triangles_merge #(
    .IndexWidth(IndexWidth)
  ) u_merge (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .graph_base_i(arguments.graph_at[63:6]),
    .graph_words_i(arguments.graph_words),
    .length_i(length_q),
    .visit_valid_i(visit_valid),
    .visit_ready_o(merge_ready),
    .visit_at_i(queued_at),
    .visit_entry_i(queued_entry),
    .done_o(merged),
    .hit_o(hit),
    .entry_o(merge_at),
    .entry_i(merge_entry),
    .first_valid_i(first_valid),
    .first_ready_o(first_ready),
    .first_i(first_row),
    .rest_ask_o(rest_ask),
    .rest_asked_i(rest_asked),
    .rest_at_o(rest_at),
    .rest_valid_i(rest_valid),
    .rest_ready_o(rest_ready),
    .rest_i(rest_row)
  );

  // -- What was found -----------------------------------------------------------------------------

  logic [63:0] triangles_q, vertices_q, edges_q, outside_q, skipped_q;
  logic kept_q, outside_d;

  // Whether the word kept a cycle ago lies in the graph: a comparison of its own cycle.
  logic [31:0] kept_word_q;
  assign outside_d = kept_q && 64'(kept_word_q) >= arguments.graph_words;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) kept_q <= 1'b0;
    else kept_q <= keeps;
    kept_word_q <= word_q;
    if (start) begin
      triangles_q <= '0;
      vertices_q <= '0;
      edges_q <= '0;
      outside_q <= '0;
      skipped_q <= '0;
    end else begin
      triangles_q <= triangles_q + 64'(hit);
      vertices_q <= vertices_q + 64'(step_q == StepLimit);
      edges_q <= edges_q + 64'(keeps);
      outside_q <= outside_q + 64'(outside_d);
      if (step_q == StepLength) skipped_q <= skipped_q + 64'(count_q);
      else if (keeps) skipped_q <= skipped_q - 64'd1;
    end
  end

  kernel_burst_writer u_writer (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(walk_ends),
    .base_i(arguments.output_),
    .bytes_i(64'd64),
    .done_o(written),
    .row_valid_i(step_q == StepReport),
    .row_ready_o(row_ready),
    .row_i({192'd0, skipped_q, outside_q, edges_q, vertices_q, triangles_q}),
    `TMB_CONNECT_WRITER(m_axi_gmem1)
  );

  `TMB_READ_WHOLE_ROWS(m_axi_gmem0)
  `TMB_WRITE_WHOLE_ROWS(m_axi_gmem1)

  // The shell reports failed accesses to the host. No entry behind the last is used.
  logic unused_ok;
  assign unused_ok = &{1'b0, m_axi_gmem0_rresp, m_axi_gmem0_rlast, m_axi_gmem1_bresp, arguments.records_at[5:0],
                       arguments.graph_at[5:0], arguments.pause[63:8], merge_at[IndexWidth-1]};

endmodule
