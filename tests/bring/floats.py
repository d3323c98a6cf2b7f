"""Pairs of single numbers, and what arithmetic of IEEE 754 makes of them: `floats.py make FILE`, `floats.py judge IN OUT`."""

import math
import random
import struct
import sys
from pathlib import Path

BEAT = 64
NAN = "nan"


def single(value: float) -> bytes | str:
    """The nearest single number; denormals are zeroes, as AMD's operator has it."""
    if math.isnan(value):
        return NAN
    try:
        near = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        near = math.copysign(math.inf, value)
    if abs(near) < 2.0**-126:
        near = math.copysign(0.0, value)
    return struct.pack("<f", near)


def double(value: float) -> bytes | str:
    """The bytes of a double number."""
    if math.isnan(value):
        return NAN
    return struct.pack("<d", math.copysign(0.0, value) if abs(value) < 2.0**-1022 else value)


def flushed(value: float, least: float) -> float:
    """An operand as the operator takes it."""
    return math.copysign(0.0, value) if abs(value) < least else value


def divided(a: float, b: float) -> float:
    """a / b with the infinities of IEEE."""
    if b != 0:
        return a / b
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def whole(a: float) -> bytes:
    """The nearest whole number of 32 bits; what is none, or does not fit, is at an end."""
    if math.isnan(a):
        return struct.pack("<i", -(2**31))
    rounded = round(a) if math.isfinite(a) else math.copysign(2.0**40, a)
    return struct.pack("<i", int(max(-(2**31), min(2**31 - 1, rounded))))


def expected(beat: bytes) -> list[tuple[int, bytes | str]]:
    """Offsets in a beat of the output, and the bytes there."""
    a, b = (flushed(value, 2.0**-126) for value in struct.unpack("<ff", beat))
    (d,) = (flushed(value, 2.0**-1022) for value in struct.unpack("<d", beat))
    root = math.nan if math.isnan(a) or a < 0 else math.sqrt(a)
    return [
        (0, single(a + b)),
        (4, single(a * b)),
        (8, single(divided(a, b))),
        (12, single(root)),
        (16, whole(a)),
        (20, single(float(struct.unpack("<i", beat[:4])[0]))),
        (24, bytes([a < b, a == b])),
        (28, double(d * d)),
        (36, single(d)),
        (40, double(a)),
    ]


def is_right(found: bytes, wanted: bytes | str, at: int) -> bool:
    """Whether bytes are as wanted: a not-a-number may be any."""
    if wanted != NAN:
        return found == wanted
    return math.isnan(struct.unpack("<d" if at in (28, 40) else "<f", found)[0])


def main() -> None:
    """Makes numbers, or judges results."""
    if sys.argv[1] == "make":
        chance = random.Random(5)
        special = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, math.inf, -math.inf, math.nan, 3e38, 2e-38, 2.0**31]
        pairs = [(a, b) for a in special for b in special]
        near = [chance.uniform(-4, 4) * 10 ** chance.randint(-12, 12) for _ in range(1000)]
        pairs += [(a, a * chance.choice([1.0, -1.0, 1.0000001, 0.3])) for a in near]
        beats = [struct.pack("<ff", a, b) for a, b in pairs] + [chance.randbytes(8) for _ in range(1000)]
        Path(sys.argv[2]).write_bytes(b"".join(beats))
        return
    given, found = (Path(name).read_bytes() for name in sys.argv[2:4])
    count = len(given) // 8
    assert count > 2000 and len(found) == BEAT * count, (count, len(found))
    for number in range(count):
        beat, out = given[8 * number :][:8], found[BEAT * number :][:BEAT]
        for at, wanted in expected(beat):
            size = 8 if at in (28, 40) else 2 if at == 24 else 4
            is_good = is_right(out[at : at + size], wanted, at)
            assert is_good, f"beat {number} ({beat.hex()}), byte {at}: {out[at : at + size].hex()}, not {wanted!r}"


if __name__ == "__main__":
    main()
