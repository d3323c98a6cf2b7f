// Rows of 64 bytes through one register. No port has TKEEP or TLAST: a row is 64 bytes of data, always.
module wide (
  input  logic ap_clk, ap_rst_n,
  input  logic [511:0] in_tdata, input logic in_tvalid, output logic in_tready,
  output logic [511:0] out_tdata, output logic out_tvalid, input logic out_tready
);
  assign in_tready = !out_tvalid || out_tready;
  always_ff @(posedge ap_clk)
    if (!ap_rst_n) out_tvalid <= 0;
    else if (in_tready) begin
      out_tvalid <= in_tvalid;
      out_tdata <= in_tdata;
    end
endmodule
