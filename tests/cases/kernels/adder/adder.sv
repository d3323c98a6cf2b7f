// Adds one to each word of 32 bits. Neither port has TLAST or TKEEP, as those of an hls::stream<ap_uint<32>>.
module adder (
  input  logic ap_clk, ap_rst_n,
  input  logic [31:0] in_tdata, input logic in_tvalid, output logic in_tready,
  output logic [31:0] out_tdata, output logic out_tvalid, input logic out_tready
);
  assign in_tready = !out_tvalid || out_tready;
  always_ff @(posedge ap_clk)
    if (!ap_rst_n) out_tvalid <= 0;
    else if (in_tready) begin
      out_tvalid <= in_tvalid;
      out_tdata <= in_tdata + 1;
    end
endmodule
