"""Sequences as the kernel nw_pairs has them, their files, and a model of the kernel that is exact."""

from __future__ import annotations

from pathlib import Path

import numpy as np

LETTERS = 64
"""Letters of a sequence."""
SEQUENCE_BYTES = 16
ALPHABET = b"ACGT"
MATCH, MISMATCH, GAP = 1, -1, -1


class SequenceError(ValueError):
    """A file that has no sequences for the kernel; says which and why."""


def pack(letters: np.ndarray) -> np.ndarray:
    """Numbers 0 to 3, a line of 64 per sequence, as 16 bytes each."""
    quads = letters.astype(np.uint8).reshape(len(letters), SEQUENCE_BYTES, 4)
    return quads[..., 0] | quads[..., 1] << 2 | quads[..., 2] << 4 | quads[..., 3] << 6


def unpack(packed: bytes) -> np.ndarray:
    """The reverse: numbers 0 to 3, a line per sequence."""
    quads = np.frombuffer(packed, np.uint8).reshape(-1, SEQUENCE_BYTES, 1) >> np.array([0, 2, 4, 6], np.uint8)
    return (quads & 3).reshape(-1, LETTERS)


def pair_scores(queries: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The recurrence of Needleman and Wunsch, a cell at a time, of so many pairs at once."""
    (count, length), width = queries.shape, targets.shape[1]
    above = [np.full(count, GAP * j, np.int16) for j in range(width + 1)]
    for i in range(length):
        left = np.full(count, GAP * (i + 1), np.int16)
        line = [left]
        for j in range(width):
            diagonal = above[j] + np.where(queries[:, i] == targets[:, j], MATCH, MISMATCH)
            left = np.maximum(diagonal, np.maximum(left, above[j + 1]) + GAP)
            line.append(left)
        above = line
    return above[-1].astype(np.int8)


def scores(queries: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Scores of all pairs, a line per query."""
    shape = (len(queries), len(targets))
    pairs = pair_scores(np.repeat(queries, shape[1], axis=0), np.tile(targets, (shape[0], 1)))
    return pairs.reshape(shape)


def in_order(matrix: np.ndarray, held: int) -> np.ndarray:
    """The matrix of scores in the order of `output`: groups of queries, in a group target after target."""
    groups = [matrix[at : at + held].T.ravel() for at in range(0, len(matrix), held)]
    return np.concatenate(groups) if groups else np.empty(0, np.int8)


def read(path: Path | str) -> np.ndarray:
    """Sequences of a FASTA or plain text file: of each record, its 64-letter parts from its beginning on.

    A record's last letters that fill no part are left out. `SequenceError` if a letter is none of A, C, G, T, or if there is no part.
    """
    records: list[bytearray] = [bytearray()]
    for number, line in enumerate(Path(path).read_bytes().splitlines(), 1):
        if line.startswith((b">", b";")):
            records.append(bytearray())
            continue
        letters = line.strip().upper()
        if other := letters.translate(None, ALPHABET):
            raise SequenceError(f"{path}: line {number}: {chr(other[0])!r} is none of A, C, G and T")
        records[-1] += letters
    whole = b"".join(bytes(record[: len(record) // LETTERS * LETTERS]) for record in records)
    if not whole:
        raise SequenceError(f"{path}: {max(map(len, records))} letters in the longest record: a sequence has {LETTERS}")
    numbers = np.zeros(256, np.uint8)
    numbers[list(ALPHABET)] = range(4)
    return numbers[np.frombuffer(whole, np.uint8)].reshape(-1, LETTERS)


def synthetic(count: int, seed: int = 1) -> np.ndarray:
    """*Synthetic* sequences: every letter equally likely."""
    return np.random.default_rng(seed).integers(0, 4, (count, LETTERS), np.uint8)
