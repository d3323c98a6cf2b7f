// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Moves a few sets of a page table to a table of twice as many. Set k goes to sets k and k + 2^S of
// the new table, each entry to the one of its page number, in the same way: so nothing is
// searched, no set can overflow, and every row is written whole.
//
// ChunkSets   sets of one start: one read burst, two write bursts
//
// Why the tag is enough: the index is the low bits of n ^ n>>10 ^ n>>20 ^ n>>30 (table_set); the new
// index bit, S, is therefore the parity of tag bits 0, 10 and 20 (n>>30 has no such bit, since S is
// at least 10). The new tag is the old one without its lowest bit.
//
// Throughput: ChunkSets sets in 3 * ChunkSets cycles plus a read and a write latency. Ordering: the
// parts of a chunk are done in order. Back-pressure: one chunk at a time; rows of the read have
// room before it is asked for, rows of a write are here before it is.
// No deadlock: needs only memory.

`include "tmb_assert.svh"

module tmb_table_mover
  import tmb_pkg::*;
#(
  parameter int unsigned ChunkSets = 8
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       start_i,  // with the addresses of the first rows, which stay until done_o
  input  card_addr_t from_i,
  input  card_addr_t low_i,   // sets whose new index bit is 0
  input  card_addr_t high_i,  // and 1
  output logic       done_o,
  output logic       error_o,  // with done_o: a row could not be read or written
  // fabric
  output logic            read_req_valid_o,
  input  logic            read_req_ready_i,
  output mem_req_t        read_req_o,
  input  logic            read_rsp_valid_i,
  input  mem_read_rsp_t   read_rsp_i,
  output logic            write_req_valid_o,
  input  logic            write_req_ready_i,
  output mem_req_t        write_req_o,
  output logic            write_data_valid_o,
  input  logic            write_data_ready_i,
  output mem_write_data_t write_data_o,
  input  logic            write_rsp_valid_i,
  input  mem_write_rsp_t  write_rsp_i
);

  localparam int unsigned IndexWidth = $clog2(ChunkSets);
  localparam burst_len_t LastRow = burst_len_t'(ChunkSets - 1);
  typedef logic [IndexWidth-1:0] index_t;

  typedef enum logic [2:0] {
    StateIdle,
    StateRead,     // request
    StateRows,     // wait for all rows
    StateWrite,    // request
    StateSend,     // its rows
    StateWritten,  // wait for the responses
    StateDone
  } state_e;

  state_e state_q;
  logic high_q;  // which half is being written
  index_t index_q;
  logic error_q;
  logic [1:0] waiting_q;  // write responses

  page_set_t row_q [ChunkSets];
  page_set_t half;

  function automatic page_set_t half_of(page_set_t row, logic upper);
    page_set_t result;
    for (int unsigned w = 0; w < TableWays; w++) begin
      result[w] = row[w];
      result[w].tag = row[w].tag >> 1;
      if ((row[w].tag[0] ^ row[w].tag[10] ^ row[w].tag[20]) != upper) result[w] = '0;
    end
    return result;
  endfunction

  logic row_leaves, last_row;
  assign last_row = index_q == index_t'(LastRow);
  assign row_leaves = (state_q == StateSend) && (!write_data_valid_o || write_data_ready_i);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StateIdle;
    end else begin
      unique case (state_q)
        StateIdle: if (start_i) state_q <= StateRead;
        StateRead: if (read_req_ready_i) state_q <= StateRows;
        StateRows: if (read_rsp_valid_i && read_rsp_i.last) state_q <= StateWrite;
        StateWrite: if (write_req_ready_i) state_q <= StateSend;
        StateSend: if (row_leaves && last_row) state_q <= high_q ? StateWritten : StateWrite;
        StateWritten: if (waiting_q == '0) state_q <= StateDone;
        StateDone: state_q <= StateIdle;
        default: state_q <= StateIdle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (read_rsp_valid_i) row_q[index_t'(read_rsp_i.index)] <= read_rsp_i.row;
    if (state_q == StateIdle) begin
      high_q <= 1'b0;
      index_q <= '0;
    end else if (row_leaves) begin
      index_q <= index_q + index_t'(1);
      if (last_row) high_q <= 1'b1;
    end
    if (state_q == StateIdle) error_q <= 1'b0;
    else if (read_rsp_valid_i && read_rsp_i.error) error_q <= 1'b1;
    else if (write_rsp_valid_i && write_rsp_i.error) error_q <= 1'b1;
    if (state_q == StateIdle) waiting_q <= 2'd2;
    else if (write_rsp_valid_i) waiting_q <= waiting_q - 2'd1;
  end

  // The row on its way out.
  assign half = half_of(row_q[index_q], high_q);
  logic data_valid_q, data_last_q;
  row_t data_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) data_valid_q <= 1'b0;
    else if (row_leaves) data_valid_q <= 1'b1;
    else if (write_data_ready_i) data_valid_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (row_leaves) begin
      data_q <= half;
      data_last_q <= last_row;
    end
  end

  assign read_req_valid_o = state_q == StateRead;
  assign read_req_o = '{addr: from_i, len: LastRow, tag: '0};
  // The last row of the first burst may still be here: data follow the order of requests.
  assign write_req_valid_o = state_q == StateWrite;
  assign write_req_o = '{addr: high_q ? high_i : low_i, len: LastRow, tag: '0};
  assign write_data_valid_o = data_valid_q;
  assign write_data_o = '{row: data_q, strobe: '1, last: data_last_q};
  assign done_o = state_q == StateDone;
  assign error_o = error_q;

  logic unused_ok;
  assign unused_ok = &{1'b0, read_rsp_i.tag, read_rsp_i.index, write_rsp_i.tag};

  `TMB_ASSERT_INIT(ChunkIsABurst, ChunkSets >= 2 && ChunkSets <= MaxBurstRows)
  `TMB_ASSERT_INIT(ChunkPowerOfTwo, (ChunkSets & (ChunkSets - 1)) == 0)

endmodule
