// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// State of a burst in the two halves of tmb_axi_assert. For simulation only.

// A function looks at what it needs of a burst.
// verilator lint_off UNUSEDSIGNAL
package tmb_axi_assert_pkg;

  localparam logic [1:0] BurstFixed = 2'b00;
  localparam logic [1:0] BurstIncr = 2'b01;
  localparam logic [1:0] BurstWrap = 2'b10;
  localparam logic [1:0] BurstReserved = 2'b11;
  localparam logic [1:0] ExOkay = 2'b01;

  typedef struct packed {
    logic [15:0] id;
    logic [11:0] offset;  // in the 4 KiB block
    logic [7:0]  len;
    logic [2:0]  size;
    logic [1:0]  burst;
  } ax_t;

  function automatic logic legal_length(ax_t ax);
    case (ax.burst)
      BurstFixed: return ax.len < 8'd16;
      BurstWrap: return ax.len == 8'd1 || ax.len == 8'd3 || ax.len == 8'd7 || ax.len == 8'd15;
      default: return 1'b1;
    endcase
  endfunction

  function automatic logic [15:0] aligned_start(ax_t ax);
    return (16'(ax.offset) >> ax.size) << ax.size;
  endfunction

  function automatic logic [15:0] burst_bytes(ax_t ax);
    return (16'(ax.len) + 16'd1) << ax.size;
  endfunction

  function automatic logic inside_block(ax_t ax);
    return ax.burst != BurstIncr || 17'(aligned_start(ax)) + 17'(burst_bytes(ax)) <= 17'd4096;
  endfunction

  function automatic logic legal_alignment(ax_t ax);
    return ax.burst != BurstWrap || aligned_start(ax) == 16'(ax.offset);
  endfunction

  // The lanes of a 64-byte bus that a beat may use.
  function automatic logic [63:0] lanes(ax_t ax, logic [7:0] beat);
    logic [63:0] mask;
    logic [15:0] at, container;
    at = aligned_start(ax) + (16'(beat) << ax.size);
    container = burst_bytes(ax);
    if (ax.burst == BurstFixed) at = aligned_start(ax);
    if (ax.burst == BurstWrap) begin
      at = (aligned_start(ax) & ~(container - 16'd1)) | (at & (container - 16'd1));
    end
    mask = (ax.size >= 3'd6) ? '1 : ((64'd1 << (7'd1 << ax.size)) - 64'd1) << at[5:0];
    // An unaligned burst begins within its first beat.
    if (beat == 8'd0 || ax.burst == BurstFixed) mask &= {64{1'b1}} << ax.offset[5:0];
    return mask;
  endfunction

endpackage
// verilator lint_on UNUSEDSIGNAL
