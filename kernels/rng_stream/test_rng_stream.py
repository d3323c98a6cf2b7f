"""Does rng_stream give the numbers of numpy's SFC64?"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "testing"))

import cocotb
import numpy as np
from stream_bench import StreamBench


def numbers(state: bytes, size: int) -> bytes:
    generator = np.random.SFC64()
    told = generator.state
    told["state"]["state"] = np.frombuffer(state, "<u8")
    generator.state = told
    return generator.random_raw(-(-size // 8)).astype("<u8").tobytes()[:size] if size else b""


@cocotb.test()
async def any_size_with_stalls(dut):
    bench = StreamBench(dut, seed=1)
    await bench.reset()
    for seed in [None, 2]:
        if seed:
            bench.stall(seed)
        for size in [0, 1, 7, 8, 9, 64, 1000, 4097]:
            state = bench.random.randbytes(32)
            assert await bench.run(bytes=size, state=state) == numbers(state, size), size


def test_rng_stream():
    from run import run_cocotb

    run_cocotb("rng_stream", "test_rng_stream", Path(__file__).parent, bare=True)
