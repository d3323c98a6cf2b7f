// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: the sum of the 32-bit integers of each packet, as a packet of 8 bytes. The one to read first for streams on a
// memory port (FSRF's streaming mode): it has nothing but one AXI4 port, opens its streams itself by a read and a write,
// and learns from DECERR that the other end has closed.
//
// 1. A read opens `numbers` with 4 bytes a beat, a write opens `sums` with 8.
// 2. Each beat with rstream is an integer; the one with RLAST ends the packet, and its sum leaves with wstream and WLAST.
// 3. The end of `numbers` (DECERR) ends the run: `sums` is closed, and the counts are written to memory. When sums are not
//    taken any more (DECERR, too), those that follow are counted, not sent.
//
// Throughput: an integer a cycle within a packet; a packet ends in five cycles and more. Integers wrap in 64 bits.
// Register map: kernel.toml. Control: ap_ctrl_hs.

`include "tmb_ports.svh"

module packet_sums (
  `TMB_KERNEL_PORTS,
  `TMB_READ_PORTS(m_axi_gmem),
  `TMB_READ_ID_PORTS(m_axi_gmem, 2),
  input  logic         m_axi_gmem_rstream,

  `TMB_WRITE_PORTS(m_axi_gmem),
  `TMB_WRITE_ID_PORTS(m_axi_gmem, 2),
  output logic         m_axi_gmem_wstream
);

  localparam logic [63:0] OpenAddress = 64'h8000_0000_0000_0000;
  localparam logic [63:0] CloseAddress = 64'h8000_0000_0000_0040;
  localparam logic [1:0] MemoryId = 2'd0;
  localparam logic [1:0] NumbersId = 2'd1;
  localparam logic [1:0] SumsId = 2'd2;
  localparam logic [1:0] Okay = 2'b00;

  typedef enum logic [2:0] {
    Idle,
    OpenNumbers,
    OpenSums,
    Add,
    Send,
    CloseSums,
    WriteCounts
  } state_e;

  logic start, done;
  logic [63:0] counts;

  kernel_control_registers #(
    .ArgumentWords(2)
  ) u_control (
    `TMB_CONNECT_CONTROL,
    .begin_o(start),
    .done_i(done),
    .arguments_o(counts)
  );

  // -- One thing after the other ------------------------------------------------------------------

  state_e state_q, state_d;
  // The address, and the data, of what a state asks for have been taken.
  logic asked_q, sent_q;
  logic taken_q;  // sums are taken at the other end
  logic [63:0] sum_q, packets_q, untaken_q;
  logic reads, writes, sends, answer_in, answer_out, number;

  assign reads = state_q == OpenNumbers;
  assign writes = state_q inside {OpenSums, CloseSums, WriteCounts};
  assign sends = writes || state_q == Send;

  assign answer_in = m_axi_gmem_rvalid && m_axi_gmem_rready && !m_axi_gmem_rstream;
  assign number = m_axi_gmem_rvalid && m_axi_gmem_rready && m_axi_gmem_rstream;
  assign answer_out = m_axi_gmem_bvalid && m_axi_gmem_bready;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (start) state_d = OpenNumbers;
      OpenNumbers: if (answer_in) state_d = m_axi_gmem_rresp == Okay ? OpenSums : WriteCounts;
      OpenSums: if (answer_out) state_d = Add;
      Add: begin
        if (number && m_axi_gmem_rresp != Okay) state_d = taken_q ? CloseSums : WriteCounts;
        else if (number && m_axi_gmem_rlast && taken_q) state_d = Send;
      end
      Send: if (answer_out) state_d = Add;
      CloseSums: if (answer_out) state_d = WriteCounts;
      default: if (answer_out) state_d = Idle;
    endcase
  end
  assign done = state_q == WriteCounts && answer_out;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      state_q <= Idle;
      asked_q <= 1'b0;
      sent_q <= 1'b0;
    end else begin
      state_q <= state_d;
      if (state_d != state_q) begin
        asked_q <= 1'b0;
        sent_q <= 1'b0;
      end else begin
        if (m_axi_gmem_arvalid && m_axi_gmem_arready) asked_q <= 1'b1;
        if (m_axi_gmem_awvalid && m_axi_gmem_awready) asked_q <= 1'b1;
        if (m_axi_gmem_wvalid && m_axi_gmem_wready) sent_q <= 1'b1;
      end
    end
  end

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n || start) begin
      sum_q <= '0;
      packets_q <= '0;
      untaken_q <= '0;
      taken_q <= 1'b0;
    end else begin
      if (state_q == OpenSums && answer_out) taken_q <= m_axi_gmem_bresp == Okay;
      if (number && m_axi_gmem_rresp == Okay) begin
        sum_q <= sum_q + 64'(m_axi_gmem_rdata[31:0]);
        if (m_axi_gmem_rlast) begin
          packets_q <= packets_q + 64'd1;
          if (!taken_q) begin
            untaken_q <= untaken_q + 64'd1;
            sum_q <= '0;
          end
        end
      end
      if (state_q == Send && answer_out) begin
        sum_q <= '0;
        if (m_axi_gmem_bresp != Okay) begin
          taken_q <= 1'b0;
          untaken_q <= untaken_q + 64'd1;
        end
      end
    end
  end

  // -- The port -----------------------------------------------------------------------------------

  assign m_axi_gmem_arvalid = reads && !asked_q;
  assign m_axi_gmem_araddr = OpenAddress;
  assign m_axi_gmem_arid = NumbersId;
  assign m_axi_gmem_arlen = '0;
  assign m_axi_gmem_arsize = 3'd2;
  assign m_axi_gmem_arburst = 2'b01;
  assign m_axi_gmem_rready = state_q inside {OpenNumbers, Add};

  assign m_axi_gmem_awvalid = writes && !asked_q;
  assign m_axi_gmem_awaddr =
      state_q == OpenSums ? OpenAddress : (state_q == CloseSums ? CloseAddress : {counts[63:6], 6'b0});
  assign m_axi_gmem_awid = state_q == OpenSums ? SumsId : MemoryId;
  assign m_axi_gmem_awlen = '0;
  assign m_axi_gmem_awsize = state_q == WriteCounts ? 3'd6 : 3'd3;
  assign m_axi_gmem_awburst = 2'b01;
  assign m_axi_gmem_wvalid = sends && !sent_q;
  assign m_axi_gmem_wstream = state_q == Send;
  assign m_axi_gmem_wdata = state_q == WriteCounts ? {384'b0, untaken_q, packets_q} : 512'(sum_q);
  assign m_axi_gmem_wstrb = state_q == WriteCounts ? '1 : 64'hff;
  assign m_axi_gmem_wlast = 1'b1;
  assign m_axi_gmem_bready = 1'b1;

  // One thing at a time, so no answer needs its ID.
  logic unused;
  assign unused = ^{m_axi_gmem_rid, m_axi_gmem_bid, m_axi_gmem_rdata[511:32], counts[5:0]};

endmodule
