// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Ports of a kernel, by the bus, and their connections to the modules of this folder. The names are those of the Vitis
// convention, as if they were written out: `TMB_READ_PORTS(m_axi_gmem0)` declares m_axi_gmem0_arvalid and its like.
//
// Between ports stands a comma, as between written ones; after the last, none:
//
//   module twice (
//     `TMB_KERNEL_PORTS,
//     `TMB_READ_PORTS(m_axi_gmem0),
//     `TMB_WRITE_PORTS(m_axi_gmem1)
//   );
//
// Written out they are in kernels that teach: vadd, copy, line_answer.

`ifndef TMB_PORTS_SVH
`define TMB_PORTS_SVH

// Clock, reset, interrupt and the AXI4-Lite registers s_axi_control. `interrupt` is also a macro of some C headers, but
// the convention's name.
`define TMB_KERNEL_PORTS                                    \
  input  logic         ap_clk,                              \
  input  logic         ap_rst_n,                            \
  /* verilator lint_off SYMRSVDWORD */                      \
  output logic         interrupt,                           \
  /* verilator lint_on SYMRSVDWORD */                       \
  `TMB_CONTROL_PORTS(s_axi_control)

// AXI4-Lite subordinate: 4 KiB of 32-bit registers.
`define TMB_CONTROL_PORTS(__name)                           \
  input  logic         __name``_awvalid,                    \
  output logic         __name``_awready,                    \
  input  logic [11:0]  __name``_awaddr,                     \
  input  logic         __name``_wvalid,                     \
  output logic         __name``_wready,                     \
  input  logic [31:0]  __name``_wdata,                      \
  input  logic [3:0]   __name``_wstrb,                      \
  output logic         __name``_bvalid,                     \
  input  logic         __name``_bready,                     \
  output logic [1:0]   __name``_bresp,                      \
  input  logic         __name``_arvalid,                    \
  output logic         __name``_arready,                    \
  input  logic [11:0]  __name``_araddr,                     \
  output logic         __name``_rvalid,                     \
  input  logic         __name``_rready,                     \
  output logic [31:0]  __name``_rdata,                      \
  output logic [1:0]   __name``_rresp

// AXI4 manager of 512 bits: the channels of reads.
`define TMB_READ_PORTS(__name)                              \
  output logic         __name``_arvalid,                    \
  input  logic         __name``_arready,                    \
  output logic [63:0]  __name``_araddr,                     \
  output logic [7:0]   __name``_arlen,                      \
  output logic [2:0]   __name``_arsize,                     \
  output logic [1:0]   __name``_arburst,                    \
  input  logic         __name``_rvalid,                     \
  output logic         __name``_rready,                     \
  input  logic [511:0] __name``_rdata,                      \
  input  logic         __name``_rlast,                      \
  input  logic [1:0]   __name``_rresp

// AXI4 manager of 512 bits: the channels of writes.
`define TMB_WRITE_PORTS(__name)                             \
  output logic         __name``_awvalid,                    \
  input  logic         __name``_awready,                    \
  output logic [63:0]  __name``_awaddr,                     \
  output logic [7:0]   __name``_awlen,                      \
  output logic [2:0]   __name``_awsize,                     \
  output logic [1:0]   __name``_awburst,                    \
  output logic         __name``_wvalid,                     \
  input  logic         __name``_wready,                     \
  output logic [511:0] __name``_wdata,                      \
  output logic [63:0]  __name``_wstrb,                      \
  output logic         __name``_wlast,                      \
  input  logic         __name``_bvalid,                     \
  output logic         __name``_bready,                     \
  input  logic [1:0]   __name``_bresp

// IDs of such a manager's reads, and of its writes.
`define TMB_READ_ID_PORTS(__name, __width)                  \
  output logic [__width-1:0] __name``_arid,                 \
  input  logic [__width-1:0] __name``_rid
`define TMB_WRITE_ID_PORTS(__name, __width)                 \
  output logic [__width-1:0] __name``_awid,                 \
  input  logic [__width-1:0] __name``_bid

// AXI4-Stream into the kernel, and out of it.
`define TMB_STREAM_IN_PORTS(__name, __bytes)                \
  input  logic                   __name``_tvalid,           \
  output logic                   __name``_tready,           \
  input  logic [8*(__bytes)-1:0] __name``_tdata,            \
  input  logic [__bytes-1:0]     __name``_tkeep,            \
  input  logic                   __name``_tlast
`define TMB_STREAM_OUT_PORTS(__name, __bytes)               \
  output logic                   __name``_tvalid,           \
  input  logic                   __name``_tready,           \
  output logic [8*(__bytes)-1:0] __name``_tdata,            \
  output logic [__bytes-1:0]     __name``_tkeep,            \
  output logic                   __name``_tlast

// AXI4 subordinate of 512 bits that serves the CPU's lines: two rows a burst, so lengths and sizes are not looked at.
`define TMB_HOME_PORTS(__name)                              \
  input  logic         __name``_arvalid,                    \
  output logic         __name``_arready,                    \
  input  logic [15:0]  __name``_arid,                       \
  input  logic [63:0]  __name``_araddr,                     \
  output logic         __name``_rvalid,                     \
  input  logic         __name``_rready,                     \
  output logic [15:0]  __name``_rid,                        \
  output logic [511:0] __name``_rdata,                      \
  output logic [1:0]   __name``_rresp,                      \
  output logic         __name``_rlast,                      \
  input  logic         __name``_awvalid,                    \
  output logic         __name``_awready,                    \
  input  logic [15:0]  __name``_awid,                       \
  input  logic [63:0]  __name``_awaddr,                     \
  input  logic         __name``_wvalid,                     \
  output logic         __name``_wready,                     \
  input  logic [511:0] __name``_wdata,                      \
  input  logic [63:0]  __name``_wstrb,                      \
  output logic         __name``_bvalid,                     \
  input  logic         __name``_bready,                     \
  output logic [15:0]  __name``_bid,                        \
  output logic [1:0]   __name``_bresp

// Line operations without data, and their acknowledgements.
`define TMB_LINE_PORTS(__name)                              \
  output logic         __name``_req_valid,                  \
  input  logic         __name``_req_ready,                  \
  output logic [2:0]   __name``_req_operation,              \
  output logic [5:0]   __name``_req_tag,                    \
  output logic [32:0]  __name``_req_line,                   \
  input  logic         __name``_ack_valid,                  \
  output logic         __name``_ack_ready,                  \
  input  logic [5:0]   __name``_ack_tag

// To kernel_control_registers: everything but what the kernel itself connects.
`define TMB_CONNECT_CONTROL                                 \
  .clk_i(ap_clk),                                           \
  .rst_ni(ap_rst_n),                                        \
  .awvalid_i(s_axi_control_awvalid),                        \
  .awready_o(s_axi_control_awready),                        \
  .awaddr_i(s_axi_control_awaddr),                          \
  .wvalid_i(s_axi_control_wvalid),                          \
  .wready_o(s_axi_control_wready),                          \
  .wdata_i(s_axi_control_wdata),                            \
  .wstrb_i(s_axi_control_wstrb),                            \
  .bvalid_o(s_axi_control_bvalid),                          \
  .bready_i(s_axi_control_bready),                          \
  .bresp_o(s_axi_control_bresp),                            \
  .arvalid_i(s_axi_control_arvalid),                        \
  .arready_o(s_axi_control_arready),                        \
  .araddr_i(s_axi_control_araddr),                          \
  .rvalid_o(s_axi_control_rvalid),                          \
  .rready_i(s_axi_control_rready),                          \
  .rdata_o(s_axi_control_rdata),                            \
  .rresp_o(s_axi_control_rresp),                            \
  .interrupt_o(interrupt)

// To kernel_burst_reader.
`define TMB_CONNECT_READER(__name)                          \
  .arvalid_o(__name``_arvalid),                             \
  .arready_i(__name``_arready),                             \
  .araddr_o(__name``_araddr),                               \
  .arlen_o(__name``_arlen),                                 \
  .rvalid_i(__name``_rvalid),                               \
  .rready_o(__name``_rready),                               \
  .rdata_i(__name``_rdata),                                 \
  .rlast_i(__name``_rlast)

// To kernel_burst_writer.
`define TMB_CONNECT_WRITER(__name)                          \
  .awvalid_o(__name``_awvalid),                             \
  .awready_i(__name``_awready),                             \
  .awaddr_o(__name``_awaddr),                               \
  .awlen_o(__name``_awlen),                                 \
  .wvalid_o(__name``_wvalid),                               \
  .wready_i(__name``_wready),                               \
  .wdata_o(__name``_wdata),                                 \
  .wstrb_o(__name``_wstrb),                                 \
  .wlast_o(__name``_wlast),                                 \
  .bvalid_i(__name``_bvalid),                               \
  .bready_o(__name``_bready)

// Every beat is a whole row, and addresses count upwards.
`define TMB_READ_WHOLE_ROWS(__name)                         \
  assign __name``_arsize = 3'd6;                            \
  assign __name``_arburst = 2'b01;
`define TMB_WRITE_WHOLE_ROWS(__name)                        \
  assign __name``_awsize = 3'd6;                            \
  assign __name``_awburst = 2'b01;

`endif
