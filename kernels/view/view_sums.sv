// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The materialised view: for each customer how many orders there are, and the sum of their prices.
//
// Each slice adds to a half of its own, so that both add at once; a customer's entry is the sum of its two
// halves, made when it is read. An entry is two 64-bit words, orders and then the sum; a row has four, a line eight.
//
// Throughput: a tuple every two cycles for each slice; a line of the view in two cycles, which a tuple of both
// slices may wait for. Ordering: none; sums do not depend on it. No deadlock: a tuple waits for the lines that
// are being read, those for their reader.

module view_sums #(
  parameter int unsigned CustomersLog2 = 14,
  localparam int unsigned RowWidth = CustomersLog2 - 2,
  localparam int unsigned LineWidth = CustomersLog2 - 3
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,

  // Rows 0 to `clear_last_i` become zero; `clearing_o` from the next cycle on until that is done.
  input  logic                     clear_i,
  input  logic [RowWidth-1:0]      clear_last_i,
  output logic                     clearing_o,

  // Tuples of each slice.
  input  logic                     add_valid_i [2],
  output logic                     add_ready_o [2],
  input  logic [CustomersLog2-1:0] add_customer_i [2],
  input  logic [63:0]              add_price_i [2],
  output logic                     adding_o [2],  // a tuple is on its way into the view

  // Lines of the view: two rows each, with room for both when asked.
  input  logic                     line_valid_i [2],
  output logic                     line_ready_o [2],
  input  logic [LineWidth-1:0]     line_i [2],
  output logic                     row_valid_o [2],
  output logic                     row_last_o,
  output logic [511:0]             row_o
);

  // ---------------------------------------------------------------------------------------------
  // Clearing
  // ---------------------------------------------------------------------------------------------

  logic clearing_q;
  logic [RowWidth-1:0] clear_q;
  assign clearing_o = clearing_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      clearing_q <= 1'b0;
      clear_q <= '0;
    end else if (clear_i) begin
      clearing_q <= 1'b1;
      clear_q <= '0;
    end else if (clearing_q) begin
      clearing_q <= clear_q != clear_last_i;
      clear_q <= clear_q + 1'b1;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Lines: the slices take turns; both halves are read at once
  // ---------------------------------------------------------------------------------------------

  logic turn_q, pick, begin_line, second_q, reading, first_out_q, second_out_q, owner_q;
  logic [LineWidth-1:0] line_q;
  assign pick = line_valid_i[1] && (turn_q || !line_valid_i[0]);
  assign begin_line = !second_q && (line_valid_i[0] || line_valid_i[1]);
  assign line_ready_o[0] = !second_q && !pick;
  assign line_ready_o[1] = !second_q && pick;
  assign reading = begin_line || second_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      turn_q <= 1'b0;
      second_q <= 1'b0;
      first_out_q <= 1'b0;
      second_out_q <= 1'b0;
    end else begin
      if (begin_line) turn_q <= !pick;
      second_q <= begin_line;
      first_out_q <= begin_line;
      second_out_q <= second_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (begin_line) begin
      line_q <= line_i[pick];
      owner_q <= pick;
    end
  end
  // A line's second row comes out while the next line begins: its owner is kept.
  logic out_owner_q;
  always_ff @(posedge clk_i) begin
    if (second_q) out_owner_q <= owner_q;
  end
  assign row_valid_o[0] = (first_out_q && !owner_q) || (second_out_q && !out_owner_q);
  assign row_valid_o[1] = (first_out_q && owner_q) || (second_out_q && out_owner_q);
  assign row_last_o = second_out_q;

  // ---------------------------------------------------------------------------------------------
  // The halves
  // ---------------------------------------------------------------------------------------------

  logic [511:0] half_row [2];
  for (genvar s = 0; s < 2; s++) begin : gen_half
    logic [511:0] memory [1 << RowWidth];
    logic [511:0] row_q;
    logic [RowWidth-1:0] read_row, write_row;
    logic take, write_q;
    logic [CustomersLog2-1:0] customer_q;
    logic [63:0] price_q;
    logic [127:0] entry;

    assign add_ready_o[s] = !write_q && !reading && !clearing_q;
    assign adding_o[s] = write_q;
    assign take = add_valid_i[s] && add_ready_o[s];
    always_comb begin
      read_row = add_customer_i[s][CustomersLog2-1:2];
      if (begin_line) read_row = {line_i[pick], 1'b0};
      else if (second_q) read_row = {line_q, 1'b1};
    end
    always_ff @(posedge clk_i) begin
      if (take || reading) row_q <= memory[read_row];
    end
    always_ff @(posedge clk_i) begin
      if (!rst_ni) write_q <= 1'b0;
      else write_q <= take;
    end
    always_ff @(posedge clk_i) begin
      if (take) begin
        customer_q <= add_customer_i[s];
        price_q <= add_price_i[s];
      end
    end
    assign entry = {row_q[128*customer_q[1:0]+64+:64] + price_q,
                    row_q[128*customer_q[1:0]+:64] + 64'd1};
    assign write_row = clearing_q ? clear_q : customer_q[CustomersLog2-1:2];
    always_ff @(posedge clk_i) begin
      if (clearing_q || write_q) begin
        for (int unsigned e = 0; e < 4; e++) begin
          if (clearing_q) memory[write_row][128*e+:128] <= '0;
          else if (customer_q[1:0] == 2'(e)) memory[write_row][128*e+:128] <= entry;
        end
      end
    end
    assign half_row[s] = row_q;
  end

  for (genvar w = 0; w < 8; w++) begin : gen_word
    assign row_o[64*w+:64] = half_row[0][64*w+:64] + half_row[1][64*w+:64];
  end

endmodule
