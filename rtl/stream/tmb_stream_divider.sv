// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// One AXI4-Stream into several, packet by packet. It stands in the slot, between the one stream into the slot and
// the ports of a kernel that share it.
//
// NumPorts   streams that leave, at least 2
// Bytes      width of all of them
// InTurn     1: packet n goes to port n modulo NumPorts, and waits for it. 0: it goes to the next port, in the
//            round, that has room for a beat; so a port that takes nothing delays one packet, not all.
//
// A packet goes to one port as a whole. An empty beat with TLAST is a packet.
//
// Throughput: a beat a cycle, also from packet to packet. Latency: one cycle. Ordering: packets of a port in order.
// Back-pressure: in_ready_o depends on registers only. No deadlock: it waits for its neighbours only.
//
// Source: vFPIO section 4.2 (stream divider; the paper names no packet rule).

`include "tmb_assert.svh"

module tmb_stream_divider #(
  parameter int unsigned NumPorts = 2,
  parameter int unsigned Bytes = 64,
  parameter bit InTurn = 1'b1
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  logic                             in_valid_i,
  output logic                             in_ready_o,
  input  logic [8*Bytes-1:0]               in_data_i,
  input  logic [Bytes-1:0]                 in_keep_i,
  input  logic                             in_last_i,
  output logic [NumPorts-1:0]              out_valid_o,
  input  logic [NumPorts-1:0]              out_ready_i,
  output logic [NumPorts-1:0][8*Bytes-1:0] out_data_o,
  output logic [NumPorts-1:0][Bytes-1:0]   out_keep_o,
  output logic [NumPorts-1:0]              out_last_o
);

  localparam int unsigned IndexWidth = NumPorts > 1 ? $clog2(NumPorts) : 1;
  typedef logic [IndexWidth-1:0] index_t;
  typedef struct packed {
    logic               last;
    logic [Bytes-1:0]   keep;
    logic [8*Bytes-1:0] data;
  } beat_t;

  index_t chosen;
  logic take;
  logic [NumPorts-1:0] room;
  beat_t beat;

  tmb_stream_turn #(
    .NumPorts(NumPorts),
    .InTurn(InTurn)
  ) u_turn (
    .clk_i,
    .rst_ni,
    .able_i(room),
    .take_i(take),
    .last_i(in_last_i),
    .chosen_o(chosen)
  );

  assign in_ready_o = room[chosen];
  assign take = in_valid_i && in_ready_o;
  assign beat = '{last: in_last_i, keep: in_keep_i, data: in_data_i};

  for (genvar p = 0; p < NumPorts; p++) begin : gen_ports
    beat_t out;
    tmb_spill_register #(
      .T(beat_t)
    ) u_out (
      .clk_i,
      .rst_ni,
      .in_valid_i(in_valid_i && chosen == index_t'(p)),
      .in_ready_o(room[p]),
      .in_data_i(beat),
      .out_valid_o(out_valid_o[p]),
      .out_ready_i(out_ready_i[p]),
      .out_data_o(out)
    );
    assign {out_last_o[p], out_keep_o[p], out_data_o[p]} = out;

    `TMB_ASSERT_STABLE(OutputHeld, out_valid_o[p], out_ready_i[p],
        {out_keep_o[p], out_last_o[p], out_data_o[p]})
  end

  `TMB_ASSERT_INIT(SeveralPorts, NumPorts >= 2 && Bytes >= 1)

endmodule
