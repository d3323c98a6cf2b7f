// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The shell: everything between the host's PCIe, the kernels' slots and the card's memory channels. Here its
// pins become structures (tmb_shell_pkg), and its three parts meet:
//
//   tmb_shell_core       BAR and registers, slots, virtual memory, DMA, fabric
//   tmb_shell_io         movers of streams, their switch, network interfaces
//   tmb_shell_coherent   the directory and its home, the card's cache of the CPU's lines
//
// Cfg   the whole configuration
//
// Pins are flat, with one array element a slot, port or channel, so that a simulator or a board's top level
// reaches each by name. An array of something that the configuration has not has one element (of net_start_o and
// its like two), which is not used.
//
// A stream pair has movers in front of one of the slot's ports: of the PortsPerSlot ports of a slot, the
// last StreamsPerSlot. Their elements of port_* are not used, and low.
//
// sin_tid_o and sin_tdest_o are those of the kernel that sends, and 0 with what a mover or a network sends.
//
// Network interface n: net_send_* is what a kernel sends, net_receive_* what has come for one. Element 2n of the
// others is of what interface n sends, 2n+1 of what it receives: net_start_o begins a transfer of net_bytes_o from
// net_address_o on of the peer's memory, net_done_* is its end.
//
// Throughput, latency, ordering, back-pressure and freedom from deadlock: see the parts. This module has no
// logic of its own.
//
// Every output comes from registers (streams into kernels: through the select of the switch) and every
// input goes to registers only, so no combinational path leads from an input to an output; kernels and
// models around the shell can be compiled, and evaluated, apart from it.
//
// Source: FSRF sections 4 and 5; docs/architecture.md.

`include "tmb_axi_pins.svh"

module tmb_shell
  import tmb_pkg::*;
  import tmb_dma_pkg::*;
  import tmb_shell_pkg::*;
  import tmb_stream_pkg::*;
  import tmb_directory_pkg::*;
  import tmb_home_pkg::*;
  import tmb_host_lines_pkg::*;
#(
  parameter shell_cfg_t Cfg = DefaultShellCfg,
  localparam int unsigned NumSlots = Cfg.NumSlots,
  localparam int unsigned NumPorts = Cfg.NumSlots * Cfg.PortsPerSlot,
  localparam int unsigned NumChannels = Cfg.NumChannels,
  localparam int unsigned NumPairs = Cfg.NumSlots * Cfg.StreamsPerSlot,
  localparam int unsigned PairElements = NumPairs == 0 ? 1 : NumPairs,
  localparam int unsigned IdBits = Cfg.TidWidth + Cfg.TdestWidth == 0 ? 1 : Cfg.TidWidth + Cfg.TdestWidth,
  localparam int unsigned TidBits = Cfg.TidWidth == 0 ? 1 : Cfg.TidWidth,
  localparam int unsigned TdestBits = Cfg.TdestWidth == 0 ? 1 : Cfg.TdestWidth,
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

  // The board's description of the card (card_facts_t): constants.
  input  logic [31:0] card_clock_period_i,
  input  logic [63:0] card_channel_bytes_i,

  // An interrupt (register INTERRUPT): one cycle each.
  output logic irq_o,

  // The host's register accesses (docs/registers.md): AXI4-Lite, the host is the manager.
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

  // Host memory: AXI4 manager, 512 bits, 64 bytes a beat, INCR.
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

  // Channels of card memory: AXI4 managers as above, with one ID; an address is the offset in the channel.
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

  // Ports of the kernels: AXI4 subordinates (the kernel is the manager), virtual addresses.
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

  // The kernels' s_axi_control: AXI4-Lite managers.
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

  // Streams into the kernels, and out of them: AXI4-Stream.
  output logic [511:0] sin_tdata_o [PairElements],
  output logic [63:0]  sin_tkeep_o [PairElements],
  output logic         sin_tlast_o [PairElements],
  output logic [TidBits-1:0]   sin_tid_o [PairElements],    // 0 unless TidWidth is positive
  output logic [TdestBits-1:0] sin_tdest_o [PairElements],
  output logic         sin_tvalid_o [PairElements],
  input  logic         sin_tready_i [PairElements],
  input  logic [511:0] sout_tdata_i [PairElements],
  input  logic [63:0]  sout_tkeep_i [PairElements],
  input  logic         sout_tlast_i [PairElements],
  input  logic [TidBits-1:0]   sout_tid_i [PairElements],   // ignored unless TidWidth is positive
  input  logic [TdestBits-1:0] sout_tdest_i [PairElements],
  input  logic         sout_tvalid_i [PairElements],
  output logic         sout_tready_o [PairElements],

  // Resets by the host (register RESET). While net_drain_o is 1 a network interface sends nothing more;
  // net_quiet_i is 1 when all that it has sent is acknowledged or given up. Then network interfaces and links to a
  // CPU are reset: they forget transfers, connections and messages.
  output logic         net_drain_o [NetworkElements],
  input  logic         net_quiet_i [NetworkElements],
  output logic         peripheral_rst_no,

  // Network interfaces: the streams, then what each direction is asked and answers.
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

  // The kernels' interrupts, what they say they are (constants), and their resets.
  input  logic        slot_interrupt_i [NumSlots],
  input  logic [63:0] slot_identity_i [NumSlots],
  output logic        slot_rst_no [NumSlots],

  // The directory's link to the CPU, one element a slice: from it, then to it.
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

  // Lines that a kernel serves, one element a slot and slice: AXI4 managers.
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

  // Line operations of the kernels behind the directory.
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

  // The cache's link to the CPU, one element a slice.
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

  // The kernels' accesses to the CPU's lines, one element a slot and slice.
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

  localparam int unsigned AllPairs = NumPairs + NumNetworks;
  localparam int unsigned SwitchElements = AllPairs == 0 ? 1 : AllPairs;

  // ---------------------------------------------------------------------------------------------
  // Host
  // ---------------------------------------------------------------------------------------------

  bar_req_t bar_req;
  bar_rsp_t bar_rsp;
  host_req_t host_req;
  host_rsp_t host_rsp;

  assign bar_req = '{
      awaddr: bar_awaddr_i, awvalid: bar_awvalid_i,
      wdata: bar_wdata_i, wstrb: bar_wstrb_i, wvalid: bar_wvalid_i, bready: bar_bready_i,
      araddr: bar_araddr_i, arvalid: bar_arvalid_i, rready: bar_rready_i
  };
  assign bar_awready_o = bar_rsp.awready;
  assign bar_wready_o = bar_rsp.wready;
  assign bar_bresp_o = bar_rsp.bresp;
  assign bar_bvalid_o = bar_rsp.bvalid;
  assign bar_arready_o = bar_rsp.arready;
  assign bar_rdata_o = bar_rsp.rdata;
  assign bar_rresp_o = bar_rsp.rresp;
  assign bar_ruser_o = bar_rsp.ruser;
  assign bar_rvalid_o = bar_rsp.rvalid;

  assign host_arid_o = host_req.ar_id;
  assign host_araddr_o = host_req.ar.addr;
  assign host_arlen_o = 8'(host_req.ar.len);
  assign host_arvalid_o = host_req.ar_valid;
  assign host_rready_o = host_req.r_ready;
  assign host_awid_o = host_req.aw_id;
  assign host_awaddr_o = host_req.aw.addr;
  assign host_awlen_o = 8'(host_req.aw.len);
  assign host_awvalid_o = host_req.aw_valid;
  assign host_wdata_o = host_req.w.row;
  assign host_wstrb_o = host_req.w_strobe;
  assign host_wlast_o = host_req.w.last;
  assign host_wvalid_o = host_req.w_valid;
  assign host_bready_o = host_req.b_ready;
  assign host_rsp = '{
      ar_ready: host_arready_i, aw_ready: host_awready_i, w_ready: host_wready_i,
      b_valid: host_bvalid_i, b_id: host_bid_i, b_error: host_bresp_i[1], b_decode: host_bresp_i[0],
      r_valid: host_rvalid_i, r_id: host_rid_i, r_decode: host_rresp_i[0],
      r: '{row: host_rdata_i, last: host_rlast_i, error: host_rresp_i[1]}
  };

  // ---------------------------------------------------------------------------------------------
  // Card memory
  // ---------------------------------------------------------------------------------------------

  channel_req_t mem_req [NumChannels];
  channel_rsp_t mem_rsp [NumChannels];

  for (genvar c = 0; c < NumChannels; c++) begin : gen_channel
    assign mem_araddr_o[c] = mem_req[c].ar.addr;
    assign mem_arlen_o[c] = mem_req[c].ar.len;
    assign mem_arvalid_o[c] = mem_req[c].ar_valid;
    assign mem_rready_o[c] = mem_req[c].r_ready;
    assign mem_awaddr_o[c] = mem_req[c].aw.addr;
    assign mem_awlen_o[c] = mem_req[c].aw.len;
    assign mem_awvalid_o[c] = mem_req[c].aw_valid;
    assign mem_wdata_o[c] = mem_req[c].w.row;
    assign mem_wstrb_o[c] = mem_req[c].w.strobe;
    assign mem_wlast_o[c] = mem_req[c].w.last;
    assign mem_wvalid_o[c] = mem_req[c].w_valid;
    assign mem_bready_o[c] = mem_req[c].b_ready;
    assign mem_rsp[c] = '{
        ar_ready: mem_arready_i[c], aw_ready: mem_awready_i[c], w_ready: mem_wready_i[c],
        b_valid: mem_bvalid_i[c], b_error: mem_bresp_i[c][1], b_decode: mem_bresp_i[c][0],
        r_valid: mem_rvalid_i[c], r_decode: mem_rresp_i[c][0],
        r: '{row: mem_rdata_i[c], last: mem_rlast_i[c], error: mem_rresp_i[c][1]}
    };
  end

  // ---------------------------------------------------------------------------------------------
  // Slots
  // ---------------------------------------------------------------------------------------------

  axi_req_t port_req [NumPorts];
  axi_rsp_t port_rsp [NumPorts];
  axi_req_t mover_port_req [PairElements];
  axi_rsp_t mover_port_rsp [PairElements];
  logic mover_reset [PairElements];
  logic slot_live [NumSlots];
  ctl_req_t ctl_req [NumSlots];
  ctl_rsp_t ctl_rsp [NumSlots];

  for (genvar p = 0; p < NumPorts; p++) begin : gen_port
    localparam int unsigned FirstPair = Cfg.PortsPerSlot - Cfg.StreamsPerSlot;
    localparam bit IsPair = p % Cfg.PortsPerSlot >= FirstPair;

    if (IsPair) begin : gen_pair
      localparam int unsigned Pair = p / Cfg.PortsPerSlot * Cfg.StreamsPerSlot
          + p % Cfg.PortsPerSlot - FirstPair;

      assign port_req[p] = mover_port_req[Pair];
      assign mover_port_rsp[Pair] = port_rsp[p];
      assign mover_reset[Pair] = !slot_live[p / Cfg.PortsPerSlot];

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
      `TMB_AXI_SUBORDINATE_PINS(port, [p], port_req[p], port_rsp[p])
    end
  end

  if (NumPairs == 0) begin : gen_no_movers
    assign mover_port_rsp[0] = '0;
    assign mover_reset[0] = 1'b0;

    logic unused_ok;
    assign unused_ok = &{1'b0, mover_port_req[0]};
  end

  for (genvar s = 0; s < NumSlots; s++) begin : gen_slot
    assign slot_rst_no[s] = slot_live[s];
    `TMB_AXI_LITE_MANAGER_PINS(ctl, [s], ctl_req[s], ctl_rsp[s])
  end

  // ---------------------------------------------------------------------------------------------
  // Streams and networks
  // ---------------------------------------------------------------------------------------------

  logic in_valid [PairElements];
  stream_beat_t in_beat [PairElements];
  logic [IdBits-1:0] in_id [PairElements];
  logic out_ready [PairElements];
  stream_beat_t out_beat [PairElements];
  logic [IdBits-1:0] out_id [PairElements];
  logic send_valid [NetworkElements];
  stream_beat_t send_beat [NetworkElements];
  logic receive_ready [NetworkElements];
  stream_beat_t receive_beat [NetworkElements];
  network_req_t network_req [2*NetworkElements];
  network_rsp_t network_rsp [2*NetworkElements];

  for (genvar p = 0; p < PairElements; p++) begin : gen_stream
    assign sin_tdata_o[p] = in_beat[p].data;
    assign sin_tkeep_o[p] = in_beat[p].keep;
    assign sin_tlast_o[p] = in_beat[p].last;
    assign sin_tvalid_o[p] = in_valid[p];
    assign out_beat[p] = '{data: sout_tdata_i[p], keep: sout_tkeep_i[p], last: sout_tlast_i[p]};
    assign sout_tready_o[p] = out_ready[p];
    // TID above TDEST; one that the shell does not carry has no bits.
    assign sin_tid_o[p] = Cfg.TidWidth == 0 ? '0 : TidBits'(in_id[p] >> Cfg.TdestWidth);
    assign sin_tdest_o[p] = Cfg.TdestWidth == 0 ? '0 : TdestBits'(in_id[p]);
    assign out_id[p] = Cfg.TdestWidth == 0 ? IdBits'(sout_tid_i[p]) : IdBits'({sout_tid_i[p], sout_tdest_i[p]});
  end

  // A shell without network interfaces waits for none.
  logic [NetworkElements-1:0] networks_quiet;
  logic network_drain, network_quiet;
  assign network_quiet = NumNetworks == 0 || (&networks_quiet);

  for (genvar n = 0; n < NetworkElements; n++) begin : gen_network
    assign networks_quiet[n] = net_quiet_i[n];
    assign net_drain_o[n] = network_drain;
    assign net_send_tdata_o[n] = send_beat[n].data;
    assign net_send_tkeep_o[n] = send_beat[n].keep;
    assign net_send_tlast_o[n] = send_beat[n].last;
    assign net_send_tvalid_o[n] = send_valid[n];
    assign receive_beat[n] = '{
        data: net_receive_tdata_i[n],
        keep: net_receive_tkeep_i[n],
        last: net_receive_tlast_i[n]
    };
    assign net_receive_tready_o[n] = receive_ready[n];
  end

  for (genvar d = 0; d < 2 * NetworkElements; d++) begin : gen_network_direction
    assign net_start_o[d] = network_req[d].start;
    assign net_address_o[d] = network_req[d].address;
    assign net_bytes_o[d] = network_req[d].bytes;
    assign net_last_o[d] = network_req[d].last;
    assign net_stop_o[d] = network_req[d].stop;
    assign net_done_ready_o[d] = network_req[d].done_ready;
    assign network_rsp[d] = '{
        busy: net_busy_i[d],
        moved: net_moved_i[d],
        done_valid: net_done_valid_i[d],
        done: '{
            bytes: net_done_bytes_i[d], last: net_done_last_i[d], status: mover_status_e'(net_done_status_i[d])
        }
    };
  end

  // ---------------------------------------------------------------------------------------------
  // Coherent lines
  // ---------------------------------------------------------------------------------------------

  home_link_req_t link_req [NumLinks];
  home_link_rsp_t link_rsp [NumLinks];
  axi_req_t home_req [NumHomes];
  axi_rsp_t home_rsp [NumHomes];
  line_req_t line_req [NumHomes];
  line_rsp_t line_rsp [NumHomes];
  cache_link_req_t cache_req [NumCaches];
  cache_link_rsp_t cache_rsp [NumCaches];
  line_access_req_t access_req [NumAccess];
  line_access_rsp_t access_rsp [NumAccess];

  for (genvar l = 0; l < NumLinks; l++) begin : gen_link
    assign link_req[l] = '{
        forward_ready: link_forward_ready_i[l],
        response_ready: link_response_ready_i[l],
        response_data_ready: link_response_data_ready_i[l],
        request_valid: link_request_valid_i[l],
        request: link_request_i[l],
        response_valid: link_response_valid_i[l],
        response: link_response_i[l],
        request_data_valid: link_request_data_valid_i[l],
        request_data: '{
            header: link_request_data_header_i[l], row: link_request_data_row_i[l], last: link_request_data_last_i[l]
        },
        response_data_valid: link_response_data_valid_i[l],
        response_data: '{
            header: link_response_data_header_i[l], row: link_response_data_row_i[l], last: link_response_data_last_i[l]
        }
    };
    assign link_request_ready_o[l] = link_rsp[l].request_ready;
    assign link_request_data_ready_o[l] = link_rsp[l].request_data_ready;
    assign link_response_ready_o[l] = link_rsp[l].response_ready;
    assign link_response_data_ready_o[l] = link_rsp[l].response_data_ready;
    assign link_forward_valid_o[l] = link_rsp[l].forward_valid;
    assign link_forward_o[l] = link_rsp[l].forward;
    assign link_response_valid_o[l] = link_rsp[l].response_valid;
    assign link_response_o[l] = link_rsp[l].response;
    assign link_response_data_valid_o[l] = link_rsp[l].response_data_valid;
    assign link_response_data_header_o[l] = link_rsp[l].response_data.header;
    assign link_response_data_row_o[l] = link_rsp[l].response_data.row;
    assign link_response_data_last_o[l] = link_rsp[l].response_data.last;
  end

  for (genvar h = 0; h < NumHomes; h++) begin : gen_home
    `TMB_AXI_MANAGER_PINS(home, [h], home_req[h], home_rsp[h])
    assign line_req[h] = '{
        valid: line_req_valid_i[h],
        ack_ready: line_ack_ready_i[h],
        operation: '{
            operation: operation_e'(line_req_operation_i[h]),
            tag: line_req_tag_i[h],
            line: line_req_line_i[h],
            dmask: line_req_parts_i[h],
            row: line_req_row_i[h],
            last: line_req_last_i[h]
        }
    };
    assign line_req_ready_o[h] = line_rsp[h].ready;
    assign line_ack_valid_o[h] = line_rsp[h].ack_valid;
    assign line_ack_tag_o[h] = line_rsp[h].ack.tag;
    assign line_ack_row_o[h] = line_rsp[h].ack.row;
    assign line_ack_last_o[h] = line_rsp[h].ack.last;
  end

  for (genvar l = 0; l < NumCaches; l++) begin : gen_cache
    assign cache_request_valid_o[l] = cache_req[l].request_valid;
    assign cache_request_o[l] = cache_req[l].request;
    assign cache_response_valid_o[l] = cache_req[l].response_valid;
    assign cache_response_o[l] = cache_req[l].response;
    assign cache_response_data_valid_o[l] = cache_req[l].response_data_valid;
    assign cache_response_data_header_o[l] = cache_req[l].response_data.header;
    assign cache_response_data_row_o[l] = cache_req[l].response_data.row;
    assign cache_response_data_last_o[l] = cache_req[l].response_data.last;
    assign cache_forward_ready_o[l] = cache_req[l].forward_ready;
    assign cache_response_ready_o[l] = cache_req[l].response_ready;
    assign cache_response_data_ready_o[l] = cache_req[l].response_data_ready;
    assign cache_rsp[l] = '{
        request_ready: cache_request_ready_i[l],
        response_ready: cache_response_ready_i[l],
        response_data_ready: cache_response_data_ready_i[l],
        forward_valid: cache_forward_valid_i[l],
        forward: cache_forward_i[l],
        response_valid: cache_response_valid_i[l],
        response: cache_response_i[l],
        response_data_valid: cache_response_data_valid_i[l],
        response_data: '{
            header: cache_response_data_header_i[l], row: cache_response_data_row_i[l], last: cache_response_data_last_i[l]
        }
    };
  end

  for (genvar a = 0; a < NumAccess; a++) begin : gen_access
    assign access_req[a] = '{
        valid: access_req_valid_i[a],
        answer_ready: access_rsp_ready_i[a],
        access: '{
            access: tmb_cache_controller_pkg::access_e'(access_req_access_i[a]),
            held: access_req_held_i[a],
            hold: access_req_hold_i[a],
            tag: tmb_cache_controller_pkg::access_tag_t'(access_req_tag_i[a]),
            line: access_req_line_i[a],
            second: access_req_second_i[a],
            row: access_req_row_i[a],
            strobe: access_req_strobe_i[a]
        }
    };
    assign access_req_ready_o[a] = access_rsp[a].ready;
    assign access_rsp_valid_o[a] = access_rsp[a].answer_valid;
    assign access_rsp_tag_o[a] = 5'(access_rsp[a].answer.tag);
    assign access_rsp_status_o[a] = access_rsp[a].answer.status;
    assign access_rsp_hold_o[a] = access_rsp[a].answer.hold;
    assign access_rsp_row_o[a] = access_rsp[a].answer.row;
  end

  // ---------------------------------------------------------------------------------------------
  // Parts
  // ---------------------------------------------------------------------------------------------

  logic parts_rst_n;  // low while the host resets the shell, too
  mover_control_t mover_control [2*SwitchElements];
  mover_state_t mover_state [2*SwitchElements];
  switch_control_t switch_control [SwitchElements];
  switch_state_t switch_state [SwitchElements];
  logic transfer_valid, transfer_ready;
  transfer_t transfer;

  logic coherent_valid, coherent_done, coherent_trouble;
  access_t coherent_access;
  access_rsp_t coherent_rsp;
  logic coherent_idle [NumSlots];
  logic coherent_violation [NumSlots];
  logic slot_closed [NumSlots];
  logic read_req_valid [NumLinks];
  logic read_req_ready [NumLinks];
  mem_req_t read_req [NumLinks];
  logic read_rsp_valid [NumLinks];
  logic read_rsp_ready [NumLinks];
  mem_read_rsp_t read_rsp [NumLinks];
  logic write_req_valid [NumLinks];
  logic write_req_ready [NumLinks];
  mem_req_t write_req [NumLinks];
  logic write_data_valid [NumLinks];
  logic write_data_ready [NumLinks];
  mem_write_data_t write_data [NumLinks];
  logic write_rsp_valid [NumLinks];
  logic write_rsp_ready [NumLinks];
  mem_write_rsp_t write_rsp [NumLinks];

  tmb_shell_core #(
    .Cfg(Cfg)
  ) u_core (
    .clk_i,
    .rst_ni,
    .parts_rst_no(parts_rst_n),
    .network_drain_o(network_drain),
    .network_quiet_i(network_quiet),
    .peripheral_rst_no,
    .card_i('{clock_period: card_clock_period_i, channel_bytes: card_channel_bytes_i}),
    .bar_i(bar_req),
    .bar_o(bar_rsp),
    .irq_o,
    .host_o(host_req),
    .host_i(host_rsp),
    .mem_o(mem_req),
    .mem_i(mem_rsp),
    .port_i(port_req),
    .port_o(port_rsp),
    .ctl_o(ctl_req),
    .ctl_i(ctl_rsp),
    .slot_interrupt_i,
    .slot_identity_i,
    .slot_live_o(slot_live),
    .mover_o(mover_control),
    .mover_i(mover_state),
    .switch_o(switch_control),
    .switch_i(switch_state),
    .transfer_valid_i(transfer_valid),
    .transfer_ready_o(transfer_ready),
    .transfer_i(transfer),
    .coherent_valid_o(coherent_valid),
    .coherent_access_o(coherent_access),
    .coherent_done_i(coherent_done),
    .coherent_rsp_i(coherent_rsp),
    .slot_closed_o(slot_closed),
    .coherent_idle_i(coherent_idle),
    .coherent_violation_i(coherent_violation),
    .coherent_trouble_i(coherent_trouble),
    .line_read_req_valid_i(read_req_valid),
    .line_read_req_ready_o(read_req_ready),
    .line_read_req_i(read_req),
    .line_read_rsp_valid_o(read_rsp_valid),
    .line_read_rsp_ready_i(read_rsp_ready),
    .line_read_rsp_o(read_rsp),
    .line_write_req_valid_i(write_req_valid),
    .line_write_req_ready_o(write_req_ready),
    .line_write_req_i(write_req),
    .line_write_data_valid_i(write_data_valid),
    .line_write_data_ready_o(write_data_ready),
    .line_write_data_i(write_data),
    .line_write_rsp_valid_o(write_rsp_valid),
    .line_write_rsp_ready_i(write_rsp_ready),
    .line_write_rsp_o(write_rsp)
  );

  tmb_shell_io #(
    .Cfg(Cfg)
  ) u_io (
    .clk_i,
    .rst_ni(parts_rst_n),
    .mover_i(mover_control),
    .mover_o(mover_state),
    .switch_i(switch_control),
    .switch_o(switch_state),
    .transfer_valid_o(transfer_valid),
    .transfer_ready_i(transfer_ready),
    .transfer_o(transfer),
    .reset_i(mover_reset),
    .port_o(mover_port_req),
    .port_i(mover_port_rsp),
    .in_valid_o(in_valid),
    .in_ready_i(sin_tready_i),
    .in_o(in_beat),
    .in_id_o(in_id),
    .out_valid_i(sout_tvalid_i),
    .out_ready_o(out_ready),
    .out_i(out_beat),
    .out_id_i(out_id),
    .send_valid_o(send_valid),
    .send_ready_i(net_send_tready_i),
    .send_o(send_beat),
    .receive_valid_i(net_receive_tvalid_i),
    .receive_ready_o(receive_ready),
    .receive_i(receive_beat),
    .network_o(network_req),
    .network_i(network_rsp)
  );

  tmb_shell_coherent #(
    .Cfg(Cfg)
  ) u_coherent (
    .clk_i,
    .rst_ni(parts_rst_n),
    .valid_i(coherent_valid),
    .access_i(coherent_access),
    .done_o(coherent_done),
    .rsp_o(coherent_rsp),
    .slot_live_i(slot_live),
    .slot_closed_i(slot_closed),
    .slot_idle_o(coherent_idle),
    .slot_violation_o(coherent_violation),
    .trouble_o(coherent_trouble),
    .link_i(link_req),
    .link_o(link_rsp),
    .home_o(home_req),
    .home_i(home_rsp),
    .line_i(line_req),
    .line_o(line_rsp),
    .cache_o(cache_req),
    .cache_i(cache_rsp),
    .access_line_i(access_req),
    .access_line_o(access_rsp),
    .read_req_valid_o(read_req_valid),
    .read_req_ready_i(read_req_ready),
    .read_req_o(read_req),
    .read_rsp_valid_i(read_rsp_valid),
    .read_rsp_ready_o(read_rsp_ready),
    .read_rsp_i(read_rsp),
    .write_req_valid_o(write_req_valid),
    .write_req_ready_i(write_req_ready),
    .write_req_o(write_req),
    .write_data_valid_o(write_data_valid),
    .write_data_ready_i(write_data_ready),
    .write_data_o(write_data),
    .write_rsp_valid_i(write_rsp_valid),
    .write_rsp_ready_o(write_rsp_ready),
    .write_rsp_i(write_rsp)
  );

endmodule
