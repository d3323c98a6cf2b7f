"""Does bfs reach what can be reached, at the right distance, in the right order, and write nothing else?"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "testing"))

import cocotb
from kernel_bench import KernelBench

UNREACHED = 2**32 - 1


def search(graph, vertices, source, levels):
    """The reference: whole fronts, one after the other. Returns the order and the last distance."""
    if source >= vertices:
        return [], 0
    levels[source], order, front, distance = 0, [source], [source], 0
    while front:
        following = []
        for vertex in front:
            for target in graph[vertex]:
                if target < vertices and levels[target] == UNREACHED and len(order) < vertices:
                    levels[target] = distance + 1
                    following.append(target)
                    order.append(target)
        front, distance = following, distance + 1
    return order, distance - 1


def numbers(values):
    return b"".join(value.to_bytes(4, "little") for value in values)


async def run_and_compare(bench, graph, source, closed=()):
    """One search, against the reference; arrays lie at any multiple of 4."""
    vertices = len(graph)
    offsets = [sum(map(len, graph[:v])) for v in range(vertices + 1)]
    edges = [target for targets in graph for target in targets]
    levels = [7 if v in closed else UNREACHED for v in range(vertices)]
    sizes = [4 * (vertices + 1), 4 * max(len(edges), 1), 4 * max(vertices, 1), 4 * max(vertices, 1)]
    at = [place + 4 * bench.random.randrange(16) for place in bench.places(*(s + 64 for s in sizes), 64)]
    at[4] &= ~63
    expected = bytearray(bench.memory[:])
    for place, values in zip(at, [offsets, edges, levels]):
        text = numbers(values)
        bench.memory[place : place + len(text)] = text
        expected[place : place + len(text)] = text
    order, last = search(graph, vertices, source, levels)
    for place, values in zip(at[2:], [levels, order]):
        text = numbers(values)
        expected[place : place + len(text)] = text
    result = len(order).to_bytes(8, "little") + last.to_bytes(8, "little")
    expected[at[4] : at[4] + 64] = result.ljust(64, b"\0")
    names = ["offsets", "edges", "levels", "queue", "output"]
    await bench.run(**dict(zip(names, at)), vertices=vertices, source=source)
    bench.expect(expected)


def random_graph(random, vertices, edges):
    """Loops, double edges and parts that are not joined included."""
    graph = [[] for _ in range(vertices)]
    for _ in range(edges):
        graph[random.randrange(vertices)].append(random.randrange(vertices))
    return graph


async def graphs(bench):
    """None, small ones, chains, trees, random ones, and edges that lead out of the graph."""
    await run_and_compare(bench, [], 0)
    await run_and_compare(bench, [[]], 0)
    await run_and_compare(bench, [[0, 0]], 0)
    await run_and_compare(bench, [[1], [0]], 5)
    await run_and_compare(bench, [[v + 1] for v in range(19)] + [[]], 0)
    await run_and_compare(bench, [[2 * v + 1, 2 * v + 2] for v in range(15)] + [[]] * 16, 0)
    await run_and_compare(bench, [[9, 1, 2**32 - 1], [2], [0]], 0)
    await run_and_compare(bench, random_graph(bench.random, 40, 60), 3)
    await run_and_compare(bench, random_graph(bench.random, 30, 90), 29, closed={1, 4, 5, 20})


@cocotb.test()
async def any_graph(dut):
    bench = KernelBench(dut, seed=1)
    await bench.reset()
    await graphs(bench)


@cocotb.test()
async def any_graph_with_stalls(dut):
    bench = KernelBench(dut, seed=2)
    await bench.reset()
    bench.stall(seed=2)
    await run_and_compare(bench, random_graph(bench.random, 20, 40), 0)
    await run_and_compare(bench, [[7, 1], [0]], 1)


def test_bfs():
    from run import run_cocotb

    run_cocotb("bfs", "test_bfs", Path(__file__).parent)
