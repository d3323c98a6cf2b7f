// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The directory with plain vectors for ports, for the simulation in Rust (crates/coherence). Wires only.

module tmb_directory_harness
  import tmb_pkg::*;
  import tmb_directory_pkg::*;
#(
  parameter int unsigned NumSlices = 2,
  parameter int unsigned UnitsPerSlice = 32,
  parameter int unsigned SetsPerUnit = 128,
  parameter int unsigned Ways = 16,
  parameter int unsigned Patience = 255
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         request_valid_i [NumSlices],
  input  logic [63:0]  request_i [NumSlices],
  input  logic         request_data_valid_i [NumSlices],
  input  logic [63:0]  request_data_header_i [NumSlices],
  input  logic [511:0] request_data_row_i [NumSlices],
  input  logic         request_data_last_i [NumSlices],
  input  logic         response_valid_i [NumSlices],
  input  logic [63:0]  response_i [NumSlices],
  input  logic         response_data_valid_i [NumSlices],
  input  logic [63:0]  response_data_header_i [NumSlices],
  input  logic [511:0] response_data_row_i [NumSlices],
  input  logic         response_data_last_i [NumSlices],
  input  logic         forward_ready_i [NumSlices],
  input  logic         response_ready_i [NumSlices],
  input  logic         response_data_ready_i [NumSlices],
  input  logic         operation_valid_i [NumSlices],
  input  logic [2:0]   operation_kind_i [NumSlices],
  input  logic [5:0]   operation_tag_i [NumSlices],
  input  logic [32:0]  operation_line_i [NumSlices],
  input  logic [3:0]   operation_dmask_i [NumSlices],
  input  logic [511:0] operation_row_i [NumSlices],
  input  logic         operation_last_i [NumSlices],
  input  logic         operation_ready_i [NumSlices],
  input  logic         ar_ready_i [NumSlices],
  input  logic         aw_ready_i [NumSlices],
  input  logic         w_ready_i [NumSlices],
  input  logic         r_valid_i [NumSlices],
  input  logic [15:0]  r_id_i [NumSlices],
  input  logic [1:0]   r_resp_i [NumSlices],
  input  logic         r_last_i [NumSlices],
  input  logic [511:0] r_row_i [NumSlices],
  input  logic         b_valid_i [NumSlices],
  input  logic [15:0]  b_id_i [NumSlices],
  input  logic [1:0]   b_resp_i [NumSlices],
  output logic         request_ready_o [NumSlices],
  output logic         request_data_ready_o [NumSlices],
  output logic         response_ready_o [NumSlices],
  output logic         response_data_ready_o [NumSlices],
  output logic         forward_valid_o [NumSlices],
  output logic [63:0]  forward_o [NumSlices],
  output logic         response_valid_o [NumSlices],
  output logic [63:0]  response_o [NumSlices],
  output logic         response_data_valid_o [NumSlices],
  output logic [63:0]  response_data_header_o [NumSlices],
  output logic [511:0] response_data_row_o [NumSlices],
  output logic         response_data_last_o [NumSlices],
  output logic         operation_ready_o [NumSlices],
  output logic         operation_valid_o [NumSlices],
  output logic [5:0]   operation_tag_o [NumSlices],
  output logic [511:0] operation_row_o [NumSlices],
  output logic         operation_last_o [NumSlices],
  output logic         ar_valid_o [NumSlices],
  output logic [15:0]  ar_id_o [NumSlices],
  output logic [63:0]  ar_addr_o [NumSlices],
  output logic         aw_valid_o [NumSlices],
  output logic [15:0]  aw_id_o [NumSlices],
  output logic [63:0]  aw_addr_o [NumSlices],
  output logic         w_valid_o [NumSlices],
  output logic [63:0]  w_strb_o [NumSlices],
  output logic         w_last_o [NumSlices],
  output logic [511:0] w_row_o [NumSlices],
  output logic         r_ready_o [NumSlices],
  output logic         b_ready_o [NumSlices],
  // Registers: a write is address and data together; responses are always taken.
  input  logic         reg_write_i,
  input  logic [7:0]   reg_write_addr_i,
  input  logic [31:0]  reg_write_data_i,
  input  logic         reg_read_i,
  input  logic [7:0]   reg_read_addr_i,
  output logic         reg_read_valid_o,
  output logic [31:0]  reg_read_data_o,
  output logic         interrupt_o
);

  link_header_t request [NumSlices], response_in [NumSlices];
  link_data_t request_data [NumSlices], response_data_in [NumSlices];
  link_header_t forward [NumSlices], response_out [NumSlices];
  link_data_t response_data_out [NumSlices];
  operation_req_t operation_in [NumSlices];
  operation_rsp_t operation_out [NumSlices];
  axi_req_t axi_req [NumSlices];
  axi_rsp_t axi_rsp [NumSlices];

  for (genvar s = 0; s < NumSlices; s++) begin : gen_slice
    assign request[s] = request_i[s];
    assign response_in[s] = response_i[s];
    assign request_data[s] =
        {request_data_header_i[s], request_data_row_i[s], request_data_last_i[s]};
    assign response_data_in[s] =
        {response_data_header_i[s], response_data_row_i[s], response_data_last_i[s]};
    assign forward_o[s] = forward[s];
    assign response_o[s] = response_out[s];
    assign {response_data_header_o[s], response_data_row_o[s], response_data_last_o[s]} =
        response_data_out[s];
    assign operation_in[s] = {operation_kind_i[s], operation_tag_i[s], operation_line_i[s],
                              operation_dmask_i[s], operation_row_i[s], operation_last_i[s]};
    assign {operation_tag_o[s], operation_row_o[s], operation_last_o[s]} = operation_out[s];
    assign ar_valid_o[s] = axi_req[s].ar_valid;
    assign ar_id_o[s] = axi_req[s].ar.id;
    assign ar_addr_o[s] = axi_req[s].ar.addr;
    assign aw_valid_o[s] = axi_req[s].aw_valid;
    assign aw_id_o[s] = axi_req[s].aw.id;
    assign aw_addr_o[s] = axi_req[s].aw.addr;
    assign w_valid_o[s] = axi_req[s].w_valid;
    assign w_strb_o[s] = axi_req[s].w.strb;
    assign w_last_o[s] = axi_req[s].w.last;
    assign w_row_o[s] = axi_req[s].w.data;
    assign r_ready_o[s] = axi_req[s].r_ready;
    assign b_ready_o[s] = axi_req[s].b_ready;
    assign axi_rsp[s].ar_ready = ar_ready_i[s];
    assign axi_rsp[s].aw_ready = aw_ready_i[s];
    assign axi_rsp[s].w_ready = w_ready_i[s];
    assign axi_rsp[s].r_valid = r_valid_i[s];
    assign axi_rsp[s].r = '{
        id: r_id_i[s],
        resp: axi_resp_e'(r_resp_i[s]),
        last: r_last_i[s],
        data: r_row_i[s]
    };
    assign axi_rsp[s].b_valid = b_valid_i[s];
    assign axi_rsp[s].b = '{id: b_id_i[s], resp: axi_resp_e'(b_resp_i[s])};
  end

  tmb_directory #(
    .Cfg('{Slices: NumSlices, UnitsPerSlice: UnitsPerSlice, SetsPerUnit: SetsPerUnit, Ways: Ways}),
    .RecallDelay(Patience)
  ) u_directory (
    .clk_i,
    .rst_ni,
    .request_valid_i,
    .request_ready_o,
    .request_i(request),
    .request_data_valid_i,
    .request_data_ready_o,
    .request_data_i(request_data),
    .response_valid_i,
    .response_ready_o,
    .response_i(response_in),
    .response_data_valid_i,
    .response_data_ready_o,
    .response_data_i(response_data_in),
    .forward_valid_o,
    .forward_ready_i,
    .forward_o(forward),
    .response_valid_o,
    .response_ready_i,
    .response_o(response_out),
    .response_data_valid_o,
    .response_data_ready_i,
    .response_data_o(response_data_out),
    .operation_valid_i,
    .operation_ready_o,
    .operation_i(operation_in),
    .operation_valid_o,
    .operation_ready_i,
    .operation_o(operation_out),
    .axi_req_o(axi_req),
    .axi_rsp_i(axi_rsp),
    .awvalid_i(reg_write_i),
    .awready_o(),
    .awaddr_i(reg_write_addr_i),
    .wvalid_i(reg_write_i),
    .wready_o(),
    .wdata_i(reg_write_data_i),
    .wstrb_i('1),
    .bvalid_o(),
    .bready_i(1'b1),
    .bresp_o(),
    .arvalid_i(reg_read_i),
    .arready_o(),
    .araddr_i(reg_read_addr_i),
    .rvalid_o(reg_read_valid_o),
    .rready_i(1'b1),
    .rdata_o(reg_read_data_o),
    .rresp_o(),
    .sweep_i(1'b0),
    .release_i(1'b0),
    .swept_o(),
    .interrupt_o
  );

endmodule
