"""Does the kernel count, exactly, what its definition counts, and what networkx counts?"""

import os
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent / "testing"), str(FOLDER)]

import adjacency
import cocotb
import pytest
from adjacency import graphs
from against_networkx import graph_of, judge, real, reference_wrong
from cocotb.utils import get_sim_time
from kernel_bench import KernelBench

TOP = (1 << 32) - 1


def words(values):
    return b"".join(value.to_bytes(4, "little") for value in values)


async def run_and_compare(bench, records, graph, under_way=0, pause=0):
    """One run, against the exact model, and no byte beside the report is written."""
    at = bench.places(4 * len(records) + 64, 4 * len(graph) + 64, 64)
    expected = bytearray(bench.memory[:])
    for place, values in zip(at, [records, graph]):
        bench.memory[place : place + 4 * len(values)] = words(values)
        expected[place : place + 4 * len(values)] = words(values)
    report = adjacency.count(records, graph)
    expected[at[2] : at[2] + 64] = report.bytes()
    await bench.run(records=at[0], graph=at[1], output=at[2], record_words=len(records), graph_words=len(graph),
                    under_way=under_way, pause=pause)
    bench.expect(expected)
    return report


def any_case(random, most):
    """Numbers that need be no graph's: counts that ask for too much, lists in no order, places that are not there."""
    graph = [random.choice([0, 1, 2, 7, 20, random.randint(0, most)]) for _ in range(random.randint(0, most))]
    places = range(len(graph) + 1)
    numbers = [random.choice(places) for _ in range(12)]
    for at in range(len(graph)):
        # Few numbers, so that lists have some in common.
        if random.randrange(4):
            graph[at] = random.choice(numbers)
    records = []
    for _ in range(random.randint(0, 6)):
        length = random.choice([0, 1, 2, 5, 16, random.randint(0, most)])
        row = [random.choice(numbers) for _ in range(length)]
        records += [length] + (sorted(set(row)) if random.randrange(2) else row)
    if records and random.randrange(4) == 0:
        records[random.randrange(len(records))] = random.choice([TOP, len(graph), 1 << 31])
    if graph and random.randrange(4) == 0:
        graph[random.randrange(len(graph))] = random.choice([TOP, TOP - 15, 1 << 31])
    return records, graph


async def cases(bench, count, most):
    for _ in range(count):
        await run_and_compare(bench, *any_case(bench.random, most), under_way=bench.random.choice([0, 1, 2, 16]),
                              pause=bench.random.choice([0, 0, 1, 42]))


def lists_of(length, lane):
    """A vertex whose two neighbours begin at a lane of a row and share so many, all that they have."""
    graph = [0] * lane + [length, *range(1000, 1000 + length)]
    other = len(graph)
    graph += [0]
    return [length + 2, lane, other, *range(1000, 1000 + length)], graph


@cocotb.test()
async def records_at_the_ends_of_rows(dut):
    """Lists that end before, at and behind the end of a row, from each lane; rows that none needs are not counted."""
    bench = KernelBench(dut, seed=1)
    await bench.reset()
    for records, graph in [([], []), ([0], []), ([1, 0], [0]), ([2, 0, 1], [1, 1]), ([3], [0]), ([1], [])]:
        await run_and_compare(bench, records, graph)
    for lane in [0, 1, 13, 14, 15]:
        for length in [0, 1, 2, 14, 15, 16, 17, 31, 32, 33, 300]:
            report = await run_and_compare(bench, *lists_of(length, lane))
            assert report.triangles == length


@cocotb.test()
async def any_numbers(dut):
    bench = KernelBench(dut, seed=2)
    await bench.reset()
    await cases(bench, 60, 40)


@cocotb.test(skip=not os.environ.get("DEEP"))
async def a_thousand_cases(dut):
    bench = KernelBench(dut, seed=6)
    await bench.reset()
    await cases(bench, 1000, 60)


@cocotb.test()
async def any_numbers_with_stalls(dut):
    bench = KernelBench(dut, seed=3)
    await bench.reset()
    bench.stall(seed=3)
    await cases(bench, 12, 40)


@cocotb.test()
async def lists_of_any_length(dut):
    """What the chip does not hold is skipped, and counted; of places that are not there, none is looked up."""
    bench = KernelBench(dut, seed=5)
    await bench.reset()
    length = adjacency.LONGEST + 5
    report = await run_and_compare(bench, [length, *range(10, 10 + length), 2, 0, 3], [2, 3, 4, 1, 0])
    assert (report.skipped, report.edges, report.vertices) == (5, adjacency.LONGEST + 2, 2)


@cocotb.test()
async def a_pause_follows_each_neighbour(dut):
    """With one looked up at a time, each of 40 takes so much longer."""
    bench = KernelBench(dut, seed=7)
    await bench.reset()
    records, graph = [41, *range(0, 82, 2)], [0, 1] * 50
    taken = []
    for pause in (0, 42):
        began = get_sim_time("ns")
        await run_and_compare(bench, records, graph, under_way=1, pause=pause)
        taken.append(get_sim_time("ns") - began)
    cycles = (taken[1] - taken[0]) / 4
    assert abs(cycles - 40 * 42) <= 84, taken


@cocotb.test()
async def real_graphs(dut):
    """Zachary's karate club has 45 triangles, of 34 members."""
    bench = KernelBench(dut, seed=4)
    await bench.reset()
    found = []
    for graph in real():
        values = adjacency.of(graph_of(graph)).words.tolist()
        report = await run_and_compare(bench, values, values)
        assert report.triangles == judge(graph)
        found.append(report.triangles)
    assert found[0] == 45


def test_triangles():
    from run import run_cocotb

    run_cocotb("triangles", "test_triangles", FOLDER)


@pytest.mark.deep
def test_triangles_a_thousand_times(monkeypatch):
    from run import run_cocotb

    monkeypatch.setenv("DEEP", "1")
    run_cocotb("triangles", "test_triangles", FOLDER)


# -- Without RTL ------------------------------------------------------------------------------------


def test_networkx_agrees():
    assert reference_wrong(1000) == 0


def test_graphs_that_the_kernel_cannot_hold_are_refused():
    """All of a complete graph but one are behind its first vertex."""
    count = adjacency.LONGEST + 2
    star = graphs.from_edges(count, [0] * (count - 1), range(1, count))
    assert adjacency.of(star).edges == count - 1, "a hub has its edges at the other ends"
    longest = adjacency.LONGEST
    try:
        adjacency.LONGEST = 3
        ends = [(a, b) for a in range(5) for b in range(a)]
        with pytest.raises(graphs.GraphError, match="4 neighbours"):
            adjacency.of(graphs.from_edges(5, [a for a, _ in ends], [b for _, b in ends]))
    finally:
        adjacency.LONGEST = longest


def test_files_are_read_by_the_reader_of_pgrnk(tmp_path):
    """Its tests have each lie; here directions, a loop and a repeated edge are dropped."""
    path = tmp_path / "web.mtx"
    head = "%%MatrixMarket matrix coordinate pattern general\n"
    path.write_text(head + "3 3 100\n1 2\n2 3\n3 1\n")
    with pytest.raises(graphs.GraphError, match="100 entries and has 3"):
        graphs.read(path)
    path.write_text(head + "3 3 6\n1 2\n2 1\n2 3\n3 1\n3 1\n2 2\n")
    words = adjacency.of(graphs.read(path)).words.tolist()
    assert words == [2, 3, 5, 1, 5, 0]
    assert adjacency.count(words, words) == adjacency.Report(triangles=1, vertices=3, edges=3)


def test_synthetic_graphs_have_the_papers_form():
    """A degree of 20, about 1.3 k triangles at any size, 44 bytes a vertex, and one edge a vertex' ten."""
    for size in [1 << 20, 4 << 20]:
        graph = adjacency.synthetic(size)
        records = adjacency.of(graph)
        assert abs(4 * len(records.words) / size - 1) < 0.01
        assert abs(2 * records.edges / len(records.places) - 20) < 0.1
        assert (records.words == adjacency.of(adjacency.synthetic(size)).words).all()
    values = adjacency.of(adjacency.synthetic(1 << 20)).words.tolist()
    assert abs(adjacency.count(values, values).triangles / (20**3 / 6) - 1) < 0.1
