"""Does pgrnk give, bit for bit, what its definition gives, and what networkx's Google matrix gives?"""

import os
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent / "testing"), str(FOLDER)]

import cocotb
import graph as graphs
import numpy
import pytest
from cocotb.utils import get_sim_time
from kernel_bench import KernelBench
from reference import graph_of, judge, real, reference_wrong

MASK = (1 << 64) - 1


def words(values):
    return b"".join((value & MASK).to_bytes(8, "little") for value in values)


async def run_and_compare(bench, records, edges, weights, base, damping, ranks=False, pause=0):
    """One run, against the exact model; returns what the kernel wrote."""
    flat = [word for record in records for word in record]
    sizes = [8 * len(flat), 8 * len(edges), 8 * len(weights), 8 * len(records), 64]
    at = bench.places(*(max(size, 64) for size in sizes))
    expected = bytearray(bench.memory[:])
    for place, values in zip(at, [flat, edges, weights]):
        text = words(values)
        bench.memory[place : place + len(text)] = text
        expected[place : place + len(text)] = text
    result, report = graphs.iterate(records, edges, weights, base, damping, ranks)
    expected[at[3] : at[3] + sizes[3]] = words(result)
    expected[at[4] : at[4] + 64] = report.bytes()
    names = ["records", "edge_sources", "weights", "next", "output"]
    await bench.run(**dict(zip(names, at)), vertices=len(records), edges=len(edges), sources=len(weights),
                    base=base, damping=damping, ranks=int(ranks), pause=pause)
    bench.expect(expected)
    return result, report


def draw(random, least, most):
    """Numbers of every size, the largest among them."""
    return random.choice([least, most, random.randint(least, most), random.randint(least, min(most, 9))])


def any_case(random, vertices, edges):
    """Numbers that need be no graph's: counts that ask for too much or too little, sources that are not there."""
    weights = [draw(random, 0, MASK) for _ in range(random.randint(1, 2 * vertices + 1))]
    sources = [random.randrange(len(weights)) for _ in range(edges)]
    if random.randrange(3) == 0:
        sources = [random.choice([source, source, len(weights), MASK]) for source in sources]
    left, records = edges, []
    for _ in range(vertices):
        incoming = random.choice([0, 0, 1, random.randint(0, max(left, 0)), min(3, max(left, 0))])
        left -= incoming
        records.append((incoming, draw(random, 0, MASK)))
    if records and random.randrange(8) == 0:
        records[random.randrange(vertices)] = (MASK, 1)
    return records, sources, weights, draw(random, 0, MASK), draw(random, 0, 2**32 - 1)


async def cases(bench, count, most):
    for _ in range(count):
        vertices, edges = bench.random.randint(0, most), bench.random.randint(0, 3 * most)
        case = any_case(bench.random, vertices, edges)
        await run_and_compare(bench, *case, ranks=bench.random.randrange(2) == 1, pause=bench.random.choice([0, 0, 1, 9]))


@cocotb.test()
async def edges_of_rows_and_bursts(dut):
    """Counts around a row, a burst of a stream and a page; none at all."""
    bench = KernelBench(dut, seed=1)
    await bench.reset()
    for vertices, edges in [(0, 0), (0, 9), (1, 0), (1, 1), (4, 8), (5, 9), (64, 127), (65, 129), (257, 513)]:
        await run_and_compare(bench, *any_case(bench.random, vertices, edges))


@cocotb.test()
async def any_numbers(dut):
    bench = KernelBench(dut, seed=2)
    await bench.reset()
    await cases(bench, 40, 24)


@cocotb.test(skip=not os.environ.get("DEEP"))
async def a_thousand_cases(dut):
    bench = KernelBench(dut, seed=6)
    await bench.reset()
    await cases(bench, 1000, 16)


@cocotb.test()
async def any_numbers_with_stalls(dut):
    bench = KernelBench(dut, seed=3)
    await bench.reset()
    bench.stall(seed=3)
    await cases(bench, 12, 24)


@cocotb.test()
async def a_pause_follows_each_edge(dut):
    """Long enough that memory is faster, it alone sets the time of 400 edges: from edge to edge, of vertices that have
    two and of edges that no vertex asks for."""
    bench = KernelBench(dut, seed=5)
    await bench.reset()
    records, edges = [(2, 1)] * 100, [number % 50 for number in range(400)]
    taken = []
    for pause in (40, 140):
        began = get_sim_time("ns")
        await run_and_compare(bench, records, edges, [1] * 50, 0, 1, pause=pause)
        taken.append(get_sim_time("ns") - began)
    cycles = (taken[1] - taken[0]) / 4
    assert abs(cycles - 400 * 100) <= 200, taken


async def iterations(bench, graph, damping, count):
    """So many iterations, each from the weights of the one before; the ranks, as fractions."""
    records = [tuple(map(int, record)) for record in graph.records]
    edges = list(map(int, graph.sources))
    weights = list(map(int, graph.first_weights()))
    dangling = graph.first_dangling()
    for number in range(count):
        base = graphs.base(damping, graph.vertices, dangling)
        weights, report = await run_and_compare(bench, records, edges, weights, base,
                                                graphs.damping_of(damping), number == count - 1)
        dangling = report.dangling
        assert (report.edges, report.out_of_range) == (report.asked_for, 0)
    return numpy.array([rank / graphs.ONE for rank in weights])


@cocotb.test()
async def the_karate_club(dut):
    """Zachary's karate club, the real graph that networkx ships: 34 members, friendships in both directions."""
    bench = KernelBench(dut, seed=4)
    await bench.reset()
    club = real()[0]
    ranks = await iterations(bench, graph_of(club), 0.85, 6)
    assert abs(ranks - judge(club, 0.85, 6)).max() < 1e-9
    assert int(ranks.argmax()) == 33


def test_pgrnk():
    from run import run_cocotb

    run_cocotb("pgrnk", "test_pgrnk", FOLDER)


@pytest.mark.deep
def test_pgrnk_a_thousand_times(monkeypatch):
    from run import run_cocotb

    monkeypatch.setenv("DEEP", "1")
    run_cocotb("pgrnk", "test_pgrnk", FOLDER)


# -- Without RTL: the exact model, which the RTL equals, against networkx ---------------------------


def test_networkx_agrees():
    assert reference_wrong(1000) == 0


# -- Files ------------------------------------------------------------------------------------------


def test_files_are_read(tmp_path):
    sources, targets = [0, 2, 2, 1, 2], [1, 0, 1, 1, 1]
    expected = graphs.from_edges(4, sources, targets)
    assert expected.incoming.tolist() == [1, 4, 0, 0]
    assert expected.outgoing.tolist() == [1, 1, 3, 0]
    assert expected.sources.tolist() == [2, 0, 2, 1, 2]

    def same(name, text, **how):
        path = tmp_path / name
        path.write_text(text)
        graph = graphs.read(path, **how)
        assert (graph.records == expected.records).all() and (graph.sources == expected.sources).all(), name

    lines = [f"{s} {t}" for s, t in zip(sources, targets)]
    same("edges.txt", "# five edges\n" + "\n".join(lines) + "\n", vertices=4)
    ones = [f"{s + 1} {t + 1}" for s, t in zip(sources, targets)]
    head = "%%MatrixMarket matrix coordinate pattern general\n% five\n4 4 5\n"
    same("edges.mtx", head + "\n".join(ones) + "\n")
    mirrored = "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n"
    (tmp_path / "mirrored.mtx").write_text(mirrored)
    assert graphs.read(tmp_path / "mirrored.mtx").sources.tolist() == [0, 1, 0]
    numpy.savez(tmp_path / "edges.npz", indptr=[0, 1, 2, 5, 5], indices=[1, 1, 0, 1, 1], shape=[4, 4])
    graph = graphs.read(tmp_path / "edges.npz")
    assert (graph.records == expected.records).all()


@pytest.mark.parametrize(
    "name, text, named",
    [
        ("a.txt", "0 1\n2\n", "line 2"),
        ("a.txt", "0 x\n", "`x`"),
        ("a.txt", "0 -1\n", "`-1`"),
        ("a.txt", "0 4\n", "vertex 4"),
        ("a.mtx", "0 1\n", "line 1"),
        ("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 3\n1 1\n", "3 entries and has 1"),
        ("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 3\n", "column 3"),
        ("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 3 0\n", "3 columns"),
        ("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n", "before its size"),
        ("a.mtx", f"%%MatrixMarket matrix coordinate pattern general\n{10**12} {10**12} 1\n1 2\n", "this machine has"),
        ("a.mtx", f"%%MatrixMarket matrix coordinate pattern general\n{10**20} {10**20} 1\n1 2\n", "no vertex"),
        ("a.txt", "0 1_0\n", "`1_0`"),
    ],
)
def test_files_that_lie_are_refused(tmp_path, name, text, named):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(graphs.GraphError, match=named):
        graphs.read(path, vertices=4)


@pytest.mark.parametrize("vertex", [10**12, 2**63, 10**19])
def test_a_vertex_that_no_memory_holds_is_refused(tmp_path, vertex):
    """A file of one line, which would take all of the machine's memory."""
    path = tmp_path / "a.txt"
    path.write_text(f"0 {vertex}\n")
    with pytest.raises(graphs.GraphError, match=f"{vertex + 1} vertices and 1 edges take .* bytes: this machine has"):
        graphs.read(path)
    with pytest.raises(graphs.GraphError, match="-1 vertices: 0 at least"):
        graphs.read(path, vertices=-1)


@pytest.mark.parametrize("name", ["a.txt", "a.mtx", "a.npz"])
def test_files_of_another_kind_are_refused(tmp_path, name):
    path = tmp_path / name
    for content in [bytes(range(256)), b"\xff\xfe", b"%%MatrixMarket matrix coordinate pattern general\n\xff"]:
        path.write_bytes(content)
        with pytest.raises(graphs.GraphError, match=name):
            graphs.read(path)


def test_damaged_compressed_rows_are_refused(tmp_path):
    """One byte wrong, at any place: refused, or, where no byte of an array is behind it, read as before."""
    path = tmp_path / "a.npz"
    numpy.savez_compressed(path, indptr=numpy.arange(101), indices=numpy.arange(100), shape=[100, 100])
    whole = path.read_bytes()
    refused = 0
    for at in range(0, len(whole), 11):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            assert graphs.read(path).sources.tolist() == list(range(100))
        except graphs.GraphError as error:
            assert "a.npz" in str(error)
            refused += 1
    assert refused > 20
    path.write_bytes(b"")
    with pytest.raises(graphs.GraphError, match="a.npz: no .npz file of arrays"):
        graphs.read(path)


@pytest.mark.parametrize(
    "change, named",
    [
        ({"indptr": [0, 1]}, "indptr has 2"),
        ({"indptr": [0, 1, 3]}, "says 3 edges"),
        ({"indptr": [0, 2, 1]}, "not falling"),
        ({"indices": [0, 2]}, "0 to 1"),
        ({"shape": [2, 3]}, "as many rows"),
        ({"shape": [-1, -1], "indptr": numpy.zeros(0, int)}, "as many rows"),
        ({"shape": 2}, "`shape`: 0 dimensions"),
        ({"indptr": [0, 1.5, 2]}, "`indptr`: 1 dimensions of float64"),
        ({"indices": [[1, 0]]}, "`indices`: 2 dimensions"),
        ({"format": "csc"}, "format 'csc'"),
        ({"format": ["csr", "csr"]}, "format"),
    ],
)
def test_compressed_rows_that_lie_are_refused(tmp_path, change, named):
    whole = {"indptr": [0, 1, 2], "indices": [1, 0], "shape": [2, 2]}
    numpy.savez(tmp_path / "a.npz", **{**whole, **change})
    with pytest.raises(graphs.GraphError, match=named):
        graphs.read(tmp_path / "a.npz")


# -- Size classes, and what they say of the layout --------------------------------------------------


def test_the_layout_has_the_papers_bytes():
    """Table 1: 54.2 MiB, 3.1 and 35.5 GiB; reuse 1.18 to 1.86 times; 86.0 to 98.5 % reads."""
    reuse, reads = [], []
    for (vertices, edges), gib in zip(graphs.CLASSES.values(), [54.2 / 1024, 3.1, 35.5]):
        total = 32 * vertices + 8 * edges
        read, written = 16 * vertices + 16 * edges, 8 * vertices
        assert abs(total / 2**30 / gib - 1) < 0.01
        reuse.append((read + written) / total)
        reads.append(read / (read + written))
    assert [round(min(reuse), 2), round(max(reuse), 2)] == [1.18, 1.86]
    assert [round(100 * min(reads), 1), round(100 * max(reads), 1)] == [86.0, 98.5]


@pytest.mark.parametrize("name", graphs.CLASSES)
def test_synthetic_graphs_have_the_published_size(name):
    divisor = 16384 if name == "GAP-kron" else 4096
    vertices, edges = (count // divisor for count in graphs.CLASSES[name])
    graph, again = (graphs.synthetic(name, divisor, seed=3) for _ in range(2))
    assert graph.vertices == vertices and 0 <= edges - graph.edges < 2
    assert (graph.sources == again.sources).all() and graph.sources.max() < vertices
    assert int(graph.incoming.sum()) == graph.edges == int(graph.outgoing.sum())
    assert graph.incoming.max() > 20 * graph.edges / vertices, "no hub"
