"""Does a hash kernel with streams give what hashlib gives, for every packet and number of lanes? HASH names it."""

import cocotb
from hash_checks import digests
from stream_bench import StreamBench


async def hash_and_compare(bench, size: int, lanes: int, given=None) -> None:
    """`given`: the argument, where it is not the number of lanes that count."""
    packet = bench.random.randbytes(size)
    got = await bench.run(packet, lanes=lanes if given is None else given)
    assert got == digests(packet, lanes), (size, lanes)


@cocotb.test()
async def any_packet_in_any_lanes(dut):
    bench = StreamBench(dut, seed=1)
    await bench.reset()
    for size in [0, 1, 54, 55, 56, 63, 64, 65, 119, 120, 128, 183, 512]:
        await hash_and_compare(bench, size, 1)
    for lanes in [2, 3, 67, 128]:
        for size in [0, 64 * lanes, 64 * 2 * lanes + bench.random.randrange(64)]:
            await hash_and_compare(bench, size, lanes)
    await hash_and_compare(bench, 100, 1, given=0)
    await hash_and_compare(bench, 1000, 128, given=129)


@cocotb.test()
async def any_packet_with_stalls(dut):
    bench = StreamBench(dut, seed=2)
    await bench.reset()
    bench.stall(seed=3)
    for lanes in [1, 5, 70]:
        for remainder in [0, 55, 56]:
            await hash_and_compare(bench, 64 * bench.random.randrange(20) + remainder, lanes)


@cocotb.test()
async def a_beat_a_cycle_in_many_lanes(dut):
    bench = StreamBench(dut, seed=4)
    await bench.reset()
    before = bench.cycle()
    await hash_and_compare(bench, 64 * 1000, 70)
    # Registers, 70 blocks of padding, the pipeline, the digests.
    assert bench.cycle() - before < 1000 + 350
