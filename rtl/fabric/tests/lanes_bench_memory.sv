// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// A memory channel for the bench of address lanes: answers in order, a row a cycle and direction, and
// begins a burst every gap_i / 256 cycles at most, which is what random places cost (DRAM rows that are
// opened). A row that is read holds its own address; a row that is written must.
//
// Number   of the channel
// Depth    bursts that wait, a direction
//
// Latency: latency_i cycles from the address to the first row, from the last row to the response.

module lanes_bench_memory import tmb_pkg::*; import tmb_fabric_pkg::*; #(
  parameter int unsigned Number = 0,
  parameter int unsigned ChannelBytesLog2 = 20,
  parameter int unsigned Depth = 32
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic [31:0] now_i,      // cycles
  input  logic [15:0] gap_i,      // between bursts of a direction, in 1/256 of a cycle
  input  logic [15:0] latency_i,  // cycles

  input  logic            ar_valid_i,
  output logic            ar_ready_o,
  input  channel_ax_t     ar_i,
  output logic            r_valid_o,
  input  logic            r_ready_i,
  output channel_r_t      r_o,
  input  logic            aw_valid_i,
  output logic            aw_ready_o,
  input  channel_ax_t     aw_i,
  input  logic            w_valid_i,
  output logic            w_ready_o,
  input  mem_write_data_t w_i,
  output logic            b_valid_o,
  input  logic            b_ready_i,

  output logic wrong_o  // a row that was written elsewhere than meant
);

  typedef logic [39:0] time_t;  // in 1/256 of a cycle
  typedef struct packed {
    channel_ax_t ax;
    logic [31:0] due;
  } wait_t;

  time_t now;
  assign now = {now_i, 8'h00};

  // Address of a row of a burst, over all channels.
  function automatic logic [63:0] address(logic [63:0] offset, logic [7:0] index);
    return (64'(Number) << ChannelBytesLog2) + offset + (64'(index) << RowOffsetWidth);
  endfunction

  // When the next burst may begin, after one that begins now: time that was not used is lost.
  function automatic time_t after(time_t allowed, time_t at, logic [15:0] gap);
    time_t least;
    least = at < time_t'(256) ? '0 : at - time_t'(255);
    return (allowed > least ? allowed : least) + time_t'(gap);
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Reads
  // ---------------------------------------------------------------------------------------------

  wait_t read;
  logic read_valid, read_begins, row_leaves;
  logic [7:0] read_index_q;
  time_t read_allowed_q;

  tmb_fifo #(
    .T(wait_t),
    .Depth(Depth)
  ) u_reads (
    .clk_i,
    .rst_ni,
    .in_valid_i(ar_valid_i),
    .in_ready_o(ar_ready_o),
    .in_data_i('{ax: ar_i, due: now_i + 32'(latency_i)}),
    .out_valid_o(read_valid),
    .out_ready_i(row_leaves && r_o.last),
    .out_data_o(read)
  );

  assign read_begins = read.due <= now_i && read_allowed_q <= now;
  assign r_valid_o = read_valid && (read_index_q != '0 || read_begins);
  assign r_o = '{
      row: row_t'(address(read.ax.addr, read_index_q)),
      last: read_index_q == read.ax.len,
      error: 1'b0
  };
  assign row_leaves = r_valid_o && r_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_index_q <= '0;
      read_allowed_q <= '0;
    end else if (row_leaves) begin
      read_index_q <= r_o.last ? '0 : read_index_q + 8'd1;
      if (read_index_q == '0) read_allowed_q <= after(read_allowed_q, now, gap_i);
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Writes
  // ---------------------------------------------------------------------------------------------

  channel_ax_t write;
  logic write_valid, row_comes, write_ends, ack_room, ack_valid;
  logic [7:0] write_index_q;
  time_t write_allowed_q;
  logic [31:0] ack_due;

  tmb_fifo #(
    .T(channel_ax_t),
    .Depth(Depth)
  ) u_writes (
    .clk_i,
    .rst_ni,
    .in_valid_i(aw_valid_i),
    .in_ready_o(aw_ready_o),
    .in_data_i(aw_i),
    .out_valid_o(write_valid),
    .out_ready_i(write_ends),
    .out_data_o(write)
  );

  assign w_ready_o = write_valid && ack_room && (write_index_q != '0 || write_allowed_q <= now);
  assign row_comes = w_valid_i && w_ready_o;
  assign write_ends = row_comes && write_index_q == write.len;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_index_q <= '0;
      write_allowed_q <= '0;
      wrong_o <= 1'b0;
    end else if (row_comes) begin
      write_index_q <= write_ends ? '0 : write_index_q + 8'd1;
      if (write_index_q == '0) write_allowed_q <= after(write_allowed_q, now, gap_i);
      if (w_i.row != row_t'(address(write.addr, write_index_q)) || w_i.strobe != '1
          || w_i.last != write_ends) begin
        wrong_o <= 1'b1;
      end
    end
  end

  tmb_fifo #(
    .T(logic [31:0]),
    .Depth(2 * Depth)
  ) u_acks (
    .clk_i,
    .rst_ni,
    .in_valid_i(write_ends),
    .in_ready_o(ack_room),
    .in_data_i(now_i + 32'(latency_i)),
    .out_valid_o(ack_valid),
    .out_ready_i(b_valid_o && b_ready_i),
    .out_data_o(ack_due)
  );
  assign b_valid_o = ack_valid && ack_due <= now_i;

endmodule
