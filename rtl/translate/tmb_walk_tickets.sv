// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Who may walk: a ticket is a walk from its miss to its end. While some slot differs from the others
// (managed_i) one ticket is kept for each priority level and given to no other, so a walk of a level
// that has none under way begins whatever the others do; the rest are anyone's. Otherwise all
// are anyone's. A walk that holds a ticket of another level when managed_i rises keeps it to its end.
//
// MaxWalks   tickets. With no more of them than levels none is kept.
//
// Throughput: one ticket a cycle out, one back. Latency: a ticket that comes back can go out in the next
// cycle. Ordering: none. No deadlock: a walk ends without help of another.
//
// Source: ours.

`include "tmb_assert.svh"

module tmb_walk_tickets import tmb_schedule_pkg::*; #(
  parameter int unsigned MaxWalks = 64,
  localparam int unsigned TicketWidth = MaxWalks > 1 ? $clog2(MaxWalks) : 1
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   managed_i,
  output logic [NumLevels-1:0]   valid_o,        // there is one for a walk of this level
  input  logic                   take_i,
  input  level_t                 take_level_i,
  output logic [TicketWidth-1:0] ticket_o,
  input  logic                   return_i,
  input  logic [TicketWidth-1:0] return_ticket_i
);

  localparam int unsigned NumKept = MaxWalks > NumLevels ? NumLevels : 0;
  localparam int unsigned NumShared = MaxWalks - NumKept;
  typedef logic [TicketWidth-1:0] ticket_t;

  // Tickets from NumKept on are dealt in turn once; afterwards those that come back are dealt again.
  logic [TicketWidth:0] fresh_q;
  logic fresh, returned_valid, shared_valid, take_shared, return_shared, return_room;
  ticket_t returned, shared;
  assign fresh = fresh_q != (TicketWidth + 1)'(MaxWalks);
  assign shared = fresh ? ticket_t'(fresh_q) : returned;
  assign shared_valid = fresh || returned_valid;
  assign take_shared = take_i && shared_valid;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) fresh_q <= (TicketWidth + 1)'(NumKept);
    else if (take_shared && fresh) fresh_q <= fresh_q + 1'b1;
  end

  tmb_fifo #(
    .T    (ticket_t),
    .Depth(NumShared)
  ) i_shared (
    .clk_i      (clk_i),
    .rst_ni     (rst_ni),
    .in_valid_i (return_shared),
    .in_ready_o (return_room),
    .in_data_i  (return_ticket_i),
    .out_valid_o(returned_valid),
    .out_ready_i(take_shared && !fresh),
    .out_data_o (returned)
  );

  if (NumKept == 0) begin : gen_none_kept
    assign valid_o = {NumLevels{shared_valid}};
    assign ticket_o = shared;
    assign return_shared = return_i;

    logic unused_ok;
    assign unused_ok = &{1'b0, managed_i, take_level_i};
  end else begin : gen_kept
    logic [NumLevels-1:0] kept_q, take_kept, return_kept;
    level_t kept;

    // Level l's is ticket l; where nothing is kept, the lowest.
    always_comb begin
      kept = take_level_i;
      if (!managed_i) begin
        for (int unsigned l = NumLevels; l > 0; l--) if (kept_q[l-1]) kept = level_t'(l - 1);
      end
    end
    assign valid_o = {NumLevels{shared_valid}} | (managed_i ? kept_q : {NumLevels{kept_q != '0}});
    assign ticket_o = shared_valid ? shared : ticket_t'(kept);
    assign take_kept = (take_i && !shared_valid) ? NumLevels'(1) << kept : '0;
    assign return_shared = return_i && 32'(return_ticket_i) >= NumKept;
    assign return_kept =
        (return_i && !return_shared) ? NumLevels'(1) << level_t'(return_ticket_i) : '0;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) kept_q <= '1;
      else kept_q <= (kept_q & ~take_kept) | return_kept;
    end

    `TMB_ASSERT(KeptIsThere, (take_kept & ~kept_q) == '0)
  end

  `TMB_ASSERT(TakenIsThere, take_i |-> valid_o != '0)
  `TMB_ASSERT(TicketReturns, return_shared |-> return_room)

endmodule
