// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Whose packet it is, among streams that share one: the rule of tmb_stream_combiner and tmb_stream_divider.
//
// NumPorts   streams that share one, at least 2
// InTurn     1: packet n is that of port n modulo NumPorts. 0: the next packet is that of the next port, in the
//            round, that is able.
//
// A packet stays with its port: between its first beat and its last chosen_o does not change.
//
// Throughput: a beat a cycle. Latency: combinational from able_i; state changes with take_i only. No deadlock: it waits
// for nothing.

`include "tmb_assert.svh"

module tmb_stream_turn #(
  parameter int unsigned NumPorts = 2,
  parameter bit InTurn = 1'b1,
  localparam int unsigned IndexWidth = NumPorts > 1 ? $clog2(NumPorts) : 1
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic [NumPorts-1:0]   able_i,   // it has a beat, or room for one
  input  logic                  take_i,   // a beat of the port that is chosen is taken
  input  logic                  last_i,   // it ends its packet
  output logic [IndexWidth-1:0] chosen_o  // the port whose beat may be taken
);

  typedef logic [IndexWidth-1:0] index_t;

  // The port of the packet under way, or the one that is first to have the next.
  index_t turn_q;
  logic in_packet_q;

  always_comb begin
    chosen_o = turn_q;
    if (!InTurn && !in_packet_q) begin
      // The nearest one after the last in the round; later assignments are nearer.
      for (int unsigned i = NumPorts; i > 0; i--) begin
        if (able_i[index_t'((32'(turn_q) + i - 1) % NumPorts)]) begin
          chosen_o = index_t'((32'(turn_q) + i - 1) % NumPorts);
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      turn_q <= '0;
      in_packet_q <= 1'b0;
    end else if (take_i) begin
      in_packet_q <= !last_i;
      turn_q <= chosen_o;
      if (last_i) turn_q <= chosen_o == index_t'(NumPorts - 1) ? '0 : chosen_o + 1'b1;
    end
  end

  if (InTurn) begin : gen_in_turn
    logic unused_ok;
    assign unused_ok = &{1'b0, able_i, in_packet_q};
  end

  `TMB_ASSERT_INIT(SeveralPorts, NumPorts >= 2)

endmodule
