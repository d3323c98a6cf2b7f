// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Lines that arrive: two rows become one entry of a buffer, read by index.
//
// Depth   lines
//
// The header of a line is offered (line_*) with its last row, so that it enters the pipeline's queue
// once its data are complete. Entries are taken in the order of their arrival and given back in the
// same order (free_i).
//
// Throughput: one row a cycle in, one line a cycle out. Latency: none from last row to header.
// Back-pressure: in_ready_o is low while the buffer is full. No deadlock: lines leave in order, and
// nothing but the pipeline, which always takes grants, is waited for.

`include "tmb_assert.svh"

module tmb_cache_controller_fill
  import tmb_pkg::*;
  import tmb_directory_pkg::*;
  import tmb_cache_controller_pkg::*;
#(
  parameter int unsigned Depth = 8,
  localparam int unsigned IndexWidth = $clog2(Depth)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic                  in_valid_i,
  output logic                  in_ready_o,
  input  link_data_t            in_i,

  output logic                  line_valid_o,
  input  logic                  line_ready_i,
  output link_header_t          line_header_o,
  output logic [IndexWidth-1:0] line_index_o,

  input  logic                  read_i,
  input  logic [IndexWidth-1:0] read_index_i,
  output line_rows_t            read_rows_o,  // one cycle later
  input  logic                  free_i        // the oldest line is done
);

  localparam int unsigned CountWidth = $clog2(Depth + 1);

  logic [IndexWidth-1:0] write_q;
  logic [CountWidth-1:0] used_q;
  logic room, taken, line_taken;
  assign room = used_q != CountWidth'(Depth);
  assign line_valid_o = in_valid_i && in_i.last && room;
  assign line_taken = line_valid_o && line_ready_i;
  assign in_ready_o = room && (!in_i.last || line_ready_i);
  assign taken = in_valid_i && in_ready_o;
  assign line_header_o = in_i.header;
  assign line_index_o = write_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q <= '0;
      used_q <= '0;
    end else begin
      if (line_taken) write_q <= write_q + 1'b1;
      used_q <= used_q + CountWidth'(line_taken) - CountWidth'(free_i);
    end
  end

  for (genvar r = 0; r < LineRows; r++) begin : gen_row
    tmb_ram_1r1w #(
      .Width(RowBits),
      .Depth(Depth)
    ) u_rows (
      .clk_i,
      .write_enable_i(taken && in_i.last == 1'(r)),
      .write_addr_i(write_q),
      .write_strobe_i(1'b1),
      .write_data_i(in_i.row),
      .read_enable_i(read_i),
      .read_addr_i(read_index_i),
      .read_data_o(read_rows_o[r])
    );
  end

  `TMB_ASSERT_INIT(DepthIsPowerOfTwo, Depth >= 2 && (Depth & (Depth - 1)) == 0)
  `TMB_ASSERT(FreesWhatIsUsed, !free_i || used_q != '0)
  `TMB_ASSERT(WholeLines, !line_taken || &in_i.header.dmask)

endmodule
