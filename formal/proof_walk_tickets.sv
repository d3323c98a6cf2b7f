// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Proof: tmb_walk_tickets gives no ticket twice, and while slots differ a level that has no walk under way
// finds one, whatever the other levels do. Walks that began while slots were alike are waited for.

module proof_walk_tickets import tmb_schedule_pkg::*; #(
  parameter int unsigned MaxWalks = 6,
  localparam int unsigned TicketWidth = $clog2(MaxWalks)
) (
  input logic                   clk_i,
  input logic                   managed_i,
  input logic                   take_i,
  input level_t                 take_level_i,
  input logic                   return_i,
  input logic [TicketWidth-1:0] return_ticket_i,
  input level_t                 watched_i  // a level: any
);

  logic reset_q = 1'b1;
  logic rst_n;
  logic [NumLevels-1:0] valid;
  logic [TicketWidth-1:0] ticket;
  always_ff @(posedge clk_i) reset_q <= 1'b0;
  assign rst_n = !reset_q;

  tmb_walk_tickets #(.MaxWalks(MaxWalks)) dut (
    .clk_i, .rst_ni(rst_n), .managed_i, .valid_o(valid), .take_i, .take_level_i, .ticket_o(ticket), .return_i,
    .return_ticket_i
  );

  // Tickets out, those of the watched level, and those that went out while slots were alike.
  logic [MaxWalks-1:0] out_q, watched_q, alike_q;
  level_t level_q;
  logic started_q;
  logic [MaxWalks-1:0] goes, comes;
  assign goes = take_i ? MaxWalks'(1) << ticket : '0;
  assign comes = return_i ? MaxWalks'(1) << return_ticket_i : '0;

  always_ff @(posedge clk_i) begin
    level_q <= watched_i;
    if (!rst_n) begin
      out_q <= '0;
      watched_q <= '0;
      alike_q <= '0;
      started_q <= 1'b0;
    end else begin
      started_q <= 1'b1;
      out_q <= (out_q & ~comes) | goes;
      watched_q <= (watched_q & ~comes) | (take_level_i == watched_i ? goes : '0);
      alike_q <= (alike_q & ~comes) | (managed_i ? '0 : goes);
    end
  end

  always_comb begin
    assume (!started_q || watched_i == level_q);
    if (rst_n) begin
      assume (!take_i || valid[take_level_i]);
      assume (!return_i || (comes & out_q) != '0);
      assert (!take_i || 32'(ticket) < MaxWalks);
      assert ((goes & out_q) == '0);
      assert (!managed_i || alike_q != '0 || watched_q != '0 || valid[watched_i]);
    end else begin
      assume (!take_i && !return_i);
    end
  end

endmodule
