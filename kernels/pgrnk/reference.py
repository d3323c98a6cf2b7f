"""The exact model of pgrnk, which the RTL equals bit for bit, against networkx: prints how many graphs differ.

    python reference.py [GRAPHS]
"""

from __future__ import annotations

import random as random_module
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import graph as graphs
import networkx
import numpy


def graph_of(directed):
    ends = list(directed.edges())
    return graphs.from_edges(len(directed), [s for s, _ in ends], [t for _, t in ends])


def both_ways(undirected):
    """A graph that a package ships, vertices by number."""
    plain = networkx.Graph(undirected.edges())
    return networkx.DiGraph(networkx.convert_node_labels_to_integers(plain, ordering="sorted"))


def real():
    """Real graphs that networkx ships: Zachary's karate club, and who meets whom in Les Misérables."""
    return [both_ways(networkx.karate_club_graph()), both_ways(networkx.les_miserables_graph())]


def judge(directed, damping, count):
    """Power iteration with networkx's Google matrix, which treats dangling vertices itself."""
    matrix = numpy.asarray(networkx.google_matrix(directed, alpha=damping, nodelist=sorted(directed)))
    ranks = numpy.full(len(directed), 1 / len(directed))
    for _ in range(count):
        ranks = ranks @ matrix
    return ranks


def model_ranks(graph, damping, count):
    records = [tuple(map(int, record)) for record in graph.records]
    edges = list(map(int, graph.sources))
    weights, dangling = list(map(int, graph.first_weights())), graph.first_dangling()
    for number in range(count):
        base = graphs.base(damping, graph.vertices, dangling)
        weights, report = graphs.iterate(records, edges, weights, base, graphs.damping_of(damping),
                                         number == count - 1)
        dangling = report.dangling
    return numpy.array([rank / graphs.ONE for rank in weights])


def differs(directed, damping, count):
    ranks = model_ranks(graph_of(directed), damping, count)
    return not abs(ranks - judge(directed, damping, count)).max() < 1e-9


def reference_wrong(count):
    """Of real graphs and so many random ones, with loops and dangling vertices, those in which the two differ."""
    random = random_module.Random(5)
    wrong = sum(differs(directed, 0.85, 20) for directed in real())
    for number in range(count):
        vertices = random.randint(1, 30)
        directed = networkx.gnp_random_graph(vertices, random.choice([0.02, 0.1, 0.4]), number, directed=True)
        directed.add_edges_from((v, v) for v in range(vertices) if random.randrange(9) == 0)
        wrong += differs(directed, random.choice([0.0, 0.5, 0.85, 0.99]), random.randint(1, 6))
    return wrong


if __name__ == "__main__":
    print(reference_wrong(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
