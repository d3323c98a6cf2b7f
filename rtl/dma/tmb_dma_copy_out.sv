// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// CopyOut: card memory -> host memory.
//
// NumQueues    command queues
// BufferRows   rows reserved for read data on its way from the card
//
// Copies come cut into bursts (tmb_dma_share). Each reserves its rows and is read from the card;
// bursts of several channels may arrive in any order, so a row's tag carries its place. When a burst
// is there as a whole and is the oldest, it leaves for the host as one posted write. The tracker
// waits for the host's acceptance of the last one: that completes a command.
//
// BufferRows = 512 (32 KiB) holds 8 bursts of 4 KiB: one leaves, one gathers, and six cover 380
// cycles of card latency, which is what a channel needs that serves other requesters in between.
//
// Throughput: one row a cycle. Ordering: bursts are written in the order of the copy; commands of a
// queue complete in order. Error: a failed read or write makes the command's status "bus error"; the host
// range is undefined then.
// Back-pressure: a burst is asked for only with room for it and a place in the tracker, so the card
// is never held; a host that does not take writes stops new reads. No deadlock: rows from the card
// always have their place; writes need only the host bus, which takes posted writes without waiting
// for anything of ours.
//
// Source: FSRF section 5.4.

`include "tmb_assert.svh"

module tmb_dma_copy_out import tmb_pkg::*; import tmb_dma_pkg::*; #(
  parameter int unsigned NumQueues = 1,
  parameter int unsigned BufferRows = 512
) (
  input  logic          clk_i,
  input  logic          rst_ni,

  input  logic          chunk_valid_i,
  output logic          chunk_ready_o,
  input  chunk_t        chunk_i,

  // Reads from the card; tags hold {place of the first row, burst index}; rows are always taken.
  output logic          read_req_valid_o,
  input  logic          read_req_ready_i,
  output card_req_t     read_req_o,
  input  logic          read_rsp_valid_i,
  input  mem_read_rsp_t read_rsp_i,

  // Writes to the host; responses come in order and are always taken.
  output logic          host_aw_valid_o,
  input  logic          host_aw_ready_i,
  output host_ax_t      host_aw_o,
  output logic          host_w_valid_o,
  input  logic          host_w_ready_i,
  output host_w_t       host_w_o,
  input  logic          host_b_valid_i,
  input  logic          host_b_error_i,

  output logic          completion_valid_o,
  input  logic          completion_ready_i,
  output completion_t   completion_o,
  output logic          retired_valid_o,  // a command of this queue is complete
  output queue_t        retired_queue_o,

  output logic          busy_o,
  output logic          row_done_o  // a row has left for the host (counted)
);

  localparam int unsigned IndexWidth = $clog2(BufferRows);

  typedef struct packed {
    host_addr_t host_addr;
    burst_len_t len;
  } pending_t;

  typedef struct packed {
    logic         read_error;
    burst_index_t index;
  } sent_t;

  // ---------------------------------------------------------------------------------------------
  // Bursts
  // ---------------------------------------------------------------------------------------------

  // A burst starts when all that it needs is there.
  logic [IndexWidth:0] room;
  logic [IndexWidth-1:0] reserve_index;
  logic tracker_ready, request_ready, enough_room, start;
  burst_index_t burst_index;
  card_req_t request;

  assign enough_room = room > (IndexWidth + 1)'(chunk_i.len);
  assign chunk_ready_o = request_ready && tracker_ready && enough_room;
  assign start = chunk_valid_i && chunk_ready_o;
  assign request = '{
      req: '{
          addr: chunk_i.card_addr,
          len: chunk_i.len,
          tag: mem_tag_t'({reserve_index, burst_index})
      },
      stripe: chunk_i.stripe
  };

  tmb_spill_register #(
    .T(card_req_t)
  ) u_request (
    .clk_i,
    .rst_ni,
    .in_valid_i(chunk_valid_i && tracker_ready && enough_room),
    .in_ready_o(request_ready),
    .in_data_i(request),
    .out_valid_o(read_req_valid_o),
    .out_ready_i(read_req_ready_i),
    .out_data_o(read_req_o)
  );

  logic pending_ready, pending_valid, send;
  pending_t pending;

  tmb_fifo #(
    .T(pending_t),
    .Depth(MaxBursts)
  ) u_pending (
    .clk_i,
    .rst_ni,
    .in_valid_i(start),
    .in_ready_o(pending_ready),
    .in_data_i('{host_addr: chunk_i.host_addr, len: chunk_i.len}),
    .out_valid_o(pending_valid),
    .out_ready_i(send),
    .out_data_o(pending)
  );

  // ---------------------------------------------------------------------------------------------
  // Rows from the card
  // ---------------------------------------------------------------------------------------------

  // Bursts leave in the order of their indices: the one that leaves next.
  burst_index_t arrive_burst, send_index_q;
  logic [IndexWidth-1:0] arrive_row;
  assign arrive_burst = read_rsp_i.tag[BurstIndexWidth-1:0];
  assign arrive_row = read_rsp_i.tag[BurstIndexWidth+:IndexWidth] + IndexWidth'(read_rsp_i.index);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) send_index_q <= '0;
    else if (send) send_index_q <= burst_index_t'(send_index_q + 1'b1);
  end

  // The burst at the head: complete; a row of it failed.
  logic head_arrived, head_error;

  tmb_ring_flags #(
    .Depth(MaxBursts)
  ) u_arrived (
    .clk_i,
    .rst_ni,
    .set_valid_i(read_rsp_valid_i && read_rsp_i.last),
    .set_index_i(arrive_burst),
    .head_i(send_index_q),
    .step_i(send),
    .jump_i(1'b0),
    .flag_o(head_arrived)
  );

  tmb_ring_flags #(
    .Depth(MaxBursts),
    .SetOnce(1'b0)
  ) u_failed (
    .clk_i,
    .rst_ni,
    .set_valid_i(read_rsp_valid_i && read_rsp_i.error),
    .set_index_i(arrive_burst),
    .head_i(send_index_q),
    .step_i(send),
    .jump_i(1'b0),
    .flag_o(head_error)
  );

  // ---------------------------------------------------------------------------------------------
  // Writes to the host
  // ---------------------------------------------------------------------------------------------

  logic release_ready, sent_ready, sent_valid;
  sent_t sent;

  assign host_aw_valid_o = head_arrived && release_ready;
  assign send = host_aw_valid_o && host_aw_ready_i;
  assign host_aw_o = '{addr: pending.host_addr, len: pending.len};
  assign row_done_o = host_w_valid_o && host_w_ready_i;

  tmb_dma_row_buffer #(
    .Depth(BufferRows)
  ) u_buffer (
    .clk_i,
    .rst_ni,
    .room_o(room),
    .reserve_index_o(reserve_index),
    .reserve_valid_i(start),
    .reserve_len_i(chunk_i.len),
    .write_valid_i(read_rsp_valid_i),
    .write_index_i(arrive_row),
    .write_row_i(read_rsp_i.row),
    .release_valid_i(send),
    .release_ready_o(release_ready),
    .release_len_i(pending.len),
    .row_valid_o(host_w_valid_o),
    .row_ready_i(host_w_ready_i),
    .row_o(host_w_o.row),
    .row_last_o(host_w_o.last)
  );

  // Bursts that wait for the host's acceptance.
  tmb_fifo #(
    .T(sent_t),
    .Depth(MaxBursts)
  ) u_sent (
    .clk_i,
    .rst_ni,
    .in_valid_i(send),
    .in_ready_o(sent_ready),
    .in_data_i('{read_error: head_error, index: send_index_q}),
    .out_valid_o(sent_valid),
    .out_ready_i(host_b_valid_i),
    .out_data_o(sent)
  );

  tmb_dma_tracker #(
    .NumQueues(NumQueues)
  ) u_tracker (
    .clk_i,
    .rst_ni,
    .burst_valid_i(start),
    .burst_ready_o(tracker_ready),
    .burst_last_i(chunk_i.last),
    .burst_note_i(chunk_i.note),
    .burst_index_o(burst_index),
    .done_valid_i(host_b_valid_i),
    .done_index_i(sent.index),
    .done_error_i(host_b_error_i || sent.read_error),
    .completion_valid_o,
    .completion_ready_i,
    .completion_o,
    .retired_valid_o,
    .retired_queue_o,
    .busy_o
  );

  // The tracker has as many places as these queues.
  `TMB_ASSERT(PendingHasRoom, !start || pending_ready)
  `TMB_ASSERT(ArrivedWasPending, !head_arrived || pending_valid)
  `TMB_ASSERT(SentHasRoom, !send || sent_ready)
  `TMB_ASSERT(ResponseWasAskedFor, !host_b_valid_i || sent_valid)
  `TMB_ASSERT_INIT(PlaceFitsTag, IndexWidth + BurstIndexWidth <= MemTagWidth)

  logic unused_ok;
  assign unused_ok = &{1'b0, pending_ready, pending_valid, sent_ready, sent_valid, read_rsp_i.tag};

endmodule
