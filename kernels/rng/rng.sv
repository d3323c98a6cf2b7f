// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: accesses of one size at the places of a pseudo-random sequence that visits each place of a set
// once before it begins anew; reads, or writes. It is the load RNG of FSRF's evaluation (section 6.2).
//
// A set has 2^period_log2 places of 2^access_log2 bytes (64 B to 2 MiB). The sequence: a 32-bit state steps
// by x' = 1664525 x + 1013904223 from `seed`; place = (y ^ (y >> ceil(period_log2 / 2))) with
// y = x mod 2^period_log2, which is a permutation. An access is one burst of up to 4 KiB, or several.
// Reads (port m_axi_gmem0): answers are always taken; at the end the exclusive or of all rows goes to
// `output`. Writes (port m_axi_gmem1): beat n of a run, counted from 0, is eight times seed ^ n.
//
// Throughput: a burst a cycle is asked for, a row a cycle and direction moves, any number outstanding.
// Register map: kernel.toml. Control: ap_ctrl_hs.

`include "tmb_ports.svh"

module rng (
  `TMB_KERNEL_PORTS,
  `TMB_READ_PORTS(m_axi_gmem0),
  `TMB_WRITE_PORTS(m_axi_gmem1)
);

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [63:0] write;        // 0x40
    logic [63:0] seed;         // 0x38
    logic [63:0] period_log2;  // 0x30
    logic [63:0] access_log2;  // 0x28
    logic [63:0] accesses;     // 0x20
    logic [63:0] destination;  // 0x18, output
    logic [63:0] source;       // 0x10, input
  } arguments_t;

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

  // -- The sequence, and bursts of its accesses ---------------------------------------------------

  localparam logic [31:0] Multiplier = 32'd1664525;
  localparam logic [31:0] Increment = 32'd1013904223;

  function automatic logic [31:0] step(logic [31:0] x);
    return Multiplier * x + Increment;
  endfunction

  // Set at the start of a run.
  logic writes_q;
  logic [63:0] base_q;
  logic [31:0] mask_q;
  logic [4:0] fold_q;
  logic [4:0] size_q;        // log2(bytes of an access)
  logic [8:0] last_burst_q;  // bursts of an access, less one
  logic [5:0] last_beat_q;   // beats of a burst, less one

  logic [31:0] state_q, masked, place;
  logic [8:0] burst_q;
  logic [63:0] accesses_q;   // not asked for yet
  logic more, asks, asked_all;

  // A request register in front of AR and AW.
  logic valid_q, free;
  logic [63:0] address_q;

  assign masked = state_q & mask_q;
  assign place = masked ^ (masked >> fold_q);
  assign more = accesses_q != '0;
  assign asks = more && free;
  assign asked_all = burst_q == last_burst_q;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      accesses_q <= '0;
      valid_q <= 1'b0;
    end else begin
      if (start) accesses_q <= arguments.accesses;
      else if (asks && asked_all) accesses_q <= accesses_q - 64'd1;
      if (free) valid_q <= asks;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (start) begin
      writes_q <= arguments.write[0];
      base_q <= arguments.write[0] ? arguments.destination : arguments.source;
      mask_q <= 32'((64'd1 << arguments.period_log2[5:0]) - 64'd1);
      fold_q <= 5'((arguments.period_log2[5:0] + 6'd1) >> 1);
      size_q <= arguments.access_log2[4:0];
      last_burst_q <= arguments.access_log2[4:0] > 5'd12 ?
                      9'((10'd1 << (arguments.access_log2[4:0] - 5'd12)) - 10'd1) : 9'd0;
      last_beat_q <= arguments.access_log2[4:0] >= 5'd12 ?
                     6'd63 : 6'((7'd1 << (arguments.access_log2[4:0] - 5'd6)) - 7'd1);
      state_q <= arguments.seed[31:0];
      burst_q <= '0;
    end else if (asks) begin
      burst_q <= asked_all ? 9'd0 : burst_q + 9'd1;
      if (asked_all) state_q <= step(state_q);
    end
    if (asks) begin
      address_q <= base_q + ({32'd0, place} << size_q) + {43'd0, burst_q, 12'd0};
    end
  end

  assign free = !valid_q || (writes_q ? m_axi_gmem1_awready : m_axi_gmem0_arready);

  assign m_axi_gmem0_arvalid = valid_q && !writes_q;
  assign m_axi_gmem0_araddr = address_q;
  assign m_axi_gmem0_arlen = {2'd0, last_beat_q};
  assign m_axi_gmem0_rready = 1'b1;

  // -- Answers of reads, data of writes, then the end ---------------------------------------------

  typedef enum logic [2:0] {
    StIdle,
    StReads,
    StWrites,
    StResult,
    StResultWritten
  } state_e;

  state_e phase_q;
  logic row_valid_q, aw_done_q, w_done_q;
  logic [511:0] row_q, sum_q;
  logic [63:0] bursts_left_q;  // without an answer yet
  logic [63:0] number_q;       // of the next beat
  logic [63:0] owed_q;         // bursts whose address has left and whose data has not
  logic [5:0] beat_q;
  logic w_valid, w_last, burst_ends, answered;

  assign w_valid = phase_q == StWrites && owed_q != '0;
  assign w_last = beat_q == last_beat_q;
  assign burst_ends = w_valid && m_axi_gmem1_wready && w_last;
  assign answered = phase_q == StWrites ? m_axi_gmem1_bvalid :
                    m_axi_gmem0_rvalid && m_axi_gmem0_rlast;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      phase_q <= StIdle;
      row_valid_q <= 1'b0;
      aw_done_q <= 1'b0;
      w_done_q <= 1'b0;
      owed_q <= '0;
    end else begin
      row_valid_q <= m_axi_gmem0_rvalid;
      unique case (phase_q)
        StIdle: if (start) phase_q <= arguments.write[0] ? StWrites : StReads;
        StReads: if (bursts_left_q == '0 && !row_valid_q) phase_q <= StResult;
        StWrites: if (bursts_left_q == '0) phase_q <= StIdle;
        StResult: begin
          if ((aw_done_q || m_axi_gmem1_awready) && (w_done_q || m_axi_gmem1_wready)) begin
            phase_q <= StResultWritten;
          end
        end
        default: if (m_axi_gmem1_bvalid) phase_q <= StIdle;
      endcase
      aw_done_q <= phase_q == StResult && (aw_done_q || m_axi_gmem1_awready);
      w_done_q <= phase_q == StResult && (w_done_q || m_axi_gmem1_wready);
      owed_q <= owed_q + 64'(valid_q && writes_q && m_axi_gmem1_awready) - 64'(burst_ends);
    end
  end
  always_ff @(posedge ap_clk) begin
    if (m_axi_gmem0_rvalid) row_q <= m_axi_gmem0_rdata;
    if (start) begin
      bursts_left_q <= arguments.access_log2[4:0] > 5'd12 ?
                       arguments.accesses << (arguments.access_log2[4:0] - 5'd12) :
                       arguments.accesses;
      sum_q <= '0;
      number_q <= '0;
      beat_q <= '0;
    end else begin
      if (answered) bursts_left_q <= bursts_left_q - 64'd1;
      if (row_valid_q) sum_q <= sum_q ^ row_q;
      if (w_valid && m_axi_gmem1_wready) begin
        number_q <= number_q + 64'd1;
        beat_q <= w_last ? 6'd0 : beat_q + 6'd1;
      end
    end
  end

  logic result;
  assign result = phase_q == StResult;
  assign m_axi_gmem1_awvalid = result ? !aw_done_q : valid_q && writes_q;
  assign m_axi_gmem1_awaddr = result ? arguments.destination : address_q;
  assign m_axi_gmem1_awlen = result ? 8'd0 : {2'd0, last_beat_q};
  assign m_axi_gmem1_wvalid = result ? !w_done_q : w_valid;
  assign m_axi_gmem1_wdata = result ? sum_q : {8{arguments.seed ^ number_q}};
  assign m_axi_gmem1_wstrb = '1;
  assign m_axi_gmem1_wlast = result || w_last;
  assign m_axi_gmem1_bready = phase_q == StResultWritten || phase_q == StWrites;
  assign done = (phase_q == StResultWritten && m_axi_gmem1_bvalid) ||
                (phase_q == StWrites && bursts_left_q == '0);

  // Every beat is a whole row.
  `TMB_READ_WHOLE_ROWS(m_axi_gmem0)
  `TMB_WRITE_WHOLE_ROWS(m_axi_gmem1)

  // The shell reports failed accesses to the host.
  logic unused_ok;
  assign unused_ok = &{1'b0, m_axi_gmem0_rresp, m_axi_gmem1_bresp, arguments.write[63:1],
                       arguments.period_log2[63:6], arguments.access_log2[63:5]};

endmodule
