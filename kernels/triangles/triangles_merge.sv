// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Merges the record of one neighbour, which memory has, with the rest of the list that is on the chip: the smaller of the
// two numbers goes, equal ones are a hit and both go, until one side has none.
//
// IndexWidth   bits of a count of list entries
//
// Throughput: a number a cycle, and seven cycles a neighbour. Ordering: neighbours in the order given, as are their first
// rows. Back-pressure: rows are taken when they are there. No deadlock: it waits for rows that have been requested, or whose
// request has room once it takes what is there.

module triangles_merge #(
  parameter int unsigned IndexWidth = 14
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic [57:0]           graph_base_i,   // address / 64
  input  logic [63:0]           graph_words_i,
  input  logic [IndexWidth-1:0] length_i,       // of the list

  // A neighbour: the word of its record, below graph_words_i, and the first entry to merge it with.
  input  logic                  visit_valid_i,
  output logic                  visit_ready_o,
  input  logic [31:0]           visit_at_i,
  input  logic [IndexWidth-1:0] visit_entry_i,
  output logic                  done_o,         // a pulse: it is merged
  output logic                  hit_o,          // a pulse: a number that both have

  // The list: the word of an address is there a cycle later.
  output logic [IndexWidth-1:0] entry_o,
  input  logic [31:0]           entry_i,

  input  logic                  first_valid_i,
  output logic                  first_ready_o,
  input  logic [511:0]          first_i,
  output logic                  rest_ask_o,
  input  logic                  rest_asked_i,
  output logic [57:0]           rest_at_o,
  input  logic                  rest_valid_i,
  output logic                  rest_ready_o,
  input  logic [511:0]          rest_i
);

  typedef enum logic [2:0] {
    StepIdle,
    StepFirst,   // the first row is to come
    StepHeader,  // its count of numbers is to be taken
    StepLimit,   // and held against the end of the graph
    StepRows,    // how many rows follow?
    StepMerge,
    StepDrain    // rows that were requested are to come
  } step_e;

  step_e step_q;
  logic [31:0] at_q, count_q, left_q;
  logic [63:0] behind_q;            // words of the graph behind the record's first
  logic [511:0] row_q;
  logic [3:0] lane_q;               // of the next number in its row
  logic row_used_q;                 // the next number is in the next row
  logic [28:0] to_ask_q;            // rows not yet requested
  logic [57:0] ask_at_q;
  logic [28:0] under_way_q;         // rows requested and not yet taken
  logic number_valid_q;
  logic [31:0] number_q;
  logic [IndexWidth-1:0] entry_q;

  logic merges, rest_taken, refill, equal, entry_less, entry_goes, number_goes, list_ends, numbers_end, ends;

  assign merges = step_q == StepMerge;
  assign list_ends = entry_q == length_i;
  assign numbers_end = left_q == '0 && !number_valid_q;
  assign ends = merges && (list_ends || numbers_end);
  assign equal = entry_i == number_q;
  assign entry_less = entry_i < number_q;
  assign hit_o = merges && !ends && number_valid_q && equal;
  assign entry_goes = merges && !ends && number_valid_q && (equal || entry_less);
  assign number_goes = merges && !ends && number_valid_q && !entry_less;
  assign refill = merges && left_q != '0 && !row_used_q && (!number_valid_q || number_goes);

  assign rest_ask_o = merges && to_ask_q != '0 && !ends;
  assign rest_at_o = ask_at_q;
  assign rest_ready_o = merges && row_used_q && left_q != '0 || step_q == StepDrain;
  assign rest_taken = rest_valid_i && rest_ready_o;
  assign first_ready_o = step_q == StepFirst;
  assign visit_ready_o = step_q == StepIdle;
  assign done_o = step_q == StepDrain && under_way_q == '0;
  assign entry_o = visit_ready_o ? visit_entry_i : entry_q + IndexWidth'(entry_goes);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      step_q <= StepIdle;
      under_way_q <= '0;
    end else begin
      unique case (step_q)
        StepIdle: if (visit_valid_i) step_q <= StepFirst;
        StepFirst: if (first_valid_i) step_q <= StepHeader;
        StepHeader: step_q <= StepLimit;
        StepLimit: step_q <= StepRows;
        StepRows: step_q <= StepMerge;
        StepMerge: if (ends) step_q <= StepDrain;
        default: if (done_o) step_q <= StepIdle;
      endcase
      under_way_q <= under_way_q + 29'(rest_asked_i) - 29'(rest_taken);
    end
  end

  always_ff @(posedge clk_i) begin
    entry_q <= entry_o;
    if (step_q == StepIdle) begin
      at_q <= visit_at_i;
      behind_q <= graph_words_i - 64'd1 - 64'(visit_at_i);
    end
    if (step_q == StepFirst) row_q <= first_i;
    else if (rest_taken) row_q <= rest_i;
    unique case (step_q)
      StepHeader: count_q <= row_q[32*at_q[3:0]+:32];
      StepLimit: left_q <= 64'(count_q) < behind_q ? count_q : behind_q[31:0];
      StepRows: begin
        // The last number is in the word at + left.
        to_ask_q <= 29'((33'(at_q[3:0]) + 33'(left_q)) >> 4);
        ask_at_q <= graph_base_i + 58'(at_q[31:4]) + 58'd1;
        lane_q <= at_q[3:0] + 4'd1;
        row_used_q <= at_q[3:0] == 4'd15;
        number_valid_q <= 1'b0;
      end
      default: begin
        if (refill) begin
          number_q <= row_q[32*lane_q+:32];
          left_q <= left_q - 32'd1;
          lane_q <= lane_q + 4'd1;
        end
        if (rest_taken) row_used_q <= 1'b0;
        else if (refill) row_used_q <= lane_q == 4'd15;
        if (refill) number_valid_q <= 1'b1;
        else if (number_goes) number_valid_q <= 1'b0;
        if (rest_asked_i) begin
          to_ask_q <= to_ask_q - 29'd1;
          ask_at_q <= ask_at_q + 58'd1;
        end
      end
    endcase
  end

endmodule
