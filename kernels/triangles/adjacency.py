"""Graphs as the kernel triangles has them: made, and a model of the kernel that is exact.

Graphs are read and checked by `kernels/pgrnk/graph.py`. Here they are undirected and simple: edges in both directions are
one, loops and repeated edges are dropped.
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "pgrnk"))

import graph as graphs  # noqa: E402

WORD_BYTES = 4
LONGEST = 8192
"""Entries of a list that the kernel holds."""
MOST_WORDS = 1 << 32
"""Words that an entry of 4 bytes can name."""


@dataclasses.dataclass(frozen=True)
class Adjacency:
    """Records of all vertices, by ascending degree: each edge is stored once, at the end of the lower degree."""

    words: np.ndarray
    """The records, uint32."""
    places: np.ndarray
    """The place of each record in `words`, in the order of the records."""
    vertices: np.ndarray
    """The vertex of each record, by its number in the file."""

    @property
    def edges(self) -> int:
        return len(self.words) - len(self.places)


def of(graph: graphs.Graph) -> Adjacency:
    """The records of a graph; `GraphError` if the kernel cannot hold it."""
    count = graph.vertices
    targets = np.repeat(np.arange(count, dtype=np.int64), graph.incoming.astype(np.int64))
    sources = graph.sources.astype(np.int64)
    low, high = np.minimum(sources, targets), np.maximum(sources, targets)
    keys = np.unique((low * count + high)[low != high])
    low, high = keys // max(count, 1), keys % max(count, 1)
    degrees = np.bincount(low, minlength=count) + np.bincount(high, minlength=count)
    vertices = np.argsort(degrees, kind="stable")
    rank = np.empty(count, np.int64)
    rank[vertices] = np.arange(count)
    first, second = np.minimum(rank[low], rank[high]), np.maximum(rank[low], rank[high])
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    lengths = np.bincount(first, minlength=count)
    if len(lengths) and lengths.max() > LONGEST:
        vertex = vertices[int(lengths.argmax())]
        raise graphs.GraphError(f"vertex {vertex}: {lengths.max()} neighbours of its degree or more: at most {LONGEST}")
    places = np.arange(count) + np.cumsum(lengths) - lengths
    size = count + len(first)
    if size > MOST_WORDS:
        raise graphs.GraphError(f"{count} vertices and {len(first)} edges: at most {MOST_WORDS} together")
    words = np.empty(size, np.uint32)
    words[places] = lengths
    entry = np.arange(len(first)) - (np.cumsum(lengths) - lengths)[first]
    words[places[first] + 1 + entry] = places[second]
    return Adjacency(words, places, vertices)


@dataclasses.dataclass
class Report:
    """The 64 bytes of `output`."""

    triangles: int = 0
    vertices: int = 0
    edges: int = 0
    outside: int = 0
    skipped: int = 0

    @classmethod
    def read(cls, row: bytes) -> "Report":
        return cls(*(int.from_bytes(row[at : at + 8], "little") for at in range(0, 40, 8)))

    def bytes(self) -> bytes:
        words = dataclasses.astuple(self)
        return b"".join(word.to_bytes(8, "little") for word in words).ljust(64, b"\0")


def count(records: list[int], graph: list[int], longest: int = LONGEST) -> Report:
    """The kernel, exactly, of any numbers."""
    report, at = Report(), 0
    while at < len(records):
        wanted = records[at]
        there = records[at + 1 : at + 1 + wanted]
        at += 1 + len(there)
        kept = there[:longest]
        report.vertices += 1
        report.edges += len(kept)
        report.skipped += wanted - len(kept)
        report.outside += sum(place >= len(graph) for place in kept)
        for number, place in enumerate(kept[:-1]):
            if place < len(graph):
                theirs = graph[place + 1 : place + 1 + graph[place]]
                report.triangles += _common(kept[number + 1 :], theirs)
    return report


def _common(mine: list[int], theirs: list[int]) -> int:
    """Numbers that a merge of both finds in both."""
    found = i = j = 0
    while i < len(mine) and j < len(theirs):
        a, b = mine[i], theirs[j]
        found += a == b
        i += a <= b
        j += b <= a
    return found


def synthetic(set_bytes: int, seed: int = 1) -> graphs.Graph:
    """A *synthetic* graph of FSRF's form in so many bytes: edges join random pairs, ten a vertex, a degree of 20."""
    vertices = set_bytes // (WORD_BYTES * 11)
    if vertices < 32:
        raise graphs.GraphError(f"{set_bytes} bytes: {32 * 44} at least")
    graphs.check_size("synthetic", vertices, 10 * vertices, graphs.MAKING_BYTES)
    random = np.random.default_rng(seed)
    pairs = random.integers(0, vertices, (2, 10 * vertices))
    return graphs.from_edges(vertices, pairs[0], pairs[1])
