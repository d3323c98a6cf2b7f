// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: sends a pattern out of a stream port, and says that it is done when the last beat is in its queue, or when it
// is taken, as its mode tells it. For tests of the end of a run (crates/lab/src/bars/finish.rs). Beats are HASTY_BYTES
// wide; without HASTY_TLAST the port has no TLAST.
//
// Bits of `mode`: 0 done when the last beat is queued, otherwise when all are taken; 1 packets of 2^mode[10:8] beats,
// otherwise one; 2 a beat every 32 cycles, so that the port is idle between two.
// Word k of the stream is seed + k * 0x9e3779b9.

`include "tmb_ports.svh"

module hasty_stream (
  `TMB_KERNEL_PORTS,
`ifdef HASTY_TLAST
  output logic                      out_tlast,
`endif
  output logic                      out_tvalid,
  input  logic                      out_tready,
  output logic [8*`HASTY_BYTES-1:0] out_tdata,
  output logic [`HASTY_BYTES-1:0]   out_tkeep
);

  localparam int unsigned Bytes = `HASTY_BYTES;
  localparam int unsigned Words = Bytes / 4;

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [31:0] mode;   // 0x1c
    logic [31:0] seed;   // 0x18
    logic [63:0] length; // 0x10, bytes
  } arguments_t;

  typedef logic [19:0] beat_t;

  arguments_t arguments;
  logic start, done;

  kernel_control_registers #(
    .ArgumentWords($bits(arguments_t) / 32)
  ) u_control (
    `TMB_CONNECT_CONTROL,
    .begin_o(start),
    .done_i(done),
    .arguments_o(arguments)
  );

  logic is_hasty, has_packets, trickles;
  assign is_hasty = arguments.mode[0];
  assign has_packets = arguments.mode[1];
  assign trickles = arguments.mode[2];

  beat_t beats, beat_q, packet_mask;
  logic running_q, queued, is_last, ends_packet;
  logic [4:0] pace_q;
  assign beats = beat_t'((arguments.length + 64'(Bytes - 1)) / 64'(Bytes));
  assign packet_mask = (beat_t'(1) << arguments.mode[10:8]) - beat_t'(1);
  assign queued = beat_q == beats;
  assign is_last = beat_q + beat_t'(1) == beats;
  assign ends_packet = is_last || (has_packets && (beat_q & packet_mask) == packet_mask);

  logic [8*Bytes-1:0] data;
  logic [Bytes-1:0] keep;
  for (genvar i = 0; i < Words; i++) begin : gen_word
    assign data[32*i+:32] = arguments.seed + (32'(beat_q) * 32'(Words) + 32'(i)) * 32'h9e37_79b9;
  end
  for (genvar i = 0; i < Bytes; i++) begin : gen_keep
    assign keep[i] = 64'(beat_q) * 64'(Bytes) + 64'(i) < arguments.length;
  end

  logic in_valid, in_ready, last;
  assign in_valid = running_q && !queued && (!trickles || pace_q == '0);

  kernel_fifo #(
    .Width(8 * Bytes + Bytes + 1),
    .Depth(64)
  ) u_queue (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .in_valid_i(in_valid),
    .in_ready_o(in_ready),
    .in_data_i({ends_packet, keep, data}),
    .out_valid_o(out_tvalid),
    .out_ready_i(out_tready),
    .out_data_o({last, out_tkeep, out_tdata})
  );

  assign done = running_q && queued && (is_hasty || !out_tvalid);

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      running_q <= 1'b0;
      beat_q <= '0;
      pace_q <= '0;
    end else if (start) begin
      running_q <= 1'b1;
      beat_q <= '0;
      pace_q <= '1;
    end else begin
      if (done) running_q <= 1'b0;
      if (in_valid && in_ready) begin
        beat_q <= beat_q + beat_t'(1);
        pace_q <= '1;
      end else if (pace_q != '0) begin
        pace_q <= pace_q - 5'd1;
      end
    end
  end

`ifdef HASTY_TLAST
  assign out_tlast = last;
`else
  logic unused_last;
  assign unused_last = last;
`endif
  logic unused_ok;
  assign unused_ok = &{1'b0, arguments.mode};

endmodule
