// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Completion of one port's accesses: whether those taken, or offered, at the moment of a request
// have been answered since.
//
// A kernel may say that it is done when its accesses are taken, and not yet answered. Its host asks in
// that moment (mark_i: a register of the kernel was read; announce_i: its interrupt has risen). Every
// access that the kernel had begun by then counts: an address offered, data offered, a burst of which
// beats are still to come. Later accesses do not count, so a kernel that goes on for ever owes nothing for
// long. Responses come in the order of the addresses, so an answer is one less, and no burst has to be
// remembered.
//
// An access is answered when memory has answered: a response that the kernel does not take is not
// waited for (*_settled_i), because nothing can be lost any more.
//
// Latency: 1 cycle from mark_i and announce_i. State changes only with handshakes and when asked.
// No deadlock: nothing waits for this module but the host.
//
// Properties: owed_o of a direction falls only when everything that counted is answered; it rises only
// the cycle after a question.

`include "tmb_assert.svh"

module tmb_port_owed
  import tmb_pkg::*;
  import tmb_guard_pkg::*;
(
  input  logic clk_i,
  input  logic rst_ni,
  input  logic port_reset_i,  // nothing is owed
  // the boundary, and the bursts that it has outstanding
  input  logic [WaitWidth-1:0] reads_i,
  input  logic [WaitWidth-1:0] writes_i,
  input  logic ar_valid_i,
  input  logic aw_valid_i,
  input  logic w_valid_i,
  input  logic w_ready_i,
  input  logic w_last_i,
  input  logic read_ends_i,   // the last beat of R is taken
  input  logic write_ends_i,  // B is taken
  // nothing that was begun waits for the port or for memory
  input  logic reads_settled_i,
  input  logic writes_settled_i,
  input  logic mark_i,
  input  logic announce_i,

  output owed_t owed_o
);

  typedef logic [WaitWidth-1:0] count_t;

  function automatic count_t less(count_t left, logic ends);
    return (ends && left != '0) ? left - count_t'(1) : left;
  endfunction

  // Bursts of W whose last beat is taken, and B is not; and whether one is under way. Data may come before
  // their address.
  count_t data_q;
  logic in_burst_q, w_taken;
  assign w_taken = w_valid_i && w_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || port_reset_i) begin
      data_q <= '0;
      in_burst_q <= 1'b0;
    end else begin
      if (w_taken) in_burst_q <= !w_last_i;
      if (w_taken && w_last_i) data_q <= less(data_q, write_ends_i) + count_t'(1);
      else data_q <= less(data_q, write_ends_i);
    end
  end

  count_t reads, addresses, data, writes;
  assign reads = less(reads_i + count_t'(ar_valid_i), read_ends_i);
  assign addresses = less(writes_i + count_t'(aw_valid_i), write_ends_i);
  assign data = less(data_q + count_t'(w_valid_i || in_burst_q), write_ends_i);
  assign writes = (data > addresses) ? data : addresses;

  count_t reads_left_q, writes_left_q, announced_left_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || port_reset_i) begin
      reads_left_q <= '0;
      writes_left_q <= '0;
      announced_left_q <= '0;
    end else begin
      if (reads_settled_i) reads_left_q <= '0;
      else reads_left_q <= mark_i ? reads : less(reads_left_q, read_ends_i);
      if (writes_settled_i) begin
        writes_left_q <= '0;
        announced_left_q <= '0;
      end else begin
        writes_left_q <= mark_i ? writes : less(writes_left_q, write_ends_i);
        announced_left_q <= announce_i ? writes : less(announced_left_q, write_ends_i);
      end
    end
  end

  assign owed_o = '{
      reads: reads_left_q != '0,
      writes: writes_left_q != '0,
      announced: announced_left_q != '0
  };

  `TMB_ASSERT(NothingIsOwedUnasked, $rose(owed_o.reads) |-> $past(mark_i))

endmodule
