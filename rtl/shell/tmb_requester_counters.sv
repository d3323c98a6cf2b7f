// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Counters of the requesters: what is behind REQUESTERS of tmb_shell.rdl.
//
// NumRequesters   requesters that exist; the others read as zero
//
// 32-bit, wrapping, read only; one adds 1 for each pulse of its event. Events are in the order of
// the registers. State changes only when something is counted.
//
// Throughput: an access a cycle. Latency: one cycle. Ordering: in order. No deadlock: waits for nothing.

`include "tmb_assert.svh"

module tmb_requester_counters import tmb_pkg::*; import tmb_shell_pkg::*;
  import tmb_register_map_pkg::*; #(
  parameter int unsigned NumRequesters = 4
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  array_req_t   req_i,
  output array_rsp_t   rsp_o,
  input  port_events_t events_i [NumRequesters]
);

  localparam int unsigned RequesterWidth = NumRequesters > 1 ? $clog2(NumRequesters) : 1;
  localparam int unsigned StrideLog2 = $clog2(RequesterStride);
  localparam int unsigned NumWords = $bits(port_events_t);

  logic [31:0] count_q [NumRequesters][NumWords];

  for (genvar s = 0; s < NumRequesters; s++) begin : gen_requester
    logic [NumWords-1:0] pulse;
    assign pulse = events_i[s];

    for (genvar w = 0; w < NumWords; w++) begin : gen_word
      always_ff @(posedge clk_i) begin
        if (!rst_ni) count_q[s][w] <= '0;
        else if (pulse[w]) count_q[s][w] <= count_q[s][w] + 1'b1;
      end
    end
  end

  logic [12:0] number;
  logic [StrideLog2-3:0] word;
  logic exists;

  assign number = req_i.addr >> StrideLog2;
  assign word = req_i.addr[StrideLog2-1:2];
  assign exists = 32'(number) < NumRequesters && 32'(word) < NumWords;

  array_rsp_t rsp_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      rsp_q <= '0;
    end else begin
      rsp_q.read_ack <= req_i.valid && !req_i.write;
      rsp_q.write_ack <= req_i.valid && req_i.write;
      if (req_i.valid) rsp_q.data <= exists ? count_q[RequesterWidth'(number)][word] : '0;
    end
  end

  assign rsp_o = rsp_q;

  `TMB_ASSERT_INIT(EventsAreRegisters, NumWords == RequesterRegisters)

  logic unused_ok;
  assign unused_ok = &{1'b0, req_i.addr[1:0], req_i.data, req_i.mask};

endmodule
