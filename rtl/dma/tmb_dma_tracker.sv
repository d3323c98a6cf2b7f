// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Follows the bursts of a copy unit and reports complete commands.
//
// NumQueues    command queues
//
// A ring of MaxBursts entries: a burst gets the next entry when it starts, is marked done in any
// order, and leaves in order. When the last burst of a command leaves, the command is complete; its
// status collects the errors of all its bursts. So completion needs no counter per command, and
// commands of a queue complete in order in a unit.
//
// A completion is offered when the command asked for it or failed; otherwise it passes silently.
// It comes from a register, since its taker chooses among many; that register is free in the cycle after it
// has been taken, so that the choice does not reach the ring.
//
// Throughput: one start, one end and one departure a cycle. Latency: end to completion 3 cycles.
// Back-pressure: burst_ready_o falls when the ring is full; a completion that is not taken holds
// the next, and that one the ring. Completions that are offered come every two cycles at most.
// No deadlock: entries leave as bursts end, and those need nothing from here.

`include "tmb_assert.svh"

module tmb_dma_tracker import tmb_dma_pkg::*; #(
  parameter int unsigned NumQueues = 1
) (
  input  logic         clk_i,
  input  logic         rst_ni,

  // A burst starts.
  input  logic         burst_valid_i,
  output logic         burst_ready_o,
  input  logic         burst_last_i,  // last of its command
  input  note_t        burst_note_i,
  output burst_index_t burst_index_o,

  // A burst has ended.
  input  logic         done_valid_i,
  input  burst_index_t done_index_i,
  input  logic         done_error_i,

  output logic         completion_valid_o,
  input  logic         completion_ready_i,
  output completion_t  completion_o,

  output logic         retired_valid_o,  // a command of this queue is complete
  output queue_t       retired_queue_o,

  output logic         busy_o  // bursts are followed
);

  localparam int unsigned QueueIndexWidth = NumQueues > 1 ? $clog2(NumQueues) : 1;

  typedef struct packed {
    logic  last;
    note_t note;
  } entry_t;

  entry_t entry_q [MaxBursts];
  burst_index_t tail_q, head_q;
  logic [BurstIndexWidth:0] count_q;
  // By queue: an earlier burst of the command that its oldest burst belongs to failed. Bursts of
  // several queues alternate, those of one are in order.
  logic [NumQueues-1:0] failed_q;
  logic [QueueIndexWidth-1:0] source;

  logic start, leave, head_done, head_error, head_failed, announce;
  entry_t head;

  assign head = entry_q[head_q];
  assign source = QueueIndexWidth'(head.note.queue_id);
  assign head_failed = failed_q[source] || head_error;

  // The complete command: silent, or its completion is offered.
  logic silent_q, offered_q, command_failed_q;
  queue_t queue_q;
  logic [31:0] id_q;

  assign announce = head.note.notify || head_failed;
  assign burst_ready_o = count_q != (BurstIndexWidth + 1)'(MaxBursts);
  assign burst_index_o = tail_q;
  assign start = burst_valid_i && burst_ready_o;
  assign leave = head_done && (!head.last || !offered_q);

  assign completion_valid_o = offered_q;
  assign completion_o = '{
      id: id_q,
      status: command_failed_q ? StatusBusError : StatusOk,
      accessed: 1'b0,
      dirty: 1'b0
  };
  assign retired_valid_o = silent_q || (offered_q && completion_ready_i);
  assign retired_queue_o = queue_q;
  assign busy_o = count_q != '0 || silent_q || offered_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      tail_q <= '0;
      head_q <= '0;
      count_q <= '0;
      failed_q <= '0;
      silent_q <= 1'b0;
      offered_q <= 1'b0;
    end else begin
      silent_q <= leave && head.last && !announce;
      offered_q <= offered_q ? !completion_ready_i : leave && head.last && announce;
      if (start) tail_q <= burst_index_t'(tail_q + 1'b1);
      if (start != leave) begin
        count_q <= start ? (BurstIndexWidth + 1)'(count_q + 1'b1)
                         : (BurstIndexWidth + 1)'(count_q - 1'b1);
      end
      if (leave) begin
        head_q <= burst_index_t'(head_q + 1'b1);
        failed_q[source] <= head_failed && !head.last;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (start) entry_q[tail_q] <= '{last: burst_last_i, note: burst_note_i};
  end

  always_ff @(posedge clk_i) begin
    if (leave && head.last) begin
      command_failed_q <= head_failed;
      queue_q <= head.note.queue_id;
      id_q <= head.note.id;
    end
  end

  tmb_ring_flags #(
    .Depth(MaxBursts)
  ) u_done (
    .clk_i,
    .rst_ni,
    .set_valid_i(done_valid_i),
    .set_index_i(done_index_i),
    .head_i(head_q),
    .step_i(leave),
    .jump_i(1'b0),
    .flag_o(head_done)
  );

  tmb_ring_flags #(
    .Depth(MaxBursts)
  ) u_failed (
    .clk_i,
    .rst_ni,
    .set_valid_i(done_valid_i && done_error_i),
    .set_index_i(done_index_i),
    .head_i(head_q),
    .step_i(leave),
    .jump_i(1'b0),
    .flag_o(head_error)
  );

  `TMB_ASSERT(DoneOnlyIfStarted, !done_valid_i || count_q != '0)

endmodule
