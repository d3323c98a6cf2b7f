`define BYTES 4
