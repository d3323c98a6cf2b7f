// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// All registers of the shell: the generated block (tmb_shell.rdl), the arrays behind it (those that move
// with the traffic are outside it), and the names that the rest of the shell uses.
//
// Throughput and ordering: one access at a time. No deadlock: no register waits for anything.
// Latency: done_o in the cycle of valid_i for plain registers, one or two cycles later for arrays.
// State changes only on an access of the host or on a counted event.

module tmb_register_block import tmb_pkg::*; import tmb_dma_pkg::*; import tmb_shell_pkg::*;
  import tmb_guard_pkg::*; import tmb_stream_pkg::*; import tmb_schedule_pkg::*; #(
  parameter shell_cfg_t Cfg = DefaultShellCfg,
  localparam int unsigned NumMovers = 2 * (Cfg.NumSlots * Cfg.StreamsPerSlot + Cfg.NetworkPairs),
  localparam int unsigned MoverElements = NumMovers == 0 ? 1 : NumMovers,
  localparam int unsigned PairElements = NumMovers == 0 ? 1 : NumMovers / 2
) (
  input  logic         clk_i,
  input  logic         rst_ni,

  input  logic         valid_i,
  input  access_t      access_i,  // stays until done_o
  output logic         done_o,
  output access_rsp_t  rsp_o,

  // Description of the board, identities of the slots.
  input  card_facts_t  card_i,
  input  logic [63:0]  slot_identity_i [Cfg.NumSlots],

  output logic         reset_start_o,  // one cycle
  output logic         used_o,         // the host writes another register than RESET: one cycle
  input  reset_state_t reset_i,
  output interrupt_cfg_t interrupt_o,
  input  interrupt_state_t interrupt_i,
  output logic         acknowledge_o,  // EVENT_HEAD is written: one cycle
  output error_bits_t  errors_o,
  input  error_bits_t  errors_set_i,
  input  error_firsts_t error_firsts_i,

  output logic         enable_o,
  output ring_t        command_ring_o [Cfg.NumQueues],
  input  logic [31:0]  command_head_i [Cfg.NumQueues],
  output ring_t        event_ring_o,
  input  logic [31:0]  event_tail_i,
  input  logic         idle_i,
  input  logic         row_in_i,
  input  logic         row_out_i,
  input  logic         row_zeroed_i,

  output space_cfg_t   space_cfg_o [Cfg.NumSpaces],
  output stripe_t      space_stripe_o [Cfg.NumSpaces],
  input  table_switch_t table_switch_i,
  output logic         slot_run_o [Cfg.NumSlots],
  output asid_t        slot_asid_o [Cfg.NumSlots],
  input  logic         slot_idle_i [Cfg.NumSlots],
  input  logic         slot_hung_i [Cfg.NumSlots],
  input  unanswered_t  slot_unanswered_i [Cfg.NumSlots],
  input  read_notes_t  slot_notes_i [Cfg.NumSlots],
  output logic         slot_rearm_o [Cfg.NumSlots],
  // arrays outside the block, because they move with the traffic
  output array_req_t   ports_req_o,       // tmb_guard_registers
  input  array_rsp_t   ports_rsp_i,
  output array_req_t   requesters_req_o,  // tmb_requester_counters
  input  array_rsp_t   requesters_rsp_i,
  input  logic         walk_read_i,
  input  logic [31:0]  owner_changes_i [2],  // of reads, of writes

  // Without streams: one element, unused.
  output logic           mover_start_o [MoverElements],
  output mover_command_t mover_command_o [MoverElements],
  input  mover_state_t   mover_state_i [MoverElements],
  output stream_source_t switch_source_o [PairElements],
  output logic           switch_forget_o [PairElements],
  input  switch_state_t  switch_state_i [PairElements],

  output schedule_t      schedule_o [Cfg.NumSlots],
  output logic           managed_o
);

  // ---------------------------------------------------------------------------------------------
  // Row counters
  // ---------------------------------------------------------------------------------------------

  logic [63:0] rows_in_q, rows_out_q, rows_zeroed_q, walk_reads_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      rows_in_q <= '0;
      rows_out_q <= '0;
      rows_zeroed_q <= '0;
      walk_reads_q <= '0;
    end else begin
      if (row_in_i) rows_in_q <= rows_in_q + 1'b1;
      if (row_out_i) rows_out_q <= rows_out_q + 1'b1;
      if (row_zeroed_i) rows_zeroed_q <= rows_zeroed_q + 1'b1;
      if (walk_read_i) walk_reads_q <= walk_reads_q + 1'b1;
    end
  end

  // Pins of the shell go to registers only.
  card_facts_t card_q;
  logic [63:0] slot_identity_q [Cfg.NumSlots];

  always_ff @(posedge clk_i) begin
    card_q <= card_i;
    slot_identity_q <= slot_identity_i;
  end

  // ---------------------------------------------------------------------------------------------
  // Generated block
  // ---------------------------------------------------------------------------------------------

  tmb_shell_registers_pkg::tmb_shell__in_t hwif_in;
  tmb_shell_registers_pkg::tmb_shell__out_t hwif_out;
  array_rsp_t spaces_rsp, slots_rsp, queues_rsp, movers_rsp;
  array_rsp_t switches_rsp, schedules_rsp, kernels_rsp;

  // Sizes of pages: as the smallest L1 TLB has them, or larger. Without L1 TLBs, and with addresses as they are, all.
  localparam bit AnySize = Cfg.Translator == TranslatorIdentity || Cfg.L1[0].Ways == 0;
  localparam int unsigned SmallestClass = AnySize ? 0 : Cfg.L1[0].PageBits - MinPageBits;
  localparam logic [MaxSizeClass:0] PageSizes = (MaxSizeClass + 1)'({(MaxSizeClass + 1){1'b1}} << SmallestClass);
  logic read_ack, write_ack, read_error, write_error, stall_write, stall_read;
  logic [31:0] write_mask;

  for (genvar b = 0; b < 4; b++) begin : gen_mask
    assign write_mask[8*b+:8] = {8{access_i.strobe[b]}};
  end

  always_comb begin
    hwif_in.GEOMETRY.SLOTS.next = 8'(Cfg.NumSlots);
    hwif_in.GEOMETRY.PORTS_PER_SLOT.next = 8'(Cfg.PortsPerSlot);
    hwif_in.GEOMETRY.SPACES.next = 8'(Cfg.NumSpaces);
    hwif_in.GEOMETRY.TRANSLATOR.next = Cfg.Translator;
    hwif_in.GEOMETRY.QUEUES.next = 5'(Cfg.NumQueues);
    hwif_in.MEMORY.CHANNELS.next = 8'(Cfg.NumChannels);
    hwif_in.MEMORY.CHANNEL_BYTES_LOG2.next = 6'(Cfg.ChannelBytesLog2);
    hwif_in.TRANSLATION.MAX_WALKS.next = 16'(Cfg.MaxWalks);
    hwif_in.L1_0.PAGE_BITS.next = 6'(Cfg.L1[0].PageBits);
    hwif_in.L1_0.SETS_LOG2.next = 5'(Cfg.L1[0].SetsLog2);
    hwif_in.L1_0.WAYS.next = 8'(Cfg.L1[0].Ways);
    hwif_in.L1_1.PAGE_BITS.next = 6'(Cfg.L1[1].PageBits);
    hwif_in.L1_1.SETS_LOG2.next = 5'(Cfg.L1[1].SetsLog2);
    hwif_in.L1_1.WAYS.next = 8'(Cfg.L1[1].Ways);
    hwif_in.L1_2.PAGE_BITS.next = 6'(Cfg.L1[2].PageBits);
    hwif_in.L1_2.SETS_LOG2.next = 5'(Cfg.L1[2].SetsLog2);
    hwif_in.L1_2.WAYS.next = 8'(Cfg.L1[2].Ways);
    hwif_in.L1_3.PAGE_BITS.next = 6'(Cfg.L1[3].PageBits);
    hwif_in.L1_3.SETS_LOG2.next = 5'(Cfg.L1[3].SetsLog2);
    hwif_in.L1_3.WAYS.next = 8'(Cfg.L1[3].Ways);
    hwif_in.TRANSLATION.PARK_DEPTH.next = 8'(Cfg.ParkDepth);
    hwif_in.TRANSLATION.LOOK_AHEAD.next = 8'(Cfg.LookAhead);
    hwif_in.STREAM_GEOMETRY.PER_SLOT.next = 8'(Cfg.StreamsPerSlot);
    hwif_in.STREAM_GEOMETRY.NETWORK.next = 8'(Cfg.NetworkPairs);
    hwif_in.STREAM_GEOMETRY.TID_WIDTH.next = 8'(Cfg.TidWidth);
    hwif_in.STREAM_GEOMETRY.TDEST_WIDTH.next = 8'(Cfg.TdestWidth);
    hwif_in.FEATURES.HOST_CHANNEL.next = Cfg.HostChannel;
    hwif_in.FEATURES.LINE_CACHE.next = Cfg.Cache.Sets != 0;
    hwif_in.FEATURES.DIRECTORY_SLICES.next = 8'(Cfg.Directory.Slices);
    hwif_in.CLOCK.PERIOD.next = card_q.clock_period;
    hwif_in.CHANNEL_BYTES_LO.VALUE.next = card_q.channel_bytes[31:0];
    hwif_in.CHANNEL_BYTES_HI.VALUE.next = card_q.channel_bytes[63:32];
    hwif_in.PAGE_SIZES.MASK.next = PageSizes;
    hwif_in.STATUS.IDLE.next = idle_i;
    hwif_in.RESET.BUSY.next = reset_i.busy;
    hwif_in.RESET.DONE.next = reset_i.done;
    hwif_in.RESET.USED.next = reset_i.used;
    hwif_in.RESET.WAITS_FOR.next = reset_i.waits_for;
    hwif_in.INTERRUPT.RECORDS_PENDING.next = interrupt_i.records;
    hwif_in.INTERRUPT.ERRORS_PENDING.next = interrupt_i.errors;
    hwif_in.INTERRUPT.SENT.next = interrupt_i.sent;
    hwif_in.ERROR.BAR_READ.hwset = errors_set_i.bar_read;
    hwif_in.ERROR.BAR_WRITE.hwset = errors_set_i.bar_write;
    hwif_in.ERROR.HOST_READ.hwset = errors_set_i.host_read;
    hwif_in.ERROR.HOST_WRITE.hwset = errors_set_i.host_write;
    hwif_in.ERROR.MEMORY_READ.hwset = errors_set_i.memory_read;
    hwif_in.ERROR.MEMORY_WRITE.hwset = errors_set_i.memory_write;
    hwif_in.ERROR_MASTER.MASTER.next = error_firsts_i.master;
    hwif_in.ERROR_MASTER.RESPONSE.next = {1'b1, error_firsts_i.decode};
    hwif_in.ERROR_MASTER.PORT.next = error_firsts_i.port;
    hwif_in.ERROR_READ.ADDRESS.next = error_firsts_i.read_address;
    hwif_in.ERROR_READ.RESPONSE.next = {1'b1, error_firsts_i.read_decode};
    hwif_in.ERROR_WRITE.ADDRESS.next = error_firsts_i.write_address;
    hwif_in.ERROR_WRITE.RESPONSE.next = {1'b1, error_firsts_i.write_decode};
    hwif_in.EVENT_TAIL.VALUE.next = event_tail_i;
    hwif_in.ROWS_IN_LO.VALUE.next = rows_in_q[31:0];
    hwif_in.ROWS_IN_HI.VALUE.next = rows_in_q[63:32];
    hwif_in.ROWS_OUT_LO.VALUE.next = rows_out_q[31:0];
    hwif_in.ROWS_OUT_HI.VALUE.next = rows_out_q[63:32];
    hwif_in.ROWS_ZEROED_LO.VALUE.next = rows_zeroed_q[31:0];
    hwif_in.ROWS_ZEROED_HI.VALUE.next = rows_zeroed_q[63:32];
    hwif_in.WALK_READS_LO.VALUE.next = walk_reads_q[31:0];
    hwif_in.WALK_READS_HI.VALUE.next = walk_reads_q[63:32];
    hwif_in.READ_OWNER_CHANGES.VALUE.next = owner_changes_i[0];
    hwif_in.WRITE_OWNER_CHANGES.VALUE.next = owner_changes_i[1];
    hwif_in.SPACES.rd_ack = spaces_rsp.read_ack;
    hwif_in.SPACES.rd_data = spaces_rsp.data;
    hwif_in.SPACES.wr_ack = spaces_rsp.write_ack;
    hwif_in.SLOTS.rd_ack = slots_rsp.read_ack;
    hwif_in.SLOTS.rd_data = slots_rsp.data;
    hwif_in.SLOTS.wr_ack = slots_rsp.write_ack;
    hwif_in.PORTS.rd_ack = ports_rsp_i.read_ack;
    hwif_in.PORTS.rd_data = ports_rsp_i.data;
    hwif_in.PORTS.wr_ack = ports_rsp_i.write_ack;
    hwif_in.QUEUES.rd_ack = queues_rsp.read_ack;
    hwif_in.QUEUES.rd_data = queues_rsp.data;
    hwif_in.QUEUES.wr_ack = queues_rsp.write_ack;
    hwif_in.REQUESTERS.rd_ack = requesters_rsp_i.read_ack;
    hwif_in.REQUESTERS.rd_data = requesters_rsp_i.data;
    hwif_in.REQUESTERS.wr_ack = requesters_rsp_i.write_ack;
    hwif_in.MOVERS.rd_ack = movers_rsp.read_ack;
    hwif_in.MOVERS.rd_data = movers_rsp.data;
    hwif_in.MOVERS.wr_ack = movers_rsp.write_ack;
    hwif_in.SWITCHES.rd_ack = switches_rsp.read_ack;
    hwif_in.SWITCHES.rd_data = switches_rsp.data;
    hwif_in.SWITCHES.wr_ack = switches_rsp.write_ack;
    hwif_in.SCHEDULES.rd_ack = schedules_rsp.read_ack;
    hwif_in.SCHEDULES.rd_data = schedules_rsp.data;
    hwif_in.SCHEDULES.wr_ack = schedules_rsp.write_ack;
    hwif_in.KERNELS.rd_ack = kernels_rsp.read_ack;
    hwif_in.KERNELS.rd_data = kernels_rsp.data;
    hwif_in.KERNELS.wr_ack = kernels_rsp.write_ack;
  end

  tmb_shell_registers u_registers (
    .clk(clk_i),
    .rst_n(rst_ni),
    .s_cpuif_req(valid_i),
    .s_cpuif_req_is_wr(access_i.write),
    .s_cpuif_addr(access_i.addr[14:0]),
    .s_cpuif_wr_data(access_i.data),
    .s_cpuif_wr_biten(write_mask),
    .s_cpuif_req_stall_wr(stall_write),
    .s_cpuif_req_stall_rd(stall_read),
    .s_cpuif_rd_ack(read_ack),
    .s_cpuif_rd_err(read_error),
    .s_cpuif_rd_data(rsp_o.data),
    .s_cpuif_wr_ack(write_ack),
    .s_cpuif_wr_err(write_error),
    .hwif_in(hwif_in),
    .hwif_out(hwif_out)
  );

  assign done_o = read_ack || write_ack;
  assign rsp_o.error = read_ack ? read_error : write_error;

  assign reset_start_o = hwif_out.RESET.START.value;
  assign used_o = valid_i && access_i.write && !hwif_out.RESET.START.swmod;
  assign interrupt_o = '{
      acknowledge: hwif_out.INTERRUPT.ACKNOWLEDGE.value,
      errors: hwif_out.INTERRUPT.ERRORS.value,
      records: hwif_out.INTERRUPT.RECORDS.value
  };
  assign acknowledge_o = hwif_out.EVENT_HEAD.VALUE.swmod;
  assign errors_o = '{
      memory_write: hwif_out.ERROR.MEMORY_WRITE.value,
      memory_read: hwif_out.ERROR.MEMORY_READ.value,
      host_write: hwif_out.ERROR.HOST_WRITE.value,
      host_read: hwif_out.ERROR.HOST_READ.value,
      bar_write: hwif_out.ERROR.BAR_WRITE.value,
      bar_read: hwif_out.ERROR.BAR_READ.value
  };
  assign enable_o = hwif_out.CONTROL.ENABLE.value;
  assign event_ring_o = '{
      base: {hwif_out.EVENT_BASE_HI.VALUE.value, hwif_out.EVENT_BASE_LO.VALUE.value},
      size_log2: hwif_out.EVENT_SIZE_LOG2.VALUE.value,
      host_count: hwif_out.EVENT_HEAD.VALUE.value
  };

  // ---------------------------------------------------------------------------------------------
  // Arrays
  // ---------------------------------------------------------------------------------------------

  tmb_space_registers #(
    .NumSpaces(Cfg.NumSpaces),
    .NumChannels(Cfg.NumChannels),
    .ChannelBytesLog2(Cfg.ChannelBytesLog2)
  ) u_spaces (
    .clk_i,
    .rst_ni,
    .req_i('{
        valid: hwif_out.SPACES.req,
        write: hwif_out.SPACES.req_is_wr,
        addr: 13'(hwif_out.SPACES.addr),
        data: hwif_out.SPACES.wr_data,
        mask: hwif_out.SPACES.wr_biten
    }),
    .rsp_o(spaces_rsp),
    .space_cfg_o,
    .stripe_o(space_stripe_o),
    .table_switch_i
  );

  tmb_slot_registers #(
    .NumSlots(Cfg.NumSlots)
  ) u_slots (
    .clk_i,
    .rst_ni,
    .req_i('{
        valid: hwif_out.SLOTS.req,
        write: hwif_out.SLOTS.req_is_wr,
        addr: 13'(hwif_out.SLOTS.addr),
        data: hwif_out.SLOTS.wr_data,
        mask: hwif_out.SLOTS.wr_biten
    }),
    .rsp_o(slots_rsp),
    .run_o(slot_run_o),
    .asid_o(slot_asid_o),
    .idle_i(slot_idle_i),
    .hung_i(slot_hung_i),
    .unanswered_i(slot_unanswered_i),
    .notes_i(slot_notes_i),
    .rearm_o(slot_rearm_o)
  );

  assign ports_req_o = '{
      valid: hwif_out.PORTS.req,
      write: hwif_out.PORTS.req_is_wr,
      addr: 13'(hwif_out.PORTS.addr),
      data: hwif_out.PORTS.wr_data,
      mask: hwif_out.PORTS.wr_biten
  };

  assign requesters_req_o = '{
      valid: hwif_out.REQUESTERS.req,
      write: hwif_out.REQUESTERS.req_is_wr,
      addr: hwif_out.REQUESTERS.addr,
      data: hwif_out.REQUESTERS.wr_data,
      mask: hwif_out.REQUESTERS.wr_biten
  };

  tmb_queue_registers #(
    .NumQueues(Cfg.NumQueues)
  ) u_queues (
    .clk_i,
    .rst_ni,
    .req_i('{
        valid: hwif_out.QUEUES.req,
        write: hwif_out.QUEUES.req_is_wr,
        addr: 13'(hwif_out.QUEUES.addr),
        data: hwif_out.QUEUES.wr_data,
        mask: hwif_out.QUEUES.wr_biten
    }),
    .rsp_o(queues_rsp),
    .ring_o(command_ring_o),
    .head_i(command_head_i)
  );

  tmb_schedule_registers #(
    .NumSlots(Cfg.NumSlots)
  ) u_schedules (
    .clk_i,
    .rst_ni,
    .req_i('{
        valid: hwif_out.SCHEDULES.req,
        write: hwif_out.SCHEDULES.req_is_wr,
        addr: 13'(hwif_out.SCHEDULES.addr),
        data: hwif_out.SCHEDULES.wr_data,
        mask: hwif_out.SCHEDULES.wr_biten
    }),
    .rsp_o(schedules_rsp),
    .schedule_o,
    .managed_o
  );

  tmb_kernel_registers #(
    .NumSlots(Cfg.NumSlots)
  ) u_kernels (
    .clk_i,
    .rst_ni,
    .req_i('{
        valid: hwif_out.KERNELS.req,
        write: hwif_out.KERNELS.req_is_wr,
        addr: 13'(hwif_out.KERNELS.addr),
        data: hwif_out.KERNELS.wr_data,
        mask: hwif_out.KERNELS.wr_biten
    }),
    .rsp_o(kernels_rsp),
    .identity_i(slot_identity_q)
  );

  array_req_t mover_req, switch_req;
  assign switch_req = '{
      valid: hwif_out.SWITCHES.req,
      write: hwif_out.SWITCHES.req_is_wr,
      addr: 13'(hwif_out.SWITCHES.addr),
      data: hwif_out.SWITCHES.wr_data,
      mask: hwif_out.SWITCHES.wr_biten
  };
  assign mover_req = '{
      valid: hwif_out.MOVERS.req,
      write: hwif_out.MOVERS.req_is_wr,
      addr: 13'(hwif_out.MOVERS.addr),
      data: hwif_out.MOVERS.wr_data,
      mask: hwif_out.MOVERS.wr_biten
  };

  if (NumMovers == 0) begin : gen_no_movers
    // Read zero, ignore writes.
    logic [31:0] unused_offset [2], unused_written [2];
    logic unused_index [2], unused_write [2];
    logic unused_movers;

    tmb_array_access #(
      .NumElements(1)
    ) u_access (
      .clk_i,
      .rst_ni,
      .req_i(mover_req),
      .rsp_o(movers_rsp),
      .index_o(unused_index[0]),
      .offset_o(unused_offset[0]),
      .word_i('0),
      .written_o(unused_written[0]),
      .write_o(unused_write[0])
    );
    tmb_array_access #(
      .NumElements(1)
    ) u_switch_access (
      .clk_i,
      .rst_ni,
      .req_i(switch_req),
      .rsp_o(switches_rsp),
      .index_o(unused_index[1]),
      .offset_o(unused_offset[1]),
      .word_i('0),
      .written_o(unused_written[1]),
      .write_o(unused_write[1])
    );
    assign switch_source_o[0] = '0;
    assign switch_forget_o[0] = 1'b0;
    assign mover_start_o[0] = 1'b0;
    assign mover_command_o[0] = '0;
    assign unused_movers = &{1'b0, unused_offset[0], unused_offset[1], unused_written[0],
                             unused_written[1], unused_index[0], unused_index[1], unused_write[0],
                             unused_write[1], mover_state_i[0], switch_state_i[0]};
  end else begin : gen_movers
    tmb_mover_registers #(
      .NumMovers(NumMovers)
    ) u_movers (
      .clk_i,
      .rst_ni,
      .req_i(mover_req),
      .rsp_o(movers_rsp),
      .start_o(mover_start_o),
      .command_o(mover_command_o),
      .state_i(mover_state_i)
    );
    tmb_switch_registers #(
      .NumPairs(NumMovers / 2)
    ) u_switch (
      .clk_i,
      .rst_ni,
      .req_i(switch_req),
      .rsp_o(switches_rsp),
      .source_o(switch_source_o),
      .forget_o(switch_forget_o),
      .state_i(switch_state_i)
    );
  end

  // One access at a time: the block never stalls a request. Addresses end at 0x8000.
  logic unused_ok;
  assign unused_ok = &{1'b0, stall_write, stall_read, access_i.addr[15]};

endmodule
