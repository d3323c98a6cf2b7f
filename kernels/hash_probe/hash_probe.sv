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

`include "tmb_ports.svh"

module hash_probe (
  `TMB_KERNEL_PORTS,
  `TMB_READ_PORTS(m_axi_gmem0),
  `TMB_WRITE_PORTS(m_axi_gmem1)
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
    `TMB_CONNECT_CONTROL,
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
  `TMB_READ_WHOLE_ROWS(m_axi_gmem0)
  `TMB_WRITE_WHOLE_ROWS(m_axi_gmem1)

  // The shell reports failed accesses to the host.
  logic unused_ok;
  assign unused_ok = &{1'b0, m_axi_gmem0_rresp, m_axi_gmem0_rlast, m_axi_gmem1_bresp, hash[63:61],
                       arguments.unused, arguments.bits[31:6], read_address[5:0],
                       key_address[2:0], bucket_address[2:0], result_address[3:0], index_q[63:61]};

endmodule
