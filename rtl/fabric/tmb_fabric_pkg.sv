// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Types of the fabric: what passes between a channel and its memory controller.

package tmb_fabric_pkg;

  import tmb_pkg::*;

  // Address phase of a read or a write: INCR, 64 bytes a beat. One ID, so none is named.
  typedef struct packed {
    logic [63:0] addr;  // offset within the channel
    logic [7:0]  len;
  } channel_ax_t;

  typedef struct packed {
    row_t row;
    logic last;
    logic error;
  } channel_r_t;

endpackage
