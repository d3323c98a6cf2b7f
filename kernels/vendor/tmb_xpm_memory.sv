// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Common to the models of XPM's memories: two ports to words of one width.
//
// Width        bits of a word
// Words        how many
// ByteWidth_x  bits that one write enable is for
// Latency_x    cycles from an enable to its data; 0: at once
// Mode_x       0 read first, 1 write first, 2 no change
// InitFile     hexadecimal file of the first contents, as $readmemh reads it; "none": no file
// InitParam    the first contents without a file: hexadecimal words with commas between them; "0" or "": zeroes
//
// Throughput: an access of each port a cycle. A word that both ports write in one cycle has the bytes of port b.

module tmb_xpm_memory #(
  parameter int unsigned Width      = 32,
  parameter int unsigned Words      = 64,
  parameter int unsigned AddrWidthA = 6,
  parameter int unsigned AddrWidthB = 6,
  parameter int unsigned ByteWidthA = 32,
  parameter int unsigned ByteWidthB = 32,
  parameter int unsigned LatencyA   = 1,
  parameter int unsigned LatencyB   = 1,
  parameter int unsigned ModeA      = 0,
  parameter int unsigned ModeB      = 0,
  parameter              InitFile   = "none",
  parameter              InitParam  = "0"
) (
  input  logic                        clka_i,
  input  logic                        ena_i,
  input  logic [Width/ByteWidthA-1:0] wea_i,
  input  logic [AddrWidthA-1:0]       addra_i,
  input  logic [Width-1:0]            dina_i,
  input  logic                        rsta_i,
  input  logic                        regcea_i,
  output logic [Width-1:0]            douta_o,
  input  logic                        clkb_i,
  input  logic                        enb_i,
  input  logic [Width/ByteWidthB-1:0] web_i,
  input  logic [AddrWidthB-1:0]       addrb_i,
  input  logic [Width-1:0]            dinb_i,
  input  logic                        rstb_i,
  input  logic                        regceb_i,
  output logic [Width-1:0]            doutb_o
);

  if (Width % ByteWidthA != 0 || Width % ByteWidthB != 0) begin : gen_illegal
    $error("a word has whole bytes: the width is a multiple of BYTE_WRITE_WIDTH");
  end

  localparam int unsigned PlaceWidth = Words > 1 ? $clog2(Words) : 1;
  localparam int unsigned ReadFirst = 0;
  localparam int unsigned WriteFirst = 1;

  // verilator lint_off MULTIDRIVEN
  logic [Width-1:0] mem_q [Words];
  // verilator lint_on MULTIDRIVEN
  initial begin
    for (int unsigned i = 0; i < Words; i++) mem_q[i] = '0;
  end
  if (InitFile != "none" && InitFile != "") begin : gen_file
    initial $readmemh(InitFile, mem_q);
  end else if (InitParam != "0" && InitParam != "" && InitParam != 0) begin : gen_words
    // The text is a constant: its last byte is the least significant.
    localparam int unsigned Bits = $bits(InitParam);
    localparam logic [Bits-1:0] Text = InitParam;
    initial begin
      logic [7:0] letter;
      int unsigned word;
      word = 0;
      for (int unsigned i = Bits / 8; i > 0; i--) begin
        letter = Text[(i-1)*8+:8];
        if (letter == ",") begin
          word++;
        end else if (word < Words) begin
          if (letter >= "0" && letter <= "9") mem_q[word] = mem_q[word] << 4 | Width'(letter[3:0]);
          if (letter >= "A" && letter <= "F" || letter >= "a" && letter <= "f") begin
            mem_q[word] = mem_q[word] << 4 | Width'(letter[3:0] + 4'd9);
          end
        end
      end
    end
  end

  logic [PlaceWidth-1:0] place_a, place_b;
  assign place_a = PlaceWidth'(addra_i);
  assign place_b = PlaceWidth'(addrb_i);

  // Data that a port reads in the cycle of its access.
  logic [Width-1:0] now_a, now_b, merged_a, merged_b;
  assign now_a = mem_q[place_a];
  assign now_b = mem_q[place_b];
  always_comb begin
    merged_a = now_a;
    for (int unsigned i = 0; i < Width / ByteWidthA; i++) begin
      if (wea_i[i]) merged_a[i*ByteWidthA+:ByteWidthA] = dina_i[i*ByteWidthA+:ByteWidthA];
    end
    merged_b = now_b;
    for (int unsigned i = 0; i < Width / ByteWidthB; i++) begin
      if (web_i[i]) merged_b[i*ByteWidthB+:ByteWidthB] = dinb_i[i*ByteWidthB+:ByteWidthB];
    end
  end

  always_ff @(posedge clka_i) begin
    for (int unsigned i = 0; i < Width / ByteWidthA; i++) begin
      if (ena_i && wea_i[i]) begin
        mem_q[place_a][i*ByteWidthA+:ByteWidthA] <= dina_i[i*ByteWidthA+:ByteWidthA];
      end
    end
  end
  always_ff @(posedge clkb_i) begin
    for (int unsigned i = 0; i < Width / ByteWidthB; i++) begin
      if (enb_i && web_i[i]) begin
        mem_q[place_b][i*ByteWidthB+:ByteWidthB] <= dinb_i[i*ByteWidthB+:ByteWidthB];
      end
    end
  end

  tmb_xpm_read #(
    .Width(Width),
    .Latency(LatencyA)
  ) u_read_a (
    .clk_i(clka_i),
    .take_i(ena_i && (ModeA == ReadFirst || ModeA == WriteFirst || wea_i == '0)),
    .data_i(ModeA == WriteFirst ? merged_a : now_a),
    .clear_i(rsta_i),
    .enable_last_i(regcea_i),
    .data_o(douta_o)
  );

  tmb_xpm_read #(
    .Width(Width),
    .Latency(LatencyB)
  ) u_read_b (
    .clk_i(clkb_i),
    .take_i(enb_i && (ModeB == ReadFirst || ModeB == WriteFirst || web_i == '0)),
    .data_i(ModeB == WriteFirst ? merged_b : now_b),
    .clear_i(rstb_i),
    .enable_last_i(regceb_i),
    .data_o(doutb_o)
  );

endmodule
