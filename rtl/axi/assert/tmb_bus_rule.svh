// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// One rule of a bus, in a clocked process of an assertion module.
//
//   `TMB_BUS_RULE(Ours, Expression, Text)   who must keep it; what must hold; the rule, in words
//
// A party of ours that breaks a rule ends the simulation. A kernel that breaks one is reported once
// in the life of its slot (`reported_q`) and the simulation goes on: the slot's guard answers it.

`ifndef TMB_BUS_RULE_SVH
`define TMB_BUS_RULE_SVH

`define TMB_BUS_RULE(Ours, Expression, Text) \
  if (!(Expression)) begin \
    if (Ours) $error("%m breaks a rule of AXI: %s", Text); \
    else if (!reported_q) begin \
      $display("%m: the kernel breaks a rule of AXI: %s", Text); \
      reported_q <= 1'b1; \
    end \
  end

`endif
