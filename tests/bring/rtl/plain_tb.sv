// A test bench, which needs what only a vendor's simulator has.
`timescale 1ns / 1ps
module plain_tb;
  import axi_vip_pkg::*;
  logic clock = 0;
  always #5 clock = ~clock;
  plain dut (.ap_clk(clock));
endmodule
