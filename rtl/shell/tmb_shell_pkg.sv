// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Types of the shell's control path (what passes between the BAR and those who answer it), and of its
// buses: two structures for each, named from the side that asks: `_req_t` comes from the manager of the
// bus, `_rsp_t` from its subordinate.

// An importer uses a part of a package.
// verilator lint_off UNUSEDPARAM
package tmb_shell_pkg;

  import tmb_pkg::*;
  import tmb_dma_pkg::*;
  import tmb_fabric_pkg::*;
  import tmb_stream_pkg::*;

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

  // The board's description of the card, constant: pins that its top ties.
  typedef struct packed {
    logic [31:0] clock_period;   // of clk_i, in picoseconds
    logic [63:0] channel_bytes;  // memory of each channel; where channels differ, the least of them
  } card_facts_t;

  // User bits of R in the answer to a read of a slot's window.
  typedef struct packed {
    logic closed;       // the guard has closed the slot
    logic writes_owed;  // accesses that its ports had taken by then are not answered
    logic reads_owed;
  } read_notes_t;

  // The host's register accesses: AXI4-Lite, the host is the manager.
  typedef struct packed {
    logic [31:0] awaddr;
    logic        awvalid;
    logic [31:0] wdata;
    logic [3:0]  wstrb;
    logic        wvalid;
    logic        bready;
    logic [31:0] araddr;
    logic        arvalid;
    logic        rready;
  } bar_req_t;

  typedef struct packed {
    logic        awready;
    logic        wready;
    logic [1:0]  bresp;
    logic        bvalid;
    logic        arready;
    logic [31:0] rdata;
    logic [1:0]  rresp;
    read_notes_t ruser;
    logic        rvalid;
  } bar_rsp_t;

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

  // ---------------------------------------------------------------------------------------------
  // Buses to memory
  // ---------------------------------------------------------------------------------------------

  // Host memory: AXI4, 64 bytes a beat, INCR. The shell is the manager.
  typedef struct packed {
    logic        ar_valid;
    logic [3:0]  ar_id;
    host_ax_t    ar;
    logic        r_ready;
    logic        aw_valid;
    logic [3:0]  aw_id;
    host_ax_t    aw;
    logic        w_valid;
    logic        b_ready;
    row_strobe_t w_strobe;
    host_w_t     w;
  } host_req_t;

  typedef struct packed {
    logic        ar_ready;
    logic        aw_ready;
    logic        w_ready;
    logic        b_valid;
    logic [3:0]  b_id;
    logic        b_error;
    logic        b_decode;  // with an error: DECERR, else SLVERR
    logic        r_valid;
    logic [3:0]  r_id;
    logic        r_decode;
    host_r_t     r;
  } host_rsp_t;

  // A channel of card memory: the same, with one ID; addresses are offsets within the channel.
  typedef struct packed {
    logic            ar_valid;
    channel_ax_t     ar;
    logic            r_ready;
    logic            aw_valid;
    channel_ax_t     aw;
    logic            w_valid;
    logic            b_ready;
    mem_write_data_t w;
  } channel_req_t;

  typedef struct packed {
    logic       ar_ready;
    logic       aw_ready;
    logic       w_ready;
    logic       b_valid;
    logic       b_error;
    logic       b_decode;
    logic       r_valid;
    logic       r_decode;
    channel_r_t r;
  } channel_rsp_t;

  // ---------------------------------------------------------------------------------------------
  // Reset, interrupt, errors
  // ---------------------------------------------------------------------------------------------

  // Nothing that was granted is unanswered. In the order of RESET.WAITS_FOR.
  typedef struct packed {
    logic network_writes;
    logic memory_writes;
    logic memory_reads;
    logic host_writes;
    logic host_reads;
  } quiet_t;

  // Register RESET, and the pulse that begins one.
  typedef struct packed {
    quiet_t waits_for;
    logic   used;
    logic   done;
    logic   busy;
  } reset_state_t;

  // Register INTERRUPT: what the host writes, and what it reads.
  typedef struct packed {
    logic acknowledge;
    logic errors;
    logic records;
  } interrupt_cfg_t;

  typedef struct packed {
    logic sent;
    logic errors;
    logic records;
  } interrupt_state_t;

  // An answer of a memory that is an error; '0 with any other, so that who watches for errors rests until one comes.
  typedef struct packed {
    logic [3:0] id;
    logic       decode;
    logic       error;
  } memory_error_t;

  function automatic memory_error_t memory_error(logic is_error, logic decode, logic [3:0] id);
    return is_error ? '{id: id, decode: decode, error: 1'b1} : '0;
  endfunction

  // A register access of the host that was answered with an error: one cycle.
  typedef struct packed {
    logic        read;
    logic        write;
    logic        decode;
    logic [23:0] address;
  } bar_error_t;

  // Register ERROR.
  typedef struct packed {
    logic memory_write;
    logic memory_read;
    logic host_write;
    logic host_read;
    logic bar_write;
    logic bar_read;
  } error_bits_t;

  // Registers ERROR_MASTER, ERROR_READ and ERROR_WRITE.
  typedef struct packed {
    logic [2:0]  master;
    logic        decode;
    logic [7:0]  port;
    logic [23:0] read_address;
    logic        read_decode;
    logic [23:0] write_address;
    logic        write_decode;
  } error_firsts_t;

  // ---------------------------------------------------------------------------------------------
  // Streams and networks
  // ---------------------------------------------------------------------------------------------

  // Commands of the registers to a mover, or to one direction of a network interface.
  typedef struct packed {
    logic           start;  // one cycle: the command is taken
    mover_command_t command;
  } mover_control_t;

  // Settings of the switch at an incoming port of a kernel.
  typedef struct packed {
    stream_source_t source;
    logic           forget;  // one cycle: a broken packet is forgotten
  } switch_control_t;

  // The end of a transfer.
  typedef struct packed {
    logic [7:0]  mover;
    mover_done_t done;
  } transfer_t;

  // A direction of a network interface, in addition to its stream: from the shell, and from its controller.
  typedef struct packed {
    logic        start;       // one cycle: a transfer of the bytes from the address on of the peer's memory
    logic        stop;        // one cycle: it ends as if the range were full; what is received is cut
    logic        last;        // the last beat received has TLAST
    virt_addr_t  address;
    byte_count_t bytes;
    logic        done_ready;
  } network_req_t;

  typedef struct packed {
    logic        busy;
    byte_count_t moved;       // bytes that have crossed the stream
    logic        done_valid;
    mover_done_t done;
  } network_rsp_t;

endpackage
// verilator lint_on UNUSEDPARAM
