// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Types of the way from the directory's slices to the slots.

// Whoever imports a package uses a part of it.
// verilator lint_off UNUSEDPARAM
package tmb_home_pkg;

  // What a kernel behind the directory did wrong; the first that a guard sees is kept.
  typedef enum logic [3:0] {
    HomeRuleNone = 4'd0,
    HomeRuleReadLate = 4'd1,      // a read of a line was not answered in time; at: the line's address
    HomeRuleWriteLate = 4'd2,     // a write of a line was not taken, or answered, in time; at: address
    HomeRuleReadUnknown = 4'd3,   // a row answers no read; at: its ID
    HomeRuleRows = 4'd4,          // an answer is not two rows of one ID with rlast on the second; at: ID
    HomeRuleWriteUnknown = 4'd5,  // a response answers no write; at: its ID
    HomeRuleOperation = 4'd6,     // no such operation, or not one beat (a write: two); at: the line
    HomeRuleTag = 4'd7            // the tag belongs to an operation under way; at: the line
  } home_rule_e;

  typedef struct packed {
    home_rule_e  rule;
    logic [63:0] at;
  } home_violation_t;

endpackage
// verilator lint_on UNUSEDPARAM
