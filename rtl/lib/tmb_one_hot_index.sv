// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The number of the bit that is set; 0 when none is. Of several, the union of their numbers.
// Combinational.

module tmb_one_hot_index #(
  parameter int unsigned Width = 2,
  localparam int unsigned IndexWidth = Width > 1 ? $clog2(Width) : 1
) (
  input  logic [Width-1:0]      one_hot_i,
  output logic [IndexWidth-1:0] index_o
);

  always_comb begin
    index_o = '0;
    for (int unsigned i = 0; i < Width; i++) begin
      if (one_hot_i[i]) index_o |= IndexWidth'(i);
    end
  end

endmodule
