// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0
//
// Stand-in for AMD's Floating-Point Operator (floating_point_v7_1_*), after its documented behaviour, for simulations only.
//
// Operations: add, subtract, add or subtract by s_axis_operation, multiply, divide, square root, reciprocal, reciprocal square
// root, compare, absolute value, fused multiply-add and multiply-subtract, exponential, logarithm, and conversions between
// fixed, half, single and double. Every format up to double, with IEEE's exponent widths.
// Results are rounded to nearest, ties to even; denormals count as zeroes, as the operator has it. exp, log, recip, rsqrt may
// differ in the last bit. Fused operations are rounded twice.
// Without tready (C_THROTTLE_SCHEME 3, which HLS takes): a result each cycle, C_LATENCY cycles behind its operands. With
// tready, one register holds the output, and the operands of a cycle are taken together.

// Some of the parameters and ports are for tools.
// verilator lint_off UNUSEDPARAM
// verilator lint_off UNUSEDSIGNAL
// verilator lint_off WIDTHEXPAND
// verilator lint_off WIDTHTRUNC

module floating_point_v7_1 #(
  parameter     C_XDEVICEFAMILY       = "virtexuplus",
  parameter     C_PART                = "",
  parameter int C_HAS_ADD             = 0,
  parameter int C_HAS_SUBTRACT        = 0,
  parameter int C_HAS_MULTIPLY        = 0,
  parameter int C_HAS_DIVIDE          = 0,
  parameter int C_HAS_SQRT            = 0,
  parameter int C_HAS_COMPARE         = 0,
  parameter int C_HAS_FIX_TO_FLT      = 0,
  parameter int C_HAS_FLT_TO_FIX      = 0,
  parameter int C_HAS_FLT_TO_FLT      = 0,
  parameter int C_HAS_RECIP           = 0,
  parameter int C_HAS_RECIP_SQRT      = 0,
  parameter int C_HAS_ABSOLUTE        = 0,
  parameter int C_HAS_LOGARITHM       = 0,
  parameter int C_HAS_EXPONENTIAL     = 0,
  parameter int C_HAS_FMA             = 0,
  parameter int C_HAS_FMS             = 0,
  parameter int C_HAS_UNFUSED_MULTIPLY_ADD = 0,
  parameter int C_HAS_UNFUSED_MULTIPLY_SUB = 0,
  parameter int C_HAS_UNFUSED_MULTIPLY_ACCUMULATOR_A = 0,
  parameter int C_HAS_UNFUSED_MULTIPLY_ACCUMULATOR_S = 0,
  parameter int C_HAS_ACCUMULATOR_A   = 0,
  parameter int C_HAS_ACCUMULATOR_S   = 0,
  parameter int C_HAS_ACCUMULATOR_PRIMITIVE_A = 0,
  parameter int C_HAS_ACCUMULATOR_PRIMITIVE_S = 0,
  parameter int C_A_WIDTH             = 32,
  parameter int C_A_FRACTION_WIDTH    = 24,
  parameter int C_B_WIDTH             = 32,
  parameter int C_B_FRACTION_WIDTH    = 24,
  parameter int C_C_WIDTH             = 32,
  parameter int C_C_FRACTION_WIDTH    = 24,
  parameter int C_RESULT_WIDTH        = 32,
  parameter int C_RESULT_FRACTION_WIDTH = 24,
  parameter int C_COMPARE_OPERATION   = 8,
  parameter int C_LATENCY             = 0,
  parameter int C_OPTIMIZATION        = 1,
  parameter int C_MULT_USAGE          = 0,
  parameter int C_BRAM_USAGE          = 0,
  parameter int C_RATE                = 1,
  parameter int C_ACCUM_INPUT_MSB     = 32,
  parameter int C_ACCUM_MSB           = 32,
  parameter int C_ACCUM_LSB           = -31,
  parameter int C_HAS_UNDERFLOW       = 0,
  parameter int C_HAS_OVERFLOW        = 0,
  parameter int C_HAS_INVALID_OP      = 0,
  parameter int C_HAS_DIVIDE_BY_ZERO  = 0,
  parameter int C_HAS_ACCUM_OVERFLOW  = 0,
  parameter int C_HAS_ACCUM_INPUT_OVERFLOW = 0,
  parameter int C_HAS_ACLKEN          = 0,
  parameter int C_HAS_ARESETN         = 0,
  parameter int C_THROTTLE_SCHEME     = 3,
  parameter int C_HAS_A_TUSER         = 0,
  parameter int C_HAS_A_TLAST         = 0,
  parameter int C_HAS_B               = 1,
  parameter int C_HAS_B_TUSER         = 0,
  parameter int C_HAS_B_TLAST         = 0,
  parameter int C_HAS_C               = 0,
  parameter int C_HAS_C_TUSER         = 0,
  parameter int C_HAS_C_TLAST         = 0,
  parameter int C_HAS_OPERATION       = 0,
  parameter int C_HAS_OPERATION_TUSER = 0,
  parameter int C_HAS_OPERATION_TLAST = 0,
  parameter int C_HAS_RESULT_TUSER    = 0,
  parameter int C_HAS_RESULT_TLAST    = 0,
  parameter int C_TLAST_RESOLUTION    = 0,
  parameter int C_A_TDATA_WIDTH       = 32,
  parameter int C_A_TUSER_WIDTH       = 1,
  parameter int C_B_TDATA_WIDTH       = 32,
  parameter int C_B_TUSER_WIDTH       = 1,
  parameter int C_C_TDATA_WIDTH       = 32,
  parameter int C_C_TUSER_WIDTH       = 1,
  parameter int C_OPERATION_TDATA_WIDTH = 8,
  parameter int C_OPERATION_TUSER_WIDTH = 1,
  parameter int C_RESULT_TDATA_WIDTH  = 32,
  parameter int C_RESULT_TUSER_WIDTH  = 1,
  parameter int C_FIXED_DATA_UNSIGNED = 0
) (
  input  logic                               aclk,
  input  logic                               aclken,
  input  logic                               aresetn,
  input  logic                               s_axis_a_tvalid,
  output logic                               s_axis_a_tready,
  input  logic [C_A_TDATA_WIDTH-1:0]         s_axis_a_tdata,
  input  logic [C_A_TUSER_WIDTH-1:0]         s_axis_a_tuser,
  input  logic                               s_axis_a_tlast,
  input  logic                               s_axis_b_tvalid,
  output logic                               s_axis_b_tready,
  input  logic [C_B_TDATA_WIDTH-1:0]         s_axis_b_tdata,
  input  logic [C_B_TUSER_WIDTH-1:0]         s_axis_b_tuser,
  input  logic                               s_axis_b_tlast,
  input  logic                               s_axis_c_tvalid,
  output logic                               s_axis_c_tready,
  input  logic [C_C_TDATA_WIDTH-1:0]         s_axis_c_tdata,
  input  logic [C_C_TUSER_WIDTH-1:0]         s_axis_c_tuser,
  input  logic                               s_axis_c_tlast,
  input  logic                               s_axis_operation_tvalid,
  output logic                               s_axis_operation_tready,
  input  logic [C_OPERATION_TDATA_WIDTH-1:0] s_axis_operation_tdata,
  input  logic [C_OPERATION_TUSER_WIDTH-1:0] s_axis_operation_tuser,
  input  logic                               s_axis_operation_tlast,
  output logic                               m_axis_result_tvalid,
  input  logic                               m_axis_result_tready,
  output logic [C_RESULT_TDATA_WIDTH-1:0]    m_axis_result_tdata,
  output logic [C_RESULT_TUSER_WIDTH-1:0]    m_axis_result_tuser,
  output logic                               m_axis_result_tlast
);

  localparam bit Fused = C_HAS_FMA != 0 || C_HAS_FMS != 0 || C_HAS_UNFUSED_MULTIPLY_ADD != 0
      || C_HAS_UNFUSED_MULTIPLY_SUB != 0;
  localparam bit Flows = C_THROTTLE_SCHEME == 3;
  localparam int unsigned Latency = Flows ? C_LATENCY : 1;
  localparam int unsigned ResultWidth = C_HAS_COMPARE != 0 ? C_RESULT_TDATA_WIDTH : C_RESULT_WIDTH;

  if (C_HAS_ACCUMULATOR_A != 0 || C_HAS_ACCUMULATOR_S != 0 || C_HAS_ACCUMULATOR_PRIMITIVE_A != 0
      || C_HAS_ACCUMULATOR_PRIMITIVE_S != 0 || C_HAS_UNFUSED_MULTIPLY_ACCUMULATOR_A != 0
      || C_HAS_UNFUSED_MULTIPLY_ACCUMULATOR_S != 0) begin : gen_accumulator
    $error("this stand-in has no accumulator");
  end
  if (C_A_WIDTH > 64 || C_B_WIDTH > 64 || C_C_WIDTH > 64 || C_RESULT_WIDTH > 64) begin : gen_wide
    $error("this stand-in has numbers of 64 bits at most");
  end
  if (C_RATE != 1) begin : gen_rate
    $error("this stand-in takes operands each cycle: C_RATE = 1");
  end
  if (C_HAS_RESULT_TUSER != 0 || C_HAS_UNDERFLOW != 0 || C_HAS_OVERFLOW != 0 || C_HAS_INVALID_OP != 0
      || C_HAS_DIVIDE_BY_ZERO != 0) begin : gen_user
    $error("this stand-in has no tuser and no exception flags");
  end

  // A double of a number with `fraction` bits (the hidden one included) and the rest of `width` for sign and exponent.
  function automatic logic [63:0] widen(logic [63:0] bits, int width, int fraction);
    int exponent_width;
    logic [63:0] mantissa, exponent, all_ones;
    logic sign;
    exponent_width = width - fraction;
    all_ones = (64'd1 << exponent_width) - 1;
    sign = bits[width-1];
    exponent = (bits >> (fraction - 1)) & all_ones;
    mantissa = bits & ((64'd1 << (fraction - 1)) - 1);
    if (exponent == 0) return {sign, 63'd0};
    if (exponent == all_ones) return {sign, 11'h7ff, mantissa != 0 ? 52'h8_0000_0000_0000 : 52'd0};
    return {sign, 11'(exponent + 64'd1023 - (all_ones >> 1)), 52'(mantissa << (53 - fraction))};
  endfunction

  // The nearest number of that format, ties to even.
  function automatic logic [63:0] narrow(logic [63:0] value, int width, int fraction);
    int exponent_width;
    longint exponent;
    logic [63:0] all_ones, mantissa, rest, half, result, sign;
    exponent_width = width - fraction;
    all_ones = (64'd1 << exponent_width) - 1;
    sign = 64'(value[63]) << (width - 1);
    if (value[62:52] == 11'h7ff) begin
      // A quiet not-a-number has no sign.
      if (value[51:0] != 0) return (all_ones << (fraction - 1)) | (64'd1 << (fraction - 2));
      return sign | (all_ones << (fraction - 1));
    end
    if (value[62:52] == 0) return sign;
    exponent = longint'({53'd0, value[62:52]}) - 64'd1023 + longint'(all_ones >> 1);
    mantissa = {11'd0, 1'b1, value[51:0]};
    rest = mantissa & ((64'd1 << (53 - fraction)) - 1);
    half = fraction == 53 ? 64'd1 : 64'd1 << (52 - fraction);
    mantissa = mantissa >> (53 - fraction);
    if (fraction != 53 && (rest > half || (rest == half && mantissa[0]))) mantissa = mantissa + 1;
    if (mantissa == 64'd1 << fraction) begin
      mantissa = mantissa >> 1;
      exponent = exponent + 1;
    end
    if (exponent <= 0) return sign;
    if (exponent >= longint'(all_ones)) return sign | (all_ones << (fraction - 1));
    result = (64'(exponent) << (fraction - 1)) | (mantissa & ((64'd1 << (fraction - 1)) - 1));
    return sign | result;
  endfunction

  function automatic logic is_nan(logic [63:0] value);
    return value[62:52] == 11'h7ff && value[51:0] != 0;
  endfunction

  // A whole number, rounded to nearest and ties to even, that saturates.
  function automatic logic [63:0] to_fixed(logic [63:0] value, int width, int fraction);
    int shift;
    logic [63:0] mantissa, limit;
    logic round, sticky, over;
    limit = 64'd1 << (width - 1);
    if (is_nan(value)) return limit;
    mantissa = {11'd0, 1'b1, value[51:0]};
    if (value[62:52] == 0) return '0;
    // The point of the mantissa is behind its bit 52.
    shift = int'({21'd0, value[62:52]}) - 1023 - 52 + fraction;
    over = 1'b0;
    if (shift >= 0) begin
      over = shift > 11;
      mantissa = mantissa << (over ? 0 : shift);
    end else if (shift < -54) begin
      mantissa = '0;
    end else begin
      round = mantissa[-shift-1];
      sticky = (mantissa & ((64'd1 << (-shift - 1)) - 1)) != 0;
      mantissa = mantissa >> (-shift);
      if (round && (sticky || mantissa[0])) mantissa = mantissa + 1;
    end
    if (value[63]) return over || mantissa > limit ? limit : -mantissa;
    return over || mantissa >= limit ? limit - 1 : mantissa;
  endfunction

  // A fixed-point number is rounded once: as a whole number to the format, then scaled by its exponent.
  function automatic logic [63:0] from_fixed(logic [63:0] bits, int width, int fraction);
    logic [63:0] magnitude, sign, rest, half, mantissa, all_ones;
    int top, out_fraction;
    longint exponent;
    logic negative;
    out_fraction = C_RESULT_FRACTION_WIDTH;
    all_ones = (64'd1 << (C_RESULT_WIDTH - out_fraction)) - 1;
    negative = C_FIXED_DATA_UNSIGNED == 0 && bits[width-1];
    magnitude = width == 64 ? bits : bits & ((64'd1 << width) - 1);
    if (negative) magnitude = width == 64 ? -magnitude : (64'd1 << width) - magnitude;
    if (magnitude == 0) return '0;
    sign = 64'(negative) << (C_RESULT_WIDTH - 1);
    top = 0;
    for (int i = 0; i < 64; i++) if (magnitude[i]) top = i;
    exponent = longint'(top) - longint'(fraction) + longint'(all_ones >> 1);
    if (top < out_fraction) begin
      mantissa = magnitude << (out_fraction - 1 - top);
    end else begin
      rest = magnitude & ((64'd1 << (top + 1 - out_fraction)) - 1);
      half = 64'd1 << (top - out_fraction);
      mantissa = magnitude >> (top + 1 - out_fraction);
      if (rest > half || (rest == half && mantissa[0])) mantissa = mantissa + 1;
      if (mantissa == 64'd1 << out_fraction) begin
        mantissa = mantissa >> 1;
        exponent = exponent + 1;
      end
    end
    if (exponent <= 0) return sign;
    if (exponent >= longint'(all_ones)) return sign | (all_ones << (out_fraction - 1));
    return sign | (64'(exponent) << (out_fraction - 1)) | (mantissa & ((64'd1 << (out_fraction - 1)) - 1));
  endfunction

  function automatic logic [63:0] compare(logic [63:0] a, logic [63:0] b, logic [5:0] how);
    logic unordered, less, equal;
    unordered = is_nan(a) || is_nan(b);
    less = !unordered && $bitstoreal(a) < $bitstoreal(b);
    equal = !unordered && $bitstoreal(a) == $bitstoreal(b);
    case (how[5:3])
      3'd0: return 64'(unordered);
      3'd1: return 64'(less);
      3'd2: return 64'(equal);
      3'd3: return 64'(less || equal);
      3'd4: return 64'(!unordered && !less && !equal);
      3'd5: return 64'(!equal);
      3'd6: return 64'(!unordered && !less);
      default: return {60'd0, unordered, !unordered && !less && !equal, less, equal};
    endcase
  endfunction

  logic [63:0] a_bits, b_bits, c_bits, a, b, c, value, result_now;
  logic [5:0] operation, compared;
  assign a_bits = 64'(s_axis_a_tdata);
  assign b_bits = 64'(s_axis_b_tdata);
  assign c_bits = 64'(s_axis_c_tdata);
  assign operation = 6'(s_axis_operation_tdata);

  // C_COMPARE_OPERATION: 8 programmable, else less, equal, less or equal, greater, not equal, greater or equal, code, unordered.
  always_comb begin
    case (C_COMPARE_OPERATION)
      0: compared = 6'b000_100;
      1: compared = 6'b001_100;
      2: compared = 6'b010_100;
      3: compared = 6'b011_100;
      4: compared = 6'b100_100;
      5: compared = 6'b101_100;
      6: compared = 6'b110_100;
      7: compared = 6'b111_100;
      default: compared = operation;
    endcase
  end

  always_comb begin
    a = C_HAS_FIX_TO_FLT != 0 ? '0 : widen(a_bits, C_A_WIDTH, C_A_FRACTION_WIDTH);
    b = C_HAS_B != 0 ? widen(b_bits, C_B_WIDTH, C_B_FRACTION_WIDTH) : '0;
    c = C_HAS_C != 0 ? widen(c_bits, C_C_WIDTH, C_C_FRACTION_WIDTH) : '0;
    value = a;
    if (Fused) begin
      // operation[0]: subtract, where both are built.
      if (C_HAS_FMS != 0 && C_HAS_FMA == 0 || C_HAS_UNFUSED_MULTIPLY_SUB != 0 && C_HAS_UNFUSED_MULTIPLY_ADD == 0
          || C_HAS_OPERATION != 0 && operation[0]) c[63] = !c[63];
      value = $realtobits($bitstoreal(a) * $bitstoreal(b) + $bitstoreal(c));
    end else if (C_HAS_ADD != 0 || C_HAS_SUBTRACT != 0) begin
      if (C_HAS_ADD == 0 || C_HAS_SUBTRACT != 0 && operation[0]) b[63] = !b[63];
      value = $realtobits($bitstoreal(a) + $bitstoreal(b));
    end else if (C_HAS_MULTIPLY != 0) begin
      value = $realtobits($bitstoreal(a) * $bitstoreal(b));
    end else if (C_HAS_DIVIDE != 0) begin
      value = $realtobits($bitstoreal(a) / $bitstoreal(b));
    end else if (C_HAS_SQRT != 0) begin
      value = a[63] && a[62:0] != 0 ? 64'h7ff8_0000_0000_0000 : $realtobits($sqrt($bitstoreal(a)));
    end else if (C_HAS_RECIP != 0) begin
      value = $realtobits(1.0 / $bitstoreal(a));
    end else if (C_HAS_RECIP_SQRT != 0) begin
      value = a[63] && a[62:0] != 0 ? 64'h7ff8_0000_0000_0000
          : $realtobits(1.0 / $sqrt($bitstoreal(a)));
    end else if (C_HAS_ABSOLUTE != 0) begin
      value = {1'b0, a[62:0]};
    end else if (C_HAS_LOGARITHM != 0) begin
      value = a[63] && a[62:0] != 0 ? 64'h7ff8_0000_0000_0000 : $realtobits($ln($bitstoreal(a)));
    end else if (C_HAS_EXPONENTIAL != 0) begin
      value = $realtobits($exp($bitstoreal(a)));
    end
    if (C_HAS_COMPARE != 0) result_now = compare(a, b, compared);
    else if (C_HAS_FLT_TO_FIX != 0) result_now = to_fixed(a, C_RESULT_WIDTH, C_RESULT_FRACTION_WIDTH);
    else if (C_HAS_FIX_TO_FLT != 0) result_now = from_fixed(a_bits, C_A_WIDTH, C_A_FRACTION_WIDTH);
    else result_now = narrow(value, C_RESULT_WIDTH, C_RESULT_FRACTION_WIDTH);
  end

  logic valid_now, takes, moves;
  assign valid_now = s_axis_a_tvalid && (C_HAS_B == 0 || s_axis_b_tvalid)
      && (C_HAS_C == 0 || s_axis_c_tvalid) && (C_HAS_OPERATION == 0 || s_axis_operation_tvalid);
  assign moves = Flows || !m_axis_result_tvalid || m_axis_result_tready;
  assign takes = moves && valid_now && (C_HAS_ACLKEN == 0 || aclken);
  assign s_axis_a_tready = Flows || takes;
  assign s_axis_b_tready = Flows || takes;
  assign s_axis_c_tready = Flows || takes;
  assign s_axis_operation_tready = Flows || takes;
  assign m_axis_result_tuser = '0;

  logic [ResultWidth-1:0] result;
  if (Latency == 0) begin : gen_at_once
    assign result = ResultWidth'(result_now);
    assign m_axis_result_tvalid = valid_now;
    assign m_axis_result_tlast = s_axis_a_tlast;
  end else begin : gen_registers
    logic [Latency-1:0][ResultWidth-1:0] result_q;
    logic [Latency-1:0] valid_q, last_q;
    always_ff @(posedge aclk) begin
      if ((C_HAS_ACLKEN == 0 || aclken) && moves) begin
        result_q[0] <= ResultWidth'(result_now);
        valid_q[0] <= valid_now;
        last_q[0] <= s_axis_a_tlast;
        for (int unsigned i = 1; i < Latency; i++) begin
          result_q[i] <= result_q[i-1];
          valid_q[i] <= valid_q[i-1];
          last_q[i] <= last_q[i-1];
        end
      end
      if (C_HAS_ARESETN != 0 && !aresetn) valid_q <= '0;
    end
    assign result = result_q[Latency-1];
    assign m_axis_result_tvalid = valid_q[Latency-1];
    assign m_axis_result_tlast = last_q[Latency-1];
  end
  // Bits above a number repeat its sign where it is a whole one; else they are zero.
  if (C_HAS_FLT_TO_FIX != 0) begin : gen_signed
    assign m_axis_result_tdata = C_RESULT_TDATA_WIDTH'($signed(result));
  end else begin : gen_plain
    assign m_axis_result_tdata = C_RESULT_TDATA_WIDTH'(result);
  end

endmodule
