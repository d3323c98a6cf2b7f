// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Turns an AXI4 address beat into a burst of rows, and tells whether the shell serves it, or which
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
  localparam int unsigned EndWidth = 17;
  typedef logic [EndWidth-1:0] end_t;

  logic [BlockBits-1:0] start;  // of the first beat, as far as the bus is concerned
  end_t past_end;
  logic [BlockBits-1:0] last_byte;
  rule_e rule;

  assign start = ax_i.addr[BlockBits-1:0] & ~BlockBits'((32'd1 << ax_i.size) - 32'd1);
  assign past_end = end_t'(start) + ((end_t'(ax_i.len) + end_t'(1)) << ax_i.size);
  assign last_byte = BlockBits'(past_end - end_t'(1));

  always_comb begin
    rule = RuleNone;
    if (ax_i.addr[63:VirtAddrWidth] != '0) rule = RuleAddress;
    if (past_end > end_t'(1 << BlockBits)) rule = RuleBlock;
    if (32'(ax_i.size) > RowOffsetWidth) rule = RuleBeatSize;
    if (ax_i.burst != AxiBurstIncr && ax_i.len != '0) rule = RuleBurstType;
  end

  assign burst_o.addr = ax_i.addr[VirtAddrWidth-1:0];
  assign burst_o.len = last_byte[BlockBits-1:RowOffsetWidth] - start[BlockBits-1:RowOffsetWidth];
  assign burst_o.refused = rule != RuleNone;
  assign rule_o = rule;

  logic unused_ok;
  assign unused_ok = &{1'b0, ax_i.id, last_byte[RowOffsetWidth-1:0], start[RowOffsetWidth-1:0]};

endmodule
