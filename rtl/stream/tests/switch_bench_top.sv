// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The stream switch of four pairs, each in a slot of its own, with flat pins for switch_bench.cpp. A beat
// has 64 bits of data here: the switch does not look at them.

module switch_bench_top
  import tmb_pkg::*;
  import tmb_stream_pkg::*;
#(
  parameter int unsigned IdWidth = 0,
  localparam int unsigned Pairs = 4,
  localparam int unsigned IdBits = IdWidth == 0 ? 1 : IdWidth
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        reset_i [Pairs],
  input  logic        from_port_i [Pairs],
  input  logic [7:0]  from_pair_i [Pairs],
  input  logic        forget_i [Pairs],
  output logic        from_port_o [Pairs],
  output logic [7:0]  from_pair_o [Pairs],
  output logic        pending_o [Pairs],
  output logic        broken_o [Pairs],
  input  logic        begin_i [Pairs],
  output logic        waits_o [Pairs],

  // Senders: the movers into the kernels, then the outgoing ports.
  input  logic        send_valid_i [2*Pairs],
  output logic        send_ready_o [2*Pairs],
  input  logic [63:0] send_data_i [2*Pairs],
  input  logic [63:0] send_keep_i [2*Pairs],
  input  logic        send_last_i [2*Pairs],
  input  logic [31:0] send_id_i [2*Pairs],       // of the outgoing ports
  // Receivers: the incoming ports, then the movers out of the kernels.
  output logic        take_valid_o [2*Pairs],
  input  logic        take_ready_i [2*Pairs],
  output logic [63:0] take_data_o [2*Pairs],
  output logic [63:0] take_keep_o [2*Pairs],
  output logic        take_last_o [2*Pairs],
  output logic [31:0] take_id_o [2*Pairs]        // of the incoming ports; 0 at the movers
);

  stream_source_t source [Pairs];
  switch_state_t state [Pairs];
  stream_beat_t send [2*Pairs];
  stream_beat_t take [2*Pairs];
  logic [IdBits-1:0] send_id [Pairs];
  logic [IdBits-1:0] take_id [Pairs];

  for (genvar p = 0; p < Pairs; p++) begin : gen_pair
    assign source[p] = '{from_port: from_port_i[p], pair: pair_t'(from_pair_i[p])};
    assign from_port_o[p] = state[p].source.from_port;
    assign from_pair_o[p] = 8'(state[p].source.pair);
    assign pending_o[p] = state[p].pending;
    assign broken_o[p] = state[p].broken;
    assign send_id[p] = IdBits'(send_id_i[Pairs+p]);
    assign take_id_o[p] = 32'(take_id[p]);
    assign take_id_o[Pairs+p] = '0;
  end
  for (genvar e = 0; e < 2 * Pairs; e++) begin : gen_end
    assign send[e] = '{data: row_t'(send_data_i[e]), keep: send_keep_i[e], last: send_last_i[e]};
    assign take_data_o[e] = take[e].data[63:0];
    assign take_keep_o[e] = take[e].keep;
    assign take_last_o[e] = take[e].last;
  end

  tmb_stream_switch #(
    .NumPairs(Pairs),
    .IdWidth (IdWidth)
  ) i_switch (
    .clk_i            (clk_i),
    .rst_ni           (rst_ni),
    .reset_i          (reset_i),
    .source_i         (source),
    .forget_i         (forget_i),
    .state_o          (state),
    .waits_o          (waits_o),
    .mover_in_valid_i (send_valid_i[0:Pairs-1]),
    .mover_in_ready_o (send_ready_o[0:Pairs-1]),
    .mover_in_i       (send[0:Pairs-1]),
    .mover_out_begin_i(begin_i),
    .mover_out_valid_o(take_valid_o[Pairs:2*Pairs-1]),
    .mover_out_ready_i(take_ready_i[Pairs:2*Pairs-1]),
    .mover_out_o      (take[Pairs:2*Pairs-1]),
    .in_valid_o       (take_valid_o[0:Pairs-1]),
    .in_ready_i       (take_ready_i[0:Pairs-1]),
    .in_o             (take[0:Pairs-1]),
    .in_id_o          (take_id),
    .out_valid_i      (send_valid_i[Pairs:2*Pairs-1]),
    .out_ready_o      (send_ready_o[Pairs:2*Pairs-1]),
    .out_i            (send[Pairs:2*Pairs-1]),
    .out_id_i         (send_id)
  );

endmodule
