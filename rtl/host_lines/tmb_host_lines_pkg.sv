// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Types of the way from a slot to the card's cache of the CPU's lines.

// Whoever imports a package uses a part of it.
// verilator lint_off UNUSEDPARAM
package tmb_host_lines_pkg;

  // What a kernel that uses the CPU's lines did wrong; the first that a guard sees is kept, with the line's address.
  typedef enum logic [3:0] {
    HostRuleNone = 4'd0,
    HostRuleAccess = 4'd1,  // no such access
    HostRuleTag = 4'd2,     // the tag belongs to an access under way
    HostRuleRange = 4'd3,   // the line is not in the range that the host gave
    HostRuleSlice = 4'd4,   // the line belongs to another slice
    HostRuleHold = 4'd5     // a hold was not released in time
  } host_rule_e;

  typedef struct packed {
    host_rule_e  rule;
    logic [63:0] at;
  } host_violation_t;

endpackage
// verilator lint_on UNUSEDPARAM
