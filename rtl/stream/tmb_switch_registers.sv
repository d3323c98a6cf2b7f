// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Registers of the stream switch: the storage behind SWITCHES of tmb_shell.rdl, one group an incoming port.
//
// NumPairs   stream pairs that exist; the others read as zero and ignore writes
//
// Throughput: an access a cycle. Latency: one cycle. Ordering: in order. No deadlock: waits for nothing.
// State changes only on a write.

module tmb_switch_registers import tmb_pkg::*; import tmb_shell_pkg::*; import tmb_stream_pkg::*;
  import tmb_register_map_pkg::*; #(
  parameter int unsigned NumPairs = 2
) (
  input  logic           clk_i,
  input  logic           rst_ni,
  input  array_req_t     req_i,
  output array_rsp_t     rsp_o,
  output stream_source_t source_o [NumPairs],
  output logic           forget_o [NumPairs],  // SOURCE was written: one cycle
  input  switch_state_t  state_i [NumPairs]
);

  localparam int unsigned IndexWidth = NumPairs > 1 ? $clog2(NumPairs) : 1;
  localparam int unsigned PairWidth = $bits(pair_t);

  stream_source_t source_q [NumPairs];
  logic forget_q [NumPairs];

  logic [IndexWidth-1:0] index;
  logic [31:0] offset, word, written;
  logic write, exists;
  stream_source_t source;

  tmb_array_access #(
    .NumElements(NumPairs),
    .StrideLog2($clog2(SwitchStride))
  ) u_access (
    .clk_i,
    .rst_ni,
    .req_i,
    .rsp_o,
    .index_o(index),
    .offset_o(offset),
    .word_i(word),
    .written_o(written),
    .write_o(write)
  );

  always_comb begin
    word = '0;
    unique case (offset)
      SwitchSource: begin
        word[SwitchSourceFromPortLsb] = source_q[index].from_port;
        word[SwitchSourcePairLsb+:PairWidth] = source_q[index].pair;
      end
      SwitchState: begin
        word[SwitchStateFromPortLsb] = state_i[index].source.from_port;
        word[SwitchStatePendingLsb] = state_i[index].pending;
        word[SwitchStateBrokenLsb] = state_i[index].broken;
        word[SwitchStateValidLsb] = state_i[index].valid;
        word[SwitchStateReadyLsb] = state_i[index].ready;
        word[SwitchStatePairLsb+:PairWidth] = state_i[index].source.pair;
      end
      default: word = '0;
    endcase
  end

  // An outgoing port that does not exist is the mover.
  assign exists = written[SwitchSourcePairLsb+:8] < 8'(NumPairs);
  assign source = (written[SwitchSourceFromPortLsb] && exists)
      ? '{from_port: 1'b1, pair: written[SwitchSourcePairLsb+:PairWidth]} : '0;

  for (genvar p = 0; p < NumPairs; p++) begin : gen_pair
    logic mine;
    assign mine = write && index == IndexWidth'(p) && offset == SwitchSource;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        source_q[p] <= '0;
        forget_q[p] <= 1'b0;
      end else begin
        forget_q[p] <= mine;
        if (mine) source_q[p] <= source;
      end
    end

    assign source_o[p] = source_q[p];
    assign forget_o[p] = forget_q[p];
  end

endmodule
