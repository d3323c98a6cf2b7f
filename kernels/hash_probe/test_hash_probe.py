"""Does hash_probe find what a dictionary finds, wherever nodes lie, and write nothing else?"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "testing"))

import cocotb
from kernel_bench import KernelBench

ALL = 2**64


def words(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(8, "little") for number in numbers)


async def probe_and_compare(bench: KernelBench, nodes: int, count: int, bits: int) -> None:
    """One run over a table of random keys, half of them looked up, against a dictionary."""
    buckets, area, keys, output = bench.places(8 << bits, 64 * max(nodes, 1), 8 * count, 16 * count)
    memory = bench.memory
    table = {bench.random.randrange(ALL): bench.random.randrange(ALL) for _ in range(nodes)}
    table.update({n: 7 * n for n in range(min(nodes, 3))})
    chains = {bucket: [] for bucket in range(1 << bits)}
    for key in table:
        chains[(key ^ key // 2**21 ^ key // 2**42) % 2**bits].append(key)
    places = [area + 64 * n for n in range(len(table))]
    bench.random.shuffle(places)
    place = dict(zip(table, places))
    for bucket, chain in chains.items():
        heads = [place[key] for key in chain] + [0]
        memory[buckets + 8 * bucket : buckets + 8 * bucket + 8] = words(heads[0])
        for key, following in zip(chain, heads[1:]):
            memory[place[key] : place[key] + 24] = words(following, key, table[key])
    known = list(table) or [0]
    wanted = [
        bench.random.choice(known) if bench.random.random() < 0.7 else bench.random.randrange(ALL)
        for _ in range(count)
    ]
    memory[keys : keys + 8 * count] = words(*wanted)
    expected = bytearray(memory[:])
    found = [words(int(key in table), table.get(key, 0)) for key in wanted]
    expected[output : output + 16 * count] = b"".join(found)
    await bench.run(keys=keys, output=output, count=count, buckets=buckets, bits=bits)
    bench.expect(expected)


async def tables(bench: KernelBench) -> None:
    """No keys, no nodes, one bucket, long chains, more buckets than nodes."""
    for nodes, count, bits in [(0, 0, 0), (0, 3, 2), (1, 1, 0), (12, 9, 0), (40, 17, 3), (30, 40, 8)]:
        await probe_and_compare(bench, nodes, count, bits)


@cocotb.test()
async def any_table(dut):
    bench = KernelBench(dut, seed=1)
    await bench.reset()
    await tables(bench)


@cocotb.test()
async def any_table_with_stalls(dut):
    bench = KernelBench(dut, seed=2)
    await bench.reset()
    bench.stall(seed=2)
    await tables(bench)


def test_hash_probe():
    from run import run_cocotb

    run_cocotb("hash_probe", "test_hash_probe", Path(__file__).parent)
