// Packets of up to 64 words are turned round, through three memories of AMD's.
module xpm_memories (
  input  wire        ap_clk,
  input  wire        ap_rst_n,
  input  wire [31:0] in_tdata,
  input  wire [3:0]  in_tkeep,
  input  wire        in_tlast,
  input  wire        in_tvalid,
  output wire        in_tready,
  output wire [31:0] out_tdata,
  output wire [3:0]  out_tkeep,
  output wire        out_tlast,
  output wire        out_tvalid,
  input  wire        out_tready
);
  reg filling;
  reg [5:0] at;
  reg [3:0] step;
  wire [31:0] from_two, from_simple, from_one;
  wire take = in_tvalid && in_tready;

  assign in_tready = filling && ap_rst_n;
  assign out_tvalid = !filling && step == 4'd8;
  assign out_tdata = from_one;
  assign out_tkeep = 4'hf;
  assign out_tlast = at == 0;

  always @(posedge ap_clk)
    if (!ap_rst_n) begin
      filling <= 1; at <= 0; step <= 0;
    end else if (filling) begin
      if (take && (in_tlast || at == 6'd63)) filling <= 0;
      else if (take) at <= at + 6'd1;
      step <= 0;
    end else if (!out_tvalid) step <= step + 4'd1;
    else if (out_tready) begin
      step <= 0;
      if (at == 0) filling <= 1;
      else at <= at - 6'd1;
    end

  // Read in step 0, there in step 3.
  xpm_memory_tdpram #(
    .ADDR_WIDTH_A(6), .ADDR_WIDTH_B(6), .MEMORY_SIZE(64 * 32), .MEMORY_PRIMITIVE("block"),
    .CLOCKING_MODE("common_clock"), .BYTE_WRITE_WIDTH_A(8), .BYTE_WRITE_WIDTH_B(32), .READ_LATENCY_A(1),
    .READ_LATENCY_B(3), .WRITE_MODE_A("no_change"), .WRITE_MODE_B("read_first"), .MEMORY_INIT_FILE("none")
  ) u_two (
    .sleep(1'b0), .clka(ap_clk), .rsta(1'b0), .ena(take), .regcea(1'b1), .wea(in_tkeep), .addra(at),
    .dina(in_tdata), .injectsbiterra(1'b0), .injectdbiterra(1'b0), .douta(), .sbiterra(), .dbiterra(),
    .clkb(ap_clk), .rstb(1'b0), .enb(!filling && step == 0), .regceb(1'b1), .web(1'b0), .addrb(at), .dinb(32'd0),
    .injectsbiterrb(1'b0), .injectdbiterrb(1'b0), .doutb(from_two), .sbiterrb(), .dbiterrb()
  );
  // Written in step 3, read in step 4, there in step 6.
  xpm_memory_sdpram #(
    .ADDR_WIDTH_A(6), .ADDR_WIDTH_B(6), .MEMORY_SIZE(64 * 32), .BYTE_WRITE_WIDTH_A(32), .READ_LATENCY_B(2),
    .WRITE_MODE_B("read_first")
  ) u_simple (
    .sleep(1'b0), .clka(ap_clk), .ena(1'b1), .wea(!filling && step == 3), .addra(at), .dina(from_two),
    .injectsbiterra(1'b0), .injectdbiterra(1'b0), .clkb(ap_clk), .rstb(!ap_rst_n), .enb(step == 4),
    .regceb(1'b1), .addrb(at), .doutb(from_simple), .sbiterrb(), .dbiterrb()
  );
  // Written in step 6, when a port that writes first has it behind.
  xpm_memory_spram #(
    .ADDR_WIDTH_A(6), .MEMORY_SIZE(64 * 32), .BYTE_WRITE_WIDTH_A(32), .READ_LATENCY_A(1),
    .WRITE_MODE_A("write_first")
  ) u_one (
    .sleep(1'b0), .clka(ap_clk), .rsta(1'b0), .ena(step == 6), .regcea(1'b1), .wea(1'b1), .addra(at),
    .dina(from_simple), .injectsbiterra(1'b0), .injectdbiterra(1'b0), .douta(from_one), .sbiterra(), .dbiterra()
  );
endmodule
