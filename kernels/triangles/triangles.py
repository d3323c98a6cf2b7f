"""Counts the triangles of a graph on a card, by the kernel of that name.

    python triangles.py edges.txt                an edge list: two vertices a line
    python triangles.py web.mtx --simulated      a Matrix Market file, on the real shell RTL, with its times
    python triangles.py graph.npz --check        compressed rows of scipy or numpy, held against the exact model
    python triangles.py --synthetic 1048576      a synthetic graph of FSRF's form in so many bytes

Edges have no direction; loops and repeated edges are dropped.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import tombolo

try:
    import numpy as np
except ImportError:
    sys.exit("triangles: numpy is missing: pip install 'tombolo-fpga[numpy]'")

sys.path.insert(0, str(Path(__file__).resolve().parent))

import adjacency  # noqa: E402
from adjacency import graphs  # noqa: E402


def open_card(simulated: bool) -> tombolo.Card:
    if simulated:
        return tombolo.Card.simulated(progress=lambda step: print(step, file=sys.stderr))
    return tombolo.Card.functional()


def triangles(card: tombolo.Card, graph: adjacency.Adjacency) -> adjacency.Report:
    """What the kernel reports of a whole graph."""
    output = np.zeros(8, np.uint64)
    with card.create_space() as space:
        slot = card.load(Path(__file__).resolve().parent, space)
        slot.run(records=graph.words, graph=graph.words, output=output, record_words=len(graph.words),
                 graph_words=len(graph.words), under_way=0, pause=0)
    report = adjacency.Report.read(output.tobytes())
    found = (report.vertices, report.edges, report.outside, report.skipped)
    if found != (len(graph.places), graph.edges, 0, 0):
        raise graphs.GraphError(f"the card found another graph than was checked: {report}")
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", nargs="?", help="edge list, .mtx or .npz")
    parser.add_argument("--vertices", type=int, help="of an edge list: how many there are")
    parser.add_argument("--synthetic", type=int, metavar="BYTES", help="a synthetic graph of FSRF's form")
    parser.add_argument("--simulated", action="store_true", help="on the real shell RTL, and report the time")
    parser.add_argument("--check", action="store_true", help="hold the count against the exact model")
    given = parser.parse_args()
    if (given.graph is None) == (given.synthetic is None):
        parser.error("a graph file or --synthetic is wanted")
    try:
        if given.synthetic is not None:
            graph = adjacency.of(adjacency.synthetic(given.synthetic))
        else:
            graph = adjacency.of(graphs.read(given.graph, given.vertices))
        if len(graph.places) == 0:
            raise graphs.GraphError(f"{given.graph}: no vertex")
    except (OSError, graphs.GraphError) as error:
        sys.exit(f"triangles: {error}")
    print(f"{len(graph.places)} vertices, {graph.edges} edges, {4 * len(graph.words)} bytes", file=sys.stderr)
    with open_card(given.simulated) as card:
        report = triangles(card, graph)
        if given.simulated:
            print(card.report())
    print(report.triangles)
    if given.check:
        words = graph.words.tolist()
        expected = adjacency.count(words, words)
        print("as the exact model" if report == expected else f"the exact model has {expected}", file=sys.stderr)
        sys.exit(report != expected)


if __name__ == "__main__":
    main()
