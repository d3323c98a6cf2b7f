// A word copier: one 32-bit beat at a time. Own work, for trying out.
module tiny (
  input  wire        ap_clk,
  input  wire        ap_rst_n,
  input  wire        s_axi_control_awvalid, output wire s_axi_control_awready,
  input  wire [6:0]  s_axi_control_awaddr,
  input  wire        s_axi_control_wvalid,  output wire s_axi_control_wready,
  input  wire [31:0] s_axi_control_wdata,   input  wire [3:0] s_axi_control_wstrb,
  output reg         s_axi_control_bvalid,  input  wire s_axi_control_bready,
  output wire [1:0]  s_axi_control_bresp,
  input  wire        s_axi_control_arvalid, output wire s_axi_control_arready,
  input  wire [6:0]  s_axi_control_araddr,
  output reg         s_axi_control_rvalid,  input  wire s_axi_control_rready,
  output reg  [31:0] s_axi_control_rdata,   output wire [1:0] s_axi_control_rresp,
  output wire        m_axi_gmem_awvalid, input wire m_axi_gmem_awready,
  output wire [63:0] m_axi_gmem_awaddr,  output wire [7:0] m_axi_gmem_awlen,
  output wire [2:0]  m_axi_gmem_awsize,  output wire [1:0] m_axi_gmem_awburst,
  output wire        m_axi_gmem_wvalid,  input wire m_axi_gmem_wready,
  output wire [31:0] m_axi_gmem_wdata,   output wire [3:0] m_axi_gmem_wstrb,
  output wire        m_axi_gmem_wlast,
  input  wire        m_axi_gmem_bvalid,  output wire m_axi_gmem_bready,
  input  wire [1:0]  m_axi_gmem_bresp,
  output wire        m_axi_gmem_arvalid, input wire m_axi_gmem_arready,
  output wire [63:0] m_axi_gmem_araddr,  output wire [7:0] m_axi_gmem_arlen,
  output wire [2:0]  m_axi_gmem_arsize,  output wire [1:0] m_axi_gmem_arburst,
  input  wire        m_axi_gmem_rvalid,  output wire m_axi_gmem_rready,
  input  wire [31:0] m_axi_gmem_rdata,   input wire m_axi_gmem_rlast,
  input  wire [1:0]  m_axi_gmem_rresp
);
  reg [63:0] src, dst; reg [31:0] n, i; reg start, done, idle;
  // control: address and data together
  assign s_axi_control_awready = s_axi_control_awvalid && s_axi_control_wvalid && !s_axi_control_bvalid;
  assign s_axi_control_wready  = s_axi_control_awready;
  assign s_axi_control_bresp = 2'b00;
  assign s_axi_control_arready = !s_axi_control_rvalid;
  reg bad; assign s_axi_control_rresp = bad ? 2'b11 : 2'b00; always @(posedge ap_clk) if (s_axi_control_arvalid && s_axi_control_arready) bad <= s_axi_control_araddr[6:2]==0;
  reg aw_done, w_done;
  reg [2:0] st; reg [31:0] data;
  localparam IDLE=0, AR=1, R=2, AWW=3, B=4;
  always @(posedge ap_clk)
    if (!ap_rst_n) begin
      s_axi_control_bvalid <= 0; s_axi_control_rvalid <= 0; start <= 0; done <= 0; idle <= 1; st <= IDLE;
      aw_done <= 0; w_done <= 0;
    end else begin
      if (s_axi_control_bvalid && s_axi_control_bready) s_axi_control_bvalid <= 0;
      if (s_axi_control_awready) begin
        s_axi_control_bvalid <= 1;
        case (s_axi_control_awaddr[6:2])
          0: if (s_axi_control_wstrb[0] && s_axi_control_wdata[0]) start <= 1;
          4: src[31:0]  <= s_axi_control_wdata;
          5: src[63:32] <= s_axi_control_wdata;
          6: dst[31:0]  <= s_axi_control_wdata;
          7: dst[63:32] <= s_axi_control_wdata;
          8: n <= s_axi_control_wdata;
          default: ;
        endcase
      end
      if (s_axi_control_rvalid && s_axi_control_rready) s_axi_control_rvalid <= 0;
      if (s_axi_control_arvalid && s_axi_control_arready) begin
        s_axi_control_rvalid <= 1;
        s_axi_control_rdata <= (s_axi_control_araddr[6:2]==0) ? {28'b0, done, idle, done, start} : (s_axi_control_araddr[6:2]==8) ? n : (s_axi_control_araddr[6:2]==9) ? i : 0;
        if (s_axi_control_araddr[6:2]==0) done <= 0;
      end
      case (st)
        IDLE: if (start) begin i <= 0; idle <= 0; st <= (n==0) ? IDLE : AR; if (n==0) begin start<=0; done<=1; idle<=1; end end
        AR: if (m_axi_gmem_arready) st <= R;
        R: if (m_axi_gmem_rvalid) begin data <= m_axi_gmem_rdata; st <= AWW; aw_done <= 0; w_done <= 0; end
        AWW: begin
          if (m_axi_gmem_awvalid && m_axi_gmem_awready) aw_done <= 1;
          if (m_axi_gmem_wvalid && m_axi_gmem_wready) w_done <= 1;
          if ((aw_done || m_axi_gmem_awready) && (w_done || m_axi_gmem_wready)) st <= B;
        end
        B: if (m_axi_gmem_bvalid) begin
          i <= i + 1;
          if (i + 1 == n) begin st <= IDLE; start <= 0; done <= 1; idle <= 1; end else st <= AR;
        end
        default: ;
      endcase
    end
  assign m_axi_gmem_arvalid = st == AR;
  assign m_axi_gmem_araddr = src + {30'b0, i, 2'b00};
  assign m_axi_gmem_arlen = 0; assign m_axi_gmem_arsize = 2; assign m_axi_gmem_arburst = 1;
  assign m_axi_gmem_rready = st == R;
  assign m_axi_gmem_awvalid = st == AWW && !aw_done;
  assign m_axi_gmem_awaddr = dst + {30'b0, i, 2'b00};
  assign m_axi_gmem_awlen = 0; assign m_axi_gmem_awsize = 2; assign m_axi_gmem_awburst = 1;
  assign m_axi_gmem_wvalid = st == AWW && !w_done;
  assign m_axi_gmem_wdata = data; assign m_axi_gmem_wstrb = 4'hf; assign m_axi_gmem_wlast = 1;
  assign m_axi_gmem_bready = st == B;
endmodule
