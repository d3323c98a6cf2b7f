// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The assertion modules in each of their roles, on the same signals. Only the chosen one is out of
// reset and sees a VALID: 0 both parties ours, 1 a kernel is the manager, 2 responses in order of each ID, 3 AXI4-Lite,
// 4 AXI4-Lite with a kernel as subordinate.

module axi_assert_bench_top (
  input logic         clk_i,
  input logic         rst_ni,
  input logic [2:0]   role_i,
  input logic         suspended_i,
  input logic [15:0]  awid_i,
  input logic [63:0]  awaddr_i,
  input logic [7:0]   awlen_i,
  input logic [2:0]   awsize_i,
  input logic [1:0]   awburst_i,
  input logic         awvalid_i,
  input logic         awready_i,
  input logic [511:0] wdata_i,
  input logic [63:0]  wstrb_i,
  input logic         wlast_i,
  input logic         wvalid_i,
  input logic         wready_i,
  input logic [15:0]  bid_i,
  input logic [1:0]   bresp_i,
  input logic         bvalid_i,
  input logic         bready_i,
  input logic [15:0]  arid_i,
  input logic [63:0]  araddr_i,
  input logic [7:0]   arlen_i,
  input logic [2:0]   arsize_i,
  input logic [1:0]   arburst_i,
  input logic         arvalid_i,
  input logic         arready_i,
  input logic [15:0]  rid_i,
  input logic [511:0] rdata_i,
  input logic [1:0]   rresp_i,
  input logic         rlast_i,
  input logic         rvalid_i,
  input logic         rready_i
);

  logic chosen [5];
  logic active [5];
  for (genvar i = 0; i < 5; i++) begin : gen_role
    assign chosen[i] = role_i == 3'(i);
    assign active[i] = rst_ni && chosen[i];
  end

  tmb_axi_assert #(
    .IdWidth(4)
  ) u_ours (
    .clk_i,
    .rst_ni(active[0]),
    .awid_i,
    .awaddr_i,
    .awlen_i,
    .awsize_i,
    .awburst_i,
    .awvalid_i(awvalid_i && chosen[0]),
    .awready_i,
    .wdata_i,
    .wstrb_i,
    .wlast_i,
    .wvalid_i(wvalid_i && chosen[0]),
    .wready_i,
    .bid_i,
    .bresp_i,
    .bvalid_i(bvalid_i && chosen[0]),
    .bready_i,
    .arid_i,
    .araddr_i,
    .arlen_i,
    .arsize_i,
    .arburst_i,
    .arvalid_i(arvalid_i && chosen[0]),
    .arready_i,
    .rid_i,
    .rdata_i,
    .rresp_i,
    .rlast_i,
    .rvalid_i(rvalid_i && chosen[0]),
    .rready_i
  );

  tmb_axi_assert #(
    .ManagerOurs(1'b0),
    .IdWidth(16)
  ) u_kernel (
    .clk_i,
    .rst_ni(active[1]),
    .awid_i,
    .awaddr_i,
    .awlen_i,
    .awsize_i,
    .awburst_i,
    .awvalid_i(awvalid_i && chosen[1]),
    .awready_i,
    .wdata_i,
    .wstrb_i,
    .wlast_i,
    .wvalid_i(wvalid_i && chosen[1]),
    .wready_i,
    .bid_i,
    .bresp_i,
    .bvalid_i(bvalid_i && chosen[1]),
    .bready_i,
    .arid_i,
    .araddr_i,
    .arlen_i,
    .arsize_i,
    .arburst_i,
    .arvalid_i(arvalid_i && chosen[1]),
    .arready_i,
    .rid_i,
    .rdata_i,
    .rresp_i,
    .rlast_i,
    .rvalid_i(rvalid_i && chosen[1]),
    .rready_i
  );

  tmb_axi_assert #(
    .IdWidth(2),
    .InOrder(1'b0),
    .MaxBursts(8)
  ) u_by_id (
    .clk_i,
    .rst_ni(active[2]),
    .awid_i,
    .awaddr_i,
    .awlen_i,
    .awsize_i,
    .awburst_i,
    .awvalid_i(awvalid_i && chosen[2]),
    .awready_i,
    .wdata_i,
    .wstrb_i,
    .wlast_i,
    .wvalid_i(wvalid_i && chosen[2]),
    .wready_i,
    .bid_i,
    .bresp_i,
    .bvalid_i(bvalid_i && chosen[2]),
    .bready_i,
    .arid_i,
    .araddr_i,
    .arlen_i,
    .arsize_i,
    .arburst_i,
    .arvalid_i(arvalid_i && chosen[2]),
    .arready_i,
    .rid_i,
    .rdata_i,
    .rresp_i,
    .rlast_i,
    .rvalid_i(rvalid_i && chosen[2]),
    .rready_i
  );

  tmb_axi_lite_assert #(
    .SubordinateOurs(1'b1)
  ) u_lite (
    .clk_i,
    .rst_ni(active[3]),
    .suspended_i,
    .awaddr_i(awaddr_i[31:0]),
    .awvalid_i(awvalid_i && chosen[3]),
    .awready_i,
    .wdata_i(wdata_i[31:0]),
    .wstrb_i(wstrb_i[3:0]),
    .wvalid_i(wvalid_i && chosen[3]),
    .wready_i,
    .bresp_i,
    .bvalid_i(bvalid_i && chosen[3]),
    .bready_i,
    .araddr_i(araddr_i[31:0]),
    .arvalid_i(arvalid_i && chosen[3]),
    .arready_i,
    .rdata_i(rdata_i[31:0]),
    .rresp_i,
    .rvalid_i(rvalid_i && chosen[3]),
    .rready_i
  );

  tmb_axi_lite_assert #(
    .SubordinateOurs(1'b0)
  ) u_lite_kernel (
    .clk_i,
    .rst_ni(active[4]),
    .suspended_i,
    .awaddr_i(awaddr_i[31:0]),
    .awvalid_i(awvalid_i && chosen[4]),
    .awready_i,
    .wdata_i(wdata_i[31:0]),
    .wstrb_i(wstrb_i[3:0]),
    .wvalid_i(wvalid_i && chosen[4]),
    .wready_i,
    .bresp_i,
    .bvalid_i(bvalid_i && chosen[4]),
    .bready_i,
    .araddr_i(araddr_i[31:0]),
    .arvalid_i(arvalid_i && chosen[4]),
    .arready_i,
    .rdata_i(rdata_i[31:0]),
    .rresp_i,
    .rvalid_i(rvalid_i && chosen[4]),
    .rready_i
  );

endmodule
