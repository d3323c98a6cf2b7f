// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// One slice of the directory: the units that handle the lines of one link channel pair (Enzian: even
// or odd lines), and what they share.
//
//   link ──► header ──► unit ──► actions ──► queues ──► header ──► link
//        └─► payload buffer ──────────────────────► payload ─┘ └─► AXI4
//
// Header and payload part at the entrance; payloads wait in buffers and join at the exit.
//
// Slice         which lines: those with this folded line number mod Cfg.Slices
// Cfg           of the directory: UnitsPerSlice units of SetsPerUnit x Ways places
// RecallDelay   see tmb_directory_unit
//
// The application, or memory, is an AXI4 subordinate (axi_*): a read means that the CPU has no copy
// or only shared ones, a write brings a line home. IDs are {unit, set, way}: one access at a time for
// each place of the directory, answered in any order. Bursts are two rows; the rows of different IDs
// must not interleave. Local operations come by operation_*.
//
// Throughput: for each of link requests, link responses, operations: one a cycle; one row a cycle on
// every data path. Latency: a message that needs no memory has its answer at the output in cycle 9; a
// read enters in cycle 0, is at AXI in cycle 9, and leaves 10 cycles after its last row.
// Ordering: none, as on the link. Back-pressure: see the units.
// No deadlock. Messages of the slice wait in queues with room for all that can be outstanding: answers
// and reads for the CPU are bounded by the request IDs, forwards and acknowledgements by the operation
// tags plus one recall a unit, writes by the payload buffers. So the units never wait for link,
// memory or application, and what comes back from them always sinks. The CPU must accept answers and
// forwards without condition; the application must accept writes and acknowledgements without
// condition. It may delay reads indefinitely: they wait in a queue of their own.
//
// Source: CCKit, section 4.3 and figure 3.

`include "tmb_assert.svh"

module tmb_directory_slice
  import tmb_pkg::*;
  import tmb_mesi_protocol_pkg::*;
  import tmb_directory_pkg::*;
#(
  parameter int unsigned Slice = 0,
  parameter directory_cfg_t Cfg = DefaultDirectoryCfg,
  parameter int unsigned RecallDelay = 255
) (
  input  logic           clk_i,
  input  logic           rst_ni,

  // From the CPU.
  input  logic           request_valid_i,
  output logic           request_ready_o,
  input  link_header_t   request_i,
  input  logic           request_data_valid_i,
  output logic           request_data_ready_o,
  input  link_data_t     request_data_i,
  input  logic           response_valid_i,
  output logic           response_ready_o,
  input  link_header_t   response_i,
  input  logic           response_data_valid_i,
  output logic           response_data_ready_o,
  input  link_data_t     response_data_i,

  // To the CPU.
  output logic           forward_valid_o,
  input  logic           forward_ready_i,
  output link_header_t   forward_o,
  output logic           response_valid_o,
  input  logic           response_ready_i,
  output link_header_t   response_o,
  output logic           response_data_valid_o,
  input  logic           response_data_ready_i,
  output link_data_t     response_data_o,

  // Local operations of the application.
  input  logic           operation_valid_i,
  output logic           operation_ready_o,
  input  operation_req_t operation_i,
  output logic           operation_valid_o,
  input  logic           operation_ready_i,
  output operation_rsp_t operation_o,

  // Memory, or an application in front of it.
  output axi_req_t       axi_req_o,
  input  axi_rsp_t       axi_rsp_i,

  // Control and status.
  input  logic [31:0]    timeout_period_i,
  // See tmb_directory_unit.
  input  logic           sweep_i,
  input  logic           release_i,
  output logic           swept_o,

  output logic           busy_o,
  output slice_events_t  events_o,
  output logic           error_valid_o,  // one cycle
  output error_t         error_o
);

  localparam int unsigned Units = Cfg.UnitsPerSlice;
  localparam int unsigned SliceWidth = $clog2(Cfg.Slices);
  localparam int unsigned UnitWidth = $clog2(Units);
  localparam int unsigned SetWidth = $clog2(Cfg.SetsPerUnit);
  localparam int unsigned WayWidth = $clog2(Cfg.Ways);
  localparam int unsigned LocalWidth = LineWidth - SliceWidth - UnitWidth;

  typedef logic [UnitWidth-1:0] unit_t;
  typedef logic [LocalWidth-1:0] local_t;
  typedef logic [WayWidth-1:0] way_t;

  typedef struct packed {
    home_event_e    kind;
    local_t         line;     // with by_way: the set
    logic           by_way;   // a completion of memory: set and way are known
    way_t           way;
    payload_index_t payload;
  } sink_t;

  typedef struct packed {
    home_event_e    kind;
    local_t         line;
    operation_tag_t label;    // request ID or operation tag
  } start_t;

  typedef struct packed {
    local_t         line;
    way_t           way;
    logic           forward;      // send a forward
    logic           access;       // access memory
    memory_e        memory;
    logic           answer;       // answer a request
    logic           acknowledge;  // acknowledge an operation
    message_e       message;      // the forward or the answer
    logic           with_data;    // the answer or acknowledgement carries what was read
    payload_index_t payload;
    request_id_t    request;
    operation_tag_t operation;
  } action_t;

  typedef struct packed {
    unit_t   unit_index;
    action_t action;
  } unit_action_t;

  function automatic unit_t unit_of(line_t folded);
    return unit_t'(folded >> SliceWidth);
  endfunction

  function automatic local_t local_of(line_t folded);
    return local_t'(folded >> (SliceWidth + UnitWidth));
  endfunction

  function automatic line_t line_of(unit_t unit_index, local_t line);
    return (line_t'(line) << (SliceWidth + UnitWidth)) | (line_t'(unit_index) << SliceWidth)
        | line_t'(Slice);
  endfunction

  function automatic line_t line_at(logic [LinkAddrWidth-1:0] addr);
    return line_t'(addr >> LineOffsetWidth);
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Completions of memory
  // ---------------------------------------------------------------------------------------------

  logic read_index_valid, read_index_free;
  payload_index_t read_index, read_free_index;
  logic read_taken, read_last_taken, write_taken;
  assign read_taken = axi_rsp_i.r_valid && read_index_valid
      && (!axi_rsp_i.r.last || read_last_taken);

  tmb_directory_pool #(
    .Depth(NumPayloads)
  ) u_read_pool (
    .clk_i,
    .rst_ni,
    .valid_o(read_index_valid),
    .index_o(read_index),
    .take_i(read_last_taken),
    .free_i(read_index_free),
    .free_index_i(read_free_index)
  );

  function automatic unit_t unit_of_id(axi_id_t id);
    return unit_t'(id >> (SetWidth + WayWidth));
  endfunction

  function automatic sink_t completion(home_event_e kind, axi_id_t id, payload_index_t payload);
    sink_t result;
    result = '0;
    result.kind = kind;
    result.line = local_t'(SetWidth'(id >> WayWidth));
    result.by_way = 1'b1;
    result.way = way_t'(id);
    result.payload = payload;
    return result;
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Responses of the CPU
  // ---------------------------------------------------------------------------------------------

  logic writeback_index_valid, writeback_index_free;
  payload_index_t writeback_index, writeback_free_index;
  logic response_data_taken, response_data_last_taken, response_taken;
  assign response_data_taken = response_data_valid_i && writeback_index_valid
      && (!response_data_i.last || response_data_last_taken);
  assign response_data_ready_o = response_data_taken;
  assign response_ready_o = response_taken;

  tmb_directory_pool #(
    .Depth(NumPayloads)
  ) u_writeback_pool (
    .clk_i,
    .rst_ni,
    .valid_o(writeback_index_valid),
    .index_o(writeback_index),
    .take_i(response_data_last_taken),
    .free_i(writeback_index_free),
    .free_index_i(writeback_free_index)
  );

  function automatic sink_t arrival(message_e message, line_t folded, payload_index_t payload);
    sink_t result;
    result = '0;
    result.kind = home_event_of(message);
    result.line = local_of(folded);
    result.payload = payload;
    return result;
  endfunction

  // ---------------------------------------------------------------------------------------------
  // One event a cycle that sinks: link or memory
  // ---------------------------------------------------------------------------------------------

  // Only a source whose unit has room takes part, so that room is looked up while nothing is chosen
  // yet, and no source waits behind another's unit.
  typedef enum logic [1:0] {
    SinkResponse = 2'd0,
    SinkResponseData = 2'd1,
    SinkRead = 2'd2,
    SinkWrite = 2'd3
  } sink_source_e;
  localparam int unsigned NumSinkSources = 4;

  logic [Units-1:0] sink_readys;
  unit_t sink_units [NumSinkSources];
  logic [NumSinkSources-1:0] sink_offer, sink_request, sink_grant;
  logic unused_sink_valid;
  logic [1:0] unused_sink_index;
  sink_t sinks [NumSinkSources];
  sink_t sink;
  assign sink_units[SinkResponse] = unit_of(line_at(response_i.addr));
  assign sink_units[SinkResponseData] = unit_of(line_at(response_data_i.header.addr));
  assign sink_units[SinkRead] = unit_of_id(axi_rsp_i.r.id);
  assign sink_units[SinkWrite] = unit_of_id(axi_rsp_i.b.id);
  assign sink_offer[SinkResponse] = response_valid_i;
  assign sink_offer[SinkResponseData] = response_data_valid_i && response_data_i.last
      && writeback_index_valid;
  assign sink_offer[SinkRead] = axi_rsp_i.r_valid && axi_rsp_i.r.last && read_index_valid;
  assign sink_offer[SinkWrite] = axi_rsp_i.b_valid;
  for (genvar i = 0; i < NumSinkSources; i++) begin : gen_sink_source
    assign sink_request[i] = sink_offer[i] && sink_readys[sink_units[i]];
  end

  tmb_round_robin_arbiter #(
    .NumRequests(NumSinkSources)
  ) u_sink_arbiter (
    .clk_i,
    .rst_ni,
    .request_i(sink_request),
    .accept_i(1'b1),
    .valid_o(unused_sink_valid),
    .grant_o(sink_grant),
    .index_o(unused_sink_index)
  );

  assign sinks[SinkResponse] = arrival(response_i.message, line_at(response_i.addr), '0);
  assign sinks[SinkResponseData] = arrival(response_data_i.header.message,
      line_at(response_data_i.header.addr), writeback_index);
  assign sinks[SinkRead] = completion(HomeEvReadDone, axi_rsp_i.r.id, read_index);
  assign sinks[SinkWrite] = completion(HomeEvWriteDone, axi_rsp_i.b.id, '0);
  always_comb begin
    sink = '0;
    for (int unsigned i = 0; i < NumSinkSources; i++) begin
      sink |= {$bits(sink_t){sink_grant[i]}} & sinks[i];
    end
  end
  assign response_taken = sink_grant[SinkResponse];
  assign response_data_last_taken = sink_grant[SinkResponseData];
  assign read_last_taken = sink_grant[SinkRead];
  assign write_taken = sink_grant[SinkWrite];

  // ---------------------------------------------------------------------------------------------
  // One request of the CPU a cycle
  // ---------------------------------------------------------------------------------------------

  logic [Units-1:0] request_readys;
  unit_t request_units [2];
  logic [1:0] request_offer, request_grant;
  logic request_choice, request_taken;
  link_header_t request_header;
  start_t request;
  assign request_units[0] = unit_of(line_at(request_i.addr));
  assign request_units[1] = unit_of(line_at(request_data_i.header.addr));
  assign request_offer[0] = request_valid_i && request_readys[request_units[0]];
  assign request_offer[1] = request_data_valid_i && request_data_i.last
      && request_readys[request_units[1]];

  tmb_round_robin_arbiter #(
    .NumRequests(2)
  ) u_request_arbiter (
    .clk_i,
    .rst_ni,
    .request_i(request_offer),
    .accept_i(1'b1),
    .valid_o(request_taken),
    .grant_o(request_grant),
    .index_o(request_choice)
  );

  assign request_header = request_choice ? request_data_i.header : request_i;
  assign request = '{kind: home_event_of(request_header.message),
                     line: local_of(line_at(request_header.addr)),
                     label: operation_tag_t'(request_header.id)};
  assign request_ready_o = request_grant[0];
  assign request_data_ready_o = !request_data_i.last || request_grant[1];

  // ---------------------------------------------------------------------------------------------
  // One operation a cycle
  // ---------------------------------------------------------------------------------------------

  logic [Units-1:0] operation_readys;
  logic operation_taken;
  line_t operation_line;
  start_t operation;
  unit_t operation_unit;
  assign operation_line = fold_line(operation_i.line);
  assign operation_unit = unit_of(operation_line);
  assign operation_taken = operation_valid_i && operation_i.last
      && operation_readys[operation_unit];
  assign operation = '{kind: event_of_operation(operation_i.operation),
                       line: local_of(operation_line),
                       label: operation_i.tag};
  assign operation_ready_o = !operation_i.last || operation_taken;

  // ---------------------------------------------------------------------------------------------
  // Units
  // ---------------------------------------------------------------------------------------------

  logic [Units-1:0] sink_valids, request_valids, operation_valids;
  logic [Units-1:0] first_valids, first_readys, last_valids, last_readys, error_valids;
  unit_action_t actions [Units];
  error_t errors [Units];

  // Decoded before the choice: a choice comes late in the cycle.
  always_comb begin
    sink_valids = '0;
    for (int unsigned i = 0; i < NumSinkSources; i++) begin
      sink_valids |= {Units{sink_grant[i]}} & (Units'(1) << sink_units[i]);
    end
    request_valids = '0;
    for (int unsigned i = 0; i < 2; i++) begin
      request_valids |= {Units{request_grant[i]}} & (Units'(1) << request_units[i]);
    end
    operation_valids = {Units{operation_taken}} & (Units'(1) << operation_unit);
  end

  // Registers on the way to and from the units.
  logic sweep_q, release_q, swept_q;
  logic [Units-1:0] swepts;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      sweep_q <= 1'b0;
      swept_q <= 1'b0;
    end else begin
      sweep_q <= sweep_i;
      swept_q <= sweep_i && (&swepts);
    end
  end
  always_ff @(posedge clk_i) release_q <= release_i;
  assign swept_o = swept_q;

  for (genvar u = 0; u < Units; u++) begin : gen_unit
    action_t action;
    tmb_directory_unit #(
      .Cfg(Cfg),
      .LocalWidth(LocalWidth),
      .RecallDelay(RecallDelay),
      .sink_t(sink_t),
      .start_t(start_t),
      .action_t(action_t)
    ) u_unit (
      .clk_i,
      .rst_ni,
      .sink_valid_i(sink_valids[u]),
      .sink_ready_o(sink_readys[u]),
      .sink_i(sink),
      .sweep_i(sweep_q),
      .release_i(release_q),
      .swept_o(swepts[u]),
      .request_valid_i(request_valids[u]),
      .request_ready_o(request_readys[u]),
      .request_i(request),
      .operation_valid_i(operation_valids[u]),
      .operation_ready_o(operation_readys[u]),
      .operation_i(operation),
      .action_o(action),
      .first_valid_o(first_valids[u]),
      .first_ready_i(first_readys[u]),
      .last_valid_o(last_valids[u]),
      .last_ready_i(last_readys[u]),
      .error_valid_o(error_valids[u]),
      .error_o(errors[u])
    );
    assign actions[u] = '{unit_index: unit_t'(u), action: action};
  end

  // ---------------------------------------------------------------------------------------------
  // Forwards and accesses to memory
  // ---------------------------------------------------------------------------------------------

  logic first_valid, first_take;
  unit_action_t first;
  tmb_directory_gather #(
    .T(unit_action_t),
    .NumInputs(Units)
  ) u_first (
    .clk_i,
    .rst_ni,
    .in_valid_i(first_valids),
    .in_ready_o(first_readys),
    .in_data_i(actions),
    .out_valid_o(first_valid),
    .out_ready_i(first_take),
    .out_data_o(first)
  );

  memory_access_t first_access;
  memory_write_t first_write;
  link_header_t first_header;
  line_t first_line;
  logic first_reads, first_writes;
  logic forward_room, read_room, write_room;
  assign first_line = line_of(first.unit_index, first.action.line);
  assign first_access.line = unfold_line(first_line);
  assign first_access.id =
      (axi_id_t'(first.unit_index) << (SetWidth + WayWidth))
      | ((axi_id_t'(first.action.line) & axi_id_t'(Cfg.SetsPerUnit - 1)) << WayWidth)
      | axi_id_t'(first.action.way);
  always_comb begin
    first_write.access = first_access;
    first_write.source = PayloadResponse;
    first_write.index = operation_tag_t'(first.action.payload);
    if (first.action.memory == MemWriteHeld) begin
      first_write.source = PayloadRequest;
      first_write.index = operation_tag_t'(first.action.request);
    end else if (first.action.memory == MemWriteOperation) begin
      first_write.source = PayloadOperation;
      first_write.index = first.action.operation;
    end
    first_header = '0;
    first_header.message = first.action.message;
    first_header.addr = {first_line, LineOffsetWidth'(0)};
  end
  assign first_reads = first.action.access && first.action.memory == MemRead;
  assign first_writes = first.action.access && first.action.memory != MemRead;
  assign first_take = forward_room && read_room && write_room;

  localparam int unsigned ForwardDepth = NumOperationTags + Units;
  tmb_fifo #(
    .T(link_header_t),
    .Depth(ForwardDepth),
    .OutputRegister(1'b1)
  ) u_forwards (
    .clk_i,
    .rst_ni,
    .in_valid_i(first_valid && first_take && first.action.forward),
    .in_ready_o(forward_room),
    .in_data_i(first_header),
    .out_valid_o(forward_valid_o),
    .out_ready_i(forward_ready_i),
    .out_data_o(forward_o)
  );

  memory_access_t read_access;
  logic read_access_valid;
  tmb_fifo #(
    .T(memory_access_t),
    .Depth(NumOperationTags + NumRequestIds),
    .OutputRegister(1'b1)
  ) u_reads (
    .clk_i,
    .rst_ni,
    .in_valid_i(first_valid && first_take && first_reads),
    .in_ready_o(read_room),
    .in_data_i(first_access),
    .out_valid_o(read_access_valid),
    .out_ready_i(axi_rsp_i.ar_ready),
    .out_data_o(read_access)
  );

  memory_write_t write_head;
  logic write_waits, write_done;
  tmb_fifo #(
    .T(memory_write_t),
    .Depth(NumOperationTags + NumRequestIds + NumPayloads)
  ) u_writes (
    .clk_i,
    .rst_ni,
    .in_valid_i(first_valid && first_take && first_writes),
    .in_ready_o(write_room),
    .in_data_i(first_write),
    .out_valid_o(write_waits),
    .out_ready_i(write_done),
    .out_data_o(write_head)
  );

  // ---------------------------------------------------------------------------------------------
  // AXI4
  // ---------------------------------------------------------------------------------------------

  axi_ax_t read_address, write_address;
  axi_w_t write_row;
  logic write_address_valid, write_row_valid;
  assign read_address = address_of(read_access);

  tmb_directory_writer u_writer (
    .clk_i,
    .rst_ni,
    .response_valid_i(response_data_taken),
    .response_index_i(writeback_index),
    .response_dmask_i(response_data_i.header.dmask),
    .response_row_i(response_data_i.row),
    .response_last_i(response_data_i.last),
    .request_valid_i(request_data_valid_i && request_data_ready_o),
    .request_index_i(request_data_i.header.id),
    .request_dmask_i(request_data_i.header.dmask),
    .request_row_i(request_data_i.row),
    .request_last_i(request_data_i.last),
    .operation_valid_i(operation_valid_i && operation_ready_o
        && operation_i.operation == OperationWrite),
    .operation_index_i(operation_i.tag),
    .operation_dmask_i(operation_i.dmask),
    .operation_row_i(operation_i.row),
    .operation_last_i(operation_i.last),
    .write_valid_i(write_waits),
    .write_done_o(write_done),
    .write_i(write_head),
    .aw_valid_o(write_address_valid),
    .aw_ready_i(axi_rsp_i.aw_ready),
    .aw_o(write_address),
    .w_valid_o(write_row_valid),
    .w_ready_i(axi_rsp_i.w_ready),
    .w_o(write_row)
  );
  assign writeback_index_free = write_done && write_head.source == PayloadResponse;
  assign writeback_free_index = payload_index_t'(write_head.index);

  assign axi_req_o = '{
      aw: write_address,
      aw_valid: write_address_valid,
      w: write_row,
      w_valid: write_row_valid,
      b_ready: write_taken,
      ar: read_address,
      ar_valid: read_access_valid,
      r_ready: read_taken
  };

  // ---------------------------------------------------------------------------------------------
  // Answers and acknowledgements
  // ---------------------------------------------------------------------------------------------

  logic last_valid, last_take;
  unit_action_t last;
  tmb_directory_gather #(
    .T(unit_action_t),
    .NumInputs(Units)
  ) u_last (
    .clk_i,
    .rst_ni,
    .in_valid_i(last_valids),
    .in_ready_o(last_readys),
    .in_data_i(actions),
    .out_valid_o(last_valid),
    .out_ready_i(last_take),
    .out_data_o(last)
  );

  typedef struct packed {
    logic           acknowledge;  // to the application; else to the link
    operation_tag_t operation;
    payload_index_t payload;
    link_header_t   header;
  } data_t;

  link_header_t last_header;
  data_t last_data;
  line_t last_line;
  logic response_room, data_room, acknowledge_room;
  assign last_line = line_of(last.unit_index, last.action.line);
  always_comb begin
    last_header = '0;
    last_header.message = last.action.message;
    last_header.id = last.action.request;
    last_header.dmask = last.action.with_data ? '1 : '0;
    last_header.addr = {last_line, LineOffsetWidth'(0)};
    last_data.acknowledge = last.action.acknowledge;
    last_data.operation = last.action.operation;
    last_data.payload = last.action.payload;
    last_data.header = last_header;
  end
  assign last_take = response_room && data_room && acknowledge_room;

  tmb_fifo #(
    .T(link_header_t),
    .Depth(NumRequestIds),
    .OutputRegister(1'b1)
  ) u_responses (
    .clk_i,
    .rst_ni,
    .in_valid_i(last_valid && last_take && last.action.answer && !last.action.with_data),
    .in_ready_o(response_room),
    .in_data_i(last_header),
    .out_valid_o(response_valid_o),
    .out_ready_i(response_ready_i),
    .out_data_o(response_o)
  );

  data_t data_head;
  logic data_waits, data_done;
  tmb_fifo #(
    .T(data_t),
    .Depth(NumPayloads)
  ) u_data (
    .clk_i,
    .rst_ni,
    .in_valid_i(last_valid && last_take && last.action.with_data),
    .in_ready_o(data_room),
    .in_data_i(last_data),
    .out_valid_o(data_waits),
    .out_ready_i(data_done),
    .out_data_o(data_head)
  );
  assign read_index_free = data_done;
  assign read_free_index = data_head.payload;

  operation_tag_t acknowledge_tag;
  logic acknowledge_waits, acknowledge_taken;
  tmb_fifo #(
    .T(operation_tag_t),
    .Depth(NumOperationTags)
  ) u_acknowledges (
    .clk_i,
    .rst_ni,
    .in_valid_i(last_valid && last_take && last.action.acknowledge && !last.action.with_data),
    .in_ready_o(acknowledge_room),
    .in_data_i(last.action.operation),
    .out_valid_o(acknowledge_waits),
    .out_ready_i(acknowledge_taken),
    .out_data_o(acknowledge_tag)
  );

  // Lines that came with an error in either row; the message that carries one is marked. Both rows are here
  // before the message is made.
  logic [NumPayloads-1:0] poisoned_q;
  always_ff @(posedge clk_i) begin
    if (read_taken) begin
      poisoned_q[read_index] <=
          axi_rsp_i.r.resp[1] || (axi_rsp_i.r.last && poisoned_q[read_index]);
    end
  end
  data_t data_told;
  always_comb begin
    data_told = data_head;
    data_told.header.poisoned = poisoned_q[data_head.payload];
  end

  data_t data;
  row_t data_row;
  logic data_valid, data_ready, data_last;
  tmb_directory_payload #(
    .Depth(NumPayloads),
    .T(data_t)
  ) u_read_payload (
    .clk_i,
    .rst_ni,
    .write_i(read_taken),
    .write_index_i(read_index),
    .write_last_i(axi_rsp_i.r.last),
    .write_row_i(axi_rsp_i.r.data),
    .in_valid_i(data_waits),
    .in_ready_o(data_done),
    .in_data_i(data_told),
    .in_index_i(data_head.payload),
    .out_valid_o(data_valid),
    .out_ready_i(data_ready),
    .out_data_o(data),
    .out_row_o(data_row),
    .out_last_o(data_last)
  );

  // Rows go to the link or to the application; the application's rows before plain acknowledgements.
  operation_rsp_t operation_answer;
  logic operation_answer_valid, operation_answer_ready, operation_has_data;
  assign operation_has_data = data_valid && data.acknowledge;
  assign operation_answer_valid = operation_has_data || acknowledge_waits;
  assign operation_answer = '{
      tag: operation_has_data ? data.operation : acknowledge_tag,
      row: operation_has_data ? data_row : '0,
      last: !operation_has_data || data_last
  };
  assign acknowledge_taken = operation_answer_ready && !operation_has_data;
  assign data_ready = data.acknowledge ? operation_answer_ready : response_data_ready_i;
  assign response_data_valid_o = data_valid && !data.acknowledge;
  assign response_data_o = '{header: data.header, row: data_row, last: data_last};

  tmb_spill_register #(
    .T(operation_rsp_t)
  ) u_operation_answer (
    .clk_i,
    .rst_ni,
    .in_valid_i(operation_answer_valid),
    .in_ready_o(operation_answer_ready),
    .in_data_i(operation_answer),
    .out_valid_o(operation_valid_o),
    .out_ready_i(operation_ready_i),
    .out_data_o(operation_o)
  );

  // ---------------------------------------------------------------------------------------------
  // Timeouts and errors
  // ---------------------------------------------------------------------------------------------

  logic requests_busy, operations_busy, request_late, operation_late;
  request_id_t request_late_index;
  operation_tag_t operation_late_index;

  tmb_directory_timeouts #(
    .NumItems(NumRequestIds)
  ) u_request_timeouts (
    .clk_i,
    .rst_ni,
    .period_i(timeout_period_i),
    .start_i(request_taken),
    .start_index_i(request_header.id),
    .end_i(last_valid && last_take && last.action.answer),
    .end_index_i(last.action.request),
    .busy_o(requests_busy),
    .late_valid_o(request_late),
    .late_index_o(request_late_index)
  );

  tmb_directory_timeouts #(
    .NumItems(NumOperationTags)
  ) u_operation_timeouts (
    .clk_i,
    .rst_ni,
    .period_i(timeout_period_i),
    .start_i(operation_taken),
    .start_index_i(operation_i.tag),
    .end_i(last_valid && last_take && last.action.acknowledge),
    .end_index_i(last.action.operation),
    .busy_o(operations_busy),
    .late_valid_o(operation_late),
    .late_index_o(operation_late_index)
  );

  // One error a cycle; of several at once, one is reported. The path is long, so it is registered twice:
  // units by groups and what the slice finds itself, then all of these.
  localparam int unsigned ErrorGroupSize = Units < 8 ? Units : 8;
  localparam int unsigned NumErrorGroups = Units / ErrorGroupSize;
  logic [NumErrorGroups-1:0] group_error_valid_q;
  error_t group_error_q [NumErrorGroups];
  for (genvar g = 0; g < NumErrorGroups; g++) begin : gen_error_group
    error_t group_error;
    always_comb begin
      group_error = '0;
      for (int unsigned u = g * ErrorGroupSize; u < (g + 1) * ErrorGroupSize; u++) begin
        if (error_valids[u]) group_error = errors[u];
      end
    end
    always_ff @(posedge clk_i) begin
      if (!rst_ni) group_error_valid_q[g] <= 1'b0;
      else group_error_valid_q[g] <= |error_valids[g*ErrorGroupSize+:ErrorGroupSize];
    end
    always_ff @(posedge clk_i) begin
      if (|error_valids[g*ErrorGroupSize+:ErrorGroupSize]) group_error_q[g] <= group_error;
    end
  end

  logic read_error_q, write_error_q, own_error_valid_q;
  axi_id_t read_error_id_q, write_error_id_q;
  error_t own_error, own_error_q;
  always_comb begin
    own_error = '{cause: ErrorTimeout, info: 16'({operation_late, operation_late_index})};
    if (request_late) own_error.info = 16'(request_late_index);
    if (read_error_q) own_error = '{cause: ErrorMemory, info: 16'(read_error_id_q)};
    if (write_error_q) own_error = '{cause: ErrorWrite, info: 16'(write_error_id_q)};
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_error_q <= 1'b0;
      write_error_q <= 1'b0;
      own_error_valid_q <= 1'b0;
    end else begin
      read_error_q <= read_taken && axi_rsp_i.r.resp[1];
      write_error_q <= write_taken && axi_rsp_i.b.resp[1];
      own_error_valid_q <= read_error_q || write_error_q || request_late || operation_late;
    end
  end
  always_ff @(posedge clk_i) begin
    if (axi_rsp_i.r_valid && axi_rsp_i.r.resp[1]) read_error_id_q <= axi_rsp_i.r.id;
    if (axi_rsp_i.b_valid && axi_rsp_i.b.resp[1]) write_error_id_q <= axi_rsp_i.b.id;
    if (read_error_q || write_error_q || request_late || operation_late) own_error_q <= own_error;
  end

  logic some_error, error_valid_q;
  error_t some_error_info, error_q;
  assign some_error = (group_error_valid_q != '0) || own_error_valid_q;
  always_comb begin
    some_error_info = own_error_q;
    for (int unsigned g = 0; g < NumErrorGroups; g++) begin
      if (group_error_valid_q[g]) some_error_info = group_error_q[g];
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) error_valid_q <= 1'b0;
    else error_valid_q <= some_error;
  end
  always_ff @(posedge clk_i) begin
    if (some_error) error_q <= some_error_info;
  end
  assign error_valid_o = error_valid_q;
  assign error_o = error_q;
  assign busy_o = requests_busy || operations_busy;

  assign events_o = '{
      request: request_taken,
      operation: operation_taken,
      forward: first_valid && first_take && first.action.forward,
      read: first_valid && first_take && first_reads,
      write: write_done
  };

  logic unused_ok;
  assign unused_ok = &{1'b0, axi_rsp_i.r.resp[0], axi_rsp_i.b.resp[0], request_header,
                       response_i, response_data_i.header, data.payload};

  `TMB_ASSERT_INIT(RequestIdsFit, RequestIdWidth <= OperationTagWidth)
  `TMB_ASSERT_INIT(IdsFit, UnitWidth + SetWidth + WayWidth <= AxiIdWidth)
  `TMB_ASSERT_INIT(UnitsArePowerOfTwo, Units >= 2 && (Units & (Units - 1)) == 0)
  `TMB_ASSERT_INIT(SlicesArePowerOfTwo, Cfg.Slices >= 1 && (Cfg.Slices & (Cfg.Slices - 1)) == 0)
  `TMB_ASSERT_INIT(SliceExists, Slice < Cfg.Slices)
  `TMB_ASSERT(ForwardsHaveRoom, !first_valid || forward_room)
  `TMB_ASSERT(ReadsHaveRoom, !first_valid || read_room)
  `TMB_ASSERT(WritesHaveRoom, !first_valid || write_room)
  `TMB_ASSERT(AnswersHaveRoom, !last_valid || last_take)
  `TMB_ASSERT_STABLE(ForwardHeld, forward_valid_o, forward_ready_i, forward_o)
  `TMB_ASSERT_STABLE(ResponseHeld, response_valid_o, response_ready_i, response_o)
  `TMB_ASSERT_STABLE(ResponseDataHeld, response_data_valid_o, response_data_ready_i,
                     response_data_o)
  `TMB_ASSERT_STABLE(OperationHeld, operation_valid_o, operation_ready_i, operation_o)
  `TMB_ASSERT_STABLE(ReadHeld, axi_req_o.ar_valid, axi_rsp_i.ar_ready, axi_req_o.ar)
  `TMB_ASSERT_STABLE(WriteHeld, axi_req_o.aw_valid, axi_rsp_i.aw_ready, axi_req_o.aw)
  `TMB_ASSERT_STABLE(RowHeld, axi_req_o.w_valid, axi_rsp_i.w_ready, axi_req_o.w)

endmodule
