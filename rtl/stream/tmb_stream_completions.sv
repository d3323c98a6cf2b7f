// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Ends of transfers, one after the other, for the event writer. Movers take turns.
//
// NumMovers   at least two
//
// Throughput: one each second cycle. Latency: 1 cycle. Ordering: by turns. Back-pressure: a mover whose
// end has not been taken begins no other transfer.
// No deadlock: waits for room in the event ring only.

module tmb_stream_completions
  import tmb_stream_pkg::*;
#(
  parameter int unsigned NumMovers = 2,
  localparam int unsigned IndexWidth = $clog2(NumMovers)
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        done_valid_i [NumMovers],
  output logic        done_ready_o [NumMovers],
  input  mover_done_t done_i [NumMovers],

  output logic        valid_o,
  input  logic        ready_i,
  output logic [7:0]  mover_o,
  output mover_done_t done_o
);

  logic [NumMovers-1:0] request, grant;
  logic [IndexWidth-1:0] index;
  logic any, take, valid_q;
  logic [7:0] mover_q;
  mover_done_t done_q;

  for (genvar m = 0; m < NumMovers; m++) begin : gen_mover
    assign request[m] = done_valid_i[m];
    assign done_ready_o[m] = take && grant[m];
  end

  tmb_round_robin_arbiter #(
    .NumRequests(NumMovers)
  ) i_movers (
    .clk_i    (clk_i),
    .rst_ni   (rst_ni),
    .request_i(request),
    .accept_i (take),
    .valid_o  (any),
    .grant_o  (grant),
    .index_o  (index)
  );

  assign take = any && !valid_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (take) valid_q <= 1'b1;
    else if (ready_i) valid_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (take) begin
      mover_q <= 8'(index);
      done_q <= done_i[index];
    end
  end

  assign valid_o = valid_q;
  assign mover_o = mover_q;
  assign done_o = done_q;

endmodule
