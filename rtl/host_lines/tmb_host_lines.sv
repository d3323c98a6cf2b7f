// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The CPU's lines in a shell: a cache controller for each slice of the link, a guard before each, the route from a slot
// to them, and their registers. The counterpart of tmb_home: there the card is home, here the CPU.
//
// Cache       geometry of each controller
// NumSlices   link channel pairs
// NumSlots    slots of the shell
//
// One slot at a time uses the lines, by ROUTE. When its kernel goes (its slot is closed or reset, or the route changes),
// its accesses end, its holds are released and all lines go home; no slot leaves reset before that is done.
//
// Throughput, latency, ordering, back-pressure, no deadlock: tmb_cache_controller and tmb_host_lines_guard; the link's
// inputs pass a register more. Registers: one access at a time.
//
// Source: CCKit, sections 3.2 and 3.3; docs/blocks/host_lines.md.

`include "tmb_assert.svh"

module tmb_host_lines
  import tmb_pkg::*;
  import tmb_directory_pkg::*;
  import tmb_cache_controller_pkg::*;
  import tmb_host_lines_pkg::*;
#(
  parameter cache_cfg_t Cache = '{Sets: 64, Ways: 4, HoldLimit: 1024},
  parameter int unsigned NumSlices = 1,
  parameter int unsigned NumSlots = 1,
  localparam int unsigned NumAccess = NumSlots * NumSlices
) (
  input  logic clk_i,
  input  logic rst_ni,

  // One cycle a request; the access stays until the answer.
  input  logic                       valid_i,
  input  tmb_shell_pkg::access_t     access_i,
  output logic                       done_o,
  output tmb_shell_pkg::access_rsp_t rsp_o,

  // The slots.
  input  logic slot_live_i [NumSlots],       // out of reset
  input  logic slot_closed_i [NumSlots],     // by the guard
  output logic slot_idle_o [NumSlots],       // its lines are home
  output logic slot_violation_o [NumSlots],  // its kernel broke a rule: one cycle
  output logic trouble_o,                    // an error is held

  // The link to the CPU, one element a slice.
  output cache_link_req_t link_o [NumSlices],
  input  cache_link_rsp_t link_i [NumSlices],

  // The kernels' accesses, one element a slot and slice: slot * slices + slice.
  input  line_access_req_t line_i [NumAccess],
  output line_access_rsp_t line_o [NumAccess]
);

  localparam int unsigned SlotWidth = NumSlots > 1 ? $clog2(NumSlots) : 1;

  tmb_host_lines_regblock_pkg::tmb_host_lines__in_t to_block;
  tmb_host_lines_regblock_pkg::tmb_host_lines__out_t from_block;

  // ---------------------------------------------------------------------------------------------
  // Route
  // ---------------------------------------------------------------------------------------------

  logic [NumSlots-1:0] routed;
  logic open_d, open_q;
  always_comb begin
    open_d = 1'b0;
    for (int unsigned k = 0; k < NumSlots; k++) begin
      routed[k] = from_block.ROUTE.VALID.value && from_block.ROUTE.SLOT.value == 8'(k);
      if (routed[k] && slot_live_i[k] && !slot_closed_i[k]) open_d = 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) open_q <= 1'b0;
    else open_q <= open_d;
  end
  logic [SlotWidth-1:0] slot;
  assign slot = SlotWidth'(from_block.ROUTE.SLOT.value);

  // ---------------------------------------------------------------------------------------------
  // Slices
  // ---------------------------------------------------------------------------------------------

  logic [NumSlices-1:0] open, closing, violation, error_valid;
  host_violation_t violation_info [NumSlices];
  error_t error [NumSlices];
  cache_events_t events [NumSlices];

  for (genvar s = 0; s < NumSlices; s++) begin : gen_slice
    logic forward_valid, forward_ready, response_valid, response_ready, data_valid, data_ready;
    link_header_t forward, response, request_out, response_out;
    link_data_t data, data_out;
    logic in_ready_forward, in_ready_response, in_ready_response_data;
    logic request_out_valid, response_out_valid, response_data_out_valid;
    tmb_spill_register #(
      .T(link_header_t)
    ) u_forward (
      .clk_i,
      .rst_ni,
      .in_valid_i(link_i[s].forward_valid),
      .in_ready_o(in_ready_forward),
      .in_data_i(link_i[s].forward),
      .out_valid_o(forward_valid),
      .out_ready_i(forward_ready),
      .out_data_o(forward)
    );
    tmb_spill_register #(
      .T(link_header_t)
    ) u_response (
      .clk_i,
      .rst_ni,
      .in_valid_i(link_i[s].response_valid),
      .in_ready_o(in_ready_response),
      .in_data_i(link_i[s].response),
      .out_valid_o(response_valid),
      .out_ready_i(response_ready),
      .out_data_o(response)
    );
    tmb_spill_register #(
      .T(link_data_t)
    ) u_response_data (
      .clk_i,
      .rst_ni,
      .in_valid_i(link_i[s].response_data_valid),
      .in_ready_o(in_ready_response_data),
      .in_data_i(link_i[s].response_data),
      .out_valid_o(data_valid),
      .out_ready_i(data_ready),
      .out_data_o(data)
    );
    assign link_o[s] = '{
        forward_ready: in_ready_forward,
        response_ready: in_ready_response,
        response_data_ready: in_ready_response_data,
        request_valid: request_out_valid,
        request: request_out,
        response_valid: response_out_valid,
        response: response_out,
        response_data_valid: response_data_out_valid,
        response_data: data_out
    };

    // Driven by the chosen slot.
    logic req_valid, req_ready, rsp_valid, rsp_ready;
    access_req_t req;
    access_rsp_t rsp;
    always_comb begin
      req_valid = 1'b0;
      req = '0;
      rsp_ready = 1'b1;
      for (int unsigned k = 0; k < NumSlots; k++) begin
        if (slot == SlotWidth'(k)) begin
          req_valid = line_i[k*NumSlices+s].valid;
          req = line_i[k*NumSlices+s].access;
          rsp_ready = line_i[k*NumSlices+s].answer_ready;
        end
      end
    end
    for (genvar k = 0; k < NumSlots; k++) begin : gen_slot
      localparam int unsigned Access = k * NumSlices + s;
      logic here;
      assign here = slot == SlotWidth'(k);
      assign line_o[Access] = '{
          ready: req_ready && here,
          answer_valid: rsp_valid && here,
          answer: rsp
      };
    end

    logic access_valid, access_ready, answer_valid, answer_ready;
    access_req_t access;
    access_rsp_t answer;
    tmb_host_lines_guard #(
      .Slice(s),
      .NumSlices(NumSlices),
      .Sets(Cache.Sets)
    ) u_guard (
      .clk_i,
      .rst_ni,
      .open_i(open_q),
      .patience_i(from_block.PATIENCE.VALUE.value),
      .frames_i(from_block.RANGE.FRAMES.value),
      .open_o(open[s]),
      .closing_o(closing[s]),
      .violation_o(violation[s]),
      .violation_info_o(violation_info[s]),
      .req_valid_i(req_valid),
      .req_ready_o(req_ready),
      .req_i(req),
      .rsp_valid_o(rsp_valid),
      .rsp_ready_i(rsp_ready),
      .rsp_o(rsp),
      .access_valid_o(access_valid),
      .access_ready_i(access_ready),
      .access_o(access),
      .answer_valid_i(answer_valid),
      .answer_ready_o(answer_ready),
      .answer_i(answer)
    );

    tmb_cache_controller #(
      .Slice(s),
      .NumSlices(NumSlices),
      .Cfg(Cache)
    ) u_controller (
      .clk_i,
      .rst_ni,
      .access_valid_i(access_valid),
      .access_ready_o(access_ready),
      .access_i(access),
      .answer_valid_o(answer_valid),
      .answer_ready_i(answer_ready),
      .answer_o(answer),
      .request_valid_o(request_out_valid),
      .request_ready_i(link_i[s].request_ready),
      .request_o(request_out),
      .response_valid_o(response_out_valid),
      .response_ready_i(link_i[s].response_ready),
      .response_o(response_out),
      .response_data_valid_o(response_data_out_valid),
      .response_data_ready_i(link_i[s].response_data_ready),
      .response_data_o(data_out),
      .forward_valid_i(forward_valid),
      .forward_ready_o(forward_ready),
      .forward_i(forward),
      .response_valid_i(response_valid),
      .response_ready_o(response_ready),
      .response_i(response),
      .response_data_valid_i(data_valid),
      .response_data_ready_o(data_ready),
      .response_data_i(data),
      .timeout_period_i(from_block.TIMEOUT.VALUE.value),
      .events_o(events[s]),
      .error_valid_o(error_valid[s]),
      .error_o(error[s])
    );
  end

  for (genvar k = 0; k < NumSlots; k++) begin : gen_slot
    logic idle_q, violation_q;
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        idle_q <= 1'b1;
        violation_q <= 1'b0;
      end else begin
        idle_q <= !routed[k] || closing == '0;
        violation_q <= routed[k] && (|violation);
      end
    end
    assign slot_idle_o[k] = idle_q;
    assign slot_violation_o[k] = violation_q;
  end

  // ---------------------------------------------------------------------------------------------
  // Registers
  // ---------------------------------------------------------------------------------------------

  // Of several at once, one is kept.
  host_violation_t first;
  logic [7:0] first_slice, error_slice;
  error_t first_error;
  logic keep, keep_error;
  logic [3:0] hits, requests, forwards, evictions, broken;
  always_comb begin
    first = violation_info[0];
    first_slice = '0;
    first_error = error[0];
    error_slice = '0;
    hits = '0;
    requests = '0;
    forwards = '0;
    evictions = '0;
    broken = '0;
    for (int unsigned s = 0; s < NumSlices; s++) begin
      hits += 4'(events[s].hit);
      requests += 4'(events[s].request);
      forwards += 4'(events[s].forward);
      evictions += 4'(events[s].eviction);
      broken += 4'(events[s].broken);
      if (violation[s]) begin
        first = violation_info[s];
        first_slice = 8'(s);
      end
      if (error_valid[s]) begin
        first_error = error[s];
        error_slice = 8'(s);
      end
    end
  end
  assign keep = (|violation) && !from_block.STATUS.VIOLATION.value;
  assign keep_error = (|error_valid) && !from_block.STATUS.ERROR.value;
  assign trouble_o = from_block.STATUS.ERROR.value;

  assign to_block.STATUS.OPEN.next = open != '0;
  assign to_block.STATUS.CLOSING.next = closing != '0;
  assign to_block.STATUS.SLICES.next = 4'(NumSlices);
  assign to_block.STATUS.VIOLATION.hwset = keep;
  assign to_block.STATUS.ERROR.hwset = keep_error;
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
  assign to_block.ERROR.INFO.next = first_error.info;
  assign to_block.ERROR.INFO.we = keep_error;
  assign to_block.ERROR.CAUSE.next = first_error.cause;
  assign to_block.ERROR.CAUSE.we = keep_error;
  assign to_block.ERROR.SLICE.next = error_slice;
  assign to_block.ERROR.SLICE.we = keep_error;
  assign to_block.HITS.VALUE.incr = hits != '0;
  assign to_block.HITS.VALUE.incrvalue = hits;
  assign to_block.REQUESTS.VALUE.incr = requests != '0;
  assign to_block.REQUESTS.VALUE.incrvalue = requests;
  assign to_block.FORWARDS.VALUE.incr = forwards != '0;
  assign to_block.FORWARDS.VALUE.incrvalue = forwards;
  assign to_block.EVICTIONS.VALUE.incr = evictions != '0;
  assign to_block.EVICTIONS.VALUE.incrvalue = evictions;
  assign to_block.BROKEN.VALUE.incr = broken != '0;
  assign to_block.BROKEN.VALUE.incrvalue = broken;

  logic read_ack, write_ack;
  logic [31:0] write_mask;
  for (genvar b = 0; b < 4; b++) begin : gen_mask
    assign write_mask[8*b+:8] = {8{access_i.strobe[b]}};
  end
  logic unused_stall_write, unused_stall_read, unused_read_error, unused_write_error;
  tmb_host_lines_regblock u_block (
    .clk(clk_i),
    .rst_n(rst_ni),
    .s_cpuif_req(valid_i),
    .s_cpuif_req_is_wr(access_i.write),
    .s_cpuif_addr(access_i.addr[5:0]),
    .s_cpuif_wr_data(access_i.data),
    .s_cpuif_wr_biten(write_mask),
    .s_cpuif_req_stall_wr(unused_stall_write),
    .s_cpuif_req_stall_rd(unused_stall_read),
    .s_cpuif_rd_ack(read_ack),
    .s_cpuif_rd_err(unused_read_error),
    .s_cpuif_rd_data(rsp_o.data),
    .s_cpuif_wr_ack(write_ack),
    .s_cpuif_wr_err(unused_write_error),
    .hwif_in(to_block),
    .hwif_out(from_block)
  );
  assign done_o = read_ack || write_ack;
  assign rsp_o.error = 1'b0;

  `TMB_ASSERT_INIT(SlicesExist, NumSlices >= 1 && NumSlices < 16)
  `TMB_ASSERT_INIT(SlotsExist, NumSlots >= 1)

  logic unused_ok;
  assign unused_ok = &{1'b0, access_i.addr[15:6], unused_stall_write, unused_stall_read, unused_read_error,
                       unused_write_error};

endmodule
