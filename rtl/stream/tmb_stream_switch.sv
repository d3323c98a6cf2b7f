// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The switch between the stream ports of all slots and their movers. An incoming port of a kernel takes
// its beats from its own mover, or from any outgoing port of any slot; the host chooses, at any time.
// An outgoing port goes to the incoming one that takes from it, else to its own mover.
//
// NumPairs   stream pairs of all slots: count of ports into kernels, of ports out of kernels, and of movers
// IdWidth    bits of TID and TDEST together; 0: none are carried, and id_i is ignored
//
// Each beat from port to port keeps its ID (TID and TDEST). The switch does not route by it. A mover has none: what
// it sends has ID 0, and what it takes loses its own. Packets of different IDs must not be interleaved: TLAST of one
// would be taken for the end of the other.
//
// Changing a source drains. The old source may finish the packet that it is in, then nothing more of it
// passes. The new one, an outgoing port, may finish its packet to where it went before. Then the port
// opens, at the beginning of a packet. So no packet is dropped, split or reordered, whatever the host
// writes when; a source that never ends its packet keeps the change pending, and the host may take it
// back. An outgoing port that another incoming port has comes when that one has let go; of several that
// wait for it the lowest number goes first.
//
// Throughput: a beat a cycle at each port, all at once. Latency: from port to port 2 cycles, from a port
// to its mover 1, from a mover to its port none. A change takes 3 cycles from the write when both sides
// are between packets. Ordering: beats of a port in order. Back-pressure: end to end, by each connection
// independently; two queues of two beats lie between two kernels.
// No deadlock: a beat that is offered waits for its sink only. Kernels that the host connects to a
// ring are responsible for it themselves.
//
// Reset of a slot in mid-packet. If it sends, the receiver gets an empty beat with TLAST and the packet's ID, so that
// the next beat begins a packet of its own. If it receives, its part of the packet is gone, the rest of it
// is taken and dropped, and the next packet waits until the receiver lives. Both are reported in
// state_o.broken. Another slot never waits for a slot in reset but by its own connection to it. A
// connection outlives resets.
//
// Source: vFPIO sections 4.2 (switch) and 5.2.

`include "tmb_assert.svh"

module tmb_stream_switch
  import tmb_pkg::*;
  import tmb_stream_pkg::*;
#(
  parameter int unsigned NumPairs = 2,
  parameter int unsigned IdWidth = 0,
  localparam int unsigned IdBits = IdWidth == 0 ? 1 : IdWidth
) (
  input  logic           clk_i,
  input  logic           rst_ni,
  input  logic           reset_i [NumPairs],    // the pair's slot, with its movers, is in reset
  // host
  input  stream_source_t source_i [NumPairs],   // of an incoming port; names a pair that exists
  input  logic           forget_i [NumPairs],   // one cycle: clears state_o.broken
  output switch_state_t  state_o [NumPairs],
  output logic           waits_o [NumPairs],    // a beat of the outgoing port is here
  // movers into the kernels
  input  logic           mover_in_valid_i [NumPairs],
  output logic           mover_in_ready_o [NumPairs],
  input  stream_beat_t   mover_in_i [NumPairs],
  // movers out of the kernels
  input  logic           mover_out_begin_i [NumPairs],  // a packet may begin
  output logic           mover_out_valid_o [NumPairs],  // may be withdrawn between packets
  input  logic           mover_out_ready_i [NumPairs],
  output stream_beat_t   mover_out_o [NumPairs],
  // ports into the kernels
  output logic           in_valid_o [NumPairs],
  input  logic           in_ready_i [NumPairs],
  output stream_beat_t   in_o [NumPairs],
  output logic [IdBits-1:0] in_id_o [NumPairs],
  // ports out of the kernels
  input  logic           out_valid_i [NumPairs],
  output logic           out_ready_o [NumPairs],
  input  stream_beat_t   out_i [NumPairs],
  input  logic [IdBits-1:0] out_id_i [NumPairs]
);

  // A beat with its ID in front. Without IDs it is the beat.
  localparam int unsigned BeatWidth = $bits(stream_beat_t);
  typedef logic [IdWidth+BeatWidth-1:0] tagged_t;
  typedef logic [IdBits-1:0] id_t;

  function automatic id_t id_of(tagged_t beat);
    return id_t'((IdBits + BeatWidth)'(beat) >> BeatWidth);
  endfunction

  typedef enum logic [1:0] {
    FromMover,
    FromPort,
    Closed
  } route_e;

  localparam stream_beat_t CutBeat = '{data: '0, keep: '0, last: 1'b1};

  // Of each incoming port.
  route_e route_q [NumPairs];
  pair_t route_pair_q [NumPairs];
  logic link_ready [NumPairs];        // it takes the next beat of its outgoing port

  // By outgoing port: its next beat, and its connection.
  logic next_valid [NumPairs];
  logic next_ready [NumPairs];
  tagged_t next_tagged [NumPairs];
  stream_beat_t next [NumPairs];
  logic linked [NumPairs];
  logic out_open_q [NumPairs];        // its mover has the beginning of a packet, and not its end

  // claim[j][i]: incoming port i is closed and waits for outgoing port j.
  logic [NumPairs-1:0] claim [NumPairs];
  logic [NumPairs-1:0] taken [NumPairs];

  // ---------------------------------------------------------------------------------------------
  // Outgoing ports
  // ---------------------------------------------------------------------------------------------

  for (genvar j = 0; j < NumPairs; j++) begin : gen_out
    logic to_mover, linked_ready;

    tmb_spill_register #(
      .T(tagged_t)
    ) i_next (
      .clk_i      (clk_i),
      .rst_ni     (rst_ni && !reset_i[j]),
      .in_valid_i (out_valid_i[j]),
      .in_ready_o (out_ready_o[j]),
      .in_data_i  (tagged_t'({out_id_i[j], out_i[j]})),
      .out_valid_o(next_valid[j]),
      .out_ready_i(next_ready[j]),
      .out_data_o (next_tagged[j])
    );
    assign next[j] = next_tagged[j][BeatWidth-1:0];

    for (genvar i = 0; i < NumPairs; i++) begin : gen_claim
      assign taken[j][i] = route_q[i] == FromPort && route_pair_q[i] == pair_t'(j);
      assign claim[j][i] = route_q[i] == Closed && source_i[i].from_port
          && source_i[i].pair == pair_t'(j);
    end
    assign linked[j] = |taken[j];

    always_comb begin
      linked_ready = 1'b0;
      for (int unsigned i = 0; i < NumPairs; i++) begin
        if (taken[j][i] && link_ready[i]) linked_ready = 1'b1;
      end
    end

    assign to_mover = !linked[j]
        && (out_open_q[j] || (mover_out_begin_i[j] && claim[j] == '0));
    assign waits_o[j] = next_valid[j];
    assign mover_out_valid_o[j] = next_valid[j] && to_mover;
    assign mover_out_o[j] = next[j];
    assign next_ready[j] = linked[j] ? linked_ready : to_mover && mover_out_ready_i[j];

    always_ff @(posedge clk_i) begin
      if (!rst_ni || reset_i[j]) out_open_q[j] <= 1'b0;
      else if (mover_out_valid_o[j] && mover_out_ready_i[j]) out_open_q[j] <= !next[j].last;
    end

    `TMB_ASSERT(OneTakes, $onehot0(taken[j]))
  end

  // ---------------------------------------------------------------------------------------------
  // Incoming ports
  // ---------------------------------------------------------------------------------------------

  for (genvar i = 0; i < NumPairs; i++) begin : gen_in
    // Mover to port. open: a beat is offered, or a packet has begun.
    logic mover_open_q, mover_passes, mover_leaves;
    // Port to port: the beats that have passed are in a queue of the receiver.
    logic link_open_q, link_passes, link_leaves, crosses, swallow_q, cut_q, broken_q;
    logic source_valid, source_reset, put, put_ready, link_valid;
    stream_beat_t source_beat, link_beat;
    id_t source_id, open_id_q;
    tagged_t link_tagged;
    // The new source is between packets, and no other port has it.
    logic opens;

    assign mover_leaves = route_q[i] == FromMover && source_i[i].from_port;
    assign link_leaves = route_q[i] == FromPort
        && !(source_i[i].from_port && source_i[i].pair == route_pair_q[i]);

    always_comb begin
      source_valid = 1'b0;
      source_reset = 1'b0;
      source_beat = '0;
      source_id = '0;
      for (int unsigned j = 0; j < NumPairs; j++) begin
        if (route_q[i] == FromPort && route_pair_q[i] == pair_t'(j)) begin
          source_valid = next_valid[j];
          source_reset = reset_i[j];
          source_beat = next[j];
          source_id = id_of(next_tagged[j]);
        end
      end
    end

    assign mover_passes = route_q[i] == FromMover && (mover_open_q || !mover_leaves);

    always_ff @(posedge clk_i) begin
      if (!rst_ni || reset_i[i]) begin
        mover_open_q <= 1'b0;
      end else if (mover_passes && mover_in_valid_i[i]) begin
        mover_open_q <= !(in_ready_i[i] && mover_in_i[i].last);
      end
    end

    // A beat of a slot that goes into reset now counts as one that was not sent.
    assign link_passes = route_q[i] == FromPort && (link_open_q || !link_leaves)
        && !reset_i[i] && !source_reset && !swallow_q && !cut_q;
    assign put = cut_q || (link_passes && source_valid);
    assign crosses = link_passes && source_valid && put_ready;
    assign link_ready[i] = (link_passes && put_ready) || swallow_q;

    tmb_spill_register #(
      .T(tagged_t)
    ) i_link (
      .clk_i      (clk_i),
      .rst_ni     (rst_ni && !reset_i[i]),
      .in_valid_i (put),
      .in_ready_o (put_ready),
      .in_data_i  (cut_q ? tagged_t'({open_id_q, CutBeat}) : tagged_t'({source_id, source_beat})),
      .out_valid_o(link_valid),
      .out_ready_i(in_ready_i[i] && route_q[i] != FromMover),
      .out_data_o (link_tagged)
    );
    assign link_beat = link_tagged[BeatWidth-1:0];

    // The ID of the packet under way, for its end if it is cut.
    if (IdWidth == 0) begin : gen_no_id
      assign open_id_q = '0;
    end else begin : gen_id
      always_ff @(posedge clk_i) begin
        if (crosses) open_id_q <= source_id;
      end
    end

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        link_open_q <= 1'b0;
        swallow_q <= 1'b0;
        cut_q <= 1'b0;
      end else if (source_reset && (reset_i[i] || swallow_q)) begin
        link_open_q <= 1'b0;
        swallow_q <= 1'b0;
        cut_q <= 1'b0;
      end else if (reset_i[i]) begin
        // The end that was to be sent has no receiver.
        cut_q <= 1'b0;
        swallow_q <= link_open_q && !cut_q && !(swallow_q && source_valid && source_beat.last);
        if (cut_q || (swallow_q && source_valid && source_beat.last)) link_open_q <= 1'b0;
      end else if (cut_q) begin
        if (put_ready) begin
          cut_q <= 1'b0;
          link_open_q <= 1'b0;
        end
      end else if (swallow_q) begin
        if (source_valid && source_beat.last) begin
          swallow_q <= 1'b0;
          link_open_q <= 1'b0;
        end
      end else if (source_reset) begin
        cut_q <= link_open_q;
      end else if (crosses) begin
        link_open_q <= !source_beat.last;
      end
    end

    always_ff @(posedge clk_i) begin
      if (!rst_ni || forget_i[i]) broken_q <= 1'b0;
      else if (reset_i[i] && (link_open_q || link_valid)) broken_q <= 1'b1;
      else if (source_reset && link_open_q) broken_q <= 1'b1;
    end

    always_comb begin
      opens = 1'b0;
      for (int unsigned j = 0; j < NumPairs; j++) begin
        // The lowest one that claims it.
        if (claim[j][i] && (claim[j] & ((NumPairs'(1) << i) - NumPairs'(1))) == '0) begin
          opens = !linked[j] && !out_open_q[j];
        end
      end
    end

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        route_q[i] <= FromMover;
        route_pair_q[i] <= '0;
      end else begin
        unique case (route_q[i])
          FromMover: if (mover_leaves && !mover_open_q) route_q[i] <= Closed;
          FromPort: if (link_leaves && !link_open_q && !link_valid) route_q[i] <= Closed;
          default: begin
            if (!source_i[i].from_port) begin
              route_q[i] <= FromMover;
            end else if (opens) begin
              route_q[i] <= FromPort;
              route_pair_q[i] <= source_i[i].pair;
            end
          end
        endcase
      end
    end

    assign mover_in_ready_o[i] = mover_passes && in_ready_i[i];
    assign in_valid_o[i] = (route_q[i] == FromMover) ? mover_passes && mover_in_valid_i[i] : link_valid;
    assign in_o[i] = (route_q[i] == FromMover) ? mover_in_i[i] : link_beat;
    assign in_id_o[i] = (route_q[i] == FromMover) ? '0 : id_of(link_tagged);

    assign state_o[i] = '{
        source: '{from_port: route_q[i] == FromPort, pair: route_pair_q[i]},
        pending: mover_leaves || link_leaves || route_q[i] == Closed,
        broken: broken_q,
        valid: in_valid_o[i],
        ready: in_ready_i[i]
    };

    `TMB_ASSERT(LinkIsEmpty, route_q[i] != FromPort |-> !link_valid && !link_open_q)
    `TMB_ASSERT(SourceExists, !source_i[i].from_port || 32'(source_i[i].pair) < NumPairs)
  end

endmodule
