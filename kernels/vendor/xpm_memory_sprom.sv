// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Stand-in for xpm_memory_sprom: read-only memory with one port, after its documented behaviour.
//
// Latency: READ_LATENCY cycles; 0 reads at once. The last register follows REGCE and is cleared by RST.
//
// The first contents are MEMORY_INIT_FILE or MEMORY_INIT_PARAM, else zeroes.

// Some of the parameters and ports are for tools and for simulations of the vendor's.
// verilator lint_off UNUSEDPARAM
// verilator lint_off UNUSEDSIGNAL
// verilator lint_off WIDTHEXPAND

module xpm_memory_sprom #(
  parameter int ADDR_WIDTH_A = 6,
  parameter int AUTO_SLEEP_TIME = 0,
  parameter int CASCADE_HEIGHT = 0,
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
  parameter int READ_DATA_WIDTH_A = 32,
  parameter int READ_LATENCY_A = 2,
  parameter     READ_RESET_VALUE_A = "0",
  parameter     RST_MODE_A = "SYNC",
  parameter int SIM_ASSERT_CHK = 0,
  parameter int USE_MEM_INIT = 1,
  parameter int USE_MEM_INIT_MMI = 0,
  parameter int VERSION = 0,
  parameter     WAKEUP_TIME = "disable_sleep"
) (
  input  logic                         sleep,
  input  logic                         clka,
  input  logic                         rsta,
  input  logic                         ena,
  input  logic                         regcea,
  input  logic [ADDR_WIDTH_A-1:0]      addra,
  input  logic                         injectsbiterra,
  input  logic                         injectdbiterra,
  output logic [READ_DATA_WIDTH_A-1:0] douta,
  output logic                         sbiterra,
  output logic                         dbiterra
);

  if (ECC_MODE != "no_ecc") begin : gen_ecc
    $error("this stand-in has no ECC_MODE");
  end
  if (READ_RESET_VALUE_A != "0" && READ_RESET_VALUE_A != "" && READ_RESET_VALUE_A != 0) begin : gen_reset
    $error("this stand-in is reset to zeroes: no READ_RESET_VALUE");
  end

  // verilator lint_off PINCONNECTEMPTY
  tmb_xpm_memory #(
    .InitFile(MEMORY_INIT_FILE),
    .InitParam(MEMORY_INIT_PARAM),
    .Width(READ_DATA_WIDTH_A),
    .Words(MEMORY_SIZE / READ_DATA_WIDTH_A),
    .AddrWidthA(ADDR_WIDTH_A),
    .AddrWidthB(ADDR_WIDTH_A),
    .ByteWidthA(READ_DATA_WIDTH_A),
    .ByteWidthB(READ_DATA_WIDTH_A),
    .LatencyA(READ_LATENCY_A)
  ) u_memory (
    .clka_i(clka),
    .ena_i(ena),
    .wea_i(1'b0),
    .addra_i(addra),
    .dina_i('0),
    .rsta_i(rsta),
    .regcea_i(regcea),
    .douta_o(douta),
    .clkb_i(clka),
    .enb_i(1'b0),
    .web_i(1'b0),
    .addrb_i('0),
    .dinb_i('0),
    .rstb_i(1'b0),
    .regceb_i(1'b1),
    .doutb_o()
  );
  // verilator lint_on PINCONNECTEMPTY

  assign sbiterra = 1'b0;
  assign dbiterra = 1'b0;

endmodule
