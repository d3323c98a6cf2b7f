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
from home_bench import LINE, HomePort, slice_of
from kernel_bench import stalls

ROWS = 1024
DATA = 0x10000
TABLE = 0x4000_0000 // LINE
VIEW = 0x4020_0000 // LINE
VIEW_LINES = 2048
CUSTOMERS = 60
CLEAN_INVALIDATE = 1


class Bench:
    """The kernel, memory behind both ports, and a CPU with a cache behind a directory."""

    def __init__(self, dut, seed: int):
        self.dut = dut
        self.random = random.Random(seed)
        self.memory = mmap.mmap(-1, 1 << 20)
        cocotb.start_soon(Clock(dut.ap_clk, 4, unit="ns").start())
        common = {"clock": dut.ap_clk, "reset": dut.ap_rst_n, "reset_active_level": False}
        self.control = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi_control"), **common)
        rams = [AxiRam(AxiBus.from_prefix(dut, f"m_axi_gmem{k}"), **common, mem=self.memory) for k in (0, 1)]
        self.homes = [HomePort(dut, k, seed + k, stalls=True) for k in (0, 1)]
        for n, ram in enumerate(rams):
            read, write = ram.read_if, ram.write_if
            channels = [read.ar_channel, read.r_channel, write.aw_channel, write.w_channel, write.b_channel]
            for i, channel in enumerate(channels):
                channel.set_pause_generator(stalls(seed + 10 * n + i))
        self.cache, self.dirty, self.busy = {}, set(), set()
        self.invalidated = []
        self.commits = 0
        self.acks = [[], []]
        for k in (0, 1):
            cocotb.start_soon(self._operations(k))

    def pin(self, name: str):
        return getattr(self.dut, name)

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

    async def until(self, condition, cycles: int = 60000):
        for _ in range(cycles):
            if condition():
                return
            await RisingEdge(self.dut.ap_clk)
        raise AssertionError("nothing happens any more")

    async def _operations(self, k: int):
        """The directory's side of the line operations: each is a task of its own."""
        self.pin(f"m_line{k}_req_ready").value = 0
        self.pin(f"m_line{k}_ack_valid").value = 0
        tags = set()
        acks = self.acks[k]
        while True:
            await RisingEdge(self.dut.ap_clk)
            if not self.dut.ap_rst_n.value:
                continue
            if self.pin(f"m_line{k}_req_valid").value and self.pin(f"m_line{k}_req_ready").value:
                assert int(self.pin(f"m_line{k}_req_operation").value) == CLEAN_INVALIDATE
                tag, line = (int(self.pin(f"m_line{k}_req_{name}").value) for name in ("tag", "line"))
                assert tag not in tags, f"tag {tag} is in use"
                assert slice_of(line) == k, f"line {line:#x} is not slice {k}'s"
                tags.add(tag)
                cocotb.start_soon(self._invalidate(line, lambda tag=tag: acks.append(tag)))
            if self.pin(f"m_line{k}_ack_valid").value and self.pin(f"m_line{k}_ack_ready").value:
                tags.remove(acks.pop(0))
            self.pin(f"m_line{k}_req_ready").value = self.random.random() < 0.7
            self.pin(f"m_line{k}_ack_valid").value = bool(acks)
            if acks:
                self.pin(f"m_line{k}_ack_tag").value = acks[0]

    async def _invalidate(self, line: int, done):
        await ClockCycles(self.dut.ap_clk, self.random.randrange(1, 60))
        await self.give_up(line)
        self.invalidated.append(line)
        done()

    async def give_up(self, line: int):
        """The cache gives its copy up, if it has one."""
        await self.until(lambda: line not in self.busy)
        data = self.cache.pop(line, None)
        if line not in self.dirty:
            return
        self.dirty.discard(line)
        self.busy.add(line)
        answers = []
        home = self.homes[slice_of(line)]
        await self.until(lambda: home.write(line, bytes(data), (1 << LINE) - 1, answers.append))
        await self.until(lambda: answers)
        self.busy.discard(line)
        assert answers == [0], f"write of {line:#x}: {answers}"

    async def load(self, line: int) -> bytes:
        await self.until(lambda: line not in self.busy)
        if line not in self.cache:
            self.busy.add(line)
            answers = []
            home = self.homes[slice_of(line)]
            await self.until(lambda: home.read(line, answers.append))
            await self.until(lambda: answers)
            self.busy.discard(line)
            data, response = answers[0]
            assert response == 0, f"read of {line:#x}: {response}"
            self.cache[line] = bytearray(data)
        return bytes(self.cache[line])

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
                await bench.give_up(TABLE + first + n)
            await bench.append(first + n, *tuples[n])
            if bench.random.random() < evict:
                await bench.give_up(TABLE + first + n)

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
            await bench.give_up(line)

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
