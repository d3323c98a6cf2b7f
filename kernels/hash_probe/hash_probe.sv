// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: looks `count` keys up in a hash table of the program, pointers and all. `buckets` is an array of
// 2^`bits` addresses of nodes, 0 where a bucket is empty; a node is 64 bytes, aligned to 64: the address of the next
// node of its bucket (0 ends it), a key, a value, and 40 bytes that the kernel leaves alone. A key is in bucket
// (key ^ key >> 21 ^ key >> 42) modulo 2^bits. For key i of `keys` (8 bytes each, aligned to 64) 16 bytes at
// `output` + 16 i become: 1 and the value of the first node of that key, or 0 and 0.
//
// Throughput: a key takes 2 round trips of reads and one for each node that it looks at, then a write; one
// transaction at a time, because each address is in the row before. Ordering: the result of a key is complete
// before the next key is read. Deadlock: nothing is held back while a transaction runs. A bucket that is a ring
// without the key has no end; the host stops the kernel.
// Register map: kernel.toml. Control: ap_ctrl_hs.

module hash_probe (
  input  logic         ap_clk,
  input  logic         ap_rst_n,
  // Also a macro of some C headers, but the convention's name.
  // verilator lint_off SYMRSVDWORD
  output logic         interrupt,
  // verilator lint_on SYMRSVDWORD

  input  logic         s_axi_control_awvalid,
  output logic         s_axi_control_awready,
  input  logic [11:0]  s_axi_control_awaddr,
  input  logic         s_axi_control_wvalid,
  output logic         s_axi_control_wready,
  input  logic [31:0]  s_axi_control_wdata,
  input  logic [3:0]   s_axi_control_wstrb,
  output logic         s_axi_control_bvalid,
  input  logic         s_axi_control_bready,
  output logic [1:0]   s_axi_control_bresp,
  input  logic         s_axi_control_arvalid,
  output logic         s_axi_control_arready,
  input  logic [11:0]  s_axi_control_araddr,
  output logic         s_axi_control_rvalid,
  input  logic         s_axi_control_rready,
  output logic [31:0]  s_axi_control_rdata,
  output logic [1:0]   s_axi_control_rresp,

  output logic         m_axi_gmem0_arvalid,
  input  logic         m_axi_gmem0_arready,
  output logic [63:0]  m_axi_gmem0_araddr,
  output logic [7:0]   m_axi_gmem0_arlen,
  output logic [2:0]   m_axi_gmem0_arsize,
  output logic [1:0]   m_axi_gmem0_arburst,
  input  logic         m_axi_gmem0_rvalid,
  output logic         m_axi_gmem0_rready,
  input  logic [511:0] m_axi_gmem0_rdata,
  input  logic         m_axi_gmem0_rlast,
  input  logic [1:0]   m_axi_gmem0_rresp,

  output logic         m_axi_gmem1_awvalid,
  input  logic         m_axi_gmem1_awready,
  output logic [63:0]  m_axi_gmem1_awaddr,
  output logic [7:0]   m_axi_gmem1_awlen,
  output logic [2:0]   m_axi_gmem1_awsize,
  output logic [1:0]   m_axi_gmem1_awburst,
  output logic         m_axi_gmem1_wvalid,
  input  logic         m_axi_gmem1_wready,
  output logic [511:0] m_axi_gmem1_wdata,
  output logic [63:0]  m_axi_gmem1_wstrb,
  output logic         m_axi_gmem1_wlast,
  input  logic         m_axi_gmem1_bvalid,
  output logic         m_axi_gmem1_bready,
  input  logic [1:0]   m_axi_gmem1_bresp
);

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [31:0] unused;   // 0x34
    logic [31:0] bits;     // 0x30
    logic [63:0] buckets;  // 0x28
    logic [63:0] count;    // 0x20
    logic [63:0] output_;  // 0x18, output
    logic [63:0] keys;     // 0x10
  } arguments_t;

  arguments_t arguments;
  logic start, done;

  kernel_control_registers #(
    .ArgumentWords($bits(arguments_t) / 32)
  ) u_control (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .awvalid_i(s_axi_control_awvalid),
    .awready_o(s_axi_control_awready),
    .awaddr_i(s_axi_control_awaddr),
    .wvalid_i(s_axi_control_wvalid),
    .wready_o(s_axi_control_wready),
    .wdata_i(s_axi_control_wdata),
    .wstrb_i(s_axi_control_wstrb),
    .bvalid_o(s_axi_control_bvalid),
    .bready_i(s_axi_control_bready),
    .bresp_o(s_axi_control_bresp),
    .arvalid_i(s_axi_control_arvalid),
    .arready_o(s_axi_control_arready),
    .araddr_i(s_axi_control_araddr),
    .rvalid_o(s_axi_control_rvalid),
    .rready_i(s_axi_control_rready),
    .rdata_o(s_axi_control_rdata),
    .rresp_o(s_axi_control_rresp),
    .interrupt_o(interrupt),
    .begin_o(start),
    .done_i(done),
    .arguments_o(arguments)
  );

  // -- One key after the other --------------------------------------------------------------------

  typedef enum logic [3:0] {
    StIdle,
    StLook,       // is there another key?
    StAskKey,
    StKey,
    StAskBucket,
    StBucket,
    StFollow,     // is there another node?
    StAskNode,
    StNode,
    StStore,      // the result leaves
    StStored      // ... and is complete
  } state_e;

  state_e state_q;
  logic aw_done_q, w_done_q;
  logic [63:0] index_q, key_q, node_q, value_q;
  logic found_q;
  logic sent, row_comes, is_it;
  logic [63:0] hash, key_address, bucket_address, result_address, read_address;
  logic [511:0] row;

  function automatic logic [63:0] word_of(logic [511:0] from, logic [2:0] place);
    return from[64*place +: 64];
  endfunction

  assign row = m_axi_gmem0_rdata;
  assign row_comes = m_axi_gmem0_rvalid;
  assign is_it = row[127:64] == key_q;
  assign sent = (aw_done_q || m_axi_gmem1_awready) && (w_done_q || m_axi_gmem1_wready);

  assign hash = (key_q ^ (key_q >> 21) ^ (key_q >> 42)) & ~(~64'd0 << arguments.bits[5:0]);
  assign key_address = arguments.keys + {index_q[60:0], 3'd0};
  assign bucket_address = arguments.buckets + {hash[60:0], 3'd0};
  assign result_address = arguments.output_ + {index_q[59:0], 4'd0};

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      state_q <= StIdle;
      aw_done_q <= 1'b0;
      w_done_q <= 1'b0;
    end else begin
      unique case (state_q)
        StIdle: if (start) state_q <= StLook;
        StLook: state_q <= index_q == arguments.count ? StIdle : StAskKey;
        StAskKey: if (m_axi_gmem0_arready) state_q <= StKey;
        StKey: if (row_comes) state_q <= StAskBucket;
        StAskBucket: if (m_axi_gmem0_arready) state_q <= StBucket;
        StBucket: if (row_comes) state_q <= StFollow;
        StFollow: state_q <= node_q == '0 ? StStore : StAskNode;
        StAskNode: if (m_axi_gmem0_arready) state_q <= StNode;
        StNode: if (row_comes) state_q <= is_it ? StStore : StFollow;
        StStore: if (sent) state_q <= StStored;
        default: if (m_axi_gmem1_bvalid) state_q <= StLook;
      endcase
      aw_done_q <= m_axi_gmem1_awvalid && m_axi_gmem1_awready && !sent || aw_done_q && !sent;
      w_done_q <= m_axi_gmem1_wvalid && m_axi_gmem1_wready && !sent || w_done_q && !sent;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (state_q == StIdle) begin
      index_q <= '0;
    end else if (state_q == StKey && row_comes) begin
      key_q <= word_of(row, key_address[5:3]);
      found_q <= 1'b0;
      value_q <= '0;
    end else if (state_q == StBucket && row_comes) begin
      node_q <= word_of(row, bucket_address[5:3]);
    end else if (state_q == StNode && row_comes) begin
      node_q <= row[63:0];
      found_q <= is_it;
      if (is_it) value_q <= row[191:128];
    end else if (state_q == StStored && m_axi_gmem1_bvalid) begin
      index_q <= index_q + 64'd1;
    end
  end

  always_comb begin
    unique case (state_q)
      StAskKey: read_address = key_address;
      StAskBucket: read_address = bucket_address;
      default: read_address = node_q;
    endcase
  end
  assign m_axi_gmem0_arvalid = state_q inside {StAskKey, StAskBucket, StAskNode};
  assign m_axi_gmem0_araddr = {read_address[63:6], 6'd0};
  assign m_axi_gmem0_arlen = '0;
  assign m_axi_gmem0_rready = 1'b1;

  assign m_axi_gmem1_awvalid = state_q == StStore && !aw_done_q;
  assign m_axi_gmem1_awaddr = {result_address[63:6], 6'd0};
  assign m_axi_gmem1_awlen = '0;
  assign m_axi_gmem1_wvalid = state_q == StStore && !w_done_q;
  assign m_axi_gmem1_wdata = {4{value_q, 63'd0, found_q}};
  assign m_axi_gmem1_wstrb = 64'hffff << {result_address[5:4], 4'd0};
  assign m_axi_gmem1_wlast = 1'b1;
  assign m_axi_gmem1_bready = state_q == StStored;
  assign done = state_q == StLook && index_q == arguments.count;

  // Every beat is a whole row.
  assign m_axi_gmem0_arsize = 3'd6;
  assign m_axi_gmem0_arburst = 2'b01;
  assign m_axi_gmem1_awsize = 3'd6;
  assign m_axi_gmem1_awburst = 2'b01;

  // Of an access that failed, the shell tells the host.
  logic unused_ok;
  assign unused_ok = &{1'b0, m_axi_gmem0_rresp, m_axi_gmem0_rlast, m_axi_gmem1_bresp, hash[63:61],
                       arguments.unused, arguments.bits[31:6], read_address[5:0],
                       key_address[2:0], bucket_address[2:0], result_address[3:0], index_q[63:61]};

endmodule
