"""Does conv give what numpy gives, at every edge of a picture?"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "testing"))

import cocotb
import numpy
from kernel_bench import KernelBench


def convolve(picture, weights, shift):
    """The judge: nine shifted copies of the whole picture, added up by numpy."""
    height, width = picture.shape
    padded = numpy.pad(picture.astype(numpy.int32), 1)
    total = numpy.zeros(picture.shape, numpy.int32)
    for i in range(3):
        for j in range(3):
            total += int(weights[3 * i + j]) * padded[i : i + height, j : j + width]
    return numpy.clip(total >> shift, 0, 255).astype(numpy.uint8)


async def convolve_and_compare(bench, blocks, lines, weights=None, shift=None):
    """One run over a picture of noise, against numpy."""
    size = 64 * blocks * lines
    source, destination = bench.places(size, size)
    expected = bytearray(bench.memory[:])
    weights = weights or [bench.random.randrange(-128, 128) for _ in range(9)]
    shift = bench.random.randrange(9) if shift is None else shift
    picture = numpy.frombuffer(bytes(expected[source : source + size]), numpy.uint8)
    result = convolve(picture.reshape(lines, 64 * blocks), weights, shift)
    expected[destination : destination + size] = result.tobytes()
    packed = b"".join(weight.to_bytes(1, "little", signed=True) for weight in weights)
    await bench.run(input=source, output=destination, blocks=blocks, lines=lines,
                    weights=packed + bench.random.randbytes(3), shift=shift)
    bench.expect(expected)


@cocotb.test()
async def any_picture(dut):
    bench = KernelBench(dut, seed=1)
    await bench.reset()
    for blocks, lines in [(1, 1), (1, 2), (1, 7), (2, 1), (2, 5), (3, 4), (17, 9)]:
        await convolve_and_compare(bench, blocks, lines)
    await convolve_and_compare(bench, 2, 3, weights=[0, 0, 0, 0, 1, 0, 0, 0, 0], shift=0)


@cocotb.test()
async def extremes(dut):
    bench = KernelBench(dut, seed=2)
    await bench.reset()
    for weight, shift in [(127, 0), (127, 12), (-128, 0), (-1, 31), (1, 31)]:
        await convolve_and_compare(bench, 2, 3, weights=[weight] * 9, shift=shift)


@cocotb.test()
async def pictures_that_it_leaves_alone(dut):
    bench = KernelBench(dut, seed=3)
    await bench.reset()
    expected = bench.memory[:]
    for blocks, lines in [(0, 3), (4097, 1), (1 << 40, 1), (3, 0), (1, 1 << 32)]:
        await bench.run(input=0, output=4096, blocks=blocks, lines=lines)
        bench.expect(expected)
    await convolve_and_compare(bench, 2, 2)


@cocotb.test()
async def any_picture_with_stalls(dut):
    bench = KernelBench(dut, seed=4)
    await bench.reset()
    bench.stall(seed=4)
    for blocks, lines in [(1, 5), (2, 4), (5, 6)]:
        await convolve_and_compare(bench, blocks, lines)


def test_conv():
    from run import run_cocotb

    run_cocotb("conv", "test_conv", Path(__file__).parent)
