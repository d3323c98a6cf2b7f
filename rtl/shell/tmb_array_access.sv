// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// An access to an array of register groups: which element and which word of it, what a write makes
// of the word, and the answer. The owner of the array multiplexes its words and keeps its state.
//
// NumElements   elements that exist; the others read as zero and ignore writes
// StrideLog2    log2 of the bytes of an element's group
//
// Throughput: an access a cycle. Latency: one cycle. Ordering: in order. No deadlock: waits for nothing.
// Nothing moves without an access.

module tmb_array_access import tmb_shell_pkg::*; #(
  parameter int unsigned NumElements = 1,
  parameter int unsigned StrideLog2 = 5,
  localparam int unsigned IndexWidth = NumElements > 1 ? $clog2(NumElements) : 1
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  array_req_t req_i,
  output array_rsp_t rsp_o,

  output logic [IndexWidth-1:0] index_o,
  output logic [31:0]           offset_o,   // of the word in its group, in bytes
  input  logic [31:0]           word_i,     // that word, as the host sees it
  output logic [31:0]           written_o,  // with the written bits replaced
  output logic                  write_o     // in this cycle it becomes so
);

  logic [12:0] number;
  logic exists;
  array_rsp_t rsp_q;

  assign number = req_i.addr >> StrideLog2;
  assign exists = 32'(number) < NumElements;
  assign index_o = IndexWidth'(number);
  assign offset_o = 32'(req_i.addr[StrideLog2-1:0]);
  assign written_o = (word_i & ~req_i.mask) | (req_i.data & req_i.mask);
  assign write_o = req_i.valid && req_i.write && exists;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      rsp_q <= '0;
    end else begin
      rsp_q.read_ack <= req_i.valid && !req_i.write;
      rsp_q.write_ack <= req_i.valid && req_i.write;
      if (req_i.valid) rsp_q.data <= exists ? word_i : '0;
    end
  end

  assign rsp_o = rsp_q;

endmodule
