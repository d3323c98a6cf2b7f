// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// tmb_virtual_memory with its geometry as plain parameters and its structs taken apart, so that a
// bench can drive it field by field. Two ports and four spaces; one slot for each port.

module virtual_memory_bench_top
  import tmb_pkg::*;
#(
  parameter bit Identity = 1'b0,
  parameter int unsigned ChannelBytesLog2 = 26,
  // 0: two L1 TLBs, of 4 and 16 KiB pages. 1: one, of 16 KiB pages. 2: none. 3: three.
  // 4: segments.
  parameter int unsigned L1Kind = 0,
  parameter int unsigned NumLanes = 1,
  parameter int unsigned ParkDepth = 16,
  parameter int unsigned MaxWalks = 32,
  parameter int unsigned FilterLog2 = 8,
  parameter int unsigned LookAhead = 8,
  parameter int unsigned ReadBufferRows = 256,
  parameter int unsigned WriteBufferRows = 128,
  localparam int unsigned NumPorts = 2,
  localparam int unsigned NumSpaces = 4,
  localparam int unsigned NumReaders = NumPorts + 2,
  localparam int unsigned NumWriters = NumPorts + 1,
  localparam int unsigned NumRequesters = 2 * NumPorts
) (
  input  logic clk_i,
  input  logic rst_ni,
  // kernels
  input  logic [15:0]  aw_id_i [NumPorts],
  input  logic [63:0]  aw_addr_i [NumPorts],
  input  logic [7:0]   aw_len_i [NumPorts],
  input  logic [2:0]   aw_size_i [NumPorts],
  input  logic [1:0]   aw_burst_i [NumPorts],
  input  logic         aw_valid_i [NumPorts],
  output logic         aw_ready_o [NumPorts],
  input  logic [511:0] w_data_i [NumPorts],
  input  logic [63:0]  w_strb_i [NumPorts],
  input  logic         w_last_i [NumPorts],
  input  logic         w_valid_i [NumPorts],
  output logic         w_ready_o [NumPorts],
  output logic [15:0]  b_id_o [NumPorts],
  output logic [1:0]   b_resp_o [NumPorts],
  output logic         b_valid_o [NumPorts],
  input  logic         b_ready_i [NumPorts],
  input  logic [15:0]  ar_id_i [NumPorts],
  input  logic [63:0]  ar_addr_i [NumPorts],
  input  logic [7:0]   ar_len_i [NumPorts],
  input  logic [2:0]   ar_size_i [NumPorts],
  input  logic [1:0]   ar_burst_i [NumPorts],
  input  logic         ar_valid_i [NumPorts],
  output logic         ar_ready_o [NumPorts],
  output logic [15:0]  r_id_o [NumPorts],
  output logic [511:0] r_data_o [NumPorts],
  output logic [1:0]   r_resp_o [NumPorts],
  output logic         r_last_o [NumPorts],
  output logic         r_valid_o [NumPorts],
  input  logic         r_ready_i [NumPorts],
  input  logic [3:0]   port_asid_i [NumPorts],
  input  logic         port_reset_i [NumPorts],
  output logic         port_idle_o [NumPorts],
  input  logic         port_closed_i [NumPorts],
  output logic         port_violation_o [NumPorts],
  // spaces
  input  logic         space_enable_i [NumSpaces],
  input  logic [36:0]  space_base_i [NumSpaces],
  input  logic [4:0]   space_sets_log2_i [NumSpaces],
  input  logic [18:0]  space_size_classes_i [NumSpaces],
  input  logic         space_l1_off_i [NumSpaces],
  input  logic         space_walker_off_i [NumSpaces],
  // levels
  input  logic         managed_i,
  input  logic [1:0]   level_i [NumPorts],
  // table commands
  input  logic         table_cmd_valid_i,
  output logic         table_cmd_ready_o,
  input  logic [2:0]   table_cmd_op_i,
  input  logic [3:0]   table_cmd_asid_i,
  input  logic [47:0]  table_cmd_addr_i,
  input  logic [63:0]  table_cmd_entry_i,
  input  logic [4:0]   table_cmd_sets_log2_i,
  output logic         table_rsp_valid_o,
  input  logic         table_rsp_ready_i,
  output logic [1:0]   table_rsp_status_o,
  output logic         table_rsp_accessed_o,
  output logic         table_rsp_dirty_o,
  output logic         table_switch_valid_o,
  output logic [3:0]   table_switch_asid_o,
  output logic [36:0]  table_switch_base_o,
  output logic [4:0]   table_switch_sets_log2_o,
  // faults
  output logic         fault_valid_o,
  input  logic         fault_ready_i,
  output logic [1:0]   fault_cause_o,
  output logic [3:0]   fault_asid_o,
  output logic         fault_write_o,
  output logic         fault_ahead_o,
  output logic [47:0]  fault_addr_o,
  output logic [7:0]   fault_requester_o,
  output logic [5:0]   fault_index_o,
  input  logic         reply_valid_i,
  output logic         reply_ready_o,
  input  logic [7:0]   reply_requester_i,
  input  logic [5:0]   reply_index_i,
  input  logic         reply_fail_i,
  input  logic [63:0]  reply_entry_i,
  // fabric
  output logic         read_req_valid_o [NumReaders],
  input  logic         read_req_ready_i [NumReaders],
  output logic [36:0]  read_req_addr_o [NumReaders],
  output logic [5:0]   read_req_len_o [NumReaders],
  output logic [15:0]  read_req_tag_o [NumReaders],
  input  logic         read_rsp_valid_i [NumReaders],
  output logic         read_rsp_ready_o [NumReaders],
  input  logic [511:0] read_rsp_row_i [NumReaders],
  input  logic [15:0]  read_rsp_tag_i [NumReaders],
  input  logic [5:0]   read_rsp_index_i [NumReaders],
  input  logic         read_rsp_last_i [NumReaders],
  input  logic         read_rsp_error_i [NumReaders],
  output logic         write_req_valid_o [NumWriters],
  input  logic         write_req_ready_i [NumWriters],
  output logic [36:0]  write_req_addr_o [NumWriters],
  output logic [5:0]   write_req_len_o [NumWriters],
  output logic [15:0]  write_req_tag_o [NumWriters],
  output logic         write_data_valid_o [NumWriters],
  input  logic         write_data_ready_i [NumWriters],
  output logic [511:0] write_data_row_o [NumWriters],
  output logic [63:0]  write_data_strobe_o [NumWriters],
  output logic         write_data_last_o [NumWriters],
  input  logic         write_rsp_valid_i [NumWriters],
  output logic         write_rsp_ready_o [NumWriters],
  input  logic [15:0]  write_rsp_tag_i [NumWriters],
  input  logic         write_rsp_error_i [NumWriters],
  // events by requester, from bit 0: hit, miss, walk hit, walk miss, fault, retry
  output logic [5:0]   events_o [NumRequesters]
);

  function automatic l1_cfgs_t l1_cfgs();
    unique case (L1Kind)
      0: return '{0: '{PageBits: 12, SetsLog2: 2, Ways: 3}, 1: '{PageBits: 14, SetsLog2: 2, Ways: 2},
                  default: NoL1};
      1: return '{0: '{PageBits: 14, SetsLog2: 2, Ways: 2}, default: NoL1};
      2: return '{default: NoL1};
      4: return '{0: '{PageBits: 12, SetsLog2: 0, Ways: 8}, default: NoL1};
      default: return '{0: '{PageBits: 12, SetsLog2: 3, Ways: 1},
                        1: '{PageBits: 13, SetsLog2: 0, Ways: 4},
                        2: '{PageBits: 15, SetsLog2: 1, Ways: 2}, default: NoL1};
    endcase
  endfunction

  localparam shell_cfg_t Cfg = '{
      NumSlots: NumPorts,
      PortsPerSlot: 1,
      StreamsPerSlot: 0,
      NetworkPairs: 0,
      TidWidth: 0,
      TdestWidth: 0,
      NumChannels: 2,
      ChannelBytesLog2: ChannelBytesLog2,
      NumSpaces: NumSpaces,
      NumQueues: 1,
      ChannelPolicy: ArbiterPreferred,
      DmaShare: 4,
      Translator: Identity ? TranslatorIdentity :
          ((L1Kind == 4) ? TranslatorSegment : TranslatorPaged),
      NumLanes: NumLanes,
      L1: l1_cfgs(),
      ParkDepth: ParkDepth,
      MaxWalks: MaxWalks,
      FilterLog2: FilterLog2,
      LookAhead: LookAhead,
      ReadBufferRows: ReadBufferRows,
      WriteBufferRows: WriteBufferRows,
      HostChannel: 1'b0,
      Directory: NoDirectory,
      Cache: NoCache
  };

  logic unused_walk_read;
  axi_req_t port_req [NumPorts];
  axi_rsp_t port_rsp [NumPorts];
  tmb_guard_pkg::guard_status_t unused_guard [NumPorts];
  tmb_guard_pkg::owed_t unused_owed [NumPorts];
  space_cfg_t space_cfg [NumSpaces];
  mem_req_t read_req [NumReaders];
  mem_read_rsp_t read_rsp [NumReaders];
  mem_req_t write_req [NumWriters];
  mem_write_data_t write_data [NumWriters];
  mem_write_rsp_t write_rsp [NumWriters];
  port_events_t events [NumRequesters];
  table_cmd_t table_cmd;
  table_rsp_t table_rsp;
  fault_t fault;
  fault_reply_t reply;

  for (genvar p = 0; p < NumPorts; p++) begin : gen_port
    assign port_req[p] = '{
        aw: '{id: aw_id_i[p], addr: aw_addr_i[p], len: aw_len_i[p], size: aw_size_i[p],
              burst: aw_burst_i[p]},
        aw_valid: aw_valid_i[p],
        w: '{data: w_data_i[p], strb: w_strb_i[p], last: w_last_i[p]},
        w_valid: w_valid_i[p],
        b_ready: b_ready_i[p],
        ar: '{id: ar_id_i[p], addr: ar_addr_i[p], len: ar_len_i[p], size: ar_size_i[p],
              burst: ar_burst_i[p]},
        ar_valid: ar_valid_i[p],
        r_ready: r_ready_i[p]
    };
    assign aw_ready_o[p] = port_rsp[p].aw_ready;
    assign w_ready_o[p] = port_rsp[p].w_ready;
    assign b_id_o[p] = port_rsp[p].b.id;
    assign b_resp_o[p] = port_rsp[p].b.resp;
    assign b_valid_o[p] = port_rsp[p].b_valid;
    assign ar_ready_o[p] = port_rsp[p].ar_ready;
    assign r_id_o[p] = port_rsp[p].r.id;
    assign r_data_o[p] = port_rsp[p].r.data;
    assign r_resp_o[p] = port_rsp[p].r.resp;
    assign r_last_o[p] = port_rsp[p].r.last;
    assign r_valid_o[p] = port_rsp[p].r_valid;
  end

  for (genvar a = 0; a < NumSpaces; a++) begin : gen_space
    assign space_cfg[a] = '{
        enable: space_enable_i[a],
        table_base: space_base_i[a],
        table_sets_log2: space_sets_log2_i[a],
        size_classes: space_size_classes_i[a],
        l1_off: space_l1_off_i[a],
        walker_off: space_walker_off_i[a]
    };
  end

  for (genvar r = 0; r < NumReaders; r++) begin : gen_reader
    assign read_req_addr_o[r] = read_req[r].addr;
    assign read_req_len_o[r] = read_req[r].len;
    assign read_req_tag_o[r] = read_req[r].tag;
    assign read_rsp[r] = '{row: read_rsp_row_i[r], tag: read_rsp_tag_i[r],
                           index: read_rsp_index_i[r], last: read_rsp_last_i[r],
                           error: read_rsp_error_i[r]};
  end

  for (genvar w = 0; w < NumWriters; w++) begin : gen_writer
    assign write_req_addr_o[w] = write_req[w].addr;
    assign write_req_len_o[w] = write_req[w].len;
    assign write_req_tag_o[w] = write_req[w].tag;
    assign write_data_row_o[w] = write_data[w].row;
    assign write_data_strobe_o[w] = write_data[w].strobe;
    assign write_data_last_o[w] = write_data[w].last;
    assign write_rsp[w] = '{tag: write_rsp_tag_i[w], error: write_rsp_error_i[w]};
  end

  for (genvar s = 0; s < NumRequesters; s++) begin : gen_requester
    assign events_o[s] = events[s];
  end

  assign table_cmd = '{op: table_op_e'(table_cmd_op_i), asid: table_cmd_asid_i,
                       addr: table_cmd_addr_i, entry: page_entry_t'(table_cmd_entry_i),
                       sets_log2: table_cmd_sets_log2_i};
  table_switch_t table_switch;
  assign table_switch_valid_o = table_switch.valid;
  assign table_switch_asid_o = table_switch.asid;
  assign table_switch_base_o = table_switch.table_base;
  assign table_switch_sets_log2_o = table_switch.table_sets_log2;
  assign table_rsp_status_o = table_rsp.status;
  assign table_rsp_accessed_o = table_rsp.accessed;
  assign table_rsp_dirty_o = table_rsp.dirty;
  assign fault_cause_o = fault.cause;
  assign fault_asid_o = fault.asid;
  assign fault_write_o = fault.write;
  assign fault_ahead_o = fault.ahead;
  assign fault_addr_o = fault.addr;
  assign fault_requester_o = fault.token.requester;
  assign fault_index_o = fault.token.index;
  assign reply = '{token: '{requester: reply_requester_i, index: reply_index_i}, fail: reply_fail_i,
                   entry: page_entry_t'(reply_entry_i)};

  tmb_virtual_memory #(
    .Cfg(Cfg)
  ) i_dut (
    .clk_i              (clk_i),
    .rst_ni             (rst_ni),
    .port_req_i         (port_req),
    .port_rsp_o         (port_rsp),
    .port_asid_i        (port_asid_i),
    .port_reset_i       (port_reset_i),
    .port_idle_o        (port_idle_o),
    .port_closed_i      (port_closed_i),
    .port_violation_o   (port_violation_o),
    .port_guard_o       (unused_guard),
    .port_mark_i        ('{default: 1'b0}),
    .port_announce_i    ('{default: 1'b0}),
    .port_owed_o        (unused_owed),
    .space_cfg_i        (space_cfg),
    .managed_i          (managed_i),
    .level_i            (level_i),
    .table_cmd_valid_i  (table_cmd_valid_i),
    .table_cmd_ready_o  (table_cmd_ready_o),
    .table_cmd_i        (table_cmd),
    .table_rsp_valid_o  (table_rsp_valid_o),
    .table_rsp_ready_i  (table_rsp_ready_i),
    .table_rsp_o        (table_rsp),
    .table_switch_o     (table_switch),
    .fault_valid_o      (fault_valid_o),
    .fault_ready_i      (fault_ready_i),
    .fault_o            (fault),
    .fault_reply_valid_i(reply_valid_i),
    .fault_reply_ready_o(reply_ready_o),
    .fault_reply_i      (reply),
    .read_req_valid_o   (read_req_valid_o),
    .read_req_ready_i   (read_req_ready_i),
    .read_req_o         (read_req),
    .read_rsp_valid_i   (read_rsp_valid_i),
    .read_rsp_ready_o   (read_rsp_ready_o),
    .read_rsp_i         (read_rsp),
    .write_req_valid_o  (write_req_valid_o),
    .write_req_ready_i  (write_req_ready_i),
    .write_req_o        (write_req),
    .write_data_valid_o (write_data_valid_o),
    .write_data_ready_i (write_data_ready_i),
    .write_data_o       (write_data),
    .write_rsp_valid_i  (write_rsp_valid_i),
    .write_rsp_ready_o  (write_rsp_ready_o),
    .write_rsp_i        (write_rsp),
    .port_events_o      (events),
    .walk_read_o        (unused_walk_read)
  );

endmodule
