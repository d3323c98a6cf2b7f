// A SystemVerilog file in a Verilog kernel.
module join_bytes (
  input  logic [7:0]  low,
  input  logic [23:0] words,
  output logic [31:0] whole
);
  always_comb whole = {words, low};
endmodule
