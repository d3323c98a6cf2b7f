"""Does perf_stream pass on every packet, each word one larger (judge: numpy)?"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "testing"))

import cocotb
import numpy as np
from stream_bench import StreamBench


def expected(packet: bytes) -> bytes:
    whole = packet + bytes(-len(packet) % 8)
    return (np.frombuffer(whole, "<u8") + np.uint64(1)).tobytes()[: len(packet)]


@cocotb.test()
async def any_packet_with_stalls(dut):
    bench = StreamBench(dut, seed=1)
    await bench.reset()
    for seed in [None, 2]:
        if seed:
            bench.stall(seed)
        for size in [0, 1, 7, 8, 63, 64, 65, 1000, 4096]:
            packet = bench.random.randbytes(size)
            assert await bench.through(packet) == expected(packet), size
        assert await bench.through(b"\xff" * 100) == expected(b"\xff" * 100)


@cocotb.test()
async def a_beat_a_cycle(dut):
    bench = StreamBench(dut, seed=3)
    await bench.reset()
    before = bench.cycle()
    await bench.through(bytes(64 * 500))
    assert bench.cycle() - before < 510


def test_perf_stream():
    from run import run_cocotb

    run_cocotb("perf_stream", "test_perf_stream", Path(__file__).parent, bare=True)
