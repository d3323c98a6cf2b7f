"""AES-256 in counter mode as FIPS 197 and SP 800-38A have it: the judge of ``tombolo demo``, which shares nothing with
the kernel's RTL nor with its functional model. Slow, and not for secrets."""

from __future__ import annotations

from typing import List

_ROUNDS = 14


def _times2(value: int) -> int:
    """Multiplies by x in GF(2^8)."""
    return (value << 1 ^ (0x11B if value & 0x80 else 0)) & 0xFF


def _sbox() -> List[int]:
    """The multiplicative inverse, then the affine map."""
    # Powers of the generator 3 and of its inverse, side by side, meet every element with its inverse.
    box = [0x63] * 256
    power = inverse = 1
    while True:
        power ^= _times2(power)
        for shift in (1, 2, 4):
            inverse ^= inverse << shift & 0xFF
        inverse ^= 0x09 if inverse & 0x80 else 0
        turned = inverse | inverse << 8
        box[power] = 0x63 ^ (turned ^ turned >> 7 ^ turned >> 6 ^ turned >> 5 ^ turned >> 4) & 0xFF
        if power == 1:
            return box


_SBOX = _sbox()
# SubBytes and MixColumns of the byte in row 0 of a column; other rows are rotations.
_TABLE = [_times2(s) << 24 | s << 16 | s << 8 | _times2(s) ^ s for s in _SBOX]
_TABLES = [[t >> 8 * row | (t << 32 - 8 * row) & 0xFFFFFFFF for t in _TABLE] for row in range(4)]


def _sub_word(word: int) -> int:
    return _SBOX[word >> 24] << 24 | _SBOX[word >> 16 & 255] << 16 | _SBOX[word >> 8 & 255] << 8 | _SBOX[word & 255]


def _expand(key: bytes) -> List[int]:
    """The words of the round keys."""
    words = [int.from_bytes(key[at : at + 4], "big") for at in range(0, 32, 4)]
    constant = 1
    while len(words) < 4 * (_ROUNDS + 1):
        word = words[-1]
        if len(words) % 8 == 0:
            word = _sub_word((word << 8 | word >> 24) & 0xFFFFFFFF) ^ constant << 24
            constant = _times2(constant)
        elif len(words) % 8 == 4:
            word = _sub_word(word)
        words.append(words[-8] ^ word)
    return words


def _encrypt(block: int, keys: List[int]) -> int:
    t0, t1, t2, t3 = _TABLES
    a, b, c, d = (block >> shift & 0xFFFFFFFF ^ keys[n] for n, shift in enumerate((96, 64, 32, 0)))
    for at in range(4, 4 * _ROUNDS, 4):
        a, b, c, d = (
            t0[a >> 24] ^ t1[b >> 16 & 255] ^ t2[c >> 8 & 255] ^ t3[d & 255] ^ keys[at],
            t0[b >> 24] ^ t1[c >> 16 & 255] ^ t2[d >> 8 & 255] ^ t3[a & 255] ^ keys[at + 1],
            t0[c >> 24] ^ t1[d >> 16 & 255] ^ t2[a >> 8 & 255] ^ t3[b & 255] ^ keys[at + 2],
            t0[d >> 24] ^ t1[a >> 16 & 255] ^ t2[b >> 8 & 255] ^ t3[c & 255] ^ keys[at + 3],
        )
    result = 0
    for n, (w, x, y, z) in enumerate(((a, b, c, d), (b, c, d, a), (c, d, a, b), (d, a, b, c))):
        word = w & 0xFF000000 | x & 0xFF0000 | y & 0xFF00 | z & 0xFF
        result = result << 32 | _sub_word(word) ^ keys[4 * _ROUNDS + n]
    return result


def aes256ctr(data: bytes, key: bytes, iv: bytes) -> bytes:
    """Encrypts or decrypts ``data``: a key of 32 bytes, and the first counter of 16."""
    keys, counter = _expand(key), int.from_bytes(iv, "big")
    blocks = range(-(-len(data) // 16))
    stream = b"".join(_encrypt((counter + n) % (1 << 128), keys).to_bytes(16, "big") for n in blocks)
    return (int.from_bytes(data, "big") ^ int.from_bytes(stream[: len(data)], "big")).to_bytes(len(data), "big")
