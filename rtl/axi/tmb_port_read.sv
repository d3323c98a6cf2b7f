// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The read half of a port: admits read bursts, and returns their rows to the kernel in order.
//
// A burst reserves its rows in a circular buffer before it enters the park. When it leaves the park
// it is issued with the place of its rows in the tag; responses are written straight there, so that
// bursts of different channels may come back in any order. One bit a row marks its arrival.
// A narrow burst (AxSIZE below the bus width) reads whole rows and repeats each one for its beats.
//
// BufferRows   rows of the buffer, a power of two, at least one burst (64)
// OrderDepth   bursts between admission and their last beat, a power of two
//
// Throughput: one row a cycle, also for bursts of one row; one burst a cycle in. Latency: 2 cycles
// from ar_valid_i to the park, 1 from departure to read_req_o, 2 from a response to r_valid_o.
// Ordering: bursts are returned in the order in which they were admitted, whatever their ID.
// Back-pressure: none on responses (room is reserved; read_rsp_ready_o is constant). A kernel that
// does not take its data stalls only admission here.
// No deadlock: an issued burst needs only the memory. Its rows wait here for the kernel.
//
// closed_i: bursts that come now are refused. (The park lets go of those that wait.)
//
// FSRF section 5.2, steps 1 and 7.

`include "tmb_assert.svh"

module tmb_port_read
  import tmb_pkg::*;
  import tmb_translate_pkg::*;
  import tmb_guard_pkg::*;
#(
  parameter int unsigned BufferRows = 512,
  parameter int unsigned OrderDepth = 256
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic port_reset_i,  // drain: the kernel neither asks nor takes any more
  input  logic closed_i,      // refuse whatever comes
  // kernel
  input  logic    ar_valid_i,
  output logic    ar_ready_o,
  input  axi_ax_t ar_i,
  output logic    r_valid_o,
  input  logic    r_ready_i,
  output axi_r_t  r_o,
  // park
  output logic       burst_valid_o,
  input  logic       burst_ready_i,
  output burst_t     burst_o,
  input  logic       departure_valid_i,
  output logic       departure_ready_o,
  input  departure_t departure_i,
  // fabric
  output logic          read_req_valid_o,
  input  logic          read_req_ready_i,
  output mem_req_t      read_req_o,
  input  logic          read_rsp_valid_i,
  output logic          read_rsp_ready_o,
  input  mem_read_rsp_t read_rsp_i,
  // invalidation
  input  logic       epoch_i,
  output logic [1:0] busy_o,  // bursts of each epoch are on their way
  output logic       idle_o,
  // guard
  output logic       settled_o,  // what has come waits for nothing, or for the kernel to take R
  output violation_t report_o
);

  localparam int unsigned RowWidth = $clog2(BufferRows);
  localparam int unsigned PositionWidth = $clog2(OrderDepth);
  typedef logic [RowWidth-1:0] row_index_t;
  typedef logic [RowWidth:0] row_pointer_t;  // one bit more: tells full from empty
  typedef logic [PositionWidth-1:0] position_t;
  typedef logic [PositionWidth:0] count_t;
  typedef logic [63:VirtAddrWidth] upper_t;

  // ---------------------------------------------------------------------------------------------
  // Admission
  // ---------------------------------------------------------------------------------------------

  typedef struct packed {
    axi_id_t    id;
    logic [7:0] len;
    logic [2:0] size;
    burst_t     burst;
    rule_e      rule;
    logic [1:0] burst_type;
    upper_t     upper;  // address bits above those of a burst
  } decoded_t;

  decoded_t decoded, ask;
  logic ask_valid, ask_ready;
  burst_t burst;

  tmb_burst_decode i_decode (
    .ax_i   (ar_i),
    .burst_o(burst),
    .rule_o (decoded.rule)
  );
  assign decoded.id = ar_i.id;
  assign decoded.len = ar_i.len;
  assign decoded.size = ar_i.size;
  assign decoded.burst = '{addr: burst.addr, len: burst.len, refused: burst.refused || closed_i};
  assign decoded.burst_type = ar_i.burst;
  assign decoded.upper = ar_i.addr[63:VirtAddrWidth];

  assign report_o = '{
      rule: ask_valid ? ask.rule : RuleNone,
      channel: ChannelAr,
      addr: {ask.upper, ask.burst.addr},
      len: ask.len,
      size: ask.size,
      burst: ask.burst_type,
      beat: '0
  };

  tmb_spill_register #(
    .T(decoded_t)
  ) i_decoded (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni && !port_reset_i),
    .in_valid_i (ar_valid_i),
    .in_ready_o (ar_ready_o),
    .in_data_i  (decoded),
    .out_valid_o(ask_valid),
    .out_ready_i(ask_ready),
    .out_data_o (ask)
  );

  // Responses due to the kernel, oldest first.
  typedef struct packed {
    axi_id_t                   id;
    logic [7:0]                len;     // beats - 1
    logic [2:0]                size;
    logic [RowOffsetWidth-1:0] offset;  // of the first beat in its row
    burst_len_t                rows;    // rows - 1
    logic                      refused;
  } order_t;

  order_t order_in, order;
  logic order_in_ready, order_valid, order_pop;
  logic admit, room;
  logic [RowWidth+1:0] left;  // negative: too few
  row_pointer_t free_q, released_q, read_q;

  // The rows that are free are counted, one cycle late: few levels from here to the park and back.
  assign left = {1'b0, free_q} - (RowWidth+2)'(ask.burst.len) - (RowWidth+2)'(1);
  assign room = ask.burst.refused || !left[RowWidth+1];
  assign burst_valid_o = ask_valid && room && order_in_ready;
  assign burst_o = ask.burst;
  assign admit = burst_valid_o && burst_ready_i;
  assign ask_ready = room && order_in_ready && burst_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) free_q <= row_pointer_t'(BufferRows);
    else free_q <= ((admit && !ask.burst.refused) ? row_pointer_t'(left) : free_q) + released_q;
  end

  assign order_in = '{
      id: ask.id,
      len: ask.len,
      size: ask.size,
      offset: ask.burst.addr[RowOffsetWidth-1:0],
      rows: ask.burst.len,
      refused: ask.burst.refused
  };

  tmb_fifo #(
    .T    (order_t),
    .Depth(OrderDepth)
  ) i_order (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .in_valid_i (admit),
    .in_ready_o (order_in_ready),
    .in_data_i  (order_in),
    .out_valid_o(order_valid),
    .out_ready_i(order_pop),
    .out_data_o (order)
  );

  // ---------------------------------------------------------------------------------------------
  // Departure
  // ---------------------------------------------------------------------------------------------

  // Departures come in the order of admission, so that rows and positions follow from counting.
  row_index_t depart_row_q;
  position_t depart_position_q, retire_position_q;
  logic depart, issue_ready, failed_now;
  mem_req_t issue;

  assign departure_ready_o = departure_i.error || issue_ready;
  assign depart = departure_valid_i && departure_ready_o;
  assign failed_now = depart && departure_i.error && !departure_i.refused;
  assign issue = '{
      addr: departure_i.addr,
      len: departure_i.len,
      tag: mem_tag_t'({epoch_i, depart_row_q})
  };

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      depart_row_q <= '0;
      depart_position_q <= '0;
    end else if (depart) begin
      depart_position_q <= depart_position_q + position_t'(1);
      if (!departure_i.refused) begin
        depart_row_q <= depart_row_q + row_index_t'(departure_i.len) + row_index_t'(1);
      end
    end
  end

  tmb_spill_register #(
    .T(mem_req_t)
  ) i_issue (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .in_valid_i (departure_valid_i && !departure_i.error),
    .in_ready_o (issue_ready),
    .in_data_i  (issue),
    .out_valid_o(read_req_valid_o),
    .out_ready_i(read_req_ready_i),
    .out_data_o (read_req_o)
  );

  // ---------------------------------------------------------------------------------------------
  // Responses
  // ---------------------------------------------------------------------------------------------

  logic rsp_epoch, ends;
  row_index_t rsp_row;
  assign rsp_row = row_index_t'(read_rsp_i.tag) + row_index_t'(read_rsp_i.index);
  assign rsp_epoch = read_rsp_i.tag[RowWidth];
  assign ends = read_rsp_valid_i && read_rsp_i.last;
  assign read_rsp_ready_o = 1'b1;

  count_t outstanding_q [2];
  for (genvar e = 0; e < 2; e++) begin : gen_outstanding
    logic starts_here, ends_here;
    assign starts_here = depart && !departure_i.error && (epoch_i == 1'(e));
    assign ends_here = ends && (rsp_epoch == 1'(e));
    assign busy_o[e] = outstanding_q[e] != '0;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) outstanding_q[e] <= '0;
      else if (starts_here && !ends_here) outstanding_q[e] <= outstanding_q[e] + count_t'(1);
      else if (!starts_here && ends_here) outstanding_q[e] <= outstanding_q[e] - count_t'(1);
    end
  end

  // Bursts in the park.
  count_t parked_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) parked_q <= '0;
    else if (admit && !depart) parked_q <= parked_q + count_t'(1);
    else if (!admit && depart) parked_q <= parked_q - count_t'(1);
  end

  // ---------------------------------------------------------------------------------------------
  // Return
  // ---------------------------------------------------------------------------------------------

  logic [7:0] beat_q;
  row_offset_t offset_q, offset, last_offset;
  logic here, flag_failed, failed, step, last_beat, row_done, stage_valid_q, stage_ready;
  logic row_leaves, rows_skipped;
  row_pointer_t released, all_rows;  // of the burst
  row_index_t read_row;

  assign read_row = row_index_t'(read_q);
  assign all_rows = row_pointer_t'(order.rows) + row_pointer_t'(1);
  assign failed = order.refused || flag_failed;
  assign stage_ready = !stage_valid_q || r_ready_i || port_reset_i;
  assign step = order_valid && stage_ready && (failed || here);
  assign last_beat = beat_q == order.len;
  assign order_pop = step && last_beat;

  // Where the beats of a narrow burst cross into the next row.
  assign offset = (beat_q == '0) ? order.offset : offset_q;
  assign last_offset = beat_last(offset, order.size);
  assign row_done = last_beat || last_offset == '1;
  assign row_leaves = step && !failed && row_done;
  assign rows_skipped = order_pop && failed && !order.refused;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      beat_q <= '0;
      retire_position_q <= '0;
      read_q <= '0;
      released_q <= '0;
      stage_valid_q <= 1'b0;
    end else begin
      released_q <= released;
      // As `released`, the sums before the choice.
      if (row_leaves) read_q <= read_q + row_pointer_t'(1);
      else if (rows_skipped) read_q <= read_q + all_rows;
      if (stage_ready) stage_valid_q <= step;
      if (step) beat_q <= last_beat ? '0 : beat_q + 8'd1;
      if (order_pop) retire_position_q <= retire_position_q + position_t'(1);
    end
  end

  always_comb begin
    released = '0;
    if (row_leaves) released = row_pointer_t'(1);
    else if (rows_skipped) released = all_rows;
  end

  always_ff @(posedge clk_i) begin
    if (step) offset_q <= last_offset + row_offset_t'(1);
  end

  // Rows that have arrived, bursts that have failed.
  tmb_ring_flags #(
    .Depth(BufferRows)
  ) i_arrived (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .set_valid_i(read_rsp_valid_i),
    .set_index_i(rsp_row),
    .head_i     (read_row),
    .step_i     (row_leaves),
    .jump_i     (rows_skipped),
    .flag_o     (here)
  );

  tmb_ring_flags #(
    .Depth(OrderDepth)
  ) i_failed (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .set_valid_i(failed_now),
    .set_index_i(depart_position_q),
    .head_i     (retire_position_q),
    .step_i     (order_pop),
    .jump_i     (1'b0),
    .flag_o     (flag_failed)
  );

  logic row_error;
  axi_r_t stage_q;

  tmb_ram_1r1w #(
    .Width(RowBits + 1),
    .Depth(BufferRows)
  ) i_rows (
    .clk_i         (clk_i),
    .write_enable_i(read_rsp_valid_i),
    .write_addr_i  (rsp_row),
    .write_strobe_i(1'b1),
    .write_data_i  ({read_rsp_i.error, read_rsp_i.row}),
    .read_enable_i (step),
    .read_addr_i   (read_row),
    .read_data_o   ({row_error, stage_q.data})
  );

  logic stage_failed_q;
  always_ff @(posedge clk_i) begin
    if (step) begin
      stage_q.id <= order.id;
      stage_q.last <= last_beat;
      stage_failed_q <= failed;
    end
  end
  assign stage_q.resp = (stage_failed_q || row_error) ? AxiSlvErr : AxiOkay;

  assign r_valid_o = stage_valid_q;
  assign r_o = stage_q;

  assign idle_o = !ask_valid && !order_valid && !stage_valid_q && (busy_o == '0);

  // A burst for which there is no room waits for rows that the kernel has not taken.
  assign settled_o = parked_q == '0 && busy_o == '0
      && (ask_valid ? !burst_valid_o && r_valid_o && !r_ready_i : !ar_valid_i);

  logic unused_ok;
  assign unused_ok = &{1'b0, read_rsp_i.tag};

  `TMB_ASSERT_INIT(RowsPowerOfTwo, (BufferRows & (BufferRows - 1)) == 0)
  `TMB_ASSERT_INIT(RowsHoldOneBurst, BufferRows >= MaxBurstRows)
  `TMB_ASSERT_INIT(OrderPowerOfTwo, (OrderDepth & (OrderDepth - 1)) == 0)
  `TMB_ASSERT_INIT(TagFits, RowWidth + 1 <= MemTagWidth)
  `TMB_ASSERT(FreeRowsFit, free_q + released_q <= row_pointer_t'(BufferRows))
  `TMB_ASSERT(ResponseIsExpected, read_rsp_valid_i |-> busy_o[rsp_epoch])

endmodule
