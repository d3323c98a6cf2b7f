// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Types of the shell's control path: what passes between the BAR and those who answer it.

// Whoever imports a package uses a part of it.
// verilator lint_off UNUSEDPARAM
package tmb_shell_pkg;

  // Window of the directory's registers in the BAR, as large as a slot's.
  localparam logic [31:0] DirectoryBase = 32'h0008_0000;

  // An access to a register of the shell or of a slot. Addresses are in bytes, from the start of
  // whatever is accessed.
  typedef struct packed {
    logic        write;
    logic [15:0] addr;
    logic [31:0] data;
    logic [3:0]  strobe;
  } access_t;

  typedef struct packed {
    logic        error;
    logic [31:0] data;
  } access_rsp_t;

  // What comes with the answer to a read of a slot's window: the user bits of its R.
  typedef struct packed {
    logic closed;       // the guard has closed the slot
    logic writes_owed;  // accesses that its ports had taken by then are not answered
    logic reads_owed;
  } read_notes_t;

  // The slot's AXI4-Lite control interface, both directions.
  typedef struct packed {
    logic [15:0] awaddr;
    logic        awvalid;
    logic [31:0] wdata;
    logic [3:0]  wstrb;
    logic        wvalid;
    logic        bready;
    logic [15:0] araddr;
    logic        arvalid;
    logic        rready;
  } ctl_req_t;

  typedef struct packed {
    logic        awready;
    logic        wready;
    logic [1:0]  bresp;
    logic        bvalid;
    logic        arready;
    logic [31:0] rdata;
    logic [1:0]  rresp;
    logic        rvalid;
  } ctl_rsp_t;

  // The control access that a kernel did not answer.
  typedef struct packed {
    logic        write;
    logic [15:0] offset;
  } unanswered_t;

  // Bus between the generated register block and the arrays behind it (external regfiles): a request
  // pulse, an acknowledge pulse one or two cycles later.
  typedef struct packed {
    logic        valid;
    logic        write;
    logic [12:0] addr;
    logic [31:0] data;
    logic [31:0] mask;
  } array_req_t;

  typedef struct packed {
    logic        read_ack;
    logic        write_ack;
    logic [31:0] data;
  } array_rsp_t;

endpackage
// verilator lint_on UNUSEDPARAM
