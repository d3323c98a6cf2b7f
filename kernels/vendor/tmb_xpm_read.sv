// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// The registers behind a read of a model of XPM's memories.
//
// Latency  how many; 0: data_o is data_i. The first takes when take_i is high, the last, of several, when enable_last_i is.

module tmb_xpm_read #(
  parameter int unsigned Width   = 32,
  parameter int unsigned Latency = 1
) (
  input  logic             clk_i,
  input  logic             take_i,
  input  logic [Width-1:0] data_i,
  input  logic             clear_i,
  input  logic             enable_last_i,
  output logic [Width-1:0] data_o
);

  if (Latency == 0) begin : gen_at_once
    // verilator lint_off UNUSEDSIGNAL
    logic unused;
    assign unused = ^{clk_i, take_i, clear_i, enable_last_i};
    // verilator lint_on UNUSEDSIGNAL
    assign data_o = data_i;
  end else begin : gen_registers
    logic [Latency-1:0][Width-1:0] stages_q;
    always_ff @(posedge clk_i) begin
      if (take_i) stages_q[0] <= data_i;
      for (int unsigned i = 1; i < Latency; i++) begin
        if (i + 1 < Latency || enable_last_i) stages_q[i] <= stages_q[i-1];
      end
      if (clear_i) stages_q[Latency-1] <= '0;
    end
    if (Latency == 1) begin : gen_one
      // verilator lint_off UNUSEDSIGNAL
      logic unused;
      assign unused = enable_last_i;
      // verilator lint_on UNUSEDSIGNAL
    end
    assign data_o = stages_q[Latency-1];
  end

endmodule
