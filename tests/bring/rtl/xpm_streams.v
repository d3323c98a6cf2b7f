// Words pass queues of AMD's for streams and between clocks, and then, one at a time, a handshake there and a pulse back.
module xpm_streams (
  input  wire        ap_clk,
  input  wire        ap_rst_n,
  input  wire        ap_clk_2,
  input  wire        ap_rst_n_2,
  input  wire [31:0] in_tdata,
  input  wire [3:0]  in_tkeep,
  input  wire        in_tlast,
  input  wire        in_tvalid,
  output wire        in_tready,
  output wire [31:0] out_tdata,
  output wire [3:0]  out_tkeep,
  output wire        out_tlast,
  output wire        out_tvalid,
  input  wire        out_tready
);
  wire [31:0] a_data, b_data, d_data;
  wire [3:0] a_keep, b_keep, d_keep;
  wire a_last, a_valid, a_ready, b_last, b_valid, b_ready, d_last, d_valid, d_ready;
  wire [4:0] a_count;

  // As the kernel of the wizard has it.
  xpm_fifo_axis #(
    .CDC_SYNC_STAGES(2), .CLOCKING_MODE("common_clock"), .ECC_MODE("no_ecc"), .FIFO_DEPTH(32),
    .FIFO_MEMORY_TYPE("auto"), .PACKET_FIFO("false"), .PROG_EMPTY_THRESH(5), .PROG_FULL_THRESH(27),
    .RD_DATA_COUNT_WIDTH(5), .RELATED_CLOCKS(0), .TDATA_WIDTH(32), .TDEST_WIDTH(1), .TID_WIDTH(1),
    .TUSER_WIDTH(1), .USE_ADV_FEATURES("1000"), .WR_DATA_COUNT_WIDTH(5)
  ) u_first (
    .s_aclk(ap_clk), .s_aresetn(ap_rst_n), .s_axis_tvalid(in_tvalid), .s_axis_tready(in_tready),
    .s_axis_tdata(in_tdata), .s_axis_tstrb({4{1'b1}}), .s_axis_tkeep(in_tkeep), .s_axis_tlast(in_tlast),
    .s_axis_tid(1'b0), .s_axis_tdest(1'b0), .s_axis_tuser(1'b0), .almost_full_axis(), .prog_full_axis(),
    .wr_data_count_axis(a_count), .injectdbiterr_axis(1'b0), .injectsbiterr_axis(1'b0), .m_aclk(ap_clk),
    .m_axis_tvalid(a_valid), .m_axis_tready(a_ready), .m_axis_tdata(a_data), .m_axis_tstrb(),
    .m_axis_tkeep(a_keep), .m_axis_tlast(a_last), .m_axis_tid(), .m_axis_tdest(), .m_axis_tuser(),
    .almost_empty_axis(), .prog_empty_axis(), .rd_data_count_axis(), .sbiterr_axis(), .dbiterr_axis()
  );

  // To the other clock, packet by packet.
  xpm_fifo_axis #(
    .CLOCKING_MODE("independent_clock"), .CDC_SYNC_STAGES(3), .FIFO_DEPTH(16), .PACKET_FIFO("true"),
    .TDATA_WIDTH(32)
  ) u_second (
    .s_aclk(ap_clk), .s_aresetn(ap_rst_n), .s_axis_tvalid(a_valid), .s_axis_tready(a_ready),
    .s_axis_tdata(a_data), .s_axis_tstrb(4'hf), .s_axis_tkeep(a_keep), .s_axis_tlast(a_last), .m_aclk(ap_clk_2),
    .m_axis_tvalid(b_valid), .m_axis_tready(b_ready), .m_axis_tdata(b_data), .m_axis_tkeep(b_keep),
    .m_axis_tlast(b_last)
  );

  // And back, with a dout that follows.
  wire full, empty, wr_busy, rd_busy, there;
  wire [36:0] word;
  reg asked, held;
  reg [36:0] held_word;
  wire ask = !empty && !rd_busy && !asked && !held;
  assign b_ready = !full && !wr_busy;
  xpm_fifo_async #(
    .CDC_SYNC_STAGES(2), .FIFO_MEMORY_TYPE("block"), .FIFO_READ_LATENCY(2), .FIFO_WRITE_DEPTH(16),
    .FULL_RESET_VALUE(1), .READ_DATA_WIDTH(37), .READ_MODE("std"), .RELATED_CLOCKS(0),
    .WRITE_DATA_WIDTH(37), .USE_ADV_FEATURES("1707"), .RD_DATA_COUNT_WIDTH(5), .WR_DATA_COUNT_WIDTH(5)
  ) u_third (
    .sleep(1'b0), .rst(!ap_rst_n_2), .wr_clk(ap_clk_2), .wr_en(b_valid && b_ready),
    .din({b_last, b_keep, b_data}), .full(full), .wr_rst_busy(wr_busy), .rd_clk(ap_clk), .rd_en(ask),
    .dout(word), .empty(empty), .rd_rst_busy(rd_busy), .data_valid(there), .injectsbiterr(1'b0),
    .injectdbiterr(1'b0)
  );
  always @(posedge ap_clk)
    if (!ap_rst_n) begin
      asked <= 0; held <= 0;
    end else begin
      if (ask) asked <= 1;
      if (there) begin
        asked <= 0; held <= 1; held_word <= word;
      end
      if (held && d_ready) held <= 0;
    end
  assign {d_last, d_keep, d_data} = held_word;
  assign d_valid = held;

  // One word at a time, there and, as an exclusive or with all ones, back.
  reg send, busy, request_before;
  reg [31:0] sent;
  wire received, request, back;
  wire [31:0] crossed;
  reg done, out_valid_q;
  reg [36:0] out_q;
  xpm_cdc_handshake #(
    .DEST_EXT_HSK(0), .DEST_SYNC_FF(3), .SRC_SYNC_FF(3), .WIDTH(32)
  ) u_there (
    .src_clk(ap_clk), .src_in(~d_data), .src_send(send), .src_rcv(received), .dest_clk(ap_clk_2),
    .dest_out(crossed), .dest_req(request), .dest_ack(1'b0)
  );
  always @(posedge ap_clk_2) begin
    request_before <= request;
    if (request) sent <= ~crossed;
  end
  xpm_cdc_pulse #(.DEST_SYNC_FF(3), .REG_OUTPUT(1), .RST_USED(1)) u_back (
    .src_clk(ap_clk_2), .src_rst(!ap_rst_n_2), .src_pulse(request && !request_before), .dest_clk(ap_clk),
    .dest_rst(!ap_rst_n), .dest_pulse(back)
  );
  assign d_ready = d_valid && done && !send && !received && !out_valid_q;
  always @(posedge ap_clk)
    if (!ap_rst_n) begin
      send <= 0; busy <= 0; done <= 0; out_valid_q <= 0;
    end else begin
      if (d_valid && !busy && !received) begin
        send <= 1; busy <= 1;
      end
      if (received) send <= 0;
      if (back) done <= 1;
      if (d_ready) begin
        out_q <= {d_last, d_keep, sent}; out_valid_q <= 1; done <= 0; busy <= 0;
      end
      if (out_valid_q && out_tready) out_valid_q <= 0;
    end
  // Nothing is counted that is not there.
  wire [31:0] wrong = a_count > 5'd31 ? 32'd1 : 32'd0;
  assign {out_tlast, out_tkeep, out_tdata} = {out_q[36:32], out_q[31:0] ^ wrong};
  assign out_tvalid = out_valid_q;
endmodule
