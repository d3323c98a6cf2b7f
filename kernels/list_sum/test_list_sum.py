"""Does list_sum follow the list to its end, and change what it is told to and nothing else?"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "testing"))

import cocotb
from kernel_bench import KernelBench


async def run_and_compare(bench, nodes, add=0, limit=0, ring=False):
    """One run over nodes in random places, against the model."""
    source, destination = bench.places(64 * max(nodes, 1), 64)
    places = [source + 64 * n for n in range(nodes)]
    bench.random.shuffle(places)
    expected = bytearray(bench.memory[:])
    values = [bench.random.randrange(2**64) for _ in places]
    for n, (at, value) in enumerate(zip(places, values)):
        last = n + 1 == nodes
        following = (places[0] if ring else 0) if last else places[n + 1]
        node = following.to_bytes(8, "little") + value.to_bytes(8, "little")
        bench.memory[at : at + 16] = node
        expected[at : at + 16] = node
    steps = limit if ring else (min(limit, nodes) if limit else nodes)
    total = 0
    for step in range(steps):
        at, n = places[step % nodes], step % nodes
        total += values[n]
        values[n] = (values[n] + add) % 2**64
        expected[at + 8 : at + 16] = values[n].to_bytes(8, "little")
    result = (total % 2**64).to_bytes(8, "little") + steps.to_bytes(8, "little")
    expected[destination : destination + 64] = result.ljust(64, b"\0")
    head = places[0] if nodes else 0
    await bench.run(head=head, output=destination, add=add, limit=limit)
    bench.expect(expected)


async def lists(bench):
    """Empty, short and long ones, with and without changes and limits."""
    for nodes in [0, 1, 2, 40]:
        await run_and_compare(bench, nodes)
        await run_and_compare(bench, nodes, add=bench.random.randrange(1, 2**64))
    await run_and_compare(bench, 9, limit=4)
    await run_and_compare(bench, 5, add=1, limit=13, ring=True)


@cocotb.test()
async def any_list(dut):
    bench = KernelBench(dut, seed=1)
    await bench.reset()
    await lists(bench)


@cocotb.test()
async def any_list_with_stalls(dut):
    bench = KernelBench(dut, seed=2)
    await bench.reset()
    bench.stall(seed=2)
    await lists(bench)


def test_list_sum():
    from run import run_cocotb

    run_cocotb("list_sum", "test_list_sum", Path(__file__).parent)
