// Copies n beats of DATA bits, BURST beats at a time, through one AXI4 port. Addresses are multiples of a burst's bytes.
module copy_engine #(
  parameter DATA = 32,
  parameter ADDR = 64,
  parameter BURST = 1
) (
  input  wire              clk,
  input  wire              rst_n,
  input  wire              start,
  input  wire [63:0]       src,
  input  wire [63:0]       dst,
  input  wire [31:0]       n,
  output wire              done,
  output wire              arvalid, input wire arready, output wire [ADDR-1:0] araddr,
  output wire [7:0]        arlen,   output wire [2:0] arsize, output wire [1:0] arburst,
  input  wire              rvalid,  output wire rready, input wire [DATA-1:0] rdata,
  input  wire              rlast,
  output wire              awvalid, input wire awready, output wire [ADDR-1:0] awaddr,
  output wire [7:0]        awlen,   output wire [2:0] awsize, output wire [1:0] awburst,
  output wire              wvalid,  input wire wready,  output wire [DATA-1:0] wdata,
  output wire [DATA/8-1:0] wstrb,   output wire wlast,
  input  wire              bvalid,  output wire bready
);
  localparam IDLE = 0, AR = 1, R = 2, AW = 3, W = 4, B = 5, DONE = 6;
  localparam SIZE = (DATA == 1024) ? 7 : (DATA == 512) ? 6 : (DATA == 64) ? 3 : 2;
  reg [2:0] state;
  reg [31:0] at;
  reg [7:0] beat;
  reg [DATA-1:0] buffer [0:BURST-1];
  wire [31:0] left = n - at;
  wire [7:0] count = (left > BURST) ? BURST : left[7:0];
  wire [63:0] offset = {32'd0, at} * (DATA / 8);
  wire [63:0] from = src + offset;
  wire [63:0] to = dst + offset;

  assign done = state == DONE;
  assign arvalid = state == AR;
  assign araddr = from[ADDR-1:0];
  assign arlen = count - 8'd1;
  assign arsize = SIZE;
  assign arburst = 2'b01;
  assign rready = state == R;
  assign awvalid = state == AW;
  assign awaddr = to[ADDR-1:0];
  assign awlen = count - 8'd1;
  assign awsize = SIZE;
  assign awburst = 2'b01;
  assign wvalid = state == W;
  assign wdata = buffer[beat];
  assign wstrb = {DATA / 8{1'b1}};
  assign wlast = beat == count - 8'd1;
  assign bready = state == B;

  always @(posedge clk)
    if (!rst_n) begin
      state <= IDLE; at <= 0; beat <= 0;
    end else
      case (state)
        IDLE: if (start) begin at <= 0; beat <= 0; state <= (n == 0) ? DONE : AR; end
        AR: if (arready) state <= R;
        R: if (rvalid) begin
          buffer[beat] <= rdata;
          beat <= rlast ? 8'd0 : beat + 8'd1;
          if (rlast) state <= AW;
        end
        AW: if (awready) state <= W;
        W: if (wready) begin
          beat <= wlast ? 8'd0 : beat + 8'd1;
          if (wlast) state <= B;
        end
        B: if (bvalid) begin
          at <= at + {24'd0, count};
          state <= (left == {24'd0, count}) ? DONE : AR;
        end
        default: state <= IDLE;
      endcase
endmodule
