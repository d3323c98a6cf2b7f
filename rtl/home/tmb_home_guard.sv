// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The boundary between a slice of the directory and the slot of the kernel behind it: registers both
// ways, buffers for everything that the directory may send, and a guard.
//
// NumReads, NumWrites   accesses that the kernel may have to answer at a time, powers of two
// Buffered              writes that the directory may send: what it has places for
//
// The kernel is an AXI4 subordinate (home_*) and sends line operations (line_*). It sees IDs of its own:
// the number of a place here, below NumReads or NumWrites; a line is two rows, incrementing. A row is
// never offered before its address. It may answer reads, and writes, in any order, and late.
//
// Guard: every answer must belong to an access, have two rows together, and come within `patience_i` to
// twice that many cycles (0: any time); every operation must be known, whole, and have a tag that is not
// in use. A violation goes no further, and violation_o pulses: the slot's guard then closes the
// slot. While the way is not open (closed, in reset, no slot routed here) the shell answers in the kernel's
// place: reads end with zeroes and SLVERR, writes with SLVERR, also those that the kernel
// had; acknowledgements are dropped. So the CPU goes on. A kernel that is cut off sees its offers
// withdrawn. Its line operations have a way of their own (line_open_i): they stay out while it is not open, also
// while memory serves the lines.
//
// Throughput: a row a cycle each way. Latency: one cycle each way (two for rows of writes). Ordering: none
// beyond what an AXI4 ID has. Back-pressure: reads wait while NumReads are under way.
// No deadlock: writes and acknowledgements of the directory always find room here (Buffered lines, two
// rows for each operation tag), so the directory never waits for the kernel with them; reads it may delay.
// A kernel may therefore wait for an acknowledgement before it takes a write, and for a write before it
// answers a read. A kernel that waits for ever is cut off.
//
// Source: CCKit, section 3.3; docs/blocks/home.md.

`include "tmb_assert.svh"

module tmb_home_guard
  import tmb_pkg::*;
  import tmb_directory_pkg::*;
  import tmb_home_pkg::*;
#(
  parameter int unsigned NumReads = 32,
  parameter int unsigned NumWrites = 32,
  parameter int unsigned Buffered = NumOperationTags + NumRequestIds + NumPayloads
) (
  input  logic            clk_i,
  input  logic            rst_ni,

  input  logic            open_i,       // a kernel that obeys is there, or memory
  input  logic            line_open_i,  // a kernel that obeys is there, and may send line operations
  input  logic [31:0]     patience_i,
  output logic            idle_o,       // nothing is under way
  output logic            line_idle_o,  // no line operation is
  output logic            violation_o,
  output home_violation_t violation_info_o,
  output logic [1:0]      answered_o,  // answers that the shell gave in the kernel's place

  // The slice.
  input  axi_req_t        axi_req_i,
  output axi_rsp_t        axi_rsp_o,
  output logic            operation_valid_o,
  input  logic            operation_ready_i,
  output operation_req_t  operation_o,
  input  logic            operation_valid_i,
  output logic            operation_ready_o,
  input  operation_rsp_t  operation_i,

  // The kernel.
  output axi_req_t        home_req_o,
  input  axi_rsp_t        home_rsp_i,
  input  logic            line_valid_i,
  output logic            line_ready_o,
  input  operation_req_t  line_i,
  output logic            line_valid_o,
  input  logic            line_ready_i,
  output operation_rsp_t  line_o
);

  localparam int unsigned ReadWidth = $clog2(NumReads);
  localparam int unsigned WriteWidth = $clog2(NumWrites);
  localparam int unsigned RowsWidth = $clog2(NumWrites * LineRows + 1);
  typedef logic [ReadWidth-1:0] read_index_t;
  typedef logic [WriteWidth-1:0] write_index_t;

  // A clock for ages: it runs only while something is owed.
  logic owed, tick;
  logic [31:0] age_q;
  assign tick = owed && patience_i != '0 && age_q >= patience_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || !owed || tick) age_q <= '0;
    else age_q <= age_q + 1'b1;
  end

  // ---------------------------------------------------------------------------------------------
  // Reads
  // ---------------------------------------------------------------------------------------------

  logic [NumReads-1:0] read_busy_q, read_old_q;
  axi_id_t read_id_q [NumReads];
  logic [63:0] read_addr_q [NumReads];

  logic read_free, read_start, read_end;
  read_index_t read_next, read_end_index;
  tmb_directory_pool #(
    .Depth(NumReads)
  ) u_read_pool (
    .clk_i,
    .rst_ni,
    .valid_o(read_free),
    .index_o(read_next),
    .take_i(read_start),
    .free_i(read_end),
    .free_index_i(read_end_index)
  );

  logic ar_valid_q;
  axi_ax_t ar_q;
  logic ar_ready;
  assign ar_ready = read_free && (!ar_valid_q || home_rsp_i.ar_ready || !open_i);
  assign read_start = axi_req_i.ar_valid && ar_ready;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || !open_i) ar_valid_q <= 1'b0;
    else if (read_start) ar_valid_q <= 1'b1;
    else if (home_rsp_i.ar_ready) ar_valid_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (read_start) begin
      ar_q <= axi_req_i.ar;
      ar_q.id <= axi_id_t'(read_next);
      read_id_q[read_next] <= axi_req_i.ar.id;
      read_addr_q[read_next] <= axi_req_i.ar.addr;
    end
  end

  // Rows of the kernel.
  logic row_valid, row_take, r_valid, r_ready;
  axi_r_t row;
  tmb_spill_register #(
    .T(axi_r_t)
  ) u_rows (
    .clk_i,
    .rst_ni,
    .in_valid_i(home_rsp_i.r_valid && open_i),
    .in_ready_o(r_ready),
    .in_data_i(home_rsp_i.r),
    .out_valid_o(row_valid),
    .out_ready_i(row_take),
    .out_data_o(row)
  );

  // The line whose first row has gone to the directory.
  logic half_q;
  read_index_t half_index_q;
  logic row_known, row_whole, row_good;
  read_index_t row_index;
  assign row_index = read_index_t'(row.id);
  assign row_known = (row.id >> ReadWidth) == '0 && read_busy_q[row_index];
  assign row_whole = row.last == half_q && (!half_q || row_index == half_index_q);
  assign row_good = row_known && row_whole;

  // In the kernel's place: a line that has begun, then the lowest.
  logic fill_valid;
  logic [NumReads-1:0] fill_one_hot;
  read_index_t fill_lowest, fill_index;
  assign fill_one_hot = read_busy_q & (~read_busy_q + 1'b1);
  tmb_one_hot_index #(
    .Width(NumReads)
  ) u_fill_lowest (
    .one_hot_i(fill_one_hot),
    .index_o(fill_lowest)
  );
  assign fill_valid = !open_i && read_busy_q != '0;
  assign fill_index = half_q ? half_index_q : fill_lowest;

  read_index_t r_index;
  assign r_index = open_i ? row_index : fill_index;
  assign r_valid = open_i ? row_valid && row_good : fill_valid;
  assign row_take = !open_i || !row_good || axi_req_i.r_ready;
  assign read_end = r_valid && axi_req_i.r_ready && half_q;
  assign read_end_index = r_index;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) half_q <= 1'b0;
    else if (r_valid && axi_req_i.r_ready) half_q <= !half_q;
  end
  always_ff @(posedge clk_i) begin
    if (r_valid && axi_req_i.r_ready) half_index_q <= r_index;
  end

  logic [NumReads-1:0] read_starts, read_ends;
  assign read_starts = read_start ? NumReads'(1) << read_next : '0;
  assign read_ends = read_end ? NumReads'(1) << read_end_index : '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_busy_q <= '0;
      read_old_q <= '0;
    end else begin
      read_busy_q <= (read_busy_q | read_starts) & ~read_ends;
      read_old_q <= (tick ? read_busy_q : read_old_q) & ~read_ends & ~read_starts;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Writes
  // ---------------------------------------------------------------------------------------------

  logic aw_valid, aw_take, aw_ready, w_valid, w_take, w_ready;
  axi_ax_t aw;
  axi_w_t w;
  tmb_fifo #(
    .T(axi_ax_t),
    .Depth(Buffered),
    .FallThrough(1'b1)
  ) u_addresses (
    .clk_i,
    .rst_ni,
    .in_valid_i(axi_req_i.aw_valid),
    .in_ready_o(aw_ready),
    .in_data_i(axi_req_i.aw),
    .out_valid_o(aw_valid),
    .out_ready_i(aw_take),
    .out_data_o(aw)
  );
  tmb_fifo #(
    .T(axi_w_t),
    .Depth(LineRows * Buffered),
    .OutputRegister(1'b1)
  ) u_write_rows (
    .clk_i,
    .rst_ni,
    .in_valid_i(axi_req_i.w_valid),
    .in_ready_o(w_ready),
    .in_data_i(axi_req_i.w),
    .out_valid_o(w_valid),
    .out_ready_i(w_take),
    .out_data_o(w)
  );

  logic [NumWrites-1:0] write_busy_q, write_old_q;
  axi_id_t write_id_q [NumWrites];
  logic [63:0] write_addr_q [NumWrites];
  logic write_free, write_start, write_end;
  write_index_t write_next, write_end_index;
  tmb_directory_pool #(
    .Depth(NumWrites)
  ) u_write_pool (
    .clk_i,
    .rst_ni,
    .valid_o(write_free),
    .index_o(write_next),
    .take_i(write_start),
    .free_i(write_end),
    .free_index_i(write_end_index)
  );

  logic aw_valid_q;
  axi_ax_t aw_q;
  assign aw_take = write_free && (!aw_valid_q || home_rsp_i.aw_ready || !open_i);
  assign write_start = aw_valid && aw_take;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || !open_i) aw_valid_q <= 1'b0;
    else if (write_start) aw_valid_q <= 1'b1;
    else if (home_rsp_i.aw_ready) aw_valid_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (write_start) begin
      aw_q <= aw;
      aw_q.id <= axi_id_t'(write_next);
      write_id_q[write_next] <= aw.id;
      write_addr_q[write_next] <= aw.addr;
    end
  end

  // Rows whose address has been offered.
  logic [RowsWidth-1:0] rows_q;
  logic row_moves;
  assign w_take = rows_q != '0 && (!open_i || home_rsp_i.w_ready);
  assign row_moves = w_valid && w_take;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) rows_q <= '0;
    else rows_q <= rows_q + (write_start ? RowsWidth'(LineRows) : '0) - RowsWidth'(row_moves);
  end

  // Responses of the kernel.
  logic done_valid, done_take, b_ready, b_valid;
  axi_b_t done;
  tmb_spill_register #(
    .T(axi_b_t)
  ) u_responses (
    .clk_i,
    .rst_ni,
    .in_valid_i(home_rsp_i.b_valid && open_i),
    .in_ready_o(b_ready),
    .in_data_i(home_rsp_i.b),
    .out_valid_o(done_valid),
    .out_ready_i(done_take),
    .out_data_o(done)
  );
  logic done_known;
  write_index_t done_index, lost_index, b_index;
  logic [NumWrites-1:0] lost_one_hot;
  assign done_index = write_index_t'(done.id);
  assign done_known = (done.id >> WriteWidth) == '0 && write_busy_q[done_index];
  assign lost_one_hot = write_busy_q & (~write_busy_q + 1'b1);
  tmb_one_hot_index #(
    .Width(NumWrites)
  ) u_lost (
    .one_hot_i(lost_one_hot),
    .index_o(lost_index)
  );
  assign b_index = open_i ? done_index : lost_index;
  // In the kernel's place: when the rows of every address have gone.
  assign b_valid = open_i ? done_valid && done_known : write_busy_q != '0 && rows_q == '0;
  assign done_take = !open_i || !done_known || axi_req_i.b_ready;
  assign write_end = b_valid && axi_req_i.b_ready;
  assign write_end_index = b_index;

  logic [NumWrites-1:0] write_starts, write_ends;
  assign write_starts = write_start ? NumWrites'(1) << write_next : '0;
  assign write_ends = write_end ? NumWrites'(1) << write_end_index : '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_busy_q <= '0;
      write_old_q <= '0;
    end else begin
      write_busy_q <= (write_busy_q | write_starts) & ~write_ends;
      write_old_q <= (tick ? write_busy_q : write_old_q) & ~write_ends & ~write_starts;
    end
  end

  assign owed = read_busy_q != '0 || write_busy_q != '0;

  assign home_req_o = '{
      aw: aw_q,
      aw_valid: aw_valid_q,
      w: w,
      w_valid: w_valid && rows_q != '0 && open_i,
      b_ready: b_ready,
      ar: ar_q,
      ar_valid: ar_valid_q,
      r_ready: r_ready
  };
  assign axi_rsp_o = '{
      aw_ready: aw_ready,
      w_ready: w_ready,
      b: '{id: write_id_q[b_index], resp: open_i ? done.resp : AxiSlvErr},
      b_valid: b_valid,
      ar_ready: ar_ready,
      r: '{
          id: read_id_q[r_index],
          data: open_i ? row.data : '0,
          resp: open_i ? row.resp : AxiSlvErr,
          last: half_q
      },
      r_valid: r_valid
  };

  // ---------------------------------------------------------------------------------------------
  // Operations
  // ---------------------------------------------------------------------------------------------

  logic line_valid, line_take;
  operation_req_t line, first_q;
  tmb_spill_register #(
    .T(operation_req_t)
  ) u_lines (
    .clk_i,
    .rst_ni,
    .in_valid_i(line_valid_i && line_open_i),
    .in_ready_o(line_ready_o),
    .in_data_i(line_i),
    .out_valid_o(line_valid),
    .out_ready_i(line_take),
    .out_data_o(line)
  );

  // The first row of a write has gone to the directory.
  logic second_q;
  logic [NumOperationTags-1:0] tag_busy_q, tag_starts, tag_ends;
  logic line_whole, line_free, line_good, line_sent, line_end;
  always_comb begin
    if (second_q) begin
      line_whole = line.last && line.operation == OperationWrite && line.tag == first_q.tag
          && line.line == first_q.line;
    end else begin
      line_whole = line.operation <= OperationWrite
          && line.last == (line.operation != OperationWrite);
    end
  end
  assign line_free = second_q || !tag_busy_q[line.tag];
  assign line_good = line_whole && line_free;
  // A write that was cut off is ended without further parts.
  always_comb begin
    operation_o = line;
    if (!line_open_i) begin
      operation_o = first_q;
      operation_o.dmask = '0;
      operation_o.last = 1'b1;
    end
  end
  assign operation_valid_o = line_open_i ? line_valid && line_good : second_q;
  assign line_sent = operation_valid_o && operation_ready_i;
  assign line_take = !line_open_i || !line_good || operation_ready_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) second_q <= 1'b0;
    else if (line_sent) second_q <= !operation_o.last;
  end
  always_ff @(posedge clk_i) begin
    if (line_sent) first_q <= operation_o;
  end

  logic acknowledge_ready, acknowledge_valid, line_valid_q;
  operation_rsp_t acknowledge, line_q;
  tmb_fifo #(
    .T(operation_rsp_t),
    .Depth(LineRows * NumOperationTags),
    .FallThrough(1'b1)
  ) u_acknowledges (
    .clk_i,
    .rst_ni,
    .in_valid_i(operation_valid_i),
    .in_ready_o(acknowledge_ready),
    .in_data_i(operation_i),
    .out_valid_o(acknowledge_valid),
    .out_ready_i(!line_valid_q || line_ready_i || !line_open_i),
    .out_data_o(acknowledge)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni || !line_open_i) line_valid_q <= 1'b0;
    else if (!line_valid_q || line_ready_i) line_valid_q <= acknowledge_valid;
  end
  always_ff @(posedge clk_i) begin
    if (!line_valid_q || line_ready_i) line_q <= acknowledge;
  end
  assign operation_ready_o = acknowledge_ready;
  assign line_valid_o = line_valid_q;
  assign line_o = line_q;

  // A tag is free again when the kernel can know it.
  assign line_end = line_sent && operation_o.last;
  assign tag_starts = line_end ? NumOperationTags'(1) << operation_o.tag : '0;
  assign tag_ends = operation_valid_i && operation_i.last
      ? NumOperationTags'(1) << operation_i.tag : '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) tag_busy_q <= '0;
    else tag_busy_q <= (tag_busy_q & ~tag_ends) | tag_starts;
  end

  // ---------------------------------------------------------------------------------------------
  // Reports
  // ---------------------------------------------------------------------------------------------

  logic [NumReads-1:0] late_reads, late_reads_first;
  logic [NumWrites-1:0] late_writes, late_writes_first;
  read_index_t late_read;
  write_index_t late_write;
  assign late_reads = tick ? read_busy_q & read_old_q : '0;
  assign late_writes = tick ? write_busy_q & write_old_q : '0;
  assign late_reads_first = late_reads & (~late_reads + 1'b1);
  assign late_writes_first = late_writes & (~late_writes + 1'b1);
  tmb_one_hot_index #(
    .Width(NumReads)
  ) u_late_read (
    .one_hot_i(late_reads_first),
    .index_o(late_read)
  );
  tmb_one_hot_index #(
    .Width(NumWrites)
  ) u_late_write (
    .one_hot_i(late_writes_first),
    .index_o(late_write)
  );

  home_violation_t violation_d;
  logic [63:0] line_address;
  assign line_address = 64'({line.line, LineOffsetWidth'(0)});
  always_comb begin
    violation_d = '{rule: HomeRuleNone, at: '0};
    if (line_open_i) begin
      if (line_valid && !line_free) violation_d = '{rule: HomeRuleTag, at: line_address};
      if (line_valid && !line_whole) violation_d = '{rule: HomeRuleOperation, at: line_address};
    end
    if (open_i) begin
      if (done_valid && !done_known) begin
        violation_d = '{rule: HomeRuleWriteUnknown, at: 64'(done.id)};
      end
      if (row_valid && !row_whole) violation_d = '{rule: HomeRuleRows, at: 64'(row.id)};
      if (row_valid && !row_known) violation_d = '{rule: HomeRuleReadUnknown, at: 64'(row.id)};
      if (late_writes != '0) begin
        violation_d = '{rule: HomeRuleWriteLate, at: write_addr_q[late_write]};
      end
      if (late_reads != '0) begin
        violation_d = '{rule: HomeRuleReadLate, at: read_addr_q[late_read]};
      end
    end
  end
  home_violation_t violation_q;
  logic [1:0] answered_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      violation_q.rule <= HomeRuleNone;
      answered_q <= 2'd0;
    end else begin
      violation_q.rule <= violation_d.rule;
      answered_q <= open_i ? 2'd0 : 2'(read_end) + 2'(write_end);
    end
  end
  always_ff @(posedge clk_i) violation_q.at <= violation_d.at;
  assign violation_o = violation_q.rule != HomeRuleNone;
  assign violation_info_o = violation_q;
  assign answered_o = answered_q;

  assign line_idle_o = tag_busy_q == '0 && !second_q && !acknowledge_valid;
  assign idle_o = !owed && !aw_valid && !w_valid && rows_q == '0 && line_idle_o;

  `TMB_ASSERT_INIT(ReadsArePowerOfTwo, NumReads >= 2 && (NumReads & (NumReads - 1)) == 0)
  `TMB_ASSERT_INIT(WritesArePowerOfTwo, NumWrites >= 2 && (NumWrites & (NumWrites - 1)) == 0)
  `TMB_ASSERT(AddressesHaveRoom, !axi_req_i.aw_valid || aw_ready)
  `TMB_ASSERT(RowsHaveRoom, !axi_req_i.w_valid || w_ready)
  `TMB_ASSERT(AcknowledgesHaveRoom, !operation_valid_i || acknowledge_ready)
  // When the way closes, what the kernel offered becomes an error.
  `TMB_ASSERT(AnswerHeld, (axi_rsp_o.r_valid && open_i && !axi_req_i.r_ready)
      |=> (!open_i || (axi_rsp_o.r_valid && $stable(axi_rsp_o.r))))

  logic unused_ok;
  assign unused_ok = &{1'b0, first_q.row, first_q.dmask, first_q.last, first_q.operation};

endmodule
