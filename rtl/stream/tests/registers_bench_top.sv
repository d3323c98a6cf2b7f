// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The registers of movers and switch, and the record of ended transfers, with flat pins for registers_bench.cpp. Three
// of each: numbers have values that name none.

module registers_bench_top
  import tmb_pkg::*;
  import tmb_shell_pkg::*;
  import tmb_stream_pkg::*;
#(
  localparam int unsigned Num = 3
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  // An access to the movers (0) or to the switch (1).
  input  logic        valid_i [2],
  input  logic        write_i,
  input  logic [12:0] addr_i,
  input  logic [31:0] data_i,
  input  logic [31:0] mask_i,
  output logic        read_ack_o [2],
  output logic        write_ack_o [2],
  output logic [31:0] data_o [2],

  output logic        start_o [Num],
  output logic        stop_o [Num],
  output logic        last_o [Num],
  output logic [47:0] addr_o [Num],
  output logic [47:0] bytes_o [Num],
  input  logic [2:0]  state_i [Num],  // busy, valid, ready
  input  logic [47:0] moved_i [Num],

  output logic        from_port_o [Num],
  output logic [4:0]  pair_o [Num],
  output logic        forget_o [Num],
  input  logic [9:0]  switch_i [Num],  // from_port, pair, pending, broken, valid, ready

  input  logic        done_valid_i [Num],
  output logic        done_ready_o [Num],
  input  logic [47:0] done_bytes_i [Num],
  input  logic        done_last_i [Num],
  input  logic [1:0]  done_status_i [Num],
  output logic        record_valid_o,
  input  logic        record_ready_i,
  output logic [7:0]  record_mover_o,
  output logic [47:0] record_bytes_o,
  output logic        record_last_o,
  output logic [1:0]  record_status_o
);

  array_req_t req [2];
  array_rsp_t rsp [2];
  mover_command_t command [Num];
  mover_state_t state [Num];
  stream_source_t source [Num];
  switch_state_t switch_state [Num];
  mover_done_t done [Num];
  mover_done_t record;

  for (genvar b = 0; b < 2; b++) begin : gen_block
    assign req[b] = '{valid: valid_i[b], write: write_i, addr: addr_i, data: data_i, mask: mask_i};
    assign read_ack_o[b] = rsp[b].read_ack;
    assign write_ack_o[b] = rsp[b].write_ack;
    assign data_o[b] = rsp[b].data;
  end
  for (genvar m = 0; m < Num; m++) begin : gen_mover
    assign stop_o[m] = command[m].stop;
    assign last_o[m] = command[m].last;
    assign addr_o[m] = command[m].addr;
    assign bytes_o[m] = command[m].bytes;
    assign state[m] = {state_i[m], moved_i[m]};
    assign from_port_o[m] = source[m].from_port;
    assign pair_o[m] = source[m].pair;
    assign switch_state[m] = switch_i[m];
    assign done[m] = '{bytes: done_bytes_i[m], last: done_last_i[m], status: mover_status_e'(done_status_i[m])};
  end

  tmb_mover_registers #(
    .NumMovers(Num)
  ) u_movers (
    .clk_i,
    .rst_ni,
    .req_i(req[0]),
    .rsp_o(rsp[0]),
    .start_o,
    .command_o(command),
    .state_i(state)
  );

  tmb_switch_registers #(
    .NumPairs(Num)
  ) u_switch (
    .clk_i,
    .rst_ni,
    .req_i(req[1]),
    .rsp_o(rsp[1]),
    .source_o(source),
    .forget_o,
    .state_i(switch_state)
  );

  tmb_stream_completions #(
    .NumMovers(Num)
  ) u_completions (
    .clk_i,
    .rst_ni,
    .done_valid_i,
    .done_ready_o,
    .done_i(done),
    .valid_o(record_valid_o),
    .ready_i(record_ready_i),
    .mover_o(record_mover_o),
    .done_o(record)
  );
  assign record_bytes_o = record.bytes;
  assign record_last_o = record.last;
  assign record_status_o = record.status;

endmodule
