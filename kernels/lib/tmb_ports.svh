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

// Two home ports, for kernels of two slices, as arrays: __a``_arvalid[0] is __zero``_arvalid, and so on. IDs are those of
// a directory of 32 transactions.
`define TMB_TWO_HOMES(__a, __zero, __one)                   \
  logic __a``_arvalid [2];                                  \
  logic [15:0] __a``_arid [2];                              \
  logic [63:0] __a``_araddr [2];                            \
  logic __a``_rready [2];                                   \
  logic __a``_awvalid [2];                                  \
  logic [15:0] __a``_awid [2];                              \
  logic [63:0] __a``_awaddr [2];                            \
  logic __a``_wvalid [2];                                   \
  logic [511:0] __a``_wdata [2];                            \
  logic [63:0] __a``_wstrb [2];                             \
  logic __a``_bready [2];                                   \
  logic __a``_arready [2];                                  \
  logic __a``_rvalid [2];                                   \
  logic [511:0] __a``_rdata [2];                            \
  logic __a``_rlast [2];                                    \
  logic __a``_awready [2];                                  \
  logic __a``_wready [2];                                   \
  logic __a``_bvalid [2];                                   \
  logic [4:0] __a``_rid [2];                                \
  logic [4:0] __a``_bid [2];                                \
  logic __a``_rerror [2];                                   \
  logic __a``_berror [2];                                   \
  assign __a``_arvalid = '{__zero``_arvalid, __one``_arvalid};\
  assign __a``_arid = '{__zero``_arid, __one``_arid};       \
  assign __a``_araddr = '{__zero``_araddr, __one``_araddr}; \
  assign __a``_rready = '{__zero``_rready, __one``_rready}; \
  assign __a``_awvalid = '{__zero``_awvalid, __one``_awvalid};\
  assign __a``_awid = '{__zero``_awid, __one``_awid};       \
  assign __a``_awaddr = '{__zero``_awaddr, __one``_awaddr}; \
  assign __a``_wvalid = '{__zero``_wvalid, __one``_wvalid}; \
  assign __a``_wdata = '{__zero``_wdata, __one``_wdata};    \
  assign __a``_wstrb = '{__zero``_wstrb, __one``_wstrb};    \
  assign __a``_bready = '{__zero``_bready, __one``_bready};

// What an element of such arrays answers.
`define TMB_HOME_OF(__name, __a, __index)                   \
  assign __name``_arready = __a``_arready[__index];         \
  assign __name``_rvalid = __a``_rvalid[__index];           \
  assign __name``_rdata = __a``_rdata[__index];             \
  assign __name``_rlast = __a``_rlast[__index];             \
  assign __name``_awready = __a``_awready[__index];         \
  assign __name``_wready = __a``_wready[__index];           \
  assign __name``_bvalid = __a``_bvalid[__index];           \
  assign __name``_rid = 16'(__a``_rid[__index]);            \
  assign __name``_bid = 16'(__a``_bid[__index]);            \
  assign __name``_rresp = __a``_rerror[__index] ? 2'b10 /* SLVERR */ : 2'b00;\
  assign __name``_bresp = __a``_berror[__index] ? 2'b10 /* SLVERR */ : 2'b00;

// Two managers as arrays. They move lines: two rows a burst.
`define TMB_TWO_MANAGERS(__a, __zero, __one)                \
  logic __a``_arready [2];                                  \
  logic __a``_rvalid [2];                                   \
  logic [511:0] __a``_rdata [2];                            \
  logic __a``_rlast [2];                                    \
  logic [1:0] __a``_rresp [2];                              \
  logic __a``_awready [2];                                  \
  logic __a``_wready [2];                                   \
  logic __a``_bvalid [2];                                   \
  logic [1:0] __a``_bresp [2];                              \
  logic __a``_arvalid [2];                                  \
  logic [63:0] __a``_araddr [2];                            \
  logic [7:0] __a``_arlen [2];                              \
  logic __a``_rready [2];                                   \
  logic __a``_awvalid [2];                                  \
  logic [63:0] __a``_awaddr [2];                            \
  logic __a``_wvalid [2];                                   \
  logic [511:0] __a``_wdata [2];                            \
  logic [63:0] __a``_wstrb [2];                             \
  logic __a``_wlast [2];                                    \
  logic __a``_bready [2];                                   \
  assign __a``_arready = '{__zero``_arready, __one``_arready};\
  assign __a``_rvalid = '{__zero``_rvalid, __one``_rvalid}; \
  assign __a``_rdata = '{__zero``_rdata, __one``_rdata};    \
  assign __a``_rlast = '{__zero``_rlast, __one``_rlast};    \
  assign __a``_rresp = '{__zero``_rresp, __one``_rresp};    \
  assign __a``_awready = '{__zero``_awready, __one``_awready};\
  assign __a``_wready = '{__zero``_wready, __one``_wready}; \
  assign __a``_bvalid = '{__zero``_bvalid, __one``_bvalid}; \
  assign __a``_bresp = '{__zero``_bresp, __one``_bresp};

// What an element of such arrays requests.
`define TMB_MANAGER_OF(__name, __a, __index)                \
  assign __name``_arvalid = __a``_arvalid[__index];         \
  assign __name``_araddr = __a``_araddr[__index];           \
  assign __name``_arlen = __a``_arlen[__index];             \
  assign __name``_rready = __a``_rready[__index];           \
  assign __name``_awvalid = __a``_awvalid[__index];         \
  assign __name``_awaddr = __a``_awaddr[__index];           \
  assign __name``_wvalid = __a``_wvalid[__index];           \
  assign __name``_wdata = __a``_wdata[__index];             \
  assign __name``_wstrb = __a``_wstrb[__index];             \
  assign __name``_wlast = __a``_wlast[__index];             \
  assign __name``_bready = __a``_bready[__index];           \
  assign __name``_arid = '0;                                \
  `TMB_READ_WHOLE_ROWS(__name)                              \
  assign __name``_awid = '0;                                \
  assign __name``_awlen = 8'd1;                             \
  `TMB_WRITE_WHOLE_ROWS(__name)

`endif
