// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Proof: whatever a kernel asks, tmb_port_read forwards legal bursts only, and answers each once, whole.
//
// The kernel asks for anything at any time and takes its data when it likes; the slot is closed and reset
// at any time; a park of two bursts and a fabric, which returns the rows of different bursts in any
// order, answer when and how they like.
// Proved, part 0 of the claims:
//   a burst that goes on unrefused obeys every rule, and came before the slot closed;
//   each burst gets len + 1 beats, RLAST on the last one only; offers stay; an idle half takes an address
//   within three cycles.
// Stated, not decided yet, and not in proofs.toml: 1, the beats' IDs, and that the error bit of every beat is
// that of its row of its burst (so it is the right row); 2, each burst that may is asked of the fabric
// once; 3, nothing is stuck.
// Sizes: rows of 2 bytes, blocks of 8; bursts of at most 8 beats; four rows and two bursts of buffer.

module proof_port_read
  import tmb_pkg::*;
  import tmb_translate_pkg::*;
  import tmb_guard_pkg::*;
#(
  parameter int unsigned Part = 0  // of the claims
) (
  input logic       clk_i,
  input logic       toggles_i,  // reset begins, or ends as soon as it may
  input logic       closes_i,
  input logic       ar_valid_i,
  input logic [3:0] ar_addr_i,
  input logic       ar_far_i,   // an address that does not exist
  input logic [2:0] ar_len_i,
  input logic [1:0] ar_size_i,
  input logic [1:0] ar_burst_i,
  input logic       ar_id_i,
  input logic       r_ready_i,
  input logic       burst_ready_i,
  input logic       departs_i,
  input logic       fails_i,
  input logic       req_ready_i,
  input logic       responds_i,
  input logic [1:0] rsp_slot_i,
  input logic       rsp_error_i
);

  logic reset_q = 1'b1;
  logic rst_n, port_reset_q, closed_q, idle;
  always_ff @(posedge clk_i) reset_q <= 1'b0;
  assign rst_n = !reset_q;

  axi_ax_t ar;
  logic ar_ready, r_valid, burst_valid, burst_ready, departure_valid, departure_ready;
  logic req_valid, rsp_ready;
  axi_r_t r;
  burst_t burst;
  departure_t departure;
  mem_req_t req;
  mem_read_rsp_t rsp;
  logic [1:0] busy;
  violation_t report;

  always_comb begin
    ar = '0;
    ar.id = ar_id_i;
    ar.addr = {ar_far_i, 59'd0, ar_addr_i};
    ar.len = {5'd0, ar_len_i};
    ar.size = {1'b0, ar_size_i};
    ar.burst = ar_burst_i;
  end

  tmb_port_read #(
    .BufferRows(4), .OrderDepth(2)
  ) dut (
    .clk_i, .rst_ni(rst_n), .port_reset_i(port_reset_q), .closed_i(closed_q),
    .ar_valid_i, .ar_ready_o(ar_ready), .ar_i(ar),
    .r_valid_o(r_valid), .r_ready_i, .r_o(r),
    .burst_valid_o(burst_valid), .burst_ready_i(burst_ready), .burst_o(burst),
    .departure_valid_i(departure_valid), .departure_ready_o(departure_ready),
    .departure_i(departure),
    .read_req_valid_o(req_valid), .read_req_ready_i(req_ready_i), .read_req_o(req),
    .read_rsp_valid_i(responds_i), .read_rsp_ready_o(rsp_ready), .read_rsp_i(rsp),
    .epoch_i(1'b0), .busy_o(busy), .idle_o(idle), .report_o(report)
  );

  // ---------------------------------------------------------------------------------------------
  // The slot, the kernel's offers (behind spill registers, so they stay)
  // ---------------------------------------------------------------------------------------------

  logic ar_waits_q;
  logic [12:0] ar_q, ar_now;
  assign ar_now = {ar_addr_i, ar_far_i, ar_len_i, ar_size_i, ar_burst_i, ar_id_i};

  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      port_reset_q <= 1'b1;
      closed_q <= 1'b0;
    end else begin
      if (toggles_i && (!port_reset_q || idle)) port_reset_q <= !port_reset_q;
      closed_q <= !port_reset_q && (closed_q || closes_i);
    end
    ar_waits_q <= rst_n && !port_reset_q && ar_valid_i && !ar_ready;
    ar_q <= ar_now;
  end

  always_comb begin
    assume (!(port_reset_q || reset_q) || !ar_valid_i);
    assume (port_reset_q || !ar_waits_q || (ar_valid_i && ar_now == ar_q));
  end

  // ---------------------------------------------------------------------------------------------
  // Addresses that the port has taken, oldest first: two in its spill register
  // ---------------------------------------------------------------------------------------------

  typedef struct packed {
    logic [3:0] addr;
    logic [2:0] len;
    logic       half;  // beats of one byte
    logic [1:0] rows;  // - 1
    logic       id;
    logic       bad;
  } address_t;

  address_t address, address_q [2];
  logic [1:0] addresses_q;
  logic [4:0] first, past_end;
  logic take_ar, enter;

  // The rules of the port, said in another way than the decoder does.
  always_comb begin
    first = {2'd0, ar_addr_i[2:0]};
    if (ar_size_i == 2'd1) first[0] = 1'b0;
    past_end = first + ((ar_size_i == 2'd1) ? {1'b0, ar_len_i, 1'b0} + 5'd2 : {2'b0, ar_len_i} + 5'd1);
    address = '{
        addr: ar_addr_i,
        len: ar_len_i,
        half: ar_size_i == 2'd0,
        rows: 2'((past_end - 5'd1) >> 1) - 2'(first >> 1),
        id: ar_id_i,
        bad: ar_far_i || ar_size_i > 2'd1 || (ar_burst_i != 2'b01 && ar_len_i != '0)
            || past_end > 5'd8 || closed_q
    };
  end
  assign take_ar = ar_valid_i && ar_ready;

  // Bursts taken when the reset begins are forgotten, but for one that enters the park just then.
  always_ff @(posedge clk_i) begin
    if (!rst_n || port_reset_q) addresses_q <= '0;
    else addresses_q <= addresses_q + 2'(take_ar) - 2'(enter);
    if (enter) address_q[0] <= address_q[1];
    if (take_ar) address_q[1'(addresses_q - 2'(enter))] <= address;
  end

  // ---------------------------------------------------------------------------------------------
  // The park: bursts leave in order
  // ---------------------------------------------------------------------------------------------

  typedef struct packed {
    logic [1:0] len;
    logic       refused;
  } parked_t;

  parked_t parked_q [2];
  logic [1:0] parked_count_q;
  logic leave, waits_q, failing_q;

  assign burst_ready = burst_ready_i && parked_count_q != 2'd2;
  assign enter = burst_valid && burst_ready;
  assign departure_valid = departs_i && parked_count_q != '0;
  assign leave = departure_valid && departure_ready;
  assign departure = '{
      addr: '0,
      len: parked_q[0].len,
      refused: parked_q[0].refused,
      error: parked_q[0].refused || fails_i
  };
  always_comb begin
    assume (!waits_q || departs_i);
    assume (!waits_q || !failing_q || fails_i);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_n) parked_count_q <= '0;
    else parked_count_q <= parked_count_q + 2'(enter) - 2'(leave);
    if (leave) parked_q[0] <= parked_q[1];
    if (enter) begin
      parked_q[1'(parked_count_q - 2'(leave))] <= '{len: burst.len, refused: burst.refused};
    end
    waits_q <= rst_n && departure_valid && !departure_ready;
    failing_q <= fails_i;
  end

  // ---------------------------------------------------------------------------------------------
  // What each burst owes and is owed, from the park to its last beat: two in the port's order, and one
  // whose last beat is on offer
  // ---------------------------------------------------------------------------------------------

  typedef logic [1:0] position_t;
  position_t entering_q, leaving_q, asking, retiring_q;
  logic [1:0] under_way_q;
  address_t of_q [4];
  logic [1:0] tag_q [4];
  logic [3:0] open_q, requested_q, failed_q;
  logic [3:0][2:0] arrived_q;  // rows
  logic [3:0][3:0] error_q;
  logic [2:0] beat_q;
  logic beat, last_beat;
  logic [1:0] row;
  logic [3:0] place;

  // Whose request comes next: the oldest that is open and not asked.
  assign beat = r_valid && (r_ready_i || port_reset_q);
  assign last_beat = beat_q == of_q[retiring_q].len;
  assign place = of_q[retiring_q].half ? {3'd0, of_q[retiring_q].addr[0]} + {1'b0, beat_q}
      : {beat_q, 1'b0};
  assign row = 2'(place >> 1);
  assign rsp = '{
      row: '0,
      tag: {14'd0, tag_q[rsp_slot_i]},
      index: 2'(arrived_q[rsp_slot_i]),
      last: arrived_q[rsp_slot_i] == {1'b0, of_q[rsp_slot_i].rows},
      error: rsp_error_i
  };

  always_comb begin
    asking = retiring_q;
    for (int unsigned i = 0; i < 4; i++) begin
      if (!(open_q[asking] && !requested_q[asking])) asking = retiring_q + 2'(i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      {entering_q, leaving_q, retiring_q} <= '0;
      under_way_q <= '0;
      {open_q, requested_q, failed_q} <= '0;
      beat_q <= '0;
    end else begin
      under_way_q <= under_way_q + 2'(enter) - 2'(beat && last_beat);
      if (enter) begin
        entering_q <= entering_q + 2'd1;
        of_q[entering_q] <= address_q[0];
        failed_q[entering_q] <= burst.refused;  // answered at once
        open_q[entering_q] <= 1'b0;
        arrived_q[entering_q] <= '0;
        requested_q[entering_q] <= 1'b0;
      end
      if (leave) begin
        leaving_q <= leaving_q + 2'd1;
        failed_q[leaving_q] <= departure.error;
        open_q[leaving_q] <= !departure.error;
      end
      if (req_valid && req_ready_i) begin
        requested_q[asking] <= 1'b1;
        tag_q[asking] <= req.tag[1:0];
      end
      if (responds_i) begin
        arrived_q[rsp_slot_i] <= arrived_q[rsp_slot_i] + 3'd1;
        error_q[rsp_slot_i][arrived_q[rsp_slot_i][1:0]] <= rsp_error_i;
        if (rsp.last) open_q[rsp_slot_i] <= 1'b0;
      end
      if (beat) beat_q <= last_beat ? '0 : beat_q + 3'd1;
      if (beat && last_beat) retiring_q <= retiring_q + 2'd1;
    end
  end

  always_comb begin
    assume (!responds_i || (open_q[rsp_slot_i] && requested_q[rsp_slot_i]));
  end

  // ---------------------------------------------------------------------------------------------
  // How long something has not come
  // ---------------------------------------------------------------------------------------------

  logic [1:0] resting_q, held_q, empty_q, hidden_q, asks_q;
  logic req_waits_q, r_waits_q;
  logic there;  // the next beat can be given

  assign there = under_way_q != '0
      && (failed_q[retiring_q] || arrived_q[retiring_q] > {1'b0, row});

  function automatic logic [1:0] longer(logic [1:0] cycles, logic holds);
    if (!holds) return '0;
    return (cycles == '1) ? cycles : cycles + 2'd1;
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      {resting_q, held_q, empty_q, hidden_q, asks_q} <= '0;
      {req_waits_q, r_waits_q} <= '0;
    end else begin
      resting_q <= longer(resting_q, under_way_q == '0 && port_reset_q);
      held_q <= longer(held_q, departure_valid && !departure_ready && open_q == '0);
      empty_q <= longer(empty_q, addresses_q == '0 && !port_reset_q);
      hidden_q <= longer(hidden_q, there && !r_valid);
      asks_q <= longer(asks_q, addresses_q != '0 && under_way_q == '0 && !burst_valid && !port_reset_q);
      req_waits_q <= req_valid && !req_ready_i;
      r_waits_q <= r_valid && !r_ready_i && !port_reset_q;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Claims
  // ---------------------------------------------------------------------------------------------

  always_comb begin
    if (rst_n && Part == 0) begin
      // Into the park.
      assert (!enter || addresses_q != '0);
      assert (!enter || burst.refused == address_q[0].bad);
      assert (!enter || burst.refused
          || (burst.addr[3:0] == address_q[0].addr && burst.len == address_q[0].rows
              && {1'b0, burst.addr[2:1]} + {1'b0, burst.len} <= 3'd3));
      // To the kernel.
      assert (!r_valid || r.last == last_beat);
      // Offers stay.
      assert (!req_waits_q || req_valid);
      assert (!r_waits_q || r_valid);
      // Nothing is stuck.
      assert (empty_q != 2'd3 || port_reset_q || ar_ready);
    end
    if (rst_n && Part == 1) begin
      // To the kernel.
      assert (!r_valid || there);
      assert (!r_valid || r.id == of_q[retiring_q].id);
      assert (!r_valid || r.resp == ((failed_q[retiring_q] || error_q[retiring_q][row])
          ? AxiSlvErr : AxiOkay));
    end
    if (rst_n && Part == 2) begin
      // To the fabric.
      assert (req_valid == ((open_q & ~requested_q) != '0));
      assert (!req_valid || req.len == of_q[asking].rows);
    end
    if (rst_n && Part == 3) begin
      // Nothing is stuck.
      assert (hidden_q < 2'd3);
      assert (held_q < 2'd3);
      assert (asks_q < 2'd3);
      assert (resting_q != 2'd3 || idle);
    end
  end

endmodule
