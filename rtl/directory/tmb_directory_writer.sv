// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Buffers of payloads that go to memory, and the AXI4 writes that take them there.
//
// Three buffers: write-backs of the CPU, by pool index; requests with data, by request ID; operations
// of the application, by tag. Each row is kept with the mask of its parts.
//
// Throughput: one row a cycle, a line in two. Latency: one cycle from descriptor to address and
// first row. Ordering: that of the descriptors; the address is valid with the first row or before.
// Back-pressure: AXI4 holds address and row; buffers are written without condition (the writer
// owns the place).
// No deadlock: waits for memory's acceptance only.

module tmb_directory_writer
  import tmb_pkg::*;
  import tmb_directory_pkg::*;
(
  input  logic           clk_i,
  input  logic           rst_ni,

  input  logic           response_valid_i,
  input  payload_index_t response_index_i,
  input  dmask_t         response_dmask_i,
  input  row_t           response_row_i,
  input  logic           response_last_i,

  input  logic           request_valid_i,
  input  request_id_t    request_index_i,
  input  dmask_t         request_dmask_i,
  input  row_t           request_row_i,
  input  logic           request_last_i,

  input  logic           operation_valid_i,
  input  operation_tag_t operation_index_i,
  input  dmask_t         operation_dmask_i,
  input  row_t           operation_row_i,
  input  logic           operation_last_i,

  input  logic           write_valid_i,
  output logic           write_done_o,   // the descriptor is taken, with its last row
  input  memory_write_t  write_i,

  output logic           aw_valid_o,
  input  logic           aw_ready_i,
  output axi_ax_t        aw_o,
  output logic           w_valid_o,
  input  logic           w_ready_i,
  output axi_w_t         w_o
);

  localparam int unsigned MaskWidth = NumParts / LineRows;
  typedef struct packed {
    logic [MaskWidth-1:0] mask;
    row_t                 row;
  } masked_row_t;

  function automatic masked_row_t masked(dmask_t dmask, row_t row, logic last);
    return '{mask: last ? dmask[NumParts-1:MaskWidth] : dmask[MaskWidth-1:0], row: row};
  endfunction

  // The first row of a line is read only when its address can be registered.
  logic second_q, row_valid_q, row_last_q, address_valid_q;
  payload_source_e source_q;
  axi_ax_t address_q;
  logic advance, address_room, read;
  assign advance = !row_valid_q || w_ready_i;
  assign address_room = !address_valid_q || aw_ready_i;
  assign read = write_valid_i && advance && (second_q || address_room);
  assign write_done_o = read && second_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      second_q <= 1'b0;
      row_valid_q <= 1'b0;
      address_valid_q <= 1'b0;
    end else begin
      if (read) second_q <= !second_q;
      if (advance) row_valid_q <= read;
      if (address_room) address_valid_q <= read && !second_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (read) begin
      row_last_q <= second_q;
      source_q <= write_i.source;
    end
    if (read && !second_q) address_q <= address_of(write_i.access);
  end

  masked_row_t response_row, request_row, operation_row, out_row;

  tmb_ram_1r1w #(
    .Width($bits(masked_row_t)),
    .Depth(LineRows * NumPayloads)
  ) u_response_rows (
    .clk_i,
    .write_enable_i(response_valid_i),
    .write_addr_i({response_index_i, response_last_i}),
    .write_strobe_i(1'b1),
    .write_data_i(masked(response_dmask_i, response_row_i, response_last_i)),
    .read_enable_i(read && write_i.source == PayloadResponse),
    .read_addr_i({payload_index_t'(write_i.index), second_q}),
    .read_data_o(response_row)
  );

  tmb_ram_1r1w #(
    .Width($bits(masked_row_t)),
    .Depth(LineRows * NumRequestIds)
  ) u_request_rows (
    .clk_i,
    .write_enable_i(request_valid_i),
    .write_addr_i({request_index_i, request_last_i}),
    .write_strobe_i(1'b1),
    .write_data_i(masked(request_dmask_i, request_row_i, request_last_i)),
    .read_enable_i(read && write_i.source == PayloadRequest),
    .read_addr_i({request_id_t'(write_i.index), second_q}),
    .read_data_o(request_row)
  );

  tmb_ram_1r1w #(
    .Width($bits(masked_row_t)),
    .Depth(LineRows * NumOperationTags)
  ) u_operation_rows (
    .clk_i,
    .write_enable_i(operation_valid_i),
    .write_addr_i({operation_index_i, operation_last_i}),
    .write_strobe_i(1'b1),
    .write_data_i(masked(operation_dmask_i, operation_row_i, operation_last_i)),
    .read_enable_i(read && write_i.source == PayloadOperation),
    .read_addr_i({write_i.index, second_q}),
    .read_data_o(operation_row)
  );

  always_comb begin
    case (source_q)
      PayloadResponse: out_row = response_row;
      PayloadRequest: out_row = request_row;
      default: out_row = operation_row;
    endcase
  end

  assign aw_valid_o = address_valid_q;
  assign aw_o = address_q;
  assign w_valid_o = row_valid_q;
  always_comb begin
    w_o.data = out_row.row;
    w_o.last = row_last_q;
    for (int unsigned i = 0; i < MaskWidth; i++) begin
      w_o.strb[i*PartBytes+:PartBytes] = {PartBytes{out_row.mask[i]}};
    end
  end

endmodule
