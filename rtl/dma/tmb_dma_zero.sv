// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Zero: card memory := 0.
//
// NumQueues    command queues
//
// Throughput: one row a cycle (bursts of 64 rows need no more than two cycles to prepare).
// Ordering: bursts in address order; commands of a queue complete in order, with the last write response at
// the memory. Back-pressure: as the card's write path allows.
// No deadlock: a burst's rows are always ready; writes need only the memory.

module tmb_dma_zero import tmb_pkg::*; import tmb_dma_pkg::*; #(
  parameter int unsigned NumQueues = 1
) (
  input  logic            clk_i,
  input  logic            rst_ni,

  input  logic            chunk_valid_i,
  output logic            chunk_ready_o,
  input  chunk_t          chunk_i,

  // Writes to the card; tags hold the burst index.
  output logic            write_req_valid_o,
  input  logic            write_req_ready_i,
  output card_req_t       write_req_o,
  output logic            write_data_valid_o,
  input  logic            write_data_ready_i,
  output mem_write_data_t write_data_o,
  input  logic            write_rsp_valid_i,
  input  mem_write_rsp_t  write_rsp_i,

  output logic            completion_valid_o,
  input  logic            completion_ready_i,
  output completion_t     completion_o,
  output logic            retired_valid_o,  // a command of this queue is complete
  output queue_t          retired_queue_o,

  output logic            busy_o,
  output logic            row_done_o  // a row has left for the card (counted)
);

  // Bursts requested ahead of the one whose rows leave.
  localparam int unsigned RequestDepth = 4;

  logic tracker_ready, rows_ready, start;
  burst_index_t burst_index;

  assign write_req_valid_o = chunk_valid_i && tracker_ready && rows_ready;
  assign chunk_ready_o = write_req_ready_i && tracker_ready && rows_ready;
  assign start = chunk_valid_i && chunk_ready_o;
  assign write_req_o = '{
      req: '{addr: chunk_i.card_addr, len: chunk_i.len, tag: mem_tag_t'(burst_index)},
      stripe: chunk_i.stripe
  };

  burst_len_t rows_len, sent_q;
  logic last_row;

  tmb_fifo #(
    .T(burst_len_t),
    .Depth(RequestDepth)
  ) u_rows (
    .clk_i,
    .rst_ni,
    .in_valid_i(start),
    .in_ready_o(rows_ready),
    .in_data_i(chunk_i.len),
    .out_valid_o(write_data_valid_o),
    .out_ready_i(write_data_ready_i && last_row),
    .out_data_o(rows_len)
  );

  assign last_row = sent_q == rows_len;
  assign row_done_o = write_data_valid_o && write_data_ready_i;
  assign write_data_o = '{row: '0, strobe: '1, last: last_row};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) sent_q <= '0;
    else if (row_done_o) sent_q <= last_row ? '0 : burst_len_t'(sent_q + 1'b1);
  end

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
    .done_valid_i(write_rsp_valid_i),
    .done_index_i(write_rsp_i.tag[BurstIndexWidth-1:0]),
    .done_error_i(write_rsp_i.error),
    .completion_valid_o,
    .completion_ready_i,
    .completion_o,
    .retired_valid_o,
    .retired_queue_o,
    .busy_o
  );

  logic unused_ok;
  assign unused_ok = &{1'b0, chunk_i.host_addr, write_rsp_i.tag};

endmodule
