// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The single writer of the page tables: the host's table commands, and the walker's marks
// (accessed, dirty). One at a time: read the set, decide, write the entry, wait for the write's
// response.
//
// An entry that is removed, downgraded or replaced is followed by the sequence of tmb_invalidate
// before the command is answered; marks are served meanwhile. A mark decides on the set as it is
// now, not as the walk saw it: if the entry has gone or lost the right, the walk is told so.
//
// Many bursts of a stream meet a page that nobody has touched at the same time, and each walk
// brings its mark. The entries marked last are kept (until the next command), so that all but the
// first of these marks take 3 cycles.
//
// Throughput: one command or mark per read and write round trip (8 cycles plus two memory
// latencies); when both wait they take turns. Ordering: commands in order, one response each.
// Back-pressure: a command waits until the one before it is answered and the answer taken.
// No deadlock: memory, and the invalidation, which needs only memory and this engine's marks. The
// answer register is not in the way of marks.

`include "tmb_assert.svh"

module tmb_table_engine
  import tmb_pkg::*;
  import tmb_translate_pkg::*;
#(
  parameter int unsigned NumRecent = 4  // entries marked last
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  space_cfg_t  space_i [2**AsidWidth],
  // commands
  input  logic        table_cmd_valid_i,
  output logic        table_cmd_ready_o,
  input  table_cmd_t  table_cmd_i,
  output logic        table_rsp_valid_o,
  input  logic        table_rsp_ready_i,
  output table_rsp_t  table_rsp_o,
  // marks
  input  logic        mark_valid_i,  // stays until done
  input  mark_t       mark_i,
  output logic        mark_done_o,
  input  logic        mark_ready_i,
  output logic        mark_gone_o,
  output page_entry_t mark_entry_o,
  // invalidation
  output logic        invalidate_valid_o,
  input  logic        invalidate_ready_i,
  output region_t     invalidate_o,
  input  logic        invalidate_done_i,
  input  logic        flushing_i,  // commands wait
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
    StateMarked       // give a mark back
  } state_e;

  localparam int unsigned WayWidth = $clog2(TableWays);
  localparam int unsigned EntryBytes = RowBytes / TableWays;
  typedef logic [WayWidth-1:0] way_t;

  state_e state_q, state_d;

  // What is being done.
  logic is_mark_q, mark_write_q;
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

  logic pending_q;  // a command waits for its invalidation
  logic answer_valid_q, answer_valid_d;
  table_rsp_t answer_q, answer_d;
  logic mark_first_q;

  space_cfg_t space;
  block_t block;
  logic legal;
  assign space = space_i[asid_q];
  assign block = addr_q[VirtAddrWidth-1:MinPageBits];
  assign legal = space.enable
      && (32'(given_q.size_class) <= MaxSizeClass)
      && space.size_classes[given_q.size_class]
      && (addr_q[MinPageBits-1:0] == '0)
      && ((block & page_mask(given_q.size_class)) == '0);

  // ---------------------------------------------------------------------------------------------
  // Choice
  // ---------------------------------------------------------------------------------------------

  logic cmd_waits, take_cmd, take_mark;
  assign cmd_waits = table_cmd_valid_i && !pending_q && !answer_valid_q && !flushing_i;
  assign take_mark = (state_q == StateIdle) && mark_valid_i && (mark_first_q || !cmd_waits);
  assign take_cmd = (state_q == StateIdle) && cmd_waits && !take_mark;
  assign table_cmd_ready_o = take_cmd;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) mark_first_q <= 1'b0;
    else if (take_cmd || take_mark) mark_first_q <= take_cmd;
  end

  always_ff @(posedge clk_i) begin
    if (take_cmd) begin
      is_mark_q <= 1'b0;
      op_q <= table_cmd_i.op;
      asid_q <= table_cmd_i.asid;
      addr_q <= table_cmd_i.addr;
      given_q <= table_cmd_i.entry;
    end else if (take_mark) begin
      is_mark_q <= 1'b1;
      mark_write_q <= mark_i.write;
      asid_q <= mark_i.asid;
      addr_q <= {mark_i.block & ~page_mask(mark_i.size_class), MinPageBits'(0)};
      given_q.size_class <= mark_i.size_class;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Find
  // ---------------------------------------------------------------------------------------------

  logic [TableWays-1:0] match, free, chosen;
  page_entry_t match_entry;
  way_t chosen_way;

  always_comb begin
    match_entry = '0;
    for (int unsigned w = 0; w < TableWays; w++) begin
      match[w] = set_q[w].valid && (set_q[w].tag == tag_q)
          && (set_q[w].size_class == given_q.size_class);
      free[w] = !set_q[w].valid;
      if (match[w]) match_entry |= set_q[w];
    end
  end

  assign chosen = (match != '0) ? match : (free & (~free + TableWays'(1)));
  always_comb begin
    chosen_way = '0;
    for (int unsigned w = 0; w < TableWays; w++) begin
      if (chosen[w]) chosen_way |= way_t'(w);
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Decide
  // ---------------------------------------------------------------------------------------------

  logic writes, usable;
  page_entry_t entry;
  table_status_e status;

  assign usable = (found_q.target == TargetCard) && (mark_write_q ? found_q.write : found_q.read);

  always_comb begin
    writes = 1'b0;
    entry = found_q;
    status = hit_q ? TableOk : TableAbsent;
    if (is_mark_q) begin
      entry.accessed = 1'b1;
      entry.dirty = found_q.dirty || mark_write_q;
      writes = hit_q && usable && (entry != found_q);
    end else begin
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
    end
    if (error_q) begin
      writes = 1'b0;
      status = TableRefused;
    end
  end

  // A translation may exist that is no longer true.
  logic outdated;
  assign outdated = hit_q && (op_q != TableReadClear);

  // ---------------------------------------------------------------------------------------------
  // Entries marked last
  // ---------------------------------------------------------------------------------------------

  localparam int unsigned RecentWidth = NumRecent > 1 ? $clog2(NumRecent) : 1;

  typedef struct packed {
    asid_t       asid;
    block_t      block;
    page_entry_t entry;
  } recent_t;

  recent_t recent_q [NumRecent];
  logic [NumRecent-1:0] recent_valid_q, recent_match;
  logic [RecentWidth-1:0] recent_next_q;
  page_entry_t recent_entry;
  logic mark_written;

  always_comb begin
    recent_entry = '0;
    for (int unsigned i = 0; i < NumRecent; i++) begin
      recent_match[i] = recent_valid_q[i] && (recent_q[i].asid == asid_q)
          && (recent_q[i].block == block)
          && (recent_q[i].entry.size_class == given_q.size_class)
          && (mark_write_q ? (recent_q[i].entry.write && recent_q[i].entry.dirty)
              : recent_q[i].entry.read);
      if (recent_match[i]) recent_entry |= recent_q[i].entry;
    end
  end

  assign mark_written = (state_q == StateWritten) && is_mark_q && write_rsp_valid_i
      && !write_rsp_i.error;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      recent_valid_q <= '0;
      recent_next_q <= '0;
    end else if (take_cmd || flushing_i) begin
      recent_valid_q <= '0;
    end else if (mark_written) begin
      recent_valid_q[recent_next_q] <= 1'b1;
      recent_next_q <= (recent_next_q == RecentWidth'(NumRecent - 1)) ? '0
          : recent_next_q + RecentWidth'(1);
    end
  end
  always_ff @(posedge clk_i) begin
    if (mark_written) recent_q[recent_next_q] <= '{asid: asid_q, block: block, entry: entry_q};
  end

  // ---------------------------------------------------------------------------------------------
  // Sequence
  // ---------------------------------------------------------------------------------------------

  logic request_sent_q, data_sent_q;
  logic mark_gone_q;

  always_comb begin
    state_d = state_q;
    answer_valid_d = answer_valid_q && !table_rsp_ready_i;
    answer_d = answer_q;
    if (pending_q && invalidate_done_i) answer_valid_d = 1'b1;
    unique case (state_q)
      StateIdle: if (take_cmd || take_mark) state_d = StateNumber;
      StateNumber: begin
        state_d = StateIndex;
        if (is_mark_q && recent_match != '0) begin
          state_d = StateMarked;
        end else if (!legal) begin
          if (is_mark_q) begin
            state_d = StateMarked;
          end else begin
            state_d = StateIdle;
            answer_valid_d = 1'b1;
            answer_d = '{status: TableRefused, accessed: 1'b0, dirty: 1'b0};
          end
        end
      end
      StateIndex: state_d = StateRead;
      StateRead: if (read_req_ready_i) state_d = StateRow;
      StateRow: if (read_rsp_valid_i) state_d = StateFind;
      StateFind: state_d = StateDecide;
      StateDecide: begin
        if (!is_mark_q) begin
          answer_d = '{
              status: status,
              accessed: hit_q && found_q.accessed,
              dirty: hit_q && found_q.dirty
          };
        end
        if (writes) begin
          state_d = StateWrite;
        end else if (is_mark_q) begin
          state_d = StateMarked;
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
          if (is_mark_q) begin
            state_d = StateMarked;
          end else begin
            if (write_rsp_i.error) answer_d.status = TableRefused;
            if (outdated) begin
              state_d = StateInvalidate;
            end else begin
              state_d = StateIdle;
              answer_valid_d = 1'b1;
            end
          end
        end
      end
      StateInvalidate: if (invalidate_ready_i) state_d = StateIdle;
      StateMarked: if (mark_ready_i) state_d = StateIdle;
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
      StateNumber: begin
        number_q <= block >> given_q.size_class;
        mark_gone_q <= recent_match == '0;
        entry_q <= recent_entry;
      end
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
        found_q <= match_entry;
        hit_q <= match != '0;
        free_q <= free != '0;
        way_q <= chosen_way;
      end
      StateDecide: begin
        entry_q <= entry;
        mark_gone_q <= !hit_q || !usable || error_q;
      end
      StateWritten: if (write_rsp_valid_i && write_rsp_i.error) mark_gone_q <= 1'b1;
      default: ;
    endcase
  end

  assign read_req_valid_o = state_q == StateRead;
  assign read_req_o = '{addr: row_addr_q, len: '0, tag: '0};
  assign read_rsp_ready_o = 1'b1;
  assign write_req_valid_o = (state_q == StateWrite) && !request_sent_q;
  assign write_req_o = '{addr: row_addr_q, len: '0, tag: '0};
  assign write_data_valid_o = (state_q == StateWrite) && !data_sent_q;
  // The entry in every way; the strobe picks one.
  assign write_data_o = '{
      row: {TableWays{entry_q}},
      strobe: row_strobe_t'({EntryBytes{1'b1}}) << (32'(way_q) * EntryBytes),
      last: 1'b1
  };
  assign write_rsp_ready_o = 1'b1;

  assign invalidate_valid_o = state_q == StateInvalidate;
  assign invalidate_o = '{asid: asid_q, block: block, mask: page_mask(given_q.size_class)};

  assign mark_done_o = state_q == StateMarked;
  assign mark_gone_o = mark_gone_q;
  assign mark_entry_o = entry_q;

  assign table_rsp_valid_o = answer_valid_q;
  assign table_rsp_o = answer_q;

  logic unused_ok;
  assign unused_ok = &{1'b0, read_rsp_i, write_rsp_i};

  `TMB_ASSERT(OneMatch, (state_q == StateFind) |-> $onehot0(match))
  `TMB_ASSERT_STABLE(AnswerHeld, table_rsp_valid_o, table_rsp_ready_i, table_rsp_o)

endmodule
