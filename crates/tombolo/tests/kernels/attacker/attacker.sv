// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// A kernel that attacks: for tests of the guard. `mode` chooses a plan, a row of the table below; the
// plan says which bursts it asks for, what it sends and takes, which offers it spoils while they
// wait, and how it treats its interrupt and its control interface.

module attacker (
  input  logic         ap_clk,
  input  logic         ap_rst_n,
  // Also a macro of some C headers, but the convention's name.
  // verilator lint_off SYMRSVDWORD
  output logic         interrupt,
  // verilator lint_on SYMRSVDWORD
  input  logic [11:0]  s_axi_control_awaddr,
  input  logic         s_axi_control_awvalid,
  output logic         s_axi_control_awready,
  input  logic [31:0]  s_axi_control_wdata,
  input  logic [3:0]   s_axi_control_wstrb,
  input  logic         s_axi_control_wvalid,
  output logic         s_axi_control_wready,
  output logic [1:0]   s_axi_control_bresp,
  output logic         s_axi_control_bvalid,
  input  logic         s_axi_control_bready,
  input  logic [11:0]  s_axi_control_araddr,
  input  logic         s_axi_control_arvalid,
  output logic         s_axi_control_arready,
  output logic [31:0]  s_axi_control_rdata,
  output logic [1:0]   s_axi_control_rresp,
  output logic         s_axi_control_rvalid,
  input  logic         s_axi_control_rready,

  output logic [15:0]  m_axi_evil_arid,
  output logic [63:0]  m_axi_evil_araddr,
  output logic [7:0]   m_axi_evil_arlen,
  output logic [2:0]   m_axi_evil_arsize,
  output logic [1:0]   m_axi_evil_arburst,
  output logic         m_axi_evil_arvalid,
  input  logic         m_axi_evil_arready,
  input  logic [15:0]  m_axi_evil_rid,
  input  logic [511:0] m_axi_evil_rdata,
  input  logic [1:0]   m_axi_evil_rresp,
  input  logic         m_axi_evil_rlast,
  input  logic         m_axi_evil_rvalid,
  output logic         m_axi_evil_rready,
  output logic [15:0]  m_axi_evil_awid,
  output logic [63:0]  m_axi_evil_awaddr,
  output logic [7:0]   m_axi_evil_awlen,
  output logic [2:0]   m_axi_evil_awsize,
  output logic [1:0]   m_axi_evil_awburst,
  output logic         m_axi_evil_awvalid,
  input  logic         m_axi_evil_awready,
  output logic [511:0] m_axi_evil_wdata,
  output logic [63:0]  m_axi_evil_wstrb,
  output logic         m_axi_evil_wlast,
  output logic         m_axi_evil_wvalid,
  input  logic         m_axi_evil_wready,
  input  logic [15:0]  m_axi_evil_bid,
  input  logic [1:0]   m_axi_evil_bresp,
  input  logic         m_axi_evil_bvalid,
  output logic         m_axi_evil_bready
);

  // ---------------------------------------------------------------------------------------------
  // Plans
  // ---------------------------------------------------------------------------------------------

  typedef enum logic [1:0] {LastRight, LastEarly, LastLate, LastNever} last_e;
  typedef enum logic [1:0] {Keep, Withdraw, Change} spoil_e;
  typedef enum logic [1:0] {IrqDone, IrqToggle, IrqHigh} irq_e;
  typedef enum logic [1:0] {Answer, DeafToReads, DeafToWrites, AnswerErrors} control_e;

  typedef struct packed {
    logic        reads;
    logic        writes;
    logic [7:0]  count;     // bursts a direction; 0: without end
    logic [7:0]  len;
    logic [2:0]  size;
    logic [1:0]  burst;
    logic [63:0] offset;    // from `address`
    logic [15:0] stride;    // from burst to burst, in units of 64 bytes
    logic [15:0] places;    // mask: how many places before it begins again
    logic        ids;       // another ID each time
    logic        takes_r;
    logic        takes_b;
    logic        data;      // sends W for its AW
    logic        stray;     // sends W without AW
    logic        strobes;
    last_e       last;
    spoil_e      ar;
    spoil_e      aw;
    spoil_e      w;
    irq_e        irq;
    control_e    control;
    logic        hasty;     // says that it is done when its bursts are taken
    logic        bolts;     // when the first address is; nothing comes after it
    logic        dies;
  } plan_t;

  localparam logic [1:0] Fixed = 2'd0;
  localparam logic [1:0] Incr = 2'd1;
  localparam logic [1:0] Wrap = 2'd2;

  // An honest plan: nothing to do.
  function automatic plan_t honest();
    plan_t plan;
    plan = '0;
    plan.count = 8'd1;
    plan.len = 8'd15;
    plan.size = 3'd6;
    plan.burst = Incr;
    plan.stride = 16'd64;
    plan.places = '1;
    plan.takes_r = 1'b1;
    plan.takes_b = 1'b1;
    plan.data = 1'b1;
    plan.strobes = 1'b1;
    plan.last = LastRight;
    plan.ar = Keep;
    plan.aw = Keep;
    plan.w = Keep;
    plan.irq = IrqDone;
    plan.control = Answer;
    return plan;
  endfunction

  // Modes 1 to 31 read, 33 to 63 write (the same shapes), 64 and up do neither.
  logic [31:0] mode_q;
  plan_t plan;
  always_comb begin
    plan = honest();
    plan.reads = mode_q[6:5] == 2'd0 && mode_q[4:0] != '0;
    plan.writes = mode_q[6:5] == 2'd1;
    if (!mode_q[6]) begin
      unique case (mode_q[4:0])
        5'd1: plan.burst = Fixed;
        5'd2: plan.burst = Wrap;
        5'd3: plan.burst = 2'd3;
        5'd4: plan.size = 3'd7;
        5'd5: plan.offset = 64'hF80;  // across the end of a block
        5'd6: plan.offset = 64'h1 << 48;
        5'd7: plan.offset = 64'h1 << 40;  // nothing is mapped there
        5'd8: begin  // legal: narrow and long
          plan.size = 3'd0;
          plan.len = 8'd255;
          plan.stride = 16'd4;
          plan.count = 8'd16;
        end
        5'd9: begin  // legal: IDs of any kind
          plan.ids = 1'b1;
          plan.count = 8'd64;
          plan.stride = 16'd16;
        end
        5'd10: begin  // responses never taken
          plan.takes_r = 1'b0;
          plan.takes_b = 1'b0;
          plan.count = '0;
          plan.stride = '0;
        end
        5'd11: begin  // offers that are taken back
          plan.takes_r = 1'b0;
          plan.takes_b = 1'b0;
          plan.count = '0;
          plan.stride = '0;
          plan.ar = Withdraw;
          plan.aw = Withdraw;
        end
        5'd12: begin  // offers that change
          plan.takes_r = 1'b0;
          plan.takes_b = 1'b0;
          plan.count = '0;
          plan.stride = '0;
          plan.ar = Change;
          plan.aw = Change;
        end
        5'd13: begin  // faults without end
          plan.offset = 64'h1 << 40;
          plan.count = '0;
          plan.len = '0;
        end
        5'd14: begin  // a flood, all of it allowed
          plan.count = '0;
          plan.len = 8'd63;
          plan.stride = '0;
        end
        5'd15: plan.hasty = 1'b1;  // done before it is
        5'd27: plan.bolts = 1'b1;
        5'd16: begin  // a step past the last address
          plan.offset = 64'hFFFF_FFFF_F000;
          plan.len = 8'd63;
        end
        5'd17: begin  // a burst of 256 wide beats
          plan.len = 8'd255;
        end
        5'd18: begin  // address words without data
          plan.data = 1'b0;
          plan.count = '0;
        end
        5'd19: begin  // data without address words
          plan.stray = 1'b1;
          plan.count = '0;
        end
        5'd20: plan.last = LastEarly;
        5'd21: plan.last = LastLate;
        5'd22: plan.last = LastNever;
        5'd23: begin
          plan.stray = 1'b1;
          plan.count = '0;
          plan.w = Withdraw;
        end
        5'd24: begin
          plan.stray = 1'b1;
          plan.count = '0;
          plan.w = Change;
        end
        5'd25: plan.strobes = 1'b0;  // legal
        5'd26: begin  // a row of every 2 MiB, over 64 MiB: faults without end that are served
          plan.count = '0;
          plan.len = '0;
          plan.stride = 16'h8000;
          plan.places = 16'h1F;
        end
        default: ;
      endcase
    end else begin
      unique case (mode_q[4:0])
        5'd0: plan.irq = IrqToggle;
        5'd1: plan.irq = IrqHigh;
        5'd2: begin
          plan.control = DeafToReads;
          plan.irq = IrqHigh;
        end
        5'd3: begin
          plan.control = DeafToWrites;
          plan.irq = IrqHigh;
        end
        5'd4: begin
          plan.control = AnswerErrors;
          plan.irq = IrqToggle;
        end
        5'd5: plan.dies = 1'b1;
        5'd6: plan.count = '0;  // never done, does nothing
        default: ;
      endcase
    end
    if (plan.stray) plan.writes = 1'b0;
  end

  // ---------------------------------------------------------------------------------------------
  // Control
  // ---------------------------------------------------------------------------------------------

  localparam logic [9:0] RegControl = 10'h0;
  localparam logic [9:0] RegStatus = 10'h3;
  localparam logic [9:0] RegMode = 10'h4;
  localparam logic [9:0] RegAddressLow = 10'h6;
  localparam logic [9:0] RegAddressHigh = 10'h7;

  logic running_q, done_q, status_q, finished, write, read, deaf_reads, deaf_writes;
  logic [63:0] address_q;
  logic [31:0] rdata_q;

  assign deaf_reads = running_q && plan.control == DeafToReads;
  assign deaf_writes = running_q && plan.control == DeafToWrites;
  assign write = s_axi_control_awvalid && s_axi_control_wvalid && !s_axi_control_bvalid
      && !deaf_writes;
  assign read = s_axi_control_arvalid && !s_axi_control_rvalid && !deaf_reads;
  assign s_axi_control_awready = write;
  assign s_axi_control_wready = write;
  assign s_axi_control_arready = read;
  assign s_axi_control_bresp = (running_q && plan.control == AnswerErrors) ? 2'b10 : 2'b00;
  assign s_axi_control_rresp = s_axi_control_bresp;
  assign s_axi_control_rdata = rdata_q;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      s_axi_control_bvalid <= 1'b0;
      s_axi_control_rvalid <= 1'b0;
      running_q <= 1'b0;
      done_q <= 1'b0;
      status_q <= 1'b0;
      mode_q <= '0;
      address_q <= '0;
    end else begin
      s_axi_control_bvalid <= write || (s_axi_control_bvalid && !s_axi_control_bready);
      s_axi_control_rvalid <= read || (s_axi_control_rvalid && !s_axi_control_rready);
      if (read && s_axi_control_araddr[11:2] == RegControl) done_q <= 1'b0;
      if (write) begin
        unique case (s_axi_control_awaddr[11:2])
          RegControl: running_q <= s_axi_control_wdata[0];
          RegStatus: if (s_axi_control_wdata[0]) status_q <= 1'b0;
          RegMode: mode_q <= s_axi_control_wdata;
          RegAddressLow: address_q[31:0] <= s_axi_control_wdata;
          RegAddressHigh: address_q[63:32] <= s_axi_control_wdata;
          default: ;
        endcase
      end
      if (finished) begin
        running_q <= 1'b0;
        done_q <= 1'b1;
        status_q <= 1'b1;
      end
    end
    if (read) begin
      rdata_q <= (s_axi_control_araddr[11:2] == RegControl) ? {30'd0, done_q, running_q} :
          {31'd0, status_q};
    end
    if (running_q && plan.dies) $finish;
  end

  logic toggle_q;
  always_ff @(posedge ap_clk) toggle_q <= ap_rst_n && running_q && plan.irq == IrqToggle && !toggle_q;
  assign interrupt = status_q || toggle_q || (running_q && plan.irq == IrqHigh);

  // ---------------------------------------------------------------------------------------------
  // Addresses
  // ---------------------------------------------------------------------------------------------

  logic go;
  logic [15:0] ar_q, aw_q, r_q, b_q;  // bursts offered and taken; answered
  logic ar_waits_q, aw_waits_q, w_waits_q;
  logic ar_more, aw_more;

  assign go = running_q && ap_rst_n;
  assign ar_more = plan.reads && (plan.count == '0 || ar_q != 16'(plan.count));
  assign aw_more = plan.writes && (plan.count == '0 || aw_q != 16'(plan.count));

  // An offer that has waited is spoiled, once in a while.
  assign m_axi_evil_arvalid = go && ar_more && !(ar_waits_q && plan.ar == Withdraw);
  assign m_axi_evil_awvalid = go && aw_more && !(aw_waits_q && plan.aw == Withdraw);
  assign m_axi_evil_araddr = address_q + plan.offset + {42'd0, plan.stride, 6'd0} * 64'(ar_q & plan.places)
      + ((ar_waits_q && plan.ar == Change) ? 64'd64 : 64'd0);
  assign m_axi_evil_awaddr = address_q + plan.offset + {42'd0, plan.stride, 6'd0} * 64'(aw_q & plan.places)
      + ((aw_waits_q && plan.aw == Change) ? 64'd64 : 64'd0);
  assign m_axi_evil_arid = plan.ids ? ar_q ^ 16'hA5A5 : '0;
  assign m_axi_evil_awid = plan.ids ? aw_q ^ 16'h5A5A : '0;
  assign m_axi_evil_arlen = plan.len;
  assign m_axi_evil_awlen = plan.len;
  assign m_axi_evil_arsize = plan.size;
  assign m_axi_evil_awsize = plan.size;
  assign m_axi_evil_arburst = plan.burst;
  assign m_axi_evil_awburst = plan.burst;
  assign m_axi_evil_rready = plan.takes_r;
  assign m_axi_evil_bready = plan.takes_b;

  always_ff @(posedge ap_clk) begin
    if (!go) begin
      ar_q <= '0;
      aw_q <= '0;
      r_q <= '0;
      b_q <= '0;
      ar_waits_q <= 1'b0;
      aw_waits_q <= 1'b0;
    end else begin
      if (m_axi_evil_arvalid && m_axi_evil_arready) ar_q <= ar_q + 16'd1;
      if (m_axi_evil_awvalid && m_axi_evil_awready) aw_q <= aw_q + 16'd1;
      if (m_axi_evil_rvalid && m_axi_evil_rready && m_axi_evil_rlast) r_q <= r_q + 16'd1;
      if (m_axi_evil_bvalid && m_axi_evil_bready) b_q <= b_q + 16'd1;
      ar_waits_q <= m_axi_evil_arvalid && !m_axi_evil_arready;
      aw_waits_q <= m_axi_evil_awvalid && !m_axi_evil_awready;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Data
  // ---------------------------------------------------------------------------------------------

  logic [15:0] bursts_q;  // whose data have been sent
  logic [8:0] beat_q, last_beat;
  logic burst_ends;

  always_comb begin
    unique case (plan.last)
      LastEarly: last_beat = 9'd2;
      LastLate: last_beat = 9'(plan.len) + 9'd1;
      default: last_beat = 9'(plan.len);
    endcase
  end
  assign burst_ends = beat_q == last_beat;
  assign m_axi_evil_wvalid = go && !(w_waits_q && plan.w == Withdraw)
      && (plan.stray || (plan.data && bursts_q != aw_q));
  assign m_axi_evil_wdata = {8{48'hBAD0_0000_0000, bursts_q + 16'(w_waits_q && plan.w == Change)}};
  assign m_axi_evil_wstrb = plan.strobes ? '1 : '0;
  assign m_axi_evil_wlast = burst_ends && plan.last != LastNever;

  always_ff @(posedge ap_clk) begin
    if (!go) begin
      bursts_q <= '0;
      beat_q <= '0;
      w_waits_q <= 1'b0;
    end else begin
      w_waits_q <= m_axi_evil_wvalid && !m_axi_evil_wready;
      if (m_axi_evil_wvalid && m_axi_evil_wready) begin
        beat_q <= burst_ends ? '0 : beat_q + 9'd1;
        if (burst_ends) bursts_q <= bursts_q + 16'd1;
      end
    end
  end

  // Done when everything is answered, unless there is no end, or at once.
  logic answered, taken;
  assign taken = (!plan.reads || ar_q == 16'(plan.count))
      && (!plan.writes || (aw_q == 16'(plan.count) && bursts_q == 16'(plan.count)));
  assign answered = (!plan.reads || r_q == 16'(plan.count))
      && (!plan.writes || b_q == 16'(plan.count));
  assign finished = running_q && (plan.bolts ? ar_q != '0 || aw_q != '0 : plan.hasty ? taken :
      (plan.count != '0 && answered && plan.irq == IrqDone && plan.control == Answer));

  logic unused;
  assign unused = ^{mode_q, s_axi_control_wstrb, s_axi_control_awaddr[1:0], s_axi_control_araddr[1:0],
                    m_axi_evil_rid, m_axi_evil_rdata, m_axi_evil_rresp, m_axi_evil_bid,
                    m_axi_evil_bresp};

endmodule
