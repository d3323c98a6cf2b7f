"""Does prefetcher serve every line as memory has it, whatever is written meanwhile, and does it fetch ahead?"""

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

LINES = 1024
DATA = 0x10000
BASE = 0x4000_0000 // LINE
BLOCK = 64


class Bench:
    """The kernel with memory behind both ports, and what the lines should hold."""

    def __init__(self, dut, seed: int, stalled: bool = False):
        self.dut = dut
        self.random = random.Random(seed)
        self.memory = mmap.mmap(-1, 1 << 20)
        self.memory[:] = self.random.randbytes(1 << 20)
        cocotb.start_soon(Clock(dut.ap_clk, 4, unit="ns").start())
        common = {"clock": dut.ap_clk, "reset": dut.ap_rst_n, "reset_active_level": False}
        self.control = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi_control"), **common)
        self.rams = [
            AxiRam(AxiBus.from_prefix(dut, f"m_axi_gmem{k}"), **common, mem=self.memory) for k in (0, 1)
        ]
        self.homes = [HomePort(dut, k, seed + k, stalled) for k in (0, 1)]
        if stalled:
            for n, ram in enumerate(self.rams):
                read, write = ram.read_if, ram.write_if
                channels = [read.ar_channel, read.r_channel, write.aw_channel, write.w_channel]
                for i, channel in enumerate([*channels, write.b_channel]):
                    channel.set_pause_generator(stalls(seed + 10 * n + i))
        self.lines = [self.memory[DATA + LINE * n : DATA + LINE * (n + 1)] for n in range(LINES)]
        self.busy = set()
        self.wrong = []
        self.bursts = self.singles = 0
        cocotb.start_soon(self._count())

    async def _count(self):
        while True:
            await RisingEdge(self.dut.ap_clk)
            for k in (0, 1):
                pin = lambda name: getattr(self.dut, f"m_axi_gmem{k}_{name}").value
                if pin("arvalid") and pin("arready"):
                    self.bursts += int(pin("arlen")) == 63
                    self.singles += int(pin("arlen")) == 1

    async def start(self, units: int = 8):
        self.dut.ap_rst_n.value = 0
        await ClockCycles(self.dut.ap_clk, 3)
        self.dut.ap_rst_n.value = 1
        await RisingEdge(self.dut.ap_clk)
        values = [(0x10, BASE * LINE, 8), (0x18, DATA, 8), (0x20, LINES * LINE, 8), (0x28, units, 4)]
        for offset, value, size in values:
            await self.control.write(offset, value.to_bytes(size, "little"))
        await self.control.write(0, b"\x01\0\0\0")

    def read(self, line: int) -> bool:
        """Begins to read a line, unless it is busy or there is no place."""
        if line in self.busy:
            return False
        expected = self.lines[line]

        def done(answer):
            self.busy.discard(line)
            if answer != (expected, 0):
                self.wrong.append(line)

        if not self.homes[slice_of(BASE + line)].read(BASE + line, done):
            return False
        self.busy.add(line)
        return True

    def write(self, line: int) -> bool:
        """Begins to write parts of a line."""
        if line in self.busy:
            return False
        data, parts = self.random.randbytes(LINE), self.random.randrange(1, 16)
        keep = [parts >> byte // 32 & 1 for byte in range(LINE)]
        strobes = sum(bit << byte for byte, bit in enumerate(keep))

        def done(response):
            self.busy.discard(line)
            if response:
                self.wrong.append(line)

        if not self.homes[slice_of(BASE + line)].write(BASE + line, data, strobes, done):
            return False
        old = self.lines[line]
        self.lines[line] = bytes(n if bit else o for n, o, bit in zip(data, old, keep))
        self.busy.add(line)
        return True

    async def until(self, condition, cycles: int = 20000):
        for _ in range(cycles):
            if condition():
                return
            await RisingEdge(self.dut.ap_clk)
        raise AssertionError("nothing happens any more")

    async def rest(self):
        await self.until(lambda: not self.busy)
        assert not self.wrong, f"wrong: {self.wrong[:8]}"


async def stream(bench, first: int, count: int, window: int = 12, writes: float = 0.0):
    """A client that reads lines in order, some of them written shortly before or after."""
    for line in range(first, first + count):
        await bench.until(lambda: len(bench.busy) < 48 and bench.read(line))
        if bench.random.random() < writes:
            near = min(LINES - 1, max(0, line + bench.random.randrange(-4, 80)))
            bench.write(near)
        if line % window == 0:
            await bench.until(lambda: line not in bench.busy)


@cocotb.test()
async def a_stream_is_fetched_ahead(dut):
    bench = Bench(dut, seed=1)
    await bench.start()
    await stream(bench, 0, 512)
    await bench.rest()
    # Eight blocks and one ahead; the first lines are read by themselves.
    assert 16 <= bench.bursts <= 18, bench.bursts
    assert bench.singles < 64, bench.singles


@cocotb.test()
async def without_units_nothing_is_fetched_ahead(dut):
    bench = Bench(dut, seed=2)
    await bench.start(units=0)
    await stream(bench, 100, 64)
    await bench.rest()
    assert (bench.bursts, bench.singles) == (0, 64)


@cocotb.test()
async def clients_and_writes_between_them(dut):
    bench = Bench(dut, seed=3, stalled=True)
    await bench.start()
    clients = [cocotb.start_soon(stream(bench, 200 * k, 160, writes=0.5)) for k in range(4)]
    for client in clients:
        await client
    await bench.rest()
    assert bench.bursts > 0
    # What was written is in memory.
    await ClockCycles(dut.ap_clk, 50)
    there = [bench.memory[DATA + LINE * n : DATA + LINE * (n + 1)] for n in range(LINES)]
    assert there == bench.lines


@cocotb.test()
async def lines_at_random(dut):
    bench = Bench(dut, seed=4, stalled=True)
    await bench.start(units=3)
    for _ in range(500):
        # Few blocks, so that lines are read while their block comes, and written while it does.
        line = bench.random.randrange(6 * BLOCK)
        begin = bench.write if bench.random.random() < 0.4 else bench.read
        await bench.until(lambda: len(bench.busy) < 40)
        begin(line)
        await RisingEdge(dut.ap_clk)
    await bench.rest()


@cocotb.test()
async def lines_outside_are_errors(dut):
    bench = Bench(dut, seed=5)
    await bench.start()
    answers = []
    for line in [BASE - 1, BASE + LINES, BASE + LINES + 12345]:
        home = bench.homes[slice_of(line)]
        assert home.read(line, answers.append)
        assert home.write(line, bytes(range(128)), (1 << 128) - 1, answers.append)
    await bench.until(lambda: len(answers) == 6)
    assert sorted(map(str, answers)) == ["(b'" + "\\x00" * 128 + "', 2)"] * 3 + ["2"] * 3
    assert bench.memory[DATA : DATA + LINES * LINE] == b"".join(bench.lines)


def test_prefetcher():
    from run import run_cocotb

    run_cocotb("prefetcher", "test_prefetcher", Path(__file__).parent, bare=True)
