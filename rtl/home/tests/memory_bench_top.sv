// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// tmb_home_memory twice with flat pins for memory_bench.cpp: a slice with a channel to itself (0), and one of more
// slices than channels (1). A row has its lowest 64 bits here.

module memory_bench_top
  import tmb_pkg::*;
  import tmb_directory_pkg::*;
#(
  localparam int unsigned Num = 2
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [24:0] base_i,
  input  logic [24:0] frames_i,

  // The guard.
  input  logic        ar_valid_i [Num],
  output logic        ar_ready_o [Num],
  input  logic [15:0] ar_id_i [Num],
  input  logic [63:0] ar_addr_i [Num],
  output logic        r_valid_o [Num],
  input  logic        r_ready_i [Num],
  output logic [15:0] r_id_o [Num],
  output logic [63:0] r_data_o [Num],
  output logic [1:0]  r_resp_o [Num],
  output logic        r_last_o [Num],
  input  logic        aw_valid_i [Num],
  output logic        aw_ready_o [Num],
  input  logic [15:0] aw_id_i [Num],
  input  logic [63:0] aw_addr_i [Num],
  input  logic        w_valid_i [Num],
  output logic        w_ready_o [Num],
  input  logic [63:0] w_data_i [Num],
  input  logic [63:0] w_strb_i [Num],
  input  logic        w_last_i [Num],
  output logic        b_valid_o [Num],
  input  logic        b_ready_i [Num],
  output logic [15:0] b_id_o [Num],
  output logic [1:0]  b_resp_o [Num],

  // The fabric.
  output logic        read_valid_o [Num],
  input  logic        read_ready_i [Num],
  output logic [36:0] read_addr_o [Num],
  output logic [5:0]  read_len_o [Num],
  output logic [15:0] read_tag_o [Num],
  input  logic        row_valid_i [Num],
  output logic        row_ready_o [Num],
  input  logic [15:0] row_tag_i [Num],
  input  logic        row_last_i [Num],
  input  logic        row_error_i [Num],
  input  logic [63:0] row_data_i [Num],
  output logic        write_valid_o [Num],
  input  logic        write_ready_i [Num],
  output logic [36:0] write_addr_o [Num],
  output logic [5:0]  write_len_o [Num],
  output logic [15:0] write_tag_o [Num],
  output logic        data_valid_o [Num],
  input  logic        data_ready_i [Num],
  output logic [63:0] data_row_o [Num],
  output logic [63:0] data_strobe_o [Num],
  output logic        data_last_o [Num],
  input  logic        done_valid_i [Num],
  output logic        done_ready_o [Num],
  input  logic [15:0] done_tag_i [Num],
  input  logic        done_error_i [Num]
);

  for (genvar s = 0; s < Num; s++) begin : gen_slice
    axi_req_t req;
    axi_rsp_t rsp;
    mem_req_t read, write;
    mem_write_data_t data;

    always_comb begin
      req = '0;
      req.ar_valid = ar_valid_i[s];
      req.ar.id = ar_id_i[s];
      req.ar.addr = ar_addr_i[s];
      req.r_ready = r_ready_i[s];
      req.aw_valid = aw_valid_i[s];
      req.aw.id = aw_id_i[s];
      req.aw.addr = aw_addr_i[s];
      req.w_valid = w_valid_i[s];
      req.w = '{data: 512'(w_data_i[s]), strb: w_strb_i[s], last: w_last_i[s]};
      req.b_ready = b_ready_i[s];
    end
    assign ar_ready_o[s] = rsp.ar_ready;
    assign r_valid_o[s] = rsp.r_valid;
    assign r_id_o[s] = rsp.r.id;
    assign r_data_o[s] = rsp.r.data[63:0];
    assign r_resp_o[s] = rsp.r.resp;
    assign r_last_o[s] = rsp.r.last;
    assign aw_ready_o[s] = rsp.aw_ready;
    assign w_ready_o[s] = rsp.w_ready;
    assign b_valid_o[s] = rsp.b_valid;
    assign b_id_o[s] = rsp.b.id;
    assign b_resp_o[s] = rsp.b.resp;
    assign read_addr_o[s] = read.addr;
    assign read_len_o[s] = read.len;
    assign read_tag_o[s] = read.tag;
    assign write_addr_o[s] = write.addr;
    assign write_len_o[s] = write.len;
    assign write_tag_o[s] = write.tag;
    assign data_row_o[s] = data.row[63:0];
    assign data_strobe_o[s] = data.strobe;
    assign data_last_o[s] = data.last;

    tmb_home_memory #(
      .Slice(1),
      .Cfg('{NumSlices: s == 0 ? 2 : 4, NumChannels: 2, ChannelBytesLog2: 24, NumReads: 8})
    ) u_memory (
      .clk_i,
      .rst_ni,
      .base_i,
      .frames_i,
      .home_req_i(req),
      .home_rsp_o(rsp),
      .read_req_valid_o(read_valid_o[s]),
      .read_req_ready_i(read_ready_i[s]),
      .read_req_o(read),
      .read_rsp_valid_i(row_valid_i[s]),
      .read_rsp_ready_o(row_ready_o[s]),
      .read_rsp_i('{tag: row_tag_i[s], index: '0, last: row_last_i[s], error: row_error_i[s],
                    row: 512'(row_data_i[s])}),
      .write_req_valid_o(write_valid_o[s]),
      .write_req_ready_i(write_ready_i[s]),
      .write_req_o(write),
      .write_data_valid_o(data_valid_o[s]),
      .write_data_ready_i(data_ready_i[s]),
      .write_data_o(data),
      .write_rsp_valid_i(done_valid_i[s]),
      .write_rsp_ready_o(done_ready_o[s]),
      .write_rsp_i('{tag: done_tag_i[s], error: done_error_i[s]})
    );
  end

endmodule
