// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Common to both halves of FSRF's streaming mode: the window of addresses, and AXI's responses.
//
// Virtual addresses have 48 bits, so those with bit 63 are free for the stream of a port.

package tmb_port_stream_pkg;

  localparam logic [63:0] OpenAddress = 64'h8000_0000_0000_0000;
  localparam logic [63:0] CloseAddress = 64'h8000_0000_0000_0040;

  typedef enum logic [1:0] {
    Pass,
    Open,
    Close,
    Unknown
  } operation_e;

  localparam logic [1:0] Okay = 2'b00;
  localparam logic [1:0] SlvErr = 2'b10;
  localparam logic [1:0] DecErr = 2'b11;

  function automatic operation_e operation_at(logic [63:0] address);
    if (!address[63]) return Pass;
    if (address == OpenAddress) return Open;
    if (address == CloseAddress) return Close;
    return Unknown;
  endfunction

endpackage
