// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Router: which channel a request is for. Card address = {channel, offset}.
//
// NumRequesters     requests that are looked at side by side
// Cfg               the channels (channels_cfg_t)
//
// Combinational; every requester has its own lane, so there is no throughput to share. A requester
// is ready when the channel that its request names takes it. Address bits above the channel number
// are ignored: the source of the address (translator, DMA decoder) has checked it.

`include "tmb_assert.svh"

module tmb_fabric_router import tmb_pkg::*; import tmb_fabric_pkg::*; #(
  parameter int unsigned NumRequesters = 1,
  parameter channels_cfg_t Cfg = DefaultChannelsCfg,
  localparam int unsigned MemoryChannels = Cfg.NumChannels,
  localparam int unsigned NumChannels = MemoryChannels + 32'(Cfg.HostChannel),
  localparam int unsigned MemoryWidth = MemoryChannels > 1 ? $clog2(MemoryChannels) : 1,
  localparam int unsigned ChannelWidth = NumChannels > 1 ? $clog2(NumChannels) : 1
) (
  input  logic                     valid_i [NumRequesters],
  output logic                     ready_o [NumRequesters],
  input  piece_t                   req_i [NumRequesters],
  output logic [ChannelWidth-1:0]  channel_o [NumRequesters],
  // Per channel, one bit a requester.
  output logic [NumRequesters-1:0] channel_valid_o [NumChannels],
  input  logic [NumRequesters-1:0] channel_ready_i [NumChannels]
);

  for (genvar r = 0; r < NumRequesters; r++) begin : gen_requester
    logic [ChannelWidth-1:0] memory_channel;
    if (MemoryChannels > 1) begin : gen_many
      assign memory_channel = ChannelWidth'(req_i[r].addr[Cfg.ChannelBytesLog2+:MemoryWidth]);
    end else begin : gen_one
      assign memory_channel = '0;
    end
    if (Cfg.HostChannel) begin : gen_host
      assign channel_o[r] =
          req_i[r].addr[HostWindowBit] ? ChannelWidth'(MemoryChannels) : memory_channel;
    end else begin : gen_memory
      assign channel_o[r] = memory_channel;
    end
    assign ready_o[r] = channel_ready_i[channel_o[r]][r];
    for (genvar c = 0; c < NumChannels; c++) begin : gen_channel
      assign channel_valid_o[c][r] = valid_i[r] && channel_o[r] == ChannelWidth'(c);
    end

    logic unused_ok;
    assign unused_ok = &{1'b0, req_i[r]};
  end

  `TMB_ASSERT_INIT(ChannelsArePowerOfTwo, (MemoryChannels & (MemoryChannels - 1)) == 0)
  `TMB_ASSERT_INIT(ChannelsFitAddress, Cfg.ChannelBytesLog2 + $clog2(MemoryChannels)
      <= CardAddrWidth - 32'(Cfg.HostChannel))

endmodule
