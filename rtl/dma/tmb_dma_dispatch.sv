// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Starts commands in order: hands each to the unit that does it, or answers it at once.
//
// One for each queue. A command with a fence waits until the queue has none in the units, which is
// when all its earlier commands are complete; other queues go on. A command without a unit (a nop, or
// one that is refused) is answered at once with its status. The others wait only for a place in their
// unit's queue.
//
// Throughput: one command a cycle. Latency: combinational between the command queue and the units'
// queues. Back-pressure: the first command that cannot start holds those behind it (order is the
// contract). No deadlock: units make room without help of later commands.

module tmb_dma_dispatch import tmb_pkg::*; import tmb_dma_pkg::*; (
  input  logic        command_valid_i,
  output logic        command_ready_o,
  input  command_t    command_i,

  input  logic        busy_i,     // a unit has a command of this queue that is not complete
  output logic        started_o,  // a command has gone to a unit

  output copy_t       copy_o,  // for the copy units
  output logic        copy_in_valid_o,
  input  logic        copy_in_ready_i,
  output logic        copy_out_valid_o,
  input  logic        copy_out_ready_i,
  output logic        zero_valid_o,
  input  logic        zero_ready_i,
  output logic        table_valid_o,
  input  logic        table_ready_i,

  output logic        completion_valid_o,
  input  logic        completion_ready_i,
  output completion_t completion_o
);

  logic may_start, announce;

  assign may_start = command_valid_i && !(command_i.fence && busy_i);
  assign announce = command_i.unit == UnitNone && command_i.note.notify;

  assign copy_in_valid_o = may_start && command_i.unit == UnitCopyIn;
  assign copy_out_valid_o = may_start && command_i.unit == UnitCopyOut;
  assign zero_valid_o = may_start && command_i.unit == UnitZero;
  assign table_valid_o = may_start && command_i.unit == UnitTable;
  assign completion_valid_o = may_start && announce;

  always_comb begin
    if (announce) begin
      command_ready_o = may_start && completion_ready_i;
    end else begin
      unique case (command_i.unit)
        UnitCopyIn: command_ready_o = may_start && copy_in_ready_i;
        UnitCopyOut: command_ready_o = may_start && copy_out_ready_i;
        UnitZero: command_ready_o = may_start && zero_ready_i;
        UnitTable: command_ready_o = may_start && table_ready_i;
        default: command_ready_o = may_start;
      endcase
    end
  end

  assign started_o = command_ready_o && command_i.unit != UnitNone;

  assign copy_o = '{
      note: command_i.note,
      card_addr: command_i.addr[CardAddrWidth-1:0],
      stripe: command_i.stripe,
      host_addr: command_i.operand,
      rows: command_i.rows
  };
  assign completion_o = '{
      id: command_i.note.id,
      status: command_i.status,
      accessed: 1'b0,
      dirty: 1'b0
  };

  logic unused_ok;
  assign unused_ok = &{1'b0, command_i.opcode, command_i.asid, command_i.addr, command_i.sets_log2,
                       command_i.token, command_i.fail};

endmodule
