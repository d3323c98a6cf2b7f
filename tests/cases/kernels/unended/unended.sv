// Sends a packet of eight bytes, then three bytes a beat of which the last has no TLAST: ten words without end.
module unended (
  input  logic ap_clk, ap_rst_n,
  output logic [31:0] out_tdata, output logic [3:0] out_tkeep, output logic out_tlast, out_tvalid, input logic out_tready
);
  logic [31:0] n;
  assign out_tvalid = ap_rst_n && n < 12, out_tdata = n, out_tlast = n == 1, out_tkeep = n < 2 ? 4'hf : 4'h7;
  always_ff @(posedge ap_clk)
    if (!ap_rst_n) n <= 0;
    else if (out_tvalid && out_tready) n <= n + 1;
endmodule
