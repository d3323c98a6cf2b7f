// Ports are called as their authors like.
module prefixes (
  input  wire ap_clk,
  input  wire ap_rst_n,
  input  wire S_AXIL_AWVALID,
  output wire S_AXIL_AWREADY,
  input  wire [6:0] S_AXIL_AWADDR,
  input  wire S_AXIL_WVALID,
  output wire S_AXIL_WREADY,
  input  wire [31:0] S_AXIL_WDATA,
  input  wire [3:0] S_AXIL_WSTRB,
  output wire S_AXIL_BVALID,
  input  wire S_AXIL_BREADY,
  output wire [1:0] S_AXIL_BRESP,
  input  wire S_AXIL_ARVALID,
  output wire S_AXIL_ARREADY,
  input  wire [6:0] S_AXIL_ARADDR,
  output wire S_AXIL_RVALID,
  input  wire S_AXIL_RREADY,
  output wire [31:0] S_AXIL_RDATA,
  output wire [1:0] S_AXIL_RRESP,
  output wire M00_AXI_ARVALID,
  input  wire M00_AXI_ARREADY,
  output wire [63:0] M00_AXI_ARADDR,
  output wire [7:0] M00_AXI_ARLEN,
  output wire [2:0] M00_AXI_ARSIZE,
  output wire [1:0] M00_AXI_ARBURST,
  input  wire M00_AXI_RVALID,
  output wire M00_AXI_RREADY,
  input  wire [31:0] M00_AXI_RDATA,
  input  wire M00_AXI_RLAST,
  output wire M00_AXI_AWVALID,
  input  wire M00_AXI_AWREADY,
  output wire [63:0] M00_AXI_AWADDR,
  output wire [7:0] M00_AXI_AWLEN,
  output wire [2:0] M00_AXI_AWSIZE,
  output wire [1:0] M00_AXI_AWBURST,
  output wire M00_AXI_WVALID,
  input  wire M00_AXI_WREADY,
  output wire [31:0] M00_AXI_WDATA,
  output wire [3:0] M00_AXI_WSTRB,
  output wire M00_AXI_WLAST,
  input  wire M00_AXI_BVALID,
  output wire M00_AXI_BREADY
);
  wire start, done;
  wire [511:0] words;
  lite_bank #(.WORDS(16), .DATA(32), .ADDR(7)) u_bank (
    .clk(ap_clk), .rst_n(ap_rst_n), .start(start), .done(done), .words(words),
    .awvalid(S_AXIL_AWVALID), .awready(S_AXIL_AWREADY), .awaddr(S_AXIL_AWADDR), .wvalid(S_AXIL_WVALID),
    .wready(S_AXIL_WREADY), .wdata(S_AXIL_WDATA), .wstrb(S_AXIL_WSTRB), .bvalid(S_AXIL_BVALID),
    .bready(S_AXIL_BREADY), .bresp(S_AXIL_BRESP), .arvalid(S_AXIL_ARVALID), .arready(S_AXIL_ARREADY),
    .araddr(S_AXIL_ARADDR), .rvalid(S_AXIL_RVALID), .rready(S_AXIL_RREADY), .rdata(S_AXIL_RDATA),
    .rresp(S_AXIL_RRESP)
  );
  copy_engine #(.DATA(32), .ADDR(64), .BURST(1)) u_engine (
    .clk(ap_clk), .rst_n(ap_rst_n), .start(start), .src(words[4*32+:64]), .dst(words[6*32+:64]), .n(words[8*32+:32]), .done(done),
    .arvalid(M00_AXI_ARVALID), .arready(M00_AXI_ARREADY), .araddr(M00_AXI_ARADDR), .arlen(M00_AXI_ARLEN),
    .arsize(M00_AXI_ARSIZE), .arburst(M00_AXI_ARBURST), .rvalid(M00_AXI_RVALID), .rready(M00_AXI_RREADY),
    .rdata(M00_AXI_RDATA), .rlast(M00_AXI_RLAST), .awvalid(M00_AXI_AWVALID), .awready(M00_AXI_AWREADY),
    .awaddr(M00_AXI_AWADDR), .awlen(M00_AXI_AWLEN), .awsize(M00_AXI_AWSIZE), .awburst(M00_AXI_AWBURST),
    .wvalid(M00_AXI_WVALID), .wready(M00_AXI_WREADY), .wdata(M00_AXI_WDATA), .wstrb(M00_AXI_WSTRB),
    .wlast(M00_AXI_WLAST), .bvalid(M00_AXI_BVALID), .bready(M00_AXI_BREADY)
  );
endmodule
