// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Return half of the data network: responses of all channels to the requesters that they name.
//
// Each requester receives one response a cycle; when several channels have one for it they take
// turns, and the ones that wait stay where they are, at the head of their channel. Channels never
// wait for each other otherwise.
//
// Throughput: one response a cycle and requester. Latency: one cycle (output register). Ordering:
// a channel's responses stay in order; across channels there is none.
// Back-pressure: a requester that is not ready holds the channels whose head is for it.
// No deadlock: requesters ask only for what they have room for, so they are ready without waiting
// for anything else (contract of mem_req_t).

module tmb_fabric_return #(
  parameter type T = logic,
  parameter int unsigned NumChannels = 2,
  parameter int unsigned NumRequesters = 2,
  localparam int unsigned RequesterWidth = NumRequesters > 1 ? $clog2(NumRequesters) : 1
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      valid_i [NumChannels],
  output logic                      ready_o [NumChannels],
  input  logic [RequesterWidth-1:0] requester_i [NumChannels],
  input  T                          data_i [NumChannels],
  output logic                      valid_o [NumRequesters],
  input  logic                      ready_i [NumRequesters],
  output T                          data_o [NumRequesters]
);

  localparam int unsigned ChannelWidth = NumChannels > 1 ? $clog2(NumChannels) : 1;

  // Bit r: requester r takes the head of the channel.
  logic [NumRequesters-1:0] taken [NumChannels];

  for (genvar r = 0; r < NumRequesters; r++) begin : gen_requester
    logic [NumChannels-1:0] want, grant;
    logic [ChannelWidth-1:0] winner;
    logic any, accept;
    logic valid_q;
    T data_q;

    for (genvar c = 0; c < NumChannels; c++) begin : gen_channel
      assign want[c] = valid_i[c] && requester_i[c] == RequesterWidth'(r);
      assign taken[c][r] = grant[c] && accept;
    end

    tmb_round_robin_arbiter #(
      .NumRequests(NumChannels)
    ) u_arbiter (
      .clk_i,
      .rst_ni,
      .request_i(want),
      .accept_i(accept),
      .valid_o(any),
      .grant_o(grant),
      .index_o(winner)
    );

    assign accept = !valid_q || ready_i[r];

    always_ff @(posedge clk_i) begin
      if (!rst_ni) valid_q <= 1'b0;
      else if (accept) valid_q <= any;
    end
    always_ff @(posedge clk_i) begin
      if (accept && any) data_q <= data_i[winner];
    end

    assign valid_o[r] = valid_q;
    assign data_o[r] = data_q;
  end

  for (genvar c = 0; c < NumChannels; c++) begin : gen_ready
    assign ready_o[c] = |taken[c];
  end

endmodule
