// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Cuts a copy into bursts that stay inside one 4 KiB block on the card and on the host.
//
// One host burst is then one card burst, so data needs no realignment between the two. Copies whose
// two addresses have the same offset in 4 KiB (all of the pager's) get full bursts of 64 rows;
// others get two a block, 32 rows on average.
//
// Throughput: one burst every two cycles. Latency: two cycles. Order: copies in order, their bursts
// in address order. Back-pressure: ready/valid; one copy at a time.
// No deadlock: waits for its output only.

module tmb_dma_splitter import tmb_pkg::*; import tmb_dma_pkg::*; (
  input  logic   clk_i,
  input  logic   rst_ni,
  input  logic   copy_valid_i,
  output logic   copy_ready_o,
  input  copy_t  copy_i,
  output logic   chunk_valid_o,
  input  logic   chunk_ready_i,
  output chunk_t chunk_o
);

  // Rows of a burst: 1 to 64.
  typedef logic [BurstLenWidth:0] burst_rows_t;

  typedef enum logic [1:0] {
    StIdle,
    StMeasure,
    StEmit
  } state_e;

  state_e state_q;
  copy_t copy_q;  // what is left
  burst_rows_t rows_q;

  // Rows from `addr` to the end of its 4 KiB block.
  function automatic burst_rows_t rows_to_block_end(burst_len_t row_of_block);
    return burst_rows_t'(MaxBurstRows) - burst_rows_t'(row_of_block);
  endfunction

  burst_rows_t card_rows, host_rows, card_end, host_end;
  burst_len_t card_row, host_row;  // of the block
  logic few, card_first;  // less than a block is left; the block of the card ends first
  assign card_row = copy_q.card_addr[RowOffsetWidth+:BurstLenWidth];
  assign host_row = copy_q.host_addr[RowOffsetWidth+:BurstLenWidth];
  assign card_rows = rows_to_block_end(card_row);
  assign host_rows = rows_to_block_end(host_row);
  assign few = copy_q.rows < row_count_t'(MaxBurstRows);
  // Where the copy ends, counted from the start of the block, if few rows are left.
  assign card_end = burst_rows_t'(card_row) + burst_rows_t'(copy_q.rows[BurstLenWidth-1:0]);
  assign host_end = burst_rows_t'(host_row) + burst_rows_t'(copy_q.rows[BurstLenWidth-1:0]);
  assign card_first = card_row > host_row;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StIdle;
    end else begin
      unique case (state_q)
        StIdle: if (copy_valid_i) state_q <= StMeasure;
        StMeasure: state_q <= StEmit;
        StEmit: if (chunk_ready_i) state_q <= chunk_o.last ? StIdle : StMeasure;
        default: state_q <= StIdle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == StIdle && copy_valid_i) begin
      copy_q <= copy_i;
    end else if (state_q == StEmit && chunk_ready_i) begin
      copy_q.card_addr <= copy_q.card_addr + (card_addr_t'(rows_q) << RowOffsetWidth);
      copy_q.host_addr <= copy_q.host_addr + (host_addr_t'(rows_q) << RowOffsetWidth);
      copy_q.rows <= copy_q.rows - row_count_t'(rows_q);
    end
    // The least of three: what is left, to the end of either block.
    if (state_q == StMeasure) begin
      rows_q <= (few && !card_end[BurstLenWidth] && !host_end[BurstLenWidth]) ? burst_rows_t'(copy_q.rows)
          : card_first ? card_rows : host_rows;
    end
  end

  assign copy_ready_o = state_q == StIdle;
  assign chunk_valid_o = state_q == StEmit;
  assign chunk_o = '{
      note: copy_q.note,
      last: copy_q.rows == row_count_t'(rows_q),
      card_addr: copy_q.card_addr,
      stripe: copy_q.stripe,
      host_addr: copy_q.host_addr,
      len: burst_len_t'(rows_q - 1'b1)
  };

endmodule
