// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Counters of the streams: what is behind STREAMS of tmb_shell.rdl.
//
// NumStreams   streams that exist; the others read as zero
//
// 32-bit, wrapping, read only; one adds 1 for each pulse of its event. An access is acknowledged in
// the next cycle. State changes only when something is counted.

module tmb_stream_counters import tmb_pkg::*; import tmb_shell_pkg::*;
  import tmb_register_map_pkg::*; #(
  parameter int unsigned NumStreams = 4
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  array_req_t   req_i,
  output array_rsp_t   rsp_o,
  input  port_events_t events_i [NumStreams]
);

  localparam int unsigned StreamWidth = NumStreams > 1 ? $clog2(NumStreams) : 1;
  localparam int unsigned StrideLog2 = $clog2(StreamStride);
  localparam int unsigned NumWords = StreamRetry / 4 + 1;

  logic [31:0] count_q [NumStreams][NumWords];

  for (genvar s = 0; s < NumStreams; s++) begin : gen_stream
    logic [NumWords-1:0] pulse;

    always_comb begin
      pulse = '0;
      pulse[StreamLookupHit/4] = events_i[s].lookup_hit;
      pulse[StreamLookupMiss/4] = events_i[s].lookup_miss;
      pulse[StreamWalkHit/4] = events_i[s].walk_hit;
      pulse[StreamWalkMiss/4] = events_i[s].walk_miss;
      pulse[StreamFault/4] = events_i[s].fault;
      pulse[StreamRetry/4] = events_i[s].retry;
    end

    for (genvar w = 0; w < NumWords; w++) begin : gen_word
      always_ff @(posedge clk_i) begin
        if (!rst_ni) count_q[s][w] <= '0;
        else if (pulse[w]) count_q[s][w] <= count_q[s][w] + 1'b1;
      end
    end
  end

  logic [12:0] number;
  logic [StrideLog2-3:0] word;
  logic exists;

  assign number = req_i.addr >> StrideLog2;
  assign word = req_i.addr[StrideLog2-1:2];
  assign exists = 32'(number) < NumStreams && 32'(word) < NumWords;

  array_rsp_t rsp_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      rsp_q <= '0;
    end else begin
      rsp_q.read_ack <= req_i.valid && !req_i.write;
      rsp_q.write_ack <= req_i.valid && req_i.write;
      if (req_i.valid) rsp_q.data <= exists ? count_q[StreamWidth'(number)][word] : '0;
    end
  end

  assign rsp_o = rsp_q;

  logic unused_ok;
  assign unused_ok = &{1'b0, req_i.addr[1:0], req_i.data, req_i.mask};

endmodule
