// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Registers of the slots: the storage behind SLOTS of tmb_shell.rdl.
//
// NumSlots   slots that exist; the others read as zero and ignore writes
//
// Throughput: an access a cycle. Latency: one cycle. Ordering: in order. No deadlock: waits for nothing.
// State changes only on a write.

module tmb_slot_registers import tmb_pkg::*; import tmb_shell_pkg::*;
  import tmb_register_map_pkg::*; #(
  parameter int unsigned NumSlots = 1
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  array_req_t req_i,
  output array_rsp_t rsp_o,
  output logic       run_o [NumSlots],
  output asid_t      asid_o [NumSlots],
  input  logic       idle_i [NumSlots],
  input  logic       hung_i [NumSlots],
  input  unanswered_t unanswered_i [NumSlots],
  input  read_notes_t notes_i [NumSlots],
  output logic       rearm_o [NumSlots]  // one cycle each
);

  localparam int unsigned SlotWidth = NumSlots > 1 ? $clog2(NumSlots) : 1;
  localparam int unsigned RunLsb = SlotCtrlRunLsb;
  localparam int unsigned AsidLsb = SlotCtrlAsidLsb;
  localparam int unsigned IdleLsb = SlotStatusIdleLsb;
  localparam int unsigned HungLsb = SlotStatusHungLsb;
  localparam int unsigned ClosedLsb = SlotStatusClosedLsb;
  localparam int unsigned ReadsOwedLsb = SlotStatusReadsOwedLsb;
  localparam int unsigned WritesOwedLsb = SlotStatusWritesOwedLsb;
  localparam int unsigned RearmLsb = SlotInterruptRearmLsb;

  logic run_q [NumSlots];
  asid_t asid_q [NumSlots];

  logic [SlotWidth-1:0] index;
  logic [31:0] offset, word, written;
  logic write;

  tmb_array_access #(
    .NumElements(NumSlots),
    .StrideLog2($clog2(SlotStride))
  ) u_access (
    .clk_i,
    .rst_ni,
    .req_i,
    .rsp_o,
    .index_o(index),
    .offset_o(offset),
    .word_i(word),
    .written_o(written),
    .write_o(write)
  );

  always_comb begin
    word = '0;
    unique case (offset)
      SlotCtrl: begin
        word[RunLsb] = run_q[index];
        word[AsidLsb+:AsidWidth] = asid_q[index];
      end
      SlotStatus: begin
        word[IdleLsb] = idle_i[index];
        word[HungLsb] = hung_i[index];
        word[ClosedLsb] = notes_i[index].closed;
        word[ReadsOwedLsb] = notes_i[index].reads_owed;
        word[WritesOwedLsb] = notes_i[index].writes_owed;
      end
      SlotUnanswered: begin
        word[SlotUnansweredOffsetLsb+:16] = unanswered_i[index].offset;
        word[SlotUnansweredWriteLsb] = unanswered_i[index].write;
      end
      default: word = '0;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      for (int unsigned s = 0; s < NumSlots; s++) begin
        run_q[s] <= 1'b0;
        asid_q[s] <= '0;
      end
    end else if (write && offset == SlotCtrl) begin
      run_q[index] <= written[RunLsb];
      asid_q[index] <= written[AsidLsb+:AsidWidth];
    end
  end

  logic rearm_q [NumSlots];
  always_ff @(posedge clk_i) begin
    for (int unsigned s = 0; s < NumSlots; s++) begin
      rearm_q[s] <= rst_ni && write && index == SlotWidth'(s) && offset == SlotInterrupt
          && written[RearmLsb];
    end
  end

  assign run_o = run_q;
  assign asid_o = asid_q;
  assign rearm_o = rearm_q;

  logic unused_ok;
  assign unused_ok = &{1'b0, written};

endmodule
