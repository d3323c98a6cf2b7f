// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: plays a list of AXI4 bursts on port m_axi_gmem1, and writes what came back.
//
// The list (`program`) and the results are rows of 64 bytes on port m_axi_gmem0: descriptor_t and
// result_t below. A burst is any that AXI4 allows with INCR, of any size, start and length, with any
// ID; data and strobes of a write follow from seeds, and every beat of a read goes into a hash. The
// list is random; nothing is here. Made for tests of whatever is behind the port.
//
// Bursts are issued in the order of the list, up to 32 outstanding in each direction. One with
// `barrier` waits until all before it are over. Results come in the order of completion.
// Control: ap_ctrl_hs.

`include "tmb_ports.svh"

module burst_player (
  `TMB_KERNEL_PORTS,
  `TMB_WRITE_PORTS(m_axi_gmem0),
  `TMB_READ_PORTS(m_axi_gmem0),
  `TMB_WRITE_PORTS(m_axi_gmem1),
  `TMB_WRITE_ID_PORTS(m_axi_gmem1, 16),
  `TMB_READ_PORTS(m_axi_gmem1),
  `TMB_READ_ID_PORTS(m_axi_gmem1, 16)
);

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [63:0] bursts;   // 0x20
    logic [63:0] results;  // 0x18
    logic [63:0] source;   // 0x10, program
  } arguments_t;

  typedef struct packed {
    logic [31:0] take;    // when R or B are taken: a bit a cycle, repeated
    logic [31:0] offer;   // when beats of W are offered: the same
    logic [63:0] strobe;  // turned by one bit a beat; only lanes of the beat are used
    logic [63:0] seed;    // of the data, or of the hash
    logic [15:0] id;
    logic [15:0] flags;   // 0 write, 1 barrier
    logic [7:0]  burst;
    logic [7:0]  size;
    logic [15:0] len;
    logic [63:0] addr;
  } descriptor_t;

  typedef struct packed {
    logic [15:0] strange;  // responses with a wrong ID or a wrong LAST
    logic [15:0] errors;   // responses that are not OKAY
    logic [63:0] hash;
    logic [63:0] index;    // in the list
  } result_t;

  localparam int unsigned Outstanding = 32;

  arguments_t arguments;
  logic start, done;
  logic row_valid, row_ready, unused_source;
  logic [511:0] row;
  logic result_row_valid, result_row_ready;
  result_t result_row;

  kernel_control_registers #(
    .ArgumentWords($bits(arguments_t) / 32)
  ) u_control (
    `TMB_CONNECT_CONTROL,
    .begin_o(start),
    .done_i(done),
    .arguments_o(arguments)
  );

  kernel_burst_reader u_program (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .base_i(arguments.source),
    .rows_i(arguments.bursts[57:0]),
    .row_valid_o(row_valid),
    .row_ready_i(row_ready),
    .row_o(row),
    .row_source_o(unused_source),
    `TMB_CONNECT_READER(m_axi_gmem0)
  );

  kernel_burst_writer u_results (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .base_i(arguments.results),
    .bytes_i({arguments.bursts[57:0], 6'd0}),
    .done_o(done),
    .row_valid_i(result_row_valid),
    .row_ready_o(result_row_ready),
    .row_i(512'(result_row)),
    `TMB_CONNECT_WRITER(m_axi_gmem0)
  );

  `TMB_READ_WHOLE_ROWS(m_axi_gmem0)
  `TMB_WRITE_WHOLE_ROWS(m_axi_gmem0)

  // -- Issue --------------------------------------------------------------------------------------

  typedef struct packed {
    descriptor_t descriptor;
    logic [63:0] index;
  } job_t;

  descriptor_t next;
  assign next = descriptor_t'(row[$bits(descriptor_t)-1:0]);

  logic [63:0] index_q;
  logic [7:0] outstanding_q;
  logic issue, is_write, aw_free, ar_free, read_over, write_over;
  logic read_room, data_room, write_room;
  logic awvalid_q, arvalid_q;
  descriptor_t aw_q, ar_q;
  job_t job;

  assign is_write = next.flags[0];
  assign aw_free = !awvalid_q || m_axi_gmem1_awready;
  assign ar_free = !arvalid_q || m_axi_gmem1_arready;
  assign issue = row_valid && aw_free && ar_free && read_room && data_room && write_room
      && (!next.flags[1] || outstanding_q == '0);
  assign row_ready = issue;
  assign job = '{descriptor: next, index: index_q};

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      awvalid_q <= 1'b0;
      arvalid_q <= 1'b0;
      outstanding_q <= '0;
      index_q <= '0;
    end else begin
      if (aw_free) awvalid_q <= issue && is_write;
      if (ar_free) arvalid_q <= issue && !is_write;
      outstanding_q <= outstanding_q + 8'(issue) - 8'(read_over) - 8'(write_over);
      if (start) index_q <= '0;
      else if (issue) index_q <= index_q + 64'd1;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (issue && is_write) aw_q <= next;
    if (issue && !is_write) ar_q <= next;
  end

  assign m_axi_gmem1_awvalid = awvalid_q;
  assign m_axi_gmem1_awid = aw_q.id;
  assign m_axi_gmem1_awaddr = aw_q.addr;
  assign m_axi_gmem1_awlen = aw_q.len[7:0];
  assign m_axi_gmem1_awsize = aw_q.size[2:0];
  assign m_axi_gmem1_awburst = aw_q.burst[1:0];
  assign m_axi_gmem1_arvalid = arvalid_q;
  assign m_axi_gmem1_arid = ar_q.id;
  assign m_axi_gmem1_araddr = ar_q.addr;
  assign m_axi_gmem1_arlen = ar_q.len[7:0];
  assign m_axi_gmem1_arsize = ar_q.size[2:0];
  assign m_axi_gmem1_arburst = ar_q.burst[1:0];

  logic read_valid, data_valid, write_valid, data_over;
  job_t read_job, data_job, write_job;

  kernel_fifo #(.Width($bits(job_t)), .Depth(Outstanding)) u_reads (
    .clk_i(ap_clk), .rst_ni(ap_rst_n), .in_valid_i(issue && !is_write), .in_ready_o(read_room),
    .in_data_i(job), .out_valid_o(read_valid), .out_ready_i(read_over), .out_data_o(read_job)
  );
  kernel_fifo #(.Width($bits(job_t)), .Depth(Outstanding)) u_data (
    .clk_i(ap_clk), .rst_ni(ap_rst_n), .in_valid_i(issue && is_write), .in_ready_o(data_room),
    .in_data_i(job), .out_valid_o(data_valid), .out_ready_i(data_over), .out_data_o(data_job)
  );
  kernel_fifo #(.Width($bits(job_t)), .Depth(Outstanding)) u_writes (
    .clk_i(ap_clk), .rst_ni(ap_rst_n), .in_valid_i(issue && is_write), .in_ready_o(write_room),
    .in_data_i(job), .out_valid_o(write_valid), .out_ready_i(write_over), .out_data_o(write_job)
  );

  // -- Data ---------------------------------------------------------------------------------------

  // Patterns turn by one bit a cycle while there is something to do.
  logic [4:0] turn_q;
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) turn_q <= '0;
    else if (read_valid || data_valid || write_valid) turn_q <= turn_q + 5'd1;
  end

  // Lanes that a beat uses.
  function automatic logic [63:0] lanes(logic [5:0] addr, logic [2:0] size, logic [7:0] beat);
    logic [63:0] mask;
    logic [5:0] at;
    at = 6'((addr >> size) << size) + 6'(16'(beat) << size);
    mask = (size == 3'd6) ? '1 : ((64'd1 << (7'd1 << size)) - 64'd1) << at;
    if (beat == '0) mask &= {64{1'b1}} << addr;
    return mask;
  endfunction

  function automatic logic [511:0] data(logic [63:0] seed, logic [7:0] beat);
    logic [511:0] words;
    logic [63:0] x;
    for (int unsigned k = 0; k < 8; k++) begin
      x = (seed + 64'(beat) * 64'd8 + 64'(k)) * 64'h9e37_79b9_7f4a_7c15;
      words[64*k+:64] = x ^ (x >> 32);
    end
    return words;
  endfunction

  function automatic logic [63:0] turned(logic [63:0] word, logic [5:0] by);
    return (word << by) | (word >> (7'd64 - 7'(by)));
  endfunction

  logic [7:0] data_beat_q;
  logic wvalid_q, wlast_q, w_free, data_step;
  logic [511:0] wdata_q;
  logic [63:0] wstrb_q;

  assign w_free = !wvalid_q || m_axi_gmem1_wready;
  assign data_step = data_valid && w_free && data_job.descriptor.offer[turn_q];
  assign data_over = data_step && data_beat_q == data_job.descriptor.len[7:0];

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      wvalid_q <= 1'b0;
      data_beat_q <= '0;
    end else begin
      if (w_free) wvalid_q <= data_step;
      if (data_step) data_beat_q <= data_over ? '0 : data_beat_q + 8'd1;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (data_step) begin
      wdata_q <= data(data_job.descriptor.seed, data_beat_q);
      wstrb_q <= lanes(data_job.descriptor.addr[5:0], data_job.descriptor.size[2:0],
                       data_beat_q)
          & turned(data_job.descriptor.strobe, data_beat_q[5:0]);
      wlast_q <= data_over;
    end
  end

  assign m_axi_gmem1_wvalid = wvalid_q;
  assign m_axi_gmem1_wdata = wdata_q;
  assign m_axi_gmem1_wstrb = wstrb_q;
  assign m_axi_gmem1_wlast = wlast_q;

  // -- Responses ----------------------------------------------------------------------------------

  logic [7:0] read_beat_q;
  logic read_step, read_last, read_result_ready, write_result_ready;
  logic read_strange;
  logic [63:0] hash_q, hash, mixed;
  logic [15:0] errors_q, strange_q, errors, strange;

  assign m_axi_gmem1_rready = read_valid && read_result_ready && read_job.descriptor.take[turn_q];
  assign read_step = m_axi_gmem1_rvalid && m_axi_gmem1_rready;
  assign read_last = read_beat_q == read_job.descriptor.len[7:0];
  assign read_over = read_step && read_last;
  assign read_strange = m_axi_gmem1_rid != read_job.descriptor.id
      || m_axi_gmem1_rlast != read_last;

  always_comb begin
    logic [63:0] mask;
    mask = lanes(read_job.descriptor.addr[5:0], read_job.descriptor.size[2:0], read_beat_q);
    mixed = '0;
    for (int unsigned k = 0; k < 8; k++) begin
      logic [63:0] word;
      for (int unsigned i = 0; i < 8; i++) begin
        word[8*i+:8] = mask[8*k+i] ? m_axi_gmem1_rdata[64*k+8*i+:8] : 8'd0;
      end
      mixed ^= turned(word, 6'(5 * k));
    end
    if (m_axi_gmem1_rresp != 2'b00) mixed = '0;
  end

  assign hash = turned((read_beat_q == '0) ? read_job.descriptor.seed : hash_q, 6'd9) + mixed;
  assign errors = ((read_beat_q == '0) ? '0 : errors_q) + 16'(m_axi_gmem1_rresp != 2'b00);
  assign strange = ((read_beat_q == '0) ? '0 : strange_q) + 16'(read_strange);

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) read_beat_q <= '0;
    else if (read_step) read_beat_q <= read_last ? '0 : read_beat_q + 8'd1;
  end
  always_ff @(posedge ap_clk) begin
    if (read_step) begin
      hash_q <= hash;
      errors_q <= errors;
      strange_q <= strange;
    end
  end

  assign m_axi_gmem1_bready = write_valid && write_result_ready
      && write_job.descriptor.take[turn_q];
  assign write_over = m_axi_gmem1_bvalid && m_axi_gmem1_bready;

  logic read_result_valid, write_result_valid, read_result_pop, write_result_pop;
  result_t read_result, write_result;

  kernel_fifo #(.Width($bits(result_t)), .Depth(4)) u_read_results (
    .clk_i(ap_clk), .rst_ni(ap_rst_n), .in_valid_i(read_over), .in_ready_o(read_result_ready),
    .in_data_i({strange, errors, hash, read_job.index}), .out_valid_o(read_result_valid),
    .out_ready_i(read_result_pop), .out_data_o(read_result)
  );
  kernel_fifo #(.Width($bits(result_t)), .Depth(4)) u_write_results (
    .clk_i(ap_clk), .rst_ni(ap_rst_n), .in_valid_i(write_over), .in_ready_o(write_result_ready),
    .in_data_i({16'(m_axi_gmem1_bid != write_job.descriptor.id), 16'(m_axi_gmem1_bresp != 2'b00),
                write_job.descriptor.seed, write_job.index}),
    .out_valid_o(write_result_valid), .out_ready_i(write_result_pop), .out_data_o(write_result)
  );

  assign result_row_valid = read_result_valid || write_result_valid;
  assign result_row = read_result_valid ? read_result : write_result;
  assign read_result_pop = read_result_valid && result_row_ready;
  assign write_result_pop = !read_result_valid && write_result_valid && result_row_ready;

  logic unused_ok;
  assign unused_ok = &{1'b0, m_axi_gmem0_rresp, m_axi_gmem0_bresp, row[511:$bits(descriptor_t)],
                       arguments.bursts[63:58], next, aw_q, ar_q, read_job, data_job, write_job};

endmodule
