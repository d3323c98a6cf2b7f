// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The versions of a snapshot's record: their memory, and what makes the next one of the current one, in a place that
// has no reader. With two places more than there are readers one is always free: making never waits for a reader.
//
// Versions   places of a whole version
//
// Throughput: a version every 67 cycles; a row read a cycle concurrently. Latency: a row comes one cycle after read_i.
// Ordering: a version is current from the cycle after switch_i on. After a reset the record is zeroes, and ready_o is
// low until it is. No deadlock: it waits for switch_i alone.

module snapshot_versions #(
  parameter int unsigned Versions = 10,
  localparam int unsigned VersionWidth = $clog2(Versions)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,

  input  logic                    start_i,     // a run begins
  input  logic [31:0]             versions_i,  // of the run
  input  logic [31:0]             pace_i,      // cycles between two of them
  input  logic [31:0]             changes_i,   // lines that each changes, beside the first one
  output logic                    ended_o,     // the last one is current
  output logic                    ready_o,

  input  logic [Versions-1:0]     in_use_i,    // places that are read
  output logic [VersionWidth-1:0] current_o,
  output logic                    made_o,      // the next version is whole
  output logic [31:0]             changed_o,   // the lines in which it differs from the current one
  input  logic                    switch_i,    // it becomes the current one

  input  logic                    read_i,
  input  logic [VersionWidth-1:0] read_version_i,
  input  logic [5:0]              read_row_i,
  output logic [511:0]            row_o        // stays until the next read
);

  typedef logic [VersionWidth-1:0] version_t;
  localparam int unsigned RowsLog2 = 6;
  typedef logic [RowsLog2-1:0] row_t;

  typedef enum logic [1:0] {
    StClear,  // zeroes to place 0
    StIdle,
    StRows,   // the rows of the next version
    StMade
  } state_e;

  state_e state_q, state_d;
  version_t current_q, target_q, free;
  logic [RowsLog2:0] row_q;  // one more than a row: all are read
  row_t write_row_q;
  logic write_q, begins, last_written;
  logic [31:0] left_q, pause_q, changed_q;
  logic [47:0] number_q;

  assign begins = state_q == StIdle && left_q != '0 && pause_q == '0;
  assign last_written = write_q && write_row_q == '1;
  assign made_o = state_q == StMade;
  assign changed_o = changed_q;
  assign current_o = current_q;
  assign ended_o = left_q == '0;
  assign ready_o = state_q != StClear;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StClear: if (row_q[RowsLog2-1:0] == '1) state_d = StIdle;
      StIdle: if (begins) state_d = StRows;
      StRows: if (last_written) state_d = StMade;
      default: if (switch_i) state_d = StIdle;
    endcase
  end
  always_comb begin
    free = '0;
    for (int unsigned v = Versions; v > 0; v--) begin
      if (!in_use_i[v-1]) free = version_t'(v - 1);
    end
  end

  logic reading, row_changed;
  logic [511:0] old_q, made_row;
  assign reading = state_q == StRows && !row_q[RowsLog2];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StClear;
      row_q <= '0;
      write_q <= 1'b0;
      current_q <= '0;
      left_q <= '0;
      pause_q <= '0;
      number_q <= 48'd1;
    end else begin
      state_q <= state_d;
      write_q <= reading;
      if (state_d == StIdle) row_q <= '0;
      else if (state_q == StClear || reading) row_q <= row_q + 1'b1;
      if (start_i) left_q <= versions_i;
      else if (switch_i) left_q <= left_q - 1'b1;
      if (switch_i) pause_q <= pace_i;
      else if (pause_q != '0) pause_q <= pause_q - 1'b1;
      if (switch_i) begin
        current_q <= target_q;
        number_q <= number_q + 48'd1;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    write_row_q <= row_q[RowsLog2-1:0];
    if (begins) target_q <= free;
    if (begins) changed_q <= '0;
    else if (write_q && row_changed) changed_q[write_row_q[RowsLog2-1:1]] <= 1'b1;
  end

  snapshot_source u_source (
    .clk_i,
    .rst_ni,
    .changes_i,
    .made_i(switch_i),
    .number_i(number_q),
    .row_i(write_row_q),
    .old_i(old_q),
    .new_o(made_row),
    .changed_o(row_changed)
  );

  logic [511:0] memory [Versions << RowsLog2];
  logic [511:0] answer_q, data;
  logic write;
  logic [VersionWidth+RowsLog2-1:0] write_row;
  assign write = write_q || state_q == StClear;
  assign write_row = state_q == StClear ? {version_t'(0), row_q[RowsLog2-1:0]} : {target_q, write_row_q};
  assign data = state_q == StClear ? '0 : made_row;
  assign row_o = answer_q;

  initial begin
    for (int unsigned i = 0; i < (Versions << RowsLog2); i++) memory[i] = '0;
  end
  always_ff @(posedge clk_i) begin
    if (reading) old_q <= memory[{current_q, row_q[RowsLog2-1:0]}];
  end
  always_ff @(posedge clk_i) begin
    if (read_i) answer_q <= memory[{read_version_i, read_row_i}];
  end
  always_ff @(posedge clk_i) begin
    if (write) memory[write_row] <= data;
  end

endmodule
