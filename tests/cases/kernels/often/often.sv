// Eight bytes a beat through one register; TLAST on every eighth beat, and where its input has it.
module often (
  input  logic ap_clk, ap_rst_n,
  input  logic [63:0] in_tdata, input logic [7:0] in_tkeep, input logic in_tlast, in_tvalid, output logic in_tready,
  output logic [63:0] out_tdata, output logic [7:0] out_tkeep, output logic out_tlast, out_tvalid, input logic out_tready
);
  logic [2:0] beats;
  assign in_tready = !out_tvalid || out_tready;
  always_ff @(posedge ap_clk)
    if (!ap_rst_n) begin out_tvalid <= 0; beats <= 0; end
    else if (in_tready) begin
      out_tvalid <= in_tvalid;
      out_tdata <= in_tdata;
      out_tkeep <= in_tkeep;
      out_tlast <= in_tlast || &beats;
      if (in_tvalid) beats <= beats + 1;
    end
endmodule
