// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The single writer of the page tables: the host's table commands, one at a time (read the set, decide,
// write the entry, wait for the write's response), and the walker's marks (tmb_table_marks), several
// at a time. Commands and marks exclude one another and take turns.
//
// An entry that is removed, downgraded or replaced is followed by the sequence of tmb_invalidate
// before the command is answered; marks are served meanwhile. A mark decides on the set as it is
// now, not as the walk saw it: the answer to the walk reports an entry that has gone or lost the right.
//
// A table grows (TableGrow) in chunks: the space's lookups wait (growing_o), one invalidation of the
// whole space ends its walks, tmb_table_mover moves chunk after chunk, marks of other spaces take
// turns with them, and table_switch_o updates the space's registers. The old table stays as it is, so
// a move that fails changes nothing.
//
// Throughput: one command per read and write round trip (8 cycles plus two memory latencies); marks
// see tmb_table_marks. Ordering: commands in order, one response each.
// Back-pressure: a command waits until the one before it is answered and the answer taken.
// No deadlock: memory, and the invalidation, which needs only memory and this engine's marks. The
// answer register is not in the way of marks.

`include "tmb_assert.svh"

module tmb_table_engine
  import tmb_pkg::*;
  import tmb_translate_pkg::*;
#(
  parameter bit HostChannel = 1'b0  // pages in host memory can be reached
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  space_cfg_t  space_i [2**AsidWidth],
  input  logic [2**AsidWidth-1:0] walker_off_i,
  // commands
  input  logic        table_cmd_valid_i,
  output logic        table_cmd_ready_o,
  input  table_cmd_t  table_cmd_i,
  output logic        table_rsp_valid_o,
  input  logic        table_rsp_ready_i,
  output table_rsp_t  table_rsp_o,
  // marks
  input  logic         mark_valid_i,
  output logic         mark_ready_o,
  input  mark_t        mark_i,
  output logic         marked_valid_o,
  input  logic         marked_ready_i,
  output mark_result_t marked_o,
  // invalidation
  output logic        invalidate_valid_o,
  input  logic        invalidate_ready_i,
  output region_t     invalidate_o,
  input  logic        invalidate_done_i,
  input  logic        flushing_i,  // commands wait
  // size-class filter: a page more, or less, of a size class
  input  logic [2**AsidWidth-1:0] filter_busy_i,  // commands to the space wait
  output logic        filter_update_o,
  output logic        filter_up_o,
  output asid_t       filter_asid_o,
  output block_t      filter_block_o,
  output size_class_t filter_class_o,
  // growth
  output logic          growing_valid_o,  // lookups of this space wait
  output asid_t         growing_asid_o,
  output table_switch_t table_switch_o,
  // fabric
  output logic            read_req_valid_o,
  input  logic            read_req_ready_i,
  output mem_req_t        read_req_o,
  input  logic            read_rsp_valid_i,
  output logic            read_rsp_ready_o,
  input  mem_read_rsp_t   read_rsp_i,
  output logic            write_req_valid_o,
  input  logic            write_req_ready_i,
  output mem_req_t        write_req_o,
  output logic            write_data_valid_o,
  input  logic            write_data_ready_i,
  output mem_write_data_t write_data_o,
  input  logic            write_rsp_valid_i,
  output logic            write_rsp_ready_o,
  input  mem_write_rsp_t  write_rsp_i
);

  typedef enum logic [3:0] {
    StateIdle,
    StateNumber,      // page number, legality
    StateIndex,       // set and tag
    StateRead,        // request
    StateRow,         // wait for the set
    StateFind,        // compare
    StateDecide,
    StateWrite,       // request and row
    StateWritten,     // wait for the response
    StateInvalidate,  // hand over to tmb_invalidate
    StateGrow,        // legality, then the invalidation
    StateMove,        // a chunk of sets moves
    StateSwitch,      // the registers follow
    StateGrown
  } state_e;

  localparam int unsigned EntryBytes = RowBytes / TableWays;

  state_e state_q, state_d;

  // The command under way.
  table_op_e op_q;
  asid_t asid_q;
  virt_addr_t addr_q;
  page_entry_t given_q;  // size_class always, the rest for Install

  page_number_t number_q;
  card_addr_t row_addr_q;
  logic [TableTagWidth-1:0] tag_q;
  page_set_t set_q;
  logic error_q;
  page_entry_t found_q, entry_q;
  logic hit_q, free_q;
  way_t way_q;

  logic [4:0] new_sets_log2_q;  // for Grow

  logic pending_q;  // a command waits for its invalidation
  logic growing_q;  // a table grows
  logic answer_valid_q, answer_valid_d;
  table_rsp_t answer_q, answer_d;
  logic marks_first_q;

  space_cfg_t space;
  block_t block;
  logic legal, page_aligned_q, table_aligned_q;  // the address, found out as the command comes
  assign space = space_i[asid_q];
  assign block = addr_q[VirtAddrWidth-1:MinPageBits];
  assign legal = space.enable
      && (32'(given_q.size_class) <= MaxSizeClass)
      && space.size_classes[given_q.size_class]
      && page_aligned_q;

  // ---------------------------------------------------------------------------------------------
  // Choice
  // ---------------------------------------------------------------------------------------------

  // A command, or the next chunk of a growing table, waits until the marks under way are over; after
  // it, marks that wait begin before the next one.
  logic cmd_waits, chunk_waits, turn, take_cmd, take_chunk, marks_allowed, marks_busy;
  assign cmd_waits = table_cmd_valid_i && !pending_q && !growing_q && !answer_valid_q
      && !flushing_i && !filter_busy_i[table_cmd_i.asid];
  assign chunk_waits = growing_q && !pending_q;
  assign turn = (cmd_waits || chunk_waits) && !(marks_first_q && mark_valid_i);
  assign marks_allowed = (state_q == StateIdle) && !turn;
  assign take_cmd = (state_q == StateIdle) && turn && cmd_waits && !marks_busy;
  assign take_chunk = (state_q == StateIdle) && turn && chunk_waits && !marks_busy;
  assign table_cmd_ready_o = take_cmd;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) marks_first_q <= 1'b0;
    else if (take_cmd || take_chunk) marks_first_q <= 1'b1;
    else if (mark_valid_i && mark_ready_o) marks_first_q <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (take_cmd) begin
      op_q <= table_cmd_i.op;
      asid_q <= table_cmd_i.asid;
      addr_q <= table_cmd_i.addr;
      given_q <= table_cmd_i.entry;
      new_sets_log2_q <= table_cmd_i.sets_log2;
      page_aligned_q <= (table_cmd_i.addr[MinPageBits-1:0] == '0)
          && ((table_cmd_i.addr[VirtAddrWidth-1:MinPageBits] & page_mask(table_cmd_i.entry.size_class)) == '0);
      table_aligned_q <= ((table_cmd_i.addr >> CardAddrWidth) == '0) && ((table_cmd_i.addr
          & ~((~virt_addr_t'(0) << RowOffsetWidth) << table_cmd_i.sets_log2)) == '0);
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Find
  // ---------------------------------------------------------------------------------------------

  find_t find;
  logic [TableWays-1:0] free, chosen;
  way_t chosen_way;

  assign find = find_entry(set_q, tag_q, given_q.size_class);
  always_comb begin
    for (int unsigned w = 0; w < TableWays; w++) free[w] = !set_q[w].valid;
  end
  assign chosen = (find.match != '0) ? find.match : (free & (~free + TableWays'(1)));
  tmb_one_hot_index #(
    .Width(TableWays)
  ) i_chosen_way (
    .one_hot_i(chosen),
    .index_o  (chosen_way)
  );

  // ---------------------------------------------------------------------------------------------
  // Decide
  // ---------------------------------------------------------------------------------------------

  logic writes;
  page_entry_t entry;
  table_status_e status;

  always_comb begin
    writes = 1'b0;
    entry = found_q;
    status = hit_q ? TableOk : TableAbsent;
    unique case (op_q)
      TableInstall: begin
        entry = given_q;
        entry.tag = tag_q;
        entry.valid = 1'b1;
        writes = hit_q || free_q;
        status = writes ? TableOk : TableSetFull;
      end
      TableInvalidate: begin
        entry = '0;
        writes = hit_q;
      end
      TableProtect: begin
        entry.write = 1'b0;
        entry.dirty = 1'b0;
        writes = hit_q;
      end
      default: begin  // TableReadClear
        entry.accessed = 1'b0;
        writes = hit_q && found_q.accessed;
      end
    endcase
    if (error_q) begin
      writes = 1'b0;
      status = TableRefused;
    end
  end

  // A translation may exist that is no longer true. Without a walker the L1 TLBs hold what the host
  // replied, whether the table has it or not.
  logic outdated, outside;
  assign outdated = hit_q && (op_q != TableReadClear);
  assign outside = !hit_q && walker_off_i[asid_q] && (op_q inside {TableInvalidate, TableProtect});

  // Up before the entry is written, down when it has gone.
  logic filter_up, filter_down;
  assign filter_up = (state_q == StateDecide) && (op_q == TableInstall) && writes
      && !hit_q;
  assign filter_down = (state_q == StateWritten) && (op_q == TableInvalidate)
      && write_rsp_valid_i && !write_rsp_i.error;
  assign filter_update_o = filter_up || filter_down;
  assign filter_up_o = filter_up;
  assign filter_asid_o = asid_q;
  assign filter_block_o = block;
  assign filter_class_o = given_q.size_class;

  // ---------------------------------------------------------------------------------------------
  // Marks
  // ---------------------------------------------------------------------------------------------

  logic marks_read_valid, marks_write_valid, marks_data_valid;
  mem_req_t marks_read, marks_write;
  mem_write_data_t marks_data;

  tmb_table_marks #(
    .HostChannel(HostChannel)
  ) i_marks (
    .clk_i             (clk_i),
    .rst_ni            (rst_ni),
    .space_i           (space_i),
    .allow_i           (marks_allowed),
    .forget_i          (take_cmd || flushing_i),
    .busy_o            (marks_busy),
    .mark_valid_i      (mark_valid_i),
    .mark_ready_o      (mark_ready_o),
    .mark_i            (mark_i),
    .done_valid_o      (marked_valid_o),
    .done_ready_i      (marked_ready_i),
    .done_o            (marked_o),
    .read_req_valid_o  (marks_read_valid),
    .read_req_ready_i  (read_req_ready_i),
    .read_req_o        (marks_read),
    .read_rsp_valid_i  (read_rsp_valid_i && state_q == StateIdle),
    .read_rsp_i        (read_rsp_i),
    .write_req_valid_o (marks_write_valid),
    .write_req_ready_i (write_req_ready_i),
    .write_req_o       (marks_write),
    .write_data_valid_o(marks_data_valid),
    .write_data_ready_i(write_data_ready_i),
    .write_data_o      (marks_data),
    .write_rsp_valid_i (write_rsp_valid_i && state_q == StateIdle),
    .write_rsp_i       (write_rsp_i)
  );

  // ---------------------------------------------------------------------------------------------
  // Growth
  // ---------------------------------------------------------------------------------------------

  localparam int unsigned ChunkSets = 8;
  localparam int unsigned ChunkWidth = $clog2(ChunkSets) + RowOffsetWidth;  // log2(bytes)

  logic grow_legal, moved, move_error, last_chunk;
  asid_t grow_asid_q;
  card_addr_t grow_from_q, grow_to_q, grow_half, grow_offset_q;
  logic [4:0] grow_sets_log2_q;  // of the old table

  assign grow_legal = space.enable
      && (new_sets_log2_q == space.table_sets_log2 + 5'd1)
      && table_aligned_q;
  assign grow_half = card_addr_t'(RowBytes) << grow_sets_log2_q;
  assign last_chunk = ((grow_offset_q ^ (~(~card_addr_t'(0) << grow_sets_log2_q) << RowOffsetWidth))
      >> ChunkWidth) == '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) growing_q <= 1'b0;
    else if (state_q == StateGrow && grow_legal) growing_q <= 1'b1;
    else if (state_q == StateGrown) growing_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (state_q == StateGrow && !growing_q) begin
      grow_asid_q <= asid_q;
      grow_from_q <= space.table_base;
      grow_to_q <= card_addr_t'(addr_q);
      grow_sets_log2_q <= space.table_sets_log2;
      grow_offset_q <= '0;
    end else if (state_q == StateMove && moved) begin
      grow_offset_q <= grow_offset_q + (card_addr_t'(1) << ChunkWidth);
    end
  end

  assign growing_valid_o = growing_q;
  assign growing_asid_o = grow_asid_q;
  assign table_switch_o = '{
      valid: state_q == StateSwitch,
      asid: grow_asid_q,
      table_base: grow_to_q,
      table_sets_log2: grow_sets_log2_q + 5'd1
  };

  logic move_read_valid, move_write_valid, move_data_valid;
  mem_req_t move_read, move_write;
  mem_write_data_t move_data;

  tmb_table_mover #(
    .ChunkSets(ChunkSets)
  ) i_mover (
    .clk_i             (clk_i),
    .rst_ni            (rst_ni),
    .start_i           (take_chunk),
    .from_i            (grow_from_q | grow_offset_q),
    .low_i             (grow_to_q | grow_offset_q),
    .high_i            (grow_to_q | grow_half | grow_offset_q),
    .done_o            (moved),
    .error_o           (move_error),
    .read_req_valid_o  (move_read_valid),
    .read_req_ready_i  (read_req_ready_i),
    .read_req_o        (move_read),
    .read_rsp_valid_i  (read_rsp_valid_i && state_q == StateMove),
    .read_rsp_i        (read_rsp_i),
    .write_req_valid_o (move_write_valid),
    .write_req_ready_i (write_req_ready_i),
    .write_req_o       (move_write),
    .write_data_valid_o(move_data_valid),
    .write_data_ready_i(write_data_ready_i),
    .write_data_o      (move_data),
    .write_rsp_valid_i (write_rsp_valid_i && state_q == StateMove),
    .write_rsp_i       (write_rsp_i)
  );

  // ---------------------------------------------------------------------------------------------
  // Sequence
  // ---------------------------------------------------------------------------------------------

  logic request_sent_q, data_sent_q;

  always_comb begin
    state_d = state_q;
    answer_valid_d = answer_valid_q && !table_rsp_ready_i;
    answer_d = answer_q;
    if (pending_q && invalidate_done_i && !growing_q) answer_valid_d = 1'b1;
    unique case (state_q)
      StateIdle: begin
        if (take_cmd && table_cmd_i.op == TableGrow) state_d = StateGrow;
        else if (take_cmd) state_d = StateNumber;
        else if (take_chunk) state_d = StateMove;
      end
      StateNumber: begin
        state_d = StateIndex;
        if (!legal) begin
          state_d = StateIdle;
          answer_valid_d = 1'b1;
          answer_d = '{status: TableRefused, accessed: 1'b0, dirty: 1'b0};
        end
      end
      StateIndex: state_d = StateRead;
      StateRead: if (read_req_ready_i) state_d = StateRow;
      StateRow: if (read_rsp_valid_i) state_d = StateFind;
      StateFind: state_d = StateDecide;
      StateDecide: begin
        answer_d = '{
            status: status,
            accessed: hit_q && found_q.accessed,
            dirty: hit_q && found_q.dirty
        };
        if (writes) begin
          state_d = StateWrite;
        end else if (outside) begin
          state_d = StateInvalidate;
        end else begin
          state_d = StateIdle;
          answer_valid_d = 1'b1;
        end
      end
      StateWrite: begin
        if ((request_sent_q || write_req_ready_i) && (data_sent_q || write_data_ready_i)) begin
          state_d = StateWritten;
        end
      end
      StateWritten: begin
        if (write_rsp_valid_i) begin
          if (write_rsp_i.error) answer_d.status = TableRefused;
          if (outdated) begin
            state_d = StateInvalidate;
          end else begin
            state_d = StateIdle;
            answer_valid_d = 1'b1;
          end
        end
      end
      StateInvalidate: if (invalidate_ready_i) state_d = StateIdle;
      StateGrow: begin
        answer_d = '{status: TableOk, accessed: 1'b0, dirty: 1'b0};
        if (grow_legal) begin
          state_d = StateInvalidate;
        end else begin
          state_d = StateIdle;
          answer_valid_d = 1'b1;
          answer_d.status = TableRefused;
        end
      end
      StateMove: begin
        if (moved && move_error) begin
          state_d = StateGrown;
          answer_d.status = TableRefused;
        end else if (moved) begin
          state_d = last_chunk ? StateSwitch : StateIdle;
        end
      end
      StateSwitch: state_d = StateGrown;
      StateGrown: begin
        state_d = StateIdle;
        answer_valid_d = 1'b1;
      end
      default: state_d = StateIdle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StateIdle;
      answer_valid_q <= 1'b0;
      pending_q <= 1'b0;
      request_sent_q <= 1'b0;
      data_sent_q <= 1'b0;
    end else begin
      state_q <= state_d;
      answer_valid_q <= answer_valid_d;
      if (state_q == StateInvalidate && invalidate_ready_i) pending_q <= 1'b1;
      else if (invalidate_done_i) pending_q <= 1'b0;
      request_sent_q <= (state_q == StateWrite) && (request_sent_q || write_req_ready_i);
      data_sent_q <= (state_q == StateWrite) && (data_sent_q || write_data_ready_i);
    end
  end

  always_ff @(posedge clk_i) begin
    answer_q <= answer_d;
    unique case (state_q)
      StateNumber: number_q <= block >> given_q.size_class;
      StateIndex: begin
        row_addr_q <= space.table_base
            | {table_set(number_q, space.table_sets_log2), RowOffsetWidth'(0)};
        tag_q <= page_tag(number_q, space.table_sets_log2);
      end
      StateRow: begin
        if (read_rsp_valid_i) begin
          set_q <= read_rsp_i.row;
          error_q <= read_rsp_i.error;
        end
      end
      StateFind: begin
        found_q <= find.entry;
        hit_q <= find.match != '0;
        free_q <= free != '0;
        way_q <= chosen_way;
      end
      StateDecide: entry_q <= entry;
      default: ;
    endcase
  end

  // The fabric belongs to marks while no command or chunk runs.
  mem_req_t row_request;
  assign row_request = '{addr: row_addr_q, len: '0, tag: '0};

  always_comb begin
    read_req_valid_o = marks_read_valid;
    read_req_o = marks_read;
    write_req_valid_o = marks_write_valid;
    write_req_o = marks_write;
    write_data_valid_o = marks_data_valid;
    write_data_o = marks_data;
    if (state_q == StateMove) begin
      read_req_valid_o = move_read_valid;
      read_req_o = move_read;
      write_req_valid_o = move_write_valid;
      write_req_o = move_write;
      write_data_valid_o = move_data_valid;
      write_data_o = move_data;
    end else if (state_q != StateIdle) begin
      read_req_valid_o = state_q == StateRead;
      read_req_o = row_request;
      write_req_valid_o = (state_q == StateWrite) && !request_sent_q;
      write_req_o = row_request;
      write_data_valid_o = (state_q == StateWrite) && !data_sent_q;
      // The entry in every way; the strobe picks one.
      write_data_o = '{
          row: {TableWays{entry_q}},
          strobe: row_strobe_t'({EntryBytes{1'b1}}) << (32'(way_q) * EntryBytes),
          last: 1'b1
      };
    end
  end
  assign read_rsp_ready_o = 1'b1;
  assign write_rsp_ready_o = 1'b1;

  assign invalidate_valid_o = state_q == StateInvalidate;
  assign invalidate_o = '{
      asid: asid_q,
      block: growing_q ? '0 : block,
      mask: growing_q ? '1 : page_mask(given_q.size_class)
  };

  assign table_rsp_valid_o = answer_valid_q;
  assign table_rsp_o = answer_q;

  logic unused_ok;
  assign unused_ok = &{1'b0, read_rsp_i, write_rsp_i, space};

  `TMB_ASSERT(OneMatch, (state_q == StateFind) |-> $onehot0(find.match))
  `TMB_ASSERT_STABLE(AnswerHeld, table_rsp_valid_o, table_rsp_ready_i, table_rsp_o)
  `TMB_ASSERT_STABLE(ReadHeld, read_req_valid_o, read_req_ready_i, read_req_o)
  `TMB_ASSERT_STABLE(WriteHeld, write_req_valid_o, write_req_ready_i, write_req_o)
  `TMB_ASSERT_STABLE(RowHeld, write_data_valid_o, write_data_ready_i, write_data_o)

endmodule
