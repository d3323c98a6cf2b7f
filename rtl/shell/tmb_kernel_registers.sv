// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Registers of the kernels' identities: KERNELS of tmb_shell.rdl, one group a slot. They are the slots' pins:
// nothing is stored here.
//
// NumSlots   slots that exist; the others read as zero
//
// Throughput: an access a cycle. Latency: one cycle. Ordering: in order. No deadlock: waits for nothing.
// Writes change nothing.

`include "tmb_assert.svh"

module tmb_kernel_registers import tmb_shell_pkg::*; import tmb_register_map_pkg::*; #(
  parameter int unsigned NumSlots = 1
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  // From the generated block.
  input  array_req_t  req_i,
  output array_rsp_t  rsp_o,
  // Of the kernel in each slot.
  input  logic [63:0] identity_i [NumSlots]
);

  localparam int unsigned SlotWidth = NumSlots > 1 ? $clog2(NumSlots) : 1;

  logic [SlotWidth-1:0] index;
  logic [31:0] offset, word, unused_written;
  logic [63:0] identity;
  logic unused_write;

  tmb_array_access #(
    .NumElements(NumSlots),
    .StrideLog2($clog2(KernelStride))
  ) u_access (
    .clk_i,
    .rst_ni,
    .req_i,
    .rsp_o,
    .index_o(index),
    .offset_o(offset),
    .word_i(word),
    .written_o(unused_written),
    .write_o(unused_write)
  );

  assign identity = identity_i[index];
  always_comb begin
    unique case (offset)
      KernelIdentityLo: word = identity[31:0];
      KernelIdentityHi: word = identity[63:32];
      default: word = '0;
    endcase
  end

  `TMB_ASSERT_INIT(SlotsFitMap, NumSlots >= 1 && NumSlots <= 16)

  logic unused_ok;
  assign unused_ok = &{1'b0, unused_written, unused_write};

endmodule
