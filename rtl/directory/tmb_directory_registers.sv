// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Registers of the directory, over AXI4-Lite: the block generated from registers/tmb_directory.rdl
// (docs/directory_registers.md), and what the slices report summed up for it. An error while none is
// held is kept, and raises the interrupt until it is cleared.
//
// Throughput: one access a cycle at best, two under way. Latency: two cycles. Ordering: reads and
// writes take turns; each kind in order. Back-pressure: a response that is not taken holds the port.
// No deadlock: needs nothing but the manager's readiness to take the response.

`include "tmb_assert.svh"

module tmb_directory_registers
  import tmb_directory_pkg::*;
#(
  parameter tmb_pkg::directory_cfg_t Cfg = tmb_pkg::DefaultDirectoryCfg,
  localparam int unsigned NumSlices = Cfg.Slices
) (
  input  logic          clk_i,
  input  logic          rst_ni,

  input  logic          awvalid_i,
  output logic          awready_o,
  input  logic [7:0]    awaddr_i,
  input  logic          wvalid_i,
  output logic          wready_o,
  input  logic [31:0]   wdata_i,
  input  logic [3:0]    wstrb_i,
  output logic          bvalid_o,
  input  logic          bready_i,
  output logic [1:0]    bresp_o,
  input  logic          arvalid_i,
  output logic          arready_o,
  input  logic [7:0]    araddr_i,
  output logic          rvalid_o,
  input  logic          rready_i,
  output logic [31:0]   rdata_o,
  output logic [1:0]    rresp_o,

  output logic [31:0]   timeout_period_o,
  input  logic          busy_i [NumSlices],
  input  slice_events_t events_i [NumSlices],
  input  logic          error_valid_i [NumSlices],
  input  error_t        error_i [NumSlices],
  output logic          interrupt_o      // an error is held
);

  // Sums over the slices, registered; as wide as the counters' increments.
  typedef logic [3:0] sum_t;
  typedef struct packed {
    sum_t errors;
    sum_t requests;
    sum_t operations;
    sum_t forwards;
    sum_t reads;
    sum_t writes;
  } sums_t;

  sums_t sums_d, sums_q;
  logic busy, error_valid;
  logic [7:0] error_slice;
  error_t error;
  always_comb begin
    sums_d = '0;
    busy = 1'b0;
    error_valid = 1'b0;
    error_slice = '0;
    error = '0;
    for (int unsigned s = 0; s < NumSlices; s++) begin
      sums_d.errors += sum_t'(error_valid_i[s]);
      sums_d.requests += sum_t'(events_i[s].request);
      sums_d.operations += sum_t'(events_i[s].operation);
      sums_d.forwards += sum_t'(events_i[s].forward);
      sums_d.reads += sum_t'(events_i[s].read);
      sums_d.writes += sum_t'(events_i[s].write);
      busy |= busy_i[s];
      if (error_valid_i[s]) begin
        error_valid = 1'b1;
        error_slice = 8'(s);
        error = error_i[s];
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) sums_q <= '0;
    else sums_q <= sums_d;
  end

  tmb_directory_regblock_pkg::tmb_directory__in_t to_block;
  tmb_directory_regblock_pkg::tmb_directory__out_t from_block;
  logic keep_error;
  assign keep_error = error_valid && !from_block.STATUS.ERROR.value;

  assign to_block.GEOMETRY.SLICES.next = 8'(NumSlices);
  assign to_block.GEOMETRY.UNITS.next = 8'(Cfg.UnitsPerSlice);
  assign to_block.GEOMETRY.SETS_LOG2.next = 8'($clog2(Cfg.SetsPerUnit));
  assign to_block.GEOMETRY.WAYS.next = 8'(Cfg.Ways);
  assign to_block.STATUS.BUSY.next = busy;
  assign to_block.STATUS.ERROR.hwset = keep_error;
  assign to_block.ERROR.INFO.next = error.info;
  assign to_block.ERROR.INFO.we = keep_error;
  assign to_block.ERROR.CAUSE.next = error.cause;
  assign to_block.ERROR.CAUSE.we = keep_error;
  assign to_block.ERROR.SLICE.next = error_slice;
  assign to_block.ERROR.SLICE.we = keep_error;
  assign to_block.ERRORS.VALUE.incr = sums_q.errors != '0;
  assign to_block.ERRORS.VALUE.incrvalue = sums_q.errors;
  assign to_block.REQUESTS.VALUE.incr = sums_q.requests != '0;
  assign to_block.REQUESTS.VALUE.incrvalue = sums_q.requests;
  assign to_block.OPERATIONS.VALUE.incr = sums_q.operations != '0;
  assign to_block.OPERATIONS.VALUE.incrvalue = sums_q.operations;
  assign to_block.FORWARDS.VALUE.incr = sums_q.forwards != '0;
  assign to_block.FORWARDS.VALUE.incrvalue = sums_q.forwards;
  assign to_block.READS.VALUE.incr = sums_q.reads != '0;
  assign to_block.READS.VALUE.incrvalue = sums_q.reads;
  assign to_block.WRITES.VALUE.incr = sums_q.writes != '0;
  assign to_block.WRITES.VALUE.incrvalue = sums_q.writes;
  assign timeout_period_o = from_block.TIMEOUT.VALUE.value;
  assign interrupt_o = from_block.STATUS.ERROR.value;

  tmb_directory_regblock u_block (
    .clk(clk_i),
    .rst_n(rst_ni),
    .s_axil_awready(awready_o),
    .s_axil_awvalid(awvalid_i),
    .s_axil_awaddr(awaddr_i),
    .s_axil_awprot('0),
    .s_axil_wready(wready_o),
    .s_axil_wvalid(wvalid_i),
    .s_axil_wdata(wdata_i),
    .s_axil_wstrb(wstrb_i),
    .s_axil_bready(bready_i),
    .s_axil_bvalid(bvalid_o),
    .s_axil_bresp(bresp_o),
    .s_axil_arready(arready_o),
    .s_axil_arvalid(arvalid_i),
    .s_axil_araddr(araddr_i),
    .s_axil_arprot('0),
    .s_axil_rready(rready_i),
    .s_axil_rvalid(rvalid_o),
    .s_axil_rdata(rdata_o),
    .s_axil_rresp(rresp_o),
    .hwif_in(to_block),
    .hwif_out(from_block)
  );

  `TMB_ASSERT_INIT(SumsFit, NumSlices < 16)

endmodule
