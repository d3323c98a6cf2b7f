// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Buffer of payloads, read as a stream: where header and payload join again.
//
// A descriptor enters, the line's rows leave with it, one a cycle. The memory's output register is
// the block's output register. The buffer is written from outside (write_*).
//
// Depth   lines the buffer holds
// T       descriptor
//
// Throughput: one row a cycle. Latency: one cycle from descriptor to first row.
// Back-pressure: out_ready_i holds the row. No deadlock: nothing but out_ready_i is waited for.

module tmb_directory_payload
  import tmb_pkg::*;
  import tmb_directory_pkg::*;
#(
  parameter int unsigned Depth = 32,
  parameter type T = logic,
  localparam int unsigned IndexWidth = $clog2(Depth)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic                  write_i,
  input  logic [IndexWidth-1:0] write_index_i,
  input  logic                  write_last_i,   // which row
  input  row_t                  write_row_i,

  input  logic                  in_valid_i,
  output logic                  in_ready_o,     // taken with its last row
  input  T                      in_data_i,
  input  logic [IndexWidth-1:0] in_index_i,

  output logic                  out_valid_o,
  input  logic                  out_ready_i,
  output T                      out_data_o,
  output row_t                  out_row_o,
  output logic                  out_last_o
);

  logic second_q;  // the next row to read is the second
  logic out_valid_q, out_last_q;
  T out_q;
  logic advance, read;
  assign advance = !out_valid_q || out_ready_i;
  assign read = in_valid_i && advance;
  assign in_ready_o = read && second_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      second_q <= 1'b0;
      out_valid_q <= 1'b0;
    end else begin
      if (read) second_q <= !second_q;
      if (advance) out_valid_q <= read;
    end
  end
  always_ff @(posedge clk_i) begin
    if (read) begin
      out_q <= in_data_i;
      out_last_q <= second_q;
    end
  end

  tmb_ram_1r1w #(
    .Width(RowBits),
    .Depth(LineRows * Depth)
  ) u_rows (
    .clk_i,
    .write_enable_i(write_i),
    .write_addr_i({write_index_i, write_last_i}),
    .write_strobe_i(1'b1),
    .write_data_i(write_row_i),
    .read_enable_i(read),
    .read_addr_i({in_index_i, second_q}),
    .read_data_o(out_row_o)
  );

  assign out_valid_o = out_valid_q;
  assign out_data_o = out_q;
  assign out_last_o = out_last_q;

endmodule
