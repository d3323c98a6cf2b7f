// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// tmb_fabric with small channels, and with the geometry as plain parameters.

module fabric_bench_top import tmb_pkg::*; import tmb_fabric_pkg::*; #(
  parameter int unsigned NumChannels = 2,
  parameter int unsigned NumReaders = 5,
  parameter int unsigned NumWriters = 4
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic            read_req_valid_i [NumReaders],
  output logic            read_req_ready_o [NumReaders],
  input  mem_req_t        read_req_i [NumReaders],
  input  stripe_t         read_stripe_i [NumReaders],
  output logic            read_rsp_valid_o [NumReaders],
  input  logic            read_rsp_ready_i [NumReaders],
  output mem_read_rsp_t   read_rsp_o [NumReaders],
  input  logic            write_req_valid_i [NumWriters],
  output logic            write_req_ready_o [NumWriters],
  input  mem_req_t        write_req_i [NumWriters],
  input  stripe_t         write_stripe_i [NumWriters],
  input  logic            write_data_valid_i [NumWriters],
  output logic            write_data_ready_o [NumWriters],
  input  mem_write_data_t write_data_i [NumWriters],
  output logic            write_rsp_valid_o [NumWriters],
  input  logic            write_rsp_ready_i [NumWriters],
  output mem_write_rsp_t  write_rsp_o [NumWriters],
  output logic            mem_ar_valid_o [NumChannels],
  input  logic            mem_ar_ready_i [NumChannels],
  output channel_ax_t     mem_ar_o [NumChannels],
  input  logic            mem_r_valid_i [NumChannels],
  output logic            mem_r_ready_o [NumChannels],
  input  channel_r_t      mem_r_i [NumChannels],
  output logic            mem_aw_valid_o [NumChannels],
  input  logic            mem_aw_ready_i [NumChannels],
  output channel_ax_t     mem_aw_o [NumChannels],
  output logic            mem_w_valid_o [NumChannels],
  input  logic            mem_w_ready_i [NumChannels],
  output mem_write_data_t mem_w_o [NumChannels],
  input  logic            mem_b_valid_i [NumChannels],
  output logic            mem_b_ready_o [NumChannels],
  input  logic            mem_b_error_i [NumChannels]
);

  function automatic shell_cfg_t bench_cfg();
    shell_cfg_t cfg;
    cfg = DefaultShellCfg;
    cfg.NumChannels = NumChannels;
    cfg.ChannelBytesLog2 = 20;
    return cfg;
  endfunction

  logic [1:0] unused_quiet;
  tmb_fabric #(
    .Cfg(bench_cfg()),
    .Requesters(unscheduled(NumReaders, NumWriters))
  ) u_fabric (
    .clk_i,
    .rst_ni,
    .stop_i(1'b0),
    .quiet_reads_o(unused_quiet[0]),
    .quiet_writes_o(unused_quiet[1]),
    .managed_i(1'b0),
    .schedule_i('{tmb_schedule_pkg::DefaultSchedule}),
    .read_req_valid_i,
    .read_req_ready_o,
    .read_req_i,
    .read_stripe_i,
    .read_rsp_valid_o,
    .read_rsp_ready_i,
    .read_rsp_o,
    .write_req_valid_i,
    .write_req_ready_o,
    .write_req_i,
    .write_stripe_i,
    .write_data_valid_i,
    .write_data_ready_o,
    .write_data_i,
    .write_rsp_valid_o,
    .write_rsp_ready_i,
    .write_rsp_o,
    .mem_ar_valid_o,
    .mem_ar_ready_i,
    .mem_ar_o,
    .mem_r_valid_i,
    .mem_r_ready_o,
    .mem_r_i,
    .mem_aw_valid_o,
    .mem_aw_ready_i,
    .mem_aw_o,
    .mem_w_valid_o,
    .mem_w_ready_i,
    .mem_w_o,
    .mem_b_valid_i,
    .mem_b_ready_o,
    .mem_b_error_i
  );

endmodule
