// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Counts how often the next row over the slot boundary is another slot's than the row before, in one
// direction: context switches. Of rows that move in the same cycle, that of the lower slot comes first.
//
// NumSlots   slots
//
// 32-bit, wrapping. Latency: a cycle from the row to the count. State changes only when a row moves.
// No deadlock: waits for nothing.
//
// Source: vFPIO section 6.4.1, figure 6b.

module tmb_owner_changes #(
  parameter int unsigned NumSlots = 1
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic [NumSlots-1:0] moved_i,  // a port of the slot has moved a row
  output logic [31:0]         count_o
);

  if (NumSlots == 1) begin : gen_single
    assign count_o = '0;

    logic unused_ok;
    assign unused_ok = &{1'b0, clk_i, rst_ni, moved_i};
  end else begin : gen_count
    localparam int unsigned CountWidth = $clog2(NumSlots + 1);
    typedef logic [NumSlots-1:0] slots_t;

    slots_t moved_q, last_q, first, last;
    logic [CountWidth-1:0] movers, changes;
    logic [31:0] count_q;

    // The lowest and the highest that moved; last_q is 0 until one has.
    always_comb begin
      first = moved_q & (~moved_q + slots_t'(1));
      last = '0;
      movers = '0;
      for (int unsigned s = 0; s < NumSlots; s++) begin
        if (moved_q[s]) last = slots_t'(1) << s;
        movers += CountWidth'(moved_q[s]);
      end
      changes = movers - CountWidth'(last_q == '0 || first == last_q);
    end

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        moved_q <= '0;
        last_q <= '0;
        count_q <= '0;
      end else begin
        moved_q <= moved_i;
        if (moved_q != '0) begin
          last_q <= last;
          count_q <= count_q + 32'(changes);
        end
      end
    end

    assign count_o = count_q;
  end

endmodule
