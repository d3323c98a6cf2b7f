// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Proof: tmb_slot_reset lets a slot live only when nothing of its former life is left, and only in
// the address space that the host named last while it was in reset.

module proof_slot_reset (
  input logic       clk_i,
  input logic       run_i,
  input logic [3:0] asid_i,
  input logic       idle_i
);

  logic reset_q = 1'b1;
  logic rst_n, live;
  logic [3:0] asid;
  always_ff @(posedge clk_i) reset_q <= 1'b0;
  assign rst_n = !reset_q;

  tmb_slot_reset dut (
    .clk_i, .rst_ni(rst_n), .run_i, .asid_i, .idle_i, .live_o(live), .asid_o(asid)
  );

  logic known_q, live_q, run_q, idle_q;
  logic [3:0] asid_q, asked_q;

  always_ff @(posedge clk_i) begin
    known_q <= rst_n;
    live_q <= live;
    run_q <= run_i;
    idle_q <= idle_i;
    asid_q <= asid;
    asked_q <= asid_i;
    if (!rst_n) known_q <= 1'b0;
  end

  always_comb begin
    if (rst_n && known_q) begin
      assert (!(live && !live_q) || (run_q && idle_q));
      assert (!live || run_q);
      assert (!(live_q && run_q) || live);
      assert (!(!live_q && run_q && idle_q) || live);
      assert (!live_q || asid == asid_q);
      assert (live_q || asid == asked_q);
    end
  end

endmodule
