// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Directory controller: keeps the CPU's copies of the card's lines coherent, and lets an application on
// the card watch and steer them.
//
// Cfg           Slices: link channel pairs (Enzian: 2, even and odd lines). The units together have the
//               geometry of the CPU's last-level cache: Slices x UnitsPerSlice x SetsPerUnit x Ways lines
//               (default: 16 MiB)
// RecallDelay   cycles a request waits for a way before another line is recalled
//
// Each slice is complete in itself: its own link channels, operations and AXI4 manager. Which line is
// whose: see tmb_directory_pkg (fold_line). Throughput, latency, ordering, back-pressure and why
// there is no deadlock: tmb_directory_slice and tmb_directory_unit.
//
// Source: CCKit, sections 3 and 4.

module tmb_directory
  import tmb_pkg::*;
  import tmb_directory_pkg::*;
#(
  parameter directory_cfg_t Cfg = DefaultDirectoryCfg,
  parameter int unsigned RecallDelay = 255,
  localparam int unsigned NumSlices = Cfg.Slices
) (
  input  logic           clk_i,
  input  logic           rst_ni,

  // Link, from the CPU.
  input  logic           request_valid_i [NumSlices],
  output logic           request_ready_o [NumSlices],
  input  link_header_t   request_i [NumSlices],
  input  logic           request_data_valid_i [NumSlices],
  output logic           request_data_ready_o [NumSlices],
  input  link_data_t     request_data_i [NumSlices],
  input  logic           response_valid_i [NumSlices],
  output logic           response_ready_o [NumSlices],
  input  link_header_t   response_i [NumSlices],
  input  logic           response_data_valid_i [NumSlices],
  output logic           response_data_ready_o [NumSlices],
  input  link_data_t     response_data_i [NumSlices],

  // Link, to the CPU.
  output logic           forward_valid_o [NumSlices],
  input  logic           forward_ready_i [NumSlices],
  output link_header_t   forward_o [NumSlices],
  output logic           response_valid_o [NumSlices],
  input  logic           response_ready_i [NumSlices],
  output link_header_t   response_o [NumSlices],
  output logic           response_data_valid_o [NumSlices],
  input  logic           response_data_ready_i [NumSlices],
  output link_data_t     response_data_o [NumSlices],

  // Local operations of the application; an operation goes to its line's slice.
  input  logic           operation_valid_i [NumSlices],
  output logic           operation_ready_o [NumSlices],
  input  operation_req_t operation_i [NumSlices],
  output logic           operation_valid_o [NumSlices],
  input  logic           operation_ready_i [NumSlices],
  output operation_rsp_t operation_o [NumSlices],

  // Memory, or an application in front of it.
  output axi_req_t       axi_req_o [NumSlices],
  input  axi_rsp_t       axi_rsp_i [NumSlices],

  // Sweep of all lines: see tmb_directory_unit. Hold sweep_i until swept_o, then let it be low for four cycles.
  input  logic           sweep_i,
  input  logic           release_i,
  output logic           swept_o,

  // Registers (docs/directory_registers.md), AXI4-Lite.
  input  logic           awvalid_i,
  output logic           awready_o,
  input  logic [7:0]     awaddr_i,
  input  logic           wvalid_i,
  output logic           wready_o,
  input  logic [31:0]    wdata_i,
  input  logic [3:0]     wstrb_i,
  output logic           bvalid_o,
  input  logic           bready_i,
  output logic [1:0]     bresp_o,
  input  logic           arvalid_i,
  output logic           arready_o,
  input  logic [7:0]     araddr_i,
  output logic           rvalid_o,
  input  logic           rready_i,
  output logic [31:0]    rdata_o,
  output logic [1:0]     rresp_o,
  output logic           interrupt_o
);

  logic [31:0] timeout_period;
  logic busy [NumSlices];
  slice_events_t events [NumSlices];
  logic error_valid [NumSlices];
  error_t errors [NumSlices];

  logic [NumSlices-1:0] swept;
  assign swept_o = &swept;

  for (genvar s = 0; s < NumSlices; s++) begin : gen_slice
    tmb_directory_slice #(
      .Slice(s),
      .Cfg(Cfg),
      .RecallDelay(RecallDelay)
    ) u_slice (
      .clk_i,
      .rst_ni,
      .request_valid_i(request_valid_i[s]),
      .request_ready_o(request_ready_o[s]),
      .request_i(request_i[s]),
      .request_data_valid_i(request_data_valid_i[s]),
      .request_data_ready_o(request_data_ready_o[s]),
      .request_data_i(request_data_i[s]),
      .response_valid_i(response_valid_i[s]),
      .response_ready_o(response_ready_o[s]),
      .response_i(response_i[s]),
      .response_data_valid_i(response_data_valid_i[s]),
      .response_data_ready_o(response_data_ready_o[s]),
      .response_data_i(response_data_i[s]),
      .forward_valid_o(forward_valid_o[s]),
      .forward_ready_i(forward_ready_i[s]),
      .forward_o(forward_o[s]),
      .response_valid_o(response_valid_o[s]),
      .response_ready_i(response_ready_i[s]),
      .response_o(response_o[s]),
      .response_data_valid_o(response_data_valid_o[s]),
      .response_data_ready_i(response_data_ready_i[s]),
      .response_data_o(response_data_o[s]),
      .operation_valid_i(operation_valid_i[s]),
      .operation_ready_o(operation_ready_o[s]),
      .operation_i(operation_i[s]),
      .operation_valid_o(operation_valid_o[s]),
      .operation_ready_i(operation_ready_i[s]),
      .operation_o(operation_o[s]),
      .axi_req_o(axi_req_o[s]),
      .axi_rsp_i(axi_rsp_i[s]),
      .sweep_i,
      .release_i,
      .swept_o(swept[s]),
      .timeout_period_i(timeout_period),
      .busy_o(busy[s]),
      .events_o(events[s]),
      .error_valid_o(error_valid[s]),
      .error_o(errors[s])
    );
  end

  tmb_directory_registers #(
    .Cfg(Cfg)
  ) u_registers (
    .clk_i,
    .rst_ni,
    .awvalid_i,
    .awready_o,
    .awaddr_i,
    .wvalid_i,
    .wready_o,
    .wdata_i,
    .wstrb_i,
    .bvalid_o,
    .bready_i,
    .bresp_o,
    .arvalid_i,
    .arready_o,
    .araddr_i,
    .rvalid_o,
    .rready_i,
    .rdata_o,
    .rresp_o,
    .timeout_period_o(timeout_period),
    .busy_i(busy),
    .events_i(events),
    .error_valid_i(error_valid),
    .error_i(errors),
    .interrupt_o
  );

endmodule
