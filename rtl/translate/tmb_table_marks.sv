// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Marks of the walker: sets accessed, and for a write dirty, in entries of the page tables, several
// at a time. Each reads its set again, decides on what is there now, writes the one entry, and gives
// it back when the write has been answered; it reports an entry that has gone or lost the right.
//
// Two marks never work on the same set at a time: the later one waits, and those behind it. So a
// mark sees what the marks before it wrote, and the writes, which touch one entry each, do not undo
// one another. Commands and marks exclude one another (allow_i, busy_o).
//
// Many bursts of a requester meet an untouched page at the same time, and each walk
// brings its mark. The entries marked last are kept until the next command, so that all but the
// first of these marks take a few cycles.
//
// NumMarks    marks at a time
// NumRecent   entries marked last
//
// Throughput: one mark begins a cycle, one ends a cycle, NumMarks in a read and a write latency.
// Ordering: none between marks of different sets. Back-pressure: a mark waits for a place.
// No deadlock: needs memory, and that its results are taken.
//
// The table: docs/architecture.md.

`include "tmb_assert.svh"

module tmb_table_marks
  import tmb_pkg::*;
  import tmb_translate_pkg::*;
#(
  parameter int unsigned NumMarks = 8,
  parameter int unsigned NumRecent = 4,
  parameter bit HostChannel = 1'b0  // pages in host memory can be reached
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  space_cfg_t  space_i [2**AsidWidth],
  input  logic        allow_i,   // a mark may begin
  input  logic        forget_i,  // of the entries marked last
  output logic        busy_o,    // a mark has begun and not ended
  // walker
  input  logic         mark_valid_i,
  output logic         mark_ready_o,
  input  mark_t        mark_i,
  output logic         done_valid_o,
  input  logic         done_ready_i,
  output mark_result_t done_o,
  // fabric
  output logic            read_req_valid_o,
  input  logic            read_req_ready_i,
  output mem_req_t        read_req_o,
  input  logic            read_rsp_valid_i,
  input  mem_read_rsp_t   read_rsp_i,
  output logic            write_req_valid_o,
  input  logic            write_req_ready_i,
  output mem_req_t        write_req_o,
  output logic            write_data_valid_o,
  input  logic            write_data_ready_i,
  output mem_write_data_t write_data_o,
  input  logic            write_rsp_valid_i,
  input  mem_write_rsp_t  write_rsp_i
);

  localparam int unsigned TicketWidth = $clog2(NumMarks);
  localparam int unsigned EntryBytes = RowBytes / TableWays;
  localparam int unsigned RecentWidth = $clog2(NumRecent);
  typedef logic [TicketWidth-1:0] ticket_t;
  typedef logic [NumMarks-1:0] tickets_t;

  function automatic tickets_t lowest(tickets_t set);
    return set & (~set + tickets_t'(1));
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Front: page number and the entries marked last; set and tag; a place
  // ---------------------------------------------------------------------------------------------

  typedef struct packed {
    asid_t       asid;
    block_t      block;
    page_entry_t entry;
  } recent_t;

  // A mark in its place.
  typedef struct packed {
    mark_t                    mark;
    card_addr_t               row_addr;
    logic [TableTagWidth-1:0] tag;
  } place_t;

  logic front_ready, number_valid, index_valid_q, index_legal_q, front_moves, begins, begins_done;
  mark_t number, index_q;
  place_t index_place;
  recent_t recent_q [NumRecent];
  logic [NumRecent-1:0] recent_valid_q, recent_match;
  logic [RecentWidth-1:0] recent_next_q;
  page_entry_t recent_entry;
  card_addr_t index_addr_q;
  logic [TableTagWidth-1:0] index_tag_q;
  block_t index_block_q;  // first of its page
  page_number_t number_page;
  space_cfg_t number_space;

  assign mark_ready_o = allow_i && front_ready;
  assign front_moves = !index_valid_q || begins;
  assign number_page = number.block >> number.size_class;
  assign number_space = space_i[number.asid];

  // Cuts the path from the compares below to the walker.
  tmb_spill_register #(
    .T(mark_t)
  ) i_front (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .in_valid_i (mark_valid_i && allow_i),
    .in_ready_o (front_ready),
    .in_data_i  (mark_i),
    .out_valid_o(number_valid),
    .out_ready_i(front_moves),
    .out_data_o (number)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) index_valid_q <= 1'b0;
    else if (front_moves) index_valid_q <= number_valid;
  end
  always_ff @(posedge clk_i) begin
    if (front_moves && number_valid) begin
      index_q <= number;
      index_block_q <= number.block & ~page_mask(number.size_class);
      index_legal_q <= number_space.enable;
      index_addr_q <= number_space.table_base
          | {table_set(number_page, number_space.table_sets_log2), RowOffsetWidth'(0)};
      index_tag_q <= page_tag(number_page, number_space.table_sets_log2);
    end
  end

  assign index_place = '{mark: index_q, row_addr: index_addr_q, tag: index_tag_q};

  always_comb begin
    recent_entry = '0;
    for (int unsigned i = 0; i < NumRecent; i++) begin
      recent_match[i] = recent_valid_q[i] && (recent_q[i].asid == index_q.asid)
          && (recent_q[i].block == index_block_q)
          && (recent_q[i].entry.size_class == index_q.size_class)
          && (index_q.write ? (recent_q[i].entry.write && recent_q[i].entry.dirty)
              : recent_q[i].entry.read);
      if (recent_match[i]) recent_entry |= recent_q[i].entry;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Places
  // ---------------------------------------------------------------------------------------------

  // Used: until its result is in the output register. To read, to write, done: what is to be done
  // next; a place with none of these waits for memory.
  tickets_t used_q, to_read_q, to_write_q, done_q, same_set, free, taken;
  place_t place_q [NumMarks];
  page_entry_t entry_q [NumMarks];
  way_t way_q [NumMarks];
  tickets_t gone_q;

  for (genvar i = 0; i < NumMarks; i++) begin : gen_same_set
    assign same_set[i] = used_q[i] && !done_q[i] && (place_q[i].row_addr == index_addr_q);
  end
  assign free = lowest(~used_q);
  assign begins = index_valid_q && (free != '0) && (same_set == '0);
  // Known without a look at the table.
  assign begins_done = !index_legal_q || (recent_match != '0);

  // Response: find the entry, decide.
  page_set_t set_q;
  ticket_t set_ticket_q, found_ticket_q;
  logic set_valid_q, set_error_q, found_valid_q, found_hit_q, found_write_q;
  page_entry_t found_q, marked;
  find_t find;
  way_t find_way, found_way_q;
  place_t set_place, set_place_q;
  logic usable, writes;

  assign set_place = place_q[ticket_t'(read_rsp_i.tag)];
  assign find = find_entry(set_q, set_place_q.tag, set_place_q.mark.size_class);
  tmb_one_hot_index #(
    .Width(TableWays)
  ) i_find_way (
    .one_hot_i(find.match),
    .index_o  (find_way)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      set_valid_q <= 1'b0;
      found_valid_q <= 1'b0;
    end else begin
      set_valid_q <= read_rsp_valid_i;
      found_valid_q <= set_valid_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (read_rsp_valid_i) begin
      set_q <= read_rsp_i.row;
      set_ticket_q <= ticket_t'(read_rsp_i.tag);
      set_place_q <= set_place;
      set_error_q <= read_rsp_i.error;
    end
    if (set_valid_q) begin
      found_q <= find.entry;
      found_way_q <= find_way;
      found_hit_q <= (find.match != '0) && !set_error_q;
      found_ticket_q <= set_ticket_q;
      found_write_q <= set_place_q.mark.write;
    end
  end

  assign usable = found_hit_q && reachable(found_q.target, found_q.frame[FrameWidth-1], HostChannel)
      && (found_write_q ? found_q.write : found_q.read);
  always_comb begin
    marked = found_q;
    marked.accessed = 1'b1;
    marked.dirty = found_q.dirty || found_write_q;
  end
  assign writes = usable && (marked != found_q);

  // Reads, writes and results leave from a register each, which takes the lowest place: a
  // request does not change while it waits, and a write's row is that of its request.
  tickets_t read_next, write_next, done_next;
  ticket_t read_ticket, write_ticket, done_ticket;
  logic read_free, write_free, done_free;
  logic read_valid_q, write_valid_q, done_valid_q, request_sent_q, data_sent_q, write_ends;
  mem_req_t read_q, write_q;
  page_entry_t write_entry_q;
  way_t write_way_q;
  mark_result_t done_out_q;
  ticket_t write_end_ticket;

  assign read_next = lowest(to_read_q);
  assign read_free = !read_valid_q || read_req_ready_i;
  assign write_next = lowest(to_write_q);
  assign write_free = !write_valid_q || ((request_sent_q || write_req_ready_i)
      && (data_sent_q || write_data_ready_i));
  assign write_ends = write_rsp_valid_i;
  assign write_end_ticket = ticket_t'(write_rsp_i.tag);
  assign done_next = lowest(done_q);
  assign done_free = !done_valid_q || done_ready_i;
  assign taken = done_free ? done_next : '0;

  tmb_one_hot_index #(
    .Width(NumMarks)
  ) i_read_ticket (
    .one_hot_i(read_next),
    .index_o  (read_ticket)
  );
  tmb_one_hot_index #(
    .Width(NumMarks)
  ) i_write_ticket (
    .one_hot_i(write_next),
    .index_o  (write_ticket)
  );
  tmb_one_hot_index #(
    .Width(NumMarks)
  ) i_done_ticket (
    .one_hot_i(done_next),
    .index_o  (done_ticket)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_valid_q <= 1'b0;
      write_valid_q <= 1'b0;
      done_valid_q <= 1'b0;
      request_sent_q <= 1'b0;
      data_sent_q <= 1'b0;
    end else begin
      if (read_free) read_valid_q <= to_read_q != '0;
      if (write_free) write_valid_q <= to_write_q != '0;
      if (done_free) done_valid_q <= done_q != '0;
      request_sent_q <= !write_free && (request_sent_q || write_req_ready_i);
      data_sent_q <= !write_free && (data_sent_q || write_data_ready_i);
    end
  end
  always_ff @(posedge clk_i) begin
    if (read_free) begin
      read_q <= '{addr: place_q[read_ticket].row_addr, len: '0, tag: mem_tag_t'(read_ticket)};
    end
    if (write_free) begin
      write_q <= '{addr: place_q[write_ticket].row_addr, len: '0, tag: mem_tag_t'(write_ticket)};
      write_entry_q <= entry_q[write_ticket];
      write_way_q <= way_q[write_ticket];
    end
    if (done_free) begin
      done_out_q <= '{
          ticket: place_q[done_ticket].mark.ticket,
          gone: gone_q[done_ticket],
          entry: entry_q[done_ticket]
      };
    end
  end

  tickets_t found_bit, write_end_bit;
  assign found_bit = found_valid_q ? (tickets_t'(1) << found_ticket_q) : '0;
  assign write_end_bit = write_ends ? (tickets_t'(1) << write_end_ticket) : '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      used_q <= '0;
      to_read_q <= '0;
      to_write_q <= '0;
      done_q <= '0;
    end else begin
      used_q <= (used_q & ~taken) | (begins ? free : '0);
      to_read_q <= (to_read_q & ~(read_free ? read_next : '0))
          | ((begins && !begins_done) ? free : '0);
      to_write_q <= (to_write_q & ~(write_free ? write_next : '0)) | (writes ? found_bit : '0);
      done_q <= (done_q & ~taken) | ((begins && begins_done) ? free : '0)
          | (writes ? '0 : found_bit) | write_end_bit;
    end
  end
  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < NumMarks; i++) begin
      if (begins && free[i]) begin
        place_q[i] <= index_place;
        entry_q[i] <= recent_entry;
        gone_q[i] <= recent_match == '0;
      end
      if (found_bit[i]) begin
        entry_q[i] <= marked;
        way_q[i] <= found_way_q;
        gone_q[i] <= !usable;
      end
      if (write_end_bit[i] && write_rsp_i.error) gone_q[i] <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      recent_valid_q <= '0;
      recent_next_q <= '0;
    end else if (forget_i) begin
      recent_valid_q <= '0;
    end else if (write_ends && !write_rsp_i.error) begin
      recent_valid_q[recent_next_q] <= 1'b1;
      recent_next_q <= recent_next_q + RecentWidth'(1);
    end
  end
  always_ff @(posedge clk_i) begin
    if (write_ends) begin
      recent_q[recent_next_q] <= '{
          asid: place_q[write_end_ticket].mark.asid,
          block: place_q[write_end_ticket].mark.block
              & ~page_mask(place_q[write_end_ticket].mark.size_class),
          entry: entry_q[write_end_ticket]
      };
    end
  end

  assign read_req_valid_o = read_valid_q;
  assign read_req_o = read_q;
  assign write_req_valid_o = write_valid_q && !request_sent_q;
  assign write_req_o = write_q;
  assign write_data_valid_o = write_valid_q && !data_sent_q;
  // The entry in every way; the strobe picks one.
  assign write_data_o = '{
      row: {TableWays{write_entry_q}},
      strobe: row_strobe_t'({EntryBytes{1'b1}}) << (32'(write_way_q) * EntryBytes),
      last: 1'b1
  };
  assign done_valid_o = done_valid_q;
  assign done_o = done_out_q;

  logic unused_ok;
  assign unused_ok = &{1'b0, read_rsp_i, write_rsp_i.tag, number_space, set_place_q};

  assign busy_o = number_valid || index_valid_q || (used_q != '0) || done_valid_q;

  `TMB_ASSERT_INIT(MarksPowerOfTwo, NumMarks >= 2 && (NumMarks & (NumMarks - 1)) == 0)
  `TMB_ASSERT_INIT(RecentPowerOfTwo, NumRecent >= 2 && (NumRecent & (NumRecent - 1)) == 0)
  `TMB_ASSERT(OneMatch, set_valid_q |-> $onehot0(find.match))

endmodule
