// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Common to kernels with streams of 64 bytes.

package kernel_stream_pkg;

  // How many of the bytes of a beat are kept; they are the first ones.
  function automatic logic [6:0] bytes_of(logic [63:0] keep);
    bytes_of = 7'd0;
    for (int unsigned i = 0; i < 64; i++) begin
      if (keep[i]) bytes_of = 7'(i + 1);
    end
  endfunction

  // TKEEP of a beat of `bytes` bytes.
  function automatic logic [63:0] keep_of(logic [6:0] bytes);
    for (int unsigned i = 0; i < 64; i++) keep_of[i] = 7'(i) < bytes;
  endfunction

endpackage
