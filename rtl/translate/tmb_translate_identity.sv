// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The identity translator: a virtual address is a card address. No table, no faults; an address
// beyond the card's memory gets an error response. Table commands are refused. Fits the socket of
// tmb_translate_paged; it is the baseline with physical addresses.
//
// Throughput: one translation a cycle and requester. Latency: 1 cycle. Ordering: in order.
// Back-pressure: none. No deadlock: nothing waits, except the answer to a command.

module tmb_translate_identity
  import tmb_pkg::*;
  import tmb_translate_pkg::*;
#(
  parameter int unsigned NumRequesters = 2,
  parameter longint unsigned MemoryBytes = 64'd1 << 35
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  // parks
  input  logic    lookup_valid_i [NumRequesters],
  output logic    lookup_ready_o [NumRequesters],
  input  lookup_t lookup_i [NumRequesters],
  output logic    result_valid_o [NumRequesters],
  output result_t result_o [NumRequesters],
  // table commands
  input  logic       table_cmd_valid_i,
  output logic       table_cmd_ready_o,
  output logic       table_rsp_valid_o,
  input  logic       table_rsp_ready_i,
  output table_rsp_t table_rsp_o
);

  localparam longint unsigned MemoryBlocks = MemoryBytes >> MinPageBits;

  for (genvar s = 0; s < NumRequesters; s++) begin : gen_requester
    logic valid_q;
    result_t result_d, result_q;

    assign lookup_ready_o[s] = 1'b1;
    assign result_d = '{
        index: lookup_i[s].token.index,
        block: lookup_i[s].block,
        source: SourceLookup,
        outcome: (64'(lookup_i[s].block) < MemoryBlocks) ? OutcomeReady : OutcomeError,
        cause: FaultAbsent,
        frame: frame_t'(lookup_i[s].block)
    };

    always_ff @(posedge clk_i) begin
      if (!rst_ni) valid_q <= 1'b0;
      else valid_q <= lookup_valid_i[s];
    end
    always_ff @(posedge clk_i) begin
      if (lookup_valid_i[s]) result_q <= result_d;
    end

    assign result_valid_o[s] = valid_q;
    assign result_o[s] = result_q;

    logic unused_ok;
    assign unused_ok = &{1'b0, lookup_i[s]};
  end

  logic answer_valid_q;
  assign table_cmd_ready_o = !answer_valid_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) answer_valid_q <= 1'b0;
    else if (table_cmd_ready_o) answer_valid_q <= table_cmd_valid_i;
    else if (table_rsp_ready_i) answer_valid_q <= 1'b0;
  end
  assign table_rsp_valid_o = answer_valid_q;
  assign table_rsp_o = '{status: TableRefused, accessed: 1'b0, dirty: 1'b0};

endmodule
