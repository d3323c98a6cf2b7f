// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Turns an AXI4 address beat into a burst of rows, and decides whether the shell serves it, or which
// rule it breaks.
//
// Served: INCR of any start and any size up to a row, that stays in a 4 KiB block, at a virtual
// address of at most 48 bits. A burst of one beat counts as INCR. Everything else is refused.
// Combinational.

module tmb_burst_decode
  import tmb_pkg::*;
  import tmb_translate_pkg::*;
  import tmb_guard_pkg::*;
(
  input  axi_ax_t ax_i,
  output burst_t  burst_o,
  output rule_e   rule_o  // RuleNone unless refused
);

  localparam logic [1:0] AxiBurstIncr = 2'b01;
  localparam int unsigned BlockBits = MinPageBits;
  // The longest that the fields can say: 256 beats of 128 bytes, from the last byte of a block.
  localparam int unsigned LastWidth = 17;
  typedef logic [LastWidth-1:0] last_t;

  // First bytes of the first beat, as far as the bus is concerned, and of the last one, counted from
  // the block and from the first row. A legal beat lies inside a row, so these give its rows.
  logic [BlockBits-1:0] start;
  last_t last;
  logic [BlockBits-1:0] last_in_rows;
  rule_e rule;

  assign start = ax_i.addr[BlockBits-1:0] & ({BlockBits{1'b1}} << ax_i.size);
  assign last = last_t'(start) + (last_t'(ax_i.len) << ax_i.size);
  assign last_in_rows = BlockBits'(start[RowOffsetWidth-1:0])
      + (BlockBits'(ax_i.len) << ax_i.size);

  logic far, crosses, wide, other_type;
  assign far = ax_i.addr[63:VirtAddrWidth] != '0;
  assign crosses = last[LastWidth-1:BlockBits] != '0;
  assign wide = 32'(ax_i.size) > RowOffsetWidth;
  assign other_type = ax_i.burst != AxiBurstIncr && ax_i.len != '0;

  always_comb begin
    rule = RuleNone;
    if (far) rule = RuleAddress;
    if (crosses) rule = RuleBlock;
    if (wide) rule = RuleBeatSize;
    if (other_type) rule = RuleBurstType;
  end

  assign burst_o.addr = ax_i.addr[VirtAddrWidth-1:0];
  assign burst_o.len = last_in_rows[BlockBits-1:RowOffsetWidth];
  assign burst_o.refused = far || crosses || wide || other_type;
  assign rule_o = rule;

  logic unused_ok;
  assign unused_ok = &{1'b0, ax_i.id, last[BlockBits-1:0], last_in_rows[RowOffsetWidth-1:0]};

endmodule
