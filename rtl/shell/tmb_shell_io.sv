// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The input and output of the shell: movers of the slots' stream pairs, the switch that joins them with one
// another and with the network interfaces, and the ends of their transfers.
//
// Cfg   NumSlots, PortsPerSlot, StreamsPerSlot, NetworkPairs, TidWidth, TdestWidth
//
// A stream pair has two movers, 2n into the kernel and 2n+1 out of it, before a port of virtual memory. The
// network interfaces take part in the switch behind the pairs of the slots, and have no mover: what a mover is
// asked goes to their controller. TID and TDEST pass between kernels only, side by side: memory and networks have no
// place for them. Without pairs every array has one pair's elements, which are not used.
//
// Throughput: a beat a cycle at each stream. Latency: switch and movers. Ordering: each stream in order.
// Back-pressure: a stream waits alone, at the switch. No deadlock: tmb_stream_switch; a mover waits for
// virtual memory and for its kernel, and nothing shared waits for a mover.
//
// Streams into kernels come through the select of the switch; every other output from registers.
//
// Source: vFPIO sections 4.1 to 4.3; docs/blocks/streams.md.

`include "tmb_assert.svh"

module tmb_shell_io
  import tmb_pkg::*;
  import tmb_shell_pkg::*;
  import tmb_stream_pkg::*;
#(
  parameter shell_cfg_t Cfg = DefaultShellCfg,
  localparam int unsigned NumPairs = Cfg.NumSlots * Cfg.StreamsPerSlot,
  localparam int unsigned PairElements = NumPairs == 0 ? 1 : NumPairs,
  localparam int unsigned NumNetworks = Cfg.NetworkPairs,
  localparam int unsigned NetworkElements = NumNetworks == 0 ? 1 : NumNetworks,
  localparam int unsigned AllPairs = NumPairs + NumNetworks,
  localparam int unsigned SwitchElements = AllPairs == 0 ? 1 : AllPairs,
  localparam int unsigned IdWidth = Cfg.TidWidth + Cfg.TdestWidth,
  localparam int unsigned IdBits = IdWidth == 0 ? 1 : IdWidth
) (
  input  logic clk_i,
  input  logic rst_ni,

  // Registers: movers (and directions of network interfaces), incoming ports of the switch.
  input  mover_control_t  mover_i [2*SwitchElements],
  output mover_state_t    mover_o [2*SwitchElements],
  input  switch_control_t switch_i [SwitchElements],
  output switch_state_t   switch_o [SwitchElements],

  // The end of a transfer, to the event ring.
  output logic      transfer_valid_o,
  input  logic      transfer_ready_i,
  output transfer_t transfer_o,

  // The movers' ports of virtual memory, and the reset of their slots.
  input  logic     reset_i [PairElements],
  output axi_req_t port_o [PairElements],
  input  axi_rsp_t port_i [PairElements],

  // Streams of the kernels: into them, and out of them.
  output logic         in_valid_o [PairElements],
  input  logic         in_ready_i [PairElements],
  output stream_beat_t in_o [PairElements],
  output logic [IdBits-1:0] in_id_o [PairElements],
  input  logic         out_valid_i [PairElements],
  output logic         out_ready_o [PairElements],
  input  stream_beat_t out_i [PairElements],
  input  logic [IdBits-1:0] out_id_i [PairElements],

  // Network interfaces: what a kernel sends, what has come for one, and of each both directions' transfers.
  output logic         send_valid_o [NetworkElements],
  input  logic         send_ready_i [NetworkElements],
  output stream_beat_t send_o [NetworkElements],
  input  logic         receive_valid_i [NetworkElements],
  output logic         receive_ready_o [NetworkElements],
  input  stream_beat_t receive_i [NetworkElements],
  output network_req_t network_o [2*NetworkElements],
  input  network_rsp_t network_i [2*NetworkElements]
);

  if (AllPairs == 0) begin : gen_no_pairs
    assign mover_o = '{default: '0};
    assign switch_o = '{default: '0};
    assign transfer_valid_o = 1'b0;
    assign transfer_o = '0;

    logic unused_ok;
    assign unused_ok = &{1'b0, clk_i, rst_ni, mover_i[0], mover_i[1], switch_i[0], transfer_ready_i};
  end else begin : gen_pairs
    logic done_valid [2*AllPairs];
    logic done_ready [2*AllPairs];
    mover_done_t done [2*AllPairs];

    // Between the movers and the switch.
    stream_source_t source [AllPairs];
    logic forget [AllPairs];
    logic pair_reset [AllPairs];
    logic out_waits [AllPairs];
    logic mover_in_valid [AllPairs];
    logic mover_in_ready [AllPairs];
    stream_beat_t mover_in [AllPairs];
    logic mover_out_begin [AllPairs];
    logic mover_out_valid [AllPairs];
    logic mover_out_ready [AllPairs];
    stream_beat_t mover_out [AllPairs];

    // Between the switch and what is outside.
    logic in_valid [AllPairs];
    logic in_ready [AllPairs];
    stream_beat_t in_beat [AllPairs];
    logic [IdBits-1:0] in_id [AllPairs];
    logic out_valid [AllPairs];
    logic out_ready [AllPairs];
    stream_beat_t out_beat [AllPairs];
    logic [IdBits-1:0] out_id [AllPairs];

    for (genvar p = 0; p < AllPairs; p++) begin : gen_switch_control
      assign source[p] = switch_i[p].source;
      assign forget[p] = switch_i[p].forget;
    end

    for (genvar p = 0; p < NumPairs; p++) begin : gen_mover
      assign in_valid_o[p] = in_valid[p];
      assign in_o[p] = in_beat[p];
      assign in_id_o[p] = in_id[p];
      assign in_ready[p] = in_ready_i[p];
      assign out_valid[p] = out_valid_i[p];
      assign out_beat[p] = out_i[p];
      assign out_id[p] = out_id_i[p];
      assign out_ready_o[p] = out_ready[p];
      assign pair_reset[p] = reset_i[p];

      logic start [2];
      mover_command_t command [2];
      mover_state_t state [2];
      for (genvar d = 0; d < 2; d++) begin : gen_direction
        assign start[d] = mover_i[2*p+d].start;
        assign command[d] = mover_i[2*p+d].command;
      end
      assign mover_o[2*p] = state[0];
      // A packet that no transfer has asked for waits at the switch.
      assign mover_o[2*p+1] = '{
          busy: state[1].busy,
          valid: state[1].valid || out_waits[p],
          ready: state[1].ready,
          moved: state[1].moved
      };

      tmb_stream_mover u_mover (
        .clk_i,
        .rst_ni(rst_ni && !reset_i[p]),
        .start_i(start),
        .command_i(command),
        .state_o(state),
        .done_valid_o(done_valid[2*p:2*p+1]),
        .done_ready_i(done_ready[2*p:2*p+1]),
        .done_o(done[2*p:2*p+1]),
        .port_req_o(port_o[p]),
        .port_rsp_i(port_i[p]),
        .in_valid_o(mover_in_valid[p]),
        .in_ready_i(mover_in_ready[p]),
        .in_o(mover_in[p]),
        .out_begin_o(mover_out_begin[p]),
        .out_valid_i(mover_out_valid[p]),
        .out_ready_o(mover_out_ready[p]),
        .out_i(mover_out[p])
      );
    end

    for (genvar n = 0; n < NumNetworks; n++) begin : gen_network
      localparam int unsigned Pair = NumPairs + n;
      logic unused_mover;

      assign send_valid_o[n] = in_valid[Pair];
      assign send_o[n] = in_beat[Pair];
      assign in_ready[Pair] = send_ready_i[n];
      assign out_valid[Pair] = receive_valid_i[n];
      assign out_beat[Pair] = receive_i[n];
      assign out_id[Pair] = '0;
      assign receive_ready_o[n] = out_ready[Pair];
      assign pair_reset[Pair] = 1'b0;
      assign mover_in_valid[Pair] = 1'b0;
      assign mover_in[Pair] = '0;
      assign mover_out_begin[Pair] = 1'b0;
      assign mover_out_ready[Pair] = 1'b0;
      assign unused_mover = &{1'b0, mover_in_ready[Pair], mover_out_valid[Pair], mover_out[Pair], out_waits[Pair],
          in_id[Pair]};

      for (genvar d = 0; d < 2; d++) begin : gen_direction
        logic has_done_ready;
        assign network_o[2*n+d] = '{
            start: mover_i[2*Pair+d].start,
            stop: mover_i[2*Pair+d].command.stop,
            last: mover_i[2*Pair+d].command.last,
            address: mover_i[2*Pair+d].command.addr,
            bytes: mover_i[2*Pair+d].command.bytes,
            done_ready: has_done_ready
        };
        assign mover_o[2*Pair+d] = '{
            busy: network_i[2*n+d].busy,
            valid: d == 0 ? in_valid[Pair] : receive_valid_i[n],
            ready: d == 0 ? send_ready_i[n] : out_ready[Pair],
            moved: network_i[2*n+d].moved
        };

        // The way from valid to ready ends here: no path leads from one pin to the other.
        tmb_spill_register #(
          .T(mover_done_t)
        ) u_done (
          .clk_i,
          .rst_ni,
          .in_valid_i(network_i[2*n+d].done_valid),
          .in_ready_o(has_done_ready),
          .in_data_i(network_i[2*n+d].done),
          .out_valid_o(done_valid[2*Pair+d]),
          .out_ready_i(done_ready[2*Pair+d]),
          .out_data_o(done[2*Pair+d])
        );
      end
    end

    tmb_stream_switch #(
      .NumPairs(AllPairs),
      .IdWidth(IdWidth)
    ) u_switch (
      .clk_i,
      .rst_ni,
      .reset_i(pair_reset),
      .source_i(source),
      .forget_i(forget),
      .state_o(switch_o),
      .waits_o(out_waits),
      .mover_in_valid_i(mover_in_valid),
      .mover_in_ready_o(mover_in_ready),
      .mover_in_i(mover_in),
      .mover_out_begin_i(mover_out_begin),
      .mover_out_valid_o(mover_out_valid),
      .mover_out_ready_i(mover_out_ready),
      .mover_out_o(mover_out),
      .in_valid_o(in_valid),
      .in_ready_i(in_ready),
      .in_o(in_beat),
      .in_id_o(in_id),
      .out_valid_i(out_valid),
      .out_ready_o(out_ready),
      .out_i(out_beat),
      .out_id_i(out_id)
    );

    tmb_stream_completions #(
      .NumMovers(2 * AllPairs)
    ) u_completions (
      .clk_i,
      .rst_ni,
      .done_valid_i(done_valid),
      .done_ready_o(done_ready),
      .done_i(done),
      .valid_o(transfer_valid_o),
      .ready_i(transfer_ready_i),
      .mover_o(transfer_o.mover),
      .done_o(transfer_o.done)
    );
  end

  if (NumPairs == 0) begin : gen_no_movers
    assign port_o[0] = '0;
    assign in_valid_o[0] = 1'b0;
    assign in_o[0] = '0;
    assign in_id_o[0] = '0;
    assign out_ready_o[0] = 1'b0;

    logic unused_ok;
    assign unused_ok = &{1'b0, reset_i[0], port_i[0], in_ready_i[0], out_valid_i[0], out_i[0],
        out_id_i[0]};
  end

  if (NumNetworks == 0) begin : gen_no_networks
    assign send_valid_o[0] = 1'b0;
    assign send_o[0] = '0;
    assign receive_ready_o[0] = 1'b0;
    assign network_o = '{default: '0};

    logic unused_ok;
    assign unused_ok = &{1'b0, send_ready_i[0], receive_valid_i[0], receive_i[0], network_i[0], network_i[1]};
  end

  `TMB_ASSERT_INIT(StreamsAreSomeOfThePorts, Cfg.StreamsPerSlot <= Cfg.PortsPerSlot)
  `TMB_ASSERT_INIT(MoversFitMap, 2 * AllPairs <= 64)
  `TMB_ASSERT_INIT(IdsFit, Cfg.TidWidth <= MaxTidWidth && Cfg.TdestWidth <= MaxTdestWidth)
  `TMB_ASSERT_INIT(NetworksServeStreams, NumNetworks == 0 || NumPairs != 0)

endmodule
