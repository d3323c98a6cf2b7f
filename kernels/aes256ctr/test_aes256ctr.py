"""Does aes256ctr give what openssl gives, for every size, key and counter?"""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "testing"))

import cocotb
from kernel_bench import EDGES, KernelBench


def openssl(key: bytes, iv: bytes, data: bytes) -> bytes:
    """The judge: the command line tool, which shares nothing with the kernel."""
    command = ["openssl", "enc", "-aes-256-ctr", "-K", key.hex(), "-iv", iv.hex()]
    return subprocess.run(command, input=data, capture_output=True, check=True).stdout


async def encrypt_and_compare(bench: KernelBench, size: int, iv: bytes | None = None) -> None:
    key = bench.random.randbytes(32)
    iv = iv or bench.random.randbytes(16)
    source, destination = bench.places(size, size)
    expected = bytearray(bench.memory[:])
    cipher = openssl(key, iv, expected[source : source + size])
    expected[destination : destination + size] = cipher
    await bench.run(input=source, output=destination, bytes=size, key=key, iv=iv)
    bench.expect(expected)


@cocotb.test()
async def every_edge_without_stalls(dut):
    bench = KernelBench(dut, seed=1)
    await bench.reset()
    for size in [0, *EDGES]:
        await encrypt_and_compare(bench, size)


@cocotb.test()
async def every_edge_with_stalls(dut):
    bench = KernelBench(dut, seed=2)
    await bench.reset()
    bench.stall(seed=2)
    for size in [*EDGES, 0, *(bench.random.randrange(20_000) for _ in range(4))]:
        await encrypt_and_compare(bench, size)


@cocotb.test()
async def the_counter_carries_and_wraps(dut):
    bench = KernelBench(dut, seed=3)
    await bench.reset()
    for ones in (1, 2, 4, 8, 15, 16):
        for low in range(0xF8, 0x100):
            iv = bytes(16 - ones) + b"\xff" * (ones - 1) + bytes([low])
            await encrypt_and_compare(bench, 256, iv)


def test_aes256ctr():
    from run import run_cocotb

    run_cocotb("aes256ctr", "test_aes256ctr", Path(__file__).parent)
