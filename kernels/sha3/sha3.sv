// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: Keccak-256 or SHA3-256 of one packet: the digest goes to port `out`, 32 bytes. `mode` 0 is Keccak-256 as
// its authors submitted it (padding 0x01; what vFPIO's table 3 names), 1 is SHA3-256 of FIPS 202 (padding 0x06).
//
// A beat into the kernel is a block of the sponge: 136 bytes, the rate. The width converter in the slot makes them.
// Throughput: 136 bytes in 25 cycles, a round of Keccak-f[1600] a cycle. Latency: 25 cycles after the last beat, 50
// when it is full (then padding is a block of its own). Ordering: one packet in, one out. Back-pressure: a beat waits
// for the 24 rounds of the one before. No deadlock: it waits for its neighbours only. Between runs no beat is taken.
// Register map: kernel.toml. Control: ap_ctrl_hs; done when the digest has left.
// Source: FIPS 202, sections 3.2, 4, 5.1; The Keccak reference 3.0.

`include "tmb_ports.svh"

module sha3 (
  `TMB_KERNEL_PORTS,
  `TMB_STREAM_IN_PORTS(in, 136),
  `TMB_STREAM_OUT_PORTS(out, 32)
);

  localparam int unsigned Lanes = 25;
  localparam int unsigned RateBytes = 136;

  typedef struct packed {
    logic [63:0] mode;  // 0x10
  } arguments_t;

  arguments_t arguments;
  logic start, done_q;
  logic unused_mode;
  assign unused_mode = ^arguments.mode[63:1];

  kernel_control_registers #(
    .ArgumentWords($bits(arguments_t) / 32)
  ) u_control (
    `TMB_CONNECT_CONTROL,
    .begin_o(start),
    .done_i(done_q),
    .arguments_o(arguments)
  );

  typedef enum logic [2:0] {
    StIdle,
    StAbsorb,   // a beat may come
    StRounds,
    StPad,      // the packet ended with a full beat: a block of padding
    StDigest
  } state_e;

  state_e phase_q;
  logic last_q, pad_q;          // the packet has ended; it still needs its block of padding
  logic [4:0] round_q;
  logic [64*Lanes-1:0] state_q, rounded;

  keccak_round u_round (
    .round_i(round_q),
    .state_i(state_q),
    .state_o(rounded)
  );

  // -- A block: the kept bytes, and behind the last one the padding -------------------------------

  logic [8*RateBytes-1:0] block;
  logic [7:0] domain;
  logic full;
  assign domain = arguments.mode[0] ? 8'h06 : 8'h01;
  assign full = in_tkeep[RateBytes-1];

  always_comb begin
    block = '0;
    if (phase_q == StPad) begin
      block[7:0] = domain;
      block[8*RateBytes-1] = 1'b1;
    end else begin
      for (int unsigned i = 0; i < RateBytes; i++) begin
        if (in_tkeep[i]) block[8*i+:8] = in_tdata[8*i+:8];
        else if (i == 0 || in_tkeep[(i+RateBytes-1)%RateBytes]) block[8*i+:8] = domain;
      end
      if (!full) block[8*RateBytes-1] = 1'b1;
      // One byte of padding is both its ends.
      if (!full && in_tkeep[RateBytes-2]) block[8*RateBytes-1-:8] = domain | 8'h80;
    end
  end

  logic take, absorb;
  assign in_tready = phase_q == StAbsorb;
  assign take = in_tvalid && in_tready;
  assign absorb = take || phase_q == StPad;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      phase_q <= StIdle;
      done_q <= 1'b0;
    end else begin
      unique case (phase_q)
        StIdle: if (start) phase_q <= StAbsorb;
        StAbsorb: if (take) phase_q <= StRounds;
        StRounds: begin
          if (round_q == 5'd23) phase_q <= pad_q ? StPad : (last_q ? StDigest : StAbsorb);
        end
        StPad: phase_q <= StRounds;
        default: if (out_tready) phase_q <= StIdle;
      endcase
      done_q <= phase_q == StDigest && out_tready;
    end
  end

  always_ff @(posedge ap_clk) begin
    if (start) begin
      state_q <= '0;
      last_q <= 1'b0;
      pad_q <= 1'b0;
    end else if (absorb) begin
      state_q <= state_q ^ {512'd0, block};
      round_q <= '0;
      if (take) begin
        last_q <= in_tlast;
        pad_q <= in_tlast && full;
      end else begin
        pad_q <= 1'b0;
      end
    end else if (phase_q == StRounds) begin
      state_q <= rounded;
      round_q <= round_q + 5'd1;
    end
  end

  assign out_tvalid = phase_q == StDigest;
  assign out_tdata = state_q[255:0];
  assign out_tkeep = '1;
  assign out_tlast = 1'b1;

endmodule
