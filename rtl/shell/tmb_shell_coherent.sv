// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The coherent part of the shell: the directory with its home (tmb_home), the card's cache of the CPU's
// lines (tmb_host_lines), and the window of their registers. Each exists if the configuration has it.
//
// Cfg   Directory, Cache; NumSlots, NumChannels and ChannelBytesLog2 of the card
//
// In the window of registers the cache's begin at HostLinesBase, the directory's and the home's lie below. A part
// that does not exist takes no access, and all that it drives is zero.
//
// Throughput, latency, ordering, back-pressure, no deadlock: tmb_home and tmb_host_lines. Registers: one
// access at a time.

`include "tmb_assert.svh"

module tmb_shell_coherent
  import tmb_pkg::*;
  import tmb_shell_pkg::*;
  import tmb_home_pkg::*;
  import tmb_host_lines_pkg::*;
  import tmb_register_map_pkg::*;
#(
  parameter shell_cfg_t Cfg = DefaultShellCfg,
  localparam int unsigned NumSlots = Cfg.NumSlots,
  localparam bit HasDirectory = Cfg.Directory.Slices != 0,
  localparam int unsigned NumLinks = HasDirectory ? Cfg.Directory.Slices : 1,
  localparam int unsigned NumHomes = HasDirectory ? Cfg.NumSlots * Cfg.Directory.Slices : 1,
  localparam bit HasCache = Cfg.Cache.Sets != 0,
  localparam int unsigned NumCaches = HasCache ? NumLinks : 1,
  localparam int unsigned NumAccess = HasCache ? NumHomes : 1
) (
  input  logic clk_i,
  input  logic rst_ni,

  // Registers. One cycle a request; the access stays until the answer.
  input  logic        valid_i,
  input  access_t     access_i,
  output logic        done_o,
  output access_rsp_t rsp_o,

  // The slots.
  input  logic slot_live_i [NumSlots],       // out of reset
  input  logic slot_closed_i [NumSlots],     // by the guard
  output logic slot_idle_o [NumSlots],       // nothing is under way with the slot
  output logic slot_violation_o [NumSlots],  // its kernel broke a rule: one cycle
  output logic trouble_o,                    // directory or cache hold an error

  // The directory's link to the CPU, and the kernels behind it.
  input  home_link_req_t link_i [NumLinks],
  output home_link_rsp_t link_o [NumLinks],
  output axi_req_t       home_o [NumHomes],
  input  axi_rsp_t       home_i [NumHomes],
  input  line_req_t      line_i [NumHomes],
  output line_rsp_t      line_o [NumHomes],

  // The cache's link to the CPU, and the kernels before it.
  output cache_link_req_t  cache_o [NumCaches],
  input  cache_link_rsp_t  cache_i [NumCaches],
  input  line_access_req_t access_line_i [NumAccess],
  output line_access_rsp_t access_line_o [NumAccess],

  // A reader and a writer of the fabric for each slice.
  output logic            read_req_valid_o [NumLinks],
  input  logic            read_req_ready_i [NumLinks],
  output mem_req_t        read_req_o [NumLinks],
  input  logic            read_rsp_valid_i [NumLinks],
  output logic            read_rsp_ready_o [NumLinks],
  input  mem_read_rsp_t   read_rsp_i [NumLinks],
  output logic            write_req_valid_o [NumLinks],
  input  logic            write_req_ready_i [NumLinks],
  output mem_req_t        write_req_o [NumLinks],
  output logic            write_data_valid_o [NumLinks],
  input  logic            write_data_ready_i [NumLinks],
  output mem_write_data_t write_data_o [NumLinks],
  input  logic            write_rsp_valid_i [NumLinks],
  output logic            write_rsp_ready_o [NumLinks],
  input  mem_write_rsp_t  write_rsp_i [NumLinks]
);

  access_rsp_t home_rsp, host_rsp;
  logic home_done, host_done, to_host_lines, home_trouble, host_trouble;
  logic home_idle [NumSlots];
  logic home_violation [NumSlots];
  logic host_idle [NumSlots];
  logic host_violation [NumSlots];

  assign done_o = home_done || host_done;
  assign rsp_o = host_done ? host_rsp : home_rsp;
  assign trouble_o = home_trouble || host_trouble;
  for (genvar s = 0; s < NumSlots; s++) begin : gen_slot
    assign slot_idle_o[s] = home_idle[s] && host_idle[s];
    assign slot_violation_o[s] = home_violation[s] || host_violation[s];
  end

  // ---------------------------------------------------------------------------------------------
  // The CPU's lines
  // ---------------------------------------------------------------------------------------------

  if (HasCache) begin : gen_host_lines
    localparam int unsigned HostLinesBit = $clog2(HostLinesBase - DirectoryBase);
    assign to_host_lines = access_i.addr[HostLinesBit];
    tmb_host_lines #(
      .Cache(Cfg.Cache),
      .NumSlices(Cfg.Directory.Slices),
      .NumSlots(NumSlots)
    ) u_host_lines (
      .clk_i,
      .rst_ni,
      .valid_i(valid_i && to_host_lines),
      .access_i,
      .done_o(host_done),
      .rsp_o(host_rsp),
      .slot_live_i,
      .slot_closed_i,
      .slot_idle_o(host_idle),
      .slot_violation_o(host_violation),
      .trouble_o(host_trouble),
      .link_o(cache_o),
      .link_i(cache_i),
      .line_i(access_line_i),
      .line_o(access_line_o)
    );
  end else begin : gen_no_host_lines
    assign to_host_lines = 1'b0;
    assign host_done = 1'b0;
    assign host_rsp = '0;
    assign host_idle = '{default: 1'b1};
    assign host_violation = '{default: 1'b0};
    assign host_trouble = 1'b0;
    for (genvar l = 0; l < NumCaches; l++) begin : gen_cache
      assign cache_o[l] = '0;
    end
    for (genvar a = 0; a < NumAccess; a++) begin : gen_access
      assign access_line_o[a] = '0;
    end

    logic unused_ok;
    assign unused_ok = &{1'b0, cache_i[0], access_line_i[0]};
  end

  // ---------------------------------------------------------------------------------------------
  // Directory
  // ---------------------------------------------------------------------------------------------

  if (HasDirectory) begin : gen_home
    tmb_home #(
      .Directory(Cfg.Directory),
      .NumSlots(NumSlots),
      .NumChannels(Cfg.NumChannels),
      .ChannelBytesLog2(Cfg.ChannelBytesLog2)
    ) u_home (
      .clk_i,
      .rst_ni,
      .valid_i(valid_i && !to_host_lines),
      .access_i,
      .done_o(home_done),
      .rsp_o(home_rsp),
      .slot_live_i,
      .slot_closed_i,
      .slot_idle_o(home_idle),
      .slot_violation_o(home_violation),
      .trouble_o(home_trouble),
      .link_i,
      .link_o,
      .home_o,
      .home_i,
      .line_i,
      .line_o,
      .read_req_valid_o,
      .read_req_ready_i,
      .read_req_o,
      .read_rsp_valid_i,
      .read_rsp_ready_o,
      .read_rsp_i,
      .write_req_valid_o,
      .write_req_ready_i,
      .write_req_o,
      .write_data_valid_o,
      .write_data_ready_i,
      .write_data_o,
      .write_rsp_valid_i,
      .write_rsp_ready_o,
      .write_rsp_i
    );
  end else begin : gen_no_home
    assign home_done = 1'b0;
    assign home_rsp = '0;
    assign home_idle = '{default: 1'b1};
    assign home_violation = '{default: 1'b0};
    assign home_trouble = 1'b0;
    for (genvar l = 0; l < NumLinks; l++) begin : gen_link
      assign link_o[l] = '0;
    end
    for (genvar h = 0; h < NumHomes; h++) begin : gen_line
      assign home_o[h] = '0;
      assign line_o[h] = '0;
    end
    assign read_req_valid_o = '{default: 1'b0};
    assign read_req_o = '{default: '0};
    assign read_rsp_ready_o = '{default: 1'b0};
    assign write_req_valid_o = '{default: 1'b0};
    assign write_req_o = '{default: '0};
    assign write_data_valid_o = '{default: 1'b0};
    assign write_data_o = '{default: '0};
    assign write_rsp_ready_o = '{default: 1'b0};

    logic unused_ok;
    assign unused_ok = &{1'b0, clk_i, rst_ni, valid_i, access_i, to_host_lines, slot_live_i[0],
                         slot_closed_i[0], link_i[0], home_i[0], line_i[0], read_req_ready_i[0], read_rsp_valid_i[0], read_rsp_i[0],
                         write_req_ready_i[0], write_data_ready_i[0], write_rsp_valid_i[0],
                         write_rsp_i[0]};
  end

  `TMB_ASSERT_INIT(HostLinesAtTheirBit, HostLinesBase == DirectoryBase + (1 << $clog2(HostLinesBase - DirectoryBase)))
  `TMB_ASSERT_INIT(CacheNeedsDirectory, !HasCache || HasDirectory)

endmodule
