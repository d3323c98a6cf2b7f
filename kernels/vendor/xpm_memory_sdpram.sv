// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Stand-in for xpm_memory_sdpram: memory with a port that writes and a port that reads, after its documented behaviour.
//
// Both ports have words of one width, without error correction and sleep. A word that is written and read in the same cycle is
// read as it was before (a port with "write_first" reads what it writes). "no_change" keeps the data of the port while it writes.
// Latency: READ_LATENCY cycles; 0 reads at once. The last register follows REGCE and is cleared by RST.
//
// The first contents are MEMORY_INIT_FILE or MEMORY_INIT_PARAM, else zeroes.

// Some of the parameters and ports are for tools and for simulations of the vendor's.
// verilator lint_off UNUSEDPARAM
// verilator lint_off UNUSEDSIGNAL
// verilator lint_off WIDTHEXPAND

module xpm_memory_sdpram #(
  parameter int ADDR_WIDTH_A = 6,
  parameter int ADDR_WIDTH_B = 6,
  parameter int AUTO_SLEEP_TIME = 0,
  parameter int BYTE_WRITE_WIDTH_A = 32,
  parameter int CASCADE_HEIGHT = 0,
  parameter     CLOCKING_MODE = "common_clock",
  parameter     ECC_BIT_RANGE = "7:0",
  parameter     ECC_MODE = "no_ecc",
  parameter     ECC_TYPE = "none",
  parameter int IGNORE_INIT_SYNTH = 0,
  parameter     MEMORY_INIT_FILE = "none",
  parameter     MEMORY_INIT_PARAM = "0",
  parameter     MEMORY_OPTIMIZATION = "true",
  parameter     MEMORY_PRIMITIVE = "auto",
  parameter int MEMORY_SIZE = 2048,
  parameter int MESSAGE_CONTROL = 0,
  parameter     RAM_DECOMP = "auto",
  parameter int READ_DATA_WIDTH_B = 32,
  parameter int READ_LATENCY_B = 2,
  parameter     READ_RESET_VALUE_B = "0",
  parameter     RST_MODE_A = "SYNC",
  parameter     RST_MODE_B = "SYNC",
  parameter int SIM_ASSERT_CHK = 0,
  parameter int USE_EMBEDDED_CONSTRAINT = 0,
  parameter int USE_MEM_INIT = 1,
  parameter int USE_MEM_INIT_MMI = 0,
  parameter int VERSION = 0,
  parameter     WAKEUP_TIME = "disable_sleep",
  parameter int WRITE_DATA_WIDTH_A = 32,
  parameter     WRITE_MODE_B = "no_change",
  parameter int WRITE_PROTECT = 1
) (
  input  logic                                           sleep,
  input  logic                                           clka,
  input  logic                                           ena,
  input  logic [WRITE_DATA_WIDTH_A/BYTE_WRITE_WIDTH_A-1:0] wea,
  input  logic [ADDR_WIDTH_A-1:0]                        addra,
  input  logic [WRITE_DATA_WIDTH_A-1:0]                  dina,
  input  logic                                           injectsbiterra,
  input  logic                                           injectdbiterra,
  input  logic                                           clkb,
  input  logic                                           rstb,
  input  logic                                           enb,
  input  logic                                           regceb,
  input  logic [ADDR_WIDTH_B-1:0]                        addrb,
  output logic [READ_DATA_WIDTH_B-1:0]                   doutb,
  output logic                                           sbiterrb,
  output logic                                           dbiterrb
);

  if (ECC_MODE != "no_ecc") begin : gen_ecc
    $error("this stand-in has no ECC_MODE");
  end
  if (READ_RESET_VALUE_B != "0" && READ_RESET_VALUE_B != "" && READ_RESET_VALUE_B != 0) begin : gen_reset
    $error("this stand-in is reset to zeroes: no READ_RESET_VALUE");
  end
  if (WRITE_DATA_WIDTH_A != READ_DATA_WIDTH_B) begin : gen_widths
    $error("this stand-in has words of one width on both ports");
  end

  // verilator lint_off PINCONNECTEMPTY
  tmb_xpm_memory #(
    .InitFile(MEMORY_INIT_FILE),
    .InitParam(MEMORY_INIT_PARAM),
    .Width(WRITE_DATA_WIDTH_A),
    .Words(MEMORY_SIZE / WRITE_DATA_WIDTH_A),
    .AddrWidthA(ADDR_WIDTH_A),
    .AddrWidthB(ADDR_WIDTH_B),
    .ByteWidthA(BYTE_WRITE_WIDTH_A),
    .ByteWidthB(READ_DATA_WIDTH_B),
    .LatencyB(READ_LATENCY_B)
  ) u_memory (
    .clka_i(clka),
    .ena_i(ena),
    .wea_i(wea),
    .addra_i(addra),
    .dina_i(dina),
    .rsta_i(1'b0),
    .regcea_i(1'b1),
    .douta_o(),
    .clkb_i(clkb),
    .enb_i(enb),
    .web_i(1'b0),
    .addrb_i(addrb),
    .dinb_i('0),
    .rstb_i(rstb),
    .regceb_i(regceb),
    .doutb_o(doutb)
  );
  // verilator lint_on PINCONNECTEMPTY

  assign sbiterrb = 1'b0;
  assign dbiterrb = 1'b0;

endmodule
