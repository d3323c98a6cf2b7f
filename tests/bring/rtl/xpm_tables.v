// Four words for each word: from three memories of AMD's, two of them with contents. A word's low bits are the address.
module xpm_tables (
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
  reg [3:0] step;
  reg [31:0] word;
  reg last;
  wire [2:0] at = word[2:0];
  wire [31:0] from_one, from_a, from_b, from_tables;
  wire [31:0] held [0:3];

  assign in_tready = step == 0 && ap_rst_n;
  // Read in step 1. The memory that takes three cycles is there in step 4.
  assign out_tvalid = step >= 4'd4;
  assign held[0] = from_one;
  assign held[1] = from_a;
  assign held[2] = from_b;
  assign held[3] = from_tables;
  assign out_tdata = held[step[1:0]];
  assign out_tkeep = 4'hf;
  assign out_tlast = last && step == 4'd7;

  always @(posedge ap_clk)
    if (!ap_rst_n) step <= 0;
    else if (step == 0) begin
      if (in_tvalid) step <= 1;
      word <= in_tdata;
      last <= in_tlast;
    end else if (!out_tvalid) step <= step + 4'd1;
    else if (out_tready) step <= step == 4'd7 ? 4'd0 : step + 4'd1;

  xpm_memory_sprom #(
    .ADDR_WIDTH_A(3), .MEMORY_SIZE(8 * 32), .READ_LATENCY_A(2),
    .MEMORY_INIT_PARAM("11,2a,3B,deadbeef,5,6,7")
  ) u_one (
    .sleep(1'b0), .clka(ap_clk), .rsta(1'b0), .ena(step == 1), .regcea(1'b1), .addra(at),
    .injectsbiterra(1'b0), .injectdbiterra(1'b0), .douta(from_one), .sbiterra(), .dbiterra()
  );
  xpm_memory_dprom #(
    .ADDR_WIDTH_A(3), .ADDR_WIDTH_B(3), .MEMORY_SIZE(8 * 32), .READ_LATENCY_A(1), .READ_LATENCY_B(3),
    .MEMORY_INIT_FILE("xpm_tables.mem")
  ) u_two (
    .sleep(1'b0), .clka(ap_clk), .rsta(1'b0), .ena(step == 1), .regcea(1'b1), .addra(at),
    .injectsbiterra(1'b0), .injectdbiterra(1'b0), .douta(from_a), .sbiterra(), .dbiterra(),
    .clkb(ap_clk), .rstb(1'b0), .enb(step == 1), .regceb(1'b1), .addrb(~at),
    .injectsbiterrb(1'b0), .injectdbiterrb(1'b0), .doutb(from_b), .sbiterrb(), .dbiterrb()
  );
  // The word that was written at the next address before, and zero if there is none.
  wire [2:0] next = at + 3'd1;
  xpm_memory_dpdistram #(
    .ADDR_WIDTH_A(3), .ADDR_WIDTH_B(3), .MEMORY_SIZE(8 * 32), .BYTE_WRITE_WIDTH_A(8), .READ_LATENCY_A(0),
    .READ_LATENCY_B(1)
  ) u_three (
    .clka(ap_clk), .rsta(1'b0), .ena(step == 1), .regcea(1'b1), .wea(4'b1011), .addra(at), .dina(word), .douta(),
    .clkb(ap_clk), .rstb(1'b0), .enb(step == 1), .regceb(1'b1), .addrb(next), .doutb(from_tables)
  );
endmodule
