// AXI4-Lite registers of a kernel: WORDS words of DATA bits, of which the first CONTROL bytes (16 or 0) are ap_ctrl and
// interrupt registers. One access at a time.
module lite_bank #(
  parameter WORDS = 16,
  parameter DATA = 32,
  parameter ADDR = 7,
  parameter CONTROL = 1
) (
  input  wire                  clk,
  input  wire                  rst_n,
  input  wire                  awvalid, output wire awready, input wire [ADDR-1:0] awaddr,
  input  wire                  wvalid,  output wire wready,  input wire [DATA-1:0] wdata,
  input  wire [DATA/8-1:0]     wstrb,
  output reg                   bvalid,  input  wire bready,  output wire [1:0] bresp,
  input  wire                  arvalid, output wire arready, input wire [ADDR-1:0] araddr,
  output reg                   rvalid,  input  wire rready,  output reg [DATA-1:0] rdata,
  output wire [1:0]            rresp,
  output reg                   start,
  input  wire                  done,
  output reg [WORDS*DATA-1:0]  words
);
  localparam LOW = (DATA == 64) ? 3 : 2;
  localparam INDEX = ADDR - LOW;
  reg idle, is_done;
  wire [INDEX-1:0] write_index = awaddr[ADDR-1:LOW];
  wire [INDEX-1:0] read_index = araddr[ADDR-1:LOW];
  wire write = awvalid && wvalid && !bvalid;
  integer i;

  assign awready = write;
  assign wready = write;
  assign bresp = 2'b00;
  assign rresp = 2'b00;
  assign arready = !rvalid;

  always @(posedge clk)
    if (!rst_n) begin
      bvalid <= 0; rvalid <= 0; start <= 0; is_done <= 0; idle <= 1; words <= 0;
    end else begin
      if (bvalid && bready) bvalid <= 0;
      if (rvalid && rready) rvalid <= 0;
      if (done) begin start <= 0; is_done <= 1; idle <= 1; end
      if (write) begin
        bvalid <= 1;
        if (CONTROL != 0 && write_index == 0) begin
          if (wstrb[0] && wdata[0]) begin start <= 1; idle <= 0; end
        end else
          for (i = 0; i < DATA / 8; i = i + 1)
            if (wstrb[i]) words[write_index*DATA+8*i+:8] <= wdata[8*i+:8];
      end
      if (arvalid && arready) begin
        rvalid <= 1;
        if (CONTROL != 0 && read_index == 0) begin
          rdata <= {{DATA-4{1'b0}}, is_done, idle, is_done, start};
          is_done <= 0;
        end else rdata <= words[read_index*DATA+:DATA];
      end
    end
endmodule
