// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Joins the slot's AXI4-Lite port of 32 bits to the register bundles of a kernel: one or two AXI4-Lite ports of 32 or 64
// data bits.
//
// Of two bundles, the second has the upper half of the slot's window: address bit 15 selects, and is 0 at the kernel. At
// a bundle of 64 bits, address bit 2 selects the half of the word: the address loses its low three bits, the strobes
// say which half a write changes.
//
// NumBundles  1 or 2
// Wide        one bit a bundle: it has 64 data bits
//
// Throughput: one write and one read at a time. Latency: one cycle for an address, none for data and responses.
// Ordering: writes and reads are independent, as on the slot's port. Back-pressure: AW and AR wait for the response of
// the access before; W waits for its address.
// No deadlock: a response of the kernel needs nothing but the address and data that were passed, and the slot takes it.

`include "tmb_assert.svh"

module tmb_register_bundles #(
  parameter int unsigned NumBundles = 2,
  parameter logic [NumBundles-1:0] Wide = '0,
  localparam int unsigned AddrWidth = 16,
  localparam int unsigned SlotWidth = 32,
  localparam int unsigned KernelWidth = 64
) (
  input  logic clk_i,
  input  logic rst_ni,
  // the slot's side
  input  logic                   slot_awvalid_i,
  output logic                   slot_awready_o,
  input  logic [AddrWidth-1:0]   slot_awaddr_i,
  input  logic                   slot_wvalid_i,
  output logic                   slot_wready_o,
  input  logic [SlotWidth-1:0]   slot_wdata_i,
  input  logic [SlotWidth/8-1:0] slot_wstrb_i,
  output logic                   slot_bvalid_o,
  input  logic                   slot_bready_i,
  output logic [1:0]             slot_bresp_o,
  input  logic                   slot_arvalid_i,
  output logic                   slot_arready_o,
  input  logic [AddrWidth-1:0]   slot_araddr_i,
  output logic                   slot_rvalid_o,
  input  logic                   slot_rready_i,
  output logic [SlotWidth-1:0]   slot_rdata_o,
  output logic [1:0]             slot_rresp_o,
  // the kernel's side; addresses and write data are those of every bundle
  output logic [NumBundles-1:0]                  kernel_awvalid_o,
  input  logic [NumBundles-1:0]                  kernel_awready_i,
  output logic [AddrWidth-1:0]                   kernel_awaddr_o,
  output logic [NumBundles-1:0]                  kernel_wvalid_o,
  input  logic [NumBundles-1:0]                  kernel_wready_i,
  output logic [KernelWidth-1:0]                 kernel_wdata_o,
  output logic [KernelWidth/8-1:0]               kernel_wstrb_o,
  input  logic [NumBundles-1:0]                  kernel_bvalid_i,
  output logic [NumBundles-1:0]                  kernel_bready_o,
  input  logic [NumBundles-1:0][1:0]             kernel_bresp_i,
  output logic [NumBundles-1:0]                  kernel_arvalid_o,
  input  logic [NumBundles-1:0]                  kernel_arready_i,
  output logic [AddrWidth-1:0]                   kernel_araddr_o,
  input  logic [NumBundles-1:0]                  kernel_rvalid_i,
  output logic [NumBundles-1:0]                  kernel_rready_o,
  input  logic [NumBundles-1:0][KernelWidth-1:0] kernel_rdata_i,
  input  logic [NumBundles-1:0][1:0]             kernel_rresp_i
);

  localparam int unsigned HalfBit = 2;
  localparam int unsigned SelectBit = AddrWidth - 1;

  typedef logic [AddrWidth-1:0] addr_t;

  function automatic logic bundle_of(addr_t addr);
    return (NumBundles > 1) && addr[SelectBit];
  endfunction

  function automatic addr_t addr_at(addr_t addr, logic is_wide);
    addr_t at_kernel;
    at_kernel = addr;
    if (NumBundles > 1) at_kernel[SelectBit] = 1'b0;
    if (is_wide) at_kernel[HalfBit:0] = '0;
    return at_kernel;
  endfunction

  // Writes

  logic write_busy_q, write_addressed_q, write_filled_q;
  addr_t write_addr_q;
  logic write_bundle, write_wide, write_begin, write_end;

  assign write_bundle = bundle_of(write_addr_q);
  assign write_wide = Wide[write_bundle];
  assign slot_awready_o = !write_busy_q;
  assign write_begin = slot_awvalid_i && slot_awready_o;
  assign write_end = slot_bvalid_o && slot_bready_i;
  assign kernel_awaddr_o = addr_at(write_addr_q, write_wide);
  assign kernel_wdata_o = {2{slot_wdata_i}};
  assign kernel_wstrb_o = (write_wide && write_addr_q[HalfBit]) ?
      {slot_wstrb_i, {SlotWidth / 8{1'b0}}} : {{SlotWidth / 8{1'b0}}, slot_wstrb_i};
  assign slot_wready_o = write_busy_q && !write_filled_q && kernel_wready_i[write_bundle];
  assign slot_bvalid_o = write_busy_q && kernel_bvalid_i[write_bundle];
  assign slot_bresp_o = kernel_bresp_i[write_bundle];

  always_comb begin
    kernel_awvalid_o = '0;
    kernel_wvalid_o = '0;
    kernel_bready_o = '0;
    kernel_awvalid_o[write_bundle] = write_busy_q && !write_addressed_q;
    kernel_wvalid_o[write_bundle] = write_busy_q && !write_filled_q && slot_wvalid_i;
    kernel_bready_o[write_bundle] = write_busy_q && slot_bready_i;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_busy_q <= 1'b0;
      write_addressed_q <= 1'b0;
      write_filled_q <= 1'b0;
    end else begin
      if (write_begin) write_busy_q <= 1'b1;
      else if (write_end) write_busy_q <= 1'b0;
      if (write_end) begin
        write_addressed_q <= 1'b0;
        write_filled_q <= 1'b0;
      end else begin
        if (|(kernel_awvalid_o & kernel_awready_i)) write_addressed_q <= 1'b1;
        if (slot_wvalid_i && slot_wready_o) write_filled_q <= 1'b1;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (write_begin) write_addr_q <= slot_awaddr_i;
  end

  // Reads

  logic read_busy_q, read_addressed_q;
  addr_t read_addr_q;
  logic read_bundle, read_wide, read_begin, read_end;

  assign read_bundle = bundle_of(read_addr_q);
  assign read_wide = Wide[read_bundle];
  assign slot_arready_o = !read_busy_q;
  assign read_begin = slot_arvalid_i && slot_arready_o;
  assign read_end = slot_rvalid_o && slot_rready_i;
  assign kernel_araddr_o = addr_at(read_addr_q, read_wide);
  assign slot_rvalid_o = read_busy_q && kernel_rvalid_i[read_bundle];
  assign slot_rresp_o = kernel_rresp_i[read_bundle];
  assign slot_rdata_o = (read_wide && read_addr_q[HalfBit]) ?
      kernel_rdata_i[read_bundle][SlotWidth+:SlotWidth] :
      kernel_rdata_i[read_bundle][0+:SlotWidth];

  always_comb begin
    kernel_arvalid_o = '0;
    kernel_rready_o = '0;
    kernel_arvalid_o[read_bundle] = read_busy_q && !read_addressed_q;
    kernel_rready_o[read_bundle] = read_busy_q && slot_rready_i;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_busy_q <= 1'b0;
      read_addressed_q <= 1'b0;
    end else begin
      if (read_begin) read_busy_q <= 1'b1;
      else if (read_end) read_busy_q <= 1'b0;
      if (read_end) read_addressed_q <= 1'b0;
      else if (|(kernel_arvalid_o & kernel_arready_i)) read_addressed_q <= 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (read_begin) read_addr_q <= slot_araddr_i;
  end

  `TMB_ASSERT_INIT(CountIsLegal, NumBundles inside {1, 2})

endmodule
