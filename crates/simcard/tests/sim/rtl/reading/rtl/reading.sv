// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Test kernel: opens files of the host in the way that the register at 0x10 says. The register reads as
// what was written there plus what was read.

module reading (
  input  logic        ap_clk,
  input  logic        ap_rst_n,
  input  logic        s_axi_control_awvalid,
  output logic        s_axi_control_awready,
  input  logic [5:0]  s_axi_control_awaddr,
  input  logic        s_axi_control_wvalid,
  output logic        s_axi_control_wready,
  input  logic [31:0] s_axi_control_wdata,
  output logic        s_axi_control_bvalid,
  input  logic        s_axi_control_bready,
  input  logic        s_axi_control_arvalid,
  output logic        s_axi_control_arready,
  input  logic [5:0]  s_axi_control_araddr,
  output logic        s_axi_control_rvalid,
  input  logic        s_axi_control_rready,
  output logic [31:0] s_axi_control_rdata
);

  logic [31:0] how_q;
  logic respond_q, read_q;

  // Beside the RTL, and in the kernel's folder.
  logic [31:0] near [2], far [2], more [2];
  initial $readmemh("near.hex", near);
  initial $readmemb("tables/far.bin", far);

  assign s_axi_control_awready = s_axi_control_awvalid && s_axi_control_wvalid && !respond_q;
  assign s_axi_control_wready = s_axi_control_awready;
  assign s_axi_control_bvalid = respond_q;
  assign s_axi_control_arready = !read_q;
  assign s_axi_control_rvalid = read_q;

  int file;
  string name, mode;
  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      how_q <= '0;
      respond_q <= 1'b0;
      read_q <= 1'b0;
    end else begin
      if (s_axi_control_awready) begin
        respond_q <= 1'b1;
        how_q <= s_axi_control_wdata;
        name = "near.hex";
        mode = "r";
        case (s_axi_control_wdata)
          1: name = "../outside.hex";
          2: name = "/etc/hostname";
          3: name = "link.hex";
          4: name = "fifo";
          5: mode = "w";
          6: mode = "r+";
          7: mode = "a";
          8: $readmemh("missing.hex", more);
          default: ;
        endcase
        if (s_axi_control_wdata inside {[1:9]}) begin
          file = $fopen(name, mode);
          // Its first character, a digit.
          how_q <= 32'($fgetc(file)) - 32'h30;
          $fclose(file);
        end
        // Nothing comes from the terminal, and what goes there is said.
        if (s_axi_control_wdata == 10) begin
          how_q <= 32'($fgetc(32'h8000_0000));
          $fdisplay(32'h8000_0001, "to the terminal");
        end
      end else if (s_axi_control_bready) begin
        respond_q <= 1'b0;
      end
      if (s_axi_control_arvalid && s_axi_control_arready) read_q <= 1'b1;
      else if (s_axi_control_rready) read_q <= 1'b0;
    end
  end
  assign s_axi_control_rdata = how_q + near[1] + far[1];

endmodule
