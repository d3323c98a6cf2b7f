// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The core of the shell: BAR and registers, slots, virtual memory, DMA and fabric.
//
// Cfg   the whole configuration
//
// Beside it stand what moves streams (tmb_shell_io: its movers are before the last StreamsPerSlot ports of each
// slot) and what keeps lines coherent (tmb_shell_coherent: readers and writers of the fabric, one a slice).
//
// Throughput, ordering, back-pressure and freedom from deadlock: see tmb_virtual_memory, tmb_fabric
// and tmb_dma; between them waiting goes one way: kernel -> virtual memory -> fabric -> memory, and
// host commands -> DMA -> fabric -> memory. A translation that needs the host parks outside of both.
//
// The host can reset all of it but the BAR's bridge (tmb_shell_reset), and its neighbours too (parts_rst_no).
//
// Every output comes from registers and every input goes to registers only, so no combinational
// path leads from an input to an output.
//
// Source: FSRF sections 4 and 5; docs/architecture.md.

`include "tmb_assert.svh"

module tmb_shell_core
  import tmb_pkg::*;
  import tmb_fabric_pkg::*;
  import tmb_dma_pkg::*;
  import tmb_shell_pkg::*;
  import tmb_guard_pkg::*;
  import tmb_stream_pkg::*;
  import tmb_schedule_pkg::*;
#(
  parameter shell_cfg_t Cfg = DefaultShellCfg,
  localparam int unsigned NumSlots = Cfg.NumSlots,
  localparam int unsigned NumPorts = Cfg.NumSlots * Cfg.PortsPerSlot,
  localparam int unsigned NumChannels = Cfg.NumChannels,
  localparam bit HasDirectory = Cfg.Directory.Slices != 0,
  localparam int unsigned NumLinks = HasDirectory ? Cfg.Directory.Slices : 1,
  localparam int unsigned AllPairs = Cfg.NumSlots * Cfg.StreamsPerSlot + Cfg.NetworkPairs,
  localparam int unsigned SwitchElements = AllPairs == 0 ? 1 : AllPairs
) (
  input  logic clk_i,
  input  logic rst_ni,
  output logic parts_rst_no,  // of all but the BAR: low while the host resets the shell, too

  // The host resets the shell: first network interfaces send nothing more, and say when all they have sent is
  // acknowledged or given up; then what stands outside of the shell is reset.
  output logic network_drain_o,
  input  logic network_quiet_i,
  output logic peripheral_rst_no,

  // The board's description of the card.
  input  card_facts_t card_i,

  // The host: its register accesses, interrupts (one cycle each), and its memory.
  input  bar_req_t  bar_i,
  output bar_rsp_t  bar_o,
  output logic      irq_o,
  output host_req_t host_o,
  input  host_rsp_t host_i,

  // Channels of card memory.
  output channel_req_t mem_o [NumChannels],
  input  channel_rsp_t mem_i [NumChannels],

  // Ports of virtual memory: virtual addresses. The last of each slot are the movers'.
  input  axi_req_t port_i [NumPorts],
  output axi_rsp_t port_o [NumPorts],

  // Slots: the kernels' registers, their interrupts and identities, and whether a slot is out of reset.
  output ctl_req_t    ctl_o [NumSlots],
  input  ctl_rsp_t    ctl_i [NumSlots],
  input  logic        slot_interrupt_i [NumSlots],
  input  logic [63:0] slot_identity_i [NumSlots],
  output logic        slot_live_o [NumSlots],

  // Movers and switch (tmb_shell_io). Without stream pairs one pair's elements, which are not used.
  output mover_control_t  mover_o [2*SwitchElements],
  input  mover_state_t    mover_i [2*SwitchElements],
  output switch_control_t switch_o [SwitchElements],
  input  switch_state_t   switch_i [SwitchElements],
  input  logic            transfer_valid_i,
  output logic            transfer_ready_o,
  input  transfer_t       transfer_i,

  // The coherent part (tmb_shell_coherent): its registers, the slots that it serves, its readers and writers.
  output logic        coherent_valid_o,
  output access_t     coherent_access_o,
  input  logic        coherent_done_i,
  input  access_rsp_t coherent_rsp_i,
  output logic        slot_closed_o [NumSlots],
  input  logic        coherent_idle_i [NumSlots],
  input  logic        coherent_violation_i [NumSlots],
  input  logic        coherent_trouble_i,

  input  logic            line_read_req_valid_i [NumLinks],
  output logic            line_read_req_ready_o [NumLinks],
  input  mem_req_t        line_read_req_i [NumLinks],
  output logic            line_read_rsp_valid_o [NumLinks],
  input  logic            line_read_rsp_ready_i [NumLinks],
  output mem_read_rsp_t   line_read_rsp_o [NumLinks],
  input  logic            line_write_req_valid_i [NumLinks],
  output logic            line_write_req_ready_o [NumLinks],
  input  mem_req_t        line_write_req_i [NumLinks],
  input  logic            line_write_data_valid_i [NumLinks],
  output logic            line_write_data_ready_o [NumLinks],
  input  mem_write_data_t line_write_data_i [NumLinks],
  output logic            line_write_rsp_valid_o [NumLinks],
  input  logic            line_write_rsp_ready_i [NumLinks],
  output mem_write_rsp_t  line_write_rsp_o [NumLinks]
);

  // Readers of the fabric: the ports' read requesters, walker, table engine, DMA. Writers: the ports'
  // write requesters, table engine, DMA. Before DMA, with a directory: its slices, of each kind.
  localparam int unsigned NumVmReaders = NumPorts + 2;
  localparam int unsigned NumVmWriters = NumPorts + 1;
  localparam int unsigned NumReaders = NumVmReaders + Cfg.Directory.Slices + 1;
  localparam int unsigned NumWriters = NumVmWriters + Cfg.Directory.Slices + 1;
  localparam int unsigned DmaReader = NumReaders - 1;
  localparam int unsigned DmaWriter = NumWriters - 1;

  // Without stream pairs the registers have one element.
  localparam int unsigned MoverElements = AllPairs == 0 ? 1 : 2 * AllPairs;

  // Memory channels, and the way to host memory behind them.
  localparam int unsigned NumFabricChannels = NumChannels + 32'(Cfg.HostChannel);

  // Page tables are never striped: their addresses mean what they say.
  localparam requesters_cfg_t Requesters = '{
      NumReaders: NumReaders,
      NumWriters: NumWriters,
      PreferredReader: DmaReader,
      PreferredWriter: DmaWriter,
      NumSlots: NumSlots,
      PortsPerSlot: Cfg.PortsPerSlot,
      StripedReaders: MaxRequesters'({NumPorts{1'b1}}) | (MaxRequesters'(1) << DmaReader),
      StripedWriters: MaxRequesters'({NumPorts{1'b1}}) | (MaxRequesters'(1) << DmaWriter)
  };

  // ---------------------------------------------------------------------------------------------
  // Control: BAR, registers, slots
  // ---------------------------------------------------------------------------------------------

  access_t access;
  logic register_valid, register_done;
  access_rsp_t register_rsp;
  logic control_valid [NumSlots];
  logic control_done [NumSlots];
  access_rsp_t control_rsp [NumSlots];
  read_notes_t slot_notes [NumSlots];

  logic parts_rst_n, bar_hold, bar_idle, reset_start, register_used, stop;
  reset_state_t reset_state;
  quiet_t quiet, parts_quiet;
  bar_error_t bar_error;
  error_bits_t errors, errors_set;
  error_firsts_t error_firsts;
  interrupt_cfg_t interrupt_cfg;
  interrupt_state_t interrupt_state;
  logic record_written, acknowledged;

  assign parts_rst_no = parts_rst_n;
  // Looked at only after a stop; until then it rests, and so does who looks.
  assign quiet = stop ? parts_quiet : '0;
  assign parts_quiet.network_writes = network_quiet_i;
  assign network_drain_o = stop;

  tmb_shell_reset u_shell_reset (
    .clk_i,
    .rst_ni,
    .start_i(reset_start),
    .used_i(register_used),
    .state_o(reset_state),
    .stop_o(stop),
    .quiet_i(quiet),
    .hold_o(bar_hold),
    .bar_idle_i(bar_idle),
    .rst_no(parts_rst_n),
    .peripheral_rst_no
  );

  tmb_bar_bridge #(
    .NumSlots(NumSlots),
    .HasDirectory(HasDirectory)
  ) u_bar (
    .clk_i,
    .rst_ni,
    .bar_i,
    .bar_o,
    .hold_i(bar_hold),
    .idle_o(bar_idle),
    .error_o(bar_error),
    .access_o(access),
    .register_valid_o(register_valid),
    .register_done_i(register_done),
    .register_rsp_i(register_rsp),
    .slot_valid_o(control_valid),
    .slot_done_i(control_done),
    .slot_rsp_i(control_rsp),
    .slot_notes_i(slot_notes),
    .directory_valid_o(coherent_valid_o),
    .directory_done_i(coherent_done_i),
    .directory_rsp_i(coherent_rsp_i)
  );

  assign coherent_access_o = access;

  logic enable, dma_idle, row_in, row_out, row_zeroed;
  ring_t command_ring [Cfg.NumQueues];
  logic [31:0] command_head [Cfg.NumQueues];
  ring_t event_ring;
  logic [31:0] event_tail;
  space_cfg_t space_cfg [Cfg.NumSpaces];
  stripe_t space_stripe [Cfg.NumSpaces];
  table_switch_t table_switch;
  logic walk_read;
  logic [31:0] owner_changes [2];
  logic slot_run [NumSlots];
  asid_t slot_asid [NumSlots];
  logic slot_idle [NumSlots];
  logic slot_hung [NumSlots];
  logic slot_closed [NumSlots];
  unanswered_t slot_unanswered [NumSlots];
  logic slot_rearm [NumSlots];
  guard_status_t port_guard [NumPorts];
  port_events_t port_events [2*NumPorts];
  logic mover_start [MoverElements];
  mover_command_t mover_command [MoverElements];
  stream_source_t switch_source [SwitchElements];
  logic switch_forget [SwitchElements];
  schedule_t schedule [NumSlots];
  level_t slot_level [NumSlots];
  for (genvar s = 0; s < NumSlots; s++) begin : gen_level
    assign slot_level[s] = schedule[s].level;
  end
  logic managed;
  array_req_t ports_req, requesters_req;
  array_rsp_t ports_rsp, requesters_rsp;

  tmb_register_block #(
    .Cfg(Cfg)
  ) u_registers (
    .clk_i,
    .rst_ni(parts_rst_n),
    .valid_i(register_valid),
    .access_i(access),
    .done_o(register_done),
    .rsp_o(register_rsp),
    .card_i,
    .slot_identity_i,
    .reset_start_o(reset_start),
    .used_o(register_used),
    .reset_i(reset_state),
    .interrupt_o(interrupt_cfg),
    .interrupt_i(interrupt_state),
    .acknowledge_o(acknowledged),
    .errors_o(errors),
    .errors_set_i(errors_set),
    .error_firsts_i(error_firsts),
    .enable_o(enable),
    .command_ring_o(command_ring),
    .command_head_i(command_head),
    .event_ring_o(event_ring),
    .event_tail_i(event_tail),
    .idle_i(dma_idle),
    .row_in_i(row_in),
    .row_out_i(row_out),
    .row_zeroed_i(row_zeroed),
    .space_cfg_o(space_cfg),
    .space_stripe_o(space_stripe),
    .table_switch_i(table_switch),
    .slot_run_o(slot_run),
    .slot_asid_o(slot_asid),
    .slot_idle_i(slot_idle),
    .slot_hung_i(slot_hung),
    .slot_unanswered_i(slot_unanswered),
    .slot_notes_i(slot_notes),
    .slot_rearm_o(slot_rearm),
    .ports_req_o(ports_req),
    .ports_rsp_i(ports_rsp),
    .requesters_req_o(requesters_req),
    .requesters_rsp_i(requesters_rsp),
    .walk_read_i(walk_read),
    .owner_changes_i(owner_changes),
    .mover_start_o(mover_start),
    .mover_command_o(mover_command),
    .mover_state_i(mover_i[0:MoverElements-1]),
    .switch_source_o(switch_source),
    .switch_forget_o(switch_forget),
    .switch_state_i(switch_i),
    .schedule_o(schedule),
    .managed_o(managed)
  );

  memory_error_t read_error [NumChannels];
  memory_error_t write_error [NumChannels];
  for (genvar c = 0; c < NumChannels; c++) begin : gen_error
    assign read_error[c] = memory_error(mem_i[c].r_valid && mem_i[c].r.error, mem_i[c].r_decode, '0);
    assign write_error[c] = memory_error(mem_i[c].b_valid && mem_i[c].b_error, mem_i[c].b_decode, '0);
  end

  tmb_shell_errors #(
    .NumChannels(NumChannels)
  ) u_errors (
    .clk_i,
    .rst_ni(parts_rst_n),
    .bar_i(bar_error),
    .host_read_i(memory_error(host_i.r_valid && host_i.r.error, host_i.r_decode, host_i.r_id)),
    .host_write_i(memory_error(host_i.b_valid && host_i.b_error, host_i.b_decode, host_i.b_id)),
    .memory_read_i(read_error),
    .memory_write_i(write_error),
    .held_i(errors),
    .set_o(errors_set),
    .first_o(error_firsts)
  );

  tmb_shell_interrupt u_shell_interrupt (
    .clk_i,
    .rst_ni(parts_rst_n),
    .cfg_i(interrupt_cfg),
    .state_o(interrupt_state),
    .record_i(record_written),
    .written_i(event_tail),
    .consumed_i(event_ring.host_count),
    .error_i(errors != '0),
    .acknowledge_i(acknowledged),
    .irq_o
  );

  for (genvar m = 0; m < 2 * SwitchElements; m++) begin : gen_mover
    if (m < MoverElements) begin : gen_used
      assign mover_o[m] = '{start: mover_start[m], command: mover_command[m]};
    end else begin : gen_unused
      assign mover_o[m] = '0;

      logic unused_ok;
      assign unused_ok = &{1'b0, mover_i[m]};
    end
  end
  for (genvar p = 0; p < SwitchElements; p++) begin : gen_switch
    assign switch_o[p] = '{source: switch_source[p], forget: switch_forget[p]};
  end

  // The guards' state moves with the traffic: the registers get it only when they are read.
  guard_status_t guard_asked [NumPorts];
  for (genvar p = 0; p < NumPorts; p++) begin : gen_guard_asked
    assign guard_asked[p] = ports_req.valid ? port_guard[p] : '0;
  end

  tmb_guard_registers #(
    .NumPorts(NumPorts)
  ) u_port_registers (
    .clk_i,
    .rst_ni(parts_rst_n),
    .req_i(ports_req),
    .rsp_o(ports_rsp),
    .status_i(guard_asked)
  );

  tmb_requester_counters #(
    .NumRequesters(2 * NumPorts)
  ) u_requester_counters (
    .clk_i,
    .rst_ni(parts_rst_n),
    .req_i(requesters_req),
    .rsp_o(requesters_rsp),
    .events_i(port_events)
  );

  asid_t port_asid [NumPorts];
  logic port_reset [NumPorts];
  logic port_idle [NumPorts];
  logic port_closed [NumPorts];
  logic port_violation [NumPorts];
  logic port_mark [NumPorts];
  logic port_announce [NumPorts];
  owed_t port_owed [NumPorts];
  logic interrupt [NumSlots];
  logic slot_report [NumSlots];

  for (genvar s = 0; s < NumSlots; s++) begin : gen_slot
    logic control_idle, live;
    logic [Cfg.PortsPerSlot-1:0] ports_idle, violations, reads_owed, writes_owed, announced_owed;
    logic mark, interrupt_edge;
    asid_t asid;

    tmb_slot_reset u_reset (
      .clk_i,
      .rst_ni(parts_rst_n),
      .run_i(slot_run[s]),
      .asid_i(slot_asid[s]),
      .idle_i(slot_idle[s]),
      .live_o(live),
      .asid_o(asid)
    );

    tmb_slot_control u_control (
      .clk_i,
      .rst_ni(parts_rst_n),
      .run_i(live),
      .hung_o(slot_hung[s]),
      .unanswered_o(slot_unanswered[s]),
      .idle_o(control_idle),
      .valid_i(control_valid[s]),
      .access_i(access),
      .done_o(control_done[s]),
      .rsp_o(control_rsp[s]),
      .mark_o(mark),
      .ctl_o(ctl_o[s]),
      .ctl_i(ctl_i[s])
    );

    for (genvar k = 0; k < Cfg.PortsPerSlot; k++) begin : gen_port
      localparam int unsigned Port = s * Cfg.PortsPerSlot + k;
      assign port_asid[Port] = asid;
      assign port_reset[Port] = !live;
      assign ports_idle[k] = port_idle[Port];
      assign port_closed[Port] = slot_closed[s];
      assign violations[k] = port_violation[Port];
      assign port_mark[Port] = mark;
      assign port_announce[Port] = interrupt_edge;
      // Ports of streams are the movers': the ends of their transfers are reported separately.
      localparam bit IsMemory = k < Cfg.PortsPerSlot - Cfg.StreamsPerSlot;
      assign reads_owed[k] = IsMemory && port_owed[Port].reads;
      assign writes_owed[k] = IsMemory && port_owed[Port].writes;
      assign announced_owed[k] = IsMemory && port_owed[Port].announced;
    end

    assign slot_notes[s] = '{
        closed: slot_closed[s],
        writes_owed: |writes_owed,
        reads_owed: |reads_owed
    };

    // The ports, and the ways from the directory and to the CPU's lines.
    tmb_slot_guard #(
      .NumPorts(Cfg.PortsPerSlot + 1)
    ) u_guard (
      .clk_i,
      .rst_ni(parts_rst_n),
      .live_i(live),
      .violation_i({coherent_violation_i[s], violations}),
      .hung_i(slot_hung[s]),
      .closed_o(slot_closed[s]),
      .report_o(slot_report[s])
    );

    tmb_slot_interrupt u_interrupt (
      .clk_i,
      .rst_ni(parts_rst_n),
      .live_i(live),
      .interrupt_i(slot_interrupt_i[s]),
      .rearm_i(slot_rearm[s]),
      .edge_o(interrupt_edge),
      .owed_i(|announced_owed),
      .announce_o(interrupt[s])
    );

    assign slot_live_o[s] = live;
    assign slot_closed_o[s] = slot_closed[s];
    assign slot_idle[s] = control_idle && (&ports_idle) && coherent_idle_i[s];
  end

  // Requests to card memory.
  logic read_req_valid [NumReaders];
  logic read_req_ready [NumReaders];
  mem_req_t read_req [NumReaders];
  stripe_t read_stripe [NumReaders];
  logic read_rsp_valid [NumReaders];
  logic read_rsp_ready [NumReaders];
  mem_read_rsp_t read_rsp [NumReaders];
  logic write_req_valid [NumWriters];
  logic write_req_ready [NumWriters];
  mem_req_t write_req [NumWriters];
  stripe_t write_stripe [NumWriters];
  logic write_data_valid [NumWriters];
  logic write_data_ready [NumWriters];
  mem_write_data_t write_data [NumWriters];
  logic write_rsp_valid [NumWriters];
  logic write_rsp_ready [NumWriters];
  mem_write_rsp_t write_rsp [NumWriters];

  // With a directory: its slices.
  for (genvar l = 0; l < NumLinks; l++) begin : gen_line
    if (HasDirectory) begin : gen_slice
      localparam int unsigned Reader = NumVmReaders + l;
      localparam int unsigned Writer = NumVmWriters + l;
      assign read_req_valid[Reader] = line_read_req_valid_i[l];
      assign line_read_req_ready_o[l] = read_req_ready[Reader];
      assign read_req[Reader] = line_read_req_i[l];
      assign line_read_rsp_valid_o[l] = read_rsp_valid[Reader];
      assign read_rsp_ready[Reader] = line_read_rsp_ready_i[l];
      assign line_read_rsp_o[l] = read_rsp[Reader];
      assign write_req_valid[Writer] = line_write_req_valid_i[l];
      assign line_write_req_ready_o[l] = write_req_ready[Writer];
      assign write_req[Writer] = line_write_req_i[l];
      assign write_data_valid[Writer] = line_write_data_valid_i[l];
      assign line_write_data_ready_o[l] = write_data_ready[Writer];
      assign write_data[Writer] = line_write_data_i[l];
      assign line_write_rsp_valid_o[l] = write_rsp_valid[Writer];
      assign write_rsp_ready[Writer] = line_write_rsp_ready_i[l];
      assign line_write_rsp_o[l] = write_rsp[Writer];
    end else begin : gen_none
      assign line_read_req_ready_o[l] = 1'b0;
      assign line_read_rsp_valid_o[l] = 1'b0;
      assign line_read_rsp_o[l] = '0;
      assign line_write_req_ready_o[l] = 1'b0;
      assign line_write_data_ready_o[l] = 1'b0;
      assign line_write_rsp_valid_o[l] = 1'b0;
      assign line_write_rsp_o[l] = '0;

      logic unused_ok;
      assign unused_ok = &{1'b0, line_read_req_valid_i[l], line_read_req_i[l], line_read_rsp_ready_i[l],
                           line_write_req_valid_i[l], line_write_req_i[l], line_write_data_valid_i[l],
                           line_write_data_i[l], line_write_rsp_ready_i[l]};
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Virtual memory
  // ---------------------------------------------------------------------------------------------

  // Rows over the slot boundary, of memory ports: those of movers do not count.
  logic [NumPorts-1:0] port_read, port_wrote;
  for (genvar p = 0; p < NumPorts; p++) begin : gen_moved
    localparam bit IsMemory = p % Cfg.PortsPerSlot < Cfg.PortsPerSlot - Cfg.StreamsPerSlot;
    assign port_read[p] = IsMemory && port_o[p].r_valid && port_i[p].r_ready;
    assign port_wrote[p] = IsMemory && port_i[p].w_valid && port_o[p].w_ready;
  end

  logic [NumSlots-1:0] slot_moved [2];
  for (genvar s = 0; s < NumSlots; s++) begin : gen_slot_moved
    assign slot_moved[0][s] = port_read[s*Cfg.PortsPerSlot+:Cfg.PortsPerSlot] != '0;
    assign slot_moved[1][s] = port_wrote[s*Cfg.PortsPerSlot+:Cfg.PortsPerSlot] != '0;
  end
  for (genvar d = 0; d < 2; d++) begin : gen_owner_changes
    tmb_owner_changes #(
      .NumSlots(NumSlots)
    ) u_owner_changes (
      .clk_i,
      .rst_ni(parts_rst_n),
      .moved_i(slot_moved[d]),
      .count_o(owner_changes[d])
    );
  end

  logic table_cmd_valid, table_cmd_ready, table_rsp_valid, table_rsp_ready;
  logic fault_valid, fault_ready, fault_reply_valid, fault_reply_ready;
  table_cmd_t table_cmd;
  table_rsp_t table_rsp;
  fault_t fault;
  fault_reply_t fault_reply;

  tmb_virtual_memory #(
    .Cfg(Cfg)
  ) u_virtual_memory (
    .clk_i,
    .rst_ni(parts_rst_n),
    .port_req_i(port_i),
    .port_rsp_o(port_o),
    .port_asid_i(port_asid),
    .port_reset_i(port_reset),
    .port_idle_o(port_idle),
    .port_closed_i(port_closed),
    .port_violation_o(port_violation),
    .port_guard_o(port_guard),
    .port_mark_i(port_mark),
    .port_announce_i(port_announce),
    .port_owed_o(port_owed),
    .space_cfg_i(space_cfg),
    .managed_i(managed),
    .level_i(slot_level),
    .table_cmd_valid_i(table_cmd_valid),
    .table_cmd_ready_o(table_cmd_ready),
    .table_cmd_i(table_cmd),
    .table_rsp_valid_o(table_rsp_valid),
    .table_rsp_ready_i(table_rsp_ready),
    .table_rsp_o(table_rsp),
    .table_switch_o(table_switch),
    .fault_valid_o(fault_valid),
    .fault_ready_i(fault_ready),
    .fault_o(fault),
    .fault_reply_valid_i(fault_reply_valid),
    .fault_reply_ready_o(fault_reply_ready),
    .fault_reply_i(fault_reply),
    .read_req_valid_o(read_req_valid[0:NumVmReaders-1]),
    .read_req_ready_i(read_req_ready[0:NumVmReaders-1]),
    .read_req_o(read_req[0:NumVmReaders-1]),
    .read_rsp_valid_i(read_rsp_valid[0:NumVmReaders-1]),
    .read_rsp_ready_o(read_rsp_ready[0:NumVmReaders-1]),
    .read_rsp_i(read_rsp[0:NumVmReaders-1]),
    .write_req_valid_o(write_req_valid[0:NumVmWriters-1]),
    .write_req_ready_i(write_req_ready[0:NumVmWriters-1]),
    .write_req_o(write_req[0:NumVmWriters-1]),
    .write_data_valid_o(write_data_valid[0:NumVmWriters-1]),
    .write_data_ready_i(write_data_ready[0:NumVmWriters-1]),
    .write_data_o(write_data[0:NumVmWriters-1]),
    .write_rsp_valid_i(write_rsp_valid[0:NumVmWriters-1]),
    .write_rsp_ready_o(write_rsp_ready[0:NumVmWriters-1]),
    .write_rsp_i(write_rsp[0:NumVmWriters-1]),
    .port_events_o(port_events),
    .walk_read_o(walk_read)
  );

  // ---------------------------------------------------------------------------------------------
  // DMA
  // ---------------------------------------------------------------------------------------------

  host_ax_t host_ar, host_aw;
  host_w_t host_w;
  logic host_ar_valid, host_r_ready, host_aw_valid, host_w_valid, host_b_ready;
  logic [3:0] host_ar_id, host_aw_id;
  row_strobe_t host_w_strobe;
  direct_req_t direct_req;
  direct_rsp_t direct_rsp;

  schedule_t queue_schedule [Cfg.NumQueues > 1 ? Cfg.NumQueues - 1 : 1];

  tmb_schedule_queues #(
    .NumSlots(NumSlots),
    .NumQueues(Cfg.NumQueues)
  ) u_queue_schedule (
    .clk_i,
    .run_i(slot_run),
    .asid_i(slot_asid),
    .schedule_i(schedule),
    .schedule_o(queue_schedule)
  );

  tmb_dma #(
    .Cfg(Cfg)
  ) u_dma (
    .clk_i,
    .rst_ni(parts_rst_n),
    .managed_i(managed),
    .schedule_i(queue_schedule),
    .enable_i(enable),
    .command_ring_i(command_ring),
    .command_head_o(command_head),
    .event_ring_i(event_ring),
    .event_tail_o(event_tail),
    .idle_o(dma_idle),
    .row_in_o(row_in),
    .row_out_o(row_out),
    .row_zeroed_o(row_zeroed),
    .stop_i(stop),
    .quiet_reads_o(parts_quiet.host_reads),
    .quiet_writes_o(parts_quiet.host_writes),
    .record_o(record_written),
    .interrupt_i(interrupt),
    .closed_i(slot_report),
    .transfer_valid_i,
    .transfer_ready_o,
    .transfer_mover_i(transfer_i.mover),
    .transfer_i(transfer_i.done),
    .trouble_i(coherent_trouble_i),
    .table_cmd_valid_o(table_cmd_valid),
    .table_cmd_ready_i(table_cmd_ready),
    .table_cmd_o(table_cmd),
    .table_rsp_valid_i(table_rsp_valid),
    .table_rsp_ready_o(table_rsp_ready),
    .table_rsp_i(table_rsp),
    .fault_valid_i(fault_valid),
    .fault_ready_o(fault_ready),
    .fault_i(fault),
    .fault_reply_valid_o(fault_reply_valid),
    .fault_reply_ready_i(fault_reply_ready),
    .fault_reply_o(fault_reply),
    .read_req_valid_o(read_req_valid[DmaReader]),
    .read_req_ready_i(read_req_ready[DmaReader]),
    .read_req_o(read_req[DmaReader]),
    .read_stripe_o(read_stripe[DmaReader]),
    .read_rsp_valid_i(read_rsp_valid[DmaReader]),
    .read_rsp_ready_o(read_rsp_ready[DmaReader]),
    .read_rsp_i(read_rsp[DmaReader]),
    .write_req_valid_o(write_req_valid[DmaWriter]),
    .write_req_ready_i(write_req_ready[DmaWriter]),
    .write_req_o(write_req[DmaWriter]),
    .write_stripe_o(write_stripe[DmaWriter]),
    .write_data_valid_o(write_data_valid[DmaWriter]),
    .write_data_ready_i(write_data_ready[DmaWriter]),
    .write_data_o(write_data[DmaWriter]),
    .write_rsp_valid_i(write_rsp_valid[DmaWriter]),
    .write_rsp_ready_o(write_rsp_ready[DmaWriter]),
    .write_rsp_i(write_rsp[DmaWriter]),
    .direct_i(direct_req),
    .direct_o(direct_rsp),
    .host_ar_valid_o(host_ar_valid),
    .host_ar_ready_i(host_i.ar_ready),
    .host_ar_o(host_ar),
    .host_ar_id_o(host_ar_id),
    .host_r_valid_i(host_i.r_valid),
    .host_r_ready_o(host_r_ready),
    .host_r_i(host_i.r),
    .host_r_id_i(host_i.r_id),
    .host_aw_valid_o(host_aw_valid),
    .host_aw_ready_i(host_i.aw_ready),
    .host_aw_o(host_aw),
    .host_aw_id_o(host_aw_id),
    .host_w_valid_o(host_w_valid),
    .host_w_ready_i(host_i.w_ready),
    .host_w_o(host_w),
    .host_w_strobe_o(host_w_strobe),
    .host_b_valid_i(host_i.b_valid),
    .host_b_ready_o(host_b_ready),
    .host_b_error_i(host_i.b_error),
    .host_b_id_i(host_i.b_id)
  );

  assign host_o = '{
      ar_valid: host_ar_valid,
      ar_id: host_ar_id,
      ar: host_ar,
      r_ready: host_r_ready,
      aw_valid: host_aw_valid,
      aw_id: host_aw_id,
      aw: host_aw,
      w_valid: host_w_valid,
      b_ready: host_b_ready,
      w_strobe: host_w_strobe,
      w: host_w
  };

  // ---------------------------------------------------------------------------------------------
  // Fabric
  // ---------------------------------------------------------------------------------------------

  // A port's bursts are striped as its space is. Both change only while the port is empty.
  for (genvar p = 0; p < NumPorts; p++) begin : gen_stripe
    stripe_t stripe;
    always_comb begin
      stripe = '0;
      for (int unsigned a = 0; a < Cfg.NumSpaces; a++) begin
        if (port_asid[p] == asid_t'(a)) stripe = space_stripe[a];
      end
    end
    tmb_flop #(
      .T(stripe_t)
    ) u_stripe (
      .clk_i,
      .rst_ni(parts_rst_n),
      .d_i(stripe),
      .q_o(read_stripe[p])
    );
    assign write_stripe[p] = read_stripe[p];
  end
  for (genvar r = NumPorts; r < DmaReader; r++) begin : gen_plain_reader
    assign read_stripe[r] = '0;
  end
  for (genvar w = NumPorts; w < DmaWriter; w++) begin : gen_plain_writer
    assign write_stripe[w] = '0;
  end

  channel_ax_t mem_ar [NumFabricChannels];
  channel_r_t mem_r [NumFabricChannels];
  channel_ax_t mem_aw [NumFabricChannels];
  mem_write_data_t mem_w [NumFabricChannels];
  logic mem_b_error [NumFabricChannels];
  logic mem_ar_valid [NumFabricChannels];
  logic mem_ar_ready [NumFabricChannels];
  logic mem_r_valid [NumFabricChannels];
  logic mem_r_ready [NumFabricChannels];
  logic mem_aw_valid [NumFabricChannels];
  logic mem_aw_ready [NumFabricChannels];
  logic mem_w_valid [NumFabricChannels];
  logic mem_w_ready [NumFabricChannels];
  logic mem_b_valid [NumFabricChannels];
  logic mem_b_ready [NumFabricChannels];

  tmb_fabric #(
    .Cfg(Cfg),
    .Requesters(Requesters)
  ) u_fabric (
    .clk_i,
    .rst_ni(parts_rst_n),
    .stop_i(stop),
    .quiet_reads_o(parts_quiet.memory_reads),
    .quiet_writes_o(parts_quiet.memory_writes),
    .managed_i(managed),
    .schedule_i(schedule),
    .read_req_valid_i(read_req_valid),
    .read_req_ready_o(read_req_ready),
    .read_req_i(read_req),
    .read_stripe_i(read_stripe),
    .read_rsp_valid_o(read_rsp_valid),
    .read_rsp_ready_i(read_rsp_ready),
    .read_rsp_o(read_rsp),
    .write_req_valid_i(write_req_valid),
    .write_req_ready_o(write_req_ready),
    .write_req_i(write_req),
    .write_stripe_i(write_stripe),
    .write_data_valid_i(write_data_valid),
    .write_data_ready_o(write_data_ready),
    .write_data_i(write_data),
    .write_rsp_valid_o(write_rsp_valid),
    .write_rsp_ready_i(write_rsp_ready),
    .write_rsp_o(write_rsp),
    .mem_ar_valid_o(mem_ar_valid),
    .mem_ar_ready_i(mem_ar_ready),
    .mem_ar_o(mem_ar),
    .mem_r_valid_i(mem_r_valid),
    .mem_r_ready_o(mem_r_ready),
    .mem_r_i(mem_r),
    .mem_aw_valid_o(mem_aw_valid),
    .mem_aw_ready_i(mem_aw_ready),
    .mem_aw_o(mem_aw),
    .mem_w_valid_o(mem_w_valid),
    .mem_w_ready_i(mem_w_ready),
    .mem_w_o(mem_w),
    .mem_b_valid_i(mem_b_valid),
    .mem_b_ready_o(mem_b_ready),
    .mem_b_error_i(mem_b_error)
  );

  for (genvar c = 0; c < NumChannels; c++) begin : gen_channel
    assign mem_o[c] = '{
        ar_valid: mem_ar_valid[c],
        ar: mem_ar[c],
        r_ready: mem_r_ready[c],
        aw_valid: mem_aw_valid[c],
        aw: mem_aw[c],
        w_valid: mem_w_valid[c],
        b_ready: mem_b_ready[c],
        w: mem_w[c]
    };
    assign mem_ar_ready[c] = mem_i[c].ar_ready;
    assign mem_aw_ready[c] = mem_i[c].aw_ready;
    assign mem_w_ready[c] = mem_i[c].w_ready;
    assign mem_b_valid[c] = mem_i[c].b_valid;
    assign mem_b_error[c] = mem_i[c].b_error;
    assign mem_r_valid[c] = mem_i[c].r_valid;
    assign mem_r[c] = mem_i[c].r;
  end

  if (Cfg.HostChannel) begin : gen_host_channel
    tmb_host_channel u_host_channel (
      .clk_i,
      .rst_ni(parts_rst_n),
      .mem_ar_valid_i(mem_ar_valid[NumChannels]),
      .mem_ar_ready_o(mem_ar_ready[NumChannels]),
      .mem_ar_i(mem_ar[NumChannels]),
      .mem_r_valid_o(mem_r_valid[NumChannels]),
      .mem_r_ready_i(mem_r_ready[NumChannels]),
      .mem_r_o(mem_r[NumChannels]),
      .mem_aw_valid_i(mem_aw_valid[NumChannels]),
      .mem_aw_ready_o(mem_aw_ready[NumChannels]),
      .mem_aw_i(mem_aw[NumChannels]),
      .mem_w_valid_i(mem_w_valid[NumChannels]),
      .mem_w_ready_o(mem_w_ready[NumChannels]),
      .mem_w_i(mem_w[NumChannels]),
      .mem_b_valid_o(mem_b_valid[NumChannels]),
      .mem_b_ready_i(mem_b_ready[NumChannels]),
      .mem_b_error_o(mem_b_error[NumChannels]),
      .direct_o(direct_req),
      .direct_i(direct_rsp)
    );
  end else begin : gen_no_host_channel
    assign direct_req = '0;

    logic unused_direct;
    assign unused_direct = &{1'b0, direct_rsp};
  end

  `TMB_ASSERT_INIT(SlotsFitMap, NumSlots >= 1 && NumSlots <= 16)
  `TMB_ASSERT_INIT(SpacesFitMap, Cfg.NumSpaces >= 1 && Cfg.NumSpaces <= 16)
  `TMB_ASSERT_INIT(LanesArePowerOfTwo,
      Cfg.NumLanes >= 1 && (Cfg.NumLanes & (Cfg.NumLanes - 1)) == 0)
  `TMB_ASSERT_INIT(LanesShareRequesters, 2 * NumPorts % Cfg.NumLanes == 0)

endmodule
