// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The lines of one slice of the directory: reads from the blocks that are here or on their way, or
// directly from memory; writes to memory.
//
// A read looks its block up, a cycle each. Is its line here, its two rows go to the directory; is it on
// its way, the read goes to the end of a queue of such; else it goes to memory alone (`direct_*`), and the
// block is asked for (`fetch_*`, a hint). A line in the second half of a block
// asks for the next block.
//
// Throughput: a row a cycle each way. Latency of a line that is here: three cycles.
// No deadlock: the queues have a place for every read that the guard lets through (32), and so has the
// way to memory; nothing waits for the directory but what is for it.

module prefetcher_slice #(
  parameter int unsigned Units = 8,
  parameter int unsigned BlockLinesLog2 = 6,
  parameter int unsigned LineWidth = 33,
  localparam int unsigned UnitWidth = $clog2(Units),
  localparam int unsigned BlockWidth = LineWidth - BlockLinesLog2,
  localparam int unsigned BlockLines = 1 << BlockLinesLog2
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic [LineWidth-1:0]  base_i,   // first line
  input  logic [LineWidth-1:0]  lines_i,  // how many
  input  logic [63:0]           data_i,   // where the first is in memory

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

  // The units: which block each has, and which lines of it are here and good.
  input  logic [Units-1:0]      unit_valid_i,
  input  logic [BlockWidth-1:0] unit_block_i [Units],
  input  logic [BlockLines-1:0] unit_here_i [Units],
  input  logic [BlockLines-1:0] unit_dead_i [Units],
  output logic [Units-1:0]      unit_used_o,    // one cycle: a line of it is read
  output logic [Units-1:0]      unit_reading_o, // its rows are still to be read
  output logic                  fetch_valid_o,
  output logic [BlockWidth-1:0] fetch_block_o,
  output logic                  dead_valid_o,   // the line is not good any more, wherever it is
  output logic [LineWidth-1:0]  dead_line_o,

  // The blocks' rows: data in the next cycle.
  output logic                               row_read_o,
  output logic [UnitWidth+BlockLinesLog2:0]  row_addr_o,  // {unit, line of the block, row}
  input  logic [511:0]                       row_i,

  // Reads of memory without a block: a line each; answered in order.
  output logic                  direct_valid_o,
  input  logic                  direct_ready_i,
  output logic [63:0]           direct_addr_o,
  input  logic                  direct_row_valid_i,
  output logic                  direct_row_ready_o,
  input  logic [511:0]          direct_row_i,
  input  logic                  direct_row_error_i,

  // Writes of memory: a line each.
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
  input  logic                  m_berror_i
);

  localparam int unsigned Reads = 32;
  typedef logic [LineWidth-1:0] line_t;

  typedef struct packed {
    logic [4:0] id;
    line_t      line;
  } read_t;

  function automatic logic [63:0] address_of(line_t line, line_t base, logic [63:0] data);
    return data + {(64 - LineWidth - 7)'(0), line_t'(line - base), 7'd0};
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Reads that are new, and those whose line is on its way
  // ---------------------------------------------------------------------------------------------

  logic new_valid, new_take, waiting_valid, waiting_take, again, unused_waiting_ready;
  read_t new_head, waiting_head, look_q;
  logic look_valid_q, look_free, look_done, new_turn_q, choose_new;
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
    .out_data_o(new_head)
  );
  kernel_fifo #(
    .Width($bits(read_t)),
    .Depth(Reads)
  ) u_waiting (
    .clk_i,
    .rst_ni,
    .in_valid_i(again),
    .in_ready_o(unused_waiting_ready),
    .in_data_i(look_q),
    .out_valid_o(waiting_valid),
    .out_ready_i(waiting_take),
    .out_data_o(waiting_head)
  );

  // The read that is looked up; new ones and waiting ones take turns.
  assign look_free = !look_valid_q || look_done;
  assign choose_new = new_valid && (new_turn_q || !waiting_valid);
  assign new_take = look_free && choose_new;
  assign waiting_take = look_free && !choose_new;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      look_valid_q <= 1'b0;
      new_turn_q <= 1'b0;
    end else if (look_free) begin
      look_valid_q <= new_valid || waiting_valid;
      new_turn_q <= !choose_new;
    end
  end
  always_ff @(posedge clk_i) begin
    if (look_free) look_q <= choose_new ? new_head : waiting_head;
  end

  logic [Units-1:0] hits;
  logic [UnitWidth-1:0] unit;
  logic [BlockLines-1:0] here, dead;
  logic [BlockLinesLog2-1:0] place;
  logic outside, hit, good, to_serve, to_direct, serve_free, direct_free;
  assign place = look_q.line[BlockLinesLog2-1:0];
  always_comb begin
    unit = '0;
    here = '0;
    dead = '0;
    for (int unsigned u = 0; u < Units; u++) begin
      hits[u] = unit_valid_i[u] && unit_block_i[u] == look_q.line[LineWidth-1:BlockLinesLog2];
      if (hits[u]) begin
        unit |= UnitWidth'(u);
        here |= unit_here_i[u];
        dead |= unit_dead_i[u];
      end
    end
  end
  assign outside = line_t'(look_q.line - base_i) >= lines_i;
  assign hit = |hits;
  assign good = hit && !dead[place];
  assign to_serve = look_valid_q && (outside || (good && here[place]));
  assign again = look_valid_q && !outside && good && !here[place];
  assign to_direct = look_valid_q && !outside && !good;
  assign look_done = (to_serve && serve_free) || (to_direct && direct_free) || again;

  // Wishes: the block of a line that is not here; after its middle, the next one.
  logic wish_next;
  assign wish_next = to_serve && !outside && serve_free && place[BlockLinesLog2-1];
  assign fetch_valid_o = (to_direct && !hit) || wish_next;
  assign fetch_block_o = look_q.line[LineWidth-1:BlockLinesLog2] + BlockWidth'(wish_next);
  assign unit_used_o = (to_serve && !outside && serve_free) ? hits : '0;

  // ---------------------------------------------------------------------------------------------
  // Lines that are here: two rows each
  // ---------------------------------------------------------------------------------------------

  logic serve_valid_q, serve_second_q, serve_outside_q, serve_step, served_valid_q, served_second_q;
  logic served_outside_q;
  logic [4:0] serve_id_q, served_id_q;
  logic [UnitWidth-1:0] serve_unit_q;
  logic [BlockLinesLog2-1:0] serve_place_q;
  logic out_free;

  assign serve_free = !serve_valid_q || (serve_step && serve_second_q);
  assign serve_step = serve_valid_q && out_free;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      serve_valid_q <= 1'b0;
      serve_second_q <= 1'b0;
      served_valid_q <= 1'b0;
    end else begin
      if (serve_free) serve_valid_q <= to_serve;
      if (serve_step) serve_second_q <= !serve_second_q;
      served_valid_q <= serve_step;
    end
  end
  always_ff @(posedge clk_i) begin
    if (serve_free) begin
      serve_id_q <= look_q.id;
      serve_unit_q <= unit;
      serve_place_q <= place;
      serve_outside_q <= outside;
    end
    if (serve_step) begin
      served_id_q <= serve_id_q;
      served_second_q <= serve_second_q;
      served_outside_q <= serve_outside_q;
    end
  end
  assign row_read_o = serve_step;
  assign row_addr_o = {serve_unit_q, serve_place_q, serve_second_q};
  assign unit_reading_o = serve_valid_q && !serve_outside_q ? Units'(1) << serve_unit_q : '0;

  typedef struct packed {
    logic [4:0]   id;
    logic         error;
    logic         last;
    logic [511:0] row;
  } row_t;

  // Room for what is read now and in the cycle before.
  logic [2:0] rows_q;
  row_t served, served_head;
  logic served_head_valid, served_head_take, unused_served_ready;
  assign out_free = rows_q <= 3'd2 || (rows_q == 3'd3 && served_head_take);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) rows_q <= '0;
    else rows_q <= rows_q + 3'(serve_step) - 3'(served_head_take);
  end
  assign served = '{
      id: served_id_q,
      error: served_outside_q,
      last: served_second_q,
      row: served_outside_q ? '0 : row_i
  };
  kernel_fifo #(
    .Width($bits(row_t)),
    .Depth(4)
  ) u_served (
    .clk_i,
    .rst_ni,
    .in_valid_i(served_valid_q),
    .in_ready_o(unused_served_ready),
    .in_data_i(served),
    .out_valid_o(served_head_valid),
    .out_ready_i(served_head_take),
    .out_data_o(served_head)
  );

  // ---------------------------------------------------------------------------------------------
  // Single lines from memory
  // ---------------------------------------------------------------------------------------------

  kernel_fifo #(
    .Width(64),
    .Depth(Reads)
  ) u_direct (
    .clk_i,
    .rst_ni,
    .in_valid_i(to_direct),
    .in_ready_o(direct_free),
    .in_data_i(address_of(look_q.line, base_i, data_i)),
    .out_valid_o(direct_valid_o),
    .out_ready_i(direct_ready_i),
    .out_data_o(direct_addr_o)
  );
  logic [4:0] direct_id;
  logic direct_id_valid, direct_end, unused_direct_ids;
  kernel_fifo #(
    .Width(5),
    .Depth(Reads)
  ) u_direct_ids (
    .clk_i,
    .rst_ni,
    .in_valid_i(to_direct && direct_free),
    .in_ready_o(unused_direct_ids),
    .in_data_i(look_q.id),
    .out_valid_o(direct_id_valid),
    .out_ready_i(direct_end),
    .out_data_o(direct_id)
  );

  // Lines that memory has given go first; a line that has begun goes on.
  logic half_q, half_direct_q, choose_direct, direct_second_q;
  assign choose_direct = half_q ? half_direct_q : direct_row_valid_i && direct_id_valid;
  assign rvalid_o = choose_direct ? direct_row_valid_i && direct_id_valid : served_head_valid;
  assign rid_o = choose_direct ? direct_id : served_head.id;
  assign rdata_o = choose_direct ? direct_row_i : served_head.row;
  assign rerror_o = choose_direct ? direct_row_error_i : served_head.error;
  assign rlast_o = choose_direct ? direct_second_q : served_head.last;
  assign direct_row_ready_o = choose_direct && direct_id_valid && rready_i;
  assign direct_end = direct_row_valid_i && direct_row_ready_o && direct_second_q;
  assign served_head_take = !choose_direct && served_head_valid && rready_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      half_q <= 1'b0;
      direct_second_q <= 1'b0;
    end else begin
      if (rvalid_o && rready_i) half_q <= !half_q;
      if (direct_row_valid_i && direct_row_ready_o) direct_second_q <= !direct_second_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (rvalid_o && rready_i && !half_q) half_direct_q <= choose_direct;
  end

  // ---------------------------------------------------------------------------------------------
  // Writes: to memory; then the line is not good any more where a block has it
  // ---------------------------------------------------------------------------------------------

  typedef struct packed {
    logic [4:0] id;
    logic       outside;
    line_t      line;
  } write_t;

  // One write at a time hands its rows over. An outside one goes to the first line, without strobes.
  logic write_valid_q, write_asked_q, write_second_q, aw_outside, write_over, row_over;
  write_t write_q, write_head;
  logic writes_ready, writes_valid;
  assign aw_outside = line_t'(awline_i - base_i) >= lines_i;
  assign row_over = m_wvalid_o && m_wready_i;
  assign write_over = write_valid_q && (write_asked_q || (m_awvalid_o && m_awready_i))
      && row_over && write_second_q;
  assign awready_o = !write_valid_q;
  assign m_awvalid_o = write_valid_q && !write_asked_q && writes_ready;
  assign m_awaddr_o = write_q.outside ? data_i : address_of(write_q.line, base_i, data_i);
  // The last row waits for the address, so that a write is over at once.
  assign m_wvalid_o = wvalid_i && write_valid_q
      && (!write_second_q || write_asked_q || (m_awvalid_o && m_awready_i));
  assign wready_o = m_wready_i && write_valid_q
      && (!write_second_q || write_asked_q || (m_awvalid_o && m_awready_i));
  assign m_wdata_o = wdata_i;
  assign m_wstrb_o = write_q.outside ? '0 : wstrb_i;
  assign m_wlast_o = write_second_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_valid_q <= 1'b0;
      write_asked_q <= 1'b0;
      write_second_q <= 1'b0;
    end else begin
      if (awvalid_i && awready_o) write_valid_q <= 1'b1;
      else if (write_over) write_valid_q <= 1'b0;
      if (write_over) write_asked_q <= 1'b0;
      else if (m_awvalid_o && m_awready_i) write_asked_q <= 1'b1;
      if (row_over) write_second_q <= !write_second_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (awvalid_i && awready_o) write_q <= '{id: awid_i, outside: aw_outside, line: awline_i};
  end

  // Memory answers in order.
  logic done_ready, done_valid;
  kernel_fifo #(
    .Width($bits(write_t)),
    .Depth(Reads)
  ) u_writes (
    .clk_i,
    .rst_ni,
    .in_valid_i(m_awvalid_o && m_awready_i),
    .in_ready_o(writes_ready),
    .in_data_i(write_q),
    .out_valid_o(writes_valid),
    .out_ready_i(m_bvalid_i && m_bready_o),
    .out_data_o(write_head)
  );
  assign m_bready_o = done_ready && writes_valid;
  assign dead_valid_o = m_bvalid_i && m_bready_o;
  assign dead_line_o = write_head.line;

  // The directory hears of it a cycle after the blocks do.
  kernel_fifo #(
    .Width(6),
    .Depth(2)
  ) u_done (
    .clk_i,
    .rst_ni,
    .in_valid_i(m_bvalid_i && writes_valid),
    .in_ready_o(done_ready),
    .in_data_i({write_head.id, write_head.outside || m_berror_i}),
    .out_valid_o(done_valid),
    .out_ready_i(bready_i),
    .out_data_o({bid_o, berror_o})
  );
  assign bvalid_o = done_valid;

  logic unused_ok;
  assign unused_ok = &{1'b0, unused_served_ready, unused_direct_ids, unused_waiting_ready};

endmodule
