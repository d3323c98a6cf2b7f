// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Registers of the directory, over AXI4-Lite. 32-bit words:
//
//   0x00 R   geometry: [7:0] slices, [15:8] units a slice, [23:16] log2 sets, [31:24] ways
//   0x04 RW  timeout period in cycles, 0 = off (reset: 1 ms at 322 MHz)
//   0x08 R   [0] something is under way, [1] an error is held
//   0x0C R   first error: [31:24] slice, [17:16] cause, [15:0] info; W: forget it
//   0x10 R   errors
//   0x14 R   requests of the CPU      0x18 R  operations of the application
//   0x1C R   forwards to the CPU      0x20 R  reads of memory      0x24 R  writes to memory
//
// Counters wrap and stand still while nothing happens. Other addresses read 0 and ignore writes.
//
// Throughput: one access in three cycles. Latency: one cycle. Ordering: reads and writes on their own.
// Back-pressure: one access of each kind at a time. No deadlock: needs nothing but the manager's
// readiness to take the response.

module tmb_directory_registers
  import tmb_directory_pkg::*;
#(
  parameter int unsigned NumSlices = 2,
  parameter int unsigned Units = 32,
  parameter int unsigned Sets = 128,
  parameter int unsigned Ways = 16
) (
  input  logic          clk_i,
  input  logic          rst_ni,

  input  logic          awvalid_i,
  output logic          awready_o,
  input  logic [7:0]    awaddr_i,
  input  logic          wvalid_i,
  output logic          wready_o,
  input  logic [31:0]   wdata_i,
  output logic          bvalid_o,
  input  logic          bready_i,
  input  logic          arvalid_i,
  output logic          arready_o,
  input  logic [7:0]    araddr_i,
  output logic          rvalid_o,
  input  logic          rready_i,
  output logic [31:0]   rdata_o,

  output logic [31:0]   timeout_period_o,
  input  logic          busy_i [NumSlices],
  input  slice_events_t events_i [NumSlices],
  input  logic          error_valid_i [NumSlices],
  input  error_t        error_i [NumSlices],
  output logic          interrupt_o      // an error is held
);

  localparam logic [31:0] ResetPeriod = 32'd322_000;

  // Sums over the slices.
  localparam int unsigned SumWidth = $clog2(NumSlices + 1);
  typedef logic [SumWidth-1:0] sum_t;
  typedef enum logic [2:0] {
    CountErrors = 3'd0,
    CountRequests = 3'd1,
    CountOperations = 3'd2,
    CountForwards = 3'd3,
    CountReads = 3'd4,
    CountWrites = 3'd5
  } count_e;
  localparam int unsigned NumCounts = 6;

  sum_t sums_d [NumCounts], sums_q [NumCounts];
  logic [31:0] counts_q [NumCounts];
  logic busy, error_valid;
  logic [25:0] error_info;
  always_comb begin
    for (int unsigned c = 0; c < NumCounts; c++) sums_d[c] = '0;
    busy = 1'b0;
    error_valid = 1'b0;
    error_info = '0;
    for (int unsigned s = 0; s < NumSlices; s++) begin
      sums_d[CountErrors] += sum_t'(error_valid_i[s]);
      sums_d[CountRequests] += sum_t'(events_i[s].request);
      sums_d[CountOperations] += sum_t'(events_i[s].operation);
      sums_d[CountForwards] += sum_t'(events_i[s].forward);
      sums_d[CountReads] += sum_t'(events_i[s].read);
      sums_d[CountWrites] += sum_t'(events_i[s].write);
      busy |= busy_i[s];
      if (error_valid_i[s]) begin
        error_valid = 1'b1;
        error_info = {8'(s), error_i[s].cause, error_i[s].info};
      end
    end
  end

  for (genvar c = 0; c < NumCounts; c++) begin : gen_count
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        sums_q[c] <= '0;
        counts_q[c] <= '0;
      end else begin
        sums_q[c] <= sums_d[c];
        if (sums_q[c] != '0) counts_q[c] <= counts_q[c] + 32'(sums_q[c]);
      end
    end
  end

  // Write: address and data together.
  logic write, response_q;
  logic [5:0] write_word;
  assign write = awvalid_i && wvalid_i && !response_q;
  assign write_word = awaddr_i[7:2];
  assign awready_o = write;
  assign wready_o = write;
  assign bvalid_o = response_q;

  logic [31:0] period_q;
  logic error_held_q;
  logic [25:0] first_error_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      response_q <= 1'b0;
      period_q <= ResetPeriod;
      error_held_q <= 1'b0;
      first_error_q <= '0;
    end else begin
      if (write) response_q <= 1'b1;
      else if (bready_i) response_q <= 1'b0;
      if (write && write_word == 6'd1) period_q <= wdata_i;
      if (error_valid && !error_held_q) begin
        error_held_q <= 1'b1;
        first_error_q <= error_info;
      end else if (write && write_word == 6'd3) begin
        error_held_q <= 1'b0;
      end
    end
  end
  assign timeout_period_o = period_q;
  assign interrupt_o = error_held_q;

  // Read.
  logic read, data_valid_q;
  logic [5:0] read_word;
  logic [31:0] data_q;
  assign read = arvalid_i && !data_valid_q;
  assign read_word = araddr_i[7:2];
  assign arready_o = read;
  assign rvalid_o = data_valid_q;
  assign rdata_o = data_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) data_valid_q <= 1'b0;
    else if (read) data_valid_q <= 1'b1;
    else if (rready_i) data_valid_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (read) begin
      case (read_word)
        6'd0: data_q <= {8'(Ways), 8'($clog2(Sets)), 8'(Units), 8'(NumSlices)};
        6'd1: data_q <= period_q;
        6'd2: data_q <= 32'({error_held_q, busy});
        6'd3: data_q <= {first_error_q[25:18], 6'd0, first_error_q[17:0]};
        6'd4: data_q <= counts_q[CountErrors];
        6'd5: data_q <= counts_q[CountRequests];
        6'd6: data_q <= counts_q[CountOperations];
        6'd7: data_q <= counts_q[CountForwards];
        6'd8: data_q <= counts_q[CountReads];
        6'd9: data_q <= counts_q[CountWrites];
        default: data_q <= '0;
      endcase
    end
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, awaddr_i[1:0], araddr_i[1:0]};

endmodule
