// Numbers through the Floating-Point Operator as HLS has it. A beat in: a and b, two singles, or one double d. A beat out:
// a + b, a * b, a / b, sqrt(a), a as a whole number, the bits of a as a whole number made single, a < b | a == b, d * d,
// d as a single, a as a double.
module floats (
  input  wire         ap_clk,
  input  wire         ap_rst_n,
  input  wire [63:0]  in_tdata,
  input  wire [7:0]   in_tkeep,
  input  wire         in_tlast,
  input  wire         in_tvalid,
  output wire         in_tready,
  output wire [511:0] out_tdata,
  output wire [63:0]  out_tkeep,
  output wire         out_tlast,
  output wire         out_tvalid,
  input  wire         out_tready
);
  wire done;
  wire move = !done || out_tready;
  reg [2:0] last;
  wire [7:0] less, same;
  always @(posedge ap_clk) if (move) last <= {last[1:0], in_tlast};
  assign in_tready = move;
  assign out_tvalid = done;
  assign out_tlast = last[2];
  assign out_tkeep = {64{1'b1}};
  assign out_tdata[511:384] = 128'd0;
  assign out_tdata[223:192] = {23'd0, same[0], 7'd0, less[0]};
  floating_point_v7_1_15 #(
    .C_HAS_ADD(1), .C_A_WIDTH(32), .C_A_FRACTION_WIDTH(24), .C_A_TDATA_WIDTH(32), .C_B_WIDTH(32),
    .C_B_FRACTION_WIDTH(24), .C_B_TDATA_WIDTH(32), .C_HAS_B(1), .C_RESULT_WIDTH(32),
    .C_RESULT_FRACTION_WIDTH(24), .C_RESULT_TDATA_WIDTH(32), .C_LATENCY(3), .C_HAS_ACLKEN(1)
  ) u_add (
    .aclk(ap_clk), .aclken(move), .aresetn(1'b1), .s_axis_a_tvalid(in_tvalid), .s_axis_a_tdata(in_tdata[31:0]),
    .s_axis_b_tvalid(in_tvalid), .s_axis_b_tdata(in_tdata[63:32]), .m_axis_result_tdata(out_tdata[31:0]),
    .m_axis_result_tvalid(done), .m_axis_result_tready(1'b0)
  );
  floating_point_v7_1_15 #(
    .C_HAS_MULTIPLY(1), .C_A_WIDTH(32), .C_A_FRACTION_WIDTH(24), .C_A_TDATA_WIDTH(32), .C_B_WIDTH(32),
    .C_B_FRACTION_WIDTH(24), .C_B_TDATA_WIDTH(32), .C_HAS_B(1), .C_RESULT_WIDTH(32),
    .C_RESULT_FRACTION_WIDTH(24), .C_RESULT_TDATA_WIDTH(32), .C_LATENCY(3), .C_HAS_ACLKEN(1)
  ) u_mul (
    .aclk(ap_clk), .aclken(move), .aresetn(1'b1), .s_axis_a_tvalid(in_tvalid), .s_axis_a_tdata(in_tdata[31:0]),
    .s_axis_b_tvalid(in_tvalid), .s_axis_b_tdata(in_tdata[63:32]), .m_axis_result_tdata(out_tdata[63:32]),
    .m_axis_result_tvalid(), .m_axis_result_tready(1'b0)
  );
  floating_point_v7_1_15 #(
    .C_HAS_DIVIDE(1), .C_A_WIDTH(32), .C_A_FRACTION_WIDTH(24), .C_A_TDATA_WIDTH(32), .C_B_WIDTH(32),
    .C_B_FRACTION_WIDTH(24), .C_B_TDATA_WIDTH(32), .C_HAS_B(1), .C_RESULT_WIDTH(32),
    .C_RESULT_FRACTION_WIDTH(24), .C_RESULT_TDATA_WIDTH(32), .C_LATENCY(3), .C_HAS_ACLKEN(1)
  ) u_div (
    .aclk(ap_clk), .aclken(move), .aresetn(1'b1), .s_axis_a_tvalid(in_tvalid), .s_axis_a_tdata(in_tdata[31:0]),
    .s_axis_b_tvalid(in_tvalid), .s_axis_b_tdata(in_tdata[63:32]), .m_axis_result_tdata(out_tdata[95:64]),
    .m_axis_result_tvalid(), .m_axis_result_tready(1'b0)
  );
  floating_point_v7_1_15 #(
    .C_HAS_SQRT(1), .C_A_WIDTH(32), .C_A_FRACTION_WIDTH(24), .C_A_TDATA_WIDTH(32), .C_B_WIDTH(32),
    .C_B_FRACTION_WIDTH(24), .C_B_TDATA_WIDTH(32), .C_HAS_B(0), .C_RESULT_WIDTH(32),
    .C_RESULT_FRACTION_WIDTH(24), .C_RESULT_TDATA_WIDTH(32), .C_LATENCY(3), .C_HAS_ACLKEN(1)
  ) u_sqrt (
    .aclk(ap_clk), .aclken(move), .aresetn(1'b1), .s_axis_a_tvalid(in_tvalid), .s_axis_a_tdata(in_tdata[31:0]),
    .s_axis_b_tvalid(1'b0), .s_axis_b_tdata('0), .m_axis_result_tdata(out_tdata[127:96]),
    .m_axis_result_tvalid(), .m_axis_result_tready(1'b0)
  );
  floating_point_v7_1_15 #(
    .C_HAS_FLT_TO_FIX(1), .C_A_WIDTH(32), .C_A_FRACTION_WIDTH(24), .C_A_TDATA_WIDTH(32), .C_B_WIDTH(32),
    .C_B_FRACTION_WIDTH(24), .C_B_TDATA_WIDTH(32), .C_HAS_B(0), .C_RESULT_WIDTH(32),
    .C_RESULT_FRACTION_WIDTH(0), .C_RESULT_TDATA_WIDTH(32), .C_LATENCY(3), .C_HAS_ACLKEN(1)
  ) u_fix (
    .aclk(ap_clk), .aclken(move), .aresetn(1'b1), .s_axis_a_tvalid(in_tvalid), .s_axis_a_tdata(in_tdata[31:0]),
    .s_axis_b_tvalid(1'b0), .s_axis_b_tdata('0), .m_axis_result_tdata(out_tdata[159:128]),
    .m_axis_result_tvalid(), .m_axis_result_tready(1'b0)
  );
  floating_point_v7_1_15 #(
    .C_HAS_FIX_TO_FLT(1), .C_A_WIDTH(32), .C_A_FRACTION_WIDTH(0), .C_A_TDATA_WIDTH(32), .C_B_WIDTH(32),
    .C_B_FRACTION_WIDTH(0), .C_B_TDATA_WIDTH(32), .C_HAS_B(0), .C_RESULT_WIDTH(32),
    .C_RESULT_FRACTION_WIDTH(24), .C_RESULT_TDATA_WIDTH(32), .C_LATENCY(3), .C_HAS_ACLKEN(1)
  ) u_float (
    .aclk(ap_clk), .aclken(move), .aresetn(1'b1), .s_axis_a_tvalid(in_tvalid), .s_axis_a_tdata(in_tdata[31:0]),
    .s_axis_b_tvalid(1'b0), .s_axis_b_tdata('0), .m_axis_result_tdata(out_tdata[191:160]),
    .m_axis_result_tvalid(), .m_axis_result_tready(1'b0)
  );
  floating_point_v7_1_15 #(
    .C_HAS_COMPARE(1), .C_A_WIDTH(32), .C_A_FRACTION_WIDTH(24), .C_A_TDATA_WIDTH(32), .C_B_WIDTH(32),
    .C_B_FRACTION_WIDTH(24), .C_B_TDATA_WIDTH(32), .C_HAS_B(1), .C_RESULT_WIDTH(1),
    .C_RESULT_FRACTION_WIDTH(0), .C_RESULT_TDATA_WIDTH(8), .C_LATENCY(3), .C_HAS_ACLKEN(1), .C_COMPARE_OPERATION(1)
  ) u_less (
    .aclk(ap_clk), .aclken(move), .aresetn(1'b1), .s_axis_a_tvalid(in_tvalid), .s_axis_a_tdata(in_tdata[31:0]),
    .s_axis_b_tvalid(in_tvalid), .s_axis_b_tdata(in_tdata[63:32]), .m_axis_result_tdata(less),
    .m_axis_result_tvalid(), .m_axis_result_tready(1'b0)
  );
  floating_point_v7_1_15 #(
    .C_HAS_COMPARE(1), .C_A_WIDTH(32), .C_A_FRACTION_WIDTH(24), .C_A_TDATA_WIDTH(32), .C_B_WIDTH(32),
    .C_B_FRACTION_WIDTH(24), .C_B_TDATA_WIDTH(32), .C_HAS_B(1), .C_RESULT_WIDTH(1),
    .C_RESULT_FRACTION_WIDTH(0), .C_RESULT_TDATA_WIDTH(8), .C_LATENCY(3), .C_HAS_ACLKEN(1), .C_COMPARE_OPERATION(2)
  ) u_same (
    .aclk(ap_clk), .aclken(move), .aresetn(1'b1), .s_axis_a_tvalid(in_tvalid), .s_axis_a_tdata(in_tdata[31:0]),
    .s_axis_b_tvalid(in_tvalid), .s_axis_b_tdata(in_tdata[63:32]), .m_axis_result_tdata(same),
    .m_axis_result_tvalid(), .m_axis_result_tready(1'b0)
  );
  floating_point_v7_1_15 #(
    .C_HAS_MULTIPLY(1), .C_A_WIDTH(64), .C_A_FRACTION_WIDTH(53), .C_A_TDATA_WIDTH(64), .C_B_WIDTH(64),
    .C_B_FRACTION_WIDTH(53), .C_B_TDATA_WIDTH(64), .C_HAS_B(1), .C_RESULT_WIDTH(64),
    .C_RESULT_FRACTION_WIDTH(53), .C_RESULT_TDATA_WIDTH(64), .C_LATENCY(3), .C_HAS_ACLKEN(1)
  ) u_square (
    .aclk(ap_clk), .aclken(move), .aresetn(1'b1), .s_axis_a_tvalid(in_tvalid), .s_axis_a_tdata(in_tdata),
    .s_axis_b_tvalid(in_tvalid), .s_axis_b_tdata(in_tdata), .m_axis_result_tdata(out_tdata[287:224]),
    .m_axis_result_tvalid(), .m_axis_result_tready(1'b0)
  );
  floating_point_v7_1_15 #(
    .C_HAS_FLT_TO_FLT(1), .C_A_WIDTH(64), .C_A_FRACTION_WIDTH(53), .C_A_TDATA_WIDTH(64), .C_B_WIDTH(64),
    .C_B_FRACTION_WIDTH(53), .C_B_TDATA_WIDTH(64), .C_HAS_B(0), .C_RESULT_WIDTH(32),
    .C_RESULT_FRACTION_WIDTH(24), .C_RESULT_TDATA_WIDTH(32), .C_LATENCY(3), .C_HAS_ACLKEN(1)
  ) u_single (
    .aclk(ap_clk), .aclken(move), .aresetn(1'b1), .s_axis_a_tvalid(in_tvalid), .s_axis_a_tdata(in_tdata),
    .s_axis_b_tvalid(1'b0), .s_axis_b_tdata('0), .m_axis_result_tdata(out_tdata[319:288]),
    .m_axis_result_tvalid(), .m_axis_result_tready(1'b0)
  );
  floating_point_v7_1_15 #(
    .C_HAS_FLT_TO_FLT(1), .C_A_WIDTH(32), .C_A_FRACTION_WIDTH(24), .C_A_TDATA_WIDTH(32), .C_B_WIDTH(32),
    .C_B_FRACTION_WIDTH(24), .C_B_TDATA_WIDTH(32), .C_HAS_B(0), .C_RESULT_WIDTH(64),
    .C_RESULT_FRACTION_WIDTH(53), .C_RESULT_TDATA_WIDTH(64), .C_LATENCY(3), .C_HAS_ACLKEN(1)
  ) u_double (
    .aclk(ap_clk), .aclken(move), .aresetn(1'b1), .s_axis_a_tvalid(in_tvalid), .s_axis_a_tdata(in_tdata[31:0]),
    .s_axis_b_tvalid(1'b0), .s_axis_b_tdata('0), .m_axis_result_tdata(out_tdata[383:320]),
    .m_axis_result_tvalid(), .m_axis_result_tready(1'b0)
  );
endmodule
