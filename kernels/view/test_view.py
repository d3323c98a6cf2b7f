"""Is the view what its query gives after each commit, whatever the CPU's cache gives up or asks for meanwhile?"""

import mmap
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "testing"))

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam
from home_bench import LINE, CachedCpu
from kernel_bench import stalls

ROWS = 1024
DATA = 0x10000
TABLE = 0x4000_0000 // LINE
VIEW = 0x4020_0000 // LINE
VIEW_LINES = 2048
CUSTOMERS = 60


class Bench(CachedCpu):
    """The kernel, memory behind both ports, and a CPU with a cache behind a directory."""

    def __init__(self, dut, seed: int):
        super().__init__(dut, seed)
        self.memory = mmap.mmap(-1, 1 << 20)
        cocotb.start_soon(Clock(dut.ap_clk, 4, unit="ns").start())
        common = {"clock": dut.ap_clk, "reset": dut.ap_rst_n, "reset_active_level": False}
        self.control = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi_control"), **common)
        rams = [AxiRam(AxiBus.from_prefix(dut, f"m_axi_gmem{k}"), **common, mem=self.memory) for k in (0, 1)]
        for n, ram in enumerate(rams):
            read, write = ram.read_if, ram.write_if
            channels = [read.ar_channel, read.r_channel, write.aw_channel, write.w_channel, write.b_channel]
            for i, channel in enumerate(channels):
                channel.set_pause_generator(stalls(seed + 10 * n + i))
        self.invalidated = []
        self.commits = 0

    async def start(self, tuples: int = 0):
        self.dut.ap_rst_n.value = 0
        await ClockCycles(self.dut.ap_clk, 3)
        self.dut.ap_rst_n.value = 1
        await RisingEdge(self.dut.ap_clk)
        values = [(0x10, TABLE * LINE, 8), (0x18, DATA, 8), (0x20, ROWS, 4), (0x24, tuples, 4)]
        values += [(0x28, VIEW * LINE, 8), (0x30, CUSTOMERS, 4), (0x34, 0, 4)]
        for offset, value, size in values:
            await self.control.write(offset, value.to_bytes(size, "little"))
        await self.control.write(0, b"\x01\0\0\0")

    async def recompute(self, anew: bool):
        await self.control.write(0x34, int(anew).to_bytes(4, "little"))

    async def _recall(self, line: int, done):
        await ClockCycles(self.dut.ap_clk, self.random.randrange(1, 60))
        await self.flush(line)
        self.invalidated.append(line)
        done()

    async def append(self, index: int, customer: int, price: int):
        line = TABLE + index
        await self.load(line)
        # Another task may have made the cache give it up.
        await self.until(lambda: line not in self.busy)
        if line not in self.cache:
            await self.append(index, customer, price)
            return
        self.cache[line][:16] = customer.to_bytes(8, "little") + price.to_bytes(8, "little")
        self.dirty.add(line)

    async def commit(self) -> list[int]:
        line = VIEW + VIEW_LINES + self.commits % 2
        assert line not in self.cache, "the kernel has not called it home"
        words = await self.load(line)
        answer = [int.from_bytes(words[8 * n : 8 * n + 8], "little") for n in range(4)]
        assert answer[0] == self.commits
        self.commits += 1
        return answer

    async def view(self) -> dict[int, tuple[int, int]]:
        rows = {}
        for number in range(CUSTOMERS // 8 + 1):
            line = await self.load(VIEW + number)
            for entry in range(8):
                orders, total = (int.from_bytes(line[16 * entry + n : 16 * entry + n + 8], "little") for n in (0, 8))
                if orders:
                    rows[8 * number + entry] = (orders, total)
        return rows


def expected(tuples) -> dict[int, tuple[int, int]]:
    rows = {}
    for customer, price in tuples:
        if 0 < customer <= CUSTOMERS:
            orders, total = rows.get(customer, (0, 0))
            rows[customer] = (orders + 1, total + price)
    return rows


def some(bench, count: int):
    # Now and then a customer who is too large.
    return [(bench.random.randrange(1, CUSTOMERS + 3), bench.random.randrange(1 << 40)) for _ in range(count)]


async def append_all(bench, first: int, tuples, evict: float):
    """Appends in a few tasks; the cache gives up lines that are written, or half written, before the commit."""

    async def part(k: int):
        for n in range(k, len(tuples), 4):
            if bench.random.random() < evict:
                await bench.append(first + n, tuples[n][0], 0)
                await bench.flush(TABLE + first + n)
            await bench.append(first + n, *tuples[n])
            if bench.random.random() < evict:
                await bench.flush(TABLE + first + n)

    for task in [cocotb.start_soon(part(k)) for k in range(4)]:
        await task


@cocotb.test()
async def every_commit_shows_what_was_appended(dut):
    bench = Bench(dut, seed=1)
    await bench.start()
    tuples = []
    assert (await bench.commit())[1] == 0
    for count, evict, anew in [(1, 0, False), (70, 0, False), (90, 0.4, False), (0, 0, False), (33, 0.2, True), (5, 1, False)]:
        await bench.recompute(anew)
        new = some(bench, count)
        await append_all(bench, len(tuples), new, evict)
        tuples += new
        bench.invalidated.clear()
        answer = await bench.commit()
        large = sum(customer > CUSTOMERS for customer, _ in tuples)
        assert answer[1:3] == [len(tuples), large], (answer, len(tuples), large)
        # Each line of the table once, and nobody else's.
        lines = sorted(line - TABLE for line in bench.invalidated if line < VIEW)
        assert lines == list(range(len(tuples) - count, len(tuples)))
        assert await bench.view() == expected(tuples)
        assert await bench.view() == expected(tuples), "from the cache"


@cocotb.test()
async def lines_asked_for_in_vain_and_views_read_meanwhile(dut):
    bench = Bench(dut, seed=2)
    await bench.start()
    tuples = []

    async def reader():
        while True:
            line = VIEW + bench.random.randrange(CUSTOMERS // 8 + 1)
            await bench.load(line)
            await ClockCycles(dut.ap_clk, bench.random.randrange(40))
            await bench.flush(line)

    reading = cocotb.start_soon(reader())
    for count in (40, 17, 80):
        new = some(bench, count)
        for ahead in (0, 5, 20):
            await bench.load(TABLE + len(tuples) + count + ahead)
        await append_all(bench, len(tuples), new, 0.2)
        tuples += new
        assert (await bench.commit())[1] == len(tuples)
        assert await bench.view() == expected(tuples)
    reading.cancel()


@cocotb.test()
async def a_table_that_is_there_already(dut):
    bench = Bench(dut, seed=3)
    tuples = some(bench, 200)
    for n, (customer, price) in enumerate(tuples):
        at = DATA + LINE * n
        bench.memory[at : at + 16] = customer.to_bytes(8, "little") + price.to_bytes(8, "little")
    await bench.start(tuples=len(tuples))
    await bench.recompute(True)
    assert (await bench.commit())[1] == len(tuples)
    assert await bench.view() == expected(tuples)


def test_view():
    from run import run_cocotb

    run_cocotb("view", "test_view", Path(__file__).parent, bare=True)
