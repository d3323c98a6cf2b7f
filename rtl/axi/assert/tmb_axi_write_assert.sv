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
  // of whoever counts.
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

  ax_t aw;
  assign aw = '{id: awid_i, offset: awaddr_i[11:0], len: awlen_i, size: awsize_i, burst: awburst_i};

  // Bursts in the order of their addresses: [response, data) have all their data and no response,
  // [data, address) wait for data.
  ax_t bursts_q [MaxBursts];
  pointer_t address_q, data_q, response_q;
  logic [8:0] beat_q;  // beats so far of the burst whose data come
  // Complete bursts of data whose addresses have not come.
  logic [8:0] early_q [MaxEarly];
  early_t early_in_q, early_out_q;
  logic aw_taken, w_taken, b_taken, waiting, early, known, ends, finished;
  ax_t current;
  assign aw_taken = awvalid_i && awready_i;
  assign w_taken = wvalid_i && wready_i;
  assign b_taken = bvalid_i && bready_i;
  assign waiting = address_q != data_q;
  assign early = early_in_q != early_out_q;
  // The burst that the next beat of data belongs to, if its address is here.
  assign known = !early && (waiting || aw_taken);
  assign current = waiting ? bursts_q[IndexWidth'(data_q)] : aw;
  assign ends = known ? beat_q == 9'(current.len) : wlast_i;
  // A burst has its address and all its data at this edge. (Early data: nothing waits, so that
  // `current` is the address that comes.)
  assign finished = early ? aw_taken : (known && w_taken && ends);

  logic answered_at_all, answer_is_due;
  if (InOrder) begin : gen_in_order
    assign answered_at_all = response_q != data_q;
    assign answer_is_due = bursts_q[IndexWidth'(response_q)].id == bid_i;
  end else begin : gen_by_id
    localparam int unsigned NumIds = 2 ** IdWidth;
    typedef logic [IdWidth-1:0] id_t;
    // Bursts with all their data and no response.
    pointer_t done_q [NumIds];
    assign answered_at_all = done_q[id_t'(bid_i)] != '0;
    assign answer_is_due = (32'(bid_i) >> IdWidth) == '0;

    for (genvar i = 0; i < NumIds; i++) begin : gen_id
      logic more, less;
      assign more = finished && id_t'(current.id) == id_t'(i);
      assign less = b_taken && id_t'(bid_i) == id_t'(i);
      always_ff @(posedge clk_i) begin
        if (!rst_ni) done_q[i] <= '0;
        else if (more != less) done_q[i] <= more ? done_q[i] + 1'b1 : done_q[i] - 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      reported_q <= 1'b0;
    end else begin
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
      end
      if (w_taken && known) begin
        `TMB_BUS_RULE(ManagerOurs, beat_q <= 9'(current.len), "more beats of data than AWLEN says")
        `TMB_BUS_RULE(ManagerOurs, !wlast_i || ends, "WLAST before the last beat")
        `TMB_BUS_RULE(ManagerOurs, wlast_i || !ends, "the last beat without WLAST")
        `TMB_BUS_RULE(ManagerOurs, (wstrb_i & ~lanes(current, 8'(beat_q))) == '0,
                      "WSTRB on a lane that is not part of the beat")
      end
      if (w_taken && !known) begin
        `TMB_BUS_RULE(ManagerOurs, beat_q < 9'd256, "more than 256 beats of data without WLAST")
      end
      if (bvalid_i && !confused_i) begin
        `TMB_BUS_RULE(SubordinateOurs, answered_at_all, "BVALID without a complete write")
        else `TMB_BUS_RULE(SubordinateOurs, answer_is_due, "BID of no write that is due")
        `TMB_BUS_RULE(SubordinateOurs, bresp_i != ExOkay, "BRESP is EXOKAY for a plain write")
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      address_q <= '0;
      data_q <= '0;
      response_q <= '0;
      beat_q <= '0;
      early_in_q <= '0;
      early_out_q <= '0;
    end else begin
      if (aw_taken) address_q <= address_q + pointer_t'(1);
      if (finished) data_q <= data_q + pointer_t'(1);
      if (b_taken) response_q <= response_q + pointer_t'(1);
      if (w_taken) beat_q <= ends ? '0 : beat_q + 9'd1;
      if (w_taken && !known && ends) early_in_q <= early_in_q + early_t'(1);
      if (early && aw_taken) early_out_q <= early_out_q + early_t'(1);
    end
  end

  always_ff @(posedge clk_i) begin
    if (aw_taken) bursts_q[IndexWidth'(address_q)] <= aw;
    if (w_taken && !known && ends) early_q[EarlyWidth'(early_in_q)] <= beat_q;
  end

  `TMB_ASSERT_INIT(BurstsPowerOfTwo, (MaxBursts & (MaxBursts - 1)) == 0)
  `TMB_ASSERT_INIT(FewIdsOutOfOrder, InOrder || IdWidth <= 4)

endmodule
