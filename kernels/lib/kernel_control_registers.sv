// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Control registers of a kernel with the ap_ctrl_hs protocol: an AXI4-Lite subordinate, an
// interrupt, and the arguments.
//
// ArgumentWords   32-bit words of arguments, from offset 0x10
//
//   0x00  0 start (write 1; reads 1 until the run is over)  1 done (cleared by reading)
//         2 idle  3 ready (as done)  7 auto restart  9 interrupt pending
//   0x04  0 global interrupt enable
//   0x08  0 interrupt on done  1 interrupt on ready
//   0x0C  the same bits, pending; writing 1 toggles
//   0x10  arguments, little-endian
//
// One run at a time: begin_o pulses when a run begins, done_i when it is over; that is when the
// kernel is ready again. With auto restart the next run begins at once. Where a set and a clear
// meet, the set wins. Reserved and absent registers read 0 and ignore writes.
//
// One read and one write at a time, two cycles each; address and data of a write may come in any
// order. No deadlock: nothing here waits for the run.
// Source: the Vitis RTL kernel convention.

module kernel_control_registers #(
  parameter int unsigned ArgumentWords = 4
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,

  input  logic                           awvalid_i,
  output logic                           awready_o,
  input  logic [11:0]                    awaddr_i,
  input  logic                           wvalid_i,
  output logic                           wready_o,
  input  logic [31:0]                    wdata_i,
  input  logic [3:0]                     wstrb_i,
  output logic                           bvalid_o,
  input  logic                           bready_i,
  output logic [1:0]                     bresp_o,
  input  logic                           arvalid_i,
  output logic                           arready_o,
  input  logic [11:0]                    araddr_i,
  output logic                           rvalid_o,
  input  logic                           rready_i,
  output logic [31:0]                    rdata_o,
  output logic [1:0]                     rresp_o,
  output logic                           interrupt_o,

  output logic                           begin_o,
  input  logic                           done_i,
  output logic [ArgumentWords-1:0][31:0] arguments_o
);

  localparam int unsigned ArgumentWidth = ArgumentWords > 1 ? $clog2(ArgumentWords) : 1;

  typedef enum logic [9:0] {
    RegControl = 10'h0,
    RegGlobalEnable = 10'h1,
    RegEnable = 10'h2,
    RegStatus = 10'h3
  } register_e;
  localparam logic [9:0] FirstArgument = 10'h4;

  // -- Bus ----------------------------------------------------------------------------------------

  // Address and data of a write are held until both are here.
  logic aw_held_q, w_held_q, bvalid_q, rvalid_q;
  logic [9:0] aw_word_q;
  logic [31:0] wdata_q;
  logic [3:0] wstrb_q;
  logic [31:0] rdata_q;

  logic write, read;
  assign write = aw_held_q && w_held_q && !bvalid_q;
  assign read = arvalid_i && arready_o;

  assign awready_o = !aw_held_q;
  assign wready_o = !w_held_q;
  assign arready_o = !rvalid_q;
  assign bvalid_o = bvalid_q;
  assign rvalid_o = rvalid_q;
  assign rdata_o = rdata_q;
  assign bresp_o = 2'b00;
  assign rresp_o = 2'b00;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      aw_held_q <= 1'b0;
      w_held_q <= 1'b0;
      bvalid_q <= 1'b0;
      rvalid_q <= 1'b0;
    end else begin
      if (awvalid_i && awready_o) aw_held_q <= 1'b1;
      else if (write) aw_held_q <= 1'b0;
      if (wvalid_i && wready_o) w_held_q <= 1'b1;
      else if (write) w_held_q <= 1'b0;
      if (write) bvalid_q <= 1'b1;
      else if (bready_i) bvalid_q <= 1'b0;
      if (read) rvalid_q <= 1'b1;
      else if (rready_i) rvalid_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (awvalid_i && awready_o) aw_word_q <= awaddr_i[11:2];
    if (wvalid_i && wready_o) {wdata_q, wstrb_q} <= {wdata_i, wstrb_i};
  end

  // -- Control and interrupts ---------------------------------------------------------------------

  logic start_q, running_q, begin_q, done_q, ready_q, auto_restart_q;
  logic global_enable_q, interrupt_q;
  logic [1:0] enable_q, status_q;

  logic write_control, write_status, read_control, set_start;
  assign write_control = write && aw_word_q == RegControl && wstrb_q[0];
  assign write_status = write && aw_word_q == RegStatus && wstrb_q[0];
  assign read_control = read && araddr_i[11:2] == RegControl;
  assign set_start = write_control && wdata_q[0];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      start_q <= 1'b0;
      running_q <= 1'b0;
      begin_q <= 1'b0;
      done_q <= 1'b0;
      ready_q <= 1'b0;
      auto_restart_q <= 1'b0;
      global_enable_q <= 1'b0;
      enable_q <= '0;
      status_q <= '0;
      interrupt_q <= 1'b0;
    end else begin
      begin_q <= start_q && !running_q;
      if (start_q && !running_q) running_q <= 1'b1;
      else if (done_i) running_q <= 1'b0;

      if (set_start) start_q <= 1'b1;
      else if (done_i) start_q <= auto_restart_q;

      if (done_i) {done_q, ready_q} <= 2'b11;
      else if (read_control) {done_q, ready_q} <= 2'b00;

      if (write_control) auto_restart_q <= wdata_q[7];
      if (write && aw_word_q == RegGlobalEnable && wstrb_q[0]) global_enable_q <= wdata_q[0];
      if (write && aw_word_q == RegEnable && wstrb_q[0]) enable_q <= wdata_q[1:0];

      for (int unsigned i = 0; i < 2; i++) begin
        if (done_i && enable_q[i]) status_q[i] <= 1'b1;
        else if (write_status && wdata_q[i]) status_q[i] <= !status_q[i];
      end
      interrupt_q <= global_enable_q && status_q != '0;
    end
  end

  assign begin_o = begin_q;
  assign interrupt_o = interrupt_q;

  // -- Arguments ----------------------------------------------------------------------------------

  logic [ArgumentWords-1:0][31:0] arguments_q;
  logic [9:0] write_argument, read_argument;
  assign write_argument = aw_word_q - FirstArgument;
  assign read_argument = araddr_i[11:2] - FirstArgument;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      arguments_q <= '0;
    end else if (write && 32'(write_argument) < ArgumentWords) begin
      for (int unsigned i = 0; i < 4; i++) begin
        if (wstrb_q[i]) begin
          arguments_q[ArgumentWidth'(write_argument)][8*i+:8] <= wdata_q[8*i+:8];
        end
      end
    end
  end

  assign arguments_o = arguments_q;

  // -- Reads --------------------------------------------------------------------------------------

  logic [31:0] read_value;
  always_comb begin
    read_value = '0;
    unique case (araddr_i[11:2])
      RegControl: begin
        read_value[0] = start_q;
        read_value[1] = done_q;
        read_value[2] = !start_q && !running_q;
        read_value[3] = ready_q;
        read_value[7] = auto_restart_q;
        read_value[9] = interrupt_q;
      end
      RegGlobalEnable: read_value[0] = global_enable_q;
      RegEnable: read_value[1:0] = enable_q;
      RegStatus: read_value[1:0] = status_q;
      default: begin
        if (32'(read_argument) < ArgumentWords) begin
          read_value = arguments_q[ArgumentWidth'(read_argument)];
        end
      end
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (read) rdata_q <= read_value;
  end

  logic unused_address;
  assign unused_address = ^{awaddr_i[1:0], araddr_i[1:0], wdata_q};

endmodule
