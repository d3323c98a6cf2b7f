// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// DMA engine: runs the host's commands and reports events to it.
//
// Cfg   geometry of the shell: card memory, spaces, streams, slots, queues
//
//   command rings ─► queues ─► dispatch ─┬─ share ─► copy in ──┐
//   (fetch, decode)  (one each)          ├─ share ─► zero ─────┴─► card writer ─► fabric
//                                        ├─ share ─► copy out ◄── fabric
//                                        └─────────► table ─► virtual memory
//   completions, faults, interrupts, closed slots ─► events ─► event ring
//
// Queues are independent: each has its ring, its order and its fences, and they take turns, burst by
// burst; at the host link by the priorities, weights and floors of their slots, where these differ. Within a queue commands start in ring order; copies and zeroes then run side by side, table
// commands and fault replies one after the other. "Complete" is the last write response at the
// memory (CopyIn, Zero), the host's acceptance of the last posted write (CopyOut), the table engine's
// answer, or the acceptance of a fault reply: never earlier.
//
// Throughput: one row a cycle from the host and one to it, at the same time. Latency: doorbell to
// fetch 3 cycles; command to first burst 5 cycles.
// Back-pressure: reads of either side are asked for only with room for them; an event ring without
// room holds completions, then units, then dispatch. No deadlock: every unit's header argues why;
// between units, waiting goes one way only: queue -> dispatch -> units -> completions -> events ->
// host (which gives room back by a register write).
//
// Source: FSRF section 5.4; formats in docs/architecture.md.

`include "tmb_assert.svh"

module tmb_dma import tmb_pkg::*; import tmb_dma_pkg::*; import tmb_stream_pkg::*;
  import tmb_schedule_pkg::*; #(
  parameter shell_cfg_t Cfg = DefaultShellCfg,
  localparam int unsigned NumScheduled = Cfg.NumQueues > 1 ? Cfg.NumQueues - 1 : 1
) (
  input  logic clk_i,
  input  logic rst_ni,

  // Registers.
  input  logic        enable_i,
  input  ring_t       command_ring_i [Cfg.NumQueues],
  output logic [31:0] command_head_o [Cfg.NumQueues],
  input  ring_t       event_ring_i,
  output logic [31:0] event_tail_o,
  output logic        idle_o,
  input  logic        managed_i,                  // the schedulers of the host link are in use
  input  schedule_t   schedule_i [NumScheduled],  // of the queues from 1 on
  output logic        row_in_o,      // counted events: one row each
  output logic        row_out_o,
  output logic        row_zeroed_o,

  input  logic stop_i,         // grant no burst any more
  output logic quiet_reads_o,  // none is unanswered at host memory
  output logic quiet_writes_o,
  output logic record_o,       // the host has a record more: one cycle
  input  logic interrupt_i [Cfg.NumSlots],
  input  logic closed_i [Cfg.NumSlots],
  input  logic        transfer_valid_i,  // the end of a transfer of a mover
  output logic        transfer_ready_o,
  input  logic [7:0]  transfer_mover_i,
  input  mover_done_t transfer_i,
  input  logic trouble_i,  // the directory holds an error

  // Virtual memory.
  output logic         table_cmd_valid_o,
  input  logic         table_cmd_ready_i,
  output table_cmd_t   table_cmd_o,
  input  logic         table_rsp_valid_i,
  output logic         table_rsp_ready_o,
  input  table_rsp_t   table_rsp_i,
  input  logic         fault_valid_i,
  output logic         fault_ready_o,
  input  fault_t       fault_i,
  output logic         fault_reply_valid_o,
  input  logic         fault_reply_ready_i,
  output fault_reply_t fault_reply_o,

  // Fabric: one reader, one writer.
  output logic            read_req_valid_o,
  input  logic            read_req_ready_i,
  output mem_req_t        read_req_o,
  output stripe_t         read_stripe_o,
  input  logic            read_rsp_valid_i,
  output logic            read_rsp_ready_o,
  input  mem_read_rsp_t   read_rsp_i,
  output logic            write_req_valid_o,
  input  logic            write_req_ready_i,
  output mem_req_t        write_req_o,
  output stripe_t         write_stripe_o,
  output logic            write_data_valid_o,
  input  logic            write_data_ready_i,
  output mem_write_data_t write_data_o,
  input  logic            write_rsp_valid_i,
  output logic            write_rsp_ready_o,
  input  mem_write_rsp_t  write_rsp_i,

  // The kernels' way to pages in host memory.
  input  direct_req_t direct_i,
  output direct_rsp_t direct_o,

  // Host memory.
  output logic       host_ar_valid_o,
  input  logic       host_ar_ready_i,
  output host_ax_t   host_ar_o,
  output logic [3:0] host_ar_id_o,
  input  logic       host_r_valid_i,
  output logic       host_r_ready_o,
  input  host_r_t    host_r_i,
  input  logic [3:0] host_r_id_i,
  output logic       host_aw_valid_o,
  input  logic       host_aw_ready_i,
  output host_ax_t   host_aw_o,
  output logic [3:0] host_aw_id_o,
  output logic       host_w_valid_o,
  input  logic       host_w_ready_i,
  output host_w_t    host_w_o,
  output row_strobe_t host_w_strobe_o,
  input  logic       host_b_valid_i,
  output logic       host_b_ready_o,
  input  logic       host_b_error_i,
  input  logic [3:0] host_b_id_i
);

  // ---------------------------------------------------------------------------------------------
  // Commands
  // ---------------------------------------------------------------------------------------------

  localparam int unsigned NumQueues = Cfg.NumQueues;

  logic command_ar_valid, command_ar_ready, command_r_valid;
  host_ax_t command_ar;
  host_r_t host_r;
  logic fetch_valid [NumQueues];
  logic fetch_ready [NumQueues];
  host_ax_t fetch [NumQueues];
  queue_t arrived_queue;
  logic [NumQueues-1:0] arrived_valid;
  command_t arrived;

  tmb_dma_fetch #(
    .NumQueues(NumQueues)
  ) u_fetch (
    .clk_i,
    .rst_ni,
    .queue_ar_valid_i(fetch_valid),
    .queue_ar_ready_o(fetch_ready),
    .queue_ar_i(fetch),
    .host_ar_valid_o(command_ar_valid),
    .host_ar_ready_i(command_ar_ready),
    .host_ar_o(command_ar),
    .host_r_valid_i(command_r_valid),
    .host_r_last_i(host_r.last),
    .queue_o(arrived_queue),
    .arrived_o(arrived_valid)
  );

  tmb_dma_decode #(
    .Cfg(Cfg)
  ) u_decode (
    .row_i(host_r.row),
    .error_i(host_r.error),
    .queue_i(arrived_queue),
    .command_o(arrived)
  );

  // Completions: those of the units, then those of the queues' dispatchers.
  typedef enum int unsigned {
    DoneCopyIn = 0,
    DoneCopyOut = 1,
    DoneZero = 2,
    DoneTable = 3,
    DoneDispatch = 4
  } done_e;
  localparam int unsigned NumUnits = 4;
  localparam int unsigned NumDone = NumUnits + NumQueues;

  logic [NumDone-1:0] done_valid, done_ready;
  completion_t done [NumDone];

  // A command of a queue is complete. Counted a cycle later, so that the choice of a completion and the
  // count do not follow each other; a fence waits that cycle longer.
  logic [NumUnits-1:0] retired_valid, retired_valid_q;
  queue_t retired_queue [NumUnits];
  queue_t retired_queue_q [NumUnits];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) retired_valid_q <= '0;
    else retired_valid_q <= retired_valid;
  end
  always_ff @(posedge clk_i) retired_queue_q <= retired_queue;

  copy_t copy [NumQueues];
  command_t command [NumQueues];
  logic copy_in_valid [NumQueues];
  logic copy_in_ready [NumQueues];
  logic copy_out_valid [NumQueues];
  logic copy_out_ready [NumQueues];
  logic zero_valid [NumQueues];
  logic zero_ready [NumQueues];
  logic [NumQueues-1:0] table_valid, table_grant, queue_busy;
  logic table_ready;

  // Commands of a queue in the units: at most a burst each in three trackers, and what waits.
  localparam int unsigned CountWidth = $clog2(3 * MaxBursts + 64);
  typedef logic [CountWidth-1:0] count_t;

  for (genvar q = 0; q < NumQueues; q++) begin : gen_queue
    logic command_valid, command_ready, started, fetching, answer_valid, answer_ready;
    completion_t answer;
    logic [NumUnits-1:0] retired;
    count_t running_q;

    tmb_dma_queue u_queue (
      .clk_i,
      .rst_ni,
      .enable_i,
      .ring_i(command_ring_i[q]),
      .head_o(command_head_o[q]),
      .host_ar_valid_o(fetch_valid[q]),
      .host_ar_ready_i(fetch_ready[q]),
      .host_ar_o(fetch[q]),
      .arrived_valid_i(arrived_valid[q]),
      .arrived_i(arrived),
      .command_valid_o(command_valid),
      .command_ready_i(command_ready),
      .command_o(command[q]),
      .busy_o(fetching)
    );

    tmb_dma_dispatch u_dispatch (
      .command_valid_i(command_valid),
      .command_ready_o(command_ready),
      .command_i(command[q]),
      .busy_i(running_q != '0),
      .started_o(started),
      .copy_o(copy[q]),
      .copy_in_valid_o(copy_in_valid[q]),
      .copy_in_ready_i(copy_in_ready[q]),
      .copy_out_valid_o(copy_out_valid[q]),
      .copy_out_ready_i(copy_out_ready[q]),
      .zero_valid_o(zero_valid[q]),
      .zero_ready_i(zero_ready[q]),
      .table_valid_o(table_valid[q]),
      .table_ready_i(table_ready && table_grant[q]),
      .completion_valid_o(answer_valid),
      .completion_ready_i(answer_ready),
      .completion_o(answer)
    );

    // Between two choices: what kind of command is next, and whose completion is next.
    tmb_spill_register #(
      .T(completion_t)
    ) u_answer (
      .clk_i,
      .rst_ni,
      .in_valid_i(answer_valid),
      .in_ready_o(answer_ready),
      .in_data_i(answer),
      .out_valid_o(done_valid[DoneDispatch+q]),
      .out_ready_i(done_ready[DoneDispatch+q]),
      .out_data_o(done[DoneDispatch+q])
    );

    for (genvar u = 0; u < NumUnits; u++) begin : gen_retired
      assign retired[u] = retired_valid_q[u] && retired_queue_q[u] == queue_t'(q);
    end
    always_ff @(posedge clk_i) begin
      if (!rst_ni) running_q <= '0;
      else if (started || retired != '0) begin
        running_q <= running_q + count_t'(started) - count_t'($countones(retired));
      end
    end

    assign queue_busy[q] = fetching || running_q != '0 || done_valid[DoneDispatch+q];

    `TMB_ASSERT(OnlyRunningCommandsRetire, retired == '0 || running_q != '0)
  end

  // ---------------------------------------------------------------------------------------------
  // Units
  // ---------------------------------------------------------------------------------------------

  // Writers of the card: 0 CopyIn, 1 Zero.
  logic source_req_valid [2];
  logic source_req_ready [2];
  card_req_t source_req [2];
  card_req_t card_write, card_read;
  logic source_data_valid [2];
  logic source_data_ready [2];
  mem_write_data_t source_data [2];
  logic source_rsp_valid [2];
  mem_write_rsp_t source_rsp;

  logic copy_in_ar_valid, copy_in_ar_ready, copy_in_r_valid;
  host_ax_t copy_in_ar;

  logic copy_in_chunk_valid, copy_in_chunk_ready, copy_in_waiting, copy_in_busy;
  chunk_t copy_in_chunk;

  tmb_dma_share #(
    .NumQueues(NumQueues),
    .Scheduled(1'b1)
  ) u_copy_in_share (
    .clk_i,
    .rst_ni,
    .managed_i,
    .schedule_i,
    .row_done_i(copy_in_r_valid),
    .burst_done_i(host_r.last),
    .copy_valid_i(copy_in_valid),
    .copy_ready_o(copy_in_ready),
    .copy_i(copy),
    .chunk_valid_o(copy_in_chunk_valid),
    .chunk_ready_i(copy_in_chunk_ready),
    .chunk_o(copy_in_chunk),
    .busy_o(copy_in_waiting)
  );

  tmb_dma_copy_in #(
    .NumQueues(NumQueues)
  ) u_copy_in (
    .clk_i,
    .rst_ni,
    .chunk_valid_i(copy_in_chunk_valid),
    .chunk_ready_o(copy_in_chunk_ready),
    .chunk_i(copy_in_chunk),
    .host_ar_valid_o(copy_in_ar_valid),
    .host_ar_ready_i(copy_in_ar_ready),
    .host_ar_o(copy_in_ar),
    .host_r_valid_i(copy_in_r_valid),
    .host_r_i(host_r),
    .write_req_valid_o(source_req_valid[0]),
    .write_req_ready_i(source_req_ready[0]),
    .write_req_o(source_req[0]),
    .write_data_valid_o(source_data_valid[0]),
    .write_data_ready_i(source_data_ready[0]),
    .write_data_o(source_data[0]),
    .write_rsp_valid_i(source_rsp_valid[0]),
    .write_rsp_i(source_rsp),
    .completion_valid_o(done_valid[DoneCopyIn]),
    .completion_ready_i(done_ready[DoneCopyIn]),
    .completion_o(done[DoneCopyIn]),
    .retired_valid_o(retired_valid[DoneCopyIn]),
    .retired_queue_o(retired_queue[DoneCopyIn]),
    .busy_o(copy_in_busy),
    .row_done_o(row_in_o)
  );

  // No host side: let it run along with the card address, then it never cuts a burst.
  copy_t zero_copy [NumQueues];
  for (genvar q = 0; q < NumQueues; q++) begin : gen_zero_copy
    assign zero_copy[q] = '{
        note: copy[q].note,
        card_addr: copy[q].card_addr,
        stripe: copy[q].stripe,
        host_addr: host_addr_t'(copy[q].card_addr),
        rows: copy[q].rows
    };
  end

  logic zero_chunk_valid, zero_chunk_ready, zero_waiting, zero_busy;
  chunk_t zero_chunk;

  tmb_dma_share #(
    .NumQueues(NumQueues)
  ) u_zero_share (
    .clk_i,
    .rst_ni,
    .managed_i,
    .schedule_i,
    .row_done_i(1'b0),
    .burst_done_i(1'b0),
    .copy_valid_i(zero_valid),
    .copy_ready_o(zero_ready),
    .copy_i(zero_copy),
    .chunk_valid_o(zero_chunk_valid),
    .chunk_ready_i(zero_chunk_ready),
    .chunk_o(zero_chunk),
    .busy_o(zero_waiting)
  );

  tmb_dma_zero #(
    .NumQueues(NumQueues)
  ) u_zero (
    .clk_i,
    .rst_ni,
    .chunk_valid_i(zero_chunk_valid),
    .chunk_ready_o(zero_chunk_ready),
    .chunk_i(zero_chunk),
    .write_req_valid_o(source_req_valid[1]),
    .write_req_ready_i(source_req_ready[1]),
    .write_req_o(source_req[1]),
    .write_data_valid_o(source_data_valid[1]),
    .write_data_ready_i(source_data_ready[1]),
    .write_data_o(source_data[1]),
    .write_rsp_valid_i(source_rsp_valid[1]),
    .write_rsp_i(source_rsp),
    .completion_valid_o(done_valid[DoneZero]),
    .completion_ready_i(done_ready[DoneZero]),
    .completion_o(done[DoneZero]),
    .retired_valid_o(retired_valid[DoneZero]),
    .retired_queue_o(retired_queue[DoneZero]),
    .busy_o(zero_busy),
    .row_done_o(row_zeroed_o)
  );

  tmb_dma_card_writer u_card_writer (
    .clk_i,
    .rst_ni,
    .source_req_valid_i(source_req_valid),
    .source_req_ready_o(source_req_ready),
    .source_req_i(source_req),
    .source_data_valid_i(source_data_valid),
    .source_data_ready_o(source_data_ready),
    .source_data_i(source_data),
    .source_rsp_valid_o(source_rsp_valid),
    .source_rsp_o(source_rsp),
    .write_req_valid_o,
    .write_req_ready_i,
    .write_req_o(card_write),
    .write_data_valid_o,
    .write_data_ready_i,
    .write_data_o,
    .write_rsp_valid_i,
    .write_rsp_ready_o,
    .write_rsp_i
  );

  logic copy_out_aw_valid, copy_out_aw_ready, copy_out_w_valid, copy_out_w_ready, copy_out_b_valid;
  logic host_b_error;
  host_ax_t copy_out_aw;
  host_w_t copy_out_w;

  logic copy_out_chunk_valid, copy_out_chunk_ready, copy_out_waiting, copy_out_busy;
  chunk_t copy_out_chunk;

  tmb_dma_share #(
    .NumQueues(NumQueues),
    .Scheduled(1'b1)
  ) u_copy_out_share (
    .clk_i,
    .rst_ni,
    .managed_i,
    .schedule_i,
    .row_done_i(copy_out_w_valid && copy_out_w_ready),
    .burst_done_i(copy_out_w.last),
    .copy_valid_i(copy_out_valid),
    .copy_ready_o(copy_out_ready),
    .copy_i(copy),
    .chunk_valid_o(copy_out_chunk_valid),
    .chunk_ready_i(copy_out_chunk_ready),
    .chunk_o(copy_out_chunk),
    .busy_o(copy_out_waiting)
  );

  tmb_dma_copy_out #(
    .NumQueues(NumQueues)
  ) u_copy_out (
    .clk_i,
    .rst_ni,
    .chunk_valid_i(copy_out_chunk_valid),
    .chunk_ready_o(copy_out_chunk_ready),
    .chunk_i(copy_out_chunk),
    .read_req_valid_o,
    .read_req_ready_i,
    .read_req_o(card_read),
    .read_rsp_valid_i,
    .read_rsp_i,
    .host_aw_valid_o(copy_out_aw_valid),
    .host_aw_ready_i(copy_out_aw_ready),
    .host_aw_o(copy_out_aw),
    .host_w_valid_o(copy_out_w_valid),
    .host_w_ready_i(copy_out_w_ready),
    .host_w_o(copy_out_w),
    .host_b_valid_i(copy_out_b_valid),
    .host_b_error_i(host_b_error),
    .completion_valid_o(done_valid[DoneCopyOut]),
    .completion_ready_i(done_ready[DoneCopyOut]),
    .completion_o(done[DoneCopyOut]),
    .retired_valid_o(retired_valid[DoneCopyOut]),
    .retired_queue_o(retired_queue[DoneCopyOut]),
    .busy_o(copy_out_busy),
    .row_done_o(row_out_o)
  );
  assign read_rsp_ready_o = 1'b1;
  assign read_req_o = card_read.req;
  assign read_stripe_o = card_read.stripe;
  assign write_req_o = card_write.req;
  assign write_stripe_o = card_write.stripe;

  // Table commands and fault replies of the queues take turns.
  localparam int unsigned QueueIndexWidth = NumQueues > 1 ? $clog2(NumQueues) : 1;
  logic table_any, table_busy;
  logic [QueueIndexWidth-1:0] table_queue;

  tmb_round_robin_arbiter #(
    .NumRequests(NumQueues)
  ) u_table_arbiter (
    .clk_i,
    .rst_ni,
    .request_i(table_valid),
    .accept_i(table_ready),
    .valid_o(table_any),
    .grant_o(table_grant),
    .index_o(table_queue)
  );

  tmb_dma_table u_table (
    .clk_i,
    .rst_ni,
    .command_valid_i(table_any),
    .command_ready_o(table_ready),
    .command_i(command[table_queue]),
    .table_cmd_valid_o,
    .table_cmd_ready_i,
    .table_cmd_o,
    .table_rsp_valid_i,
    .table_rsp_ready_o,
    .table_rsp_i,
    .fault_reply_valid_o,
    .fault_reply_ready_i,
    .fault_reply_o,
    .completion_valid_o(done_valid[DoneTable]),
    .completion_ready_i(done_ready[DoneTable]),
    .completion_o(done[DoneTable]),
    .retired_valid_o(retired_valid[DoneTable]),
    .retired_queue_o(retired_queue[DoneTable]),
    .busy_o(table_busy)
  );

  // ---------------------------------------------------------------------------------------------
  // Completions and events
  // ---------------------------------------------------------------------------------------------

  logic done_any, completion_in_ready, completion_valid, completion_ready, events_busy;
  logic [NumDone-1:0] done_grant;
  logic [$clog2(NumDone)-1:0] unused_done_index;
  completion_t done_won, completion;

  tmb_round_robin_arbiter #(
    .NumRequests(NumDone)
  ) u_done_arbiter (
    .clk_i,
    .rst_ni,
    .request_i(done_valid),
    .accept_i(completion_in_ready),
    .valid_o(done_any),
    .grant_o(done_grant),
    .index_o(unused_done_index)
  );

  // By the grant itself: it is there before its number.
  always_comb begin
    done_won = '0;
    for (int unsigned i = 0; i < NumDone; i++) begin
      if (done_grant[i]) done_won |= done[i];
    end
  end

  assign done_ready = completion_in_ready ? done_grant : '0;

  tmb_spill_register #(
    .T(completion_t)
  ) u_completion (
    .clk_i,
    .rst_ni,
    .in_valid_i(done_any),
    .in_ready_o(completion_in_ready),
    .in_data_i(done_won),
    .out_valid_o(completion_valid),
    .out_ready_i(completion_ready),
    .out_data_o(completion)
  );

  logic event_aw_valid, event_aw_ready, event_w_valid, event_w_ready, event_b_valid;
  host_ax_t event_aw;
  host_w_t event_w;

  tmb_dma_events #(
    .NumSlots(Cfg.NumSlots),
    .Streams(Cfg.StreamsPerSlot != 0)
  ) u_events (
    .clk_i,
    .rst_ni,
    .enable_i,
    .ring_i(event_ring_i),
    .tail_o(event_tail_o),
    .record_o,
    .completion_valid_i(completion_valid),
    .completion_ready_o(completion_ready),
    .completion_i(completion),
    .fault_valid_i,
    .fault_ready_o,
    .fault_i,
    .interrupt_i,
    .closed_i,
    .transfer_valid_i,
    .transfer_ready_o,
    .transfer_mover_i,
    .transfer_i,
    .trouble_i,
    .host_aw_valid_o(event_aw_valid),
    .host_aw_ready_i(event_aw_ready),
    .host_aw_o(event_aw),
    .host_w_valid_o(event_w_valid),
    .host_w_ready_i(event_w_ready),
    .host_w_o(event_w),
    .host_b_valid_i(event_b_valid),
    .busy_o(events_busy)
  );

  assign idle_o = !((|queue_busy) || copy_in_waiting || copy_in_busy || copy_out_waiting ||
      copy_out_busy || zero_waiting || zero_busy || table_busy || completion_valid || events_busy);

  // ---------------------------------------------------------------------------------------------
  // Host bus
  // ---------------------------------------------------------------------------------------------

  tmb_dma_host #(
    .HostChannel(Cfg.HostChannel)
  ) u_host (
    .clk_i,
    .rst_ni,
    .stop_i,
    .quiet_reads_o,
    .quiet_writes_o,
    .command_ar_valid_i(command_ar_valid),
    .command_ar_ready_o(command_ar_ready),
    .command_ar_i(command_ar),
    .command_r_valid_o(command_r_valid),
    .copy_in_ar_valid_i(copy_in_ar_valid),
    .copy_in_ar_ready_o(copy_in_ar_ready),
    .copy_in_ar_i(copy_in_ar),
    .copy_in_r_valid_o(copy_in_r_valid),
    .r_o(host_r),
    .copy_out_aw_valid_i(copy_out_aw_valid),
    .copy_out_aw_ready_o(copy_out_aw_ready),
    .copy_out_aw_i(copy_out_aw),
    .copy_out_w_valid_i(copy_out_w_valid),
    .copy_out_w_ready_o(copy_out_w_ready),
    .copy_out_w_i(copy_out_w),
    .copy_out_b_valid_o(copy_out_b_valid),
    .event_aw_valid_i(event_aw_valid),
    .event_aw_ready_o(event_aw_ready),
    .event_aw_i(event_aw),
    .event_w_valid_i(event_w_valid),
    .event_w_ready_o(event_w_ready),
    .event_w_i(event_w),
    .event_b_valid_o(event_b_valid),
    .b_error_o(host_b_error),
    .direct_i,
    .direct_o,
    .host_ar_valid_o,
    .host_ar_ready_i,
    .host_ar_o,
    .host_ar_id_o,
    .host_r_valid_i,
    .host_r_ready_o,
    .host_r_i,
    .host_r_id_i,
    .host_aw_valid_o,
    .host_aw_ready_i,
    .host_aw_o,
    .host_aw_id_o,
    .host_w_valid_o,
    .host_w_ready_i,
    .host_w_o,
    .host_w_strobe_o,
    .host_b_valid_i,
    .host_b_ready_o,
    .host_b_error_i,
    .host_b_id_i
  );

  `TMB_ASSERT_INIT(QueuesFit, NumQueues >= 1 && NumQueues <= 17)
  `TMB_ASSERT_INIT(RequestersFitToken, 2 * Cfg.NumSlots * Cfg.PortsPerSlot <= (1 << RequesterIdWidth))

endmodule
