// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Reads arrays of equal length from memory and hands them on as rows of 64 bytes, in order.
//
// NumSources   Arrays read through the one port. Their bursts take turns: up to 64 rows of array 0,
//              as many of array 1, and so on; row_source_o is the array of a row. All have the same
//              ID, so rows come back in the order of the requests.
//
// A burst ends at the first 4 KiB boundary of any array, so it is 64 rows long when the arrays are
// aligned alike. Requests run ahead of the data as far as the other side accepts them.
//
// Throughput: one row a cycle. Latency: first request one cycle after start_i, and two cycles from
// the memory's row to row_o. Back-pressure: a row that is not taken holds up the rows behind it.
// No deadlock: requests never wait for rows. The consumer must not need a later row to
// take an earlier one; with several sources that means room for 64 rows of each but the last.

module kernel_burst_reader #(
  parameter int unsigned NumSources = 1,
  localparam int unsigned SourceWidth = NumSources > 1 ? $clog2(NumSources) : 1
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,

  // A pulse; the arrays are taken with it. They are aligned to 64 bytes.
  input  logic                        start_i,
  input  logic [NumSources-1:0][63:0] base_i,
  input  logic [57:0]                 rows_i,

  output logic                        row_valid_o,
  input  logic                        row_ready_i,
  output logic [511:0]                row_o,
  output logic [SourceWidth-1:0]      row_source_o,

  output logic                        arvalid_o,
  input  logic                        arready_i,
  output logic [63:0]                 araddr_o,
  output logic [7:0]                  arlen_o,
  input  logic                        rvalid_i,
  output logic                        rready_o,
  input  logic [511:0]                rdata_i,
  input  logic                        rlast_i
);

  typedef logic [SourceWidth-1:0] source_t;
  // Rows from an address to the next 4 KiB boundary, 1 to 64.
  typedef logic [6:0] burst_rows_t;

  function automatic source_t next_source(source_t source);
    return source == source_t'(NumSources - 1) ? source_t'(0) : source_t'(source + 1'b1);
  endfunction

  // -- Requests: one round is a burst of each array, all of the same length -----------------------

  // Row numbers (address / 64) of the arrays' next rows.
  logic [NumSources-1:0][57:0] next_q;
  logic [57:0] rows_left_q;
  logic ask_q;        // rows are left
  source_t ask_source_q;
  burst_rows_t burst_rows_q;  // of the round that runs
  logic round_begins;

  burst_rows_t round_rows;
  always_comb begin
    round_rows = rows_left_q < 58'd64 ? burst_rows_t'(rows_left_q) : 7'd64;
    for (int unsigned i = 0; i < NumSources; i++) begin
      if (7'd64 - 7'(next_q[i][5:0]) < round_rows) round_rows = 7'd64 - 7'(next_q[i][5:0]);
    end
  end

  assign round_begins = ask_source_q == '0;
  burst_rows_t burst_rows;
  assign burst_rows = round_begins ? round_rows : burst_rows_q;

  logic arvalid_q, ask;
  logic [57:0] araddr_q;
  logic [5:0] arlen_q;
  assign ask = ask_q && (!arvalid_q || arready_i);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ask_q <= 1'b0;
      ask_source_q <= '0;
      arvalid_q <= 1'b0;
    end else begin
      if (start_i) begin
        ask_q <= rows_i != '0;
      end else if (ask && ask_source_q == source_t'(NumSources - 1)) begin
        ask_q <= rows_left_q != 58'(burst_rows);
      end
      if (ask) ask_source_q <= next_source(ask_source_q);
      if (ask) arvalid_q <= 1'b1;
      else if (arready_i) arvalid_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      for (int unsigned i = 0; i < NumSources; i++) next_q[i] <= base_i[i][63:6];
      rows_left_q <= rows_i;
    end else if (ask) begin
      next_q[ask_source_q] <= next_q[ask_source_q] + 58'(burst_rows);
      burst_rows_q <= burst_rows;
      if (ask_source_q == source_t'(NumSources - 1)) begin
        rows_left_q <= rows_left_q - 58'(burst_rows);
      end
      araddr_q <= next_q[ask_source_q];
      arlen_q <= 6'(burst_rows - 7'd1);
    end
  end

  assign arvalid_o = arvalid_q;
  assign araddr_o = {araddr_q, 6'b0};
  assign arlen_o = {2'b0, arlen_q};

  // -- Rows: the source follows from the order of the bursts --------------------------------------

  source_t row_source_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) row_source_q <= '0;
    else if (rvalid_i && rready_o && rlast_i) row_source_q <= next_source(row_source_q);
  end

  kernel_fifo #(
    .Width(SourceWidth + 512),
    .Depth(2)
  ) u_slice (
    .clk_i,
    .rst_ni,
    .in_valid_i(rvalid_i),
    .in_ready_o(rready_o),
    .in_data_i({row_source_q, rdata_i}),
    .out_valid_o(row_valid_o),
    .out_ready_i(row_ready_i),
    .out_data_o({row_source_o, row_o})
  );

  logic unused_base;
  always_comb begin
    unused_base = 1'b0;
    for (int unsigned i = 0; i < NumSources; i++) unused_base ^= ^base_i[i][5:0];
  end

endmodule
