"""The exact model of the kernel, which the RTL equals, against Biopython: prints how many scores differ.

    python against_biopython.py [PAIRS]
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import alignment
import numpy as np
from Bio import Align


def judge() -> Align.PairwiseAligner:
    aligner = Align.PairwiseAligner(mode="global")
    aligner.match_score, aligner.mismatch_score = alignment.MATCH, alignment.MISMATCH
    aligner.open_gap_score = aligner.extend_gap_score = alignment.GAP
    return aligner


def text(letters: np.ndarray) -> str:
    return bytes(alignment.ALPHABET[letter] for letter in letters).decode()


def related(random: np.random.Generator, sequence: np.ndarray) -> np.ndarray:
    """The sequence with some letters changed, left out and put in, so that a good alignment has gaps."""
    letters = list(sequence)
    for _ in range(random.integers(0, 24)):
        at, letter = random.integers(0, len(letters)), random.integers(0, 4)
        match random.integers(0, 3):
            case 0:
                letters[at] = letter
            case 1:
                letters.insert(at, letter)
            case _:
                del letters[at]
    letters += list(random.integers(0, 4, alignment.LETTERS))
    return np.array(letters[: alignment.LETTERS], np.uint8)


def reference_wrong(count: int) -> int:
    """Of so many random pairs, half of them related, those whose scores differ."""
    random, aligner = np.random.default_rng(11), judge()
    queries = alignment.synthetic(count, seed=12)
    targets = np.array([related(random, query) if number % 2 else queries[number - 1]
                        for number, query in enumerate(queries)]).reshape(queries.shape)
    ours = alignment.pair_scores(queries, targets)
    return sum(score != aligner.score(text(query), text(target))
               for query, target, score in zip(queries, targets, ours))


if __name__ == "__main__":
    print(reference_wrong(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
