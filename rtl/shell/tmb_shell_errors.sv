// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Error responses that the shell has seen: which are new (they set the bits of register ERROR), and the first of each
// kind, for the registers ERROR_MASTER, ERROR_READ and ERROR_WRITE. The bits themselves are in the register block.
//
// NumChannels   of card memory
//
// Latency: two cycles to the bits. Ordering: of errors of one cycle the lowest bit of ERROR, and the lowest channel,
// is the first. State changes only with an error. No deadlock: nothing waits.

module tmb_shell_errors import tmb_shell_pkg::*; #(
  parameter int unsigned NumChannels = 1
) (
  input  logic         clk_i,
  input  logic         rst_ni,

  input  bar_error_t    bar_i,
  input  memory_error_t host_read_i,
  input  memory_error_t host_write_i,
  input  memory_error_t memory_read_i [NumChannels],
  input  memory_error_t memory_write_i [NumChannels],

  input  error_bits_t   held_i,   // register ERROR
  output error_bits_t   set_o,    // one cycle each
  output error_firsts_t first_o
);

  typedef logic [7:0] port_t;

  localparam logic [2:0] MasterHostRead = 3'd1;
  localparam logic [2:0] MasterHostWrite = 3'd2;
  localparam logic [2:0] MasterMemoryRead = 3'd3;
  localparam logic [2:0] MasterMemoryWrite = 3'd4;

  // ---------------------------------------------------------------------------------------------
  // What comes, in registers
  // ---------------------------------------------------------------------------------------------

  bar_error_t bar_q;
  memory_error_t host_read_q, host_write_q;
  logic [NumChannels-1:0] read_q, read_decode_q, write_q, write_decode_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      bar_q <= '0;
      host_read_q <= '0;
      host_write_q <= '0;
    end else begin
      bar_q <= bar_i;
      host_read_q <= host_read_i;
      host_write_q <= host_write_i;
    end
  end

  for (genvar c = 0; c < NumChannels; c++) begin : gen_channel
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        {read_q[c], read_decode_q[c]} <= '0;
        {write_q[c], write_decode_q[c]} <= '0;
      end else begin
        {read_q[c], read_decode_q[c]} <= {memory_read_i[c].error, memory_read_i[c].decode};
        {write_q[c], write_decode_q[c]} <= {memory_write_i[c].error, memory_write_i[c].decode};
      end
    end

    // A channel has one ID.
    logic unused_ok;
    assign unused_ok = &{1'b0, memory_read_i[c].id, memory_write_i[c].id};
  end

  assign set_o = '{
      memory_write: |write_q,
      memory_read: |read_q,
      host_write: host_write_q.error,
      host_read: host_read_q.error,
      bar_write: bar_q.write,
      bar_read: bar_q.read
  };

  // ---------------------------------------------------------------------------------------------
  // The first of each kind
  // ---------------------------------------------------------------------------------------------

  error_firsts_t first_q, first_d;
  logic memory_held, memory_comes;
  assign memory_held = held_i.host_read || held_i.host_write || held_i.memory_read || held_i.memory_write;
  assign memory_comes = set_o.host_read || set_o.host_write || set_o.memory_read || set_o.memory_write;

  always_comb begin
    first_d = first_q;
    if (set_o.bar_read && !held_i.bar_read) begin
      first_d.read_address = bar_q.address;
      first_d.read_decode = bar_q.decode;
    end
    if (set_o.bar_write && !held_i.bar_write) begin
      first_d.write_address = bar_q.address;
      first_d.write_decode = bar_q.decode;
    end
    if (memory_comes && !memory_held) begin
      if (host_read_q.error) begin
        first_d.master = MasterHostRead;
        first_d.decode = host_read_q.decode;
        first_d.port = port_t'(host_read_q.id);
      end else if (host_write_q.error) begin
        first_d.master = MasterHostWrite;
        first_d.decode = host_write_q.decode;
        first_d.port = port_t'(host_write_q.id);
      end else begin
        first_d.master = set_o.memory_read ? MasterMemoryRead : MasterMemoryWrite;
        for (int unsigned c = NumChannels; c > 0; c--) begin
          if (set_o.memory_read ? read_q[c-1] : write_q[c-1]) begin
            first_d.decode = set_o.memory_read ? read_decode_q[c-1] : write_decode_q[c-1];
            first_d.port = port_t'(c - 1);
          end
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) first_q <= '0;
    else if (set_o != '0) first_q <= first_d;
  end

  assign first_o = first_q;

endmodule
