"""Does nw give the scores of Needleman and Wunsch? The judge is their recurrence, a cell at a time."""

import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "testing"))

import cocotb
from stream_bench import StreamBench


def score(query: bytes, target: bytes, match: int, mismatch: int, gap: int) -> int:
    before = [gap * j for j in range(len(query) + 1)]
    for i, letter in enumerate(target, 1):
        row = [gap * i]
        for j, other in enumerate(query, 1):
            diagonal = before[j - 1] + (match if letter == other else mismatch)
            row.append(max(diagonal, before[j] + gap, row[j - 1] + gap))
        before = row
    return before[-1]


def test_the_reference():
    # The pair of Wikipedia's article, which ends with 0.
    assert score(b"GCATGCG", b"GATTACA", 1, -1, -1) == 0
    assert score(b"ACGT", b"ACGT", 2, -1, -3) == 8
    assert score(b"ACGT", b"", 2, -1, -3) == -12


async def align(bench, query: bytes, letters: int, size: int, match=1, mismatch=-1, gap=-1) -> None:
    """Targets of `letters` letters, `size` in all."""
    packet = bytes(bench.random.choice(b"ACGT") for _ in range(size))
    got = await bench.run(
        packet, query=query.ljust(64, b"\0"), query_bytes=len(query), target_bytes=letters,
        match=match, mismatch=mismatch, gap=gap,
    )
    targets = [packet[at : at + letters] for at in range(0, size, letters)]
    wanted = [score(query, target, match, mismatch, gap) for target in targets]
    assert list(struct.unpack(f"<{len(got) // 4}i", got)) == wanted, (query, letters, size)


@cocotb.test()
async def any_query_and_targets(dut):
    bench = StreamBench(dut, seed=1)
    await bench.reset()
    assert (await bench.run(b"GATTACA", query=b"GCATGCG".ljust(64), query_bytes=7, target_bytes=7,
                            match=1, mismatch=-1, gap=-1)) == bytes(4)
    for seed in [None, 2]:
        if seed:
            bench.stall(seed)
        for _ in range(6):
            query = bytes(bench.random.choice(b"ACGT") for _ in range(bench.random.randint(1, 64)))
            letters = bench.random.randint(1, 100)
            await align(bench, query, letters, bench.random.randint(1, 400), match=bench.random.randint(0, 9),
                        mismatch=bench.random.randint(-9, 0), gap=bench.random.randint(-9, 0))
        await align(bench, b"A", 1, 50)
        await align(bench, b"ACGT" * 16, 64, 640, match=5, mismatch=-4, gap=-7)


@cocotb.test()
async def a_letter_a_cycle(dut):
    bench = StreamBench(dut, seed=3)
    await bench.reset()
    before = bench.cycle()
    await align(bench, b"ACGT" * 16, 50, 2000)
    # 27 words of arguments, of about ten cycles each.
    assert bench.cycle() - before < 2000 + 64 + 27 * 16


def test_nw():
    from run import run_cocotb

    run_cocotb("nw", "test_nw", Path(__file__).parent, bare=True)
