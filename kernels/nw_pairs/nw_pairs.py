"""Aligns the parts of one DNA file with those of another on a card, by the kernel of that name.

    python nw_pairs.py queries.fa targets.fa              FASTA or plain text: the best target of each query
    python nw_pairs.py queries.fa targets.fa --simulated  on the real shell RTL, with its times
    python nw_pairs.py queries.fa targets.fa --check      compared with the exact model
    python nw_pairs.py --synthetic 32 64                  so many random queries and targets
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import tombolo

try:
    import numpy as np
except ImportError:
    sys.exit("nw_pairs: numpy is missing: pip install 'tombolo-fpga[numpy]'")

sys.path.insert(0, str(Path(__file__).resolve().parent))

import alignment  # noqa: E402


def open_card(simulated: bool) -> tombolo.Card:
    if simulated:
        return tombolo.Card.simulated(progress=lambda step: print(step, file=sys.stderr))
    return tombolo.Card.functional()


def nw_pairs(card: tombolo.Card, queries: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The scores of all pairs, a line per query."""
    output = np.zeros((len(queries), len(targets)), np.int8)
    with card.create_space() as space:
        slot = card.load(Path(__file__).resolve().parent, space)
        slot.run(queries=alignment.pack(queries), targets=alignment.pack(targets), output=output,
                 query_count=len(queries), target_count=len(targets), held_log2=0, pause=0)
    return output


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE", help="queries and targets, FASTA or plain text")
    parser.add_argument("--synthetic", type=int, nargs=2, metavar=("QUERIES", "TARGETS"), help="random sequences")
    parser.add_argument("--simulated", action="store_true", help="on the real shell RTL, and report the time")
    parser.add_argument("--check", action="store_true", help="compare the scores with the exact model")
    given = parser.parse_args()
    if len(given.files) != (0 if given.synthetic else 2):
        parser.error("two files or --synthetic are needed")
    try:
        if given.synthetic:
            if min(given.synthetic) < 1:
                parser.error("--synthetic: 1 at least")
            queries, targets = (alignment.synthetic(count, seed) for seed, count in enumerate(given.synthetic, 1))
        else:
            queries, targets = map(alignment.read, given.files)
    except (OSError, alignment.SequenceError) as error:
        sys.exit(f"nw_pairs: {error}")
    print(f"{len(queries)} queries, {len(targets)} targets", file=sys.stderr)
    with open_card(given.simulated) as card:
        try:
            scores = nw_pairs(card, queries, targets)
        except MemoryError:
            sys.exit(f"nw_pairs: {len(queries) * len(targets)} scores: more than the memory of this machine holds")
        if given.simulated:
            print(card.report())
    for number, (target, score) in enumerate(zip(scores.argmax(axis=1), scores.max(axis=1))):
        print(f"query {number}: target {target}, score {score}")
    if given.check:
        equal = bool((scores == alignment.scores(queries, targets)).all())
        print("as the exact model" if equal else "the exact model has other scores", file=sys.stderr)
        sys.exit(not equal)


if __name__ == "__main__":
    main()
