// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The shell: everything between the host's PCIe, the kernels' slots and the card's memory channels.
//
// Cfg   the whole configuration
//
// Ports are flat, with one array element a slot, port or channel, so that a simulator or a board's
// top level reaches each by name:
//   bar_*    AXI4-Lite subordinate, the host's register accesses (docs/registers.md)
//   host_*   AXI4 manager to host memory: 512 bits, 64 bytes a beat, INCR
//   mem_*    AXI4 managers, one a channel: as above, one ID, address = offset within the channel
//   port_*   AXI4 subordinates, one a kernel port (the kernel is the manager): virtual addresses
//   ctl_*    AXI4-Lite managers, one a slot: the kernel's s_axi_control
//   sin_*    AXI4-Stream managers, one a stream pair: into the kernel
//   sout_*   AXI4-Stream subordinates, one a stream pair: out of the kernel
//
// A stream pair has movers in front of one of the slot's ports: of the PortsPerSlot ports of a slot, the
// last StreamsPerSlot. Their elements of port_* are not used, and low. Without stream pairs sin_* and
// sout_* have one element, which is not used.
//   net_*    network interfaces, NetworkPairs of them: net_send_* AXI4-Stream managers, what a kernel sends;
//            net_receive_* AXI4-Stream subordinates, what has come for a kernel. Element 2n of the others is of
//            what interface n sends, 2n+1 of what it receives: net_start_o begins a transfer of net_bytes_o from
//            net_address_o on of the peer's memory, net_done_* is its end. They take part in the switch as ports of
//            a slot do, and have no mover. Without them one element (two of net_start_o and its like), not used.
//   cache_*, access_*        with a cache of the CPU's lines: the link, and the kernels' accesses (tmb_host_lines);
//   link_*, home_*, line_*   with a directory: to the CPU, and to the kernels behind it (tmb_home);
//            else one element each, which is not used
//
// Throughput, ordering, back-pressure and freedom from deadlock: see tmb_virtual_memory, tmb_fabric
// and tmb_dma; between them waiting goes one way: kernel -> virtual memory -> fabric -> memory, and
// host commands -> DMA -> fabric -> memory. A translation that needs the host parks outside of both.
//
// Every output comes from registers (streams into kernels: through the select of the switch) and every
// input goes to registers only, so no combinational
// path leads from an input to an output; kernels and models around the shell can be compiled, and
// evaluated, apart from it.
//
// Source: FSRF sections 4 and 5; docs/architecture.md.

`include "tmb_assert.svh"

module tmb_shell import tmb_pkg::*; import tmb_fabric_pkg::*; import tmb_dma_pkg::*;
  import tmb_shell_pkg::*; import tmb_guard_pkg::*; import tmb_stream_pkg::*;
  import tmb_schedule_pkg::*; #(
  parameter shell_cfg_t Cfg = DefaultShellCfg,
  localparam int unsigned NumSlots = Cfg.NumSlots,
  localparam int unsigned NumPorts = Cfg.NumSlots * Cfg.PortsPerSlot,
  localparam int unsigned NumChannels = Cfg.NumChannels,
  localparam int unsigned NumPairs = Cfg.NumSlots * Cfg.StreamsPerSlot,
  localparam int unsigned PairElements = NumPairs == 0 ? 1 : NumPairs,
  localparam int unsigned NumNetworks = Cfg.NetworkPairs,
  localparam int unsigned NetworkElements = NumNetworks == 0 ? 1 : NumNetworks,
  localparam bit HasDirectory = Cfg.Directory.Slices != 0,
  localparam int unsigned NumLinks = HasDirectory ? Cfg.Directory.Slices : 1,
  localparam int unsigned NumHomes = HasDirectory ? Cfg.NumSlots * Cfg.Directory.Slices : 1,
  localparam bit HasCache = Cfg.Cache.Sets != 0,
  localparam int unsigned NumCaches = HasCache ? NumLinks : 1,
  localparam int unsigned NumAccess = HasCache ? NumHomes : 1
) (
  input  logic clk_i,
  input  logic rst_ni,

  // A record has been written to the event ring: one cycle each.
  output logic irq_o,

  input  logic [31:0] bar_awaddr_i,
  input  logic        bar_awvalid_i,
  output logic        bar_awready_o,
  input  logic [31:0] bar_wdata_i,
  input  logic [3:0]  bar_wstrb_i,
  input  logic        bar_wvalid_i,
  output logic        bar_wready_o,
  output logic [1:0]  bar_bresp_o,
  output logic        bar_bvalid_o,
  input  logic        bar_bready_i,
  input  logic [31:0] bar_araddr_i,
  input  logic        bar_arvalid_i,
  output logic        bar_arready_o,
  output logic [31:0] bar_rdata_o,
  output logic [1:0]  bar_rresp_o,
  output read_notes_t bar_ruser_o,
  output logic        bar_rvalid_o,
  input  logic        bar_rready_i,

  output logic [3:0]   host_arid_o,
  output logic [63:0]  host_araddr_o,
  output logic [7:0]   host_arlen_o,
  output logic         host_arvalid_o,
  input  logic         host_arready_i,
  input  logic [3:0]   host_rid_i,
  input  logic [511:0] host_rdata_i,
  input  logic [1:0]   host_rresp_i,
  input  logic         host_rlast_i,
  input  logic         host_rvalid_i,
  output logic         host_rready_o,
  output logic [3:0]   host_awid_o,
  output logic [63:0]  host_awaddr_o,
  output logic [7:0]   host_awlen_o,
  output logic         host_awvalid_o,
  input  logic         host_awready_i,
  output logic [511:0] host_wdata_o,
  output logic [63:0]  host_wstrb_o,
  output logic         host_wlast_o,
  output logic         host_wvalid_o,
  input  logic         host_wready_i,
  input  logic [3:0]   host_bid_i,
  input  logic [1:0]   host_bresp_i,
  input  logic         host_bvalid_i,
  output logic         host_bready_o,

  output logic [63:0]  mem_araddr_o [NumChannels],
  output logic [7:0]   mem_arlen_o [NumChannels],
  output logic         mem_arvalid_o [NumChannels],
  input  logic         mem_arready_i [NumChannels],
  input  logic [511:0] mem_rdata_i [NumChannels],
  input  logic [1:0]   mem_rresp_i [NumChannels],
  input  logic         mem_rlast_i [NumChannels],
  input  logic         mem_rvalid_i [NumChannels],
  output logic         mem_rready_o [NumChannels],
  output logic [63:0]  mem_awaddr_o [NumChannels],
  output logic [7:0]   mem_awlen_o [NumChannels],
  output logic         mem_awvalid_o [NumChannels],
  input  logic         mem_awready_i [NumChannels],
  output logic [511:0] mem_wdata_o [NumChannels],
  output logic [63:0]  mem_wstrb_o [NumChannels],
  output logic         mem_wlast_o [NumChannels],
  output logic         mem_wvalid_o [NumChannels],
  input  logic         mem_wready_i [NumChannels],
  input  logic [1:0]   mem_bresp_i [NumChannels],
  input  logic         mem_bvalid_i [NumChannels],
  output logic         mem_bready_o [NumChannels],

  input  logic [15:0]  port_arid_i [NumPorts],
  input  logic [63:0]  port_araddr_i [NumPorts],
  input  logic [7:0]   port_arlen_i [NumPorts],
  input  logic [2:0]   port_arsize_i [NumPorts],
  input  logic [1:0]   port_arburst_i [NumPorts],
  input  logic         port_arvalid_i [NumPorts],
  output logic         port_arready_o [NumPorts],
  output logic [15:0]  port_rid_o [NumPorts],
  output logic [511:0] port_rdata_o [NumPorts],
  output logic [1:0]   port_rresp_o [NumPorts],
  output logic         port_rlast_o [NumPorts],
  output logic         port_rvalid_o [NumPorts],
  input  logic         port_rready_i [NumPorts],
  input  logic [15:0]  port_awid_i [NumPorts],
  input  logic [63:0]  port_awaddr_i [NumPorts],
  input  logic [7:0]   port_awlen_i [NumPorts],
  input  logic [2:0]   port_awsize_i [NumPorts],
  input  logic [1:0]   port_awburst_i [NumPorts],
  input  logic         port_awvalid_i [NumPorts],
  output logic         port_awready_o [NumPorts],
  input  logic [511:0] port_wdata_i [NumPorts],
  input  logic [63:0]  port_wstrb_i [NumPorts],
  input  logic         port_wlast_i [NumPorts],
  input  logic         port_wvalid_i [NumPorts],
  output logic         port_wready_o [NumPorts],
  output logic [15:0]  port_bid_o [NumPorts],
  output logic [1:0]   port_bresp_o [NumPorts],
  output logic         port_bvalid_o [NumPorts],
  input  logic         port_bready_i [NumPorts],

  output logic [15:0] ctl_awaddr_o [NumSlots],
  output logic        ctl_awvalid_o [NumSlots],
  input  logic        ctl_awready_i [NumSlots],
  output logic [31:0] ctl_wdata_o [NumSlots],
  output logic [3:0]  ctl_wstrb_o [NumSlots],
  output logic        ctl_wvalid_o [NumSlots],
  input  logic        ctl_wready_i [NumSlots],
  input  logic [1:0]  ctl_bresp_i [NumSlots],
  input  logic        ctl_bvalid_i [NumSlots],
  output logic        ctl_bready_o [NumSlots],
  output logic [15:0] ctl_araddr_o [NumSlots],
  output logic        ctl_arvalid_o [NumSlots],
  input  logic        ctl_arready_i [NumSlots],
  input  logic [31:0] ctl_rdata_i [NumSlots],
  input  logic [1:0]  ctl_rresp_i [NumSlots],
  input  logic        ctl_rvalid_i [NumSlots],
  output logic        ctl_rready_o [NumSlots],

  output logic [511:0] sin_tdata_o [PairElements],
  output logic [63:0]  sin_tkeep_o [PairElements],
  output logic         sin_tlast_o [PairElements],
  output logic         sin_tvalid_o [PairElements],
  input  logic         sin_tready_i [PairElements],
  input  logic [511:0] sout_tdata_i [PairElements],
  input  logic [63:0]  sout_tkeep_i [PairElements],
  input  logic         sout_tlast_i [PairElements],
  input  logic         sout_tvalid_i [PairElements],
  output logic         sout_tready_o [PairElements],

  output logic [511:0] net_send_tdata_o [NetworkElements],
  output logic [63:0]  net_send_tkeep_o [NetworkElements],
  output logic         net_send_tlast_o [NetworkElements],
  output logic         net_send_tvalid_o [NetworkElements],
  input  logic         net_send_tready_i [NetworkElements],
  input  logic [511:0] net_receive_tdata_i [NetworkElements],
  input  logic [63:0]  net_receive_tkeep_i [NetworkElements],
  input  logic         net_receive_tlast_i [NetworkElements],
  input  logic         net_receive_tvalid_i [NetworkElements],
  output logic         net_receive_tready_o [NetworkElements],
  output logic         net_start_o [2*NetworkElements],      // one cycle each
  output logic [47:0]  net_address_o [2*NetworkElements],
  output logic [47:0]  net_bytes_o [2*NetworkElements],
  output logic         net_last_o [2*NetworkElements],       // the last beat received has TLAST
  output logic         net_stop_o [2*NetworkElements],       // one cycle: end as if the range were full; cut what is received
  input  logic         net_busy_i [2*NetworkElements],
  input  logic [47:0]  net_moved_i [2*NetworkElements],      // bytes that have crossed the stream
  input  logic         net_done_valid_i [2*NetworkElements],
  output logic         net_done_ready_o [2*NetworkElements],
  input  logic [47:0]  net_done_bytes_i [2*NetworkElements],
  input  logic         net_done_last_i [2*NetworkElements],
  input  logic [1:0]   net_done_status_i [2*NetworkElements],  // mover_status_e

  input  logic slot_interrupt_i [NumSlots],
  output logic slot_rst_no [NumSlots],

  input  logic         link_request_valid_i [NumLinks],
  input  logic [63:0]  link_request_i [NumLinks],
  input  logic         link_request_data_valid_i [NumLinks],
  input  logic [63:0]  link_request_data_header_i [NumLinks],
  input  logic [511:0] link_request_data_row_i [NumLinks],
  input  logic         link_request_data_last_i [NumLinks],
  input  logic         link_response_valid_i [NumLinks],
  input  logic [63:0]  link_response_i [NumLinks],
  input  logic         link_response_data_valid_i [NumLinks],
  input  logic [63:0]  link_response_data_header_i [NumLinks],
  input  logic [511:0] link_response_data_row_i [NumLinks],
  input  logic         link_response_data_last_i [NumLinks],
  input  logic         link_forward_ready_i [NumLinks],
  input  logic         link_response_ready_i [NumLinks],
  input  logic         link_response_data_ready_i [NumLinks],
  output logic         link_request_ready_o [NumLinks],
  output logic         link_request_data_ready_o [NumLinks],
  output logic         link_response_ready_o [NumLinks],
  output logic         link_response_data_ready_o [NumLinks],
  output logic         link_forward_valid_o [NumLinks],
  output logic [63:0]  link_forward_o [NumLinks],
  output logic         link_response_valid_o [NumLinks],
  output logic [63:0]  link_response_o [NumLinks],
  output logic         link_response_data_valid_o [NumLinks],
  output logic [63:0]  link_response_data_header_o [NumLinks],
  output logic [511:0] link_response_data_row_o [NumLinks],
  output logic         link_response_data_last_o [NumLinks],

  output logic [15:0]  home_arid_o [NumHomes],
  output logic [63:0]  home_araddr_o [NumHomes],
  output logic [7:0]   home_arlen_o [NumHomes],
  output logic [2:0]   home_arsize_o [NumHomes],
  output logic [1:0]   home_arburst_o [NumHomes],
  output logic         home_arvalid_o [NumHomes],
  input  logic         home_arready_i [NumHomes],
  input  logic [15:0]  home_rid_i [NumHomes],
  input  logic [511:0] home_rdata_i [NumHomes],
  input  logic [1:0]   home_rresp_i [NumHomes],
  input  logic         home_rlast_i [NumHomes],
  input  logic         home_rvalid_i [NumHomes],
  output logic         home_rready_o [NumHomes],
  output logic [15:0]  home_awid_o [NumHomes],
  output logic [63:0]  home_awaddr_o [NumHomes],
  output logic [7:0]   home_awlen_o [NumHomes],
  output logic [2:0]   home_awsize_o [NumHomes],
  output logic [1:0]   home_awburst_o [NumHomes],
  output logic         home_awvalid_o [NumHomes],
  input  logic         home_awready_i [NumHomes],
  output logic [511:0] home_wdata_o [NumHomes],
  output logic [63:0]  home_wstrb_o [NumHomes],
  output logic         home_wlast_o [NumHomes],
  output logic         home_wvalid_o [NumHomes],
  input  logic         home_wready_i [NumHomes],
  input  logic [15:0]  home_bid_i [NumHomes],
  input  logic [1:0]   home_bresp_i [NumHomes],
  input  logic         home_bvalid_i [NumHomes],
  output logic         home_bready_o [NumHomes],

  input  logic         line_req_valid_i [NumHomes],
  output logic         line_req_ready_o [NumHomes],
  input  logic [2:0]   line_req_operation_i [NumHomes],
  input  logic [5:0]   line_req_tag_i [NumHomes],
  input  logic [32:0]  line_req_line_i [NumHomes],
  input  logic [3:0]   line_req_parts_i [NumHomes],
  input  logic [511:0] line_req_row_i [NumHomes],
  input  logic         line_req_last_i [NumHomes],
  output logic         line_ack_valid_o [NumHomes],
  input  logic         line_ack_ready_i [NumHomes],
  output logic [5:0]   line_ack_tag_o [NumHomes],
  output logic [511:0] line_ack_row_o [NumHomes],
  output logic         line_ack_last_o [NumHomes],

  output logic         cache_request_valid_o [NumCaches],
  input  logic         cache_request_ready_i [NumCaches],
  output logic [63:0]  cache_request_o [NumCaches],
  output logic         cache_response_valid_o [NumCaches],
  input  logic         cache_response_ready_i [NumCaches],
  output logic [63:0]  cache_response_o [NumCaches],
  output logic         cache_response_data_valid_o [NumCaches],
  input  logic         cache_response_data_ready_i [NumCaches],
  output logic [63:0]  cache_response_data_header_o [NumCaches],
  output logic [511:0] cache_response_data_row_o [NumCaches],
  output logic         cache_response_data_last_o [NumCaches],
  input  logic         cache_forward_valid_i [NumCaches],
  output logic         cache_forward_ready_o [NumCaches],
  input  logic [63:0]  cache_forward_i [NumCaches],
  input  logic         cache_response_valid_i [NumCaches],
  output logic         cache_response_ready_o [NumCaches],
  input  logic [63:0]  cache_response_i [NumCaches],
  input  logic         cache_response_data_valid_i [NumCaches],
  output logic         cache_response_data_ready_o [NumCaches],
  input  logic [63:0]  cache_response_data_header_i [NumCaches],
  input  logic [511:0] cache_response_data_row_i [NumCaches],
  input  logic         cache_response_data_last_i [NumCaches],

  input  logic         access_req_valid_i [NumAccess],
  output logic         access_req_ready_o [NumAccess],
  input  logic [2:0]   access_req_access_i [NumAccess],
  input  logic         access_req_held_i [NumAccess],
  input  logic [2:0]   access_req_hold_i [NumAccess],
  input  logic [4:0]   access_req_tag_i [NumAccess],
  input  logic [32:0]  access_req_line_i [NumAccess],
  input  logic         access_req_second_i [NumAccess],
  input  logic [511:0] access_req_row_i [NumAccess],
  input  logic [63:0]  access_req_strobe_i [NumAccess],
  output logic         access_rsp_valid_o [NumAccess],
  input  logic         access_rsp_ready_i [NumAccess],
  output logic [4:0]   access_rsp_tag_o [NumAccess],
  output logic [1:0]   access_rsp_status_o [NumAccess],
  output logic [2:0]   access_rsp_hold_o [NumAccess],
  output logic [511:0] access_rsp_row_o [NumAccess]
);

  // Readers of the fabric: the ports' read requesters, walker, table engine, DMA. Writers: the ports'
  // write requesters, table engine, DMA. Before DMA, with a directory: its slices, of each kind.
  localparam int unsigned NumVmReaders = NumPorts + 2;
  localparam int unsigned NumVmWriters = NumPorts + 1;
  localparam int unsigned NumReaders = NumVmReaders + Cfg.Directory.Slices + 1;
  localparam int unsigned NumWriters = NumVmWriters + Cfg.Directory.Slices + 1;
  localparam int unsigned DmaReader = NumReaders - 1;
  localparam int unsigned DmaWriter = NumWriters - 1;

  // Pairs of the switch: those of the slots, then the network interfaces.
  localparam int unsigned AllPairs = NumPairs + NumNetworks;
  localparam int unsigned SwitchElements = AllPairs == 0 ? 1 : AllPairs;

  // Without stream pairs the registers have one element.
  localparam int unsigned MoverElements = AllPairs == 0 ? 1 : 2 * AllPairs;

  // Memory channels, and the way to host memory behind them.
  localparam int unsigned NumFabricChannels = NumChannels + 32'(Cfg.HostChannel);

  // Page tables are never striped: their addresses mean what they say.
  localparam logic [NumReaders-1:0] StripedReaders =
      NumReaders'({NumPorts{1'b1}}) | (NumReaders'(1) << DmaReader);
  localparam logic [NumWriters-1:0] StripedWriters =
      NumWriters'({NumPorts{1'b1}}) | (NumWriters'(1) << DmaWriter);

  // ---------------------------------------------------------------------------------------------
  // Control: BAR, registers, slots
  // ---------------------------------------------------------------------------------------------

  access_t access;
  logic register_valid, register_done;
  access_rsp_t register_rsp;
  logic control_valid [NumSlots];
  logic control_done [NumSlots];
  access_rsp_t control_rsp [NumSlots];
  logic directory_valid, directory_done;
  access_rsp_t directory_rsp, home_rsp, host_rsp;
  logic home_done, host_done, to_host_lines;
  read_notes_t slot_notes [NumSlots];

  tmb_bar_bridge #(
    .NumSlots(NumSlots),
    .HasDirectory(HasDirectory)
  ) u_bar (
    .clk_i,
    .rst_ni,
    .bar_awaddr_i,
    .bar_awvalid_i,
    .bar_awready_o,
    .bar_wdata_i,
    .bar_wstrb_i,
    .bar_wvalid_i,
    .bar_wready_o,
    .bar_bresp_o,
    .bar_bvalid_o,
    .bar_bready_i,
    .bar_araddr_i,
    .bar_arvalid_i,
    .bar_arready_o,
    .bar_rdata_o,
    .bar_rresp_o,
    .bar_ruser_o,
    .bar_rvalid_o,
    .bar_rready_i,
    .access_o(access),
    .register_valid_o(register_valid),
    .register_done_i(register_done),
    .register_rsp_i(register_rsp),
    .slot_valid_o(control_valid),
    .slot_done_i(control_done),
    .slot_rsp_i(control_rsp),
    .slot_notes_i(slot_notes),
    .directory_valid_o(directory_valid),
    .directory_done_i(directory_done),
    .directory_rsp_i(directory_rsp)
  );

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
  logic mover_start [2*SwitchElements];
  mover_command_t mover_command [2*SwitchElements];
  mover_state_t mover_state [2*SwitchElements];
  stream_source_t switch_source [SwitchElements];
  logic switch_forget [SwitchElements];
  switch_state_t switch_state [SwitchElements];
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
    .rst_ni,
    .valid_i(register_valid),
    .access_i(access),
    .done_o(register_done),
    .rsp_o(register_rsp),
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
    .mover_start_o(mover_start[0:MoverElements-1]),
    .mover_command_o(mover_command[0:MoverElements-1]),
    .mover_state_i(mover_state[0:MoverElements-1]),
    .switch_source_o(switch_source),
    .switch_forget_o(switch_forget),
    .switch_state_i(switch_state),
    .schedule_o(schedule),
    .managed_o(managed)
  );

  tmb_guard_registers #(
    .NumPorts(NumPorts)
  ) u_port_registers (
    .clk_i,
    .rst_ni,
    .req_i(ports_req),
    .rsp_o(ports_rsp),
    .status_i(port_guard)
  );

  tmb_requester_counters #(
    .NumRequesters(2 * NumPorts)
  ) u_requester_counters (
    .clk_i,
    .rst_ni,
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
  logic slot_live [NumSlots];
  logic home_idle [NumSlots];
  logic home_violation [NumSlots];
  logic host_idle [NumSlots];
  logic host_violation [NumSlots];
  logic trouble, home_trouble, host_trouble;

  for (genvar s = 0; s < NumSlots; s++) begin : gen_slot
    logic control_idle, live;
    logic [Cfg.PortsPerSlot-1:0] ports_idle, violations, reads_owed, writes_owed, announced_owed;
    logic mark, interrupt_edge;
    asid_t asid;
    ctl_req_t ctl;

    tmb_slot_reset u_reset (
      .clk_i,
      .rst_ni,
      .run_i(slot_run[s]),
      .asid_i(slot_asid[s]),
      .idle_i(slot_idle[s]),
      .live_o(live),
      .asid_o(asid)
    );

    tmb_slot_control u_control (
      .clk_i,
      .rst_ni,
      .run_i(live),
      .hung_o(slot_hung[s]),
      .unanswered_o(slot_unanswered[s]),
      .idle_o(control_idle),
      .valid_i(control_valid[s]),
      .access_i(access),
      .done_o(control_done[s]),
      .rsp_o(control_rsp[s]),
      .mark_o(mark),
      .ctl_o(ctl),
      .ctl_i('{
          awready: ctl_awready_i[s],
          wready: ctl_wready_i[s],
          bresp: ctl_bresp_i[s],
          bvalid: ctl_bvalid_i[s],
          arready: ctl_arready_i[s],
          rdata: ctl_rdata_i[s],
          rresp: ctl_rresp_i[s],
          rvalid: ctl_rvalid_i[s]
      })
    );

    assign ctl_awaddr_o[s] = ctl.awaddr;
    assign ctl_awvalid_o[s] = ctl.awvalid;
    assign ctl_wdata_o[s] = ctl.wdata;
    assign ctl_wstrb_o[s] = ctl.wstrb;
    assign ctl_wvalid_o[s] = ctl.wvalid;
    assign ctl_bready_o[s] = ctl.bready;
    assign ctl_araddr_o[s] = ctl.araddr;
    assign ctl_arvalid_o[s] = ctl.arvalid;
    assign ctl_rready_o[s] = ctl.rready;

    for (genvar k = 0; k < Cfg.PortsPerSlot; k++) begin : gen_port
      localparam int unsigned Port = s * Cfg.PortsPerSlot + k;
      assign port_asid[Port] = asid;
      assign port_reset[Port] = !live;
      assign ports_idle[k] = port_idle[Port];
      assign port_closed[Port] = slot_closed[s];
      assign violations[k] = port_violation[Port];
      assign port_mark[Port] = mark;
      assign port_announce[Port] = interrupt_edge;
      // Ports of streams are the movers': the ends of their transfers are told by themselves.
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
      .rst_ni,
      .live_i(live),
      .violation_i({home_violation[s] || host_violation[s], violations}),
      .hung_i(slot_hung[s]),
      .closed_o(slot_closed[s]),
      .report_o(slot_report[s])
    );

    tmb_slot_interrupt u_interrupt (
      .clk_i,
      .rst_ni,
      .live_i(live),
      .interrupt_i(slot_interrupt_i[s]),
      .rearm_i(slot_rearm[s]),
      .edge_o(interrupt_edge),
      .owed_i(|announced_owed),
      .announce_o(interrupt[s])
    );

    assign slot_live[s] = live;
    assign slot_idle[s] = control_idle && (&ports_idle) && home_idle[s] && host_idle[s];
    assign slot_rst_no[s] = live;
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

  // ---------------------------------------------------------------------------------------------
  // The CPU's lines. Their registers are in the directory's window.
  // ---------------------------------------------------------------------------------------------

  assign directory_done = home_done || host_done;
  assign directory_rsp = host_done ? host_rsp : home_rsp;
  assign trouble = home_trouble || host_trouble;

  if (HasCache) begin : gen_host_lines
    assign to_host_lines = access.addr[13];
    tmb_host_lines #(
      .Cache(Cfg.Cache),
      .NumSlices(Cfg.Directory.Slices),
      .NumSlots(NumSlots)
    ) u_host_lines (
      .clk_i,
      .rst_ni,
      .valid_i(directory_valid && to_host_lines),
      .access_i(access),
      .done_o(host_done),
      .rsp_o(host_rsp),
      .slot_live_i(slot_live),
      .slot_closed_i(slot_closed),
      .slot_idle_o(host_idle),
      .slot_violation_o(host_violation),
      .trouble_o(host_trouble),
      .cache_request_valid_o,
      .cache_request_ready_i,
      .cache_request_o,
      .cache_response_valid_o,
      .cache_response_ready_i,
      .cache_response_o,
      .cache_response_data_valid_o,
      .cache_response_data_ready_i,
      .cache_response_data_header_o,
      .cache_response_data_row_o,
      .cache_response_data_last_o,
      .cache_forward_valid_i,
      .cache_forward_ready_o,
      .cache_forward_i,
      .cache_response_valid_i,
      .cache_response_ready_o,
      .cache_response_i,
      .cache_response_data_valid_i,
      .cache_response_data_ready_o,
      .cache_response_data_header_i,
      .cache_response_data_row_i,
      .cache_response_data_last_i,
      .access_req_valid_i,
      .access_req_ready_o,
      .access_req_access_i,
      .access_req_held_i,
      .access_req_hold_i,
      .access_req_tag_i,
      .access_req_line_i,
      .access_req_second_i,
      .access_req_row_i,
      .access_req_strobe_i,
      .access_rsp_valid_o,
      .access_rsp_ready_i,
      .access_rsp_tag_o,
      .access_rsp_status_o,
      .access_rsp_hold_o,
      .access_rsp_row_o
    );
  end else begin : gen_no_host_lines
    assign to_host_lines = 1'b0;
    assign host_done = 1'b0;
    assign host_rsp = '0;
    assign host_idle = '{default: 1'b1};
    assign host_violation = '{default: 1'b0};
    assign host_trouble = 1'b0;
    assign cache_request_valid_o = '{default: '0};
    assign cache_request_o = '{default: '0};
    assign cache_response_valid_o = '{default: '0};
    assign cache_response_o = '{default: '0};
    assign cache_response_data_valid_o = '{default: '0};
    assign cache_response_data_header_o = '{default: '0};
    assign cache_response_data_row_o = '{default: '0};
    assign cache_response_data_last_o = '{default: '0};
    assign cache_forward_ready_o = '{default: '0};
    assign cache_response_ready_o = '{default: '0};
    assign cache_response_data_ready_o = '{default: '0};
    assign access_req_ready_o = '{default: '0};
    assign access_rsp_valid_o = '{default: '0};
    assign access_rsp_tag_o = '{default: '0};
    assign access_rsp_status_o = '{default: '0};
    assign access_rsp_hold_o = '{default: '0};
    assign access_rsp_row_o = '{default: '0};
    logic unused_ok;
    assign unused_ok = &{1'b0, cache_request_ready_i[0], cache_response_ready_i[0], cache_response_data_ready_i[0], cache_forward_valid_i[0], cache_forward_i[0], cache_response_valid_i[0], cache_response_i[0], cache_response_data_valid_i[0], cache_response_data_header_i[0], cache_response_data_row_i[0], cache_response_data_last_i[0], access_req_valid_i[0], access_req_access_i[0], access_req_held_i[0], access_req_hold_i[0], access_req_tag_i[0], access_req_line_i[0], access_req_second_i[0], access_req_row_i[0], access_req_strobe_i[0], access_rsp_ready_i[0]};
  end

  // ---------------------------------------------------------------------------------------------
  // Directory
  // ---------------------------------------------------------------------------------------------

  if (HasDirectory) begin : gen_home
    tmb_home #(
      .Directory(Cfg.Directory),
      .NumSlots(NumSlots),
      .NumChannels(NumChannels),
      .ChannelBytesLog2(Cfg.ChannelBytesLog2)
    ) u_home (
      .clk_i,
      .rst_ni,
      .valid_i(directory_valid && !to_host_lines),
      .access_i(access),
      .done_o(home_done),
      .rsp_o(home_rsp),
      .slot_live_i(slot_live),
      .slot_closed_i(slot_closed),
      .slot_idle_o(home_idle),
      .slot_violation_o(home_violation),
      .trouble_o(home_trouble),
      .link_request_valid_i,
      .link_request_i,
      .link_request_data_valid_i,
      .link_request_data_header_i,
      .link_request_data_row_i,
      .link_request_data_last_i,
      .link_response_valid_i,
      .link_response_i,
      .link_response_data_valid_i,
      .link_response_data_header_i,
      .link_response_data_row_i,
      .link_response_data_last_i,
      .link_forward_ready_i,
      .link_response_ready_i,
      .link_response_data_ready_i,
      .link_request_ready_o,
      .link_request_data_ready_o,
      .link_response_ready_o,
      .link_response_data_ready_o,
      .link_forward_valid_o,
      .link_forward_o,
      .link_response_valid_o,
      .link_response_o,
      .link_response_data_valid_o,
      .link_response_data_header_o,
      .link_response_data_row_o,
      .link_response_data_last_o,
      .home_arid_o,
      .home_araddr_o,
      .home_arlen_o,
      .home_arsize_o,
      .home_arburst_o,
      .home_arvalid_o,
      .home_arready_i,
      .home_rid_i,
      .home_rdata_i,
      .home_rresp_i,
      .home_rlast_i,
      .home_rvalid_i,
      .home_rready_o,
      .home_awid_o,
      .home_awaddr_o,
      .home_awlen_o,
      .home_awsize_o,
      .home_awburst_o,
      .home_awvalid_o,
      .home_awready_i,
      .home_wdata_o,
      .home_wstrb_o,
      .home_wlast_o,
      .home_wvalid_o,
      .home_wready_i,
      .home_bid_i,
      .home_bresp_i,
      .home_bvalid_i,
      .home_bready_o,
      .line_req_valid_i,
      .line_req_ready_o,
      .line_req_operation_i,
      .line_req_tag_i,
      .line_req_line_i,
      .line_req_parts_i,
      .line_req_row_i,
      .line_req_last_i,
      .line_ack_valid_o,
      .line_ack_ready_i,
      .line_ack_tag_o,
      .line_ack_row_o,
      .line_ack_last_o,
      .read_req_valid_o(read_req_valid[NumVmReaders:DmaReader-1]),
      .read_req_ready_i(read_req_ready[NumVmReaders:DmaReader-1]),
      .read_req_o(read_req[NumVmReaders:DmaReader-1]),
      .read_rsp_valid_i(read_rsp_valid[NumVmReaders:DmaReader-1]),
      .read_rsp_ready_o(read_rsp_ready[NumVmReaders:DmaReader-1]),
      .read_rsp_i(read_rsp[NumVmReaders:DmaReader-1]),
      .write_req_valid_o(write_req_valid[NumVmWriters:DmaWriter-1]),
      .write_req_ready_i(write_req_ready[NumVmWriters:DmaWriter-1]),
      .write_req_o(write_req[NumVmWriters:DmaWriter-1]),
      .write_data_valid_o(write_data_valid[NumVmWriters:DmaWriter-1]),
      .write_data_ready_i(write_data_ready[NumVmWriters:DmaWriter-1]),
      .write_data_o(write_data[NumVmWriters:DmaWriter-1]),
      .write_rsp_valid_i(write_rsp_valid[NumVmWriters:DmaWriter-1]),
      .write_rsp_ready_o(write_rsp_ready[NumVmWriters:DmaWriter-1]),
      .write_rsp_i(write_rsp[NumVmWriters:DmaWriter-1])
    );
  end else begin : gen_no_home
    assign home_done = 1'b0;
    assign home_rsp = '0;
    assign home_idle = '{default: 1'b1};
    assign home_violation = '{default: 1'b0};
    assign home_trouble = 1'b0;
    assign link_request_ready_o = '{default: '0};
    assign link_request_data_ready_o = '{default: '0};
    assign link_response_ready_o = '{default: '0};
    assign link_response_data_ready_o = '{default: '0};
    assign link_forward_valid_o = '{default: '0};
    assign link_forward_o = '{default: '0};
    assign link_response_valid_o = '{default: '0};
    assign link_response_o = '{default: '0};
    assign link_response_data_valid_o = '{default: '0};
    assign link_response_data_header_o = '{default: '0};
    assign link_response_data_row_o = '{default: '0};
    assign link_response_data_last_o = '{default: '0};
    assign home_arid_o = '{default: '0};
    assign home_araddr_o = '{default: '0};
    assign home_arlen_o = '{default: '0};
    assign home_arsize_o = '{default: '0};
    assign home_arburst_o = '{default: '0};
    assign home_arvalid_o = '{default: '0};
    assign home_rready_o = '{default: '0};
    assign home_awid_o = '{default: '0};
    assign home_awaddr_o = '{default: '0};
    assign home_awlen_o = '{default: '0};
    assign home_awsize_o = '{default: '0};
    assign home_awburst_o = '{default: '0};
    assign home_awvalid_o = '{default: '0};
    assign home_wdata_o = '{default: '0};
    assign home_wstrb_o = '{default: '0};
    assign home_wlast_o = '{default: '0};
    assign home_wvalid_o = '{default: '0};
    assign home_bready_o = '{default: '0};
    assign line_req_ready_o = '{default: '0};
    assign line_ack_valid_o = '{default: '0};
    assign line_ack_tag_o = '{default: '0};
    assign line_ack_row_o = '{default: '0};
    assign line_ack_last_o = '{default: '0};

    logic unused_ok;
    assign unused_ok = &{1'b0, directory_valid, to_host_lines, slot_live[0],
        link_request_valid_i[0], link_request_i[0], link_request_data_valid_i[0], link_request_data_header_i[0],
        link_request_data_row_i[0], link_request_data_last_i[0], link_response_valid_i[0], link_response_i[0],
        link_response_data_valid_i[0], link_response_data_header_i[0], link_response_data_row_i[0], link_response_data_last_i[0],
        link_forward_ready_i[0], link_response_ready_i[0], link_response_data_ready_i[0],
        home_arready_i[0], home_rid_i[0], home_rdata_i[0],
        home_rresp_i[0], home_rlast_i[0], home_rvalid_i[0],
        home_awready_i[0],
        home_wready_i[0],
        home_bid_i[0], home_bresp_i[0], home_bvalid_i[0],
        line_req_valid_i[0], line_req_operation_i[0], line_req_tag_i[0],
        line_req_line_i[0], line_req_parts_i[0], line_req_row_i[0], line_req_last_i[0],
        line_ack_ready_i[0]};
  end

  // ---------------------------------------------------------------------------------------------
  // Virtual memory
  // ---------------------------------------------------------------------------------------------

  axi_req_t port_req [NumPorts];
  axi_rsp_t port_rsp [NumPorts];

  logic done_valid [2*SwitchElements];
  logic done_ready [2*SwitchElements];
  mover_done_t done [2*SwitchElements];

  // Between the movers and the switch.
  logic pair_reset [SwitchElements];
  logic mover_in_valid [SwitchElements];
  logic mover_in_ready [SwitchElements];
  stream_beat_t mover_in [SwitchElements];
  logic mover_out_begin [SwitchElements];
  logic mover_out_valid [SwitchElements];
  logic mover_out_ready [SwitchElements];
  stream_beat_t mover_out [SwitchElements];
  logic out_waits [SwitchElements];

  for (genvar p = 0; p < NumPorts; p++) begin : gen_port
    localparam int unsigned FirstPair = Cfg.PortsPerSlot - Cfg.StreamsPerSlot;
    localparam bit IsPair = p % Cfg.PortsPerSlot >= FirstPair;

    if (IsPair) begin : gen_pair
      localparam int unsigned Pair = p / Cfg.PortsPerSlot * Cfg.StreamsPerSlot
          + p % Cfg.PortsPerSlot - FirstPair;

      assign pair_reset[Pair] = port_reset[p];

      // A packet that no transfer has asked for waits at the switch.
      mover_state_t state [2];
      assign mover_state[2*Pair] = state[0];
      assign mover_state[2*Pair+1] = '{
          busy: state[1].busy,
          valid: state[1].valid || out_waits[Pair],
          ready: state[1].ready,
          moved: state[1].moved
      };

      tmb_stream_mover u_mover (
        .clk_i,
        .rst_ni(rst_ni && !port_reset[p]),
        .start_i(mover_start[2*Pair:2*Pair+1]),
        .command_i(mover_command[2*Pair:2*Pair+1]),
        .state_o(state),
        .done_valid_o(done_valid[2*Pair:2*Pair+1]),
        .done_ready_i(done_ready[2*Pair:2*Pair+1]),
        .done_o(done[2*Pair:2*Pair+1]),
        .port_req_o(port_req[p]),
        .port_rsp_i(port_rsp[p]),
        .in_valid_o(mover_in_valid[Pair]),
        .in_ready_i(mover_in_ready[Pair]),
        .in_o(mover_in[Pair]),
        .out_begin_o(mover_out_begin[Pair]),
        .out_valid_i(mover_out_valid[Pair]),
        .out_ready_o(mover_out_ready[Pair]),
        .out_i(mover_out[Pair])
      );

      assign port_arready_o[p] = 1'b0;
      assign port_rid_o[p] = '0;
      assign port_rdata_o[p] = '0;
      assign port_rresp_o[p] = '0;
      assign port_rlast_o[p] = 1'b0;
      assign port_rvalid_o[p] = 1'b0;
      assign port_awready_o[p] = 1'b0;
      assign port_wready_o[p] = 1'b0;
      assign port_bid_o[p] = '0;
      assign port_bresp_o[p] = '0;
      assign port_bvalid_o[p] = 1'b0;

      logic unused_port;
      assign unused_port = &{1'b0, port_arid_i[p], port_araddr_i[p], port_arlen_i[p],
                             port_arsize_i[p], port_arburst_i[p], port_arvalid_i[p],
                             port_rready_i[p], port_awid_i[p], port_awaddr_i[p], port_awlen_i[p],
                             port_awsize_i[p], port_awburst_i[p], port_awvalid_i[p],
                             port_wdata_i[p], port_wstrb_i[p], port_wlast_i[p], port_wvalid_i[p],
                             port_bready_i[p]};
    end else begin : gen_axi
      assign port_req[p] = '{
          aw: '{
              id: port_awid_i[p],
              addr: port_awaddr_i[p],
              len: port_awlen_i[p],
              size: port_awsize_i[p],
              burst: port_awburst_i[p]
          },
          aw_valid: port_awvalid_i[p],
          w: '{data: port_wdata_i[p], strb: port_wstrb_i[p], last: port_wlast_i[p]},
          w_valid: port_wvalid_i[p],
          b_ready: port_bready_i[p],
          ar: '{
              id: port_arid_i[p],
              addr: port_araddr_i[p],
              len: port_arlen_i[p],
              size: port_arsize_i[p],
              burst: port_arburst_i[p]
          },
          ar_valid: port_arvalid_i[p],
          r_ready: port_rready_i[p]
      };
      assign port_arready_o[p] = port_rsp[p].ar_ready;
      assign port_rid_o[p] = port_rsp[p].r.id;
      assign port_rdata_o[p] = port_rsp[p].r.data;
      assign port_rresp_o[p] = port_rsp[p].r.resp;
      assign port_rlast_o[p] = port_rsp[p].r.last;
      assign port_rvalid_o[p] = port_rsp[p].r_valid;
      assign port_awready_o[p] = port_rsp[p].aw_ready;
      assign port_wready_o[p] = port_rsp[p].w_ready;
      assign port_bid_o[p] = port_rsp[p].b.id;
      assign port_bresp_o[p] = port_rsp[p].b.resp;
      assign port_bvalid_o[p] = port_rsp[p].b_valid;
    end
  end

  // Rows over the slot boundary, of memory ports: those of movers do not count.
  logic [NumPorts-1:0] port_read, port_wrote;
  for (genvar p = 0; p < NumPorts; p++) begin : gen_moved
    assign port_read[p] = port_rvalid_o[p] && port_rready_i[p];
    assign port_wrote[p] = port_wvalid_i[p] && port_wready_o[p];
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
      .rst_ni,
      .moved_i(slot_moved[d]),
      .count_o(owner_changes[d])
    );
  end

  logic transfer_valid, transfer_ready;
  logic [7:0] transfer_mover;
  mover_done_t transfer;

  if (AllPairs == 0) begin : gen_no_pairs
    logic unused_pairs;
    assign sin_tdata_o[0] = '0;
    assign sin_tkeep_o[0] = '0;
    assign sin_tlast_o[0] = 1'b0;
    assign sin_tvalid_o[0] = 1'b0;
    assign sout_tready_o[0] = 1'b0;
    for (genvar m = 0; m < 2; m++) begin : gen_mover
      logic unused_mover;
      assign mover_state[m] = '0;
      assign done_valid[m] = 1'b0;
      assign done_ready[m] = 1'b0;
      assign done[m] = '0;
      assign unused_mover = &{1'b0, done_valid[m], done_ready[m], done[m]};
    end
    assign mover_start[1] = 1'b0;
    assign mover_command[1] = '0;
    assign transfer_valid = 1'b0;
    assign transfer_mover = '0;
    assign transfer = '0;
    assign unused_pairs = &{1'b0, sin_tready_i[0], sout_tdata_i[0], sout_tkeep_i[0],
                            sout_tlast_i[0], sout_tvalid_i[0], transfer_ready, mover_start[0],
                            mover_start[1], mover_command[0], mover_command[1], mover_state[1],
                            switch_source[0], switch_forget[0], switch_state[0], pair_reset[0],
                            mover_in_valid[0], mover_in_ready[0], mover_in[0], mover_out_begin[0],
                            mover_out_valid[0], mover_out_ready[0], mover_out[0], out_waits[0]};
    assign switch_state[0] = '0;
    assign pair_reset[0] = 1'b0;
    assign mover_in_valid[0] = 1'b0;
    assign mover_in_ready[0] = 1'b0;
    assign mover_in[0] = '0;
    assign mover_out_begin[0] = 1'b0;
    assign mover_out_valid[0] = 1'b0;
    assign mover_out_ready[0] = 1'b0;
    assign mover_out[0] = '0;
    assign out_waits[0] = 1'b0;
  end else begin : gen_pairs
    logic in_valid [AllPairs];
    logic in_ready [AllPairs];
    stream_beat_t in_beat [AllPairs];
    logic out_valid [AllPairs];
    logic out_ready [AllPairs];
    stream_beat_t out_beat [AllPairs];

    for (genvar p = 0; p < NumPairs; p++) begin : gen_pins
      assign sin_tdata_o[p] = in_beat[p].data;
      assign sin_tkeep_o[p] = in_beat[p].keep;
      assign sin_tlast_o[p] = in_beat[p].last;
      assign sin_tvalid_o[p] = in_valid[p];
      assign in_ready[p] = sin_tready_i[p];
      assign out_beat[p] = '{data: sout_tdata_i[p], keep: sout_tkeep_i[p], last: sout_tlast_i[p]};
      assign out_valid[p] = sout_tvalid_i[p];
      assign sout_tready_o[p] = out_ready[p];
    end

    for (genvar n = 0; n < NumNetworks; n++) begin : gen_network
      localparam int unsigned Pair = NumPairs + n;
      logic unused_mover;

      assign net_send_tdata_o[n] = in_beat[Pair].data;
      assign net_send_tkeep_o[n] = in_beat[Pair].keep;
      assign net_send_tlast_o[n] = in_beat[Pair].last;
      assign net_send_tvalid_o[n] = in_valid[Pair];
      assign in_ready[Pair] = net_send_tready_i[n];
      assign out_beat[Pair] = '{
          data: net_receive_tdata_i[n],
          keep: net_receive_tkeep_i[n],
          last: net_receive_tlast_i[n]
      };
      assign out_valid[Pair] = net_receive_tvalid_i[n];
      assign net_receive_tready_o[n] = out_ready[Pair];

      // No slot, so no reset, and no mover.
      assign pair_reset[Pair] = 1'b0;
      assign mover_in_valid[Pair] = 1'b0;
      assign mover_in[Pair] = '0;
      assign mover_out_begin[Pair] = 1'b0;
      assign mover_out_ready[Pair] = 1'b0;
      assign unused_mover = &{1'b0, mover_in_ready[Pair], mover_out_valid[Pair], mover_out[Pair], out_waits[Pair]};

      for (genvar d = 0; d < 2; d++) begin : gen_direction
        assign net_start_o[2*n+d] = mover_start[2*Pair+d];
        assign net_address_o[2*n+d] = mover_command[2*Pair+d].addr;
        assign net_bytes_o[2*n+d] = mover_command[2*Pair+d].bytes;
        assign net_last_o[2*n+d] = mover_command[2*Pair+d].last;
        assign net_stop_o[2*n+d] = mover_command[2*Pair+d].stop;
        assign mover_state[2*Pair+d] = '{
            busy: net_busy_i[2*n+d],
            valid: d == 0 ? in_valid[Pair] : net_receive_tvalid_i[n],
            ready: d == 0 ? net_send_tready_i[n] : out_ready[Pair],
            moved: net_moved_i[2*n+d]
        };

        // The way from valid to ready ends here: no path leads from one pin to the other.
        tmb_spill_register #(
          .T(mover_done_t)
        ) u_done (
          .clk_i,
          .rst_ni,
          .in_valid_i(net_done_valid_i[2*n+d]),
          .in_ready_o(net_done_ready_o[2*n+d]),
          .in_data_i('{
              bytes: net_done_bytes_i[2*n+d],
              last: net_done_last_i[2*n+d],
              status: mover_status_e'(net_done_status_i[2*n+d])
          }),
          .out_valid_o(done_valid[2*Pair+d]),
          .out_ready_i(done_ready[2*Pair+d]),
          .out_data_o(done[2*Pair+d])
        );
      end
    end

    tmb_stream_switch #(
      .NumPairs(AllPairs)
    ) u_switch (
      .clk_i,
      .rst_ni,
      .reset_i(pair_reset),
      .source_i(switch_source),
      .forget_i(switch_forget),
      .state_o(switch_state),
      .waits_o(out_waits),
      .mover_in_valid_i(mover_in_valid),
      .mover_in_ready_o(mover_in_ready),
      .mover_in_i(mover_in),
      .mover_out_begin_i(mover_out_begin),
      .mover_out_valid_o(mover_out_valid),
      .mover_out_ready_i(mover_out_ready),
      .mover_out_o(mover_out),
      .in_valid_o(in_valid),
      .in_ready_i(in_ready),
      .in_o(in_beat),
      .out_valid_i(out_valid),
      .out_ready_o(out_ready),
      .out_i(out_beat)
    );

    tmb_stream_completions #(
      .NumMovers(2 * AllPairs)
    ) u_completions (
      .clk_i,
      .rst_ni,
      .done_valid_i(done_valid),
      .done_ready_o(done_ready),
      .done_i(done),
      .valid_o(transfer_valid),
      .ready_i(transfer_ready),
      .mover_o(transfer_mover),
      .done_o(transfer)
    );
  end

  if (NumNetworks == 0) begin : gen_no_networks
    assign net_send_tdata_o[0] = '0;
    assign net_send_tkeep_o[0] = '0;
    assign net_send_tlast_o[0] = 1'b0;
    assign net_send_tvalid_o[0] = 1'b0;
    assign net_receive_tready_o[0] = 1'b0;
    for (genvar d = 0; d < 2; d++) begin : gen_direction
      logic unused_done;
      assign net_start_o[d] = 1'b0;
      assign net_address_o[d] = '0;
      assign net_bytes_o[d] = '0;
      assign net_last_o[d] = 1'b0;
      assign net_stop_o[d] = 1'b0;
      assign net_done_ready_o[d] = 1'b0;
      assign unused_done = &{1'b0, net_busy_i[d], net_moved_i[d], net_done_valid_i[d],
                             net_done_bytes_i[d], net_done_last_i[d], net_done_status_i[d]};
    end

    logic unused_network;
    assign unused_network = &{1'b0, net_send_tready_i[0], net_receive_tdata_i[0],
                              net_receive_tkeep_i[0], net_receive_tlast_i[0],
                              net_receive_tvalid_i[0]};
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
    .rst_ni,
    .port_req_i(port_req),
    .port_rsp_o(port_rsp),
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
    .rst_ni,
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
    .irq_o,
    .interrupt_i(interrupt),
    .closed_i(slot_report),
    .transfer_valid_i(transfer_valid),
    .transfer_ready_o(transfer_ready),
    .transfer_mover_i(transfer_mover),
    .transfer_i(transfer),
    .trouble_i(trouble),
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
    .host_ar_valid_o(host_arvalid_o),
    .host_ar_ready_i(host_arready_i),
    .host_ar_o(host_ar),
    .host_ar_id_o(host_arid_o),
    .host_r_valid_i(host_rvalid_i),
    .host_r_ready_o(host_rready_o),
    .host_r_i('{row: host_rdata_i, last: host_rlast_i, error: host_rresp_i[1]}),
    .host_r_id_i(host_rid_i),
    .host_aw_valid_o(host_awvalid_o),
    .host_aw_ready_i(host_awready_i),
    .host_aw_o(host_aw),
    .host_aw_id_o(host_awid_o),
    .host_w_valid_o(host_wvalid_o),
    .host_w_ready_i(host_wready_i),
    .host_w_o(host_w),
    .host_w_strobe_o(host_wstrb_o),
    .host_b_valid_i(host_bvalid_i),
    .host_b_ready_o(host_bready_o),
    .host_b_error_i(host_bresp_i[1]),
    .host_b_id_i(host_bid_i)
  );

  assign host_araddr_o = host_ar.addr;
  assign host_arlen_o = 8'(host_ar.len);
  assign host_awaddr_o = host_aw.addr;
  assign host_awlen_o = 8'(host_aw.len);
  assign host_wdata_o = host_w.row;
  assign host_wlast_o = host_w.last;

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
      .rst_ni,
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
    .NumReaders(NumReaders),
    .NumWriters(NumWriters),
    .PreferredReader(DmaReader),
    .PreferredWriter(DmaWriter),
    .StripedReaders(StripedReaders),
    .StripedWriters(StripedWriters),
    .NumSlots(NumSlots),
    .PortsPerSlot(Cfg.PortsPerSlot)
  ) u_fabric (
    .clk_i,
    .rst_ni,
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
    assign mem_arvalid_o[c] = mem_ar_valid[c];
    assign mem_ar_ready[c] = mem_arready_i[c];
    assign mem_r_valid[c] = mem_rvalid_i[c];
    assign mem_rready_o[c] = mem_r_ready[c];
    assign mem_awvalid_o[c] = mem_aw_valid[c];
    assign mem_aw_ready[c] = mem_awready_i[c];
    assign mem_wvalid_o[c] = mem_w_valid[c];
    assign mem_w_ready[c] = mem_wready_i[c];
    assign mem_b_valid[c] = mem_bvalid_i[c];
    assign mem_bready_o[c] = mem_b_ready[c];
    assign mem_araddr_o[c] = mem_ar[c].addr;
    assign mem_arlen_o[c] = mem_ar[c].len;
    assign mem_r[c] = '{row: mem_rdata_i[c], last: mem_rlast_i[c], error: mem_rresp_i[c][1]};
    assign mem_awaddr_o[c] = mem_aw[c].addr;
    assign mem_awlen_o[c] = mem_aw[c].len;
    assign mem_wdata_o[c] = mem_w[c].row;
    assign mem_wstrb_o[c] = mem_w[c].strobe;
    assign mem_wlast_o[c] = mem_w[c].last;
    assign mem_b_error[c] = mem_bresp_i[c][1];

    logic unused_ok;
    assign unused_ok = &{1'b0, mem_rresp_i[c][0], mem_bresp_i[c][0]};
  end

  if (Cfg.HostChannel) begin : gen_host_channel
    tmb_host_channel u_host_channel (
      .clk_i,
      .rst_ni,
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
  `TMB_ASSERT_INIT(StreamsAreSomeOfThePorts, Cfg.StreamsPerSlot <= Cfg.PortsPerSlot)
  `TMB_ASSERT_INIT(MoversFitMap, 2 * AllPairs <= 64)
  `TMB_ASSERT_INIT(NetworksServeStreams, NumNetworks == 0 || NumPairs != 0)
  `TMB_ASSERT_INIT(LanesArePowerOfTwo,
      Cfg.NumLanes >= 1 && (Cfg.NumLanes & (Cfg.NumLanes - 1)) == 0)
  `TMB_ASSERT_INIT(LanesShareRequesters, 2 * NumPorts % Cfg.NumLanes == 0)

  logic unused_ok;
  assign unused_ok = &{1'b0, host_rresp_i[0], host_bresp_i[0]};

endmodule
