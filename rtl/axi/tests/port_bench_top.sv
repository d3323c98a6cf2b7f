// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// One port with the identity translator, its AXI4 signals flat and named as cocotbext-axi wants
// them, and the fabric seam taken apart.

module port_bench_top
  import tmb_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic [7:0]   s_axi_awid,
  input  logic [63:0]  s_axi_awaddr,
  input  logic [7:0]   s_axi_awlen,
  input  logic [2:0]   s_axi_awsize,
  input  logic [1:0]   s_axi_awburst,
  input  logic         s_axi_awvalid,
  output logic         s_axi_awready,
  input  logic [511:0] s_axi_wdata,
  input  logic [63:0]  s_axi_wstrb,
  input  logic         s_axi_wlast,
  input  logic         s_axi_wvalid,
  output logic         s_axi_wready,
  output logic [7:0]   s_axi_bid,
  output logic [1:0]   s_axi_bresp,
  output logic         s_axi_bvalid,
  input  logic         s_axi_bready,
  input  logic [7:0]   s_axi_arid,
  input  logic [63:0]  s_axi_araddr,
  input  logic [7:0]   s_axi_arlen,
  input  logic [2:0]   s_axi_arsize,
  input  logic [1:0]   s_axi_arburst,
  input  logic         s_axi_arvalid,
  output logic         s_axi_arready,
  output logic [7:0]   s_axi_rid,
  output logic [511:0] s_axi_rdata,
  output logic [1:0]   s_axi_rresp,
  output logic         s_axi_rlast,
  output logic         s_axi_rvalid,
  input  logic         s_axi_rready,
  // the slot: in reset, closed, with nothing under way
  input  logic         kernel_rst_ni,
  input  logic         closed_i,
  output logic         idle_o,
  // what is owed
  input  logic         mark_i,
  input  logic         announce_i,
  output logic         owed_reads_o,
  output logic         owed_writes_o,
  output logic         owed_announced_o,
  // fabric
  output logic         read_req_valid_o,
  input  logic         read_req_ready_i,
  output logic [36:0]  read_req_addr_o,
  output logic [5:0]   read_req_len_o,
  output logic [15:0]  read_req_tag_o,
  input  logic         read_rsp_valid_i,
  input  logic [511:0] read_rsp_row_i,
  input  logic [15:0]  read_rsp_tag_i,
  input  logic [5:0]   read_rsp_index_i,
  input  logic         read_rsp_last_i,
  input  logic         read_rsp_error_i,
  output logic         write_req_valid_o,
  input  logic         write_req_ready_i,
  output logic [36:0]  write_req_addr_o,
  output logic [5:0]   write_req_len_o,
  output logic [15:0]  write_req_tag_o,
  output logic         write_data_valid_o,
  input  logic         write_data_ready_i,
  output logic [511:0] write_data_row_o,
  output logic [63:0]  write_data_strobe_o,
  output logic         write_data_last_o,
  input  logic         write_rsp_valid_i,
  input  logic [15:0]  write_rsp_tag_i,
  input  logic         write_rsp_error_i
);

  localparam shell_cfg_t Cfg = '{
      NumSlots: 1,
      PortsPerSlot: 1,
      StreamsPerSlot: 0,
      NetworkPairs: 0,
      TidWidth: 0,
      TdestWidth: 0,
      NumChannels: 1,
      ChannelBytesLog2: 20,
      NumSpaces: 1,
      NumQueues: 1,
      ChannelPolicy: ArbiterPreferred,
      DmaShare: 4,
      Translator: TranslatorIdentity,
      NumLanes: 1,
      L1: '{default: NoL1},
      ParkDepth: 16,
      MaxWalks: 1,
      FilterLog2: 0,
      LookAhead: 0,
      ReadBufferRows: 128,
      WriteBufferRows: 128,
      HostChannel: 1'b0,
      Directory: NoDirectory,
      Cache: NoCache
  };

  axi_req_t port_req [1];
  axi_rsp_t port_rsp [1];
  asid_t port_asid [1];
  logic port_reset [1];
  logic port_idle [1];
  logic port_closed [1];
  logic unused_violation [1];
  tmb_guard_pkg::guard_status_t unused_guard [1];
  logic port_mark [1];
  logic port_announce [1];
  tmb_guard_pkg::owed_t port_owed [1];
  space_cfg_t space_cfg [1];
  logic unused_table_cmd_ready, unused_table_rsp_valid, unused_fault_valid, unused_reply_ready;
  table_rsp_t unused_table_rsp;
  table_switch_t unused_table_switch;
  fault_t unused_fault;
  logic read_req_valid [3];
  logic read_req_ready [3];
  mem_req_t read_req [3];
  logic read_rsp_valid [3];
  logic unused_read_rsp_ready [3];
  mem_read_rsp_t read_rsp [3];
  logic write_req_valid [2];
  logic write_req_ready [2];
  mem_req_t write_req [2];
  logic write_data_valid [2];
  logic write_data_ready [2];
  mem_write_data_t write_data [2];
  logic write_rsp_valid [2];
  logic unused_write_rsp_ready [2];
  mem_write_rsp_t write_rsp [2];
  port_events_t unused_events [2];
  logic unused_walk_read;

  assign port_asid[0] = '0;
  assign port_reset[0] = !kernel_rst_ni;
  assign port_closed[0] = closed_i;
  assign idle_o = port_idle[0];
  assign space_cfg[0] = '0;
  assign port_req[0] = '{
      aw: '{id: axi_id_t'(s_axi_awid), addr: s_axi_awaddr, len: s_axi_awlen, size: s_axi_awsize,
            burst: s_axi_awburst},
      aw_valid: s_axi_awvalid,
      w: '{data: s_axi_wdata, strb: s_axi_wstrb, last: s_axi_wlast},
      w_valid: s_axi_wvalid,
      b_ready: s_axi_bready,
      ar: '{id: axi_id_t'(s_axi_arid), addr: s_axi_araddr, len: s_axi_arlen, size: s_axi_arsize,
            burst: s_axi_arburst},
      ar_valid: s_axi_arvalid,
      r_ready: s_axi_rready
  };
  assign s_axi_awready = port_rsp[0].aw_ready;
  assign s_axi_wready = port_rsp[0].w_ready;
  assign s_axi_bid = 8'(port_rsp[0].b.id);
  assign s_axi_bresp = port_rsp[0].b.resp;
  assign s_axi_bvalid = port_rsp[0].b_valid;
  assign s_axi_arready = port_rsp[0].ar_ready;
  assign s_axi_rid = 8'(port_rsp[0].r.id);
  assign s_axi_rdata = port_rsp[0].r.data;
  assign s_axi_rresp = port_rsp[0].r.resp;
  assign s_axi_rlast = port_rsp[0].r.last;
  assign s_axi_rvalid = port_rsp[0].r_valid;

  for (genvar i = 0; i < 3; i++) begin : gen_reader
    assign read_req_ready[i] = read_req_ready_i;
    assign read_rsp_valid[i] = (i == 0) && read_rsp_valid_i;
    assign read_rsp[i] = '{row: read_rsp_row_i, tag: read_rsp_tag_i, index: read_rsp_index_i,
                           last: read_rsp_last_i, error: read_rsp_error_i};
  end
  for (genvar i = 0; i < 2; i++) begin : gen_writer
    assign write_req_ready[i] = write_req_ready_i;
    assign write_data_ready[i] = write_data_ready_i;
    assign write_rsp_valid[i] = (i == 0) && write_rsp_valid_i;
    assign write_rsp[i] = '{tag: write_rsp_tag_i, error: write_rsp_error_i};
  end
  assign read_req_valid_o = read_req_valid[0];
  assign read_req_addr_o = read_req[0].addr;
  assign read_req_len_o = read_req[0].len;
  assign read_req_tag_o = read_req[0].tag;
  assign write_req_valid_o = write_req_valid[0];
  assign write_req_addr_o = write_req[0].addr;
  assign write_req_len_o = write_req[0].len;
  assign write_req_tag_o = write_req[0].tag;
  assign port_mark[0] = mark_i;
  assign port_announce[0] = announce_i;
  assign owed_reads_o = port_owed[0].reads;
  assign owed_writes_o = port_owed[0].writes;
  assign owed_announced_o = port_owed[0].announced;
  assign write_data_valid_o = write_data_valid[0];
  assign write_data_row_o = write_data[0].row;
  assign write_data_strobe_o = write_data[0].strobe;
  assign write_data_last_o = write_data[0].last;

  tmb_virtual_memory #(
    .Cfg(Cfg)
  ) i_dut (
    .clk_i              (clk_i),
    .rst_ni             (rst_ni),
    .port_req_i         (port_req),
    .port_rsp_o         (port_rsp),
    .port_asid_i        (port_asid),
    .port_reset_i       (port_reset),
    .port_idle_o        (port_idle),
    .port_closed_i      (port_closed),
    .port_violation_o   (unused_violation),
    .port_guard_o       (unused_guard),
    .port_mark_i        (port_mark),
    .port_announce_i    (port_announce),
    .port_owed_o        (port_owed),
    .space_cfg_i        (space_cfg),
    .managed_i          (1'b0),
    .level_i            ('{default: '0}),
    .table_cmd_valid_i  (1'b0),
    .table_cmd_ready_o  (unused_table_cmd_ready),
    .table_cmd_i        ('0),
    .table_rsp_valid_o  (unused_table_rsp_valid),
    .table_rsp_ready_i  (1'b1),
    .table_rsp_o        (unused_table_rsp),
    .table_switch_o     (unused_table_switch),
    .fault_valid_o      (unused_fault_valid),
    .fault_ready_i      (1'b1),
    .fault_o            (unused_fault),
    .fault_reply_valid_i(1'b0),
    .fault_reply_ready_o(unused_reply_ready),
    .fault_reply_i      ('0),
    .read_req_valid_o   (read_req_valid),
    .read_req_ready_i   (read_req_ready),
    .read_req_o         (read_req),
    .read_rsp_valid_i   (read_rsp_valid),
    .read_rsp_ready_o   (unused_read_rsp_ready),
    .read_rsp_i         (read_rsp),
    .write_req_valid_o  (write_req_valid),
    .write_req_ready_i  (write_req_ready),
    .write_req_o        (write_req),
    .write_data_valid_o (write_data_valid),
    .write_data_ready_i (write_data_ready),
    .write_data_o       (write_data),
    .write_rsp_valid_i  (write_rsp_valid),
    .write_rsp_ready_o  (unused_write_rsp_ready),
    .write_rsp_i        (write_rsp),
    .port_events_o      (unused_events),
    .walk_read_o        (unused_walk_read)
  );

  tmb_axi_assert #(
    .IdWidth(8)
  ) u_assert (
    .clk_i,
    .rst_ni(rst_ni && kernel_rst_ni),
    .awid_i(16'(s_axi_awid)),
    .awaddr_i(s_axi_awaddr),
    .awlen_i(s_axi_awlen),
    .awsize_i(s_axi_awsize),
    .awburst_i(s_axi_awburst),
    .awvalid_i(s_axi_awvalid),
    .awready_i(s_axi_awready),
    .wdata_i(s_axi_wdata),
    .wstrb_i(s_axi_wstrb),
    .wlast_i(s_axi_wlast),
    .wvalid_i(s_axi_wvalid),
    .wready_i(s_axi_wready),
    .bid_i(16'(s_axi_bid)),
    .bresp_i(s_axi_bresp),
    .bvalid_i(s_axi_bvalid),
    .bready_i(s_axi_bready),
    .arid_i(16'(s_axi_arid)),
    .araddr_i(s_axi_araddr),
    .arlen_i(s_axi_arlen),
    .arsize_i(s_axi_arsize),
    .arburst_i(s_axi_arburst),
    .arvalid_i(s_axi_arvalid),
    .arready_i(s_axi_arready),
    .rid_i(16'(s_axi_rid)),
    .rdata_i(s_axi_rdata),
    .rresp_i(s_axi_rresp),
    .rlast_i(s_axi_rlast),
    .rvalid_i(s_axi_rvalid),
    .rready_i(s_axi_rready)
  );

endmodule
