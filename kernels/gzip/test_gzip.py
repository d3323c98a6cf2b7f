"""Does gunzip take what gzip makes, and is it small?"""

import gzip
import subprocess
import sys
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "kernels" / "testing"))

import cocotb
from stream_bench import StreamBench

# Ours over `gzip -1`: the codes are the fixed ones, and one candidate is tried.
FLOOR = 1.3


def gunzip(packet: bytes) -> bytes:
    return subprocess.run(["gunzip", "-c"], input=packet, stdout=subprocess.PIPE, check=True).stdout


async def compress(bench, packet: bytes) -> bytes:
    """gunzip is the judge; so is zlib, which refuses what stands behind the end."""
    got = await bench.through(packet)
    assert gunzip(got) == packet
    decoder = zlib.decompressobj(zlib.MAX_WBITS | 16)
    assert decoder.decompress(got) == packet and decoder.eof and not decoder.unused_data
    return got


@cocotb.test()
async def any_packet_with_stalls(dut):
    bench = StreamBench(dut, seed=1)
    await bench.reset()
    for seed in [None, 2]:
        if seed:
            bench.stall(seed)
        for size in [0, 1, 3, 4, 5, 100, 1000]:
            await compress(bench, bench.random.randbytes(size))
            await compress(bench, bytes(size))
            await compress(bench, bytes(bench.random.choice(b"ab") for _ in range(size)))
        # Every length of a match.
        await compress(bench, b"".join(b"x" * n + bytes([n % 256]) for n in range(250, 270)))
        words = [bench.random.randbytes(bench.random.randint(4, 40)) for _ in range(30)]
        await compress(bench, b"".join(bench.random.choice(words) for _ in range(100)))


@cocotb.test()
async def the_same_packet_gives_the_same(dut):
    """Whatever went through before."""
    bench = StreamBench(dut, seed=3)
    await bench.reset()
    packet = b"abracadabra, " * 20
    first = await compress(bench, packet)
    # The table is cleared in between: packets are numbered up to 255.
    for n in range(256):
        await bench.through(b"abra%d" % n)
    assert await compress(bench, packet) == first


@cocotb.test()
async def as_small_as_fixed_codes_allow(dut):
    bench = StreamBench(dut, seed=4)
    await bench.reset()
    for name in ["docs/blocks/streams.md", "rtl/axi/tmb_port_read.sv"]:
        packet = (ROOT / name).read_bytes()[:12_000]
        size = len(await compress(bench, packet))
        assert size <= FLOOR * len(gzip.compress(packet, 1)), (name, size)


@cocotb.test()
async def far_matches(dut):
    """The same bytes 32 KiB before, and one more: only the first is near enough."""
    bench = StreamBench(dut, seed=5)
    await bench.reset()
    packet = bench.random.randbytes(32_768)
    near = await compress(bench, packet + packet[:300])
    far = await compress(bench, packet + b"?" + packet[:300])
    assert len(near) + 250 < len(far)


def test_gzip():
    from run import run_cocotb

    run_cocotb("gzip", "test_gzip", Path(__file__).parent, bare=True)
