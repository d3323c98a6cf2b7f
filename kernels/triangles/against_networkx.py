"""The exact model of the kernel, which the RTL equals, against networkx: prints how many graphs differ.

    python against_networkx.py [GRAPHS]
"""

from __future__ import annotations

import random as random_module
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import adjacency
import networkx
from adjacency import graphs


def graph_of(any_graph) -> graphs.Graph:
    """Each edge in the direction that it has."""
    ends = list(any_graph.edges())
    return graphs.from_edges(len(any_graph), [s for s, _ in ends], [t for _, t in ends])


def real() -> list:
    """Real graphs that networkx ships, and their triangles as published or counted there."""
    shipped = [networkx.karate_club_graph(), networkx.les_miserables_graph(), networkx.florentine_families_graph()]
    return [networkx.convert_node_labels_to_integers(graph, ordering="sorted") for graph in shipped]


def judge(any_graph) -> int:
    """Triangles of the graph without directions and loops, by networkx, which looks at each vertex by itself."""
    plain = networkx.Graph(any_graph.to_undirected())
    plain.remove_edges_from(list(networkx.selfloop_edges(plain)))
    return sum(networkx.triangles(plain).values()) // 3


def differs(any_graph) -> bool:
    records = adjacency.of(graph_of(any_graph))
    words = records.words.tolist()
    report = adjacency.count(words, words)
    whole = (report.vertices, report.edges, report.outside, report.skipped)
    return report.triangles != judge(any_graph) or whole != (len(any_graph), records.edges, 0, 0)


def reference_wrong(count: int) -> int:
    """Of real graphs and so many random ones, with loops, both directions and repeated edges, those that differ."""
    random = random_module.Random(7)
    wrong = sum(differs(graph) for graph in real())
    for number in range(count):
        vertices = random.randint(1, 30)
        directed = networkx.gnp_random_graph(vertices, random.choice([0.02, 0.1, 0.3, 0.8]), number, directed=True)
        several = networkx.MultiDiGraph(directed)
        ends = list(directed.edges())
        several.add_edges_from(random.choice(ends) for _ in range(len(ends) // 4))
        several.add_edges_from((v, v) for v in range(vertices) if random.randrange(9) == 0)
        wrong += differs(several)
    return wrong


if __name__ == "__main__":
    print(reference_wrong(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
