// Adds a register to a stream; nothing starts it.
module stream_register (
  input  wire        ap_clk,
  input  wire        ap_rst_n,
  input  wire s_axi_control_awvalid,
  output wire s_axi_control_awready,
  input  wire [6:0] s_axi_control_awaddr,
  input  wire s_axi_control_wvalid,
  output wire s_axi_control_wready,
  input  wire [31:0] s_axi_control_wdata,
  input  wire [3:0] s_axi_control_wstrb,
  output wire s_axi_control_bvalid,
  input  wire s_axi_control_bready,
  output wire [1:0] s_axi_control_bresp,
  input  wire s_axi_control_arvalid,
  output wire s_axi_control_arready,
  input  wire [6:0] s_axi_control_araddr,
  output wire s_axi_control_rvalid,
  input  wire s_axi_control_rready,
  output wire [31:0] s_axi_control_rdata,
  output wire [1:0] s_axi_control_rresp,
  input  wire [31:0] numbers_tdata,
  input  wire [3:0]  numbers_tkeep,
  input  wire        numbers_tlast,
  input  wire        numbers_tvalid,
  output wire        numbers_tready,
  output wire [31:0] sums_tdata,
  output wire [3:0]  sums_tkeep,
  output wire        sums_tlast,
  output wire        sums_tvalid,
  input  wire        sums_tready
);
  wire [511:0] words;
  wire [31:0] addend = words[4*32+:32];
  lite_bank #(.CONTROL(0)) u_bank (
    .clk(ap_clk), .rst_n(ap_rst_n), .start(), .done(1'b0), .words(words),
    .awvalid(s_axi_control_awvalid), .awready(s_axi_control_awready), .awaddr(s_axi_control_awaddr),
    .wvalid(s_axi_control_wvalid), .wready(s_axi_control_wready), .wdata(s_axi_control_wdata),
    .wstrb(s_axi_control_wstrb), .bvalid(s_axi_control_bvalid), .bready(s_axi_control_bready),
    .bresp(s_axi_control_bresp), .arvalid(s_axi_control_arvalid), .arready(s_axi_control_arready),
    .araddr(s_axi_control_araddr), .rvalid(s_axi_control_rvalid), .rready(s_axi_control_rready),
    .rdata(s_axi_control_rdata), .rresp(s_axi_control_rresp)
  );
  assign sums_tdata = numbers_tdata + addend;
  assign sums_tkeep = numbers_tkeep;
  assign sums_tlast = numbers_tlast;
  assign sums_tvalid = numbers_tvalid;
  assign numbers_tready = sums_tready;
endmodule
