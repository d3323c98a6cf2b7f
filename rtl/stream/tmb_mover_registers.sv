// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Registers of the movers: the storage behind MOVERS of tmb_shell.rdl.
//
// NumMovers   movers that exist; the others read as zero and ignore writes
//
// Throughput: an access a cycle. Latency: one cycle. Ordering: in order. No deadlock: waits for nothing.
// State changes only on a write.

module tmb_mover_registers import tmb_pkg::*; import tmb_shell_pkg::*; import tmb_stream_pkg::*;
  import tmb_register_map_pkg::*; #(
  parameter int unsigned NumMovers = 2
) (
  input  logic           clk_i,
  input  logic           rst_ni,
  input  array_req_t     req_i,
  output array_rsp_t     rsp_o,
  output logic           start_o [NumMovers],  // one cycle each
  output mover_command_t command_o [NumMovers],
  input  mover_state_t   state_i [NumMovers]
);

  localparam int unsigned MoverWidth = $clog2(NumMovers);
  localparam int unsigned HighWidth = VirtAddrWidth - 32;

  mover_command_t command_q [NumMovers];
  logic start_q [NumMovers];

  logic [MoverWidth-1:0] index;
  logic [31:0] offset, word, written;
  logic write;

  tmb_array_access #(
    .NumElements(NumMovers),
    .StrideLog2($clog2(MoverStride))
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
      MoverAddressLo: word = command_q[index].addr[31:0];
      MoverAddressHi: word[HighWidth-1:0] = command_q[index].addr[VirtAddrWidth-1:32];
      MoverBytesLo: word = command_q[index].bytes[31:0];
      MoverBytesHi: word[HighWidth-1:0] = command_q[index].bytes[VirtAddrWidth-1:32];
      MoverControl: word[MoverControlLastLsb] = command_q[index].last;
      MoverStatus: begin
        word[MoverStatusBusyLsb] = state_i[index].busy;
        word[MoverStatusValidLsb] = state_i[index].valid;
        word[MoverStatusReadyLsb] = state_i[index].ready;
      end
      MoverMovedLo: word = state_i[index].moved[31:0];
      MoverMovedHi: word[HighWidth-1:0] = state_i[index].moved[VirtAddrWidth-1:32];
      default: word = '0;
    endcase
  end

  for (genvar m = 0; m < NumMovers; m++) begin : gen_mover
    logic mine;
    assign mine = write && index == MoverWidth'(m);

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        command_q[m] <= '0;
        start_q[m] <= 1'b0;
      end else begin
        start_q[m] <= mine && offset == MoverControl && written[MoverControlStartLsb];
        command_q[m].stop <= mine && offset == MoverControl && written[MoverControlStopLsb];
        if (mine) begin
          unique case (offset)
            MoverAddressLo: command_q[m].addr[31:0] <= written;
            MoverAddressHi: command_q[m].addr[VirtAddrWidth-1:32] <= written[HighWidth-1:0];
            MoverBytesLo: command_q[m].bytes[31:0] <= written;
            MoverBytesHi: command_q[m].bytes[VirtAddrWidth-1:32] <= written[HighWidth-1:0];
            MoverControl: command_q[m].last <= written[MoverControlLastLsb];
            default: ;
          endcase
        end
      end
    end

    assign start_o[m] = start_q[m];
    assign command_o[m] = command_q[m];
  end

endmodule
