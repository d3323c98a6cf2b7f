// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// tmb_dma on tmb_fabric with two small channels; every bus flat, as cocotbext-axi wants it, and the
// interfaces to the virtual memory in the hands of the test.

`include "tmb_ports.svh"

// Pins of a channel of memory, and an element of mem_*.
`define CONNECT_MEMORY(__at)                                                                            \
  assign mem``__at``_arid = '0;                                                                         \
  assign mem``__at``_araddr = mem_ar[__at].addr;                                                        \
  assign mem``__at``_arlen = mem_ar[__at].len;                                                          \
  assign mem``__at``_arsize = 3'd6;                                                                     \
  assign mem``__at``_arburst = 2'b01;                                                                   \
  assign mem``__at``_arvalid = mem_ar_valid[__at];                                                      \
  assign mem_ar_ready[__at] = mem``__at``_arready;                                                      \
  assign mem_r_valid[__at] = mem``__at``_rvalid;                                                        \
  assign mem_r[__at] = '{row: mem``__at``_rdata, last: mem``__at``_rlast, error: mem``__at``_rresp[1]}; \
  assign mem``__at``_rready = mem_r_ready[__at];                                                        \
  assign mem``__at``_awid = '0;                                                                         \
  assign mem``__at``_awaddr = mem_aw[__at].addr;                                                        \
  assign mem``__at``_awlen = mem_aw[__at].len;                                                          \
  assign mem``__at``_awsize = 3'd6;                                                                     \
  assign mem``__at``_awburst = 2'b01;                                                                   \
  assign mem``__at``_awvalid = mem_aw_valid[__at];                                                      \
  assign mem_aw_ready[__at] = mem``__at``_awready;                                                      \
  assign mem``__at``_wdata = mem_w[__at].row;                                                           \
  assign mem``__at``_wstrb = mem_w[__at].strobe;                                                        \
  assign mem``__at``_wlast = mem_w[__at].last;                                                          \
  assign mem``__at``_wvalid = mem_w_valid[__at];                                                        \
  assign mem_w_ready[__at] = mem``__at``_wready;                                                        \
  assign mem_b_valid[__at] = mem``__at``_bvalid;                                                        \
  assign mem_b_error[__at] = mem``__at``_bresp[1];                                                      \
  assign mem``__at``_bready = mem_b_ready[__at];

module dma_bench_top import tmb_pkg::*; import tmb_fabric_pkg::*; import tmb_dma_pkg::*;
  import tmb_schedule_pkg::*; (
  input  logic clk_i,
  input  logic rst_ni,

  input  logic        enable_i,
  // Three queues; ring q lies 4 KiB x q behind the base.
  input  logic [63:0] command_base_i,
  input  logic [4:0]  command_size_log2_i,
  input  logic [2:0][31:0] command_tail_i,
  output logic [2:0][31:0] command_head_o,
  input  logic [63:0] event_base_i,
  input  logic [4:0]  event_size_log2_i,
  input  logic [31:0] event_head_i,
  output logic [31:0] event_tail_o,
  output logic        idle_o,
  output logic        row_in_o,
  output logic        row_out_o,
  output logic        row_zeroed_o,
  output logic        irq_o,
  input  logic            managed_i,  // levels of the queues 1 and 2 count
  input  logic [1:0][1:0] level_i,
  input  logic [1:0]  interrupt_i,
  input  logic [1:0]  closed_i,

  output logic        table_cmd_valid_o,
  input  logic        table_cmd_ready_i,
  output logic [2:0]  table_cmd_op_o,
  output logic [3:0]  table_cmd_asid_o,
  output logic [47:0] table_cmd_addr_o,
  output logic [63:0] table_cmd_entry_o,
  output logic [4:0]  table_cmd_sets_log2_o,
  input  logic        table_rsp_valid_i,
  output logic        table_rsp_ready_o,
  input  logic [1:0]  table_rsp_status_i,
  input  logic        table_rsp_accessed_i,
  input  logic        table_rsp_dirty_i,
  input  logic        fault_valid_i,
  output logic        fault_ready_o,
  input  logic [1:0]  fault_cause_i,
  input  logic [3:0]  fault_asid_i,
  input  logic        fault_write_i,
  input  logic        fault_ahead_i,
  input  logic [47:0] fault_addr_i,
  input  logic [7:0]  fault_requester_i,
  input  logic [5:0]  fault_index_i,
  output logic        fault_reply_valid_o,
  input  logic        fault_reply_ready_i,
  output logic [7:0]  fault_reply_requester_o,
  output logic [5:0]  fault_reply_index_o,
  output logic        fault_reply_fail_o,
  output logic [63:0] fault_reply_entry_o,

  `TMB_READ_PORTS(host),
  `TMB_READ_ID_PORTS(host, 4),
  `TMB_WRITE_PORTS(host),
  `TMB_WRITE_ID_PORTS(host, 4),

  `TMB_READ_PORTS(mem0),
  `TMB_READ_ID_PORTS(mem0, 1),
  `TMB_WRITE_PORTS(mem0),
  `TMB_WRITE_ID_PORTS(mem0, 1),

  `TMB_READ_PORTS(mem1),
  `TMB_READ_ID_PORTS(mem1, 1),
  `TMB_WRITE_PORTS(mem1),
  `TMB_WRITE_ID_PORTS(mem1, 1)
);

  function automatic shell_cfg_t bench_cfg();
    shell_cfg_t cfg;
    cfg = DefaultShellCfg;
    cfg.NumSlots = 2;
    cfg.NumQueues = 3;
    cfg.ChannelBytesLog2 = 20;
    return cfg;
  endfunction

  localparam shell_cfg_t Cfg = bench_cfg();

  logic read_req_valid [1];
  logic read_req_ready [1];
  mem_req_t read_req [1];
  stripe_t read_stripe [1];
  stripe_t write_stripe [1];
  logic read_rsp_valid [1];
  logic read_rsp_ready [1];
  mem_read_rsp_t read_rsp [1];
  logic write_req_valid [1];
  logic write_req_ready [1];
  mem_req_t write_req [1];
  logic write_data_valid [1];
  logic write_data_ready [1];
  mem_write_data_t write_data [1];
  logic write_rsp_valid [1];
  logic write_rsp_ready [1];
  mem_write_rsp_t write_rsp [1];
  logic interrupt [2];
  logic closed [2];
  table_cmd_t table_cmd;
  fault_reply_t fault_reply;
  host_ax_t host_ar, host_aw;
  host_w_t host_w;
  direct_rsp_t unused_direct;

  assign interrupt[0] = interrupt_i[0];
  assign interrupt[1] = interrupt_i[1];
  assign closed[0] = closed_i[0];
  assign closed[1] = closed_i[1];
  assign table_cmd_op_o = table_cmd.op;
  assign table_cmd_asid_o = table_cmd.asid;
  assign table_cmd_addr_o = table_cmd.addr;
  assign table_cmd_entry_o = table_cmd.entry;
  assign table_cmd_sets_log2_o = table_cmd.sets_log2;
  assign fault_reply_requester_o = fault_reply.token.requester;
  assign fault_reply_index_o = fault_reply.token.index;
  assign fault_reply_fail_o = fault_reply.fail;
  assign fault_reply_entry_o = fault_reply.entry;

  ring_t command_ring [3];
  logic [31:0] command_head [3];
  for (genvar q = 0; q < 3; q++) begin : gen_ring
    assign command_ring[q] = '{
        base: command_base_i + 64'(q) * 64'd4096,
        size_log2: command_size_log2_i,
        host_count: command_tail_i[q]
    };
    assign command_head_o[q] = command_head[q];
  end

  schedule_t schedule [2];
  for (genvar q = 0; q < 2; q++) begin : gen_schedule
    always_comb begin
      schedule[q] = DefaultSchedule;
      schedule[q].level = level_i[q];
    end
  end

  // No movers.
  logic transfer_ready;

  // As the shell does: an interrupt a record, one cycle after it.
  logic record;
  logic [1:0] unused_host_quiet;
  always_ff @(posedge clk_i) irq_o <= rst_ni && record;

  tmb_dma #(
    .Cfg(Cfg)
  ) u_dma (
    .clk_i,
    .rst_ni,
    .enable_i,
    .managed_i,
    .schedule_i(schedule),
    .command_ring_i(command_ring),
    .command_head_o(command_head),
    .event_ring_i('{
        base: event_base_i,
        size_log2: event_size_log2_i,
        host_count: event_head_i
    }),
    .event_tail_o,
    .idle_o,
    .row_in_o,
    .row_out_o,
    .row_zeroed_o,
    .stop_i(1'b0),
    .quiet_reads_o(unused_host_quiet[0]),
    .quiet_writes_o(unused_host_quiet[1]),
    .record_o(record),
    .interrupt_i(interrupt),
    .closed_i(closed),
    .transfer_valid_i(1'b0),
    .transfer_ready_o(transfer_ready),
    .transfer_mover_i('0),
    .transfer_i('0),
    .trouble_i(1'b0),
    .table_cmd_valid_o,
    .table_cmd_ready_i,
    .table_cmd_o(table_cmd),
    .table_rsp_valid_i,
    .table_rsp_ready_o,
    .table_rsp_i('{
        status: table_status_e'(table_rsp_status_i),
        accessed: table_rsp_accessed_i,
        dirty: table_rsp_dirty_i
    }),
    .fault_valid_i,
    .fault_ready_o,
    .fault_i('{
        cause: fault_cause_e'(fault_cause_i),
        asid: fault_asid_i,
        write: fault_write_i,
        ahead: fault_ahead_i,
        addr: fault_addr_i,
        token: '{requester: fault_requester_i, index: fault_index_i}
    }),
    .fault_reply_valid_o,
    .fault_reply_ready_i,
    .fault_reply_o(fault_reply),
    .read_req_valid_o(read_req_valid[0]),
    .read_req_ready_i(read_req_ready[0]),
    .read_req_o(read_req[0]),
    .read_stripe_o(read_stripe[0]),
    .read_rsp_valid_i(read_rsp_valid[0]),
    .read_rsp_ready_o(read_rsp_ready[0]),
    .read_rsp_i(read_rsp[0]),
    .write_req_valid_o(write_req_valid[0]),
    .write_req_ready_i(write_req_ready[0]),
    .write_req_o(write_req[0]),
    .write_stripe_o(write_stripe[0]),
    .write_data_valid_o(write_data_valid[0]),
    .write_data_ready_i(write_data_ready[0]),
    .write_data_o(write_data[0]),
    .write_rsp_valid_i(write_rsp_valid[0]),
    .write_rsp_ready_o(write_rsp_ready[0]),
    .write_rsp_i(write_rsp[0]),
    .host_ar_valid_o(host_arvalid),
    .host_ar_ready_i(host_arready),
    .host_ar_o(host_ar),
    .host_ar_id_o(host_arid),
    .host_r_valid_i(host_rvalid),
    .host_r_ready_o(host_rready),
    .host_r_i('{row: host_rdata, last: host_rlast, error: host_rresp[1]}),
    .host_r_id_i(host_rid),
    .host_aw_valid_o(host_awvalid),
    .host_aw_ready_i(host_awready),
    .host_aw_o(host_aw),
    .host_aw_id_o(host_awid),
    .host_w_valid_o(host_wvalid),
    .host_w_ready_i(host_wready),
    .host_w_o(host_w),
    .host_w_strobe_o(host_wstrb),
    .direct_i('0),
    .direct_o(unused_direct),
    .host_b_valid_i(host_bvalid),
    .host_b_ready_o(host_bready),
    .host_b_error_i(host_bresp[1]),
    .host_b_id_i(host_bid)
  );

  assign host_araddr = host_ar.addr;
  assign host_arlen = 8'(host_ar.len);
  assign host_arsize = 3'd6;
  assign host_arburst = 2'b01;
  assign host_awaddr = host_aw.addr;
  assign host_awlen = 8'(host_aw.len);
  assign host_awsize = 3'd6;
  assign host_awburst = 2'b01;
  assign host_wdata = host_w.row;
  assign host_wlast = host_w.last;

  logic mem_ar_valid [2];
  channel_ax_t mem_ar [2];
  logic mem_r_ready [2];
  logic mem_aw_valid [2];
  channel_ax_t mem_aw [2];
  logic mem_w_valid [2];
  mem_write_data_t mem_w [2];
  logic mem_b_ready [2];
  logic mem_ar_ready [2];
  logic mem_r_valid [2];
  channel_r_t mem_r [2];
  logic mem_aw_ready [2];
  logic mem_w_ready [2];
  logic mem_b_valid [2];
  logic mem_b_error [2];

  logic [1:0] unused_quiet;
  tmb_fabric #(
    .Cfg(Cfg),
    .Requesters(tmb_fabric_pkg::unscheduled(1, 1))
  ) u_fabric (
    .clk_i,
    .rst_ni,
    .stop_i(1'b0),
    .quiet_reads_o(unused_quiet[0]),
    .quiet_writes_o(unused_quiet[1]),
    .managed_i(1'b0),
    .schedule_i('{tmb_schedule_pkg::DefaultSchedule}),
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

  `CONNECT_MEMORY(0)
  `CONNECT_MEMORY(1)


endmodule
