`define BEAT $write("<%0d>", count); out_r_tvalid <= 1; out_r_tdata <= in_r_tdata; out_r_tkeep <= in_r_tkeep; out_r_tlast <= in_r_tlast;
// A stream of 8-byte beats through one register. Own work.
module st (input wire ap_clk, input wire ap_rst_n,
  input wire [63:0] in_r_tdata, input wire [7:0] in_r_tkeep, input wire in_r_tlast, input wire in_r_tvalid, output wire in_r_tready,
  output reg [63:0] out_r_tdata, output reg [7:0] out_r_tkeep, output reg out_r_tlast, output reg out_r_tvalid, input wire out_r_tready);
  reg half; reg [63:0] d; reg [7:0] k; reg l; reg [31:0] count;
  wire go = !out_r_tvalid || out_r_tready;
  assign in_r_tready = go && !half;
  always @(posedge ap_clk)
    if (!ap_rst_n) begin out_r_tvalid <= 0; half <= 0; count <= 0; end
    else if (go) begin
      out_r_tvalid <= 0;
      if (half) begin
        out_r_tvalid <= 1; out_r_tdata <= d; out_r_tkeep <= k; out_r_tlast <= l; half <= 0;
      end else if (in_r_tvalid) begin
        count <= count + 1;
        `BEAT
      end
    end
endmodule
