// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// A kernel that uses lines of the CPU's memory against a rule, or goes while it has them: for tests of the shell. It
// acquires `line` and stores 0xc0ffee to its first word under the hold; then it does what `crime` says. kernel.toml lists
// the crimes.

`include "tmb_ports.svh"

module host_liar (
  `TMB_KERNEL_PORTS,

  output logic         m_host_req_valid,
  input  logic         m_host_req_ready,
  output logic [2:0]   m_host_req_access,
  output logic         m_host_req_held,
  output logic [2:0]   m_host_req_hold,
  output logic [4:0]   m_host_req_tag,
  output logic [32:0]  m_host_req_line,
  output logic [511:0] m_host_req_row,
  output logic [63:0]  m_host_req_strobe,
  input  logic         m_host_rsp_valid,
  output logic         m_host_rsp_ready,
  input  logic [4:0]   m_host_rsp_tag,
  input  logic [1:0]   m_host_rsp_status,
  input  logic [2:0]   m_host_rsp_hold,
  input  logic [511:0] m_host_rsp_row
);

  localparam logic [31:0] UnknownAccess = 32'd1;
  localparam logic [31:0] TagTwice = 32'd2;
  localparam logic [31:0] OtherLine = 32'd3;  // to the line `other`
  localparam logic [31:0] ReleaseTwice = 32'd5;
  localparam logic [2:0] Load = 3'd0;
  localparam logic [2:0] Store = 3'd1;
  localparam logic [2:0] Acquire = 3'd2;
  localparam logic [2:0] Release = 3'd3;
  localparam logic [2:0] Unknown = 3'd6;

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [31:0] crime;  // 0x20
    logic [63:0] other;  // 0x18
    logic [63:0] line;   // 0x10
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

  // Steps: acquire, store under the hold, the crime, and for some a second access.
  typedef enum logic [2:0] {
    StRest,
    StAcquire,
    StStore,
    StCrime,
    StAgain
  } state_e;
  state_e state_q;
  logic sent_q, takes, crime_waits, goes;
  logic [2:0] hold_q;
  assign takes = m_host_req_valid && m_host_req_ready;
  // Two accesses under one tag: the second does not wait for the first.
  assign crime_waits = arguments.crime != TagTwice;
  assign goes = m_host_rsp_valid || (state_q == StCrime && takes && !crime_waits);
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      state_q <= StRest;
      sent_q <= 1'b0;
    end else begin
      if (takes) sent_q <= 1'b1;
      if (goes) sent_q <= 1'b0;
      case (state_q)
        StRest: if (start) state_q <= StAcquire;
        StAcquire: if (m_host_rsp_valid) state_q <= StStore;
        StStore: if (m_host_rsp_valid) state_q <= arguments.crime == '0 ? StRest : StCrime;
        StCrime: if (goes) state_q <= StAgain;
        default: if (m_host_rsp_valid) state_q <= StRest;
      endcase
    end
  end
  always_ff @(posedge ap_clk) begin
    if (state_q == StAcquire && m_host_rsp_valid) hold_q <= m_host_rsp_hold;
  end
  assign done = (state_q == StStore && m_host_rsp_valid && arguments.crime == '0)
      || (state_q == StAgain && m_host_rsp_valid);

  assign m_host_req_valid = state_q != StRest && !sent_q;
  always_comb begin
    m_host_req_access = Load;
    case (state_q)
      StAcquire: m_host_req_access = Acquire;
      StStore: m_host_req_access = Store;
      default: begin
        if (arguments.crime == UnknownAccess) m_host_req_access = Unknown;
        if (arguments.crime == ReleaseTwice) m_host_req_access = Release;
      end
    endcase
  end
  assign m_host_req_held = state_q == StStore;
  assign m_host_req_hold = hold_q;
  assign m_host_req_tag = 5'd7;
  // A load that is under way for long, and one of the same tag.
  assign m_host_req_line = (state_q == StCrime || state_q == StAgain)
      && (arguments.crime == OtherLine || arguments.crime == TagTwice) ? arguments.other[39:7]
                                                                       : arguments.line[39:7];
  assign m_host_req_row = 512'hc0ffee;
  assign m_host_req_strobe = 64'hff;
  assign m_host_rsp_ready = 1'b1;

  logic unused_ok;
  assign unused_ok = &{1'b0, arguments.line[63:40], arguments.line[6:0], arguments.other[63:40],
                       arguments.other[6:0], m_host_rsp_tag, m_host_rsp_status, m_host_rsp_row};

endmodule
