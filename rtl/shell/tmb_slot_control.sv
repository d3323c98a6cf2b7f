// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Control bridge of one slot: an access of the host becomes one AXI4-Lite transaction of the
// kernel's s_axi_control.
//
// MaxWait   cycles that the kernel has to answer
//
// The kernel is guarded against: when it has not answered after MaxWait cycles, the host gets an
// error, the slot is marked (hung_o), and further accesses are answered with an error at once, until
// the slot has been reset. So is an access to a slot that is held in reset. The counter runs only
// while a transaction is outstanding.
//
// Throughput: one access at a time. Latency: 2 cycles and the kernel's. All signals to the slot are
// registered both ways. No deadlock: MaxWait bounds everything.
//
// mark_o: the kernel answers a read now, and may have said that it is done: what its ports owe counts
// from here, and is known with done_o.

module tmb_slot_control import tmb_shell_pkg::*; #(
  parameter int unsigned MaxWait = 4096
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        run_i,   // the slot is not held in reset
  output logic        hung_o,  // the kernel left an access unanswered
  output unanswered_t unanswered_o,  // which
  output logic        idle_o,

  input  logic        valid_i,
  input  access_t     access_i,  // stays until done_o
  output logic        done_o,
  output access_rsp_t rsp_o,
  output logic        mark_o,

  output ctl_req_t    ctl_o,
  input  ctl_rsp_t    ctl_i
);

  localparam int unsigned WaitWidth = $clog2(MaxWait);

  logic waiting_q, hung_q, done_q;
  logic [WaitWidth-1:0] wait_q;
  access_rsp_t rsp_q;
  ctl_req_t ctl_q;
  unanswered_t unanswered_q;

  logic answered, error, expired;
  assign answered = access_i.write ? ctl_i.bvalid : ctl_i.rvalid;
  assign error = access_i.write ? ctl_i.bresp[1] : ctl_i.rresp[1];
  assign expired = wait_q == WaitWidth'(MaxWait - 1);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      waiting_q <= 1'b0;
      hung_q <= 1'b0;
      done_q <= 1'b0;
      wait_q <= '0;
      ctl_q.awvalid <= 1'b0;
      ctl_q.wvalid <= 1'b0;
      ctl_q.bready <= 1'b0;
      ctl_q.arvalid <= 1'b0;
      ctl_q.rready <= 1'b0;
    end else begin
      done_q <= 1'b0;
      if (!run_i) hung_q <= 1'b0;

      if (waiting_q) begin
        if (ctl_i.awready) ctl_q.awvalid <= 1'b0;
        if (ctl_i.wready) ctl_q.wvalid <= 1'b0;
        if (ctl_i.arready) ctl_q.arvalid <= 1'b0;
        wait_q <= WaitWidth'(wait_q + 1'b1);
        if (answered || expired || !run_i) begin
          waiting_q <= 1'b0;
          done_q <= 1'b1;
          wait_q <= '0;
          if (!answered && run_i) hung_q <= 1'b1;
          ctl_q.awvalid <= 1'b0;
          ctl_q.wvalid <= 1'b0;
          ctl_q.bready <= 1'b0;
          ctl_q.arvalid <= 1'b0;
          ctl_q.rready <= 1'b0;
        end
      end else if (valid_i) begin
        if (run_i && !hung_q) begin
          waiting_q <= 1'b1;
          ctl_q.awvalid <= access_i.write;
          ctl_q.wvalid <= access_i.write;
          ctl_q.bready <= access_i.write;
          ctl_q.arvalid <= !access_i.write;
          ctl_q.rready <= !access_i.write;
        end else begin
          done_q <= 1'b1;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid_i && !waiting_q) begin
      ctl_q.awaddr <= access_i.addr;
      ctl_q.wdata <= access_i.data;
      ctl_q.wstrb <= access_i.strobe;
      ctl_q.araddr <= access_i.addr;
      rsp_q <= '{error: 1'b1, data: '0};
    end else if (waiting_q && answered) begin
      rsp_q <= '{error: error, data: ctl_i.rdata};
    end
  end

  always_ff @(posedge clk_i) begin
    if (waiting_q && expired) unanswered_q <= '{write: access_i.write, offset: access_i.addr};
  end

  assign hung_o = hung_q;
  assign unanswered_o = unanswered_q;
  assign idle_o = !waiting_q;
  assign done_o = done_q;
  assign rsp_o = rsp_q;
  assign mark_o = waiting_q && answered && !access_i.write;
  assign ctl_o = ctl_q;

  logic unused_ok;
  assign unused_ok = &{1'b0, ctl_i.bresp[0], ctl_i.rresp[0]};

endmodule
