"""Does a hash kernel give what hashlib gives, for every size and number of lanes? HASH names it."""

import hashlib
import os

import cocotb
from kernel_bench import EDGES, KernelBench


def digests(data: bytes, lanes: int) -> bytes:
    """Every lane's digest; hashlib (openssl) is the judge."""
    rows = [data[at : at + 64] for at in range(0, len(data), 64)]
    messages = (b"".join(rows[lane::lanes]) for lane in range(lanes))
    return b"".join(hashlib.new(os.environ["HASH"], message).digest() for message in messages)


async def hash_and_compare(bench: KernelBench, size: int, lanes: int, given=None) -> None:
    """`given`: the argument, where it is not the number of lanes that count."""
    source, destination = bench.places(size, 32 * lanes)
    expected = bytearray(bench.memory[:])
    wanted = digests(bytes(expected[source : source + size]), lanes)
    expected[destination : destination + len(wanted)] = wanted
    given = lanes if given is None else given
    await bench.run(input=source, output=destination, bytes=size, lanes=given)
    bench.expect(expected)


@cocotb.test()
async def any_size_in_one_message(dut):
    bench = KernelBench(dut, seed=1)
    await bench.reset()
    for size in [0, 1, 54, 55, 56, 57, 63, 64, 65, 119, 120, 128, 183, 512]:
        await hash_and_compare(bench, size, 1)


@cocotb.test()
async def any_size_in_any_lanes(dut):
    bench = KernelBench(dut, seed=2)
    await bench.reset()
    for lanes in [2, 3, 67, 128]:
        await hash_and_compare(bench, 0, lanes)
        await hash_and_compare(bench, bench.random.choice(EDGES), lanes)
        await hash_and_compare(bench, 64 * 2 * lanes + bench.random.randrange(64), lanes)
    await hash_and_compare(bench, 8192, 128)


@cocotb.test()
async def any_size_with_stalls(dut):
    bench = KernelBench(dut, seed=3)
    await bench.reset()
    bench.stall(seed=3)
    for lanes in [1, 5, 70]:
        for remainder in [0, 55, 56]:
            await hash_and_compare(bench, 64 * bench.random.randrange(20) + remainder, lanes)


@cocotb.test()
async def lanes_have_limits(dut):
    bench = KernelBench(dut, seed=4)
    await bench.reset()
    await hash_and_compare(bench, 100, 1, given=0)
    await hash_and_compare(bench, 1000, 128, given=129)
    await hash_and_compare(bench, 1000, 128, given=1 << 40)
