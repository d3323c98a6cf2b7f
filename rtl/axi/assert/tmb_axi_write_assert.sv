// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The rules of AXI4 for writes: see tmb_axi_assert, which has the parameters.
//
// Data may come before their address: their beats are counted, and compared when it comes.

`include "tmb_assert.svh"
`include "tmb_bus_rule.svh"

module tmb_axi_write_assert import tmb_axi_assert_pkg::*; #(
  parameter bit ManagerOurs = 1'b1,
  parameter bit SubordinateOurs = 1'b1,
  parameter int unsigned IdWidth = 1,
  parameter bit InOrder = 1'b1,
  parameter int unsigned MaxBursts = 512
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         confused_i,
  input  logic [15:0]  awid_i,
  input  logic [63:0]  awaddr_i,
  input  logic [7:0]   awlen_i,
  input  logic [2:0]   awsize_i,
  input  logic [1:0]   awburst_i,
  input  logic         awvalid_i,
  input  logic         awready_i,
  input  logic [511:0] wdata_i,
  input  logic [63:0]  wstrb_i,
  input  logic         wlast_i,
  input  logic         wvalid_i,
  input  logic         wready_i,
  input  logic [15:0]  bid_i,
  input  logic [1:0]   bresp_i,
  input  logic         bvalid_i,
  input  logic         bready_i,
  output logic         broken_o  // by a kernel, since the reset
);

  // Complete bursts of data that may be here before their addresses: more than any buffer in front
  // of the counter.
  localparam int unsigned MaxEarly = 8;
  localparam int unsigned IndexWidth = $clog2(MaxBursts);
  localparam int unsigned EarlyWidth = $clog2(MaxEarly);
  typedef logic [IndexWidth:0] pointer_t;  // one bit more: tells full from empty
  typedef logic [EarlyWidth:0] early_t;

  logic [3:0] offer_broken;
  logic reported_q;

  // Rows on their own: joined with their flags they would be copied every cycle.
  tmb_offer_assert #(
    .Ours (ManagerOurs),
    .Width(93)
  ) u_aw (
    .clk_i    (clk_i),
    .rst_ni   (rst_ni),
    .suspended_i(1'b0),
    .valid_i  (awvalid_i),
    .ready_i  (awready_i),
    .payload_i({awid_i, awaddr_i, awlen_i, awsize_i, awburst_i}),
    .broken_o (offer_broken[0])
  );
  tmb_offer_assert #(
    .Ours (ManagerOurs),
    .Width(65)
  ) u_w (
    .clk_i    (clk_i),
    .rst_ni   (rst_ni),
    .suspended_i(1'b0),
    .valid_i  (wvalid_i),
    .ready_i  (wready_i),
    .payload_i({wstrb_i, wlast_i}),
    .broken_o (offer_broken[1])
  );
  tmb_offer_assert #(
    .Ours (ManagerOurs),
    .Width(512)
  ) u_w_row (
    .clk_i    (clk_i),
    .rst_ni   (rst_ni),
    .suspended_i(1'b0),
    .valid_i  (wvalid_i),
    .ready_i  (wready_i),
    .payload_i(wdata_i),
    .broken_o (offer_broken[2])
  );
  tmb_offer_assert #(
    .Ours (SubordinateOurs),
    .Width(18)
  ) u_b (
    .clk_i    (clk_i),
    .rst_ni   (rst_ni),
    .suspended_i(1'b0),
    .valid_i  (bvalid_i),
    .ready_i  (bready_i),
    .payload_i({bid_i, bresp_i}),
    .broken_o (offer_broken[3])
  );
  assign broken_o = reported_q || (offer_broken != '0);

  // Bursts in the order of their addresses: [response, data) have all their data and no response,
  // [data, address) wait for data.
  ax_t bursts_q [MaxBursts];
  pointer_t address_q, data_q, response_q;
  logic [8:0] beat_q;  // beats so far of the burst whose data come
  // Complete bursts of data whose addresses have not come.
  logic [8:0] early_q [MaxEarly];
  early_t early_in_q, early_out_q;
  // Bursts of an ID with all their data and no response, where IDs are not in order.
  localparam int unsigned NumIds = InOrder ? 1 : 2 ** IdWidth;
  pointer_t done_q [NumIds];

  function automatic int unsigned list_of(logic [15:0] id);
    return 32'(id) % NumIds;
  endfunction

  // One process, which a bus at rest leaves at once: simulations run it every cycle on every bus.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      reported_q <= 1'b0;
      address_q <= '0;
      data_q <= '0;
      response_q <= '0;
      beat_q <= '0;
      early_in_q <= '0;
      early_out_q <= '0;
      for (int unsigned i = 0; i < NumIds; i++) done_q[i] <= '0;
    end else if (awvalid_i || wvalid_i || bvalid_i) begin
      automatic logic aw_taken = awvalid_i && awready_i;
      automatic logic w_taken = wvalid_i && wready_i;
      automatic logic b_taken = bvalid_i && bready_i;
      automatic logic waiting = address_q != data_q;
      automatic logic early = early_in_q != early_out_q;
      // The burst that the next beat of data belongs to, if its address is here.
      automatic logic known = !early && (waiting || aw_taken);
      automatic ax_t aw = '{id: awid_i, offset: awaddr_i[11:0], len: awlen_i, size: awsize_i,
                            burst: awburst_i};
      automatic ax_t current = waiting ? bursts_q[IndexWidth'(data_q)] : aw;
      automatic logic ends = known ? beat_q == 9'(current.len) : wlast_i;
      // A burst has its address and all its data at this edge. (Early data: nothing waits, so that
      // `current` is the address that comes.)
      automatic logic finished = early ? aw_taken : (known && w_taken && ends);

      if (aw_taken) begin
        `TMB_BUS_RULE(ManagerOurs, awburst_i != BurstReserved, "AWBURST is reserved")
        `TMB_BUS_RULE(ManagerOurs, awsize_i <= 3'd6, "AWSIZE is wider than the bus")
        `TMB_BUS_RULE(ManagerOurs, legal_length(aw), "AWLEN is illegal for AWBURST")
        `TMB_BUS_RULE(ManagerOurs, legal_alignment(aw), "a WRAP burst of writes is unaligned")
        `TMB_BUS_RULE(ManagerOurs, inside_block(aw), "a burst of writes crosses 4 KiB")
        `TMB_BUS_RULE(ManagerOurs, (32'(awid_i) >> IdWidth) == '0, "AWID is wider than announced")
        `TMB_BUS_RULE(ManagerOurs, !early || early_q[EarlyWidth'(early_out_q)] == 9'(awlen_i),
                      "AWLEN is not the number of beats that came before it")
        `TMB_BUS_RULE(1'b1, address_q - response_q != pointer_t'(MaxBursts),
                      "more writes are under way than the assertion can count")
        bursts_q[IndexWidth'(address_q)] <= aw;
        address_q <= address_q + pointer_t'(1);
        if (early) early_out_q <= early_out_q + early_t'(1);
      end
      if (w_taken) begin
        if (known) begin
          `TMB_BUS_RULE(ManagerOurs, beat_q <= 9'(current.len), "more beats of data than AWLEN says")
          `TMB_BUS_RULE(ManagerOurs, !wlast_i || ends, "WLAST before the last beat")
          `TMB_BUS_RULE(ManagerOurs, wlast_i || !ends, "the last beat without WLAST")
          `TMB_BUS_RULE(ManagerOurs, (wstrb_i & ~lanes(current, 8'(beat_q))) == '0,
                        "WSTRB on a lane that is not part of the beat")
        end else begin
          `TMB_BUS_RULE(ManagerOurs, beat_q < 9'd256, "more than 256 beats of data without WLAST")
          if (ends) begin
            early_q[EarlyWidth'(early_in_q)] <= beat_q;
            early_in_q <= early_in_q + early_t'(1);
          end
        end
        beat_q <= ends ? '0 : beat_q + 9'd1;
      end
      if (finished) data_q <= data_q + pointer_t'(1);
      if (bvalid_i && !confused_i) begin
        if (InOrder) begin
          `TMB_BUS_RULE(SubordinateOurs, response_q != data_q, "BVALID without a complete write")
          else `TMB_BUS_RULE(SubordinateOurs, bursts_q[IndexWidth'(response_q)].id == bid_i,
                             "BID of no write that is due")
        end else begin
          `TMB_BUS_RULE(SubordinateOurs, done_q[list_of(bid_i)] != '0,
                        "BVALID without a complete write")
          else `TMB_BUS_RULE(SubordinateOurs, (32'(bid_i) >> IdWidth) == '0,
                             "BID of no write that is due")
        end
        `TMB_BUS_RULE(SubordinateOurs, bresp_i != ExOkay, "BRESP is EXOKAY for a plain write")
      end
      if (b_taken) response_q <= response_q + pointer_t'(1);
      if (!InOrder && !(finished && b_taken && list_of(current.id) == list_of(bid_i))) begin
        if (finished) done_q[list_of(current.id)] <= done_q[list_of(current.id)] + pointer_t'(1);
        if (b_taken) done_q[list_of(bid_i)] <= done_q[list_of(bid_i)] - pointer_t'(1);
      end
    end
  end

  `TMB_ASSERT_INIT(BurstsPowerOfTwo, (MaxBursts & (MaxBursts - 1)) == 0)
  `TMB_ASSERT_INIT(FewIdsOutOfOrder, InOrder || IdWidth <= 4)

endmodule
