// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Content of the versions of a snapshot's record: put your own source here. Row by row, it makes a version of the one
// before, and marks the rows that it changes. The first line changes always.
//
// This one writes its number, times 65536, plus the word's place into each word of the lines that it changes:
// the first line and `changes_i` of the other 31, from where the version before stopped.
//
// Throughput: a row a cycle. Latency: none.

module snapshot_source (
  input  logic         clk_i,
  input  logic         rst_ni,

  input  logic [31:0]  changes_i,  // lines beside the first one: 0 to 31
  input  logic         made_i,     // the version is whole, the next one may begin
  input  logic [47:0]  number_i,   // of the version
  input  logic [5:0]   row_i,
  input  logic [511:0] old_i,      // the row in the version before
  output logic [511:0] new_o,
  output logic         changed_o
);

  localparam logic [5:0] Others = 6'd31;

  // The first line that this version changes; how far behind it the row's line is.
  logic [4:0] first_q, line;
  logic [5:0] other, distance, next;
  assign line = row_i[5:1];
  assign other = {1'b0, line} - 6'd1;
  assign distance = other >= {1'b0, first_q} ? other - 6'(first_q) : other + Others - 6'(first_q);
  assign changed_o = line == '0 || 32'(distance) < changes_i;

  assign next = 6'(first_q) + 6'(changes_i[4:0]);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) first_q <= '0;
    else if (made_i) first_q <= 5'(next >= Others ? next - Others : next);
  end

  always_comb begin
    new_o = old_i;
    if (changed_o) begin
      for (int unsigned w = 0; w < 8; w++) new_o[64*w+:64] = {number_i, 7'b0, row_i, 3'(w)};
    end
  end

endmodule
