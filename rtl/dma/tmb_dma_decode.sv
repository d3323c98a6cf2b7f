// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Checks a command as it arrives from the host. One that is malformed, or could not be read, goes to
// no unit: it carries its status along and is answered in its turn, even without `notify`.
//
// Cfg   geometry of the shell: card memory, spaces, requesters
//
// Combinational: one for all queues, since their commands arrive on one bus.
//
// Source: docs/architecture.md, Command ring.

module tmb_dma_decode import tmb_pkg::*; import tmb_dma_pkg::*; #(
  parameter shell_cfg_t Cfg = DefaultShellCfg
) (
  input  row_t     row_i,
  input  logic     error_i,  // the row is not what the host wrote
  input  queue_t   queue_i,
  output command_t command_o
);

  localparam int unsigned CardBytesLog2 = Cfg.ChannelBytesLog2 + $clog2(Cfg.NumChannels);
  localparam int unsigned NumRequesters = 2 * Cfg.NumSlots * Cfg.PortsPerSlot;

  command_row_t raw;
  logic copy_ok, table_ok, grow_ok, reply_ok;
  logic [CardAddrWidth:0] copy_end;

  assign raw = command_row_t'(row_i);
  assign copy_end = (CardAddrWidth + 1)'(raw.addr[CardAddrWidth-1:0]) +
      (CardAddrWidth + 1)'(raw.length[MaxCopyBytesLog2:0]);

  // Every legal stripe is a bijection of card memory, so a range inside stays inside.
  logic stripe_ok;
  assign stripe_ok = raw.stripe.channels_log2 == '0 ||
      (32'(raw.stripe.channels_log2) <= $clog2(Cfg.NumChannels) &&
       32'(raw.stripe.granule_log2) >= MinGranuleLog2 &&
       32'(raw.stripe.granule_log2) <= Cfg.ChannelBytesLog2);

  // Aligned, 64 .. 2^30 bytes, inside card memory.
  assign copy_ok = raw.addr[RowOffsetWidth-1:0] == '0 && raw.operand[RowOffsetWidth-1:0] == '0 &&
      raw.length[RowOffsetWidth-1:0] == '0 && raw.length != '0 &&
      raw.length <= 64'd1 << MaxCopyBytesLog2 && raw.addr[63:CardAddrWidth] == '0 &&
      copy_end <= (CardAddrWidth + 1)'(1) << CardBytesLog2 && stripe_ok;

  assign table_ok = 32'(raw.asid) < Cfg.NumSpaces && raw.addr[63:VirtAddrWidth] == '0;
  // Inside card memory: a table that is aligned to its size (the table engine checks that) and no
  // larger than card memory ends where it may if it begins there.
  assign grow_ok = 32'(raw.asid) < Cfg.NumSpaces && (raw.addr >> CardBytesLog2) == '0 &&
      raw.length <= 64'(CardBytesLog2 - RowOffsetWidth);
  assign reply_ok = 32'(raw.requester) < NumRequesters && 32'(raw.index) < Cfg.ParkDepth;

  always_comb begin
    command_o = '{
        status: StatusRefused,
        unit: UnitNone,
        fence: raw.fence,
        note: '{queue_id: queue_i, notify: raw.notify, id: raw.id},
        opcode: OpNop,
        asid: raw.asid,
        addr: raw.addr[VirtAddrWidth-1:0],
        operand: raw.operand,
        rows: row_count_t'(raw.length >> RowOffsetWidth),
        sets_log2: raw.length[4:0],
        stripe: raw.stripe,
        token: '{requester: raw.requester, index: raw.index},
        fail: raw.fail
    };
    unique case (raw.opcode)
      OpNop: command_o.status = StatusOk;
      OpCopyIn: begin
        command_o.unit = UnitCopyIn;
        if (copy_ok) command_o.status = StatusOk;
      end
      OpCopyOut: begin
        command_o.unit = UnitCopyOut;
        if (copy_ok) command_o.status = StatusOk;
      end
      OpZero: begin
        command_o.unit = UnitZero;
        if (copy_ok) command_o.status = StatusOk;
      end
      OpInstall, OpInvalidate, OpProtect, OpReadClear: begin
        command_o.unit = UnitTable;
        command_o.opcode = opcode_e'(raw.opcode);
        if (table_ok) command_o.status = StatusOk;
      end
      OpGrow: begin
        command_o.unit = UnitTable;
        command_o.opcode = OpGrow;
        if (grow_ok) command_o.status = StatusOk;
      end
      OpFaultReply: begin
        command_o.unit = UnitTable;
        command_o.opcode = OpFaultReply;
        if (reply_ok) command_o.status = StatusOk;
      end
      default: command_o.status = StatusRefused;
    endcase
    if (error_i) command_o.status = StatusBusError;
    if (command_o.status != StatusOk) begin
      command_o.unit = UnitNone;
      command_o.note.notify = 1'b1;
    end
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, raw.reserved1, raw.reserved2, raw.reserved3, raw.reserved4,
                       raw.reserved5, raw.reserved6};

endmodule
