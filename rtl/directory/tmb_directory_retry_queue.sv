// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Queue of what may have to try again: requests and operations of one unit.
//
// An entry that is taken is either retired (retire_i) or comes back (again_i, with its data), in the
// order of taking. Entries that came back are tried again only after wake_i or a new entry, each once,
// so a queue that waits does not toggle. Between taking and outcome the entry keeps its place.
//
// Depth   entries, those under way included
//
// Throughput: one in and one out a cycle. Latency: one cycle. Ordering: none (the link keeps none).
// Back-pressure: in_ready_o, a register, falls while the outcome of an entry is due, which may come
// back, and the cycle after all places were taken. in_valid_i rises only while it is high: the sender has
// checked already, and a second check would be a level of the longest path. The unit never has more than Depth
// entries in the queue; should it, one more is accepted and takes the place of another.
// No deadlock: an entry that comes back always has its place.

`include "tmb_assert.svh"

module tmb_directory_retry_queue #(
  parameter type T = logic,
  parameter int unsigned Depth = 8
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic in_valid_i,
  output logic in_ready_o,
  input  T     in_data_i,
  output logic out_valid_o,
  input  logic out_take_i,
  output T     out_data_o,
  input  logic outcome_i,    // retire_i or again_i comes in the next cycle
  input  logic retire_i,
  input  logic again_i,
  input  T     again_data_i,
  input  logic wake_i,
  output logic empty_o       // nothing here and nothing under way
);

  localparam int unsigned IndexWidth = $clog2(Depth);
  localparam int unsigned CountWidth = $clog2(Depth + 1);
  typedef logic [IndexWidth-1:0] index_t;
  typedef logic [CountWidth-1:0] count_t;

  T mem_q [Depth];
  index_t write_q, read_q;
  logic waits_q;              // something is in the memory
  count_t places_q, places_d; // and under way
  count_t tries_q, tries_d;   // entries to try

  logic ready_q, outcome_q, push, store;
  assign in_ready_o = ready_q;
  assign push = in_valid_i;
  assign store = push || again_i;

  // An entry arrives late in the cycle: it only chooses between sums. (A count of what is in the
  // memory would not stay one: synthesis makes one adder behind the choice of the two.)
  index_t read_next;
  count_t places_less, places_more;
  count_t tries_less, tries_waiting;
  logic waits_less;
  assign read_next = read_q + 1'b1;
  assign waits_less = out_take_i ? write_q != read_next : waits_q;
  assign places_less = places_q - count_t'(retire_i);
  assign places_more = retire_i ? places_q : places_q + 1'b1;
  assign places_d = push ? places_more : places_less;
  assign tries_less = tries_q - count_t'(out_take_i);
  assign tries_waiting = wake_i ? places_less : tries_less;
  // A new entry is behind those that wait: to reach it, all are tried.
  assign tries_d = push ? places_more : tries_waiting;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q <= '0;
      read_q <= '0;
      waits_q <= 1'b0;
      places_q <= '0;
      tries_q <= '0;
      ready_q <= 1'b0;
      outcome_q <= 1'b0;
    end else begin
      if (store) write_q <= write_q + 1'b1;
      if (out_take_i) read_q <= read_next;
      waits_q <= store || waits_less;
      places_q <= places_d;
      tries_q <= tries_d;
      ready_q <= places_q < count_t'(Depth) && !outcome_i;
      outcome_q <= outcome_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (store) mem_q[write_q] <= again_i ? again_data_i : in_data_i;
  end

  assign out_valid_o = waits_q && tries_q != '0;
  assign out_data_o = mem_q[read_q];
  assign empty_o = places_q == '0;

  `TMB_ASSERT_INIT(DepthIsPowerOfTwo, Depth >= 2 && (Depth & (Depth - 1)) == 0)
  `TMB_ASSERT(OffersWhatFits, !in_valid_i || in_ready_o)
  `TMB_ASSERT(TakesWhatIsThere, !out_take_i || out_valid_o)
  `TMB_ASSERT(OutcomeAsAnnounced, outcome_q == (retire_i || again_i))
  `TMB_ASSERT(OneOutcome, !(retire_i && again_i))
  `TMB_ASSERT(EntriesFit, places_q <= count_t'(Depth))
  `TMB_ASSERT(EveryEntryHasAPlace, !waits_q || places_q != '0)
  `TMB_ASSERT(IndicesAgree, waits_q || write_q == read_q)
  `TMB_ASSERT(TriesInRange, tries_q <= count_t'(Depth))

endmodule
