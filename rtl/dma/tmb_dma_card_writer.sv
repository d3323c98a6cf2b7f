// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The DMA engine's one writer at the fabric, shared by CopyIn and Zero.
//
// Copies come first, but bounded: while both ask, Zero has one burst in CopyShare + 1. A copy comes
// over the link, whose time is dear; zeroes cost nothing to make, and would else take half of a slow
// memory from the copies. Each source's rows follow in the order in which its requests were taken,
// without a bubble between bursts. The top bit of a tag names its source.
//
// CopyShare   bursts of CopyIn in a row while Zero waits
//
// Throughput: one request and one row a cycle. Latency: request 1 cycle, rows 0 (they come from
// registers). Back-pressure: a request is taken only while its turn can be queued.
// No deadlock: a source asks only with all rows ready, so the one whose turn it is always streams.

module tmb_dma_card_writer import tmb_pkg::*; import tmb_dma_pkg::*; #(
  parameter int unsigned CopyShare = 4,
  localparam int unsigned NumSources = 2
) (
  input  logic            clk_i,
  input  logic            rst_ni,

  input  logic            source_req_valid_i [NumSources],
  output logic            source_req_ready_o [NumSources],
  input  card_req_t       source_req_i [NumSources],
  input  logic            source_data_valid_i [NumSources],
  output logic            source_data_ready_o [NumSources],
  input  mem_write_data_t source_data_i [NumSources],
  output logic            source_rsp_valid_o [NumSources],
  output mem_write_rsp_t  source_rsp_o,

  output logic            write_req_valid_o,
  input  logic            write_req_ready_i,
  output card_req_t       write_req_o,
  output logic            write_data_valid_o,
  input  logic            write_data_ready_i,
  output mem_write_data_t write_data_o,
  input  logic            write_rsp_valid_i,
  output logic            write_rsp_ready_o,
  input  mem_write_rsp_t  write_rsp_i
);

  localparam int unsigned SourceBit = MemTagWidth - 1;

  // Bursts whose rows are still to be sent.
  localparam int unsigned TurnDepth = 4;

  logic any, accept, turn_ready, request_ready, winner;
  logic [NumSources-1:0] grant;
  card_req_t won;

  tmb_arbiter #(
    .NumRequests(NumSources),
    .Cfg('{Policy: ArbiterPreferred, Preferred: 0, Share: CopyShare})
  ) u_arbiter (
    .clk_i,
    .rst_ni,
    .request_i({source_req_valid_i[1], source_req_valid_i[0]}),
    .accept_i(accept),
    .valid_o(any),
    .grant_o(grant),
    .index_o(winner)
  );

  assign accept = turn_ready && request_ready;
  for (genvar s = 0; s < NumSources; s++) begin : gen_source
    assign source_req_ready_o[s] = accept && grant[s];
    assign source_rsp_valid_o[s] = write_rsp_valid_i && write_rsp_i.tag[SourceBit] == 1'(s);
  end
  assign source_rsp_o = write_rsp_i;
  assign write_rsp_ready_o = 1'b1;

  always_comb begin
    won = source_req_i[winner];
    won.req.tag[SourceBit] = winner;
  end

  tmb_spill_register #(
    .T(card_req_t)
  ) u_request (
    .clk_i,
    .rst_ni,
    .in_valid_i(any && turn_ready),
    .in_ready_o(request_ready),
    .in_data_i(won),
    .out_valid_o(write_req_valid_o),
    .out_ready_i(write_req_ready_i),
    .out_data_o(write_req_o)
  );

  logic turn_valid, turn;

  tmb_fifo #(
    .T(logic),
    .Depth(TurnDepth)
  ) u_turn (
    .clk_i,
    .rst_ni,
    .in_valid_i(any && accept),
    .in_ready_o(turn_ready),
    .in_data_i(winner),
    .out_valid_o(turn_valid),
    .out_ready_i(write_data_valid_o && write_data_ready_i && write_data_o.last),
    .out_data_o(turn)
  );

  assign write_data_valid_o = turn_valid && source_data_valid_i[turn];
  assign write_data_o = source_data_i[turn];
  assign source_data_ready_o[0] = write_data_ready_i && turn_valid && !turn;
  assign source_data_ready_o[1] = write_data_ready_i && turn_valid && turn;

endmodule
