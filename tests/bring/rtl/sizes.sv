package sizes;
  localparam int unsigned Bits = 32;
endpackage
