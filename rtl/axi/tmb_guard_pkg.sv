// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Reports of a slot's guard: the rule that a kernel broke, and the outstanding accesses of its ports. The numbers
// are those of the registers (tmb_shell.rdl, PORT).

package tmb_guard_pkg;

  typedef enum logic [3:0] {
    RuleNone = 4'd0,
    RuleBurstType = 4'd1,    // FIXED or WRAP of more than one beat
    RuleBeatSize = 4'd2,     // a beat wider than the port
    RuleBlock = 4'd3,        // the burst crosses a 4 KiB boundary
    RuleAddress = 4'd4,      // the address has more than 48 bits
    RuleLastEarly = 4'd5,    // WLAST before the last beat
    RuleLastMissing = 4'd6,  // no WLAST at the last beat
    RuleWithdrawn = 4'd7,    // valid fell before ready came
    RuleChanged = 4'd8       // the payload changed before ready came
  } rule_e;

  typedef enum logic [1:0] {
    ChannelAr = 2'd0,
    ChannelAw = 2'd1,
    ChannelW = 2'd2
  } channel_e;

  // A rule and the burst that broke it; RuleNone: none did.
  typedef struct packed {
    rule_e       rule;
    channel_e    channel;
    logic [63:0] addr;
    logic [7:0]  len;
    logic [2:0]  size;
    logic [1:0]  burst;
    logic [7:0]  beat;
  } violation_t;

  localparam int unsigned WaitWidth = 10;

  // Outstanding accesses of one direction of a port.
  typedef struct packed {
    logic [WaitWidth-1:0] outstanding;  // bursts
    logic                 address_offered;
    logic                 response_offered;
    logic [WaitWidth-1:0] kernel_wait;  // cycles, saturating
  } wait_t;

  // The write burst that is being collected.
  typedef struct packed {
    logic        valid;
    logic        starved;  // its next beat is not there
    logic [63:0] addr;
    logic [7:0]  len;
    logic [7:0]  beats;    // taken
  } collection_t;

  // Accesses taken before the request (mark, announce) and not yet answered (tmb_port_owed).
  typedef struct packed {
    logic reads;
    logic writes;
    logic announced;  // writes, when the kernel's interrupt rose
  } owed_t;

  typedef struct packed {
    violation_t  violation;
    wait_t       reads;
    wait_t       writes;
    logic        data_offered;  // a beat that is not taken
    collection_t collection;
  } guard_status_t;

endpackage
