// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Every rule of AXI4-Lite that concerns our signals, watched on one bus. For simulation only.
//
// ManagerOurs, SubordinateOurs  as for tmb_axi_assert
//
// An offer stays, and there is none in reset; a response only to an access that was accepted, of a
// write also with its data; no EXOKAY.
//
// suspended_i: the manager has given the subordinate up, and takes its offers back. After a breach of
// a kernel it may do so too.

`include "tmb_bus_rule.svh"

module tmb_axi_lite_assert #(
  parameter bit ManagerOurs = 1'b1,
  parameter bit SubordinateOurs = 1'b1,
  parameter int unsigned AddrWidth = 32
) (
  input logic                 clk_i,
  input logic                 rst_ni,
  input logic                 suspended_i,
  input logic [AddrWidth-1:0] awaddr_i,
  input logic                 awvalid_i,
  input logic                 awready_i,
  input logic [31:0]          wdata_i,
  input logic [3:0]           wstrb_i,
  input logic                 wvalid_i,
  input logic                 wready_i,
  input logic [1:0]           bresp_i,
  input logic                 bvalid_i,
  input logic                 bready_i,
  input logic [AddrWidth-1:0] araddr_i,
  input logic                 arvalid_i,
  input logic                 arready_i,
  input logic [31:0]          rdata_i,
  input logic [1:0]           rresp_i,
  input logic                 rvalid_i,
  input logic                 rready_i
);

  logic [4:0] broken;
  logic reported_q, confused;
  assign confused = suspended_i || (!SubordinateOurs && (reported_q || broken != '0));

  tmb_offer_assert #(
    .Ours (ManagerOurs),
    .Width(AddrWidth)
  ) u_aw (
    .clk_i    (clk_i),
    .rst_ni   (rst_ni),
    .suspended_i(confused),
    .valid_i  (awvalid_i),
    .ready_i  (awready_i),
    .payload_i(awaddr_i),
    .broken_o (broken[0])
  );

  tmb_offer_assert #(
    .Ours (ManagerOurs),
    .Width(36)
  ) u_w (
    .clk_i    (clk_i),
    .rst_ni   (rst_ni),
    .suspended_i(confused),
    .valid_i  (wvalid_i),
    .ready_i  (wready_i),
    .payload_i({wdata_i, wstrb_i}),
    .broken_o (broken[1])
  );

  tmb_offer_assert #(
    .Ours (SubordinateOurs),
    .Width(2)
  ) u_b (
    .clk_i    (clk_i),
    .rst_ni   (rst_ni),
    .suspended_i(suspended_i),
    .valid_i  (bvalid_i),
    .ready_i  (bready_i),
    .payload_i(bresp_i),
    .broken_o (broken[2])
  );

  tmb_offer_assert #(
    .Ours (ManagerOurs),
    .Width(AddrWidth)
  ) u_ar (
    .clk_i    (clk_i),
    .rst_ni   (rst_ni),
    .suspended_i(confused),
    .valid_i  (arvalid_i),
    .ready_i  (arready_i),
    .payload_i(araddr_i),
    .broken_o (broken[3])
  );

  tmb_offer_assert #(
    .Ours (SubordinateOurs),
    .Width(34)
  ) u_r (
    .clk_i    (clk_i),
    .rst_ni   (rst_ni),
    .suspended_i(suspended_i),
    .valid_i  (rvalid_i),
    .ready_i  (rready_i),
    .payload_i({rdata_i, rresp_i}),
    .broken_o (broken[4])
  );

  // Accesses of which this many more have been accepted than answered.
  typedef logic [7:0] count_t;
  count_t addresses_q, data_q, reads_q;

  function automatic count_t next(count_t count, logic more, logic less);
    return (more == less) ? count : more ? count + count_t'(1) : count - count_t'(1);
  endfunction

  logic b_taken;
  assign b_taken = bvalid_i && bready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      addresses_q <= '0;
      data_q <= '0;
      reads_q <= '0;
      reported_q <= 1'b0;
    end else begin
      addresses_q <= next(addresses_q, awvalid_i && awready_i, b_taken);
      data_q <= next(data_q, wvalid_i && wready_i, b_taken);
      reads_q <= next(reads_q, arvalid_i && arready_i, rvalid_i && rready_i);
      if (bvalid_i && !suspended_i) begin
        `TMB_BUS_RULE(SubordinateOurs, addresses_q != '0 && data_q != '0,
                      "BVALID without a complete write")
        `TMB_BUS_RULE(SubordinateOurs, bresp_i != 2'b01, "BRESP is EXOKAY, which AXI4-Lite has not")
      end
      if (rvalid_i && !suspended_i) begin
        `TMB_BUS_RULE(SubordinateOurs, reads_q != '0, "RVALID without a read")
        `TMB_BUS_RULE(SubordinateOurs, rresp_i != 2'b01, "RRESP is EXOKAY, which AXI4-Lite has not")
      end
    end
  end

endmodule
