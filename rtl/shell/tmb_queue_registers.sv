// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Registers of the command queues: the storage behind QUEUES of tmb_shell.rdl.
//
// NumQueues   queues that exist; the others read as zero and ignore writes
//
// An access is acknowledged in the next cycle. State changes only on a write.

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
  localparam int unsigned StrideLog2 = $clog2(QueueStride);

  ring_t ring_q [NumQueues];

  logic [12:0] number;
  logic [IndexWidth-1:0] index;
  logic [StrideLog2-1:0] offset;
  logic exists;

  assign number = req_i.addr >> StrideLog2;
  assign index = IndexWidth'(number);
  assign offset = req_i.addr[StrideLog2-1:0];
  assign exists = 32'(number) < NumQueues;

  // The addressed queue as the host sees it, then with the written bits replaced, then back.
  logic [31:0] word, written;
  ring_t ring, ring_d;

  assign ring = ring_q[index];
  always_comb begin
    word = '0;
    unique case (32'(offset))
      QueueBaseLo: word = ring.base[31:0];
      QueueBaseHi: word = ring.base[63:32];
      QueueSizeLog2: word = 32'(ring.size_log2);
      QueueTail: word = ring.host_count;
      QueueHead: word = head_i[index];
      default: word = '0;
    endcase
  end

  assign written = (word & ~req_i.mask) | (req_i.data & req_i.mask);
  always_comb begin
    ring_d = ring;
    unique case (32'(offset))
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
    end else if (req_i.valid && req_i.write && exists) begin
      ring_q[index] <= ring_d;
    end
  end

  array_rsp_t rsp_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      rsp_q <= '0;
    end else begin
      rsp_q.read_ack <= req_i.valid && !req_i.write;
      rsp_q.write_ack <= req_i.valid && req_i.write;
      if (req_i.valid) rsp_q.data <= exists ? word : '0;
    end
  end

  assign rsp_o = rsp_q;
  assign ring_o = ring_q;

endmodule
