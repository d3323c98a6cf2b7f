// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The guard of one port: watches what the kernel does at the boundary, keeps the first rule that it
// breaks, and knows what the port waits for.
//
// It only observes. violation_o pulses when the first rule is broken; tmb_slot_guard
// closes the slot then. Rules of a burst's shape are found where bursts are decoded and collected
// (tmb_port_read, tmb_port_write) and come in as reports; rules of the handshake are found here: an
// offer that is not taken stays, unchanged. The data of W are compared by a fold to 64 bits: what
// counts for the memory is the beat that is taken, so a change that the fold misses harms only the
// kernel itself.
//
// Latency: a report is kept the cycle after it came, a broken handshake rule two cycles after: its
// compare is as wide as the payload, and ends in a register of its own.
// Simulation and power: registers move only when an offer begins to wait; the wait counters stop at
// their greatest value, so an idle port, and a hung one, come to rest.
//
// Properties: after violation_o the violation stays as it is until the reset of the port has been
// released; violation_o pulses at most once in between.

module tmb_port_guard
  import tmb_pkg::*;
  import tmb_guard_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        port_reset_i,  // the slot is held in reset: nothing is watched
  // the boundary
  input  axi_req_t    req_i,
  input  axi_rsp_t    rsp_i,
  // the halves of the port
  input  violation_t  read_report_i,
  input  violation_t  write_report_i,
  input  collection_t collection_i,

  output logic          violation_o,
  output guard_status_t status_o
);

  // ---------------------------------------------------------------------------------------------
  // Offers that wait
  // ---------------------------------------------------------------------------------------------

  logic ar_waits, aw_waits, w_waits, ar_waits_q, aw_waits_q, w_waits_q;
  axi_ax_t ar_q, aw_q;
  logic [63:0] w_fold_q;
  logic w_last_q;

  assign ar_waits = req_i.ar_valid && !rsp_i.ar_ready;
  assign aw_waits = req_i.aw_valid && !rsp_i.aw_ready;
  assign w_waits = req_i.w_valid && !rsp_i.w_ready;

  // Each word is turned by another amount: a row that repeats one word must not fold to nothing.
  function automatic logic [63:0] fold(row_t row, row_strobe_t strobe);
    logic [63:0] folded;
    folded = strobe;
    for (int unsigned i = 0; i < RowBits / 64; i++) begin
      folded ^= (row[64*i+:64] << 7 * i) | (row[64*i+:64] >> (64 - 7 * i));
    end
    return folded;
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_ni || port_reset_i) begin
      ar_waits_q <= 1'b0;
      aw_waits_q <= 1'b0;
      w_waits_q <= 1'b0;
    end else begin
      ar_waits_q <= ar_waits;
      aw_waits_q <= aw_waits;
      w_waits_q <= w_waits;
    end
  end

  // The payload as it was when its wait began: what comes later must equal it.
  always_ff @(posedge clk_i) begin
    if (ar_waits && !ar_waits_q) ar_q <= req_i.ar;
    if (aw_waits && !aw_waits_q) aw_q <= req_i.aw;
    if (w_waits && !w_waits_q) begin
      w_fold_q <= fold(req_i.w.data, req_i.w.strb);
      w_last_q <= req_i.w.last;
    end
  end

  // Whether the offer that waited has gone or changed, a cycle later. ar_q and aw_q still hold what
  // it was then; the collection moves on, so its place is kept.
  typedef struct packed {
    logic withdrawn;
    logic changed;
  } broken_t;

  broken_t ar_broken_q, aw_broken_q, w_broken_q;
  collection_t place_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || port_reset_i) begin
      ar_broken_q <= '0;
      aw_broken_q <= '0;
      w_broken_q <= '0;
    end else begin
      ar_broken_q <= '{
          withdrawn: ar_waits_q && !req_i.ar_valid,
          changed: ar_waits_q && req_i.ar_valid && req_i.ar != ar_q
      };
      aw_broken_q <= '{
          withdrawn: aw_waits_q && !req_i.aw_valid,
          changed: aw_waits_q && req_i.aw_valid && req_i.aw != aw_q
      };
      w_broken_q <= '{
          withdrawn: w_waits_q && !req_i.w_valid,
          changed: w_waits_q && req_i.w_valid && !(req_i.w.last == w_last_q
              && fold(req_i.w.data, req_i.w.strb) == w_fold_q)
      };
    end
  end

  always_ff @(posedge clk_i) begin
    if (w_waits_q) place_q <= collection_i;
  end

  // ---------------------------------------------------------------------------------------------
  // The first violation
  // ---------------------------------------------------------------------------------------------

  violation_t violation_d, violation_q;
  logic reset_q, violated_q;

  // A broken handshake is a cycle older than a report.
  always_comb begin
    if (ar_broken_q != '0) begin
      violation_d = '{
          rule: ar_broken_q.changed ? RuleChanged : RuleWithdrawn,
          channel: ChannelAr,
          addr: ar_q.addr,
          len: ar_q.len,
          size: ar_q.size,
          burst: ar_q.burst,
          beat: '0
      };
    end else if (aw_broken_q != '0) begin
      violation_d = '{
          rule: aw_broken_q.changed ? RuleChanged : RuleWithdrawn,
          channel: ChannelAw,
          addr: aw_q.addr,
          len: aw_q.len,
          size: aw_q.size,
          burst: aw_q.burst,
          beat: '0
      };
    end else if (w_broken_q != '0) begin
      violation_d = '{
          rule: w_broken_q.changed ? RuleChanged : RuleWithdrawn,
          channel: ChannelW,
          addr: place_q.addr,
          len: place_q.len,
          size: '0,
          burst: '0,
          beat: place_q.beats
      };
    end else if (write_report_i.rule != RuleNone) begin
      violation_d = write_report_i;
    end else begin
      violation_d = read_report_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      violation_q <= '0;
      reset_q <= 1'b1;
      violated_q <= 1'b0;
    end else begin
      reset_q <= port_reset_i;
      violated_q <= 1'b0;
      if (reset_q && !port_reset_i) begin
        violation_q <= '0;
      end else if (!port_reset_i && violation_q.rule == RuleNone
          && violation_d.rule != RuleNone) begin
        violation_q <= violation_d;
        violated_q <= 1'b1;
      end
    end
  end

  // ---------------------------------------------------------------------------------------------
  // What the port waits for
  // ---------------------------------------------------------------------------------------------

  typedef logic [WaitWidth-1:0] count_t;
  count_t reads_q, writes_q, read_wait_q, write_wait_q;
  logic read_starts, read_ends, write_starts, write_ends;
  logic r_waits, b_waits, r_waits_q, b_waits_q;

  assign read_starts = req_i.ar_valid && rsp_i.ar_ready;
  assign read_ends = rsp_i.r_valid && req_i.r_ready && rsp_i.r.last;
  assign write_starts = req_i.aw_valid && rsp_i.aw_ready;
  assign write_ends = rsp_i.b_valid && req_i.b_ready;
  assign r_waits = rsp_i.r_valid && !req_i.r_ready;
  assign b_waits = rsp_i.b_valid && !req_i.b_ready;

  // One more cycle of a wait; over, zero.
  function automatic count_t longer(count_t count, logic waits);
    if (!waits) return '0;
    return (count == '1) ? count : count + count_t'(1);
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_ni || port_reset_i) begin
      reads_q <= '0;
      writes_q <= '0;
      r_waits_q <= 1'b0;
      b_waits_q <= 1'b0;
      read_wait_q <= '0;
      write_wait_q <= '0;
    end else begin
      if (read_starts && !read_ends) reads_q <= reads_q + count_t'(1);
      else if (!read_starts && read_ends) reads_q <= reads_q - count_t'(1);
      if (write_starts && !write_ends) writes_q <= writes_q + count_t'(1);
      else if (!write_starts && write_ends) writes_q <= writes_q - count_t'(1);
      r_waits_q <= r_waits;
      b_waits_q <= b_waits;
      read_wait_q <= longer(read_wait_q, r_waits);
      write_wait_q <= longer(write_wait_q, b_waits || collection_i.starved);
    end
  end

  assign violation_o = violated_q;
  assign status_o = '{
      violation: violation_q,
      reads: '{
          outstanding: reads_q,
          address_offered: ar_waits_q,
          response_offered: r_waits_q,
          kernel_wait: read_wait_q
      },
      writes: '{
          outstanding: writes_q,
          address_offered: aw_waits_q,
          response_offered: b_waits_q,
          kernel_wait: write_wait_q
      },
      data_offered: w_waits_q,
      collection: collection_i
  };

  logic unused_ok;
  assign unused_ok = &{1'b0, rsp_i.r, rsp_i.b, place_q};

endmodule
