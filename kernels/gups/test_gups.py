"""Does gups leave the table as HPCC's sequential definition does, also when updates meet in a word?"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "testing"))

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from kernel_bench import KernelBench

POLYNOMIAL = 7


def update(table, seed, updates):
    """RandomAccess as HPCC states it (one process, no look-ahead); the table is a list of words."""
    ran = seed
    for _ in range(updates):
        negative = ran >> 63
        ran = ran << 1 & 2**64 - 1
        if negative:
            ran ^= POLYNOMIAL
        table[ran & len(table) - 1] ^= ran


def test_updates_undo_themselves():
    """What HPCC verifies its own runs by."""
    table = list(range(64))
    update(table, 1, 256)
    assert table != list(range(64))
    update(table, 1, 256)
    assert table == list(range(64))


async def run_and_compare(bench, words_log2, updates, seed=None, under_way=0):
    """One run, against the definition."""
    size = 8 << words_log2
    (base,) = bench.places(size)
    seed = seed or bench.random.randrange(1, 2**64)
    expected = bytearray(bench.memory[:])
    table = [int.from_bytes(expected[at : at + 8], "little") for at in range(base, base + size, 8)]
    update(table, seed, updates)
    expected[base : base + size] = b"".join(word.to_bytes(8, "little") for word in table)
    await bench.run(table=base, words_log2=words_log2, updates=updates, seed=seed, under_way=under_way)
    bench.expect(expected)


@cocotb.test()
async def any_table(dut):
    bench = KernelBench(dut, seed=1)
    await bench.reset()
    for updates in [0, 1, 2, 600]:
        await run_and_compare(bench, 14, updates)
    for words_log2 in [0, 1, 3, 4, 6, 9]:
        await run_and_compare(bench, words_log2, 200)


@cocotb.test()
async def any_table_with_stalls(dut):
    bench = KernelBench(dut, seed=2)
    await bench.reset()
    bench.stall(seed=2)
    for words_log2 in [0, 2, 5, 12]:
        await run_and_compare(bench, words_log2, 150)


@cocotb.test()
async def the_first_updates_of_hpcc_all_meet_in_a_word(dut):
    """From seed 1 the sequence is 2, 4, 8, ...: all but the first are word 0 of a small table."""
    bench = KernelBench(dut, seed=3)
    await bench.reset()
    await run_and_compare(bench, 3, 100, seed=1)


@cocotb.test()
async def no_more_are_under_way_than_wanted(dut):
    """Counted at the port: addresses of rows asked for, less responses to writes."""
    bench = KernelBench(dut, seed=4)
    await bench.reset()
    bench.stall(seed=4)
    most = {"now": 0, "most": 0}

    async def count():
        while True:
            await RisingEdge(dut.ap_clk)
            await ReadOnly()
            began = dut.m_axi_gmem0_arvalid.value and dut.m_axi_gmem0_arready.value
            ended = dut.m_axi_gmem1_bvalid.value and dut.m_axi_gmem1_bready.value
            most["now"] += int(bool(began)) - int(bool(ended))
            most["most"] = max(most["most"], most["now"])

    counting = cocotb.start_soon(count())
    for under_way in [1, 2, 5, 63]:
        most["most"] = 0
        await run_and_compare(bench, 14, 200, under_way=under_way)
        if under_way < 63:
            assert most["most"] == under_way
        assert most["most"] <= under_way
    counting.cancel()


def test_gups():
    from run import run_cocotb

    run_cocotb("gups", "test_gups", Path(__file__).parent)
