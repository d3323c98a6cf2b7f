// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// When the directory is swept: on the host's demand, and when the kernel that served lines, or sent operations on
// them, goes. Then until nothing of it is left: a sweep releases the locks that are granted when it passes, and
// operations that the directory still has may be granted behind it; so another sweep follows if any were under way.
//
// Throughput: a sweep at a time. Latency: a cycle to a sweep on demand, Gap cycles to one behind a kernel that goes.
// Ordering: a kernel that goes ends a sweep on demand. State changes only then, and when a sweep ends.
// No deadlock: a sweep ends without the kernel, and what is under way in the directory, too.

module tmb_home_sweeps (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic goes_i,             // one cycle: a kernel that was there is not any more
  input  logic recall_i,           // the host wants all lines home
  input  logic operations_left_i,  // the directory has operations of the kernel
  output logic sweep_o,            // until swept_i
  input  logic swept_i,
  output logic closing_o           // something of a kernel that is gone may be left: no kernel is let in
);

  // Cycles before each sweep of a kernel that is gone: what it sent has reached the directory.
  localparam int unsigned Gap = 8;

  typedef enum logic [1:0] {
    StRest,
    StOpen,    // on demand: the lines come home to whoever is there
    StClosed,  // whoever was there is gone
    StGap      // before the next sweep of the same
  } state_e;

  state_e state_q, state_d;
  logic left_q, left_d;
  logic [$clog2(Gap)-1:0] gap_q;

  always_comb begin
    state_d = state_q;
    left_d = left_q;
    unique case (state_q)
      StRest: begin
        if (goes_i) state_d = StGap;
        else if (recall_i) state_d = StOpen;
      end
      StOpen: begin
        if (goes_i) state_d = StGap;
        else if (swept_i) state_d = StRest;
      end
      StGap: begin
        left_d = operations_left_i;
        if (gap_q == '1) state_d = StClosed;
      end
      default: begin
        // Lines granted since this sweep began are seen by the next; so are those of its last cycle.
        left_d = left_q || goes_i;
        if (swept_i) state_d = left_d ? StGap : StRest;
      end
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StRest;
      left_q <= 1'b0;
      gap_q <= '0;
    end else begin
      state_q <= state_d;
      left_q <= left_d;
      gap_q <= state_q == StGap ? gap_q + 1'b1 : '0;
    end
  end

  assign sweep_o = state_q == StOpen || state_q == StClosed;
  assign closing_o = state_q == StClosed || state_q == StGap;

endmodule
