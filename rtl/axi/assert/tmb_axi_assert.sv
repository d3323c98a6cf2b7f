// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Every rule of AXI4 (IHI 0022H, part A) that concerns our signals, watched on one bus. For
// simulation only: nothing is driven.
//
// ManagerOurs, SubordinateOurs  whose breach it is: one of ours ends the simulation, a kernel's is
//                               reported once, with the rule, and the simulation goes on
// IdWidth                       IDs in use; the upper bits are zero
// InOrder                       the subordinate promises responses in order over all IDs, as the
//                               shell does; otherwise in order of each ID (IdWidth at most 4 then)
// MaxBursts                     bursts of a direction (and ID) that may be under way
//
// The manager: an offer stays; none in reset; legal burst types, sizes and lengths; WRAP aligned; no
// burst across 4 KiB; as many beats of data as announced, WLAST on the last and only there; strobes
// only on the lanes of the beat; IDs of the announced width. The subordinate: an offer stays; none in
// reset; a response only to a burst that was accepted, of a write also with all its data; its ID; the
// announced number of beats, RLAST on the last and only there; no EXOKAY, which is never requested.
// VALID and READY are never unknown (seen by simulators with four states).
//
// A kernel that broke a rule may have confused every count of bursts. From then on, until its
// slot is reset, the subordinate is held to its offers only. That is so on the bus where the rule was
// broken. The guard closes the whole slot then, but what it answers on the slot's other ports is legal
// AXI, and is held to all rules.

module tmb_axi_assert #(
  parameter bit ManagerOurs = 1'b1,
  parameter bit SubordinateOurs = 1'b1,
  parameter int unsigned IdWidth = 1,
  parameter bit InOrder = 1'b1,
  parameter int unsigned MaxBursts = 512
) (
  input logic         clk_i,
  input logic         rst_ni,
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

  logic write_broken, read_broken, confused;
  assign confused = write_broken || read_broken;

  tmb_axi_write_assert #(
    .ManagerOurs    (ManagerOurs),
    .SubordinateOurs(SubordinateOurs),
    .IdWidth        (IdWidth),
    .InOrder        (InOrder),
    .MaxBursts      (MaxBursts)
  ) u_write (
    .clk_i,
    .rst_ni,
    .confused_i(confused),
    .awid_i,
    .awaddr_i,
    .awlen_i,
    .awsize_i,
    .awburst_i,
    .awvalid_i,
    .awready_i,
    .wdata_i,
    .wstrb_i,
    .wlast_i,
    .wvalid_i,
    .wready_i,
    .bid_i,
    .bresp_i,
    .bvalid_i,
    .bready_i,
    .broken_o(write_broken)
  );

  tmb_axi_read_assert #(
    .ManagerOurs    (ManagerOurs),
    .SubordinateOurs(SubordinateOurs),
    .IdWidth        (IdWidth),
    .InOrder        (InOrder),
    .MaxBursts      (MaxBursts)
  ) u_read (
    .clk_i,
    .rst_ni,
    .confused_i(confused),
    .arid_i,
    .araddr_i,
    .arlen_i,
    .arsize_i,
    .arburst_i,
    .arvalid_i,
    .arready_i,
    .rid_i,
    .rdata_i,
    .rresp_i,
    .rlast_i,
    .rvalid_i,
    .rready_i,
    .broken_o(read_broken)
  );

endmodule
