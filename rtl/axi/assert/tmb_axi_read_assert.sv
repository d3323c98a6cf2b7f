// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The rules of AXI4 for reads: see tmb_axi_assert, which has the parameters.

`include "tmb_assert.svh"
`include "tmb_bus_rule.svh"

module tmb_axi_read_assert import tmb_axi_assert_pkg::*; #(
  parameter bit ManagerOurs = 1'b1,
  parameter bit SubordinateOurs = 1'b1,
  parameter int unsigned IdWidth = 1,
  parameter bit InOrder = 1'b1,
  parameter int unsigned MaxBursts = 512
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         confused_i,
  input  logic [15:0]  arid_i,
  input  logic [63:0]  araddr_i,
  input  logic [7:0]   arlen_i,
  input  logic [2:0]   arsize_i,
  input  logic [1:0]   arburst_i,
  input  logic         arvalid_i,
  input  logic         arready_i,
  input  logic [15:0]  rid_i,
  input  logic [511:0] rdata_i,
  input  logic [1:0]   rresp_i,
  input  logic         rlast_i,
  input  logic         rvalid_i,
  input  logic         rready_i,
  output logic         broken_o  // by a kernel, since the reset
);

  localparam int unsigned IndexWidth = $clog2(MaxBursts);
  localparam int unsigned ListWidth = InOrder ? 1 : IdWidth;
  localparam int unsigned NumLists = InOrder ? 1 : 2 ** IdWidth;
  typedef logic [IndexWidth:0] pointer_t;  // one bit more: tells full from empty
  typedef logic [ListWidth-1:0] list_t;

  typedef struct packed {
    logic [15:0] id;
    logic [7:0]  len;
  } due_t;

  logic [2:0] offer_broken;
  logic reported_q;

  tmb_offer_assert #(
    .Ours (ManagerOurs),
    .Width(93)
  ) u_ar (
    .clk_i    (clk_i),
    .rst_ni   (rst_ni),
    .suspended_i(1'b0),
    .valid_i  (arvalid_i),
    .ready_i  (arready_i),
    .payload_i({arid_i, araddr_i, arlen_i, arsize_i, arburst_i}),
    .broken_o (offer_broken[0])
  );
  tmb_offer_assert #(
    .Ours (SubordinateOurs),
    .Width(19)
  ) u_r (
    .clk_i    (clk_i),
    .rst_ni   (rst_ni),
    .suspended_i(1'b0),
    .valid_i  (rvalid_i),
    .ready_i  (rready_i),
    .payload_i({rid_i, rresp_i, rlast_i}),
    .broken_o (offer_broken[1])
  );
  tmb_offer_assert #(
    .Ours (SubordinateOurs),
    .Width(512)
  ) u_r_row (
    .clk_i    (clk_i),
    .rst_ni   (rst_ni),
    .suspended_i(1'b0),
    .valid_i  (rvalid_i),
    .ready_i  (rready_i),
    .payload_i(rdata_i),
    .broken_o (offer_broken[2])
  );
  assign broken_o = reported_q || (offer_broken != '0);

  // A list of bursts that are due: one over all IDs, or one an ID.
  due_t due_q [NumLists*MaxBursts];
  pointer_t in_q [NumLists];
  pointer_t out_q [NumLists];
  logic [7:0] beat_q [NumLists];

  // One process, which a bus at rest leaves at once: simulations run it every cycle on every bus.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      reported_q <= 1'b0;
      for (int unsigned i = 0; i < NumLists; i++) begin
        in_q[i] <= '0;
        out_q[i] <= '0;
        beat_q[i] <= '0;
      end
    end else begin
      if (arvalid_i && arready_i) begin
        automatic ax_t ar = '{id: arid_i, offset: araddr_i[11:0], len: arlen_i, size: arsize_i,
                              burst: arburst_i};
        automatic list_t list = InOrder ? '0 : list_t'(arid_i);
        `TMB_BUS_RULE(ManagerOurs, arburst_i != BurstReserved, "ARBURST is reserved")
        `TMB_BUS_RULE(ManagerOurs, arsize_i <= 3'd6, "ARSIZE is wider than the bus")
        `TMB_BUS_RULE(ManagerOurs, legal_length(ar), "ARLEN is illegal for ARBURST")
        `TMB_BUS_RULE(ManagerOurs, legal_alignment(ar), "a WRAP burst of reads is unaligned")
        `TMB_BUS_RULE(ManagerOurs, inside_block(ar), "a burst of reads crosses 4 KiB")
        `TMB_BUS_RULE(ManagerOurs, (32'(arid_i) >> IdWidth) == '0, "ARID is wider than announced")
        `TMB_BUS_RULE(1'b1, in_q[list] - out_q[list] != pointer_t'(MaxBursts),
                      "more reads are under way than the assertion can count")
        due_q[32'(list) * MaxBursts + 32'(IndexWidth'(in_q[list]))] <= '{id: arid_i, len: arlen_i};
        in_q[list] <= in_q[list] + pointer_t'(1);
      end
      if (rvalid_i) begin
        automatic list_t list = InOrder ? '0 : list_t'(rid_i);
        automatic due_t due = due_q[32'(list) * MaxBursts + 32'(IndexWidth'(out_q[list]))];
        automatic logic last = beat_q[list] == due.len;
        if (!confused_i) begin
          `TMB_BUS_RULE(SubordinateOurs, in_q[list] != out_q[list], "RVALID without a read")
          else begin
            `TMB_BUS_RULE(SubordinateOurs, due.id == rid_i, "RID of no read that is due")
            `TMB_BUS_RULE(SubordinateOurs, !rlast_i || last, "RLAST before the last beat")
            `TMB_BUS_RULE(SubordinateOurs, rlast_i || !last, "the last beat without RLAST")
          end
          `TMB_BUS_RULE(SubordinateOurs, rresp_i != ExOkay, "RRESP is EXOKAY for a plain read")
        end
        if (rready_i) begin
          beat_q[list] <= last ? '0 : beat_q[list] + 8'd1;
          if (last) out_q[list] <= out_q[list] + pointer_t'(1);
        end
      end
    end
  end

  `TMB_ASSERT_INIT(BurstsPowerOfTwo, (MaxBursts & (MaxBursts - 1)) == 0)
  `TMB_ASSERT_INIT(FewIdsOutOfOrder, InOrder || IdWidth <= 4)

endmodule
