// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Table commands and fault replies: one at a time, in order, to the virtual memory.
//
// Throughput: as the table engine; a fault reply takes three cycles. Completion: the table engine's
// answer, or the acceptance of the reply. Back-pressure: a short queue, so that copies behind a few
// of these are still dispatched.
// No deadlock: the table engine answers unconditionally (docs/architecture.md, Invalidation), and replies
// are taken without waiting for table commands.

module tmb_dma_table import tmb_pkg::*; import tmb_dma_pkg::*; #(
  parameter int unsigned QueueDepth = 8
) (
  input  logic         clk_i,
  input  logic         rst_ni,

  input  logic         command_valid_i,
  output logic         command_ready_o,
  input  command_t     command_i,

  output logic         table_cmd_valid_o,
  input  logic         table_cmd_ready_i,
  output table_cmd_t   table_cmd_o,
  input  logic         table_rsp_valid_i,
  output logic         table_rsp_ready_o,
  input  table_rsp_t   table_rsp_i,

  output logic         fault_reply_valid_o,
  input  logic         fault_reply_ready_i,
  output fault_reply_t fault_reply_o,

  output logic         completion_valid_o,
  input  logic         completion_ready_i,
  output completion_t  completion_o,
  output logic         retired_valid_o,  // a command of this queue is complete
  output queue_t       retired_queue_o,

  output logic         busy_o
);

  typedef struct packed {
    note_t       note;
    opcode_e     opcode;
    asid_t       asid;
    virt_addr_t  addr;
    page_entry_t entry;
    logic [4:0]  sets_log2;
    park_token_t token;
    logic        fail;
  } request_t;

  typedef enum logic [2:0] {
    StIdle,
    StCommand,
    StAnswer,
    StReply,
    StComplete
  } state_e;

  state_e state_q;
  request_t next, current_q;
  table_rsp_t answer_q;
  logic next_valid;

  tmb_fifo #(
    .T(request_t),
    .Depth(QueueDepth)
  ) u_queue (
    .clk_i,
    .rst_ni,
    .in_valid_i(command_valid_i),
    .in_ready_o(command_ready_o),
    .in_data_i('{
        note: command_i.note,
        opcode: command_i.opcode,
        asid: command_i.asid,
        addr: command_i.addr,
        entry: page_entry_t'(command_i.operand),
        sets_log2: command_i.sets_log2,
        token: command_i.token,
        fail: command_i.fail
    }),
    .out_valid_o(next_valid),
    .out_ready_i(state_q == StIdle),
    .out_data_o(next)
  );

  table_op_e op;
  always_comb begin
    unique case (current_q.opcode)
      OpInvalidate: op = TableInvalidate;
      OpProtect: op = TableProtect;
      OpReadClear: op = TableReadClear;
      OpGrow: op = TableGrow;
      default: op = TableInstall;
    endcase
  end

  status_e status;
  always_comb begin
    unique case (answer_q.status)
      TableOk: status = StatusOk;
      TableAbsent: status = StatusAbsent;
      TableSetFull: status = StatusSetFull;
      default: status = StatusRefused;
    endcase
  end

  // Known a cycle before it counts: the completion's taker chooses among many.
  logic announce_q;
  always_ff @(posedge clk_i) begin
    if (state_q == StIdle) announce_q <= next.note.notify;
    else if (state_q == StAnswer && table_rsp_valid_i && table_rsp_i.status != TableOk) announce_q <= 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StIdle;
    end else begin
      unique case (state_q)
        StIdle: if (next_valid) state_q <= (next.opcode == OpFaultReply) ? StReply : StCommand;
        StCommand: if (table_cmd_ready_i) state_q <= StAnswer;
        StAnswer: if (table_rsp_valid_i) state_q <= StComplete;
        StReply: if (fault_reply_ready_i) state_q <= StComplete;
        StComplete: if (!announce_q || completion_ready_i) state_q <= StIdle;
        default: state_q <= StIdle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == StIdle && next_valid) begin
      current_q <= next;
      answer_q <= '{status: TableOk, accessed: 1'b0, dirty: 1'b0};
    end else if (state_q == StAnswer && table_rsp_valid_i) begin
      answer_q <= table_rsp_i;
    end
  end

  assign table_cmd_valid_o = state_q == StCommand;
  assign table_cmd_o = '{
      op: op,
      asid: current_q.asid,
      addr: current_q.addr,
      entry: current_q.entry,
      sets_log2: current_q.sets_log2
  };
  assign table_rsp_ready_o = state_q == StAnswer;
  assign fault_reply_valid_o = state_q == StReply;
  assign fault_reply_o = '{
      token: current_q.token,
      fail: current_q.fail,
      entry: current_q.entry
  };
  assign completion_valid_o = state_q == StComplete && announce_q;
  assign completion_o = '{
      id: current_q.note.id,
      status: status,
      accessed: answer_q.accessed,
      dirty: answer_q.dirty
  };
  assign retired_valid_o = state_q == StComplete && (!announce_q || completion_ready_i);
  assign retired_queue_o = current_q.note.queue_id;
  assign busy_o = next_valid || state_q != StIdle;

  logic unused_ok;
  assign unused_ok = &{1'b0, command_i.status, command_i.unit, command_i.fence, command_i.rows,
                       command_i.stripe};

endmodule
