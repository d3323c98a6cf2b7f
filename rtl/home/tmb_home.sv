// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The directory in a shell, with slots or card memory behind it: tmb_directory, a guard for each of its
// slices (tmb_home_guard), the route from slices to a slot or to memory (tmb_home_memory), and their
// registers.
//
// Directory                       geometry; at least one slice
// NumSlots                        slots of the shell
// NumChannels, ChannelBytesLog2   card memory
//
// home_* and line_* have an element for each slot and slice: slot * slices + slice.
//
// Registers, from the start of the window: the directory's (docs/directory_registers.md) at 0, the
// route's and the guards' (docs/home_registers.md) at 0x1000.
//
// When the agent behind the directory goes (its slot is closed or reset, or the route changes), the directory
// is swept: lines that the CPU has are recalled, what it writes back is dropped, and locks are released. Only
// then does the next one come. RECALL does the first half while the kernel is still there.
//
// All slices lie in front of one slot at a time, or of card memory. A slot may go with card memory: its kernel sends
// line operations for the lines that memory serves. When such a kernel goes, the same sweep releases its locks, and what
// the CPU writes back reaches memory. Without slot and memory the shell answers:
// reads end with zeroes and SLVERR, writes are dropped with SLVERR.
//
// Throughput, latency, ordering, back-pressure, no deadlock: tmb_directory_slice and tmb_home_guard; the
// link's inputs pass a register more. Registers: one access at a time.
//
// Source: CCKit, sections 3.2 and 3.3, figure 2; docs/blocks/home.md.

`include "tmb_assert.svh"

module tmb_home
  import tmb_pkg::*;
  import tmb_directory_pkg::*;
  import tmb_home_pkg::*;
  import tmb_shell_pkg::*;
  import tmb_register_map_pkg::*;
#(
  parameter directory_cfg_t Directory = '{Slices: 1, UnitsPerSlice: 2, SetsPerUnit: 16, Ways: 4},
  parameter int unsigned NumSlots = 1,
  parameter int unsigned NumChannels = 2,
  parameter int unsigned ChannelBytesLog2 = 34,
  localparam int unsigned NumLinks = Directory.Slices,
  localparam int unsigned NumHomes = NumSlots * Directory.Slices
) (
  input  logic clk_i,
  input  logic rst_ni,

  // One cycle a request; the access stays until the answer.
  input  logic        valid_i,
  input  access_t     access_i,
  output logic        done_o,
  output access_rsp_t rsp_o,

  // The slots.
  input  logic slot_live_i [NumSlots],       // out of reset
  input  logic slot_closed_i [NumSlots],     // by the guard
  output logic slot_idle_o [NumSlots],       // the directory has nothing under way with the slot
  output logic slot_violation_o [NumSlots],  // its kernel broke a rule: one cycle
  output logic trouble_o,                    // the directory holds an error

  // The link to the CPU, one element a slice.
  input  home_link_req_t link_i [NumLinks],
  output home_link_rsp_t link_o [NumLinks],

  // The kernels, one element a slot and slice: lines to serve, and their own operations.
  output axi_req_t  home_o [NumHomes],
  input  axi_rsp_t  home_i [NumHomes],
  input  line_req_t line_i [NumHomes],
  output line_rsp_t line_o [NumHomes],

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

  localparam home_memory_cfg_t MemoryCfg = '{
      NumSlices: NumLinks,
      NumChannels: NumChannels,
      ChannelBytesLog2: ChannelBytesLog2,
      NumReads: DefaultHomeMemoryCfg.NumReads
  };
  localparam int unsigned SlotWidth = NumSlots > 1 ? $clog2(NumSlots) : 1;

  // ---------------------------------------------------------------------------------------------
  // Link
  // ---------------------------------------------------------------------------------------------

  logic request_valid [NumLinks];
  logic request_ready [NumLinks];
  link_header_t request [NumLinks];
  logic request_data_valid [NumLinks];
  logic request_data_ready [NumLinks];
  link_data_t request_data [NumLinks];
  logic response_valid [NumLinks];
  logic response_ready [NumLinks];
  link_header_t response [NumLinks];
  logic response_data_valid [NumLinks];
  logic response_data_ready [NumLinks];
  link_data_t response_data [NumLinks];
  link_header_t forward_out [NumLinks];
  link_header_t response_out [NumLinks];
  link_data_t response_data_out [NumLinks];
  logic forward_out_valid [NumLinks];
  logic forward_out_ready [NumLinks];
  logic response_out_valid [NumLinks];
  logic response_out_ready [NumLinks];
  logic response_data_out_valid [NumLinks];
  logic response_data_out_ready [NumLinks];

  for (genvar s = 0; s < NumLinks; s++) begin : gen_link
    logic in_ready_request, in_ready_request_data, in_ready_response, in_ready_response_data;
    tmb_spill_register #(
      .T(link_header_t)
    ) u_request (
      .clk_i,
      .rst_ni,
      .in_valid_i(link_i[s].request_valid),
      .in_ready_o(in_ready_request),
      .in_data_i(link_i[s].request),
      .out_valid_o(request_valid[s]),
      .out_ready_i(request_ready[s]),
      .out_data_o(request[s])
    );
    tmb_spill_register #(
      .T(link_data_t)
    ) u_request_data (
      .clk_i,
      .rst_ni,
      .in_valid_i(link_i[s].request_data_valid),
      .in_ready_o(in_ready_request_data),
      .in_data_i(link_i[s].request_data),
      .out_valid_o(request_data_valid[s]),
      .out_ready_i(request_data_ready[s]),
      .out_data_o(request_data[s])
    );
    tmb_spill_register #(
      .T(link_header_t)
    ) u_response (
      .clk_i,
      .rst_ni,
      .in_valid_i(link_i[s].response_valid),
      .in_ready_o(in_ready_response),
      .in_data_i(link_i[s].response),
      .out_valid_o(response_valid[s]),
      .out_ready_i(response_ready[s]),
      .out_data_o(response[s])
    );
    tmb_spill_register #(
      .T(link_data_t)
    ) u_response_data (
      .clk_i,
      .rst_ni,
      .in_valid_i(link_i[s].response_data_valid),
      .in_ready_o(in_ready_response_data),
      .in_data_i(link_i[s].response_data),
      .out_valid_o(response_data_valid[s]),
      .out_ready_i(response_data_ready[s]),
      .out_data_o(response_data[s])
    );
    assign forward_out_ready[s] = link_i[s].forward_ready;
    assign response_out_ready[s] = link_i[s].response_ready;
    assign response_data_out_ready[s] = link_i[s].response_data_ready;
    assign link_o[s] = '{
        request_ready: in_ready_request,
        request_data_ready: in_ready_request_data,
        response_ready: in_ready_response,
        response_data_ready: in_ready_response_data,
        forward_valid: forward_out_valid[s],
        forward: forward_out[s],
        response_valid: response_out_valid[s],
        response: response_out[s],
        response_data_valid: response_data_out_valid[s],
        response_data: response_data_out[s]
    };
  end

  // ---------------------------------------------------------------------------------------------
  // Route and guards
  // ---------------------------------------------------------------------------------------------

  tmb_home_regblock_pkg::tmb_home__in_t to_block;
  tmb_home_regblock_pkg::tmb_home__out_t from_block;

  // open: lines are served. line_open: the slot's kernel may send line operations; it is the one that serves the
  // lines, or goes with memory that does. gone_q: what closes now served them.
  logic [NumSlots-1:0] routed;
  logic to_memory, closing, gone_q, open_d, open_q, line_open_d, line_open_q;
  assign to_memory = from_block.ROUTE.MEMORY.value;
  always_comb begin
    line_open_d = 1'b0;
    for (int unsigned k = 0; k < NumSlots; k++) begin
      routed[k] = from_block.ROUTE.VALID.value && from_block.ROUTE.SLOT.value == 8'(k);
      if (routed[k] && slot_live_i[k] && !slot_closed_i[k] && !closing) line_open_d = 1'b1;
    end
    open_d = to_memory ? !(closing && gone_q) : line_open_d;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      open_q <= 1'b0;
      line_open_q <= 1'b0;
    end else begin
      open_q <= open_d;
      line_open_q <= line_open_d;
    end
  end
  logic [SlotWidth-1:0] slot;
  assign slot = SlotWidth'(from_block.ROUTE.SLOT.value);

  axi_req_t axi_req [NumLinks];
  axi_rsp_t axi_rsp [NumLinks];
  axi_req_t home_req [NumLinks];
  axi_rsp_t home_rsp [NumLinks];
  axi_req_t memory_req [NumLinks];
  axi_rsp_t memory_rsp [NumLinks];
  logic operation_valid [NumLinks];
  logic operation_ready [NumLinks];
  operation_req_t operation [NumLinks];
  logic acknowledge_valid [NumLinks];
  logic acknowledge_ready [NumLinks];
  operation_rsp_t acknowledge [NumLinks];
  logic line_ready [NumLinks];
  logic line_ack_valid [NumLinks];
  operation_rsp_t line_ack [NumLinks];
  logic [NumLinks-1:0] idle, line_idle, violation;
  logic [1:0] answered [NumLinks];
  home_violation_t violation_info [NumLinks];

  for (genvar s = 0; s < NumLinks; s++) begin : gen_guard
    // Driven by the chosen slot.
    logic line_req_valid, line_ack_ready;
    operation_req_t line_req;
    always_comb begin
      home_rsp[s] = '0;
      line_req_valid = 1'b0;
      line_req = '0;
      line_ack_ready = 1'b1;
      for (int unsigned k = 0; k < NumSlots; k++) begin
        if (slot == SlotWidth'(k)) begin
          home_rsp[s] = home_i[k*NumLinks+s];
          line_req_valid = line_i[k*NumLinks+s].valid;
          line_req = line_i[k*NumLinks+s].operation;
          line_ack_ready = line_i[k*NumLinks+s].ack_ready;
        end
      end
      if (to_memory) home_rsp[s] = memory_rsp[s];
    end

    tmb_home_guard u_guard (
      .clk_i,
      .rst_ni,
      .open_i(open_q),
      .line_open_i(line_open_q),
      .patience_i(to_memory ? '0 : from_block.PATIENCE.VALUE.value),
      .idle_o(idle[s]),
      .line_idle_o(line_idle[s]),
      .violation_o(violation[s]),
      .violation_info_o(violation_info[s]),
      .answered_o(answered[s]),
      .axi_req_i(axi_req[s]),
      .axi_rsp_o(axi_rsp[s]),
      .operation_valid_o(operation_valid[s]),
      .operation_ready_i(operation_ready[s]),
      .operation_o(operation[s]),
      .operation_valid_i(acknowledge_valid[s]),
      .operation_ready_o(acknowledge_ready[s]),
      .operation_i(acknowledge[s]),
      .home_req_o(home_req[s]),
      .home_rsp_i(home_rsp[s]),
      .line_valid_i(line_req_valid),
      .line_ready_o(line_ready[s]),
      .line_i(line_req),
      .line_valid_o(line_ack_valid[s]),
      .line_ready_i(line_ack_ready),
      .line_o(line_ack[s])
    );

    for (genvar k = 0; k < NumSlots; k++) begin : gen_slot
      localparam int unsigned Home = k * NumLinks + s;
      logic here, line_here;
      assign line_here = slot == SlotWidth'(k);
      assign here = line_here && !to_memory;
      assign home_o[Home] = '{
          aw: home_req[s].aw,
          aw_valid: home_req[s].aw_valid && here,
          w: home_req[s].w,
          w_valid: home_req[s].w_valid && here,
          b_ready: home_req[s].b_ready,
          ar: home_req[s].ar,
          ar_valid: home_req[s].ar_valid && here,
          r_ready: home_req[s].r_ready
      };
      assign line_o[Home] = '{
          ready: line_ready[s],
          ack_valid: line_ack_valid[s] && line_here,
          ack: line_ack[s]
      };
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Sweeps
  // ---------------------------------------------------------------------------------------------

  // Operations of the kernel that the directory still has: a lock may be granted late.
  logic [NumLinks-1:0] operations_left;
  for (genvar s = 0; s < NumLinks; s++) begin : gen_operations
    logic [OperationTagWidth:0] operations_q;
    logic starts, ends;
    assign starts = operation_valid[s] && operation_ready[s] && operation[s].last;
    assign ends = acknowledge_valid[s] && acknowledge_ready[s] && acknowledge[s].last;
    always_ff @(posedge clk_i) begin
      if (!rst_ni) operations_q <= '0;
      else operations_q <= operations_q + (OperationTagWidth + 1)'(starts)
          - (OperationTagWidth + 1)'(ends);
    end
    assign operations_left[s] = operations_q != '0;
  end

  logic sweep, swept;
  tmb_home_sweeps u_sweeps (
    .clk_i,
    .rst_ni,
    .goes_i((open_q && !open_d) || (line_open_q && !line_open_d)),
    .recall_i(from_block.RECALL.ALL.value),
    .operations_left_i(operations_left != '0),
    .sweep_o(sweep),
    .swept_i(swept),
    .closing_o(closing)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) gone_q <= 1'b0;
    else if (open_q && !open_d) gone_q <= 1'b1;
    else if (!closing) gone_q <= 1'b0;
  end
  // A request that comes while lines are recalled anyway is done with that.
  assign to_block.RECALL.ALL.hwclr = sweep && swept;
  assign to_block.RECALL.CLOSING.next = closing;

  // Card memory takes what the guard offers only while it is behind the directory; its
  // later answers are dropped.
  for (genvar s = 0; s < NumLinks; s++) begin : gen_memory
    always_comb begin
      memory_req[s] = home_req[s];
      if (!to_memory) begin
        memory_req[s].aw_valid = 1'b0;
        memory_req[s].w_valid = 1'b0;
        memory_req[s].ar_valid = 1'b0;
        memory_req[s].b_ready = 1'b1;
        memory_req[s].r_ready = 1'b1;
      end
    end
    tmb_home_memory #(
      .Slice(s),
      .Cfg(MemoryCfg)
    ) u_memory (
      .clk_i,
      .rst_ni,
      .base_i(from_block.MEMORY_BASE.FRAME.value),
      .frames_i(from_block.MEMORY_SIZE.FRAMES.value),
      .home_req_i(memory_req[s]),
      .home_rsp_o(memory_rsp[s]),
      .read_req_valid_o(read_req_valid_o[s]),
      .read_req_ready_i(read_req_ready_i[s]),
      .read_req_o(read_req_o[s]),
      .read_rsp_valid_i(read_rsp_valid_i[s]),
      .read_rsp_ready_o(read_rsp_ready_o[s]),
      .read_rsp_i(read_rsp_i[s]),
      .write_req_valid_o(write_req_valid_o[s]),
      .write_req_ready_i(write_req_ready_i[s]),
      .write_req_o(write_req_o[s]),
      .write_data_valid_o(write_data_valid_o[s]),
      .write_data_ready_i(write_data_ready_i[s]),
      .write_data_o(write_data_o[s]),
      .write_rsp_valid_i(write_rsp_valid_i[s]),
      .write_rsp_ready_o(write_rsp_ready_o[s]),
      .write_rsp_i(write_rsp_i[s])
    );
  end

  // A slot that is not routed to, and never was since it was, has nothing under way.
  for (genvar k = 0; k < NumSlots; k++) begin : gen_slot
    logic idle_q, violation_q;
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        idle_q <= 1'b1;
        violation_q <= 1'b0;
      end else begin
        idle_q <= !routed[k]
            || ((to_memory ? &line_idle : &idle) && !closing);
        violation_q <= routed[k] && (|violation);
      end
    end
    assign slot_idle_o[k] = idle_q;
    assign slot_violation_o[k] = violation_q;
  end

  // ---------------------------------------------------------------------------------------------
  // Registers
  // ---------------------------------------------------------------------------------------------

  // Of several violations at once, one is kept.
  home_violation_t first;
  logic [7:0] first_slice;
  logic [3:0] answers;
  logic keep;
  always_comb begin
    first = violation_info[0];
    first_slice = '0;
    answers = '0;
    for (int unsigned s = 0; s < NumLinks; s++) begin
      answers += 4'(answered[s]);
      if (violation[s]) begin
        first = violation_info[s];
        first_slice = 8'(s);
      end
    end
  end
  assign keep = (|violation) && !from_block.STATUS.VIOLATION.value;

  assign to_block.STATUS.OPEN.next = open_q;
  assign to_block.STATUS.SLICES.next = 4'(NumLinks);
  assign to_block.STATUS.VIOLATION.hwset = keep;
  assign to_block.RULE.RULE.next = first.rule;
  assign to_block.RULE.RULE.we = keep;
  assign to_block.RULE.SLICE.next = first_slice;
  assign to_block.RULE.SLICE.we = keep;
  assign to_block.RULE.SLOT.next = from_block.ROUTE.SLOT.value;
  assign to_block.RULE.SLOT.we = keep;
  assign to_block.AT_LO.VALUE.next = first.at[31:0];
  assign to_block.AT_LO.VALUE.we = keep;
  assign to_block.AT_HI.VALUE.next = first.at[63:32];
  assign to_block.AT_HI.VALUE.we = keep;
  assign to_block.ANSWERED.VALUE.incr = answers != '0;
  assign to_block.ANSWERED.VALUE.incrvalue = answers;

  // The window's halves: the directory's block is on AXI4-Lite, the other one answers pulses.
  localparam int unsigned HomeBit = $clog2(HomeBase - DirectoryBase);
  logic is_home, home_done, home_read_ack, home_write_ack;
  logic [31:0] home_data, write_mask;
  assign is_home = access_i.addr[HomeBit];
  for (genvar b = 0; b < 4; b++) begin : gen_mask
    assign write_mask[8*b+:8] = {8{access_i.strobe[b]}};
  end

  logic unused_stall_write, unused_stall_read, unused_read_error, unused_write_error;
  tmb_home_regblock u_block (
    .clk(clk_i),
    .rst_n(rst_ni),
    .s_cpuif_req(valid_i && is_home),
    .s_cpuif_req_is_wr(access_i.write),
    .s_cpuif_addr(access_i.addr[5:0]),
    .s_cpuif_wr_data(access_i.data),
    .s_cpuif_wr_biten(write_mask),
    .s_cpuif_req_stall_wr(unused_stall_write),
    .s_cpuif_req_stall_rd(unused_stall_read),
    .s_cpuif_rd_ack(home_read_ack),
    .s_cpuif_rd_err(unused_read_error),
    .s_cpuif_rd_data(home_data),
    .s_cpuif_wr_ack(home_write_ack),
    .s_cpuif_wr_err(unused_write_error),
    .hwif_in(to_block),
    .hwif_out(from_block)
  );
  assign home_done = home_read_ack || home_write_ack;

  // Requests to the directory's block, each until it is taken.
  logic awvalid_q, wvalid_q, arvalid_q, awready, wready, arready, bvalid, rvalid;
  logic [31:0] rdata;
  logic [1:0] bresp, rresp;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      awvalid_q <= 1'b0;
      wvalid_q <= 1'b0;
      arvalid_q <= 1'b0;
    end else begin
      if (valid_i && !is_home && access_i.write) awvalid_q <= 1'b1;
      else if (awready) awvalid_q <= 1'b0;
      if (valid_i && !is_home && access_i.write) wvalid_q <= 1'b1;
      else if (wready) wvalid_q <= 1'b0;
      if (valid_i && !is_home && !access_i.write) arvalid_q <= 1'b1;
      else if (arready) arvalid_q <= 1'b0;
    end
  end

  assign done_o = home_done || bvalid || rvalid;
  assign rsp_o = '{
      error: (bvalid && bresp[1]) || (rvalid && rresp[1]),
      data: is_home ? home_data : rdata
  };

  // ---------------------------------------------------------------------------------------------
  // Directory
  // ---------------------------------------------------------------------------------------------

  tmb_directory #(
    .Cfg(Directory)
  ) u_directory (
    .clk_i,
    .rst_ni,
    .request_valid_i(request_valid),
    .request_ready_o(request_ready),
    .request_i(request),
    .request_data_valid_i(request_data_valid),
    .request_data_ready_o(request_data_ready),
    .request_data_i(request_data),
    .response_valid_i(response_valid),
    .response_ready_o(response_ready),
    .response_i(response),
    .response_data_valid_i(response_data_valid),
    .response_data_ready_o(response_data_ready),
    .response_data_i(response_data),
    .forward_valid_o(forward_out_valid),
    .forward_ready_i(forward_out_ready),
    .forward_o(forward_out),
    .response_valid_o(response_out_valid),
    .response_ready_i(response_out_ready),
    .response_o(response_out),
    .response_data_valid_o(response_data_out_valid),
    .response_data_ready_i(response_data_out_ready),
    .response_data_o(response_data_out),
    .operation_valid_i(operation_valid),
    .operation_ready_o(operation_ready),
    .operation_i(operation),
    .operation_valid_o(acknowledge_valid),
    .operation_ready_i(acknowledge_ready),
    .operation_o(acknowledge),
    .axi_req_o(axi_req),
    .axi_rsp_i(axi_rsp),
    .sweep_i(sweep),
    .release_i(closing),
    .swept_o(swept),
    .awvalid_i(awvalid_q),
    .awready_o(awready),
    .awaddr_i(access_i.addr[7:0]),
    .wvalid_i(wvalid_q),
    .wready_o(wready),
    .wdata_i(access_i.data),
    .wstrb_i(access_i.strobe),
    .bvalid_o(bvalid),
    .bready_i(1'b1),
    .bresp_o(bresp),
    .arvalid_i(arvalid_q),
    .arready_o(arready),
    .araddr_i(access_i.addr[7:0]),
    .rvalid_o(rvalid),
    .rready_i(1'b1),
    .rdata_o(rdata),
    .rresp_o(rresp),
    .interrupt_o(trouble_o)
  );

  `TMB_ASSERT_INIT(SlicesExist, Directory.Slices >= 1 && Directory.Slices < 16)
  `TMB_ASSERT_INIT(SlotsExist, NumSlots >= 1)

  logic unused_ok;
  assign unused_ok = &{1'b0, access_i.addr, bresp[0], rresp[0],
                       unused_stall_write, unused_stall_read, unused_read_error,
                       unused_write_error};

endmodule
