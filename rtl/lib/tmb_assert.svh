// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Assertion macros. A module that uses them has a clock `clk_i` and a reset `rst_ni`.
//
//   `TMB_ASSERT_INIT(Name, Expression)       parameter legality; fails when the design starts
//   `TMB_ASSERT(Name, Property)              holds at every rising edge outside reset
//   `TMB_ASSERT_STABLE(Name, Valid, Ready, Data)
//                                            an offer that was not taken stays, unchanged
//
// Synthesis tools that define SYNTHESIS (yosys-slang does) do not see them; nothing else may depend
// on that symbol. Models that are built to run fast define TMB_NO_ASSERT: of these macros they have
// TMB_ASSERT_INIT alone, which costs nothing once the design has started.

`ifndef TMB_ASSERT_SVH
`define TMB_ASSERT_SVH

`ifdef SYNTHESIS

`define TMB_ASSERT_INIT(Name, Expression)
`define TMB_ASSERT(Name, Property)
`define TMB_ASSERT_STABLE(Name, Valid, Ready, Data)

`else

`define TMB_ASSERT_INIT(Name, Expression) \
  initial begin : Name \
    if (!(Expression)) $fatal(1, "%m: illegal parameter: %s", `"Expression`"); \
  end

`ifdef TMB_NO_ASSERT

`define TMB_ASSERT(Name, Property)
`define TMB_ASSERT_STABLE(Name, Valid, Ready, Data)

`else

`define TMB_ASSERT(Name, Property) \
  Name : assert property (@(posedge clk_i) disable iff (!rst_ni) (Property)) \
  else $error("%m: %s does not hold", `"Property`");

`define TMB_ASSERT_STABLE(Name, Valid, Ready, Data) \
  Name : assert property (@(posedge clk_i) disable iff (!rst_ni) \
      ((Valid) && !(Ready)) |=> ((Valid) && $stable(Data))) \
  else $error("%m: %s was withdrawn or changed before it was taken", `"Valid`");

`endif

`endif

`endif
