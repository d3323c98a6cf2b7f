// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Registers of the scheduler: the storage behind SCHEDULES of tmb_shell.rdl, one group a slot.
//
// NumSlots   slots that exist; the others read as zero and ignore writes
//
// Throughput: an access a cycle. Latency: one cycle. Ordering: in order. No deadlock: waits for nothing.
// State changes only on a write.

module tmb_schedule_registers import tmb_shell_pkg::*; import tmb_schedule_pkg::*;
  import tmb_register_map_pkg::*; #(
  parameter int unsigned NumSlots = 1
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  array_req_t req_i,
  output array_rsp_t rsp_o,
  output schedule_t  schedule_o [NumSlots],
  output logic       managed_o  // some slot differs from the others, or has more than a level
);

  localparam int unsigned SlotWidth = NumSlots > 1 ? $clog2(NumSlots) : 1;
  localparam int unsigned LevelLsb = SchedulePolicyLevelLsb;
  localparam int unsigned WeightLsb = SchedulePolicyWeightLsb;
  localparam int unsigned FloorLsb = SchedulePolicyFloorLsb;
  localparam int unsigned RowsLsb = ScheduleLimitRowsLsb;

  schedule_t schedule_q [NumSlots];
  logic managed_q;

  logic [SlotWidth-1:0] index;
  logic [31:0] offset, word, written;
  logic write;
  schedule_t schedule, schedule_d;
  logic [NumSlots-1:0] differs;

  tmb_array_access #(
    .NumElements(NumSlots),
    .StrideLog2($clog2(ScheduleStride))
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

  assign schedule = schedule_q[index];
  always_comb begin
    word = '0;
    unique case (offset)
      SchedulePolicy: begin
        word[LevelLsb+:$bits(level_t)] = schedule.level;
        word[WeightLsb+:$bits(weight_t)] = schedule.weight;
        word[FloorLsb+:$bits(floor_t)] = schedule.floor;
      end
      ScheduleLimit: word[RowsLsb+:$bits(limit_t)] = schedule.limit;
      default: word = '0;
    endcase
  end

  always_comb begin
    schedule_d = schedule;
    unique case (offset)
      SchedulePolicy: begin
        schedule_d.level = written[LevelLsb+:$bits(level_t)];
        schedule_d.weight = written[WeightLsb+:$bits(weight_t)];
        schedule_d.floor = written[FloorLsb+:$bits(floor_t)];
      end
      ScheduleLimit: schedule_d.limit = written[RowsLsb+:$bits(limit_t)];
      default: schedule_d = schedule;
    endcase
  end

  // A limit alone is no reason: it acts before the schedulers.
  for (genvar s = 0; s < NumSlots; s++) begin : gen_slot
    assign differs[s] = schedule_q[s].level != schedule_q[0].level
        || schedule_q[s].weight != schedule_q[0].weight
        || schedule_q[s].floor != DefaultSchedule.floor;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      for (int unsigned s = 0; s < NumSlots; s++) schedule_q[s] <= DefaultSchedule;
      managed_q <= 1'b0;
    end else begin
      if (write) schedule_q[index] <= schedule_d;
      managed_q <= differs != '0;
    end
  end

  assign schedule_o = schedule_q;
  assign managed_o = managed_q;

  logic unused_ok;
  assign unused_ok = &{1'b0, written};

endmodule
