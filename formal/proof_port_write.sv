// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Proof: whatever a kernel writes, tmb_port_write forwards whole and legal bursts, and answers each once.
//
// The kernel sends any addresses and any data at any time; the slot is closed and reset at any time; a
// park of two bursts and a fabric answer when and how they like.
// Proved:
//   a burst that goes on unrefused obeys every rule, has all its beats, and came before the slot closed;
//   each burst gets one answer, in order, with its ID, OKAY only if the memory said so;
//   each request has its len + 1 rows, the last one marked, in the order of the requests;
//   offers stay;
//   an idle half takes an address within three cycles, and in reset it comes to rest.
// Sizes: rows of 2 bytes, blocks of 8; bursts of at most 8 beats; four rows and two bursts of buffer.

module proof_port_write
  import tmb_pkg::*;
  import tmb_translate_pkg::*;
  import tmb_guard_pkg::*;
#(
  parameter int unsigned Part = 0  // of the claims
) (
  input logic       clk_i,
  input logic       toggles_i,  // reset begins, or ends as soon as it may
  input logic       closes_i,
  input logic       aw_valid_i,
  input logic [3:0] aw_addr_i,
  input logic       aw_far_i,   // an address that does not exist
  input logic [2:0] aw_len_i,
  input logic [1:0] aw_size_i,
  input logic [1:0] aw_burst_i,
  input logic       aw_id_i,
  input logic       w_valid_i,
  input logic       w_last_i,
  input logic       b_ready_i,
  input logic       burst_ready_i,
  input logic       departs_i,
  input logic       fails_i,
  input logic       req_ready_i,
  input logic       data_ready_i,
  input logic       responds_i,
  input logic       rsp_slot_i,
  input logic       rsp_error_i
);

  logic reset_q = 1'b1;
  logic rst_n, port_reset_q, closed_q, idle;
  always_ff @(posedge clk_i) reset_q <= 1'b0;
  assign rst_n = !reset_q;

  axi_ax_t aw;
  axi_w_t w;
  logic aw_ready, w_ready, b_valid, burst_valid, burst_ready, departure_valid, departure_ready;
  logic req_valid, data_valid, rsp_ready;
  axi_b_t b;
  burst_t burst;
  departure_t departure;
  mem_req_t req;
  mem_write_data_t data;
  logic [1:0] busy;
  violation_t report;
  collection_t collection;

  always_comb begin
    aw = '0;
    aw.id = aw_id_i;
    aw.addr = {aw_far_i, 59'd0, aw_addr_i};
    aw.len = {5'd0, aw_len_i};
    aw.size = {1'b0, aw_size_i};
    aw.burst = aw_burst_i;
    w = '0;
    w.last = w_last_i;
  end

  tmb_port_write #(
    .BufferRows(4), .OrderDepth(2)
  ) dut (
    .clk_i, .rst_ni(rst_n), .port_reset_i(port_reset_q), .closed_i(closed_q),
    .aw_valid_i, .aw_ready_o(aw_ready), .aw_i(aw),
    .w_valid_i, .w_ready_o(w_ready), .w_i(w),
    .b_valid_o(b_valid), .b_ready_i, .b_o(b),
    .burst_valid_o(burst_valid), .burst_ready_i(burst_ready), .burst_o(burst),
    .departure_valid_i(departure_valid), .departure_ready_o(departure_ready),
    .departure_i(departure),
    .write_req_valid_o(req_valid), .write_req_ready_i(req_ready_i), .write_req_o(req),
    .write_data_valid_o(data_valid), .write_data_ready_i(data_ready_i), .write_data_o(data),
    .write_rsp_valid_i(responds_i), .write_rsp_ready_o(rsp_ready),
    .write_rsp_i('{tag: {15'd0, rsp_slot_i}, error: rsp_error_i}),
    .epoch_i(1'b0), .busy_o(busy), .idle_o(idle), .report_o(report), .collection_o(collection)
  );

  // ---------------------------------------------------------------------------------------------
  // The slot, the kernel's offers (behind spill registers, so they stay)
  // ---------------------------------------------------------------------------------------------

  logic aw_waits_q, w_waits_q, w_last_q;
  logic [12:0] aw_q, aw_now;
  assign aw_now = {aw_addr_i, aw_far_i, aw_len_i, aw_size_i, aw_burst_i, aw_id_i};

  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      port_reset_q <= 1'b1;
      closed_q <= 1'b0;
    end else begin
      if (toggles_i && (!port_reset_q || idle)) port_reset_q <= !port_reset_q;
      closed_q <= !port_reset_q && (closed_q || closes_i);
    end
    aw_waits_q <= rst_n && !port_reset_q && aw_valid_i && !aw_ready;
    w_waits_q <= rst_n && !port_reset_q && w_valid_i && !w_ready;
    aw_q <= aw_now;
    w_last_q <= w_last_i;
  end

  always_comb begin
    assume (!(port_reset_q || reset_q) || (!aw_valid_i && !w_valid_i));
    assume (port_reset_q || !aw_waits_q || (aw_valid_i && aw_now == aw_q));
    assume (port_reset_q || !w_waits_q || (w_valid_i && w_last_i == w_last_q));
  end

  // ---------------------------------------------------------------------------------------------
  // Addresses that the port has taken, oldest first: two in its spill register
  // ---------------------------------------------------------------------------------------------

  typedef struct packed {
    logic [3:0] addr;
    logic [2:0] len;
    logic [1:0] rows;  // - 1
    logic       id;
    logic       bad;
  } address_t;

  address_t address, address_q [2];
  logic [1:0] addresses_q;
  logic [4:0] first, past_end;
  logic take_aw, take_w, last_beat, finish;
  logic [2:0] beats_q;

  // The rules of the port, said in another way than the decoder does.
  always_comb begin
    first = {2'd0, aw_addr_i[2:0]};
    if (aw_size_i == 2'd1) first[0] = 1'b0;
    past_end = first + ((aw_size_i == 2'd1) ? {1'b0, aw_len_i, 1'b0} + 5'd2 : {2'b0, aw_len_i} + 5'd1);
    address = '{
        addr: aw_addr_i,
        len: aw_len_i,
        rows: 2'((past_end - 5'd1) >> 1) - 2'(first >> 1),
        id: aw_id_i,
        bad: aw_far_i || aw_size_i > 2'd1 || (aw_burst_i != 2'b01 && aw_len_i != '0)
            || past_end > 5'd8 || closed_q
    };
  end
  assign take_aw = aw_valid_i && aw_ready;
  assign take_w = w_valid_i && w_ready;
  assign last_beat = beats_q == address_q[0].len;
  assign finish = take_w && (last_beat || w_last_i);

  always_ff @(posedge clk_i) begin
    if (!rst_n || port_reset_q) begin
      addresses_q <= '0;
      beats_q <= '0;
    end else begin
      addresses_q <= addresses_q + 2'(take_aw) - 2'(finish);
      if (take_w) beats_q <= finish ? '0 : beats_q + 3'd1;
    end
    if (finish) address_q[0] <= address_q[1];
    if (take_aw) address_q[1'(addresses_q - 2'(finish))] <= address;
  end

  // ---------------------------------------------------------------------------------------------
  // The park: bursts leave in order; a burst may be lost for the memory until it has left
  // ---------------------------------------------------------------------------------------------

  typedef struct packed {
    logic [1:0] row;
    logic [1:0] len;
    logic       refused;
  } parked_t;

  parked_t parked_q [2];
  logic [1:0] parked_count_q;
  logic enter, leave, waits_q, failing_q;

  assign burst_ready = burst_ready_i && parked_count_q != 2'd2;
  assign enter = burst_valid && burst_ready;
  assign departure_valid = departs_i && parked_count_q != '0;
  assign leave = departure_valid && departure_ready;
  assign departure = '{
      addr: {1'b0, parked_q[0].row, 1'b0},
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
      parked_q[1'(parked_count_q - 2'(leave))] <= '{
          row: burst.addr[2:1],
          len: burst.len,
          refused: burst.refused
      };
    end
    waits_q <= rst_n && departure_valid && !departure_ready;
    failing_q <= fails_i;
  end

  // ---------------------------------------------------------------------------------------------
  // What each of two bursts owes and is owed, from the park to its answer
  // ---------------------------------------------------------------------------------------------

  logic entering_q, leaving_q, retiring_q;  // whose turn it is
  logic [1:0] under_way_q;
  logic [1:0] id_q, open_q, requested_q, sent_q, done_q, error_q;
  logic [1:0][1:0] row_q, len_q;
  logic answered;
  logic [1:0] rows_q;  // of the burst whose data are being sent
  logic data_order_q [2];
  logic [1:0] data_count_q;

  assign answered = b_valid && (b_ready_i || port_reset_q);

  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      {entering_q, leaving_q, retiring_q} <= '0;
      under_way_q <= '0;
      {open_q, requested_q, sent_q, done_q, error_q} <= '0;
      rows_q <= '0;
      data_count_q <= '0;
    end else begin
      under_way_q <= under_way_q + 2'(enter) - 2'(answered);
      if (enter) begin
        entering_q <= !entering_q;
        id_q[entering_q] <= address_q[0].id;
      end
      if (answered) begin
        retiring_q <= !retiring_q;
        done_q[retiring_q] <= 1'b0;
      end
      if (leave) begin
        leaving_q <= !leaving_q;
        done_q[leaving_q] <= departure.error;
        error_q[leaving_q] <= departure.error;
        open_q[leaving_q] <= !departure.error;
        requested_q[leaving_q] <= 1'b0;
        sent_q[leaving_q] <= 1'b0;
        row_q[leaving_q] <= parked_q[0].row;
        len_q[leaving_q] <= departure.len;
      end
      if (req_valid && req_ready_i) requested_q[req.tag[0]] <= 1'b1;
      if (data_valid && data_ready_i) begin
        rows_q <= data.last ? '0 : rows_q + 2'd1;
        if (data.last) begin
          sent_q[data_order_q[0]] <= 1'b1;
          data_order_q[0] <= data_order_q[1];
        end
      end
      data_count_q <= data_count_q + 2'(leave && !departure.error)
          - 2'(data_valid && data_ready_i && data.last);
      if (leave && !departure.error) begin
        data_order_q[1'(data_count_q - 2'(data_valid && data_ready_i && data.last))] <= leaving_q;
      end
      if (responds_i) begin
        open_q[rsp_slot_i] <= 1'b0;
        done_q[rsp_slot_i] <= 1'b1;
        error_q[rsp_slot_i] <= rsp_error_i;
      end
    end
  end

  always_comb begin
    assume (!responds_i || (open_q[rsp_slot_i] && requested_q[rsp_slot_i] && sent_q[rsp_slot_i]));
  end

  // ---------------------------------------------------------------------------------------------
  // How long something has not come
  // ---------------------------------------------------------------------------------------------

  logic [1:0] resting_q, empty_q, hidden_q;
  logic req_waits_q, data_waits_q, b_waits_q;

  function automatic logic [1:0] longer(logic [1:0] cycles, logic holds);
    if (!holds) return '0;
    return (cycles == '1) ? cycles : cycles + 2'd1;
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      {resting_q, empty_q, hidden_q} <= '0;
      {req_waits_q, data_waits_q, b_waits_q} <= '0;
    end else begin
      resting_q <= longer(resting_q, under_way_q == '0 && port_reset_q);
      empty_q <= longer(empty_q, addresses_q == '0 && !port_reset_q);
      hidden_q <= longer(hidden_q, data_count_q != '0 && !data_valid);
      req_waits_q <= req_valid && !req_ready_i;
      data_waits_q <= data_valid && !data_ready_i;
      b_waits_q <= b_valid && !b_ready_i && !port_reset_q;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Claims
  // ---------------------------------------------------------------------------------------------

  always_comb begin
    if (rst_n && Part == 0) begin
      // Into the park.
      assert (!take_w || addresses_q != '0);
      assert (enter == finish);
      assert (!enter || burst.refused == (address_q[0].bad || last_beat != w_last_i));
      assert (!enter || burst.refused
          || (burst.addr[3:0] == address_q[0].addr && burst.len == address_q[0].rows
              && {1'b0, burst.addr[2:1]} + {1'b0, burst.len} <= 3'd3));
      assert (under_way_q <= 2'd2 && !(enter && under_way_q == 2'd2));
      // Offers stay.
      assert (!req_waits_q || req_valid);
      assert (!data_waits_q || data_valid);
      assert (!b_waits_q || b_valid);
      // Nothing is stuck.
      assert (empty_q != 2'd3 || port_reset_q || aw_ready);
    end
    if (rst_n && Part == 1) begin
      // To the fabric.
      assert (req_valid == ((open_q & ~requested_q) != '0));
      assert (!req_valid || (open_q[req.tag[0]] && !requested_q[req.tag[0]]
          && req.len == len_q[req.tag[0]] && req.addr[2:1] == row_q[req.tag[0]]));
      assert (!data_valid || (data_count_q != '0
          && data.last == (rows_q == len_q[data_order_q[0]])));
      assert (hidden_q < 2'd2);
    end
    if (rst_n && Part == 2) begin
      // To the kernel.
      assert (b_valid == (under_way_q != '0 && done_q[retiring_q]));
      assert (!b_valid || b.id == id_q[retiring_q]);
      assert (!b_valid || b.resp == (error_q[retiring_q] ? AxiSlvErr : AxiOkay));
    end
    if (rst_n && Part == 3) begin
      // In reset the port comes to rest.
      assert (resting_q != 2'd3 || idle);
    end
  end

endmodule
