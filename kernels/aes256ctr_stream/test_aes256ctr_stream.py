"""Does aes256ctr_stream give what `openssl enc -aes-256-ctr` gives?"""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "testing"))

import cocotb
from stream_bench import StreamBench


def openssl(packet: bytes, key: bytes, iv: bytes) -> bytes:
    command = ["openssl", "enc", "-aes-256-ctr", "-K", key.hex(), "-iv", iv.hex()]
    return subprocess.run(command, input=packet, stdout=subprocess.PIPE, check=True).stdout


async def encrypt_and_compare(bench, size: int, iv: bytes) -> None:
    packet, key = bench.random.randbytes(size), bench.random.randbytes(32)
    assert await bench.run(packet, key=key, iv=iv) == openssl(packet, key, iv), size


@cocotb.test()
async def any_packet_with_stalls(dut):
    bench = StreamBench(dut, seed=1)
    await bench.reset()
    for seed in [None, 2]:
        if seed:
            bench.stall(seed)
        for size in [1, 15, 63, 64, 65, 1000, 4096]:
            await encrypt_and_compare(bench, size, bench.random.randbytes(16))
        # The counter carries over all of its bits.
        await encrypt_and_compare(bench, 300, b"\xff" * 16)


@cocotb.test()
async def nothing_is_taken_between_runs(dut):
    bench = StreamBench(dut, seed=3)
    await bench.reset()
    packets = [bench.random.randbytes(size) for size in (200, 64)]
    for packet in packets:
        bench.send(packet)
    for packet in packets:
        key, iv = bench.random.randbytes(32), bench.random.randbytes(16)
        assert await bench.run(key=key, iv=iv) == openssl(packet, key, iv)


def test_aes256ctr_stream():
    from run import run_cocotb

    run_cocotb("aes256ctr_stream", "test_aes256ctr_stream", Path(__file__).parent, bare=True)
