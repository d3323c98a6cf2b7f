`include "more/bits.vh"
`define BEAT_BITS (8 * `BYTES)
