// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Stand-in for tmb_virtual_memory, for benches of the shell without translation: table commands and
// fault replies are answered at once; ports accept nothing; there are no faults.

module tmb_virtual_memory import tmb_pkg::*; #(
  parameter shell_cfg_t Cfg = DefaultShellCfg,
  localparam int unsigned NumPorts = Cfg.NumSlots * Cfg.PortsPerSlot,
  localparam int unsigned NumReaders = NumPorts + 2,
  localparam int unsigned NumWriters = NumPorts + 1
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  /* verilator lint_off UNUSEDSIGNAL */
  input  axi_req_t        port_req_i [NumPorts],
  output axi_rsp_t        port_rsp_o [NumPorts],
  input  asid_t           port_asid_i [NumPorts],
  input  logic            port_reset_i [NumPorts],
  output logic            port_idle_o [NumPorts],
  input  space_cfg_t      space_cfg_i [Cfg.NumSpaces],
  input  logic            table_cmd_valid_i,
  output logic            table_cmd_ready_o,
  input  table_cmd_t      table_cmd_i,
  output logic            table_rsp_valid_o,
  input  logic            table_rsp_ready_i,
  output table_rsp_t      table_rsp_o,
  output logic            fault_valid_o,
  input  logic            fault_ready_i,
  output fault_t          fault_o,
  input  logic            fault_reply_valid_i,
  output logic            fault_reply_ready_o,
  input  fault_reply_t    fault_reply_i,
  output logic            read_req_valid_o [NumReaders],
  input  logic            read_req_ready_i [NumReaders],
  output mem_req_t        read_req_o [NumReaders],
  input  logic            read_rsp_valid_i [NumReaders],
  output logic            read_rsp_ready_o [NumReaders],
  input  mem_read_rsp_t   read_rsp_i [NumReaders],
  output logic            write_req_valid_o [NumWriters],
  input  logic            write_req_ready_i [NumWriters],
  output mem_req_t        write_req_o [NumWriters],
  output logic            write_data_valid_o [NumWriters],
  input  logic            write_data_ready_i [NumWriters],
  output mem_write_data_t write_data_o [NumWriters],
  input  logic            write_rsp_valid_i [NumWriters],
  output logic            write_rsp_ready_o [NumWriters],
  input  mem_write_rsp_t  write_rsp_i [NumWriters],
  output port_events_t    port_events_o [2*NumPorts]
  /* verilator lint_on UNUSEDSIGNAL */
);

  logic answer_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) answer_q <= 1'b0;
    else if (table_cmd_valid_i && table_cmd_ready_o) answer_q <= 1'b1;
    else if (table_rsp_ready_i) answer_q <= 1'b0;
  end

  assign table_cmd_ready_o = !answer_q;
  assign table_rsp_valid_o = answer_q;
  assign table_rsp_o = '{status: TableOk, accessed: 1'b0, dirty: 1'b0};
  assign fault_valid_o = 1'b0;
  assign fault_o = '0;
  assign fault_reply_ready_o = 1'b1;

  for (genvar p = 0; p < NumPorts; p++) begin : gen_port
    assign port_rsp_o[p] = '0;
    assign port_idle_o[p] = 1'b1;
    assign port_events_o[2*p] = '0;
    assign port_events_o[2*p+1] = '0;
  end
  for (genvar r = 0; r < NumReaders; r++) begin : gen_reader
    assign read_req_valid_o[r] = 1'b0;
    assign read_req_o[r] = '0;
    assign read_rsp_ready_o[r] = 1'b1;
  end
  for (genvar w = 0; w < NumWriters; w++) begin : gen_writer
    assign write_req_valid_o[w] = 1'b0;
    assign write_req_o[w] = '0;
    assign write_data_valid_o[w] = 1'b0;
    assign write_data_o[w] = '0;
    assign write_rsp_ready_o[w] = 1'b1;
  end

endmodule
