// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The write half of a port: collects whole write bursts as rows, sends them when they are
// translated, and answers in order.
//
// Beats are packed into rows (a narrow burst fills a row over several beats) in a circular buffer.
// A burst enters the park with its last beat. A burst that is refused, or whose WLAST does not
// match AWLEN, gives its rows back at once. A burst ends with its last beat by AWLEN, or with an
// earlier WLAST: then it is answered with an error, as is one without WLAST at its end.
//
// BufferRows   rows of the buffer, a power of two, at least one burst (64)
// OrderDepth   bursts between their last beat and their response, a power of two
//
// Throughput: one row a cycle in and out, also for bursts of one row. Latency: from the last beat
// to the park 1 cycle; from departure to write_req_o 1 cycle, to write_data_o 2 cycles.
// Ordering: bursts leave and are answered in the order of their addresses, whatever their ID.
// Back-pressure: a full buffer stalls the kernel. write_rsp_ready_o is constant.
// No deadlock: nothing is issued before all its rows are here, so an issued burst needs only the
// memory. A kernel that stops in the middle of a burst holds nothing but its own buffer, and a
// burst always fits, since the rows before it drain without the kernel.
//
// closed_i: bursts that come now are refused, when their data have come.
//
// FSRF section 5.2, steps 2 and 3.

`include "tmb_assert.svh"

module tmb_port_write
  import tmb_pkg::*;
  import tmb_translate_pkg::*;
  import tmb_guard_pkg::*;
#(
  parameter int unsigned BufferRows = 256,
  parameter int unsigned OrderDepth = 128
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic port_reset_i,  // drain: the kernel neither sends nor takes any more
  input  logic closed_i,      // refuse whatever comes
  // kernel
  input  logic    aw_valid_i,
  output logic    aw_ready_o,
  input  axi_ax_t aw_i,
  input  logic    w_valid_i,
  output logic    w_ready_o,
  input  axi_w_t  w_i,
  output logic    b_valid_o,
  input  logic    b_ready_i,
  output axi_b_t  b_o,
  // park
  output logic       burst_valid_o,
  input  logic       burst_ready_i,
  output burst_t     burst_o,
  input  logic       departure_valid_i,
  output logic       departure_ready_o,
  input  departure_t departure_i,
  // fabric
  output logic            write_req_valid_o,
  input  logic            write_req_ready_i,
  output mem_req_t        write_req_o,
  output logic            write_data_valid_o,
  input  logic            write_data_ready_i,
  output mem_write_data_t write_data_o,
  input  logic            write_rsp_valid_i,
  output logic            write_rsp_ready_o,
  input  mem_write_rsp_t  write_rsp_i,
  // invalidation
  input  logic       epoch_i,
  output logic [1:0] busy_o,  // bursts of each epoch are on their way
  output logic       idle_o,
  // guard
  output logic        settled_o,  // what has come is answered, whether the kernel takes B or not
  output violation_t  report_o,
  output collection_t collection_o
);

  localparam int unsigned RowWidth = $clog2(BufferRows);
  localparam int unsigned PositionWidth = $clog2(OrderDepth);
  // Bursts that have left and whose rows are being sent.
  localparam int unsigned SendDepth = 8;
  typedef logic [RowWidth-1:0] row_index_t;
  typedef logic [RowWidth:0] row_pointer_t;  // one bit more: tells full from empty
  typedef logic [PositionWidth-1:0] position_t;
  typedef logic [PositionWidth:0] count_t;
  typedef logic [63:VirtAddrWidth] upper_t;

  // ---------------------------------------------------------------------------------------------
  // Collection
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
    .ax_i   (aw_i),
    .burst_o(burst),
    .rule_o (decoded.rule)
  );
  assign decoded.id = aw_i.id;
  assign decoded.len = aw_i.len;
  assign decoded.size = aw_i.size;
  assign decoded.burst = '{addr: burst.addr, len: burst.len, refused: burst.refused || closed_i};
  assign decoded.burst_type = aw_i.burst;
  assign decoded.upper = aw_i.addr[63:VirtAddrWidth];

  tmb_spill_register #(
    .T(decoded_t)
  ) i_decoded (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni && !port_reset_i),
    .in_valid_i (aw_valid_i),
    .in_ready_o (aw_ready_o),
    .in_data_i  (decoded),
    .out_valid_o(ask_valid),
    .out_ready_i(ask_ready),
    .out_data_o (ask)
  );

  logic [7:0] beat_q;
  row_offset_t offset_q, offset, last_offset;
  logic last_beat, ends, row_done, beat_ready, take, finish;
  logic misplaced, bad;  // WLAST on a beat that is not the last, or not on the last
  logic order_ready, row_room, write_row;
  row_pointer_t write_q, burst_start_q, read_q;

  assign last_beat = beat_q == ask.len;
  assign ends = last_beat || w_i.last;
  assign misplaced = w_i.last != last_beat;
  assign offset = (beat_q == '0) ? ask.burst.addr[RowOffsetWidth-1:0] : offset_q;
  assign last_offset = beat_last(offset, ask.size);
  assign row_done = ends || last_offset == '1;
  assign row_room = ask.burst.refused || ((write_q ^ read_q) != row_pointer_t'(BufferRows));

  assign beat_ready = ask_valid && row_room && !port_reset_i
      && (!ends || (order_ready && burst_ready_i));
  assign take = beat_ready && w_valid_i;
  assign finish = take && ends;
  assign w_ready_o = beat_ready;
  assign ask_ready = finish;
  assign write_row = take && row_done && !ask.burst.refused;
  assign bad = ask.burst.refused || misplaced;

  assign burst_valid_o = w_valid_i && ask_valid && row_room && !port_reset_i
      && ends && order_ready;
  assign burst_o = '{addr: ask.burst.addr, len: ask.burst.len, refused: bad};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      beat_q <= '0;
      write_q <= '0;
      burst_start_q <= '0;
    end else if (port_reset_i) begin
      // An unfinished burst is forgotten.
      beat_q <= '0;
      write_q <= burst_start_q;
    end else if (finish) begin
      beat_q <= '0;
      if (bad) begin
        write_q <= burst_start_q;
      end else begin
        write_q <= write_q + row_pointer_t'(1);
        burst_start_q <= write_q + row_pointer_t'(1);
      end
    end else if (take) begin
      beat_q <= beat_q + 8'd1;
      if (write_row) write_q <= write_q + row_pointer_t'(1);
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) offset_q <= last_offset + row_offset_t'(1);
  end

  // Reported to the guard: a refused burst, a WLAST in the wrong place, and the state of the
  // collection.
  rule_e broken;
  always_comb begin
    broken = RuleNone;
    if (ask_valid && ask.rule != RuleNone) broken = ask.rule;
    else if (take && misplaced) broken = last_beat ? RuleLastMissing : RuleLastEarly;
  end
  assign report_o = '{
      rule: broken,
      channel: (ask.rule != RuleNone) ? ChannelAw : ChannelW,
      addr: {ask.upper, ask.burst.addr},
      len: ask.len,
      size: ask.size,
      burst: ask.burst_type,
      beat: beat_q
  };
  assign collection_o = '{
      valid: ask_valid,
      starved: ask_valid && !w_valid_i,
      addr: {ask.upper, ask.burst.addr},
      len: ask.len,
      beats: beat_q
  };

  // A row under construction. Bursts of full width never leave anything in it.
  row_t part_q, packed_row;
  row_strobe_t part_strobe_q;

  always_comb begin
    packed_row = w_i.data;
    if (part_strobe_q != '0) begin
      for (int unsigned i = 0; i < RowBytes; i++) begin
        if (!w_i.strb[i]) packed_row[8*i+:8] = part_q[8*i+:8];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || port_reset_i) part_strobe_q <= '0;
    else if (take) part_strobe_q <= row_done ? '0 : (part_strobe_q | w_i.strb);
  end
  always_ff @(posedge clk_i) begin
    if (take && !row_done) part_q <= packed_row;
  end

  // ---------------------------------------------------------------------------------------------
  // Departure
  // ---------------------------------------------------------------------------------------------

  typedef struct packed {
    burst_len_t len;
    logic       drop;  // the rows are skipped, not sent
  } send_t;

  send_t send;
  logic send_in_ready, send_valid, send_pop;
  logic depart, issue_ready;
  position_t depart_position_q, retire_position_q;
  mem_req_t issue;

  // A refused burst has no rows; a failed one has rows to skip; any other is issued and sent.
  assign departure_ready_o = departure_i.refused
      || (send_in_ready && (departure_i.error || issue_ready));
  assign depart = departure_valid_i && departure_ready_o;
  assign issue = '{
      addr: departure_i.addr,
      len: departure_i.len,
      tag: mem_tag_t'({epoch_i, depart_position_q})
  };

  always_ff @(posedge clk_i) begin
    if (!rst_ni) depart_position_q <= '0;
    else if (depart) depart_position_q <= depart_position_q + position_t'(1);
  end

  tmb_spill_register #(
    .T(mem_req_t)
  ) i_issue (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .in_valid_i (departure_valid_i && !departure_i.error && send_in_ready),
    .in_ready_o (issue_ready),
    .in_data_i  (issue),
    .out_valid_o(write_req_valid_o),
    .out_ready_i(write_req_ready_i),
    .out_data_o (write_req_o)
  );

  tmb_fifo #(
    .T    (send_t),
    .Depth(SendDepth)
  ) i_send (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .in_valid_i (depart && !departure_i.refused),
    .in_ready_o (send_in_ready),
    .in_data_i  ('{len: departure_i.len, drop: departure_i.error}),
    .out_valid_o(send_valid),
    .out_ready_i(send_pop),
    .out_data_o (send)
  );

  // ---------------------------------------------------------------------------------------------
  // Rows out
  // ---------------------------------------------------------------------------------------------

  burst_len_t sent_q;
  logic data_valid_q, data_last_q, data_ready, send_row, send_last;

  assign data_ready = !data_valid_q || write_data_ready_i;
  assign send_row = send_valid && !send.drop && data_ready;
  assign send_last = sent_q == send.len;
  assign send_pop = (send_row && send_last) || (send_valid && send.drop);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_q <= '0;
      sent_q <= '0;
      data_valid_q <= 1'b0;
    end else begin
      if (data_ready) data_valid_q <= send_row;
      if (send_row) begin
        read_q <= read_q + row_pointer_t'(1);
        sent_q <= send_last ? '0 : sent_q + burst_len_t'(1);
      end else if (send_pop) begin
        read_q <= read_q + row_pointer_t'(send.len) + row_pointer_t'(1);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (send_row) data_last_q <= send_last;
  end

  row_t data_row;
  row_strobe_t data_strobe;

  tmb_ram_1r1w #(
    .Width(RowBits + RowBytes),
    .Depth(BufferRows)
  ) i_rows (
    .clk_i         (clk_i),
    .write_enable_i(write_row),
    .write_addr_i  (row_index_t'(write_q)),
    .write_strobe_i(1'b1),
    .write_data_i  ({part_strobe_q | w_i.strb, packed_row}),
    .read_enable_i (send_row),
    .read_addr_i   (row_index_t'(read_q)),
    .read_data_o   ({data_strobe, data_row})
  );

  assign write_data_valid_o = data_valid_q;
  assign write_data_o = '{row: data_row, strobe: data_strobe, last: data_last_q};

  // ---------------------------------------------------------------------------------------------
  // Responses
  // ---------------------------------------------------------------------------------------------

  position_t rsp_position;
  logic rsp_epoch, failed_now, order_valid, order_pop;
  assign rsp_position = position_t'(write_rsp_i.tag);
  assign rsp_epoch = write_rsp_i.tag[PositionWidth];
  assign failed_now = depart && departure_i.error;
  assign write_rsp_ready_o = 1'b1;

  count_t outstanding_q [2];
  for (genvar e = 0; e < 2; e++) begin : gen_outstanding
    logic starts_here, ends_here;
    assign starts_here = depart && !departure_i.error && (epoch_i == 1'(e));
    assign ends_here = write_rsp_valid_i && (rsp_epoch == 1'(e));
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
    else if (finish && !depart) parked_q <= parked_q + count_t'(1);
    else if (!finish && depart) parked_q <= parked_q - count_t'(1);
  end

  logic done_q [OrderDepth];
  logic error_q [OrderDepth];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      for (int unsigned i = 0; i < OrderDepth; i++) done_q[i] <= 1'b0;
    end else begin
      if (order_pop) done_q[retire_position_q] <= 1'b0;
      if (failed_now) done_q[depart_position_q] <= 1'b1;
      if (write_rsp_valid_i) done_q[rsp_position] <= 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (failed_now) error_q[depart_position_q] <= 1'b1;
    if (write_rsp_valid_i) error_q[rsp_position] <= write_rsp_i.error;
  end

  axi_id_t order_id;

  tmb_fifo #(
    .T    (axi_id_t),
    .Depth(OrderDepth)
  ) i_order (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .in_valid_i (finish),
    .in_ready_o (order_ready),
    .in_data_i  (ask.id),
    .out_valid_o(order_valid),
    .out_ready_i(order_pop),
    .out_data_o (order_id)
  );

  assign b_valid_o = order_valid && done_q[retire_position_q];
  assign b_o = '{id: order_id, resp: error_q[retire_position_q] ? AxiSlvErr : AxiOkay};
  assign order_pop = b_valid_o && (b_ready_i || port_reset_i);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) retire_position_q <= '0;
    else if (order_pop) retire_position_q <= retire_position_q + position_t'(1);
  end

  assign idle_o = !ask_valid && !order_valid && !send_valid && !data_valid_q && (busy_o == '0);

  assign settled_o = !aw_valid_i && !w_valid_i && !ask_valid && parked_q == '0 && busy_o == '0;

  logic unused_ok;
  assign unused_ok = &{1'b0, write_rsp_i.tag};

  `TMB_ASSERT_INIT(RowsPowerOfTwo, (BufferRows & (BufferRows - 1)) == 0)
  `TMB_ASSERT_INIT(RowsHoldOneBurst, BufferRows >= MaxBurstRows)
  `TMB_ASSERT_INIT(OrderPowerOfTwo, (OrderDepth & (OrderDepth - 1)) == 0)
  `TMB_ASSERT_INIT(TagFits, PositionWidth + 1 <= MemTagWidth)
  `TMB_ASSERT(ResponseIsExpected, write_rsp_valid_i |-> busy_o[rsp_epoch])
  `TMB_ASSERT(RowsWereCollected, send_row |-> (write_q != read_q))

endmodule
