// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// CopyIn: host memory -> card memory.
//
// NumQueues    command queues
// BufferRows   rows reserved for read data on its way from the host
//
// Copies come cut into bursts (tmb_dma_share). Each reserves its rows, is read from the host, and
// when its last row is there leaves for the card as one write. The tracker waits for the write
// response at the memory: that, and nothing earlier, completes a command.
//
// BufferRows = 1024 (64 KiB) holds 16 bursts of 4 KiB: at 64 B a cycle and 250 MHz it covers 4 us
// between the request of a row and its departure, twice the worst PCIe round trip that we plan for;
// at the 12 GB/s of a Gen3 x16 link, 5.4 us. Half of it would just do at 2 us and would fall short
// as soon as card memory is busy; FPGA cost is 16 BRAM36.
//
// Throughput: one row a cycle. Ordering: bursts are written in the order of the copy; commands of a
// queue complete in order. Error: a failed read or write makes the command's status "bus error"; the
// card range is undefined then.
// Back-pressure: a burst is asked for only with room for it and a place in the tracker, so the host
// is never held. No deadlock: data from the host always has its place; writes need only the memory.
//
// Source: FSRF section 5.4.

`include "tmb_assert.svh"

module tmb_dma_copy_in import tmb_pkg::*; import tmb_dma_pkg::*; #(
  parameter int unsigned NumQueues = 1,
  parameter int unsigned BufferRows = 1024
) (
  input  logic            clk_i,
  input  logic            rst_ni,

  input  logic            chunk_valid_i,
  output logic            chunk_ready_o,
  input  chunk_t          chunk_i,

  // Reads from the host; rows come in order and are always taken.
  output logic            host_ar_valid_o,
  input  logic            host_ar_ready_i,
  output host_ax_t        host_ar_o,
  input  logic            host_r_valid_i,
  input  host_r_t         host_r_i,

  // Writes to the card; tags hold {read error, burst index}.
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

  localparam int unsigned IndexWidth = $clog2(BufferRows);
  localparam int unsigned ReadErrorBit = BurstIndexWidth;

  typedef struct packed {
    card_addr_t   card_addr;
    stripe_t      stripe;
    burst_len_t   len;
    burst_index_t index;
  } pending_t;

  // ---------------------------------------------------------------------------------------------
  // Bursts
  // ---------------------------------------------------------------------------------------------

  // A burst starts when all that it needs is there; each ready is independent of the valids.
  logic [IndexWidth:0] room;
  logic tracker_ready, enough_room, start;
  burst_index_t burst_index;

  assign enough_room = room > (IndexWidth + 1)'(chunk_i.len);
  assign chunk_ready_o = host_ar_ready_i && tracker_ready && enough_room;
  assign start = chunk_valid_i && chunk_ready_o;

  assign host_ar_valid_o = chunk_valid_i && tracker_ready && enough_room;
  assign host_ar_o = '{addr: chunk_i.host_addr, len: chunk_i.len};

  logic pending_ready, pending_valid, arrived_ready, arrived_valid, arrived_error, send;
  pending_t pending;

  tmb_fifo #(
    .T(pending_t),
    .Depth(MaxBursts)
  ) u_pending (
    .clk_i,
    .rst_ni,
    .in_valid_i(start),
    .in_ready_o(pending_ready),
    .in_data_i('{
        card_addr: chunk_i.card_addr,
        stripe: chunk_i.stripe,
        len: chunk_i.len,
        index: burst_index
    }),
    .out_valid_o(pending_valid),
    .out_ready_i(send),
    .out_data_o(pending)
  );

  // ---------------------------------------------------------------------------------------------
  // Rows from the host
  // ---------------------------------------------------------------------------------------------

  logic [IndexWidth-1:0] reserve_index, arrive_index_q;
  logic read_failed_q;  // an earlier row of the burst that arrives

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      arrive_index_q <= '0;
      read_failed_q <= 1'b0;
    end else if (host_r_valid_i) begin
      arrive_index_q <= IndexWidth'(arrive_index_q + 1'b1);
      read_failed_q <= (read_failed_q || host_r_i.error) && !host_r_i.last;
    end
  end

  // One entry for each complete burst.
  tmb_fifo #(
    .T(logic),
    .Depth(MaxBursts)
  ) u_arrived (
    .clk_i,
    .rst_ni,
    .in_valid_i(host_r_valid_i && host_r_i.last),
    .in_ready_o(arrived_ready),
    .in_data_i(read_failed_q || host_r_i.error),
    .out_valid_o(arrived_valid),
    .out_ready_i(send),
    .out_data_o(arrived_error)
  );

  // ---------------------------------------------------------------------------------------------
  // Writes to the card
  // ---------------------------------------------------------------------------------------------

  logic release_ready;
  row_t row;
  logic row_last;

  assign write_req_valid_o = arrived_valid && release_ready;
  assign send = write_req_valid_o && write_req_ready_i;
  assign write_req_o = '{
      req: '{
          addr: pending.card_addr,
          len: pending.len,
          tag: mem_tag_t'({arrived_error, pending.index})
      },
      stripe: pending.stripe
  };
  assign write_data_o = '{row: row, strobe: '1, last: row_last};
  assign row_done_o = write_data_valid_o && write_data_ready_i;

  tmb_dma_row_buffer #(
    .Depth(BufferRows)
  ) u_buffer (
    .clk_i,
    .rst_ni,
    .room_o(room),
    .reserve_index_o(reserve_index),
    .reserve_valid_i(start),
    .reserve_len_i(chunk_i.len),
    .write_valid_i(host_r_valid_i),
    .write_index_i(arrive_index_q),
    .write_row_i(host_r_i.row),
    .release_valid_i(send),
    .release_ready_o(release_ready),
    .release_len_i(pending.len),
    .row_valid_o(write_data_valid_o),
    .row_ready_i(write_data_ready_i),
    .row_o(row),
    .row_last_o(row_last)
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
    .done_valid_i(write_rsp_valid_i),
    .done_index_i(write_rsp_i.tag[BurstIndexWidth-1:0]),
    .done_error_i(write_rsp_i.error || write_rsp_i.tag[ReadErrorBit]),
    .completion_valid_o,
    .completion_ready_i,
    .completion_o,
    .retired_valid_o,
    .retired_queue_o,
    .busy_o
  );

  // The tracker has as many places as these queues.
  `TMB_ASSERT(PendingHasRoom, !start || pending_ready)
  `TMB_ASSERT(ArrivedHasRoom, !(host_r_valid_i && host_r_i.last) || arrived_ready)
  `TMB_ASSERT(ArrivedWasPending, !arrived_valid || pending_valid)

  logic unused_ok;
  assign unused_ok = &{1'b0, pending_ready, pending_valid, arrived_ready, reserve_index,
                       write_rsp_i.tag};

endmodule
