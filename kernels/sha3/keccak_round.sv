// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// One round of Keccak-f[1600] (FIPS 202, section 3.2). Combinational. Lane x, y of 64 bits is number x + 5 y.

module keccak_round (
  // 0 to 23.
  input  logic [4:0]    round_i,
  input  logic [1599:0] state_i,
  output logic [1599:0] state_o
);

  typedef logic [63:0] lane_t;

  // FIPS 202, algorithm 5.
  localparam lane_t RoundConstant [24] = '{
    64'h0000000000000001, 64'h0000000000008082, 64'h800000000000808a, 64'h8000000080008000,
    64'h000000000000808b, 64'h0000000080000001, 64'h8000000080008081, 64'h8000000000008009,
    64'h000000000000008a, 64'h0000000000000088, 64'h0000000080008009, 64'h000000008000000a,
    64'h000000008000808b, 64'h800000000000008b, 64'h8000000000008089, 64'h8000000000008003,
    64'h8000000000008002, 64'h8000000000000080, 64'h000000000000800a, 64'h800000008000000a,
    64'h8000000080008081, 64'h8000000000008080, 64'h0000000080000001, 64'h8000000080008008
  };

  // FIPS 202, table 2, modulo 64, by number of the lane.
  localparam int unsigned Offset [25] = '{
    0, 1, 62, 28, 27, 36, 44, 6, 55, 20, 3, 10, 43, 25, 39, 41, 45, 15, 21, 8, 18, 2, 61, 56, 14
  };

  function automatic lane_t rotate(lane_t lane, int unsigned by);
    return (lane << by) | (lane >> ((64 - by) % 64));
  endfunction

  lane_t column [5], theta [25], moved [25];

  always_comb begin
    for (int unsigned x = 0; x < 5; x++) begin
      column[x] = '0;
      for (int unsigned y = 0; y < 5; y++) column[x] ^= state_i[64*(x+5*y)+:64];
    end
    for (int unsigned n = 0; n < 25; n++) begin
      theta[n] = state_i[64*n+:64] ^ column[(n%5+4)%5] ^ rotate(column[(n%5+1)%5], 1);
    end
    for (int unsigned x = 0; x < 5; x++) begin
      for (int unsigned y = 0; y < 5; y++) begin
        moved[y+5*((2*x+3*y)%5)] = rotate(theta[x+5*y], Offset[x+5*y]);
      end
    end
    for (int unsigned n = 0; n < 25; n++) begin
      state_o[64*n+:64] = moved[n] ^ (~moved[5*(n/5)+(n%5+1)%5] &
          moved[5*(n/5)+(n%5+2)%5]);
    end
    state_o[63:0] = state_o[63:0] ^ RoundConstant[round_i];
  end

endmodule
