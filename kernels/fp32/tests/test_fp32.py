"""Do the float32 modules give numpy's bits, for all pairs of edge cases and more than 100,000 random pairs?"""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER.parents[1] / "testing")]

import cocotb
import fp32
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

LANES, MULTIPLY_LATENCY, ADD_LATENCY = 16, 3, 4
RANDOM_PAIRS = 120_000

# Zero, subnormal and smallest normal numbers, around 1 and 2, even and odd mantissas, the largest ones, infinity, NaN.
EDGES = [0x00000000, 0x00000001, 0x00000002, 0x003FFFFF, 0x00400000, 0x007FFFFF, 0x00800000, 0x00800001, 0x00FFFFFF,
         0x01000000, 0x01000001, 0x0C000000, 0x1F800000, 0x1FFFFFFF, 0x20000000, 0x33800000, 0x33800001, 0x34000000,
         0x3EFFFFFF, 0x3F000000, 0x3F000001, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x3F800002, 0x3FFFFFFF, 0x40000000,
         0x4B000000, 0x4B000001, 0x4B7FFFFF, 0x4B800000, 0x5F7FFFFF, 0x7F000000, 0x7F7FFFFE, 0x7F7FFFFF, 0x7F800000,
         0x7F800001, 0x7FC00000, 0x7FFFFFFF]


def edge_pairs():
    """All pairs of edge cases with all signs."""
    values = np.array(EDGES + [edge | 1 << 31 for edge in EDGES], np.uint32)
    a, b = np.meshgrid(values, values)
    return a.ravel(), b.ravel()


def random_pairs(count):
    """A quarter of any bits; of near exponents, for cancellation and ties; of products around 2^-126; of few fraction bits."""
    random = np.random.default_rng(11)
    a, b = random.integers(0, 1 << 32, (2, count), np.uint32)
    kind = np.arange(count) % 4
    exponent_a = a >> 23 & 0xFF
    near = np.clip(exponent_a.astype(int) + random.integers(-27, 28, count), 0, 255)
    small = np.clip(127 - exponent_a.astype(int) + random.integers(-2, 3, count), 0, 255)
    exponent_b = np.choose(kind, [b >> 23 & 0xFF, near, small, near]).astype(np.uint32)
    b = b & 0x807FFFFF | exponent_b << 23
    few = np.where(kind == 3, ~np.uint32(0) << random.integers(0, 24, count).astype(np.uint32), ~np.uint32(0))
    return a & few, b & few


def packed(values):
    return int.from_bytes(values.astype("<u4").tobytes(), "little")


async def compare(dut, a, b):
    """A group of pairs per cycle; the results of both modules leave in the same order."""
    short = -len(a) % LANES
    a, b = (np.append(values, np.zeros(short, np.uint32)).reshape(-1, LANES) for values in (a, b))
    cocotb.start_soon(Clock(dut.clk_i, 4, unit="ns").start())
    found = {"products": [], "sums": []}
    for cycle in range(len(a) + ADD_LATENCY):
        await FallingEdge(dut.clk_i)
        # Inputs of cycle n are sampled at the edge that follows.
        if MULTIPLY_LATENCY <= cycle < len(a) + MULTIPLY_LATENCY:
            found["products"].append(int(dut.products_o.value))
        if cycle >= ADD_LATENCY:
            found["sums"].append(int(dut.sums_o.value))
        if cycle < len(a):
            dut.a_i.value, dut.b_i.value = packed(a[cycle]), packed(b[cycle])
    for name, operation in [("products", fp32.multiply), ("sums", fp32.add)]:
        rows = [row.to_bytes(4 * LANES, "little") for row in found[name]]
        results = np.frombuffer(b"".join(rows), "<u4").reshape(-1, LANES)
        expected = fp32.bits(operation(a.view(np.float32), b.view(np.float32)))
        wrong = np.argwhere(results != expected)
        if len(wrong):
            at = tuple(wrong[0])
            raise AssertionError(f"{len(wrong)} wrong {name}: of {a[at]:08x} and {b[at]:08x}: {results[at]:08x}, "
                                 f"numpy has {expected[at]:08x}")


@cocotb.test()
async def edge_cases_and_random_pairs_have_numpys_bits(dut):
    edges, pairs = edge_pairs(), random_pairs(RANDOM_PAIRS)
    await compare(dut, *(np.concatenate(both) for both in zip(edges, pairs, strict=True)))


def test_fp32():
    from run import run_modules

    run_modules("fp32", "fp32_test_top", [*sorted(FOLDER.parent.glob("*.sv")), FOLDER / "fp32_test_top.sv"], "test_fp32", FOLDER)


def test_numpy_rounds_as_exact_arithmetic():
    """float64 holds every product of two float32 numbers, and rounds it once to float32."""
    a, b = (values.view(np.float32) for values in random_pairs(20_000))
    finite = np.isfinite(a) & np.isfinite(b)
    a, b = fp32.flush(a[finite]), fp32.flush(b[finite])
    with np.errstate(over="ignore"):
        exact = fp32.flush((a.astype(float) * b.astype(float)).astype(np.float32))
    assert (fp32.bits(fp32.multiply(a, b)) == fp32.bits(exact)).all()
