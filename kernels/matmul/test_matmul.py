"""Does matmul multiply as numpy does, and leave no product of half a pair?"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "testing"))

import cocotb
import numpy as np
from stream_bench import StreamBench

PAIR = 2 * 64 * 64 * 4


def products(packet: bytes) -> bytes:
    whole = np.frombuffer(packet[: len(packet) // PAIR * PAIR], "<u4").reshape(-1, 2, 64, 64)
    return b"".join((a @ b).astype("<u4").tobytes() for a, b in whole)


@cocotb.test()
async def pairs_and_what_is_none(dut):
    bench = StreamBench(dut, seed=1)
    await bench.reset()
    before = bench.cycle()
    for size in [2 * PAIR, 64, PAIR + 1000, PAIR - 1]:
        packet = bench.random.randbytes(size)
        assert await bench.through(packet) == products(packet), size
        if size == 2 * PAIR:
            assert bench.cycle() - before < 2 * 17_158
    bench.stall(seed=2)
    packet = bench.random.randbytes(PAIR)
    assert await bench.through(packet) == products(packet)


def test_matmul():
    from run import run_cocotb

    run_cocotb("matmul", "test_matmul", Path(__file__).parent, bare=True)
