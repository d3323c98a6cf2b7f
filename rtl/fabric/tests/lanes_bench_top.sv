// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Traffic engines, address lanes, the fabric and its channels, and no other part of a shell:
// FlexiMem's interconnect (section IV-A). Rows have the width of tmb_pkg: its benches build it with
// 128 bits.
//
// NumEngines    readers, and as many writers
// NumChannels   of memory
// NumLanes      address lanes of each direction

module lanes_bench_top import tmb_pkg::*; import tmb_fabric_pkg::*; import tmb_translate_pkg::*; #(
  parameter int unsigned NumEngines = 32,
  parameter int unsigned NumChannels = 32,
  parameter int unsigned NumLanes = 1
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic        reads_i,    // engines read
  input  logic        writes_i,   // engines write
  input  logic        apart_i,    // each engine in a channel of its own
  input  logic [5:0]  len_i,      // rows of a burst, minus one
  input  logic [15:0] gap_i,      // of a channel, between bursts of a direction, 1/256 cycles
  input  logic [15:0] latency_i,  // of a channel, cycles
  output logic [63:0] rows_read_o,
  output logic [63:0] rows_written_o,
  output logic        idle_o,
  output logic        wrong_o     // data in the wrong place; certain when idle
);

  localparam int unsigned ChannelBytesLog2 = 20;

  function automatic shell_cfg_t bench_cfg();
    shell_cfg_t cfg;
    cfg = DefaultShellCfg;
    cfg.NumChannels = NumChannels;
    cfg.ChannelBytesLog2 = ChannelBytesLog2;
    cfg.ChannelPolicy = ArbiterRoundRobin;
    return cfg;
  endfunction

  function automatic requesters_cfg_t requesters();
    requesters_cfg_t cfg;
    cfg = unscheduled(NumEngines, NumEngines);
    cfg.StripedReaders = '0;
    cfg.StripedWriters = '0;
    return cfg;
  endfunction

  logic [31:0] now_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) now_q <= '0;
    else now_q <= now_q + 32'd1;
  end

  logic [2*NumEngines-1:0] engine_idle, engine_wrong;
  logic [NumEngines-1:0] row_read;
  logic [NumChannels-1:0] row_written, memory_wrong;
  logic [1:0] network_wrong;

  logic            req_valid [2][NumEngines];
  logic            req_ready [2][NumEngines];
  mem_req_t        req [2][NumEngines];
  stripe_t         stripe [NumEngines];
  logic            row_valid [NumEngines];
  logic            always_ready [NumEngines];
  mem_read_rsp_t   row [NumEngines];
  logic            data_valid [NumEngines];
  logic            data_ready [NumEngines];
  mem_write_data_t data [NumEngines];
  logic            rsp_valid [NumEngines];
  mem_write_rsp_t  rsp [NumEngines];

  for (genvar d = 0; d < 2; d++) begin : gen_direction
    logic       burst_valid [NumEngines];
    logic       burst_ready [NumEngines];
    burst_t     burst [NumEngines];
    logic       departure_valid [NumEngines];
    logic       departure_ready [NumEngines];
    departure_t departure [NumEngines];

    lanes_bench_network #(
      .NumEngines(NumEngines),
      .NumLanes(NumLanes),
      .IsWrite(1'(d))
    ) u_network (
      .clk_i,
      .rst_ni,
      .burst_valid_i(burst_valid),
      .burst_ready_o(burst_ready),
      .burst_i(burst),
      .departure_valid_o(departure_valid),
      .departure_ready_i(departure_ready),
      .departure_o(departure),
      .wrong_o(network_wrong[d])
    );

    for (genvar e = 0; e < NumEngines; e++) begin : gen_engine
      logic unused_data_valid;
      mem_write_data_t unused_data;

      if (d == 0) begin : gen_read
        traffic_engine #(
          .Number(e),
          .NumChannels(NumChannels),
          .ChannelBytesLog2(ChannelBytesLog2)
        ) u_engine (
          .clk_i,
          .rst_ni,
          .enable_i(reads_i),
          .apart_i,
          .len_i,
          .burst_valid_o(burst_valid[e]),
          .burst_ready_i(burst_ready[e]),
          .burst_o(burst[e]),
          .departure_valid_i(departure_valid[e]),
          .departure_ready_o(departure_ready[e]),
          .departure_i(departure[e]),
          .req_valid_o(req_valid[d][e]),
          .req_ready_i(req_ready[d][e]),
          .req_o(req[d][e]),
          .row_valid_i(row_valid[e]),
          .row_i(row[e]),
          .data_valid_o(unused_data_valid),
          .data_ready_i(1'b0),
          .data_o(unused_data),
          .rsp_valid_i(1'b0),
          .rsp_i('0),
          .idle_o(engine_idle[e]),
          .wrong_o(engine_wrong[e])
        );
        assign row_read[e] = row_valid[e];
      end else begin : gen_write
        assign unused_data_valid = 1'b0;
        assign unused_data = '0;
        traffic_engine #(
          .Number(e),
          .IsWrite(1'b1),
          .NumChannels(NumChannels),
          .ChannelBytesLog2(ChannelBytesLog2)
        ) u_engine (
          .clk_i,
          .rst_ni,
          .enable_i(writes_i),
          .apart_i,
          .len_i,
          .burst_valid_o(burst_valid[e]),
          .burst_ready_i(burst_ready[e]),
          .burst_o(burst[e]),
          .departure_valid_i(departure_valid[e]),
          .departure_ready_o(departure_ready[e]),
          .departure_i(departure[e]),
          .req_valid_o(req_valid[d][e]),
          .req_ready_i(req_ready[d][e]),
          .req_o(req[d][e]),
          .row_valid_i(1'b0),
          .row_i('0),
          .data_valid_o(data_valid[e]),
          .data_ready_i(data_ready[e]),
          .data_o(data[e]),
          .rsp_valid_i(rsp_valid[e]),
          .rsp_i(rsp[e]),
          .idle_o(engine_idle[NumEngines+e]),
          .wrong_o(engine_wrong[NumEngines+e])
        );
      end

      logic unused_ok;
      assign unused_ok = &{1'b0, unused_data_valid, unused_data};
    end
  end

  for (genvar e = 0; e < NumEngines; e++) begin : gen_tied
    assign stripe[e] = '{channels_log2: '0, granule_log2: 5'(MinGranuleLog2)};
    assign always_ready[e] = 1'b1;
  end

  logic            mem_ar_valid [NumChannels];
  logic            mem_ar_ready [NumChannels];
  channel_ax_t     mem_ar [NumChannels];
  logic            mem_r_valid [NumChannels];
  logic            mem_r_ready [NumChannels];
  channel_r_t      mem_r [NumChannels];
  logic            mem_aw_valid [NumChannels];
  logic            mem_aw_ready [NumChannels];
  channel_ax_t     mem_aw [NumChannels];
  logic            mem_w_valid [NumChannels];
  logic            mem_w_ready [NumChannels];
  mem_write_data_t mem_w [NumChannels];
  logic            mem_b_valid [NumChannels];
  logic            mem_b_ready [NumChannels];
  logic            mem_b_error [NumChannels];

  logic [1:0] unused_quiet;
  tmb_fabric #(
    .Cfg(bench_cfg()),
    .Requesters(requesters())
  ) u_fabric (
    .clk_i,
    .rst_ni,
    .stop_i(1'b0),
    .quiet_reads_o(unused_quiet[0]),
    .quiet_writes_o(unused_quiet[1]),
    .managed_i(1'b0),
    .schedule_i('{tmb_schedule_pkg::DefaultSchedule}),
    .read_req_valid_i(req_valid[0]),
    .read_req_ready_o(req_ready[0]),
    .read_req_i(req[0]),
    .read_stripe_i(stripe),
    .read_rsp_valid_o(row_valid),
    .read_rsp_ready_i(always_ready),
    .read_rsp_o(row),
    .write_req_valid_i(req_valid[1]),
    .write_req_ready_o(req_ready[1]),
    .write_req_i(req[1]),
    .write_stripe_i(stripe),
    .write_data_valid_i(data_valid),
    .write_data_ready_o(data_ready),
    .write_data_i(data),
    .write_rsp_valid_o(rsp_valid),
    .write_rsp_ready_i(always_ready),
    .write_rsp_o(rsp),
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

  for (genvar c = 0; c < NumChannels; c++) begin : gen_memory
    assign mem_b_error[c] = 1'b0;
    assign row_written[c] = mem_w_valid[c] && mem_w_ready[c];

    lanes_bench_memory #(
      .Number(c),
      .ChannelBytesLog2(ChannelBytesLog2)
    ) u_memory (
      .clk_i,
      .rst_ni,
      .now_i(now_q),
      .gap_i,
      .latency_i,
      .ar_valid_i(mem_ar_valid[c]),
      .ar_ready_o(mem_ar_ready[c]),
      .ar_i(mem_ar[c]),
      .r_valid_o(mem_r_valid[c]),
      .r_ready_i(mem_r_ready[c]),
      .r_o(mem_r[c]),
      .aw_valid_i(mem_aw_valid[c]),
      .aw_ready_o(mem_aw_ready[c]),
      .aw_i(mem_aw[c]),
      .w_valid_i(mem_w_valid[c]),
      .w_ready_o(mem_w_ready[c]),
      .w_i(mem_w[c]),
      .b_valid_o(mem_b_valid[c]),
      .b_ready_i(mem_b_ready[c]),
      .wrong_o(memory_wrong[c])
    );
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      rows_read_o <= '0;
      rows_written_o <= '0;
    end else begin
      rows_read_o <= rows_read_o + 64'($countones(row_read));
      rows_written_o <= rows_written_o + 64'($countones(row_written));
    end
  end

  assign idle_o = engine_idle == '1;
  assign wrong_o = engine_wrong != '0 || memory_wrong != '0 || network_wrong != '0;

endmodule
