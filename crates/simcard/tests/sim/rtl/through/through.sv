// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Test kernel: copies pages; rows go from the read port to the write port without a register, so that
// its outputs follow its inputs in the same cycle. Writing the low word of `pages` starts it; the
// interrupt is high from the last write response until the next start.

module through (
  input  logic         ap_clk,
  input  logic         ap_rst_n,
  output logic         interrupt,

  input  logic         s_axi_control_awvalid,
  output logic         s_axi_control_awready,
  input  logic [5:0]   s_axi_control_awaddr,
  input  logic         s_axi_control_wvalid,
  output logic         s_axi_control_wready,
  input  logic [31:0]  s_axi_control_wdata,
  output logic         s_axi_control_bvalid,
  input  logic         s_axi_control_bready,
  input  logic         s_axi_control_arvalid,
  output logic         s_axi_control_arready,
  input  logic [5:0]   s_axi_control_araddr,
  output logic         s_axi_control_rvalid,
  input  logic         s_axi_control_rready,
  output logic [31:0]  s_axi_control_rdata,

  output logic         m_axi_in_arvalid,
  input  logic         m_axi_in_arready,
  output logic [63:0]  m_axi_in_araddr,
  output logic [7:0]   m_axi_in_arlen,
  input  logic         m_axi_in_rvalid,
  output logic         m_axi_in_rready,
  input  logic [511:0] m_axi_in_rdata,
  input  logic         m_axi_in_rlast,

  output logic         m_axi_out_awvalid,
  input  logic         m_axi_out_awready,
  output logic [63:0]  m_axi_out_awaddr,
  output logic [7:0]   m_axi_out_awlen,
  output logic         m_axi_out_wvalid,
  input  logic         m_axi_out_wready,
  output logic [511:0] m_axi_out_wdata,
  output logic         m_axi_out_wlast,
  input  logic         m_axi_out_bvalid,
  output logic         m_axi_out_bready
);

  logic [63:0] input_q, output_q;
  logic [31:0] reads_q, writes_q, answers_q;  // pages left
  logic busy_q, respond_q, read_q;

  logic write;
  assign write = s_axi_control_awvalid && s_axi_control_wvalid && !respond_q;
  assign s_axi_control_awready = write;
  assign s_axi_control_wready = write;
  assign s_axi_control_bvalid = respond_q;
  assign s_axi_control_arready = s_axi_control_arvalid && !read_q;
  assign s_axi_control_rvalid = read_q;
  assign s_axi_control_rdata = answers_q;

  assign m_axi_in_arvalid = reads_q != '0;
  assign m_axi_in_araddr = input_q;
  assign m_axi_in_arlen = 8'd63;
  assign m_axi_out_awvalid = writes_q != '0;
  assign m_axi_out_awaddr = output_q;
  assign m_axi_out_awlen = 8'd63;

  assign m_axi_out_wvalid = m_axi_in_rvalid;
  assign m_axi_out_wdata = ~m_axi_in_rdata;
  assign m_axi_out_wlast = m_axi_in_rlast;
  assign m_axi_in_rready = m_axi_out_wready;
  assign m_axi_out_bready = 1'b1;
  assign interrupt = busy_q && (answers_q == '0);

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      {input_q, output_q, reads_q, writes_q, answers_q} <= '0;
      {busy_q, respond_q, read_q} <= '0;
    end else begin
      if (write) respond_q <= 1'b1;
      else if (s_axi_control_bready) respond_q <= 1'b0;
      if (s_axi_control_arready) read_q <= 1'b1;
      else if (s_axi_control_rready) read_q <= 1'b0;
      if (m_axi_in_arvalid && m_axi_in_arready) begin
        reads_q <= reads_q - 32'd1;
        input_q <= input_q + 64'd4096;
      end
      if (m_axi_out_awvalid && m_axi_out_awready) begin
        writes_q <= writes_q - 32'd1;
        output_q <= output_q + 64'd4096;
      end
      if (m_axi_out_bvalid) answers_q <= answers_q - 32'd1;
      if (write) begin
        unique case (s_axi_control_awaddr)
          6'h10: input_q[31:0] <= s_axi_control_wdata;
          6'h14: input_q[63:32] <= s_axi_control_wdata;
          6'h18: output_q[31:0] <= s_axi_control_wdata;
          6'h1c: output_q[63:32] <= s_axi_control_wdata;
          6'h20: begin
            {reads_q, writes_q, answers_q} <= {3{s_axi_control_wdata}};
            busy_q <= 1'b1;
          end
          default: ;
        endcase
      end
    end
  end

endmodule
