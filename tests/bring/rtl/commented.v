// Registers are listed in a comment, as HLS and the wizard do.
//------------------------Address Info-------------------
// 0x00 : Control signals
//        bit 0  - ap_start (Read/Write/COH)
// 0x10 : Data signal of src
//        bit 31~0 - src[31:0] (Read/Write)
// 0x14 : Data signal of src
//        bit 31~0 - src[63:32] (Read/Write)
// 0x18 : Data signal of dst
// 0x1c : Data signal of dst
// 0x20 : Data signal of n
module commented (
  input  wire ap_clk,
  input  wire ap_rst_n,
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
  output wire m_axi_gmem_arvalid,
  input  wire m_axi_gmem_arready,
  output wire [63:0] m_axi_gmem_araddr,
  output wire [7:0] m_axi_gmem_arlen,
  output wire [2:0] m_axi_gmem_arsize,
  output wire [1:0] m_axi_gmem_arburst,
  input  wire m_axi_gmem_rvalid,
  output wire m_axi_gmem_rready,
  input  wire [31:0] m_axi_gmem_rdata,
  input  wire m_axi_gmem_rlast,
  output wire m_axi_gmem_awvalid,
  input  wire m_axi_gmem_awready,
  output wire [63:0] m_axi_gmem_awaddr,
  output wire [7:0] m_axi_gmem_awlen,
  output wire [2:0] m_axi_gmem_awsize,
  output wire [1:0] m_axi_gmem_awburst,
  output wire m_axi_gmem_wvalid,
  input  wire m_axi_gmem_wready,
  output wire [31:0] m_axi_gmem_wdata,
  output wire [3:0] m_axi_gmem_wstrb,
  output wire m_axi_gmem_wlast,
  input  wire m_axi_gmem_bvalid,
  output wire m_axi_gmem_bready
);
  wire start, done;
  wire [511:0] words;
  lite_bank #(.WORDS(16), .DATA(32), .ADDR(7)) u_bank (
    .clk(ap_clk), .rst_n(ap_rst_n), .start(start), .done(done), .words(words),
    .awvalid(s_axi_control_awvalid), .awready(s_axi_control_awready), .awaddr(s_axi_control_awaddr),
    .wvalid(s_axi_control_wvalid), .wready(s_axi_control_wready), .wdata(s_axi_control_wdata),
    .wstrb(s_axi_control_wstrb), .bvalid(s_axi_control_bvalid), .bready(s_axi_control_bready),
    .bresp(s_axi_control_bresp), .arvalid(s_axi_control_arvalid), .arready(s_axi_control_arready),
    .araddr(s_axi_control_araddr), .rvalid(s_axi_control_rvalid), .rready(s_axi_control_rready),
    .rdata(s_axi_control_rdata), .rresp(s_axi_control_rresp)
  );
  copy_engine #(.DATA(32), .ADDR(64), .BURST(1)) u_engine (
    .clk(ap_clk), .rst_n(ap_rst_n), .start(start), .src(words[4*32+:64]), .dst(words[6*32+:64]), .n(words[8*32+:32]), .done(done),
    .arvalid(m_axi_gmem_arvalid), .arready(m_axi_gmem_arready), .araddr(m_axi_gmem_araddr),
    .arlen(m_axi_gmem_arlen), .arsize(m_axi_gmem_arsize), .arburst(m_axi_gmem_arburst),
    .rvalid(m_axi_gmem_rvalid), .rready(m_axi_gmem_rready), .rdata(m_axi_gmem_rdata),
    .rlast(m_axi_gmem_rlast), .awvalid(m_axi_gmem_awvalid), .awready(m_axi_gmem_awready),
    .awaddr(m_axi_gmem_awaddr), .awlen(m_axi_gmem_awlen), .awsize(m_axi_gmem_awsize),
    .awburst(m_axi_gmem_awburst), .wvalid(m_axi_gmem_wvalid), .wready(m_axi_gmem_wready),
    .wdata(m_axi_gmem_wdata), .wstrb(m_axi_gmem_wstrb), .wlast(m_axi_gmem_wlast), .bvalid(m_axi_gmem_bvalid),
    .bready(m_axi_gmem_bready)
  );
endmodule
