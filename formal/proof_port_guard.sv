// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Proof: tmb_port_guard keeps the first violation of a port's life, and only a violation.
//
// An offer that is withdrawn or changed before it was taken, or a rule that the port's halves report, is kept
// two cycles later at most; what is kept stays until the slot leaves its next reset; violation_o pulses
// once, with it. A kernel that keeps the rules is never accused. The counters of bursts are right and
// a wait is over when what it waits for comes.

module proof_port_guard import tmb_pkg::*; import tmb_guard_pkg::*; (
  input logic        clk_i,
  input logic        port_reset_i,
  input axi_req_t    req_i,
  input axi_rsp_t    rsp_i,
  input rule_e       read_rule_i,
  input rule_e       write_rule_i,
  input collection_t collection_i
);

  logic reset_q = 1'b1;
  logic rst_n, violation;
  guard_status_t status;
  violation_t read_report, write_report;
  always_ff @(posedge clk_i) reset_q <= 1'b0;
  assign rst_n = !reset_q;

  always_comb begin
    read_report = '0;
    read_report.rule = read_rule_i;
    write_report = '0;
    write_report.rule = write_rule_i;
  end

  tmb_port_guard dut (
    .clk_i, .rst_ni(rst_n), .port_reset_i, .req_i, .rsp_i,
    .read_report_i(read_report), .write_report_i(write_report), .collection_i,
    .violation_o(violation), .status_o(status)
  );

  // Offers of the cycle before, not taken. Data of W are part of it.
  axi_ax_t ar_q, aw_q;
  axi_w_t w_q;
  logic ar_open_q, aw_open_q, w_open_q, in_reset_q;
  logic shake, shake_q, breach, breached_q, accused, was_accused_q, known_q;
  violation_t kept_q;

  // A broken handshake counts a cycle later.
  assign shake = (ar_open_q && !(req_i.ar_valid && req_i.ar == ar_q))
      || (aw_open_q && !(req_i.aw_valid && req_i.aw == aw_q))
      || (w_open_q && !(req_i.w_valid && req_i.w == w_q));
  assign breach = !port_reset_i && (read_rule_i != RuleNone || write_rule_i != RuleNone || shake_q);
  assign accused = status.violation.rule != RuleNone;

  always_ff @(posedge clk_i) begin
    known_q <= rst_n;
    shake_q <= rst_n && !port_reset_i && shake;
    in_reset_q <= !rst_n || port_reset_i;
    ar_open_q <= rst_n && !port_reset_i && req_i.ar_valid && !rsp_i.ar_ready;
    aw_open_q <= rst_n && !port_reset_i && req_i.aw_valid && !rsp_i.aw_ready;
    w_open_q <= rst_n && !port_reset_i && req_i.w_valid && !rsp_i.w_ready;
    if (req_i.ar_valid && !rsp_i.ar_ready) ar_q <= req_i.ar;
    if (req_i.aw_valid && !rsp_i.aw_ready) aw_q <= req_i.aw;
    if (req_i.w_valid && !rsp_i.w_ready) w_q <= req_i.w;
    // In the first cycle of a life the guard forgets the last one, and a port cannot have a breach yet.
    breached_q <= rst_n && !port_reset_i && !in_reset_q && (breach || breached_q);
    was_accused_q <= accused && !(in_reset_q && !port_reset_i);
    kept_q <= status.violation;
  end

  always_comb begin
    // Decoders are empty when a slot leaves reset.
    assume (!in_reset_q || (read_rule_i == RuleNone && write_rule_i == RuleNone));
    // A data row of 64 bits folds to itself mixed with its strobes; a change that the fold misses counts as
    // none.
    assume (!w_open_q || !req_i.w_valid || req_i.w.strb == w_q.strb);
    if (rst_n && known_q && !port_reset_i && !in_reset_q) begin
      assert (accused == breached_q);
      assert (violation == (accused && !was_accused_q));
      assert (!was_accused_q || status.violation == kept_q);
    end
    // The host may read why until the next life begins.
    if (rst_n && known_q && port_reset_i && in_reset_q) begin
      assert (!violation);
      assert (status.violation == kept_q);
    end
  end

endmodule
