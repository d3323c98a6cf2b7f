"""Graphs as the kernel pgrnk has them: read, checked, made, and a model of the kernel that is exact.

A graph file is an edge list (`.txt`, `.tsv`, `.el`: a source and a target a line, `#` begins a comment), a Matrix Market
file (`.mtx`: row, column; a pattern, integer or real one, general or symmetric), or compressed rows as scipy and numpy
save them (`.npz` with `indptr`, `indices` and `shape`). Row to column is source to target. What a file says of its size
is held against what it has, before anything runs.
"""

from __future__ import annotations

import dataclasses
import os

import numpy as np

ONE = 1 << 62
"""The rank 1."""
MASK = (1 << 64) - 1
RECORD_BYTES, EDGE_BYTES, WEIGHT_BYTES = 16, 8, 8
MAKING_BYTES = 48
"""Bytes per edge while a synthetic graph is made."""


class GraphError(ValueError):
    """A graph that contradicts itself. The message names the file, the rule, and what there is."""


@dataclasses.dataclass(frozen=True)
class Graph:
    """A directed graph: the incoming edges of each vertex, vertex by vertex."""

    incoming: np.ndarray
    """Incoming edges of each vertex, uint64."""
    outgoing: np.ndarray
    """Outgoing edges of each vertex, uint64."""
    sources: np.ndarray
    """Sources of the incoming edges, uint64."""

    @property
    def vertices(self) -> int:
        return len(self.incoming)

    @property
    def edges(self) -> int:
        return len(self.sources)

    @property
    def records(self) -> np.ndarray:
        """The kernel's records: incoming and outgoing edges of each vertex."""
        return np.stack([self.incoming, self.outgoing], axis=1).astype(np.uint64)

    @property
    def bytes(self) -> int:
        """All of it: records, edges, weights of two iterations."""
        return (RECORD_BYTES + 2 * WEIGHT_BYTES) * self.vertices + EDGE_BYTES * self.edges

    def first_weights(self) -> np.ndarray:
        """Weights of the first iteration: equal ranks over the outgoing edges."""
        rank = ONE // max(self.vertices, 1)
        return rank // np.maximum(self.outgoing, np.uint64(1))

    def first_dangling(self) -> int:
        """The rank of the vertices without outgoing edges, before the first iteration."""
        return int((self.outgoing == 0).sum()) * (ONE // max(self.vertices, 1))


def from_edges(vertices: int, sources, targets) -> Graph:
    """A graph of edges in any order; edges that appear twice count twice."""
    sources = np.asarray(sources, dtype=np.uint64)
    targets = np.asarray(targets, dtype=np.uint64)
    order = np.argsort(targets, kind="stable")
    count = lambda ends: np.bincount(ends.astype(np.int64), minlength=vertices).astype(np.uint64)  # noqa: E731
    return Graph(count(targets), count(sources), sources[order])


def base(damping: float, vertices: int, dangling: int) -> int:
    """The argument `base`: what each vertex gets without edges, of them all and of `dangling` vertices."""
    fraction = damping_of(damping)
    return ((((1 << 32) - fraction) * ONE + fraction * dangling) >> 32) // max(vertices, 1)


def damping_of(damping: float) -> int:
    """The argument `damping`."""
    if not 0 <= damping < 1:
        raise GraphError(f"damping = {damping}: must be at least 0 and below 1; 0.85 is usual")
    return min(round(damping * (1 << 32)), 0xFFFF_FFFF)


@dataclasses.dataclass
class Report:
    """The 64 bytes of `output`."""

    dangling: int
    total: int
    edges: int
    asked_for: int
    out_of_range: int

    @classmethod
    def read(cls, row: bytes) -> "Report":
        words = [int.from_bytes(row[at : at + 8], "little") for at in range(0, 40, 8)]
        return cls(*words)

    def bytes(self) -> bytes:
        words = [self.dangling, self.total, self.edges, self.asked_for, self.out_of_range]
        return b"".join((word & MASK).to_bytes(8, "little") for word in words).ljust(64, b"\0")


def iterate(records, edges, weights, base: int, damping: int, ranks: bool):
    """The kernel, exactly: the new weights (or ranks) and its report, of any numbers, in whole numbers of Python."""
    outside = sum(source >= len(weights) for source in edges)
    report = Report(0, 0, len(edges), sum(incoming for incoming, _ in records), outside)
    result, at = [], 0
    for incoming, outgoing in records:
        mine = edges[at : at + incoming]
        at += len(mine)
        total = sum(weights[source] for source in mine if source < len(weights)) & MASK
        rank = (base + (damping * total >> 32)) & MASK
        report.total += rank
        if outgoing == 0:
            report.dangling += rank
        result.append(rank if ranks or outgoing == 0 else rank // outgoing)
    return result, report


# -- Files ------------------------------------------------------------------------------------------


def read(path: str | os.PathLike, vertices: int | None = None) -> Graph:
    """A graph from a file, by its extension; of an edge list, `vertices` says how many there are."""
    name = os.fspath(path)
    if vertices is not None and vertices < 0:
        raise GraphError(f"{name}: {vertices} vertices: 0 at least")
    try:
        if name.endswith(".mtx"):
            return _read_matrix_market(name)
        if name.endswith(".npz"):
            return _read_compressed(name)
        return _read_edge_list(name, vertices)
    except UnicodeDecodeError as error:
        raise GraphError(f"{name}: no text: {error}") from error
    except MemoryError as error:
        raise GraphError(f"{name}: larger than the memory of this machine") from error


def _whole(name: str, line: int, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 20):
        raise GraphError(f"{name}: line {line}: `{text}` is no vertex: vertices are whole numbers from 0")
    return int(text)


def check_size(name: str, vertices: int, edges: int, edge_bytes: int = EDGE_BYTES) -> None:
    """Refuses a graph that this machine cannot hold, before an array is made: a file of one line may name any vertex."""
    wanted = (RECORD_BYTES + 2 * WEIGHT_BYTES) * vertices + edge_bytes * edges
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if wanted > there:
        raise GraphError(f"{name}: {vertices} vertices and {edges} edges take {wanted} bytes: this machine has {there}")


def _read_edge_list(name: str, vertices: int | None) -> Graph:
    sources, targets = [], []
    with open(name, encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            words = line.split("#", 1)[0].replace(",", " ").split()
            if not words:
                continue
            if len(words) < 2:
                raise GraphError(f"{name}: line {number}: one number: an edge has a source and a target")
            sources.append(_whole(name, number, words[0]))
            targets.append(_whole(name, number, words[1]))
    most = max(sources + targets, default=-1)
    if vertices is not None and most >= vertices:
        raise GraphError(f"{name}: an edge has vertex {most}, and there are {vertices}: 0 to {vertices - 1}")
    count = most + 1 if vertices is None else vertices
    check_size(name, count, len(sources))
    return from_edges(count, sources, targets)


def _read_matrix_market(name: str) -> Graph:
    with open(name, encoding="utf-8-sig") as file:
        head = file.readline().lower().split()
        if len(head) < 5 or head[:3] != ["%%matrixmarket", "matrix", "coordinate"]:
            raise GraphError(f"{name}: line 1: `%%MatrixMarket matrix coordinate ...` is wanted")
        if head[3] not in ("pattern", "integer", "real") or head[4] not in ("general", "symmetric"):
            raise GraphError(f"{name}: a {head[3]} {head[4]} matrix: pattern, integer or real, general or symmetric")
        number, size = 1, None
        sources, targets = [], []
        for number, line in enumerate(file, 2):
            words = line.split()
            if not words or words[0].startswith("%"):
                continue
            if size is None:
                if len(words) != 3:
                    raise GraphError(f"{name}: line {number}: rows, columns and entries are wanted")
                size = [_whole(name, number, word) for word in words]
                continue
            if len(words) < 2:
                raise GraphError(f"{name}: line {number}: a row and a column are wanted")
            sources.append(_whole(name, number, words[0]) - 1)
            targets.append(_whole(name, number, words[1]) - 1)
    if size is None:
        raise GraphError(f"{name}: it ends before its size")
    rows, columns, entries = size
    if rows != columns:
        raise GraphError(f"{name}: {rows} rows and {columns} columns: a graph has as many of both")
    if len(sources) != entries:
        raise GraphError(f"{name}: it says {entries} entries and has {len(sources)}")
    if sources and not (min(sources + targets) >= 0 and max(sources + targets) < rows):
        wrong = next(n for n in sources + targets if not 0 <= n < rows)
        raise GraphError(f"{name}: an entry has row or column {wrong + 1}: 1 to {rows}")
    check_size(name, rows, entries)
    if head[4] == "symmetric":
        mirrored = [(t, s) for s, t in zip(sources, targets) if s != t]
        sources += [s for s, _ in mirrored]
        targets += [t for _, t in mirrored]
    return from_edges(rows, sources, targets)


def _arrays(name: str) -> dict[str, np.ndarray]:
    """The arrays of a .npz file."""
    try:
        with np.load(name, allow_pickle=False) as file:
            return dict(file)
    except OSError:
        raise
    except Exception as error:  # of a damaged file numpy, zipfile and zlib each raise their own
        raise GraphError(f"{name}: no .npz file of arrays: {error}") from error


def _read_compressed(name: str) -> Graph:
    file = _arrays(name)
    for key in ("indptr", "indices", "shape"):
        if key not in file:
            raise GraphError(f"{name}: no `{key}`: compressed rows have indptr, indices and shape")
        if file[key].ndim != 1 or file[key].dtype.kind not in "iu":
            raise GraphError(f"{name}: `{key}`: {file[key].ndim} dimensions of {file[key].dtype}: must be one of integers")
    kind = file.get("format", np.array("csr"))
    if kind.shape != () or kind.item() not in (b"csr", "csr"):
        raise GraphError(f"{name}: format {kind.tolist()!r}: save it as csr")
    indptr, indices = file["indptr"].astype(np.int64), file["indices"].astype(np.int64)
    shape = [int(n) for n in file["shape"]]
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] < 0:
        raise GraphError(f"{name}: shape {shape}: a graph has as many rows as columns")
    vertices = shape[0]
    if len(indptr) != vertices + 1 or indptr[0] != 0 or (np.diff(indptr) < 0).any():
        raise GraphError(f"{name}: indptr has {len(indptr)} numbers: {vertices + 1} are wanted, from 0 and not falling")
    if indptr[-1] != len(indices):
        raise GraphError(f"{name}: indptr says {indptr[-1]} edges and indices has {len(indices)}")
    if len(indices) and not (0 <= indices.min() and indices.max() < vertices):
        raise GraphError(f"{name}: indices reach from {indices.min()} to {indices.max()}: 0 to {vertices - 1}")
    return from_edges(vertices, np.repeat(np.arange(vertices), np.diff(indptr)), indices)


# -- Synthetic graphs of the paper's size classes ---------------------------------------------------

CLASSES = {
    # Vertices and edges (entries of the matrix) of the SuiteSparse Matrix Collection.
    "webbase-1M": (1_000_005, 3_105_536),
    "mawi_201512020030": (68_863_315, 143_414_960),
    "GAP-kron": (134_217_726, 4_223_264_644),
}


def synthetic(name: str, divisor: int = 1, seed: int = 1) -> Graph:
    """A *synthetic* graph with the vertices and edges of a published one over `divisor`, and its form:

    webbase-1M: in-degrees by a power law of exponent 2.1, out-degrees of 2.72 (Broder et al., Graph structure in the
    Web, 2000). mawi_201512020030: as symmetric as the original, a star, of which the edges beyond a tree's join random
    pairs: the original has 4 % more than a tree. GAP-kron: the generator of Graph 500, initiator 0.57, 0.19, 0.19.
    """
    vertices, edges = (count // divisor for count in CLASSES[name])
    if vertices < 16:
        raise GraphError(f"{name}: {vertices} vertices are left of it: a divisor of at most {CLASSES[name][0] // 16}")
    check_size(name, vertices, edges, MAKING_BYTES)
    random = np.random.default_rng(seed)
    if name == "mawi_201512020030":
        leaves = np.arange(1, vertices)
        pairs = random.integers(0, vertices, (2, (edges - 2 * len(leaves)) // 2))
        hub = np.zeros_like(leaves)
        sources = np.concatenate([hub, leaves, pairs[0], pairs[1]])
        targets = np.concatenate([leaves, hub, pairs[1], pairs[0]])
        return from_edges(vertices, sources, targets)
    if name == "GAP-kron":
        bits = max(vertices - 1, 1).bit_length()
        sources, targets = np.zeros(edges, np.int64), np.zeros(edges, np.int64)
        for _ in range(bits):
            draw = random.random(edges)
            row = draw >= 0.57 + 0.19
            sources = 2 * sources + row
            targets = 2 * targets + np.where(row, draw >= 0.57 + 0.19 + 0.19, draw >= 0.57)
        shuffle = random.permutation(1 << bits) % vertices
        return from_edges(vertices, shuffle[sources], shuffle[targets])
    draws = [_power_law(random, vertices, edges, exponent) for exponent in (2.72, 2.1)]
    return from_edges(vertices, *draws)


def _power_law(random, vertices: int, edges: int, exponent: float) -> np.ndarray:
    """Ends of edges whose degrees follow a power law: the vertex of rank r has a share of r^(-1/(exponent - 1))."""
    shares = np.arange(1, vertices + 1) ** (-1 / (exponent - 1))
    places = random.permutation(vertices)
    return places[random.choice(vertices, edges, p=shares / shares.sum())]
