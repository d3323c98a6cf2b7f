"""Ranks the vertices of a graph on a card: PageRank by the kernel pgrnk.

    python pagerank.py edges.txt                     an edge list: a source and a target a line
    python pagerank.py web.mtx --simulated           a Matrix Market file, on the real shell RTL, with its times
    python pagerank.py graph.npz --check             compressed rows of scipy or numpy, held against the exact model
    python pagerank.py --synthetic webbase-1M --divisor 1024

Vertices without outgoing edges give their rank to all. It ends after --iterations, or when no rank changes by more than
--tolerance over the count of vertices.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import tombolo

try:
    import numpy as np
except ImportError:
    sys.exit("pagerank: numpy is missing: pip install 'tombolo-fpga[numpy]'")

sys.path.insert(0, str(Path(__file__).resolve().parent))

import graph as graphs  # noqa: E402


def open_card(simulated: bool) -> tombolo.Card:
    if simulated:
        return tombolo.Card.simulated(progress=lambda step: print(step, file=sys.stderr))
    return tombolo.Card.functional()


def pagerank(card: tombolo.Card, graph: graphs.Graph, damping: float, most: int, tolerance: float) -> np.ndarray:
    """The rank of each vertex, in 2^-62."""
    weights, dangling = graph.first_weights(), graph.first_dangling()
    next_weights, output = np.empty_like(weights), np.zeros(8, np.uint64)
    ranks = np.full(graph.vertices, graphs.ONE // graph.vertices, np.uint64)
    out = np.maximum(graph.outgoing, np.uint64(1))
    with card.create_space() as space:
        slot = card.load(Path(__file__).resolve().parent, space)
        for number in range(most):
            slot.run(records=graph.records, edge_sources=graph.sources, weights=weights, next=next_weights,
                     output=output, vertices=graph.vertices, edges=graph.edges, sources=graph.vertices,
                     base=graphs.base(damping, graph.vertices, dangling), damping=graphs.damping_of(damping), ranks=1,
                     pause=0)
            report = graphs.Report.read(output.tobytes())
            if report.out_of_range or report.asked_for != report.edges:
                raise graphs.GraphError(f"the card found another graph than was checked: {report}")
            changed = np.abs(next_weights.astype(np.float64) - ranks.astype(np.float64)).max() / graphs.ONE
            ranks, dangling = next_weights.copy(), report.dangling
            # What a weight is: a rank over its outgoing edges. The kernel divides alike with `ranks` 0.
            weights = ranks // out
            if changed <= tolerance / graph.vertices:
                print(f"{number + 1} iterations, no rank changes by more than {changed:.1e}", file=sys.stderr)
                return ranks
    print(f"{most} iterations, ranks change by up to {changed:.1e}", file=sys.stderr)
    return ranks


def model(graph: graphs.Graph, damping: float, count: int) -> list[int]:
    """The same in whole numbers of Python."""
    records, edges = [tuple(map(int, r)) for r in graph.records], list(map(int, graph.sources))
    ranks, dangling = [], graph.first_dangling()
    weights = list(map(int, graph.first_weights()))
    for _ in range(count):
        ranks, report = graphs.iterate(records, edges, weights, graphs.base(damping, graph.vertices, dangling),
                                       graphs.damping_of(damping), True)
        weights = [rank // max(int(outgoing), 1) for rank, outgoing in zip(ranks, graph.outgoing)]
        dangling = report.dangling
    return ranks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", nargs="?", help="edge list, .mtx or .npz")
    parser.add_argument("--vertices", type=int, help="of an edge list: how many there are")
    parser.add_argument("--synthetic", choices=list(graphs.CLASSES), help="a synthetic graph of a published size")
    parser.add_argument("--divisor", type=int, default=1024, help="its size over the published one")
    parser.add_argument("--damping", type=float, default=0.85)
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--tolerance", type=float, default=1e-6)
    parser.add_argument("--top", type=int, default=10, help="how many ranks are printed")
    parser.add_argument("--simulated", action="store_true", help="on the real shell RTL, and report the time")
    parser.add_argument("--check", action="store_true", help="hold the ranks against the exact model")
    given = parser.parse_args()
    if (given.graph is None) == (given.synthetic is None):
        parser.error("a graph file or --synthetic is wanted")
    if given.iterations < 1 or given.divisor < 1 or given.top < 0:
        parser.error("--iterations and --divisor are at least 1, --top 0")
    try:
        if given.synthetic:
            graph = graphs.synthetic(given.synthetic, given.divisor)
        else:
            graph = graphs.read(given.graph, given.vertices)
        if graph.vertices == 0:
            raise graphs.GraphError(f"{given.graph}: no vertex")
        graphs.damping_of(given.damping)
    except (OSError, graphs.GraphError) as error:
        sys.exit(f"pagerank: {error}")
    print(f"{graph.vertices} vertices, {graph.edges} edges, {graph.bytes} bytes", file=sys.stderr)
    with open_card(given.simulated) as card:
        tolerance = -1.0 if given.check else given.tolerance
        ranks = pagerank(card, graph, given.damping, given.iterations, tolerance)
        if given.simulated:
            print(card.report())
    for vertex in np.argsort(-ranks.astype(np.float64), kind="stable")[: given.top]:
        print(f"{vertex}\t{int(ranks[vertex]) / graphs.ONE:.9f}")
    if given.check:
        wrong = sum(int(a) != b for a, b in zip(ranks, model(graph, given.damping, given.iterations)))
        print(f"{wrong} of {graph.vertices} ranks differ from the exact model", file=sys.stderr)
        sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
