// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// A stream into a kernel on the read channels of its AXI4 port: FSRF's streaming mode. It stands in the slot, between
// the kernel's port and the slot's, and next to a stream of the slot.
//
// The kernel opens the stream by a read of one beat at OpenAddress: ARID becomes the stream's ID, 2^ARSIZE bytes its
// width. From the answer on, beats with rstream high are the stream's: RID is the ID, the bytes are the low ones of RDATA,
// rkeep marks them (a kernel may leave it away: the others are zero), RLAST ends a packet. No read asks for them; they
// may come between the beats of reads. A read at CloseAddress closes the stream: no beat follows its answer, and what has
// come by then waits for the next opening.
//
// closed_i   the other end has closed: behind the last byte the kernel gets a beat with rstream, RLAST and DECERR, and the
//            stream is closed. Opening it is answered by DECERR then. Bytes that fill no beat come before, as a packet's end.
//
// DECERR also answers every other address of the window (address bit 63). SLVERR: opened twice, closed when not open, a
// burst of more than one beat, a width beyond the port's.
//
// Throughput: a beat a cycle; stream and reads take turns when both have one. Latency: one cycle for reads, two for the
// stream. Ordering: reads and answers as they were asked, the stream's beats among themselves. Back-pressure: AR stalls
// while Reads are between address and last beat.
// No deadlock: reads that fill the queue have passed to the slot already, and an answer needs the kernel's RREADY only. A
// stream without beats holds up nothing.
//
// Source: FSRF section 4.8.

`include "tmb_assert.svh"

module tmb_port_stream_in #(
  parameter int unsigned IdWidth = 16,
  parameter int unsigned Reads = 256
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               closed_i,
  output logic               open_o,
  // bypasses this module, and is observed
  input  logic [63:0]        araddr_i,
  input  logic [IdWidth-1:0] arid_i,
  input  logic [7:0]         arlen_i,
  input  logic [2:0]         arsize_i,
  // AR
  input  logic               kernel_arvalid_i,
  output logic               kernel_arready_o,
  output logic               slot_arvalid_o,
  input  logic               slot_arready_i,
  // R
  input  logic               slot_rvalid_i,
  output logic               slot_rready_o,
  input  logic [IdWidth-1:0] slot_rid_i,
  input  logic [511:0]       slot_rdata_i,
  input  logic [1:0]         slot_rresp_i,
  input  logic               slot_rlast_i,
  output logic               kernel_rvalid_o,
  input  logic               kernel_rready_i,
  output logic [IdWidth-1:0] kernel_rid_o,
  output logic [511:0]       kernel_rdata_o,
  output logic [1:0]         kernel_rresp_o,
  output logic               kernel_rlast_o,
  output logic               kernel_rstream_o,
  output logic [63:0]        kernel_rkeep_o,
  // the slot's stream
  input  logic               in_valid_i,
  output logic               in_ready_o,
  input  logic [511:0]       in_data_i,
  input  logic [63:0]        in_keep_i,
  input  logic               in_last_i
);

  import tmb_port_stream_pkg::*;

  typedef struct packed {
    operation_e         operation;
    logic [IdWidth-1:0] id;
    logic [7:0]         len;
    logic [2:0]         size;
  } read_t;

  typedef struct packed {
    logic               stream;
    logic [63:0]        keep;
    logic [IdWidth-1:0] id;
    logic [1:0]         resp;
    logic               last;
    logic [511:0]       data;
  } beat_t;

  // ---------------------------------------------------------------------------------------------
  // Which read is the slot's
  // ---------------------------------------------------------------------------------------------

  read_t asked, head;
  logic passes, room, head_valid, head_pop;

  assign asked = '{operation: operation_at(araddr_i), id: arid_i, len: arlen_i, size: arsize_i};
  assign passes = asked.operation == Pass;
  assign slot_arvalid_o = kernel_arvalid_i && room && passes;
  assign kernel_arready_o = room && (slot_arready_i || !passes);

  tmb_fifo #(
    .T    (read_t),
    .Depth(Reads)
  ) u_reads (
    .clk_i,
    .rst_ni,
    .in_valid_i (kernel_arvalid_i && (slot_arready_i || !passes)),
    .in_ready_o (room),
    .in_data_i  (asked),
    .out_valid_o(head_valid),
    .out_ready_i(head_pop),
    .out_data_o (head)
  );

  // ---------------------------------------------------------------------------------------------
  // The stream
  // ---------------------------------------------------------------------------------------------

  logic open_q, opening, closing, ended;
  logic [IdWidth-1:0] id_q;
  logic [2:0] size_q;
  logic element_valid, element_ready, element_last, drained;
  logic [511:0] element;
  logic [63:0] element_keep;

  tmb_stream_elements u_elements (
    .clk_i,
    .rst_ni,
    .size_i     (size_q),
    .flush_i    (closed_i && !in_valid_i),
    .in_valid_i,
    .in_ready_o,
    .in_data_i,
    .in_keep_i,
    .in_last_i,
    .out_valid_o(element_valid),
    .out_ready_i(element_ready),
    .out_data_o (element),
    .out_keep_o (element_keep),
    .out_last_o (element_last),
    .empty_o    (drained)
  );

  logic over;  // of all bytes, and there will be no more
  assign over = closed_i && drained && !in_valid_i;
  assign open_o = open_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) open_q <= 1'b0;
    else if (opening) open_q <= 1'b1;
    else if (closing || ended) open_q <= 1'b0;
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
  // Answers
  // ---------------------------------------------------------------------------------------------

  logic answer_valid_q, answer_taken;
  logic [1:0] answer_q, answer;
  logic [7:0] beats_q;
  logic decide;

  assign decide = head_valid && head.operation != Pass && !answer_valid_q;
  always_comb begin
    unique case (head.operation)
      Open:    answer = head.len != '0 || head.size > 3'd6 || open_q ? SlvErr : (over ? DecErr : Okay);
      Close:   answer = head.len != '0 ? SlvErr : (open_q ? Okay : (over ? DecErr : SlvErr));
      default: answer = DecErr;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) answer_valid_q <= 1'b0;
    else if (decide) answer_valid_q <= 1'b1;
    else if (answer_taken && beats_q == head.len) answer_valid_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (decide) answer_q <= answer;
    if (decide) beats_q <= '0;
    else if (answer_taken) beats_q <= beats_q + 8'd1;
  end

  logic answered;
  assign answered = answer_taken && beats_q == head.len;
  assign opening = answered && answer_q == Okay && head.operation == Open;
  assign closing = answered && answer_q == Okay && head.operation == Close;

  // ---------------------------------------------------------------------------------------------
  // R: reads and answers in order, the stream in turn with them
  // ---------------------------------------------------------------------------------------------

  logic memory_valid, asked_valid, stream_valid, stream_turn, streamed_q, out_ready;
  beat_t beat, out;

  assign memory_valid = head_valid && head.operation == Pass && slot_rvalid_i;
  assign asked_valid = memory_valid || answer_valid_q;
  // The end is reported once: the beat closes the stream. Nothing is sent while the stream is being closed.
  assign stream_valid = open_q && (element_valid || over);
  assign stream_turn = stream_valid && (!asked_valid || !streamed_q);

  assign element_ready = stream_turn && out_ready && element_valid;
  assign ended = stream_turn && out_ready && !element_valid;
  assign answer_taken = answer_valid_q && !stream_turn && out_ready;
  assign slot_rready_o = head_valid && head.operation == Pass && !stream_turn && out_ready;
  assign head_pop = answered || (memory_valid && slot_rready_o && slot_rlast_i);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) streamed_q <= 1'b0;
    else if (out_ready && (stream_valid || asked_valid)) streamed_q <= stream_turn;
  end

  always_comb begin
    if (stream_turn) begin
      beat = '{
          stream: 1'b1,
          keep: element_valid ? element_keep : '0,
          id: id_q,
          resp: element_valid ? Okay : DecErr,
          last: element_valid ? element_last : 1'b1,
          data: element_valid ? element : '0
      };
    end else if (answer_valid_q) begin
      beat = '{stream: 1'b0, keep: '0, id: head.id, resp: answer_q, last: beats_q == head.len, data: '0};
    end else begin
      beat = '{
          stream: 1'b0, keep: '0, id: slot_rid_i, resp: slot_rresp_i, last: slot_rlast_i, data: slot_rdata_i
      };
    end
  end

  tmb_spill_register #(
    .T(beat_t)
  ) u_out (
    .clk_i,
    .rst_ni,
    .in_valid_i (stream_valid || asked_valid),
    .in_ready_o (out_ready),
    .in_data_i  (beat),
    .out_valid_o(kernel_rvalid_o),
    .out_ready_i(kernel_rready_i),
    .out_data_o (out)
  );
  assign kernel_rstream_o = out.stream;
  assign kernel_rkeep_o = out.keep;
  assign kernel_rid_o = out.id;
  assign kernel_rresp_o = out.resp;
  assign kernel_rlast_o = out.last;
  assign kernel_rdata_o = out.data;

  `TMB_ASSERT(DataFollowAddresses, slot_rvalid_i |-> head_valid)
  `TMB_ASSERT(NothingBeforeOpening, kernel_rvalid_o && out.stream |-> !$past(!rst_ni))

endmodule
