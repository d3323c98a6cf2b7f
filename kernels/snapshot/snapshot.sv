// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel: a record of 32 lines of 128 bytes that the card changes again and again and that cores read whole, with plain
// loads: no lock, no retry, no message while nothing has changed. It stands behind the directory.
//
// Each of 8 readers has a window of 32 lines, from `base` on, in which it sees the record. A reader loads its
// first line, and then the others in any order. It gets all of them from the version that was current when it loaded
// the first, however often the record changes meanwhile:
//
// - A version is made in a place of its own. Before it becomes the current one, the first line of every window that the
//   CPU may have is locked: no reader can begin. Then the lines that changed are called home, the first lines unlocked.
// - So a reader that finds its first line in the cache reads the current version; one that does not asks the kernel,
//   which sees that it begins, and answers when the CPU has none of its lines that differ.
// - A line that is called home while its reader is in the middle comes again from that reader's version.
//
// With `plain`, for comparison, all share the first window, and the changed lines are locked and changed in place, all
// at once: a sequence lock, whose readers must load the first line again at the end and begin anew if it changed.
//
// Writes of the CPU to a window are refused (SLVERR). Register map: kernel.toml. Control: ap_ctrl_hs, done when the
// last version of the run is current.
//
// Throughput: a line of the CPU every three cycles; a version in the time of a lock and an unlock. Latency: two cycles
// from a load to its answer, if nothing is to be called home. Ordering: who begins after a reader that saw a version
// sees that one or a later one.
// No deadlock: a lock or a recall waits for the reads of its line, and these are answered without waiting: a read of a
// first line waits only while no lock of it is asked for. It waits for recalls of other lines and for locks of other
// first lines; a lock is not begun while a reader is ready.

`include "tmb_ports.svh"

module snapshot (
  `TMB_KERNEL_PORTS,
  `TMB_HOME_PORTS(s_home),
  `TMB_LINE_PORTS(m_line)
);

  localparam int unsigned Readers = 8;
  localparam int unsigned Versions = Readers + 2;
  localparam int unsigned Lines = 32;
  localparam int unsigned LineLog2 = 7;
  localparam int unsigned WindowLog2 = $clog2(Readers * Lines) + LineLog2;
  localparam logic [2:0] CleanInvalidate = 3'd1;
  localparam logic [2:0] Lock = 3'd2;
  localparam logic [2:0] Unlock = 3'd3;
  localparam logic [1:0] Okay = 2'b00;
  localparam logic [1:0] SubordinateError = 2'b10;
  localparam logic [1:0] DecodeError = 2'b11;
  typedef logic [$clog2(Readers)-1:0] reader_t;
  typedef logic [$clog2(Lines)-1:0] line_t;
  typedef logic [$clog2(Versions)-1:0] version_t;

  // The arguments of kernel.toml; in a packed struct the highest offset comes first.
  typedef struct packed {
    logic [31:0] plain;     // 0x24
    logic [31:0] changes;   // 0x20
    logic [31:0] pace;      // 0x1C
    logic [31:0] versions;  // 0x18
    logic [63:0] base;      // 0x10
  } arguments_t;

  arguments_t arguments;
  logic start, done;

  kernel_control_registers #(
    .ArgumentWords($bits(arguments_t) / 32)
  ) u_control (
    `TMB_CONNECT_CONTROL,
    .begin_o(start),
    .done_i(done),
    .arguments_o(arguments)
  );

  logic is_plain;
  assign is_plain = arguments.plain[0];

  // ---------------------------------------------------------------------------------------------
  // Versions
  // ---------------------------------------------------------------------------------------------

  logic [Readers-1:0][$clog2(Versions)-1:0] version_of;
  logic [Versions-1:0] in_use;
  version_t current, read_version;
  logic made, switch, ended, clear, read_enable;
  logic [Lines-1:0] changed;
  logic [5:0] read_row;
  logic [511:0] row;

  always_comb begin
    in_use = '0;
    in_use[current] = 1'b1;
    for (int unsigned r = 0; r < Readers; r++) in_use[version_of[r]] = 1'b1;
  end

  snapshot_versions #(
    .Versions(Versions)
  ) u_versions (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .start_i(start),
    .versions_i(arguments.versions),
    .pace_i(arguments.pace),
    .changes_i(arguments.changes),
    .ended_o(ended),
    .ready_o(clear),
    .in_use_i(in_use),
    .current_o(current),
    .made_o(made),
    .changed_o(changed),
    .switch_i(switch),
    .read_i(read_enable),
    .read_version_i(read_version),
    .read_row_i(read_row),
    .row_o(row)
  );

  // ---------------------------------------------------------------------------------------------
  // Reads
  // ---------------------------------------------------------------------------------------------

  typedef enum logic [1:0] {
    StIdle,
    StFirst,  // the first row is here
    StSecond
  } state_e;

  state_e state_q, state_d;
  logic [15:0] id_q, wait_id_q [Readers];
  version_t version_q;
  line_t line_q, ar_line;
  reader_t ar_reader, pick;
  logic inside_q, ar_taken, ar_inside, ar_waits, picked, any_ready, publish, locking;
  logic [Readers-1:0] waits, ready, first, lock_open;

  assign ar_line = s_home_araddr[LineLog2+:$clog2(Lines)];
  assign ar_reader = s_home_araddr[LineLog2+$clog2(Lines)+:$clog2(Readers)];
  assign ar_inside = s_home_araddr[63:WindowLog2] == arguments.base[63:WindowLog2]
      && (!is_plain || ar_reader == '0);
  // The read of a first line whose lock is asked for was there before the lock, which waits for it.
  assign ar_waits = ar_inside && !is_plain && ar_line == '0 && !lock_open[ar_reader];

  assign any_ready = ready != '0 && !locking;
  always_comb begin
    pick = '0;
    for (int unsigned r = Readers; r > 0; r--) begin
      if (ready[r-1]) pick = reader_t'(r - 1);
    end
  end
  assign picked = state_q == StIdle && any_ready;
  assign s_home_arready = state_q == StIdle && !any_ready && !publish && clear;
  assign ar_taken = s_home_arvalid && s_home_arready;

  always_comb begin
    state_d = state_q;
    read_enable = 1'b0;
    read_version = is_plain ? current : version_of[ar_reader];
    read_row = {ar_line, 1'b0};
    unique case (state_q)
      StIdle: begin
        read_enable = picked || ar_taken;
        if (picked) begin
          read_version = current;
          read_row = '0;
        end
        if (picked || (ar_taken && !ar_waits)) state_d = StFirst;
      end
      StFirst: begin
        read_enable = s_home_rready;
        read_version = version_q;
        read_row = {line_q, 1'b1};
        if (s_home_rready) state_d = StSecond;
      end
      default: if (s_home_rready) state_d = StIdle;
    endcase
  end
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) state_q <= StIdle;
    else state_q <= state_d;
  end
  always_ff @(posedge ap_clk) begin
    if (state_q == StIdle) begin
      version_q <= read_version;
      id_q <= picked ? wait_id_q[pick] : s_home_arid;
      line_q <= picked ? '0 : ar_line;
      inside_q <= picked || ar_inside;
    end
    if (ar_taken && ar_waits) wait_id_q[ar_reader] <= s_home_arid;
  end
  assign s_home_rvalid = state_q == StFirst || state_q == StSecond;
  assign s_home_rid = id_q;
  assign s_home_rdata = row;
  assign s_home_rlast = state_q == StSecond;
  assign s_home_rresp = inside_q ? Okay : DecodeError;

  // ---------------------------------------------------------------------------------------------
  // Readers, and the lines to call home
  // ---------------------------------------------------------------------------------------------

  logic recall_valid, recall_ready, recalled;
  logic [Readers-1:0] gone;
  reader_t recall_reader, recalled_reader;
  line_t recall_line;

  snapshot_readers #(
    .Readers(Readers),
    .Versions(Versions)
  ) u_readers (
    .clk_i(ap_clk),
    .rst_ni(ap_rst_n),
    .read_i(ar_taken && ar_inside && !is_plain),
    .read_waits_i(ar_waits),
    .read_reader_i(ar_reader),
    .read_line_i(ar_line),
    .begin_i(picked),
    .begin_reader_i(pick),
    .current_i(current),
    .switch_i(switch && !is_plain),
    .changed_i(changed),
    .gone_i(gone),
    .waits_o(waits),
    .ready_o(ready),
    .first_o(first),
    .version_o(version_of),
    .recall_valid_o(recall_valid),
    .recall_ready_i(recall_ready),
    .recall_reader_o(recall_reader),
    .recall_line_o(recall_line),
    .recalled_i(recalled),
    .recalled_reader_i(recalled_reader)
  );

  // ---------------------------------------------------------------------------------------------
  // A version becomes the current one: locks, then unlocks. Lock n is the first line of reader n; with
  // `plain`, line n.
  // ---------------------------------------------------------------------------------------------

  typedef enum logic [1:0] {
    PubIdle,
    PubLock,
    PubUnlock
  } publish_e;

  publish_e pub_q, pub_d;
  logic [Lines-1:0] locks_q, ask_q, wait_q;  // of this version; to be asked for; asked for
  logic [Lines-1:0] locks;
  logic running_q, lock_valid, lock_sent, lock_ack;
  line_t lock_place, ack_place;

  assign locks = is_plain ? changed : Lines'(first) & ~Lines'(waits);
  assign publish = pub_q == PubIdle && made && !any_ready;
  assign locking = pub_q == PubLock;
  assign lock_open = locking ? ask_q[Readers-1:0] | wait_q[Readers-1:0] : '0;
  assign switch = pub_q == PubLock && ask_q == '0 && wait_q == '0;
  assign done = running_q && !start && ended && pub_q == PubIdle;

  always_comb begin
    pub_d = pub_q;
    unique case (pub_q)
      PubIdle: if (publish) pub_d = PubLock;
      PubLock: if (switch) pub_d = PubUnlock;
      default: if (ask_q == '0 && wait_q == '0) pub_d = PubIdle;
    endcase
  end
  always_comb begin
    lock_place = '0;
    for (int unsigned l = Lines; l > 0; l--) begin
      if (ask_q[l-1]) lock_place = line_t'(l - 1);
    end
  end
  assign lock_valid = ask_q != '0;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      pub_q <= PubIdle;
      ask_q <= '0;
      wait_q <= '0;
      running_q <= 1'b0;
    end else begin
      pub_q <= pub_d;
      if (publish) ask_q <= locks;
      else if (switch) ask_q <= locks_q;
      else if (lock_sent) ask_q[lock_place] <= 1'b0;
      if (lock_sent) wait_q[lock_place] <= 1'b1;
      if (lock_ack) wait_q[ack_place] <= 1'b0;
      if (start) running_q <= 1'b1;
      else if (done) running_q <= 1'b0;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (publish) locks_q <= locks;
  end

  // ---------------------------------------------------------------------------------------------
  // Line operations: tags 0 to 31 are locks and unlocks, 32 to 63 recalls, round and round
  // ---------------------------------------------------------------------------------------------

  logic offer_q, offer_free, recall_sent;
  logic [2:0] offer_operation_q;
  logic [5:0] offer_tag_q;
  logic [$clog2(Readers*Lines)-1:0] offer_line_q;
  logic [31:0] busy_q;
  logic [4:0] tag_q;
  reader_t tag_reader_q [32];

  assign offer_free = !offer_q || m_line_req_ready;
  assign lock_sent = lock_valid && offer_free;
  assign recall_ready = offer_free && !lock_valid && !busy_q[tag_q];
  assign recall_sent = recall_valid && recall_ready;
  assign m_line_req_valid = offer_q;
  assign m_line_req_operation = offer_operation_q;
  assign m_line_req_tag = offer_tag_q;
  assign m_line_req_line = {arguments.base[39:WindowLog2], offer_line_q};

  assign m_line_ack_ready = 1'b1;
  assign ack_place = m_line_ack_tag[4:0];
  assign lock_ack = m_line_ack_valid && !m_line_ack_tag[5];
  assign recalled = m_line_ack_valid && m_line_ack_tag[5];
  assign recalled_reader = tag_reader_q[ack_place];
  always_comb begin
    gone = '0;
    if (lock_ack && locking && !is_plain) gone[ack_place[$clog2(Readers)-1:0]] = 1'b1;
  end

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      offer_q <= 1'b0;
      busy_q <= '0;
      tag_q <= '0;
    end else begin
      if (offer_free) offer_q <= lock_sent || recall_sent;
      if (recall_sent) begin
        busy_q[tag_q] <= 1'b1;
        tag_q <= tag_q + 1'b1;
      end
      if (recalled) busy_q[ack_place] <= 1'b0;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (recall_sent) tag_reader_q[tag_q] <= recall_reader;
    if (lock_sent) begin
      offer_operation_q <= locking ? Lock : Unlock;
      offer_tag_q <= {1'b0, lock_place};
      offer_line_q <= is_plain ? {reader_t'(0), lock_place}
          : {lock_place[$clog2(Readers)-1:0], line_t'(0)};
    end else if (recall_sent) begin
      offer_operation_q <= CleanInvalidate;
      offer_tag_q <= {1'b1, tag_q};
      offer_line_q <= {recall_reader, recall_line};
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Writes are taken and refused: the record is the card's
  // ---------------------------------------------------------------------------------------------

  logic write_q, second_q, bvalid_q;
  logic [15:0] bid_q;
  assign s_home_awready = !write_q && !bvalid_q;
  assign s_home_wready = write_q;
  assign s_home_bvalid = bvalid_q;
  assign s_home_bid = bid_q;
  assign s_home_bresp = SubordinateError;
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      write_q <= 1'b0;
      second_q <= 1'b0;
      bvalid_q <= 1'b0;
    end else begin
      if (s_home_awvalid && s_home_awready) write_q <= 1'b1;
      else if (s_home_wvalid && write_q && second_q) write_q <= 1'b0;
      if (s_home_wvalid && write_q) second_q <= !second_q;
      if (s_home_wvalid && write_q && second_q) bvalid_q <= 1'b1;
      else if (s_home_bready) bvalid_q <= 1'b0;
    end
  end
  always_ff @(posedge ap_clk) begin
    if (s_home_awvalid && s_home_awready) bid_q <= s_home_awid;
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, s_home_araddr[LineLog2-1:0], s_home_awaddr, s_home_wdata, s_home_wstrb,
                       arguments.base[63:40], arguments.base[WindowLog2-1:0], arguments.plain[31:1]};

endmodule
