// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: random updates of a table of 2^words_log2 words of 64 bits, as HPCC's RandomAccess defines them
// (its figure is giga-updates a second, GUPS): `updates` times x = (x << 1) ^ (x < 0 ? 7 : 0), then
// table[x mod 2^words_log2] ^= x. x starts as `seed`. It is the load GUPS of FSRF's evaluation (section 6.2).
//
// An update reads the row of its word (port m_axi_gmem0), changes the word, and writes its 8 bytes. Every update
// counts: one whose word has an update under way waits for it, so the table ends as if all were made one after
// the other.
//
// Throughput: an update a cycle, Outstanding of them under way, or `under_way` of them (0: Outstanding): few
// behave as a kernel that cannot hide memory's latency. Latency of an update: a read and a write.
// Ordering: updates of a word in the order of the sequence; of others, none is promised and none matters.
// Back-pressure: rows wait while no write is taken, requests while all places are used. No deadlock: an update
// waits only for older ones, writes wait for nothing of the kernel, and responses are always taken.
// Register map: kernel.toml. Control: ap_ctrl_hs.

`include "tmb_ports.svh"

module gups #(
  // Updates under way, a power of two: what covers the latency of a read and a write.
  parameter int unsigned Outstanding = 64
) (
  `TMB_KERNEL_PORTS,
  `TMB_READ_PORTS(m_axi_gmem0),
  `TMB_WRITE_PORTS(m_axi_gmem0)
);

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [63:0] under_way;   // 0x30
    logic [63:0] seed;        // 0x28
    logic [63:0] updates;     // 0x20
    logic [63:0] words_log2;  // 0x18
    logic [63:0] table_base;  // 0x10, table
  } arguments_t;

  typedef logic [$clog2(Outstanding)-1:0] place_t;

  if (Outstanding < 2 || (Outstanding & (Outstanding - 1)) != 0) begin : gen_illegal
    $error("Outstanding is a power of two, at least 2");
  end

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

  // -- The sequence -------------------------------------------------------------------------------

  function automatic logic [63:0] step(logic [63:0] x);
    return {x[62:0], 1'b0} ^ (x[63] ? 64'd7 : 64'd0);
  endfunction

  logic running_q;
  logic [63:0] base_q, left_q;
  logic [60:0] mask_q;   // of word numbers
  logic [63:0] value_q;  // of the next update
  logic [60:0] word;     // its word
  logic asks;

  assign word = value_q[60:0] & mask_q;

  always_ff @(posedge ap_clk) begin
    if (start) begin
      base_q <= arguments.table_base;
      mask_q <= 61'((64'd1 << arguments.words_log2[5:0]) - 64'd1);
      left_q <= arguments.updates;
      value_q <= step(arguments.seed);
    end else if (asks) begin
      left_q <= left_q - 64'd1;
      value_q <= step(value_q);
    end
  end

  // -- Updates under way: a ring of places --------------------------------------------------------

  // Words with the same key are taken for one word. Up to 8 MiB of table they are one; in a larger one, an
  // update in 2^20 waits for another's.
  localparam int unsigned KeyWidth = 20;
  typedef logic [KeyWidth-1:0] key_t;

  logic [Outstanding-1:0] used_q;
  key_t keys_q [Outstanding];
  logic [63:0] values_q [Outstanding];
  // Where the next update begins, the next row arrives, the next response is expected.
  place_t begin_q, row_q, end_q;
  // The place of the update `under_way` before the next one: those under way are neighbours, so there is room if it
  // is free. 0 is the whole ring.
  place_t farthest;
  key_t key;
  logic same, address_valid_q, address_free, rewrites, ends;
  logic [63:0] address_q;

  assign key = word[KeyWidth-1:0] ^ word[2*KeyWidth-1:KeyWidth];

  always_comb begin
    same = 1'b0;
    for (int unsigned i = 0; i < Outstanding; i++) begin
      same |= used_q[i] && keys_q[i] == key;
    end
  end

  assign address_free = !address_valid_q || m_axi_gmem0_arready;
  assign farthest = begin_q - place_t'(arguments.under_way);
  assign asks = running_q && left_q != '0 && address_free && !used_q[farthest] && !same;
  assign ends = m_axi_gmem0_bvalid;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      used_q <= '0;
      begin_q <= '0;
      row_q <= '0;
      end_q <= '0;
      address_valid_q <= 1'b0;
    end else begin
      if (asks) begin
        used_q[begin_q] <= 1'b1;
        begin_q <= begin_q + 1'b1;
      end
      if (rewrites) row_q <= row_q + 1'b1;
      if (ends) begin
        used_q[end_q] <= 1'b0;
        end_q <= end_q + 1'b1;
      end
      if (address_free) address_valid_q <= asks;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (asks) begin
      keys_q[begin_q] <= key;
      values_q[begin_q] <= value_q;
      address_q <= base_q + {word[60:3], 6'd0};
    end
  end

  assign m_axi_gmem0_arvalid = address_valid_q;
  assign m_axi_gmem0_araddr = address_q;
  assign m_axi_gmem0_arlen = '0;

  // -- Rows come in order, and leave with their word changed --------------------------------------

  logic row_valid;
  logic [511:0] row;
  logic [63:0] value, word_d;
  logic [2:0] lane, lane_q;
  logic awvalid_q, wvalid_q;
  logic [63:0] write_address_q, write_word_q;

  kernel_fifo #(
    .Width(512),
    .Depth(2)
  ) u_rows (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .in_valid_i(m_axi_gmem0_rvalid),
    .in_ready_o(m_axi_gmem0_rready),
    .in_data_i(m_axi_gmem0_rdata),
    .out_valid_o(row_valid),
    .out_ready_i(rewrites),
    .out_data_o(row)
  );

  assign value = values_q[row_q];
  assign lane = value[2:0] & mask_q[2:0];
  assign word_d = row[64*lane+:64] ^ value;
  assign rewrites = row_valid && (!awvalid_q || m_axi_gmem0_awready) &&
                    (!wvalid_q || m_axi_gmem0_wready);

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      awvalid_q <= 1'b0;
      wvalid_q <= 1'b0;
    end else begin
      if (rewrites) awvalid_q <= 1'b1;
      else if (m_axi_gmem0_awready) awvalid_q <= 1'b0;
      if (rewrites) wvalid_q <= 1'b1;
      else if (m_axi_gmem0_wready) wvalid_q <= 1'b0;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (rewrites) begin
      write_address_q <= base_q + {value[60:3] & mask_q[60:3], 6'd0};
      write_word_q <= word_d;
      lane_q <= lane;
    end
  end

  assign m_axi_gmem0_awvalid = awvalid_q;
  assign m_axi_gmem0_awaddr = write_address_q;
  assign m_axi_gmem0_awlen = '0;
  assign m_axi_gmem0_wvalid = wvalid_q;
  assign m_axi_gmem0_wdata = {8{write_word_q}};
  assign m_axi_gmem0_wstrb = 64'hff << {lane_q, 3'd0};
  assign m_axi_gmem0_wlast = 1'b1;
  assign m_axi_gmem0_bready = 1'b1;

  // -- Done: nothing to begin, nothing under way --------------------------------------------------

  assign done = running_q && left_q == '0 && used_q == '0;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) running_q <= 1'b0;
    else if (start) running_q <= 1'b1;
    else if (done) running_q <= 1'b0;
  end

  // Every beat is a whole row.
  `TMB_READ_WHOLE_ROWS(m_axi_gmem0)
  `TMB_WRITE_WHOLE_ROWS(m_axi_gmem0)

  // The shell reports failed accesses to the host.
  logic unused_ok;
  assign unused_ok = &{1'b0, m_axi_gmem0_rresp, m_axi_gmem0_rlast, m_axi_gmem0_bresp,
                       arguments.words_log2[63:6], arguments.under_way[63:$clog2(Outstanding)]};

endmodule
