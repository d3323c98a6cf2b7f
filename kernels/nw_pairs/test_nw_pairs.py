"""Does the kernel give, exactly, the scores of Needleman and Wunsch, in its order? Biopython judges the definition."""

import os
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent / "testing"), str(FOLDER)]

import alignment
import cocotb
import numpy as np
import pytest
from against_biopython import reference_wrong, related
from cocotb.utils import get_sim_time
from kernel_bench import KernelBench


def sequences(bench, count):
    """Some random, some alike, some of one letter, so that scores reach both ends of their range."""
    random = np.random.default_rng(bench.random.randrange(1 << 30))
    first = random.integers(0, 4, alignment.LETTERS, np.uint8)
    kinds = [
        lambda: random.integers(0, 4, alignment.LETTERS, np.uint8),
        lambda: related(random, first),
        lambda: np.full(alignment.LETTERS, random.integers(0, 4), np.uint8),
        lambda: np.roll(first, random.integers(0, 64)),
    ]
    lines = [bench.random.choice(kinds)() for _ in range(count)]
    return np.array(lines, np.uint8).reshape(-1, alignment.LETTERS)


async def run_and_compare(bench, query_count, target_count, held_log2=0, pause=0):
    """One run, against the exact model, and no byte beside the scores is written."""
    queries, targets = sequences(bench, query_count), sequences(bench, target_count)
    at = bench.places(16 * query_count, 16 * target_count, query_count * target_count)
    expected = bytearray(bench.memory[:])
    for place, values in zip(at, [queries, targets]):
        packed = alignment.pack(values).tobytes()
        bench.memory[place : place + len(packed)] = packed
        expected[place : place + len(packed)] = packed
    scores = alignment.in_order(alignment.scores(queries, targets), 1 << held_log2).tobytes()
    expected[at[2] : at[2] + len(scores)] = scores
    await bench.run(queries=at[0], targets=at[1], output=at[2], query_count=query_count, target_count=target_count,
                    held_log2=held_log2, pause=pause)
    bench.expect(expected)


async def cases(bench, count, most):
    for _ in range(count):
        random = bench.random
        await run_and_compare(bench, random.randint(0, most), random.randint(0, 2 * most), random.randrange(3),
                              random.choice([0, 0, 1, 15]))


@cocotb.test()
async def counts_at_the_ends_of_rows(dut):
    """Groups and rows that are not whole; with no query or no target nothing is read or written."""
    bench = KernelBench(dut, seed=1)
    await bench.reset()
    for held_log2 in range(3):
        for query_count, target_count in [(0, 0), (0, 5), (5, 0), (1, 1), (3, 4), (4, 3), (5, 5), (9, 8), (2, 33)]:
            await run_and_compare(bench, query_count, target_count, held_log2)


@cocotb.test()
async def targets_of_several_bursts(dut):
    """A pass of more than 64 rows, across a page; the scores of one line fill several rows."""
    bench = KernelBench(dut, seed=2)
    await bench.reset()
    await run_and_compare(bench, 3, 700)
    await run_and_compare(bench, 6, 530, held_log2=2)


@cocotb.test()
async def any_counts_with_stalls(dut):
    bench = KernelBench(dut, seed=3)
    await bench.reset()
    bench.stall(seed=3)
    await cases(bench, 10, 12)


@cocotb.test()
async def a_pair_a_cycle(dut):
    """Passes follow one another without a gap; with a pause, a row of four targets takes so many cycles more."""
    bench = KernelBench(dut, seed=4)
    await bench.reset()
    times = []
    for pause in [0, 1]:
        before = get_sim_time("ns")
        await run_and_compare(bench, 40, 64, pause=pause)
        times.append((get_sim_time("ns") - before) / 4)
    # 14 words of arguments, of about ten cycles each, 128 of latency, memory's, and the reading of the status.
    assert 40 * 64 < times[0] < 40 * 64 + 14 * 16 + 128 + 80
    assert abs(times[1] - times[0] - 40 * 16) < 32


@cocotb.test(skip=not os.environ.get("DEEP"))
async def a_thousand_cases(dut):
    bench = KernelBench(dut, seed=6)
    await bench.reset()
    await cases(bench, 1000, 12)


def test_nw_pairs():
    from run import run_cocotb

    run_cocotb("nw_pairs", "test_nw_pairs", FOLDER)


@pytest.mark.deep
def test_nw_pairs_a_thousand_times(monkeypatch):
    from run import run_cocotb

    monkeypatch.setenv("DEEP", "1")
    run_cocotb("nw_pairs", "test_nw_pairs", FOLDER)


# -- Without RTL ------------------------------------------------------------------------------------


def test_biopython_agrees():
    assert reference_wrong(1000) == 0


def test_the_definition():
    """Both ends of the range, and one gap in each of two sequences that are the same but for a shift by one letter."""
    all_a, all_c = np.zeros((1, 64), np.uint8), np.ones((1, 64), np.uint8)
    assert alignment.scores(all_a, all_a) == 64
    assert alignment.scores(all_a, all_c) == -64
    some = alignment.synthetic(1, seed=3)
    assert alignment.scores(some, np.roll(some, 1)) == 63 - 2
    assert (alignment.unpack(alignment.pack(some).tobytes()) == some).all()


def test_files(tmp_path):
    path = tmp_path / "some.fa"
    path.write_text(">one\n" + "ACGT" * 10 + "\n" + "acgt" * 10 + "\n>two\n" + "T" * 64 + "\n")
    assert (alignment.read(path) == [[0, 1, 2, 3] * 16, [3] * 64]).all(), "each record from its beginning on"
    path.write_text("ACGTN\n")
    with pytest.raises(alignment.SequenceError, match="line 1: 'N' is none of A, C, G and T"):
        alignment.read(path)
    path.write_text(">one\n" + "A" * 63 + "\n>two\nC\n")
    with pytest.raises(alignment.SequenceError, match="63 letters in the longest record: a sequence has 64"):
        alignment.read(path)
    path.write_bytes(b"")
    with pytest.raises(alignment.SequenceError, match="0 letters"):
        alignment.read(path)


def test_the_papers_sizes():
    """Table 1's sizes, reuse and reads, and the bytes per score of table 2, follow from a byte per pair and 16 per sequence."""
    for scores_log2, mib in [(25, 32.2), (31, 2.0 * 1024), (35, 32.0 * 1024)]:
        queries, targets = 1 << scores_log2 // 2, 1 << (scores_log2 + 1) // 2
        size = queries * targets + 16 * (queries + targets)
        assert abs(size / 2**20 / mib - 1) < 0.002
        for held, reuse, reads in [(4, 5.0, 0.800), (1, 17.0, 0.941)]:
            read = 16 * queries * targets // held + 16 * queries
            assert abs((read + queries * targets) / size - reuse) < 0.1
            assert abs(read / (read + queries * targets) - reads) < 0.001
