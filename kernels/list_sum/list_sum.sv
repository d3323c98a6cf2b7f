// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: follows a linked list from `head`. A node is 64 bytes, aligned to 64: the address of the next one
// (0 ends the list), a 64-bit value, and 48 bytes that the kernel leaves alone. Adds up the values, and writes
// the sum and the number of nodes to `output` (64 bytes: sum, count, zeroes).
//
// With `add` other than 0 each value is increased by it after it was summed: one write of 8 bytes a node
// (port m_axi_gmem1), which is complete before the next node is read. With `limit` other than 0 it ends after
// `limit` nodes, so that a ring ends too.
//
// Throughput: one node a round trip (two with `add`): each address is in the node before. Ordering: a node's
// write has its response before the next read leaves, and before the result is written. Deadlock: one
// transaction at a time, and nothing is held back while it runs.
// Register map: kernel.toml. Control: ap_ctrl_hs.

`include "tmb_ports.svh"

module list_sum (
  `TMB_KERNEL_PORTS,
  `TMB_READ_PORTS(m_axi_gmem0),
  `TMB_WRITE_PORTS(m_axi_gmem1)
);

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [63:0] limit;        // 0x28
    logic [63:0] add;          // 0x20
    logic [63:0] destination;  // 0x18, output
    logic [63:0] head;         // 0x10
  } arguments_t;

  arguments_t arguments;
  logic start, done;

  kernel_control_registers #(
    .ArgumentWords($bits(arguments_t) / 32)
  ) u_control (
    `TMB_CONNECT_CONTROL,
    .begin_o(start),
    .done_i(done),
    .arguments_o(arguments)
  );

  // -- One node after the other -------------------------------------------------------------------

  typedef enum logic [2:0] {
    StIdle,
    StLook,     // is there a node to read?
    StAsk,      // its address leaves
    StNode,     // its row comes
    StStore,    // its new value leaves
    StStored,   // ... and is complete
    StWrite,    // the result leaves
    StWritten   // ... and is complete
  } state_e;

  state_e state_q;
  logic aw_done_q, w_done_q;
  logic [63:0] node_q, next_q, value_q, sum_q, count_q;
  logic stores, sent, ends;

  assign stores = arguments.add != '0;
  assign ends = node_q == '0 || (arguments.limit != '0 && count_q == arguments.limit);
  assign sent = (aw_done_q || m_axi_gmem1_awready) && (w_done_q || m_axi_gmem1_wready);

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      state_q <= StIdle;
      aw_done_q <= 1'b0;
      w_done_q <= 1'b0;
    end else begin
      unique case (state_q)
        StIdle: if (start) state_q <= StLook;
        StLook: state_q <= ends ? StWrite : StAsk;
        StAsk: if (m_axi_gmem0_arready) state_q <= StNode;
        StNode: if (m_axi_gmem0_rvalid) state_q <= stores ? StStore : StLook;
        StStore: if (sent) state_q <= StStored;
        StStored: if (m_axi_gmem1_bvalid) state_q <= StLook;
        StWrite: if (sent) state_q <= StWritten;
        default: if (m_axi_gmem1_bvalid) state_q <= StIdle;
      endcase
      aw_done_q <= m_axi_gmem1_awvalid && m_axi_gmem1_awready && !sent || aw_done_q && !sent;
      w_done_q <= m_axi_gmem1_wvalid && m_axi_gmem1_wready && !sent || w_done_q && !sent;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (state_q == StIdle) begin
      node_q <= arguments.head;
      sum_q <= '0;
      count_q <= '0;
    end else if (state_q == StNode && m_axi_gmem0_rvalid) begin
      next_q <= m_axi_gmem0_rdata[63:0];
      value_q <= m_axi_gmem0_rdata[127:64] + arguments.add;
      sum_q <= sum_q + m_axi_gmem0_rdata[127:64];
      count_q <= count_q + 64'd1;
      // The address of the node is needed for its write.
      if (!stores) node_q <= m_axi_gmem0_rdata[63:0];
    end else if (state_q == StStored && m_axi_gmem1_bvalid) begin
      node_q <= next_q;
    end
  end

  assign m_axi_gmem0_arvalid = state_q == StAsk;
  assign m_axi_gmem0_araddr = {node_q[63:6], 6'd0};
  assign m_axi_gmem0_arlen = '0;
  assign m_axi_gmem0_rready = 1'b1;

  logic writes;
  assign writes = state_q == StStore || state_q == StWrite;
  assign m_axi_gmem1_awvalid = writes && !aw_done_q;
  assign m_axi_gmem1_awaddr = state_q == StStore ? {node_q[63:6], 6'd0} : arguments.destination;
  assign m_axi_gmem1_awlen = '0;
  assign m_axi_gmem1_wvalid = writes && !w_done_q;
  assign m_axi_gmem1_wdata = state_q == StStore ? {384'd0, value_q, 64'd0}
                                                : {384'd0, count_q, sum_q};
  assign m_axi_gmem1_wstrb = state_q == StStore ? 64'hff00 : '1;
  assign m_axi_gmem1_wlast = 1'b1;
  assign m_axi_gmem1_bready = state_q == StStored || state_q == StWritten;
  assign done = state_q == StWritten && m_axi_gmem1_bvalid;

  // Every beat is a whole row.
  `TMB_READ_WHOLE_ROWS(m_axi_gmem0)
  `TMB_WRITE_WHOLE_ROWS(m_axi_gmem1)

  // The shell reports failed accesses to the host.
  logic unused_ok;
  assign unused_ok = &{1'b0, m_axi_gmem0_rresp, m_axi_gmem0_rlast, m_axi_gmem0_rdata[511:128],
                       m_axi_gmem1_bresp, node_q[5:0]};

endmodule
