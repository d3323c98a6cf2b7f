// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Stand-in for the clock buffer BUFG: a wire.

module BUFG (
  input  logic I,
  output logic O
);

  assign O = I;

endmodule
