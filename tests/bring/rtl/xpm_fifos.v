// Words pass a queue of AMD's that falls through and one that does not, as the kernels of its wizard have them.
module xpm_fifos (
  input  wire        ap_clk,
  input  wire        ap_rst_n,
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
  wire clk;
  BUFG u_clock (.I(ap_clk), .O(clk));
  wire [36:0] first, second;
  wire first_prog_full, first_empty, first_busy, second_full, second_empty, second_busy, second_valid;
  wire [4:0] first_count, second_count;
  wire move = !first_empty && !second_full && !second_busy;

  assign in_tready = !first_prog_full && !first_busy;
  xpm_fifo_sync #(
    .FIFO_MEMORY_TYPE("auto"), .ECC_MODE("no_ecc"), .FIFO_WRITE_DEPTH(16), .WRITE_DATA_WIDTH(37),
    .READ_DATA_WIDTH(37), .WR_DATA_COUNT_WIDTH(5), .RD_DATA_COUNT_WIDTH(5), .PROG_FULL_THRESH(10),
    .PROG_EMPTY_THRESH(5), .FULL_RESET_VALUE(1), .READ_MODE("fwft"), .FIFO_READ_LATENCY(1),
    .DOUT_RESET_VALUE("0"), .USE_ADV_FEATURES("1F1F"), .WAKEUP_TIME(0)
  ) u_first (
    .sleep(1'b0), .rst(!ap_rst_n), .wr_clk(clk), .wr_en(in_tvalid && in_tready),
    .din({in_tlast, in_tkeep, in_tdata}), .full(), .overflow(), .prog_full(first_prog_full),
    .wr_data_count(first_count), .almost_full(), .wr_ack(), .wr_rst_busy(first_busy), .rd_en(move),
    .dout(first), .empty(first_empty), .prog_empty(), .rd_data_count(), .almost_empty(), .data_valid(),
    .underflow(), .rd_rst_busy(), .injectsbiterr(1'b0), .injectdbiterr(1'b0), .sbiterr(), .dbiterr()
  );

  reg asked, there;
  reg [36:0] word;
  wire ask = !second_empty && !asked && !there;
  xpm_fifo_sync #(
    .FIFO_WRITE_DEPTH(16), .WRITE_DATA_WIDTH(37), .READ_DATA_WIDTH(37), .READ_MODE("std"),
    .FIFO_READ_LATENCY(2), .WR_DATA_COUNT_WIDTH(5), .RD_DATA_COUNT_WIDTH(5), .USE_ADV_FEATURES("1707")
  ) u_second (
    .sleep(1'b0), .rst(!ap_rst_n), .wr_clk(clk), .wr_en(move), .din(first), .full(second_full), .overflow(),
    .prog_full(), .wr_data_count(), .almost_full(), .wr_ack(), .wr_rst_busy(second_busy), .rd_en(ask),
    .dout(second), .empty(second_empty), .prog_empty(), .rd_data_count(second_count), .almost_empty(),
    .data_valid(second_valid), .underflow(), .rd_rst_busy(), .injectsbiterr(1'b0), .injectdbiterr(1'b0),
    .sbiterr(), .dbiterr()
  );

  always @(posedge clk)
    if (!ap_rst_n) begin
      asked <= 0; there <= 0;
    end else begin
      if (ask) asked <= 1;
      if (second_valid) begin
        asked <= 0; there <= 1; word <= second;
      end
      if (there && out_tready) there <= 0;
    end
  // Nothing is lost and nothing is counted that is not there.
  wire [31:0] wrong = (first_count > 5'd18 || second_count > 5'd16) ? 32'd1 : 32'd0;
  assign {out_tlast, out_tkeep, out_tdata} = {word[36:32], word[31:0] ^ wrong};
  assign out_tvalid = there;
endmodule
