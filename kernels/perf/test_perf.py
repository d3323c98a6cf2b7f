"""Does perf read every row once, and no more chunks at a time than its window?"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "testing"))

import cocotb
from cocotb.triggers import RisingEdge
from kernel_bench import KernelBench

BLOCK = 4096


class Window:
    """Counts chunks whose first row was asked for and whose last has not come."""

    def __init__(self, dut):
        self.dut, self.most, self.open = dut, 0, 0
        self.asked = self.come = self.cycle = 0
        self.whole = self.gap = None  # when a chunk was whole; cycles from there to the next request

    async def watch(self, chunk):
        rows = chunk // 64
        port = self.dut
        while True:
            await RisingEdge(port.ap_clk)
            self.cycle += 1
            if port.m_axi_gmem0_arvalid.value and port.m_axi_gmem0_arready.value:
                if self.whole is not None:
                    self.gap, self.whole = self.cycle - self.whole, None
                self.asked += int(port.m_axi_gmem0_arlen.value) + 1
            if port.m_axi_gmem0_rvalid.value and port.m_axi_gmem0_rready.value:
                self.come += 1
                if self.come % rows == 0:
                    self.whole = self.cycle
            self.most = max(self.most, -(-self.asked // rows) - self.come // rows)


async def fold_and_compare(bench, dut, size, chunk, window, pause=0):
    source, destination = bench.places(size + BLOCK, 64)
    source = -(-source // BLOCK) * BLOCK
    expected = bytearray(bench.memory[:])
    result = 0
    for at in range(source, source + size, 64):
        result ^= int.from_bytes(expected[at : at + 64], "little")
    expected[destination : destination + 64] = result.to_bytes(64, "little")
    watched = Window(dut)
    watch = cocotb.start_soon(watched.watch(chunk))
    await bench.run(input=source, output=destination, bytes=size, chunk=chunk, window=window,
                    pause=pause)
    watch.cancel()
    bench.expect(expected)
    assert watched.come == watched.asked == size // 64
    chunks = -(-size // chunk)
    assert watched.most == min(window, chunks), (watched.most, size, chunk, window)
    return watched


@cocotb.test()
async def windows_of_chunks(dut):
    bench = KernelBench(dut, seed=1)
    await bench.reset()
    for size, chunk, window in [(1, 1, 1), (4, 1, 1), (5, 2, 1), (4, 1, 2), (4, 4, 1), (3, 1, 15)]:
        await fold_and_compare(bench, dut, size * BLOCK, chunk * BLOCK, window)


@cocotb.test()
async def windows_of_chunks_with_stalls(dut):
    bench = KernelBench(dut, seed=2)
    await bench.reset()
    bench.stall(seed=2)
    await fold_and_compare(bench, dut, 4 * BLOCK, 2 * BLOCK, 1)


@cocotb.test()
async def pauses(dut):
    bench = KernelBench(dut, seed=3)
    await bench.reset()
    gaps = []
    for pause in (0, 1, 100):
        gaps.append((await fold_and_compare(bench, dut, 2 * BLOCK, BLOCK, 1, pause)).gap)
    assert [gap - gaps[0] for gap in gaps] == [0, 1, 100], gaps


def test_perf():
    from run import run_cocotb

    run_cocotb("perf", "test_perf", Path(__file__).parent)
