// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Registers of the command queues: the storage behind QUEUES of tmb_shell.rdl.
//
// NumQueues   queues that exist; the others read as zero and ignore writes
//
// Throughput: an access a cycle. Latency: one cycle. Ordering: in order. No deadlock: waits for nothing.
// State changes only on a write.

module tmb_queue_registers import tmb_pkg::*; import tmb_dma_pkg::*; import tmb_shell_pkg::*;
  import tmb_register_map_pkg::*; #(
  parameter int unsigned NumQueues = 1
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  array_req_t  req_i,
  output array_rsp_t  rsp_o,
  output ring_t       ring_o [NumQueues],
  input  logic [31:0] head_i [NumQueues]
);

  localparam int unsigned IndexWidth = NumQueues > 1 ? $clog2(NumQueues) : 1;

  ring_t ring_q [NumQueues];

  logic [IndexWidth-1:0] index;
  logic [31:0] offset, word, written;
  logic write;

  tmb_array_access #(
    .NumElements(NumQueues),
    .StrideLog2($clog2(QueueStride))
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

  // The addressed queue as the host sees it, then with the written bits replaced, then back.
  ring_t ring, ring_d;

  assign ring = ring_q[index];
  always_comb begin
    word = '0;
    unique case (offset)
      QueueBaseLo: word = ring.base[31:0];
      QueueBaseHi: word = ring.base[63:32];
      QueueSizeLog2: word = 32'(ring.size_log2);
      QueueTail: word = ring.host_count;
      QueueHead: word = head_i[index];
      default: word = '0;
    endcase
  end

  always_comb begin
    ring_d = ring;
    unique case (offset)
      QueueBaseLo: ring_d.base[31:0] = written;
      QueueBaseHi: ring_d.base[63:32] = written;
      QueueSizeLog2: ring_d.size_log2 = written[4:0];
      QueueTail: ring_d.host_count = written;
      default: ring_d = ring;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      for (int unsigned q = 0; q < NumQueues; q++) ring_q[q] <= '0;
    end else if (write) begin
      ring_q[index] <= ring_d;
    end
  end

  assign ring_o = ring_q;

endmodule
