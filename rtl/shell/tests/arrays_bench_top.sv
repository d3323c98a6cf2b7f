// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Register arrays of the shell, and the parts of a slot's control path, with flat pins for arrays_bench.cpp: three
// elements of each, so that the numbers have values that name none.

module arrays_bench_top
  import tmb_pkg::*;
  import tmb_guard_pkg::*;
  import tmb_schedule_pkg::*;
  import tmb_shell_pkg::*;
#(
  localparam int unsigned Num = 3,
  localparam int unsigned NumBlocks = 5
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  // An access to one of schedules, slots, spaces, guards, counters.
  input  logic        valid_i [NumBlocks],
  input  logic        write_i,
  input  logic [12:0] addr_i,
  input  logic [31:0] data_i,
  input  logic [31:0] mask_i,
  output logic        read_ack_o [NumBlocks],
  output logic        write_ack_o [NumBlocks],
  output logic [31:0] data_o [NumBlocks],

  output logic [1:0]  level_o [Num],
  output logic [3:0]  weight_o [Num],
  output logic [7:0]  floor_o [Num],
  output logic [23:0] limit_o [Num],
  output logic        managed_o,

  output logic        run_o [Num],
  output logic [3:0]  asid_o [Num],
  output logic        rearm_o [Num],
  input  logic        idle_i [Num],
  input  logic        hung_i [Num],
  input  logic [16:0] unanswered_i [Num],  // write, offset
  input  logic [2:0]  notes_i [Num],       // closed, writes, reads owed

  output logic        enable_o [Num],
  output logic [36:0] table_base_o [Num],
  output logic [4:0]  table_sets_log2_o [Num],
  output logic [18:0] size_classes_o [Num],
  output logic [1:0]  mode_o [Num],        // walker off, L1 off
  output logic [7:0]  stripe_o [Num],      // channels, granule
  input  logic        switch_valid_i,
  input  logic [3:0]  switch_asid_i,
  input  logic [36:0] switch_base_i,
  input  logic [4:0]  switch_sets_log2_i,

  // A violation, what waits, a collection: what the guard's registers show.
  input  logic [3:0]  rule_i [Num],
  input  logic [1:0]  channel_i [Num],
  input  logic [63:0] address_i [Num],
  input  logic [20:0] shape_i [Num],       // len, size, burst, beat
  input  logic [21:0] reads_i [Num],       // outstanding, address, response offered, wait
  input  logic [21:0] writes_i [Num],
  input  logic        data_offered_i [Num],
  input  logic [17:0] collection_i [Num],  // valid, starved, len, beats
  input  logic [63:0] collected_i [Num],

  input  logic [5:0]  events_i [Num],      // retry, fault, walk miss, hit, lookup miss, hit
  input  logic [Num-1:0] moved_i,
  output logic [31:0] owner_changes_o,

  // Interrupts of a slot.
  input  logic        live_i,
  input  logic        interrupt_i,
  input  logic        interrupt_rearm_i,
  input  logic        owed_i,
  output logic        edge_o,
  output logic        announce_o,

  // Control accesses of a slot.
  input  logic        control_run_i,
  output logic        control_hung_o,
  output logic [16:0] control_unanswered_o,
  output logic        control_idle_o,
  input  logic        control_valid_i,
  input  logic        control_write_i,
  input  logic [15:0] control_addr_i,
  input  logic [31:0] control_data_i,
  input  logic [3:0]  control_strobe_i,
  output logic        control_done_o,
  output logic        control_error_o,
  output logic [31:0] control_read_o,
  output logic        control_mark_o,
  output logic        awvalid_o,
  output logic        wvalid_o,
  output logic        bready_o,
  output logic        arvalid_o,
  output logic        rready_o,
  output logic [15:0] awaddr_o,
  output logic [15:0] araddr_o,
  output logic [31:0] wdata_o,
  output logic [3:0]  wstrb_o,
  input  logic        awready_i,
  input  logic        wready_i,
  input  logic        bvalid_i,
  input  logic [1:0]  bresp_i,
  input  logic        arready_i,
  input  logic        rvalid_i,
  input  logic [1:0]  rresp_i,
  input  logic [31:0] rdata_i
);

  array_req_t req [NumBlocks];
  array_rsp_t rsp [NumBlocks];
  for (genvar b = 0; b < NumBlocks; b++) begin : gen_block
    assign req[b] = '{valid: valid_i[b], write: write_i, addr: addr_i, data: data_i, mask: mask_i};
    assign read_ack_o[b] = rsp[b].read_ack;
    assign write_ack_o[b] = rsp[b].write_ack;
    assign data_o[b] = rsp[b].data;
  end

  schedule_t schedule [Num];
  unanswered_t unanswered [Num];
  read_notes_t notes [Num];
  space_cfg_t space [Num];
  stripe_t stripe [Num];
  guard_status_t guard [Num];
  port_events_t events [Num];
  for (genvar s = 0; s < Num; s++) begin : gen_element
    assign level_o[s] = schedule[s].level;
    assign weight_o[s] = schedule[s].weight;
    assign floor_o[s] = schedule[s].floor;
    assign limit_o[s] = schedule[s].limit;
    assign unanswered[s] = unanswered_i[s];
    assign notes[s] = notes_i[s];
    assign enable_o[s] = space[s].enable;
    assign table_base_o[s] = space[s].table_base;
    assign table_sets_log2_o[s] = space[s].table_sets_log2;
    assign size_classes_o[s] = space[s].size_classes;
    assign mode_o[s] = {space[s].walker_off, space[s].l1_off};
    assign stripe_o[s] = {stripe[s].channels_log2, stripe[s].granule_log2};
    assign guard[s] = '{
        violation: '{rule: rule_e'(rule_i[s]), channel: channel_e'(channel_i[s]), addr: address_i[s],
                     len: shape_i[s][20:13], size: shape_i[s][12:10], burst: shape_i[s][9:8],
                     beat: shape_i[s][7:0]},
        reads: reads_i[s],
        writes: writes_i[s],
        data_offered: data_offered_i[s],
        collection: '{valid: collection_i[s][17], starved: collection_i[s][16], addr: collected_i[s],
                      len: collection_i[s][15:8], beats: collection_i[s][7:0]}
    };
    assign events[s] = events_i[s];
  end

  tmb_schedule_registers #(
    .NumSlots(Num)
  ) u_schedules (
    .clk_i,
    .rst_ni,
    .req_i(req[0]),
    .rsp_o(rsp[0]),
    .schedule_o(schedule),
    .managed_o
  );

  tmb_slot_registers #(
    .NumSlots(Num)
  ) u_slots (
    .clk_i,
    .rst_ni,
    .req_i(req[1]),
    .rsp_o(rsp[1]),
    .run_o,
    .asid_o,
    .idle_i,
    .hung_i,
    .unanswered_i(unanswered),
    .notes_i(notes),
    .rearm_o
  );

  tmb_space_registers #(
    .NumSpaces(Num),
    .NumChannels(4),
    .ChannelBytesLog2(24)
  ) u_spaces (
    .clk_i,
    .rst_ni,
    .req_i(req[2]),
    .rsp_o(rsp[2]),
    .space_cfg_o(space),
    .stripe_o(stripe),
    .table_switch_i('{valid: switch_valid_i, asid: switch_asid_i, table_base: switch_base_i,
                      table_sets_log2: switch_sets_log2_i})
  );

  tmb_guard_registers #(
    .NumPorts(Num)
  ) u_guards (
    .clk_i,
    .rst_ni,
    .req_i(req[3]),
    .rsp_o(rsp[3]),
    .status_i(guard)
  );

  tmb_requester_counters #(
    .NumRequesters(Num)
  ) u_counters (
    .clk_i,
    .rst_ni,
    .req_i(req[4]),
    .rsp_o(rsp[4]),
    .events_i(events)
  );

  tmb_owner_changes #(
    .NumSlots(Num)
  ) u_owner_changes (
    .clk_i,
    .rst_ni,
    .moved_i,
    .count_o(owner_changes_o)
  );

  tmb_slot_interrupt u_interrupt (
    .clk_i,
    .rst_ni,
    .live_i,
    .interrupt_i,
    .rearm_i(interrupt_rearm_i),
    .edge_o,
    .owed_i,
    .announce_o
  );

  access_rsp_t control_rsp;
  unanswered_t control_unanswered;
  ctl_req_t ctl;
  assign control_error_o = control_rsp.error;
  assign control_read_o = control_rsp.data;
  assign control_unanswered_o = {control_unanswered.write, control_unanswered.offset};
  assign awvalid_o = ctl.awvalid;
  assign wvalid_o = ctl.wvalid;
  assign bready_o = ctl.bready;
  assign arvalid_o = ctl.arvalid;
  assign rready_o = ctl.rready;
  assign awaddr_o = ctl.awaddr;
  assign araddr_o = ctl.araddr;
  assign wdata_o = ctl.wdata;
  assign wstrb_o = ctl.wstrb;
  tmb_slot_control #(
    .MaxWait(16)
  ) u_control (
    .clk_i,
    .rst_ni,
    .run_i(control_run_i),
    .hung_o(control_hung_o),
    .unanswered_o(control_unanswered),
    .idle_o(control_idle_o),
    .valid_i(control_valid_i),
    .access_i('{write: control_write_i, addr: control_addr_i, data: control_data_i,
                strobe: control_strobe_i}),
    .done_o(control_done_o),
    .rsp_o(control_rsp),
    .mark_o(control_mark_o),
    .ctl_o(ctl),
    .ctl_i('{awready: awready_i, wready: wready_i, bresp: bresp_i, bvalid: bvalid_i, arready: arready_i,
             rdata: rdata_i, rresp: rresp_i, rvalid: rvalid_i})
  );

endmodule
