// Streams with names of their own.
module stream_prefixes (
  input  wire        ap_clk,
  input  wire        ap_rst_n,
  input  wire [31:0] rx_axis_tdata,
  input  wire [3:0]  rx_axis_tkeep,
  input  wire        rx_axis_tlast,
  input  wire        rx_axis_tvalid,
  output wire        rx_axis_tready,
  output wire [31:0] TX_AXIS_tdata,
  output wire [3:0]  TX_AXIS_tkeep,
  output wire        TX_AXIS_tlast,
  output wire        TX_AXIS_tvalid,
  input  wire        TX_AXIS_tready
);
  wire [31:0] addend = 32'd3;
  assign TX_AXIS_tdata = rx_axis_tdata + addend;
  assign TX_AXIS_tkeep = rx_axis_tkeep;
  assign TX_AXIS_tlast = rx_axis_tlast;
  assign TX_AXIS_tvalid = rx_axis_tvalid;
  assign rx_axis_tready = TX_AXIS_tready;
endmodule
