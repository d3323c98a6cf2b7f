// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// BAR subordinate: AXI4-Lite accesses of the host, one at a time, to the shell's registers, to a slot's
// own control interface, or to the directory's registers.
//
// NumSlots       windows that exist
// HasDirectory   so does the directory's
//
// Address map: [0, 0x8000) the registers; [0x80000, 0x90000) the directory; 0x100000 + slot * 0x10000 the
// slots; all else answers DECERR. Accesses are words; strobes choose bytes. Reads and writes that wait together take turns. An access that its target answers with an
// error gets SLVERR.
//
// bar_o.ruser comes with the answer to a read of a slot's window: what the shell knows of the slot in that
// moment (read_notes_t), so that a host that reads "done" learns without another access whether the ports
// are. A bridge to PCIe gives it as the upper word of an 8-byte read. Zero with other answers.
//
// hold_i: no access is begun; idle_o: none is under way. error_o: an access ends with an error, one cycle.
//
// Throughput: one access every five cycles or so, more for a slow slot. Latency: 4 cycles for a
// register. All signals are registered both ways. Ordering: accesses happen one after the other.
// No deadlock: every target answers in bounded time (tmb_slot_control counts).

module tmb_bar_bridge import tmb_shell_pkg::*; import tmb_register_map_pkg::*; #(
  parameter int unsigned NumSlots = 1,
  parameter bit HasDirectory = 1'b0
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  // The host's accesses.
  input  bar_req_t    bar_i,
  output bar_rsp_t    bar_o,

  input  logic        hold_i,
  output logic        idle_o,
  output bar_error_t  error_o,

  // One cycle a request; the access stays until the answer, which may come in the same cycle.
  output access_t     access_o,
  output logic        register_valid_o,
  input  logic        register_done_i,
  input  access_rsp_t register_rsp_i,
  output logic        slot_valid_o [NumSlots],
  input  logic        slot_done_i [NumSlots],
  input  access_rsp_t slot_rsp_i [NumSlots],
  input  read_notes_t slot_notes_i [NumSlots],
  output logic        directory_valid_o,
  input  logic        directory_done_i,
  input  access_rsp_t directory_rsp_i
);

  localparam int unsigned SlotWidth = NumSlots > 1 ? $clog2(NumSlots) : 1;
  localparam int unsigned RegistersLog2 = 15;
  localparam int unsigned WindowLog2 = $clog2(SlotControlStride);
  localparam int unsigned WindowWidth = 32 - WindowLog2;
  localparam logic [WindowWidth-1:0] FirstWindow = WindowWidth'(SlotControlBase >> WindowLog2);
  localparam logic [WindowWidth-1:0] DirectoryWindow =
      WindowWidth'(DirectoryBase >> WindowLog2);
  localparam logic [1:0] RespOkay = 2'b00;
  localparam logic [1:0] RespSlvErr = 2'b10;
  localparam logic [1:0] RespDecErr = 2'b11;

  typedef enum logic [2:0] {
    StIdle,
    StDecode,
    StRequest,
    StWait,
    StRespond
  } state_e;

  typedef enum logic [1:0] {
    TargetNothing,
    TargetRegisters,
    TargetSlot,
    TargetDirectory
  } target_e;

  state_e state_q;
  target_e target_q;

  // ---------------------------------------------------------------------------------------------
  // What has come from the host
  // ---------------------------------------------------------------------------------------------

  logic aw_full_q, w_full_q, ar_full_q, prefer_read_q;
  logic [31:0] awaddr_q, wdata_q, araddr_q;
  logic [3:0] wstrb_q;
  logic start_read, start_write;

  logic bar_awready, bar_wready, bar_arready;
  assign bar_awready = !aw_full_q;
  assign bar_wready = !w_full_q;
  assign bar_arready = !ar_full_q;

  assign start_read = state_q == StIdle && !hold_i && ar_full_q &&
      (prefer_read_q || !(aw_full_q && w_full_q));
  assign start_write = state_q == StIdle && !hold_i && aw_full_q && w_full_q && !start_read;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      aw_full_q <= 1'b0;
      w_full_q <= 1'b0;
      ar_full_q <= 1'b0;
      prefer_read_q <= 1'b1;
    end else begin
      if (start_write) aw_full_q <= 1'b0;
      else if (bar_i.awvalid) aw_full_q <= 1'b1;
      if (start_write) w_full_q <= 1'b0;
      else if (bar_i.wvalid) w_full_q <= 1'b1;
      if (start_read) ar_full_q <= 1'b0;
      else if (bar_i.arvalid) ar_full_q <= 1'b1;
      if (start_read) prefer_read_q <= 1'b0;
      else if (start_write) prefer_read_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (bar_i.awvalid && bar_awready) awaddr_q <= bar_i.awaddr;
    if (bar_i.arvalid && bar_arready) araddr_q <= bar_i.araddr;
    if (bar_i.wvalid && bar_wready) begin
      wdata_q <= bar_i.wdata;
      wstrb_q <= bar_i.wstrb;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // The access
  // ---------------------------------------------------------------------------------------------

  access_t access_q;
  logic [SlotWidth-1:0] slot_q;
  logic is_register_q, is_slot, is_directory, done;
  logic [31:WindowLog2] block_q;
  logic [WindowWidth-1:0] window;
  access_rsp_t rsp;
  logic [1:0] resp_q;
  logic [31:0] data_q;
  read_notes_t notes_q;

  logic register_done_q;
  access_rsp_t register_rsp_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) register_done_q <= 1'b0;
    else register_done_q <= register_done_i;
  end
  always_ff @(posedge clk_i) register_rsp_q <= register_rsp_i;

  assign window = block_q - FirstWindow;
  assign is_directory = HasDirectory && block_q == DirectoryWindow;
  assign is_slot = block_q >= FirstWindow && 32'(window) < NumSlots;

  assign done = (target_q == TargetNothing) ||
      (target_q == TargetRegisters && register_done_q) ||
      (target_q == TargetSlot && slot_done_i[slot_q]) ||
      (target_q == TargetDirectory && directory_done_i);
  always_comb begin
    unique case (target_q)
      TargetSlot: rsp = slot_rsp_i[slot_q];
      TargetDirectory: rsp = directory_rsp_i;
      default: rsp = register_rsp_q;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StIdle;
    end else begin
      unique case (state_q)
        StIdle: if (start_read || start_write) state_q <= StDecode;
        StDecode: state_q <= StRequest;
        StRequest: state_q <= done ? StRespond : StWait;
        StWait: if (done) state_q <= StRespond;
        StRespond: if (access_q.write ? bar_i.bready : bar_i.rready) state_q <= StIdle;
        default: state_q <= StIdle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_read || start_write) begin
      block_q <= start_read ? araddr_q[31:WindowLog2] : awaddr_q[31:WindowLog2];
      is_register_q <= start_read ? araddr_q >> RegistersLog2 == '0 : awaddr_q >> RegistersLog2 == '0;
      access_q <= '{
          write: start_write,
          addr: {start_read ? araddr_q[15:2] : awaddr_q[15:2], 2'b00},
          data: wdata_q,
          strobe: wstrb_q
      };
    end
    if (state_q == StDecode) begin
      if (is_register_q) target_q <= TargetRegisters;
      else if (is_slot) target_q <= TargetSlot;
      else if (is_directory) target_q <= TargetDirectory;
      else target_q <= TargetNothing;
      slot_q <= SlotWidth'(window);
    end
    if ((state_q == StRequest || state_q == StWait) && done) begin
      notes_q <= (target_q == TargetSlot) ? slot_notes_i[slot_q] : '0;
      if (target_q == TargetNothing) begin
        resp_q <= RespDecErr;
        data_q <= '0;
      end else begin
        resp_q <= rsp.error ? RespSlvErr : RespOkay;
        data_q <= rsp.data;
      end
    end
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, araddr_q[1:0], awaddr_q[1:0]};

  // The whole address, for the report of a failed access.
  logic [23:0] address_q;
  logic ends;
  always_ff @(posedge clk_i) begin
    if (start_read || start_write) address_q <= {start_read ? araddr_q[23:2] : awaddr_q[23:2], 2'b00};
  end
  assign ends = state_q == StRespond && (access_q.write ? bar_i.bready : bar_i.rready);
  assign idle_o = state_q == StIdle;
  assign error_o = '{
      read: ends && resp_q[1] && !access_q.write,
      write: ends && resp_q[1] && access_q.write,
      decode: resp_q[0],
      address: address_q
  };

  assign access_o = access_q;
  // Registers are asked while others are decoded: their answer passes a multiplexer of all registers, and
  // waits in a register of its own.
  assign register_valid_o = state_q == StDecode && is_register_q;
  assign directory_valid_o = state_q == StRequest && target_q == TargetDirectory;
  for (genvar s = 0; s < NumSlots; s++) begin : gen_slot
    assign slot_valid_o[s] =
        state_q == StRequest && target_q == TargetSlot && slot_q == SlotWidth'(s);
  end

  assign bar_o = '{
      awready: bar_awready,
      wready: bar_wready,
      bresp: resp_q,
      bvalid: state_q == StRespond && access_q.write,
      arready: bar_arready,
      rdata: data_q,
      rresp: resp_q,
      ruser: notes_q,
      rvalid: state_q == StRespond && !access_q.write
  };

endmodule
