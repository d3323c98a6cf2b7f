// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// A stream out of a kernel on the write channels of its AXI4 port: FSRF's streaming mode. It stands in the slot, between
// the kernel's port and the slot's, and next to a stream of the slot.
//
// The kernel opens the stream by a write of one beat at OpenAddress (its data do not count): AWID becomes the stream's
// ID, 2^AWSIZE bytes its width. From the answer on, beats of W with wstream high are the stream's and belong to no
// address: the low 2^AWSIZE bytes of WDATA whose WSTRB is set (the first ones), WLAST ends a packet. Each packet has an
// answer of its own on B, with the stream's ID: OKAY when the slot has taken its last beat. A write at CloseAddress
// closes the stream, and ends a packet that is not over.
//
// closed_i   the other end has closed: what comes is dropped, the first beat is answered by DECERR, for its whole packet,
//            and the stream is closed. Opening it is answered by DECERR then. A packet that was cut is ended.
//
// DECERR also answers every other address of the window (address bit 63). SLVERR: opened twice, closed when not open, a
// burst of more than one beat, a width beyond the port's, a packet when the stream is not open. Beats that the slot has
// taken always go out.
//
// Throughput: a beat a cycle. Latency: none for writes, one cycle for the stream, one for answers. Ordering: writes and
// answers as they were asked, the stream's beats and answers among themselves. Back-pressure: AW stalls while Writes wait
// for their answer; a stream beat that the slot does not take stalls W, as AXI4 has one channel for both; a packet's end
// waits until the packet before has its answer, so packets of one beat pass every other cycle.
// No deadlock of others: the slot's port keeps a write to itself until it has all its data.
//
// Source: FSRF section 4.8.

`include "tmb_assert.svh"

module tmb_port_stream_out #(
  parameter int unsigned IdWidth = 16,
  parameter int unsigned Writes = 128
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               closed_i,
  output logic               open_o,
  // bypasses this module, and is observed
  input  logic [63:0]        awaddr_i,
  input  logic [IdWidth-1:0] awid_i,
  input  logic [7:0]         awlen_i,
  input  logic [2:0]         awsize_i,
  input  logic [511:0]       wdata_i,
  input  logic [63:0]        wstrb_i,
  input  logic               wlast_i,
  input  logic               wstream_i,
  // AW
  input  logic               kernel_awvalid_i,
  output logic               kernel_awready_o,
  output logic               slot_awvalid_o,
  input  logic               slot_awready_i,
  // W
  input  logic               kernel_wvalid_i,
  output logic               kernel_wready_o,
  output logic               slot_wvalid_o,
  input  logic               slot_wready_i,
  // B
  input  logic               slot_bvalid_i,
  output logic               slot_bready_o,
  input  logic [IdWidth-1:0] slot_bid_i,
  input  logic [1:0]         slot_bresp_i,
  output logic               kernel_bvalid_o,
  input  logic               kernel_bready_i,
  output logic [IdWidth-1:0] kernel_bid_o,
  output logic [1:0]         kernel_bresp_o,
  // the slot's stream
  output logic               out_valid_o,
  input  logic               out_ready_i,
  output logic [511:0]       out_data_o,
  output logic [63:0]        out_keep_o,
  output logic               out_last_o
);

  import tmb_port_stream_pkg::*;

  typedef struct packed {
    logic       passes;
    logic [7:0] len;
  } data_t;

  typedef struct packed {
    operation_e         operation;
    logic               single;
    logic [IdWidth-1:0] id;
    logic [2:0]         size;
  } write_t;

  typedef struct packed {
    logic [IdWidth-1:0] id;
    logic [1:0]         resp;
  } answer_t;

  // ---------------------------------------------------------------------------------------------
  // Which write is the slot's: once for the data, once for the answer
  // ---------------------------------------------------------------------------------------------

  write_t asked, head;
  data_t data;
  logic passes, room, data_room, accept, head_valid, head_pop, data_valid, data_pop;

  assign asked = '{operation: operation_at(awaddr_i), single: awlen_i == '0, id: awid_i, size: awsize_i};
  assign passes = asked.operation == Pass;
  assign slot_awvalid_o = kernel_awvalid_i && room && data_room && passes;
  assign kernel_awready_o = room && data_room && (slot_awready_i || !passes);
  assign accept = kernel_awvalid_i && kernel_awready_o;

  tmb_fifo #(
    .T    (write_t),
    .Depth(Writes)
  ) u_writes (
    .clk_i,
    .rst_ni,
    .in_valid_i (accept),
    .in_ready_o (room),
    .in_data_i  (asked),
    .out_valid_o(head_valid),
    .out_ready_i(head_pop),
    .out_data_o (head)
  );

  tmb_fifo #(
    .T    (data_t),
    .Depth(Writes)
  ) u_data (
    .clk_i,
    .rst_ni,
    .in_valid_i (accept),
    .in_ready_o (data_room),
    .in_data_i  ({passes, awlen_i}),
    .out_valid_o(data_valid),
    .out_ready_i(data_pop),
    .out_data_o (data)
  );

  // ---------------------------------------------------------------------------------------------
  // W: beats of writes follow their addresses; the stream's belong to none
  // ---------------------------------------------------------------------------------------------

  logic write_beat, swallowed, stream_beat, stream_ready;
  logic [7:0] beats_q, opened_q;

  assign slot_wvalid_o = kernel_wvalid_i && !wstream_i && data_valid && data.passes;
  assign kernel_wready_o = wstream_i ? stream_ready : data_valid && (slot_wready_i || !data.passes);
  assign write_beat = kernel_wvalid_i && !wstream_i && kernel_wready_o;
  assign stream_beat = kernel_wvalid_i && wstream_i && kernel_wready_o;
  // Beats are counted by AWLEN, as the slot counts them, independently of WLAST.
  assign data_pop = write_beat && beats_q == data.len;
  assign swallowed = data_pop && !data.passes;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) beats_q <= '0;
    else if (write_beat) beats_q <= data_pop ? '0 : beats_q + 8'd1;
  end

  // ---------------------------------------------------------------------------------------------
  // Answers to writes in the window: when their data are here, and in order with other writes
  // ---------------------------------------------------------------------------------------------

  logic open_q, opening, closing, dropped, waits, decide, answer_valid_q, answer_taken;
  logic [IdWidth-1:0] id_q;
  logic [2:0] size_q;
  logic in_packet_q, ending_q, ending_taken;
  logic [1:0] answer_q, answer;

  // Writes in the window whose data are here, not yet decoded.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) opened_q <= '0;
    else if (swallowed != decide) opened_q <= swallowed ? opened_q + 8'd1 : opened_q - 8'd1;
  end

  // The end of the last packet goes before a new one.
  assign waits = ending_q && head.operation == Open && !closed_i;
  assign decide = head_valid && head.operation != Pass && !answer_valid_q && opened_q != '0 && !waits;
  always_comb begin
    unique case (head.operation)
      Open:    answer = !head.single || head.size > 3'd6 || open_q ? SlvErr : (closed_i ? DecErr : Okay);
      Close:   answer = !head.single ? SlvErr : (open_q ? Okay : (closed_i ? DecErr : SlvErr));
      default: answer = DecErr;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) answer_valid_q <= 1'b0;
    else if (decide) answer_valid_q <= 1'b1;
    else if (answer_taken) answer_valid_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (decide) answer_q <= answer;
  end

  assign opening = decide && answer == Okay && head.operation == Open;
  assign closing = decide && answer == Okay && head.operation == Close;
  assign open_o = open_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) open_q <= 1'b0;
    else if (opening) open_q <= 1'b1;
    else if (closing || dropped) open_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      id_q <= '0;
      size_q <= '0;
    end else if (opening) begin
      id_q <= head.id;
      size_q <= head.size;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // The stream
  // ---------------------------------------------------------------------------------------------

  logic goes_on, refused_q, packet_valid_q, packet_taken, first, taken, merge_ready;
  answer_t packet_q;
  logic [63:0] lanes;

  // A packet that was refused goes on to be dropped, silently; only its first beat has an answer.
  assign goes_on = open_q && !closed_i && !refused_q;
  assign first = !goes_on && !refused_q;
  always_comb begin
    if (goes_on) stream_ready = merge_ready && !(wlast_i && packet_valid_q);
    else stream_ready = !(first && packet_valid_q);
  end
  assign taken = stream_beat && goes_on;
  assign dropped = stream_beat && first && open_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      refused_q <= 1'b0;
      in_packet_q <= 1'b0;
      ending_q <= 1'b0;
      packet_valid_q <= 1'b0;
    end else begin
      if (stream_beat && !goes_on) refused_q <= !wlast_i;
      if (taken) in_packet_q <= !wlast_i;
      else if (ending_taken) in_packet_q <= 1'b0;
      if ((closing || dropped) && in_packet_q) ending_q <= 1'b1;
      else if (ending_taken) ending_q <= 1'b0;
      if (stream_beat && (first || (taken && wlast_i))) packet_valid_q <= 1'b1;
      else if (packet_taken) packet_valid_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (stream_beat && (first || (taken && wlast_i)) && !packet_valid_q) begin
      packet_q <= '{id: id_q, resp: taken ? Okay : (closed_i ? DecErr : SlvErr)};
    end
  end

  for (genvar i = 0; i < 64; i++) begin : gen_lane
    assign lanes[i] = 7'(i) < (7'd1 << size_q) && wstrb_i[i];
  end

  assign ending_taken = ending_q && merge_ready;

  // The kernel ends its packets, so nothing waits here for long.
  logic [7:0] unused_held;
  logic unused_id;

  tmb_stream_width #(
    .Cfg('{InBytes: 64, OutBytes: 64, FlushCycles: 0, IdWidth: 0})
  ) u_merge (
    .clk_i,
    .rst_ni,
    .in_valid_i (ending_q || (kernel_wvalid_i && wstream_i && stream_ready && goes_on)),
    .in_ready_o (merge_ready),
    .in_data_i  (wdata_i),
    .in_keep_i  (ending_q ? '0 : lanes),
    .in_last_i  (ending_q || wlast_i),
    .in_id_i    (1'b0),
    .out_valid_o,
    .out_ready_i,
    .out_data_o,
    .out_keep_o,
    .out_last_o,
    .out_id_o   (unused_id),
    .held_o     (unused_held)
  );

  // ---------------------------------------------------------------------------------------------
  // B: answers to writes in order, those to packets in turn with them
  // ---------------------------------------------------------------------------------------------

  answer_t answered, out;
  logic write_valid, packet_turn, packeted_q, out_ready;

  assign write_valid = head_valid && (head.operation == Pass ? slot_bvalid_i : answer_valid_q);
  assign packet_turn = packet_valid_q && (!write_valid || !packeted_q);
  assign packet_taken = packet_turn && out_ready;
  assign head_pop = write_valid && !packet_turn && out_ready;
  assign answer_taken = head_pop && head.operation != Pass;
  assign slot_bready_o = head_valid && head.operation == Pass && !packet_turn && out_ready;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) packeted_q <= 1'b0;
    else if (out_ready && (packet_valid_q || write_valid)) packeted_q <= packet_turn;
  end

  always_comb begin
    if (packet_turn) answered = packet_q;
    else if (head.operation == Pass) answered = '{id: slot_bid_i, resp: slot_bresp_i};
    else answered = '{id: head.id, resp: answer_q};
  end

  tmb_spill_register #(
    .T(answer_t)
  ) u_out (
    .clk_i,
    .rst_ni,
    .in_valid_i (packet_valid_q || write_valid),
    .in_ready_o (out_ready),
    .in_data_i  (answered),
    .out_valid_o(kernel_bvalid_o),
    .out_ready_i(kernel_bready_i),
    .out_data_o (out)
  );
  assign kernel_bid_o = out.id;
  assign kernel_bresp_o = out.resp;

  `TMB_ASSERT_INIT(CountFits, Writes < 256)
  `TMB_ASSERT(AnswersFollowWrites, slot_bvalid_i |-> head_valid)
  `TMB_ASSERT(OneAnswerAPacket, stream_beat && (first || (taken && wlast_i)) |-> !packet_valid_q)

endmodule
