// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Control and status of streams through a kernel's AXI4 ports: two registers at the end of the kernel's control
// window. It stands in the slot, on s_axi_control; everything below 0xFF00 passes.
//
// offset   bits 2p (into the kernel) and 2p+1 (out of it) belong to the kernel's port p
// 0xFF00   CLOSED, read and write: the host's end of the stream is closed
// 0xFF04   OPEN, read: the kernel has the stream open
// others   read 0, are not written
//
// Throughput: one access at a time each way. Latency: one cycle for the registers, none for the kernel's. Ordering: an
// access is answered before the next one passes. Back-pressure: as the kernel's. No deadlock: an access that is answered
// here needs the shell only, one that passes the kernel, as without this module.

`include "tmb_assert.svh"

module tmb_port_stream_registers (
  input  logic        clk_i,
  input  logic        rst_ni,
  output logic [31:0] closed_o,
  input  logic [31:0] open_i,
  // writes
  input  logic [15:0] awaddr_i,
  input  logic        slot_awvalid_i,
  output logic        slot_awready_o,
  output logic        kernel_awvalid_o,
  input  logic        kernel_awready_i,
  input  logic [31:0] wdata_i,
  input  logic        slot_wvalid_i,
  output logic        slot_wready_o,
  output logic        kernel_wvalid_o,
  input  logic        kernel_wready_i,
  output logic        slot_bvalid_o,
  input  logic        slot_bready_i,
  output logic [1:0]  slot_bresp_o,
  input  logic        kernel_bvalid_i,
  output logic        kernel_bready_o,
  input  logic [1:0]  kernel_bresp_i,
  // reads
  input  logic [15:0] araddr_i,
  input  logic        slot_arvalid_i,
  output logic        slot_arready_o,
  output logic        kernel_arvalid_o,
  input  logic        kernel_arready_i,
  output logic        slot_rvalid_o,
  input  logic        slot_rready_i,
  output logic [31:0] slot_rdata_o,
  output logic [1:0]  slot_rresp_o,
  input  logic        kernel_rvalid_i,
  output logic        kernel_rready_o,
  input  logic [31:0] kernel_rdata_i,
  input  logic [1:0]  kernel_rresp_i
);

  localparam logic [7:0] Page = 8'hFF;
  localparam logic [7:0] ClosedOffset = 8'h00;
  localparam logic [7:0] OpenOffset = 8'h04;

  typedef enum logic [1:0] {
    Idle,
    Kernel,  // the kernel has the address
    Here     // the answer is offered
  } state_e;

  // Writes
  state_e write_q;
  logic write_here, write_takes;
  logic [31:0] closed_q;

  assign write_here = awaddr_i[15:8] == Page;
  assign write_takes = write_q == Idle && slot_awvalid_i && slot_wvalid_i && write_here;
  assign kernel_awvalid_o = write_q == Idle && slot_awvalid_i && !write_here;
  // The data pass with their address or behind it.
  assign kernel_wvalid_o = slot_wvalid_i && (write_q == Kernel || kernel_awvalid_o);
  assign slot_awready_o = write_takes || (kernel_awvalid_o && kernel_awready_i);
  assign slot_wready_o = write_takes || (kernel_wvalid_o && kernel_wready_i);
  assign slot_bvalid_o = write_q == Here || kernel_bvalid_i;
  assign kernel_bready_o = write_q != Here && slot_bready_i;
  assign slot_bresp_o = write_q == Here ? 2'b00 : kernel_bresp_i;
  assign closed_o = closed_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q <= Idle;
      closed_q <= '0;
    end else begin
      if (write_takes) write_q <= Here;
      else if (slot_bvalid_o && slot_bready_i) write_q <= Idle;
      else if (kernel_awvalid_o && kernel_awready_i) write_q <= Kernel;
      if (write_takes && awaddr_i[7:0] == ClosedOffset) closed_q <= wdata_i;
    end
  end

  // Reads
  state_e read_q;
  logic read_here, read_takes;
  logic [31:0] read_data_q;

  assign read_here = araddr_i[15:8] == Page;
  assign read_takes = read_q == Idle && slot_arvalid_i && read_here;
  assign kernel_arvalid_o = read_q == Idle && slot_arvalid_i && !read_here;
  assign slot_arready_o = read_takes || (kernel_arvalid_o && kernel_arready_i);
  assign slot_rvalid_o = read_q == Here || kernel_rvalid_i;
  assign kernel_rready_o = read_q != Here && slot_rready_i;
  assign slot_rdata_o = read_q == Here ? read_data_q : kernel_rdata_i;
  assign slot_rresp_o = read_q == Here ? 2'b00 : kernel_rresp_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) read_q <= Idle;
    else if (read_takes) read_q <= Here;
    else if (slot_rvalid_o && slot_rready_i) read_q <= Idle;
    else if (kernel_arvalid_o && kernel_arready_i) read_q <= Kernel;
  end
  always_ff @(posedge clk_i) begin
    if (read_takes) begin
      unique case (araddr_i[7:0])
        ClosedOffset: read_data_q <= closed_q;
        OpenOffset:   read_data_q <= open_i;
        default:      read_data_q <= '0;
      endcase
    end
  end

  `TMB_ASSERT_STABLE(AnswerHeld, slot_rvalid_o, slot_rready_i, slot_rdata_o)

endmodule
