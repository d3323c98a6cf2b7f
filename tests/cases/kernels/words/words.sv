// Sends three words of 32 bits, without TLAST, and then nothing: 12 bytes.
module words (
  input  logic ap_clk, ap_rst_n,
  output logic [31:0] out_tdata, output logic out_tvalid, input logic out_tready
);
  logic [31:0] n;
  assign out_tvalid = ap_rst_n && n < 3, out_tdata = n + 1;
  always_ff @(posedge ap_clk)
    if (!ap_rst_n) n <= 0;
    else if (out_tvalid && out_tready) n <= n + 1;
endmodule
