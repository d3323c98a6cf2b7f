// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// State of a snapshot's readers: the version that each one reads, the lines of it that the CPU may have,
// those that differ in the current version, and which of these are to be called home.
//
// A line that the CPU has and that differs is called home at once, whether its reader begins again or not: a reader
// of the version before gets that line of that version again. So when a reader begins, only what
// it asked for again meanwhile is left to call. In the time of one beginning, a line is called once: a reader that
// goes on asking for other lines while it begins cannot make itself wait for ever.
//
// Readers    at most 8
// Versions   places of a whole version
//
// Throughput: a line is called home a cycle, one reader after the other. Latency: a cycle for each reader.
// Ordering: none between lines. No deadlock: nothing here waits but ready_o, for acknowledgements of lines that the
// kernel answers without waiting.

module snapshot_readers #(
  parameter int unsigned Readers = 8,
  parameter int unsigned Versions = 10,
  localparam int unsigned ReaderWidth = $clog2(Readers),
  localparam int unsigned VersionWidth = $clog2(Versions)
) (
  input  logic                                 clk_i,
  input  logic                                 rst_ni,

  // A read of the CPU: the first line of a reader waits until it begins, any other one is answered.
  input  logic                                 read_i,
  input  logic                                 read_waits_i,
  input  logic [ReaderWidth-1:0]               read_reader_i,
  input  logic [4:0]                           read_line_i,
  // A reader begins: it reads the current version from now on.
  input  logic                                 begin_i,
  input  logic [ReaderWidth-1:0]               begin_reader_i,
  input  logic [VersionWidth-1:0]              current_i,
  // Another version becomes the current one, which differs in these lines.
  input  logic                                 switch_i,
  input  logic [31:0]                          changed_i,
  // The CPU has no first line of these readers any more.
  input  logic [Readers-1:0]                   gone_i,

  output logic [Readers-1:0]                   waits_o,    // for its beginning
  output logic [Readers-1:0]                   ready_o,    // waits, and has no line that differs
  output logic [Readers-1:0]                   first_o,    // the CPU may have its first line
  output logic [Readers-1:0][VersionWidth-1:0] version_o,  // that it reads

  // Lines to call home.
  output logic                                 recall_valid_o,
  input  logic                                 recall_ready_i,
  output logic [ReaderWidth-1:0]               recall_reader_o,
  output logic [4:0]                           recall_line_o,
  input  logic                                 recalled_i,
  input  logic [ReaderWidth-1:0]               recalled_reader_i
);

  localparam int unsigned Lines = 32;
  typedef logic [ReaderWidth-1:0] reader_t;

  logic [Readers-1:0][Lines-1:0] has_q, differs_q, asked_q, left;
  logic [Readers-1:0][5:0] under_way_q;
  logic [Readers-1:0] waits_q;
  logic [Readers-1:0][VersionWidth-1:0] version_q;
  reader_t turn_q;
  logic recall;

  always_comb begin
    for (int unsigned r = 0; r < Readers; r++) begin
      // The first line goes by a lock, when a version becomes the current one.
      left[r] = has_q[r] & differs_q[r] & ~asked_q[r] & ~Lines'(1);
      ready_o[r] = waits_q[r] && under_way_q[r] == '0 && left[r] == '0;
      first_o[r] = has_q[r][0];
    end
  end
  assign waits_o = waits_q;
  assign version_o = version_q;

  // Whose turn it is calls all its lines.
  assign recall_valid_o = left[turn_q] != '0;
  assign recall_reader_o = turn_q;
  assign recall = recall_valid_o && recall_ready_i;
  always_comb begin
    recall_line_o = '0;
    for (int unsigned l = Lines; l > 0; l--) begin
      if (left[turn_q][l-1]) recall_line_o = 5'(l - 1);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      turn_q <= '0;
      waits_q <= '0;
      for (int unsigned r = 0; r < Readers; r++) begin
        has_q[r] <= '0;
        differs_q[r] <= '0;
        asked_q[r] <= '0;
        under_way_q[r] <= '0;
        version_q[r] <= '0;
      end
    end else begin
      if (!recall_valid_o) turn_q <= 32'(turn_q) == Readers - 1 ? '0 : turn_q + 1'b1;
      for (int unsigned r = 0; r < Readers; r++) begin
        logic up, down;
        up = recall && turn_q == reader_t'(r);
        down = recalled_i && recalled_reader_i == reader_t'(r);
        under_way_q[r] <= under_way_q[r] + 6'(up) - 6'(down);
        if (switch_i) differs_q[r] <= differs_q[r] | changed_i;
        if (gone_i[r]) has_q[r][0] <= 1'b0;
      end
      if (recall) begin
        asked_q[turn_q][recall_line_o] <= 1'b1;
        has_q[turn_q][recall_line_o] <= 1'b0;
      end
      // After the recall: a line that is asked for in its cycle is there again.
      if (read_i) has_q[read_reader_i][read_line_i] <= !read_waits_i;
      if (read_i && read_waits_i) begin
        waits_q[read_reader_i] <= 1'b1;
        asked_q[read_reader_i] <= '0;
      end
      if (begin_i) begin
        waits_q[begin_reader_i] <= 1'b0;
        asked_q[begin_reader_i] <= '0;
        version_q[begin_reader_i] <= current_i;
        has_q[begin_reader_i][0] <= 1'b1;
        // Lines that it asked for while it began, against the rule, are old and stay to be called.
        differs_q[begin_reader_i] <= differs_q[begin_reader_i] & has_q[begin_reader_i] & ~Lines'(1);
      end
    end
  end

endmodule
