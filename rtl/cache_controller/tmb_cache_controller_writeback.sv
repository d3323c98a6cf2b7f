// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Lines that leave: a queue of messages with data, sent row by row.
//
// Depth   lines
//
// Throughput: one row a cycle. Latency: two cycles from entry to first row. Back-pressure: out_ready_i
// holds the row; the pipeline knows by counting that there is room. No deadlock: only out_ready_i is
// waited for, and the home takes responses without condition.

`include "tmb_assert.svh"

module tmb_cache_controller_writeback
  import tmb_pkg::*;
  import tmb_directory_pkg::*;
  import tmb_cache_controller_pkg::*;
#(
  parameter int unsigned Depth = 8
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       push_i,
  input  link_line_t push_line_i,
  output logic       pop_o,
  output logic       out_valid_o,
  input  logic       out_ready_i,
  output link_data_t out_o
);

  link_line_t head;
  logic room, waits;
  tmb_fifo #(
    .T(link_line_t),
    .Depth(Depth)
  ) u_queue (
    .clk_i,
    .rst_ni,
    .in_valid_i(push_i),
    .in_ready_o(room),
    .in_data_i(push_line_i),
    .out_valid_o(waits),
    .out_ready_i(pop_o),
    .out_data_o(head)
  );

  // The row that is offered, and the one behind it.
  logic valid_q, last_q;
  link_header_t header_q;
  line_rows_t rows_q;
  logic sent;
  assign sent = valid_q && out_ready_i;
  assign pop_o = waits && (!valid_q || (sent && last_q));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      last_q <= 1'b0;
    end else if (pop_o) begin
      valid_q <= 1'b1;
      last_q <= 1'b0;
    end else if (sent) begin
      valid_q <= !last_q;
      last_q <= 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (pop_o) begin
      header_q <= head.header;
      rows_q <= head.rows;
    end else if (sent) begin
      rows_q[0] <= rows_q[1];
    end
  end

  assign out_valid_o = valid_q;
  assign out_o = '{header: header_q, row: rows_q[0], last: last_q};

  `TMB_ASSERT(HasRoom, !push_i || room)
  `TMB_ASSERT_STABLE(RowHeld, out_valid_o, out_ready_i, out_o)

  // Counted outside.
  logic unused_ok;
  assign unused_ok = &{1'b0, room};

endmodule
