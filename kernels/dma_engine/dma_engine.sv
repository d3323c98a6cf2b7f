// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// A DMA engine in the manner of those that vendors sell: its registers are its own, and writing the length
// starts it. An example of a `user_managed` kernel, for programs that wait for a register or an interrupt.
//
//   0x00  control      [12] interrupt enable
//   0x04  status       [1] idle, [12] complete, [14] error; writing 1 clears the last two
//   0x08  source       64 bits, a multiple of 64
//   0x10  destination  64 bits, a multiple of 64
//   0x18  length       bytes; writing it starts a copy, if none is under way
//
// Throughput: a row of 64 bytes a round trip: one read, then one write. Ordering: rows in order; complete follows
// the last write response. An error response ends the copy.

`include "tmb_ports.svh"

module dma_engine (
  `TMB_KERNEL_PORTS,
  `TMB_READ_PORTS(m_axi_data),
  `TMB_WRITE_PORTS(m_axi_data)
);

  typedef enum logic [2:0] {
    StIdle,
    StReadAddress,
    StReadData,
    StWrite,
    StWriteResponse
  } state_e;

  localparam logic [11:0] Control = 12'h00;
  localparam logic [11:0] Status = 12'h04;
  localparam logic [11:0] SourceLow = 12'h08;
  localparam logic [11:0] SourceHigh = 12'h0C;
  localparam logic [11:0] DestinationLow = 12'h10;
  localparam logic [11:0] DestinationHigh = 12'h14;
  localparam logic [11:0] Length = 12'h18;

  state_e state_q;
  logic enable_q, complete_q, error_q;
  logic [63:0] source_q, destination_q;  // as written
  logic [63:0] from_q, to_q;             // of the row under way
  logic [31:0] left_q;                   // bytes from that row on
  logic [511:0] row_q;
  logic aw_sent_q, w_sent_q;

  // ---------------------------------------------------------------------------------------------
  // Registers
  // ---------------------------------------------------------------------------------------------

  logic write, read;
  logic [11:0] write_at, read_at;
  logic [31:0] word;

  assign write = s_axi_control_awvalid && s_axi_control_wvalid && !s_axi_control_bvalid;
  assign write_at = s_axi_control_awaddr;
  assign s_axi_control_awready = write;
  assign s_axi_control_wready = write;
  assign s_axi_control_bresp = 2'b00;
  assign read = s_axi_control_arvalid && !s_axi_control_rvalid;
  assign read_at = s_axi_control_araddr;
  assign s_axi_control_arready = read;
  assign s_axi_control_rresp = 2'b00;

  logic [31:0] status;
  assign status = {17'd0, error_q, 1'b0, complete_q, 10'd0, state_q == StIdle, 1'b0};

  always_comb begin
    unique case (read_at)
      Control: word = {19'd0, enable_q, 12'd0};
      Status: word = status;
      SourceLow: word = source_q[31:0];
      SourceHigh: word = source_q[63:32];
      DestinationLow: word = destination_q[31:0];
      DestinationHigh: word = destination_q[63:32];
      Length: word = left_q;
      default: word = '0;
    endcase
  end

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      s_axi_control_bvalid <= 1'b0;
      s_axi_control_rvalid <= 1'b0;
    end else begin
      if (write) s_axi_control_bvalid <= 1'b1;
      else if (s_axi_control_bready) s_axi_control_bvalid <= 1'b0;
      if (read) s_axi_control_rvalid <= 1'b1;
      else if (s_axi_control_rready) s_axi_control_rvalid <= 1'b0;
    end
    if (read) s_axi_control_rdata <= word;
  end

  // Whole words: no program writes single bytes of them.
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      enable_q <= 1'b0;
      source_q <= '0;
      destination_q <= '0;
    end else if (write && s_axi_control_wstrb != '0) begin
      unique case (write_at)
        Control: enable_q <= s_axi_control_wdata[12];
        SourceLow: source_q[31:0] <= s_axi_control_wdata;
        SourceHigh: source_q[63:32] <= s_axi_control_wdata;
        DestinationLow: destination_q[31:0] <= s_axi_control_wdata;
        DestinationHigh: destination_q[63:32] <= s_axi_control_wdata;
        default: ;
      endcase
    end
  end

  // ---------------------------------------------------------------------------------------------
  // The copy
  // ---------------------------------------------------------------------------------------------

  logic start, clear, ends, failed;
  assign start = write && write_at == Length && state_q == StIdle && s_axi_control_wdata != '0;
  assign clear = write && write_at == Status;
  assign failed = (state_q == StReadData && m_axi_data_rvalid && m_axi_data_rresp != '0)
      || (state_q == StWriteResponse && m_axi_data_bvalid && m_axi_data_bresp != '0);
  assign ends = state_q == StWriteResponse && m_axi_data_bvalid && left_q <= 32'd64;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      state_q <= StIdle;
      complete_q <= 1'b0;
      error_q <= 1'b0;
      left_q <= '0;
      aw_sent_q <= 1'b0;
      w_sent_q <= 1'b0;
    end else begin
      complete_q <= (complete_q && !(clear && s_axi_control_wdata[12])) || (ends && !failed);
      error_q <= (error_q && !(clear && s_axi_control_wdata[14])) || failed;
      unique case (state_q)
        StIdle: begin
          if (start) begin
            state_q <= StReadAddress;
            left_q <= s_axi_control_wdata;
          end
        end
        StReadAddress: if (m_axi_data_arready) state_q <= StReadData;
        StReadData: begin
          if (m_axi_data_rvalid && m_axi_data_rlast) state_q <= failed ? StIdle : StWrite;
        end
        StWrite: begin
          aw_sent_q <= aw_sent_q || m_axi_data_awready;
          w_sent_q <= w_sent_q || m_axi_data_wready;
          if ((aw_sent_q || m_axi_data_awready) && (w_sent_q || m_axi_data_wready)) begin
            state_q <= StWriteResponse;
            aw_sent_q <= 1'b0;
            w_sent_q <= 1'b0;
          end
        end
        StWriteResponse: begin
          if (m_axi_data_bvalid) begin
            state_q <= failed || ends ? StIdle : StReadAddress;
            left_q <= ends ? '0 : left_q - 32'd64;
          end
        end
        default: state_q <= StIdle;
      endcase
    end
  end

  always_ff @(posedge ap_clk) begin
    if (start) begin
      from_q <= source_q;
      to_q <= destination_q;
    end else if (state_q == StWriteResponse && m_axi_data_bvalid) begin
      from_q <= from_q + 64'd64;
      to_q <= to_q + 64'd64;
    end
    if (m_axi_data_rvalid) row_q <= m_axi_data_rdata;
  end

  assign m_axi_data_araddr = {from_q[63:6], 6'd0};
  assign m_axi_data_arlen = '0;
  `TMB_READ_WHOLE_ROWS(m_axi_data)
  assign m_axi_data_arvalid = state_q == StReadAddress;
  assign m_axi_data_rready = state_q == StReadData;
  assign m_axi_data_awaddr = {to_q[63:6], 6'd0};
  assign m_axi_data_awlen = '0;
  `TMB_WRITE_WHOLE_ROWS(m_axi_data)
  assign m_axi_data_awvalid = state_q == StWrite && !aw_sent_q;
  assign m_axi_data_wdata = row_q;
  assign m_axi_data_wstrb = left_q >= 32'd64 ? '1 : ~(64'hFFFF_FFFF_FFFF_FFFF << left_q[5:0]);
  assign m_axi_data_wlast = 1'b1;
  assign m_axi_data_wvalid = state_q == StWrite && !w_sent_q;
  assign m_axi_data_bready = state_q == StWriteResponse;

  assign interrupt = enable_q && (complete_q || error_q);

endmodule
