// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Registers of the address spaces: the storage behind SPACES of tmb_shell.rdl.
//
// NumSpaces                       spaces that exist; the others read as zero and ignore writes
// NumChannels, ChannelBytesLog2   which stripes are possible; any other is stored as none
//
// Throughput: an access a cycle. Latency: one cycle. Ordering: in order. No deadlock: waits for nothing.
// State changes only on a write, and when the shell has moved a table (table_switch_i).

module tmb_space_registers import tmb_pkg::*; import tmb_shell_pkg::*;
  import tmb_register_map_pkg::*; #(
  parameter int unsigned NumSpaces = 4,
  parameter int unsigned NumChannels = 2,
  parameter int unsigned ChannelBytesLog2 = 34
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  array_req_t req_i,
  output array_rsp_t rsp_o,
  output space_cfg_t space_cfg_o [NumSpaces],
  output stripe_t    stripe_o [NumSpaces],
  input  table_switch_t table_switch_i
);

  localparam int unsigned SpaceWidth = NumSpaces > 1 ? $clog2(NumSpaces) : 1;
  localparam int unsigned SetsLog2Lsb = SpaceCtrlSetsLog2Lsb;
  localparam int unsigned EnableLsb = SpaceCtrlEnableLsb;
  localparam int unsigned GranuleLsb = SpaceCtrlStripeGranuleLog2Lsb;
  localparam int unsigned ChannelsLsb = SpaceCtrlStripeChannelsLog2Lsb;
  localparam int unsigned ClassesLsb = SpaceSizeClassesMaskLsb;
  localparam int unsigned L1OffLsb = SpaceModeL1OffLsb;
  localparam int unsigned WalkerOffLsb = SpaceModeWalkerOffLsb;

  space_cfg_t space_q [NumSpaces];
  stripe_t stripe_q [NumSpaces];

  logic [SpaceWidth-1:0] index;
  logic [31:0] offset, word, written;
  logic write;

  tmb_array_access #(
    .NumElements(NumSpaces),
    .StrideLog2($clog2(SpaceStride))
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

  // The addressed space as the host sees it, then with the written bits replaced, then back.
  space_cfg_t space, space_d;
  stripe_t stripe, stripe_d, asked;

  assign space = space_q[index];
  assign stripe = stripe_q[index];
  always_comb begin
    word = '0;
    unique case (offset)
      SpaceCtrl: begin
        word[EnableLsb] = space.enable;
        word[SetsLog2Lsb+:5] = space.table_sets_log2;
        word[GranuleLsb+:5] = stripe.granule_log2;
        word[ChannelsLsb+:3] = stripe.channels_log2;
      end
      SpaceTableBaseLo: word = space.table_base[31:0];
      SpaceTableBaseHi: word = 32'(space.table_base[CardAddrWidth-1:32]);
      SpaceSizeClasses: word[ClassesLsb+:MaxSizeClass+1] = space.size_classes;
      SpaceMode: begin
        word[L1OffLsb] = space.l1_off;
        word[WalkerOffLsb] = space.walker_off;
      end
      default: word = '0;
    endcase
  end

  always_comb begin
    space_d = space;
    stripe_d = stripe;
    asked = '{channels_log2: written[ChannelsLsb+:3], granule_log2: written[GranuleLsb+:5]};
    unique case (offset)
      SpaceCtrl: begin
        space_d.enable = written[EnableLsb];
        space_d.table_sets_log2 = written[SetsLog2Lsb+:5];
        // A space that is switched off keeps its stripe: bursts that have left may still be under way.
        if (written[EnableLsb]) stripe_d = '0;
        if (written[EnableLsb] && 32'(asked.channels_log2) <= $clog2(NumChannels) &&
            32'(asked.granule_log2) >= MinGranuleLog2 &&
            32'(asked.granule_log2) <= ChannelBytesLog2) begin
          stripe_d = asked;
        end
      end
      // Tables are aligned to rows at least.
      SpaceTableBaseLo: space_d.table_base[31:0] = {written[31:6], 6'd0};
      SpaceTableBaseHi: space_d.table_base[CardAddrWidth-1:32] = written[CardAddrWidth-33:0];
      SpaceSizeClasses: space_d.size_classes = written[ClassesLsb+:MaxSizeClass+1];
      SpaceMode: begin
        space_d.l1_off = written[L1OffLsb];
        space_d.walker_off = written[WalkerOffLsb];
      end
      default: space_d = space;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      for (int unsigned s = 0; s < NumSpaces; s++) begin
        space_q[s] <= '0;
        stripe_q[s] <= '0;
      end
    end else if (write) begin
      space_q[index] <= space_d;
      stripe_q[index] <= stripe_d;
    end
    if (table_switch_i.valid) begin
      space_q[SpaceWidth'(table_switch_i.asid)].table_base <= table_switch_i.table_base;
      space_q[SpaceWidth'(table_switch_i.asid)].table_sets_log2 <= table_switch_i.table_sets_log2;
    end
  end

  assign space_cfg_o = space_q;
  assign stripe_o = stripe_q;

endmodule
