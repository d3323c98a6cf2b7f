// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Registers of the ports' guards: PORTS of tmb_shell.rdl, all of them read-only.
//
// NumPorts   ports that exist; the others read as zero
//
// Throughput: an access a cycle. Latency: two cycles. Ordering: in order. No deadlock: waits for nothing.
// Nothing is stored here but the answer.

module tmb_guard_registers import tmb_guard_pkg::*; import tmb_shell_pkg::*;
  import tmb_register_map_pkg::*; #(
  parameter int unsigned NumPorts = 1
) (
  input  logic          clk_i,
  input  logic          rst_ni,
  input  array_req_t    req_i,
  output array_rsp_t    rsp_o,
  input  guard_status_t status_i [NumPorts]
);

  localparam int unsigned PortWidth = NumPorts > 1 ? $clog2(NumPorts) : 1;
  localparam int unsigned StrideLog2 = $clog2(PortStride);

  logic [12:0] number;
  logic [PortWidth-1:0] index;
  logic [StrideLog2-1:0] offset;

  assign number = req_i.addr >> StrideLog2;
  assign index = PortWidth'(number);
  assign offset = req_i.addr[StrideLog2-1:0];

  // The element is chosen first and its word a cycle later: few levels, and nothing moves without an
  // access.
  guard_status_t status_q;
  logic [StrideLog2-1:0] offset_q;
  logic read_q, write_q;
  array_rsp_t rsp_q;

  logic [31:0] word;
  always_comb begin
    word = '0;
    unique case (32'(offset_q))
      PortViolation: begin
        word[PortViolationRuleLsb+:4] = status_q.violation.rule;
        word[PortViolationChannelLsb+:2] = status_q.violation.channel;
        word[PortViolationSizeLsb+:3] = status_q.violation.size;
        word[PortViolationBurstLsb+:2] = status_q.violation.burst;
        word[PortViolationBeatLsb+:8] = status_q.violation.beat;
        word[PortViolationLenLsb+:8] = status_q.violation.len;
      end
      PortAddressLo: word = status_q.violation.addr[31:0];
      PortAddressHi: word = status_q.violation.addr[63:32];
      PortReads: begin
        word[PortReadsOutstandingLsb+:WaitWidth] = status_q.reads.outstanding;
        word[PortReadsAddressOfferedLsb] = status_q.reads.address_offered;
        word[PortReadsResponseOfferedLsb] = status_q.reads.response_offered;
        word[PortReadsKernelWaitLsb+:WaitWidth] = status_q.reads.kernel_wait;
      end
      PortWrites: begin
        word[PortWritesOutstandingLsb+:WaitWidth] = status_q.writes.outstanding;
        word[PortWritesAddressOfferedLsb] = status_q.writes.address_offered;
        word[PortWritesResponseOfferedLsb] = status_q.writes.response_offered;
        word[PortWritesDataAwaitedLsb] = status_q.collection.starved;
        word[PortWritesDataOfferedLsb] = status_q.data_offered;
        word[PortWritesKernelWaitLsb+:WaitWidth] = status_q.writes.kernel_wait;
      end
      PortWriteBeat: begin
        word[PortWriteBeatBeatsLsb+:8] = status_q.collection.beats;
        word[PortWriteBeatLenLsb+:8] = status_q.collection.len;
        word[PortWriteBeatValidLsb] = status_q.collection.valid;
      end
      PortWriteAddressLo: word = status_q.collection.addr[31:0];
      PortWriteAddressHi: word = status_q.collection.addr[63:32];
      default: word = '0;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (req_i.valid) begin
      status_q <= (32'(number) < NumPorts) ? status_i[index] : '0;
      offset_q <= offset;
    end
    if (read_q) rsp_q.data <= word;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_q <= 1'b0;
      write_q <= 1'b0;
      rsp_q.read_ack <= 1'b0;
      rsp_q.write_ack <= 1'b0;
    end else begin
      read_q <= req_i.valid && !req_i.write;
      write_q <= req_i.valid && req_i.write;
      rsp_q.read_ack <= read_q;
      rsp_q.write_ack <= write_q;
    end
  end

  assign rsp_o = rsp_q;

  logic unused_ok;
  assign unused_ok = &{1'b0, req_i};

endmodule
