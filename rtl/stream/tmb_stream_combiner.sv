// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Several AXI4-Streams into one, packet by packet. It stands in the slot, between ports of a kernel and the one
// stream out of the slot that they share.
//
// NumPorts   streams that come, at least 2
// Bytes      width of all of them
// InTurn     1: packet n comes from port n modulo NumPorts, and the combiner waits for it: what a divider in turn
//            has taken apart comes together in its order. 0: round robin among the ports that have a packet.
//
// A packet is never mixed with another one: once its first beat was taken, the others follow. So a packet without
// end keeps all others away. An empty beat with TLAST is a packet. The port that a packet came from is not reported.
//
// Throughput: a beat a cycle, also from packet to packet. Latency: one cycle. Ordering: packets of a port in order.
// Back-pressure: in_ready_o depends on registers and in_valid_i only. No deadlock: it waits for its neighbours only.
//
// Source: vFPIO section 4.2 (stream combiner; the paper names no packet rule).

`include "tmb_assert.svh"

module tmb_stream_combiner #(
  parameter int unsigned NumPorts = 2,
  parameter int unsigned Bytes = 64,
  parameter bit InTurn = 1'b1
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  logic [NumPorts-1:0]              in_valid_i,
  output logic [NumPorts-1:0]              in_ready_o,
  input  logic [NumPorts-1:0][8*Bytes-1:0] in_data_i,
  input  logic [NumPorts-1:0][Bytes-1:0]   in_keep_i,
  input  logic [NumPorts-1:0]              in_last_i,
  output logic                             out_valid_o,
  input  logic                             out_ready_i,
  output logic [8*Bytes-1:0]               out_data_o,
  output logic [Bytes-1:0]                 out_keep_o,
  output logic                             out_last_o
);

  localparam int unsigned IndexWidth = NumPorts > 1 ? $clog2(NumPorts) : 1;
  typedef logic [IndexWidth-1:0] index_t;
  typedef struct packed {
    logic               last;
    logic [Bytes-1:0]   keep;
    logic [8*Bytes-1:0] data;
  } beat_t;

  index_t chosen;
  logic ready, take;
  beat_t beat, out;

  tmb_stream_turn #(
    .NumPorts(NumPorts),
    .InTurn(InTurn)
  ) u_turn (
    .clk_i,
    .rst_ni,
    .able_i(in_valid_i),
    .take_i(take),
    .last_i(beat.last),
    .chosen_o(chosen)
  );

  always_comb begin
    in_ready_o = '0;
    in_ready_o[chosen] = ready;
  end
  assign take = in_valid_i[chosen] && ready;
  assign beat = '{last: in_last_i[chosen], keep: in_keep_i[chosen], data: in_data_i[chosen]};

  tmb_spill_register #(
    .T(beat_t)
  ) u_out (
    .clk_i,
    .rst_ni,
    .in_valid_i(in_valid_i[chosen]),
    .in_ready_o(ready),
    .in_data_i(beat),
    .out_valid_o,
    .out_ready_i,
    .out_data_o(out)
  );
  assign {out_last_o, out_keep_o, out_data_o} = out;

  `TMB_ASSERT_INIT(SeveralPorts, NumPorts >= 2 && Bytes >= 1)
  `TMB_ASSERT_STABLE(OutputHeld, out_valid_o, out_ready_i, {out_keep_o, out_last_o, out_data_o})

endmodule
