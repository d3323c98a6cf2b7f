// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Stand-in for xpm_memory_dpdistram: memory in look-up tables, whose port a writes and reads and whose port b reads, after its
// documented behaviour.
//
// Both ports have words of one width. A word that is written and read in the same cycle is read as it was before.
// Latency: READ_LATENCY cycles; 0 reads at once. The last register follows REGCE and is cleared by RST.
//
// The first contents are MEMORY_INIT_FILE or MEMORY_INIT_PARAM, else zeroes.

// Some of the parameters and ports are for tools and for simulations of the vendor's.
// verilator lint_off UNUSEDPARAM
// verilator lint_off UNUSEDSIGNAL
// verilator lint_off WIDTHEXPAND

module xpm_memory_dpdistram #(
  parameter int ADDR_WIDTH_A = 6,
  parameter int ADDR_WIDTH_B = 6,
  parameter int BYTE_WRITE_WIDTH_A = 32,
  parameter     CLOCKING_MODE = "common_clock",
  parameter int IGNORE_INIT_SYNTH = 0,
  parameter     MEMORY_INIT_FILE = "none",
  parameter     MEMORY_INIT_PARAM = "0",
  parameter     MEMORY_OPTIMIZATION = "true",
  parameter int MEMORY_SIZE = 2048,
  parameter int MESSAGE_CONTROL = 0,
  parameter int READ_DATA_WIDTH_A = 32,
  parameter int READ_DATA_WIDTH_B = 32,
  parameter int READ_LATENCY_A = 2,
  parameter int READ_LATENCY_B = 2,
  parameter     READ_RESET_VALUE_A = "0",
  parameter     READ_RESET_VALUE_B = "0",
  parameter     RST_MODE_A = "SYNC",
  parameter     RST_MODE_B = "SYNC",
  parameter int SIM_ASSERT_CHK = 0,
  parameter int USE_EMBEDDED_CONSTRAINT = 0,
  parameter int USE_MEM_INIT = 1,
  parameter int USE_MEM_INIT_MMI = 0,
  parameter int VERSION = 0,
  parameter int WRITE_DATA_WIDTH_A = 32
) (
  input  logic                                             clka,
  input  logic                                             rsta,
  input  logic                                             ena,
  input  logic                                             regcea,
  input  logic [WRITE_DATA_WIDTH_A/BYTE_WRITE_WIDTH_A-1:0] wea,
  input  logic [ADDR_WIDTH_A-1:0]                          addra,
  input  logic [WRITE_DATA_WIDTH_A-1:0]                    dina,
  output logic [READ_DATA_WIDTH_A-1:0]                     douta,
  input  logic                                             clkb,
  input  logic                                             rstb,
  input  logic                                             enb,
  input  logic                                             regceb,
  input  logic [ADDR_WIDTH_B-1:0]                          addrb,
  output logic [READ_DATA_WIDTH_B-1:0]                     doutb
);

  if (READ_RESET_VALUE_A != "0" && READ_RESET_VALUE_A != "" && READ_RESET_VALUE_A != 0
      || READ_RESET_VALUE_B != "0" && READ_RESET_VALUE_B != "" && READ_RESET_VALUE_B != 0) begin : gen_reset
    $error("this stand-in is reset to zeroes: no READ_RESET_VALUE");
  end
  if (WRITE_DATA_WIDTH_A != READ_DATA_WIDTH_A || WRITE_DATA_WIDTH_A != READ_DATA_WIDTH_B) begin : gen_widths
    $error("this stand-in has words of one width on both ports");
  end

  tmb_xpm_memory #(
    .InitFile(MEMORY_INIT_FILE),
    .InitParam(MEMORY_INIT_PARAM),
    .Width(WRITE_DATA_WIDTH_A),
    .Words(MEMORY_SIZE / WRITE_DATA_WIDTH_A),
    .AddrWidthA(ADDR_WIDTH_A),
    .AddrWidthB(ADDR_WIDTH_B),
    .ByteWidthA(BYTE_WRITE_WIDTH_A),
    .ByteWidthB(READ_DATA_WIDTH_B),
    .LatencyA(READ_LATENCY_A),
    .LatencyB(READ_LATENCY_B)
  ) u_memory (
    .clka_i(clka),
    .ena_i(ena),
    .wea_i(wea),
    .addra_i(addra),
    .dina_i(dina),
    .rsta_i(rsta),
    .regcea_i(regcea),
    .douta_o(douta),
    .clkb_i(CLOCKING_MODE == "independent_clock" ? clkb : clka),
    .enb_i(enb),
    .web_i(1'b0),
    .addrb_i(addrb),
    .dinb_i('0),
    .rstb_i(rstb),
    .regceb_i(regceb),
    .doutb_o(doutb)
  );

endmodule
