// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Everything between the slot boundary and the fabric: the AXI4 ports, the parks, the translator
// and the fault queue. A kernel's virtual accesses come in, requests to card memory go out.
//
//   port_req_i ─► tmb_port ─► tmb_park ─► translator (Cfg.Translator)
//                    ▲  │        │  ▲        │ ▲
//                    │  │        ▼  │        ▼ │
//                 responses   departures   table reads and writes
//                    │  └─► fabric ◄─────────┘
//
// Requesters: port p reads as requester 2p and writes as requester 2p+1. Neighbours share
// an address lane, as many as there are requesters to a lane: with as many lanes as slots, each slot
// has its own. One lane gives a translation a cycle, which is enough for a burst of one row a cycle.
// Fabric readers: the ports, then the walker, then the table engine. Writers: the ports, then the
// table engine.
//
// Throughput: a port reads and writes one row a cycle each. Latency: 9 cycles from ar_valid to
// read_req_valid_o on an L1 hit, 3 from the response to r_valid. Ordering: each requester in order, no
// order between requesters. Back-pressure: a requester stalls alone; nothing shared waits for a
// kernel or for the host.
// No deadlock: a request to the fabric needs only the memory to finish (rows reserved, or all data
// here). A translation needs only memory, or else parks the burst as Faulted in its own requester. The
// table engine and the invalidation wait for such requests only.
//
// port_reset_i: nothing new is accepted, what is parked is forgotten (also what waits for the host;
// a late reply is ignored), what has left drains; then port_idle_o. Release the reset only when the
// port is idle. port_asid_i changes only in reset.
//
// port_closed_i: what is parked ends with an error, and so does everything that comes; what has left
// drains. Ended by the port's reset.

module tmb_virtual_memory
  import tmb_pkg::*;
  import tmb_translate_pkg::*;
  import tmb_guard_pkg::*;
  import tmb_schedule_pkg::*;
#(
  parameter shell_cfg_t Cfg = DefaultShellCfg,
  localparam int unsigned NumPorts = Cfg.NumSlots * Cfg.PortsPerSlot,
  localparam int unsigned NumRequesters = 2 * NumPorts,
  localparam int unsigned NumReaders = NumPorts + 2,
  localparam int unsigned NumWriters = NumPorts + 1
) (
  input  logic clk_i,
  input  logic rst_ni,
  // slot ports; every output to a kernel comes from a register
  input  axi_req_t   port_req_i [NumPorts],
  output axi_rsp_t   port_rsp_o [NumPorts],
  input  asid_t      port_asid_i [NumPorts],
  input  logic       port_reset_i [NumPorts],
  output logic       port_idle_o [NumPorts],  // nothing parked, nothing outstanding
  input  logic          port_closed_i [NumPorts],
  output logic          port_violation_o [NumPorts],  // the first since reset
  output guard_status_t port_guard_o [NumPorts],
  input  logic          port_mark_i [NumPorts],      // what is owed of all that has come so far
  input  logic          port_announce_i [NumPorts],  // the same, for the slot's interrupt
  output owed_t         port_owed_o [NumPorts],
  input  space_cfg_t space_cfg_i [Cfg.NumSpaces],
  // levels of slots: whose lookups and walks go first
  input  logic       managed_i,
  input  level_t     level_i [Cfg.NumSlots],
  // table commands, one at a time in order, one response each
  input  logic       table_cmd_valid_i,
  output logic       table_cmd_ready_o,
  input  table_cmd_t table_cmd_i,
  output logic       table_rsp_valid_o,
  input  logic       table_rsp_ready_i,
  output table_rsp_t table_rsp_o,
  output table_switch_t table_switch_o,  // space_cfg_i follows in the next cycle
  // faults to the host, replies from it
  output logic         fault_valid_o,
  input  logic         fault_ready_i,
  output fault_t       fault_o,
  input  logic         fault_reply_valid_i,
  output logic         fault_reply_ready_o,
  input  fault_reply_t fault_reply_i,
  // fabric
  output logic            read_req_valid_o [NumReaders],
  input  logic            read_req_ready_i [NumReaders],
  output mem_req_t        read_req_o [NumReaders],
  input  logic            read_rsp_valid_i [NumReaders],
  output logic            read_rsp_ready_o [NumReaders],
  input  mem_read_rsp_t   read_rsp_i [NumReaders],
  output logic            write_req_valid_o [NumWriters],
  input  logic            write_req_ready_i [NumWriters],
  output mem_req_t        write_req_o [NumWriters],
  output logic            write_data_valid_o [NumWriters],
  input  logic            write_data_ready_i [NumWriters],
  output mem_write_data_t write_data_o [NumWriters],
  input  logic            write_rsp_valid_i [NumWriters],
  output logic            write_rsp_ready_o [NumWriters],
  input  mem_write_rsp_t  write_rsp_i [NumWriters],
  // counted: by requester, and sets that walks read
  output port_events_t port_events_o [NumRequesters],
  output logic         walk_read_o
);

  logic lookup_valid [NumRequesters];
  logic lookup_ready [NumRequesters];
  lookup_t lookup [NumRequesters];
  logic result_valid [NumRequesters];
  result_t result [NumRequesters];
  logic flash_valid, epoch;
  asid_t flash_asid;
  logic [1:0] bursts [NumPorts];

  logic fault_valid [NumRequesters];
  logic fault_ready [NumRequesters];
  fault_t fault [NumRequesters];
  logic reply_valid [NumRequesters];
  logic [NumRequesters-1:0] reply_ready, reply_for;
  logic reply_busy [NumRequesters];
  logic reply_stall;

  localparam park_cfg_t ParkCfg =
      '{Depth: Cfg.ParkDepth, LookAhead: Cfg.LookAhead, HostChannel: Cfg.HostChannel};
  localparam translator_cfg_t TranslatorCfg = '{
      NumRequesters: NumRequesters,
      NumPorts: NumPorts,
      NumSlots: Cfg.NumSlots,
      NumLanes: Cfg.NumLanes,
      NumSpaces: Cfg.NumSpaces,
      MaxWalks: Cfg.MaxWalks,
      FilterLog2: Cfg.FilterLog2,
      L1: Cfg.L1,
      Segments: Cfg.Translator == TranslatorSegment,
      HostChannel: Cfg.HostChannel
  };

  // ---------------------------------------------------------------------------------------------
  // Ports and parks
  // ---------------------------------------------------------------------------------------------

  for (genvar p = 0; p < NumPorts; p++) begin : gen_port
    logic burst_valid [2];
    logic burst_ready [2];
    burst_t burst [2];
    logic departure_valid [2];
    logic departure_ready [2];
    departure_t departure [2];
    logic port_idle;
    logic [1:0] park_idle;

    tmb_port #(
      .ReadBufferRows (Cfg.ReadBufferRows),
      .WriteBufferRows(Cfg.WriteBufferRows)
    ) i_port (
      .clk_i             (clk_i),
      .rst_ni            (rst_ni),
      .port_reset_i      (port_reset_i[p]),
      .closed_i          (port_closed_i[p]),
      .port_req_i        (port_req_i[p]),
      .port_rsp_o        (port_rsp_o[p]),
      .burst_valid_o     (burst_valid),
      .burst_ready_i     (burst_ready),
      .burst_o           (burst),
      .departure_valid_i (departure_valid),
      .departure_ready_o (departure_ready),
      .departure_i       (departure),
      .read_req_valid_o  (read_req_valid_o[p]),
      .read_req_ready_i  (read_req_ready_i[p]),
      .read_req_o        (read_req_o[p]),
      .read_rsp_valid_i  (read_rsp_valid_i[p]),
      .read_rsp_ready_o  (read_rsp_ready_o[p]),
      .read_rsp_i        (read_rsp_i[p]),
      .write_req_valid_o (write_req_valid_o[p]),
      .write_req_ready_i (write_req_ready_i[p]),
      .write_req_o       (write_req_o[p]),
      .write_data_valid_o(write_data_valid_o[p]),
      .write_data_ready_i(write_data_ready_i[p]),
      .write_data_o      (write_data_o[p]),
      .write_rsp_valid_i (write_rsp_valid_i[p]),
      .write_rsp_ready_o (write_rsp_ready_o[p]),
      .write_rsp_i       (write_rsp_i[p]),
      .epoch_i           (epoch),
      .busy_o            (bursts[p]),
      .idle_o            (port_idle),
      .violation_o       (port_violation_o[p]),
      .guard_o           (port_guard_o[p]),
      .mark_i            (port_mark_i[p]),
      .announce_i        (port_announce_i[p]),
      .owed_o            (port_owed_o[p])
    );

    // The smallest pages of the port's space.
    size_class_t page_class;
    logic [MaxSizeClass:0] size_classes;
    always_comb begin
      size_classes = '0;
      for (int unsigned a = 0; a < Cfg.NumSpaces; a++) begin
        if (port_asid_i[p] == asid_t'(a)) size_classes = space_cfg_i[a].size_classes;
      end
    end
    tmb_flop #(
      .T(size_class_t)
    ) i_page_class (
      .clk_i(clk_i),
      .rst_ni(rst_ni),
      .d_i(smallest_class(size_classes)),
      .q_o(page_class)
    );

    for (genvar d = 0; d < 2; d++) begin : gen_park
      tmb_park #(
        .Requester(2 * p + d),
        .Cfg      (ParkCfg)
      ) i_park (
        .clk_i            (clk_i),
        .rst_ni           (rst_ni),
        .port_reset_i     (port_reset_i[p] || port_closed_i[p]),
        .asid_i           (port_asid_i[p]),
        .page_class_i     (page_class),
        .burst_valid_i    (burst_valid[d]),
        .burst_ready_o    (burst_ready[d]),
        .burst_i          (burst[d]),
        .departure_valid_o(departure_valid[d]),
        .departure_ready_i(departure_ready[d]),
        .departure_o      (departure[d]),
        .lookup_valid_o   (lookup_valid[2*p+d]),
        .lookup_ready_i   (lookup_ready[2*p+d]),
        .lookup_o         (lookup[2*p+d]),
        .result_valid_i   (result_valid[2*p+d]),
        .result_i         (result[2*p+d]),
        .flash_valid_i    (flash_valid),
        .flash_asid_i     (flash_asid),
        .fault_valid_o    (fault_valid[2*p+d]),
        .fault_ready_i    (fault_ready[2*p+d]),
        .fault_o          (fault[2*p+d]),
        .reply_valid_i    (reply_valid[2*p+d]),
        .reply_ready_o    (reply_ready[2*p+d]),
        .reply_i          (fault_reply_i),
        .reply_busy_o     (reply_busy[2*p+d]),
        .idle_o           (park_idle[d]),
        .events_o         (port_events_o[2*p+d])
      );
    end

    tmb_flop i_idle (
      .clk_i(clk_i),
      .rst_ni(rst_ni),
      .d_i(port_idle && (park_idle == '1)),
      .q_o(port_idle_o[p])
    );
  end

  // ---------------------------------------------------------------------------------------------
  // Host
  // ---------------------------------------------------------------------------------------------

  tmb_fault_queue #(
    .NumRequesters(NumRequesters)
  ) i_fault_queue (
    .clk_i        (clk_i),
    .rst_ni       (rst_ni),
    .fault_valid_i(fault_valid),
    .fault_ready_o(fault_ready),
    .fault_i      (fault),
    .fault_valid_o(fault_valid_o),
    .fault_ready_i(fault_ready_i),
    .fault_o      (fault_o)
  );

  // A reply that names no requester is taken and ignored.
  for (genvar s = 0; s < NumRequesters; s++) begin : gen_reply
    assign reply_for[s] = fault_reply_i.token.requester == RequesterIdWidth'(s);
    assign reply_valid[s] = fault_reply_valid_i && reply_for[s] && !reply_stall;
  end
  assign fault_reply_ready_o = !reply_stall && ((reply_for & ~reply_ready) == '0);

  // ---------------------------------------------------------------------------------------------
  // Translator
  // ---------------------------------------------------------------------------------------------

  if (Cfg.Translator != TranslatorIdentity) begin : gen_paged
    logic table_read_req_valid [2];
    logic table_read_req_ready [2];
    mem_req_t table_read_req [2];
    logic table_read_rsp_valid [2];
    logic table_read_rsp_ready [2];
    mem_read_rsp_t table_read_rsp [2];

    for (genvar t = 0; t < 2; t++) begin : gen_reader
      assign read_req_valid_o[NumPorts+t] = table_read_req_valid[t];
      assign table_read_req_ready[t] = read_req_ready_i[NumPorts+t];
      assign read_req_o[NumPorts+t] = table_read_req[t];
      assign table_read_rsp_valid[t] = read_rsp_valid_i[NumPorts+t];
      assign read_rsp_ready_o[NumPorts+t] = table_read_rsp_ready[t];
      assign table_read_rsp[t] = read_rsp_i[NumPorts+t];
    end

    tmb_translate_paged #(
      .Cfg(TranslatorCfg)
    ) i_translator (
      .clk_i             (clk_i),
      .rst_ni            (rst_ni),
      .space_cfg_i       (space_cfg_i),
      .managed_i         (managed_i),
      .level_i           (level_i),
      .lookup_valid_i    (lookup_valid),
      .lookup_ready_o    (lookup_ready),
      .lookup_i          (lookup),
      .result_valid_o    (result_valid),
      .result_o          (result),
      .flash_valid_o     (flash_valid),
      .flash_asid_o      (flash_asid),
      .reply_busy_i      (reply_busy),
      .reply_stall_o     (reply_stall),
      .epoch_o           (epoch),
      .bursts_i          (bursts),
      .table_cmd_valid_i (table_cmd_valid_i),
      .table_cmd_ready_o (table_cmd_ready_o),
      .table_cmd_i       (table_cmd_i),
      .table_rsp_valid_o (table_rsp_valid_o),
      .table_rsp_ready_i (table_rsp_ready_i),
      .table_rsp_o       (table_rsp_o),
      .table_switch_o    (table_switch_o),
      .walk_read_o       (walk_read_o),
      .read_req_valid_o  (table_read_req_valid),
      .read_req_ready_i  (table_read_req_ready),
      .read_req_o        (table_read_req),
      .read_rsp_valid_i  (table_read_rsp_valid),
      .read_rsp_ready_o  (table_read_rsp_ready),
      .read_rsp_i        (table_read_rsp),
      .write_req_valid_o (write_req_valid_o[NumPorts]),
      .write_req_ready_i (write_req_ready_i[NumPorts]),
      .write_req_o       (write_req_o[NumPorts]),
      .write_data_valid_o(write_data_valid_o[NumPorts]),
      .write_data_ready_i(write_data_ready_i[NumPorts]),
      .write_data_o      (write_data_o[NumPorts]),
      .write_rsp_valid_i (write_rsp_valid_i[NumPorts]),
      .write_rsp_ready_o (write_rsp_ready_o[NumPorts]),
      .write_rsp_i       (write_rsp_i[NumPorts])
    );
  end else begin : gen_identity
    tmb_translate_identity #(
      .NumRequesters (NumRequesters),
      .MemoryBytes(64'(Cfg.NumChannels) << Cfg.ChannelBytesLog2)
    ) i_translator (
      .clk_i            (clk_i),
      .rst_ni           (rst_ni),
      .lookup_valid_i   (lookup_valid),
      .lookup_ready_o   (lookup_ready),
      .lookup_i         (lookup),
      .result_valid_o   (result_valid),
      .result_o         (result),
      .table_cmd_valid_i(table_cmd_valid_i),
      .table_cmd_ready_o(table_cmd_ready_o),
      .table_rsp_valid_o(table_rsp_valid_o),
      .table_rsp_ready_i(table_rsp_ready_i),
      .table_rsp_o      (table_rsp_o)
    );

    // No table, no invalidation: the fabric ports and the sequence rest.
    assign table_switch_o = '0;
    assign walk_read_o = 1'b0;
    assign flash_valid = 1'b0;
    assign flash_asid = '0;
    assign epoch = 1'b0;
    assign reply_stall = 1'b0;
    for (genvar t = 0; t < 2; t++) begin : gen_reader
      assign read_req_valid_o[NumPorts+t] = 1'b0;
      assign read_req_o[NumPorts+t] = '0;
      assign read_rsp_ready_o[NumPorts+t] = 1'b1;
    end
    assign write_req_valid_o[NumPorts] = 1'b0;
    assign write_req_o[NumPorts] = '0;
    assign write_data_valid_o[NumPorts] = 1'b0;
    assign write_data_o[NumPorts] = '0;
    assign write_rsp_ready_o[NumPorts] = 1'b1;

    logic [NumPorts-1:0] unused_bursts;
    logic [NumRequesters-1:0] unused_replies;
    for (genvar p = 0; p < NumPorts; p++) begin : gen_unused_port
      assign unused_bursts[p] = ^bursts[p];
    end
    for (genvar s = 0; s < NumRequesters; s++) begin : gen_unused_requester
      assign unused_replies[s] = reply_busy[s];
    end
    logic unused_ok;
    assign unused_ok = &{1'b0, table_cmd_i, unused_bursts, unused_replies,
                         read_req_ready_i[NumPorts], read_req_ready_i[NumPorts+1],
                         read_rsp_valid_i[NumPorts], read_rsp_valid_i[NumPorts+1],
                         read_rsp_i[NumPorts], read_rsp_i[NumPorts+1],
                         write_req_ready_i[NumPorts], write_data_ready_i[NumPorts],
                         write_rsp_valid_i[NumPorts], write_rsp_i[NumPorts]};
  end

endmodule
