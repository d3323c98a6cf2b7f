"""Are all lines of a call there when it is answered, in whatever order they come, and whether the CPU sends them or not?"""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "testing"))

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster
from home_bench import LINE, CachedCpu, slice_of

BASE = 0x4000_0000 // LINE
MOST = 2048
COUNT, CHECKSUM, ECHO = range(3)


def payload(window: int, line: int) -> int:
    return BASE + window * MOST + line


def control(window: int) -> int:
    return BASE + 2 * MOST + window


class Bench(CachedCpu):
    """The kernel, and a CPU with a cache behind a directory."""

    def __init__(self, dut, seed: int):
        super().__init__(dut, seed)
        cocotb.start_soon(Clock(dut.ap_clk, 4, unit="ns").start())
        bus = AxiLiteBus.from_prefix(dut, "s_axi_control")
        self.registers = AxiLiteMaster(bus, dut.ap_clk, dut.ap_rst_n, reset_active_level=False)
        self.recalled = []
        self.request = 0
        self.calls = 0

    async def start(self):
        self.dut.ap_rst_n.value = 0
        await ClockCycles(self.dut.ap_clk, 3)
        self.dut.ap_rst_n.value = 1
        await RisingEdge(self.dut.ap_clk)
        await self.registers.write(0x10, (BASE * LINE).to_bytes(8, "little"))
        await self.registers.write(0, b"\x01\0\0\0")
        await self.load(control(0))

    async def handler(self, number: int):
        await self.registers.write(0x18, number.to_bytes(4, "little"))

    async def _recall(self, line: int, done):
        await ClockCycles(self.dut.ap_clk, self.random.randrange(1, 90))
        await self.flush(line)
        self.recalled.append(line - BASE)
        # The acknowledgement may be slow on its way.
        await ClockCycles(self.dut.ap_clk, self.random.randrange(1, 60))
        done()

    async def store(self, line: int, data: bytes):
        await self.load(line)
        self.cache[line][: len(data)] = data
        self.dirty.add(line)

    async def call(self, lines: list[bytes], answers: int = 0, sends: float = 1, early: float = 0):
        """A call of these lines; `sends`: the share of them that the CPU sends itself, `early`: that its cache gave up
        once when they were half written."""
        request, answer = self.request, 1 - self.request
        for n, data in enumerate(lines):
            if self.random.random() < early:
                await self.store(payload(request, n), bytes(LINE // 2))
                await self.flush(payload(request, n))
            await self.store(payload(request, n), data)
        held = [line for line in self.cache if payload(request, len(lines)) <= line < payload(request, MOST)]
        for line in held:
            await self.flush(line)
        await self.store(control(request), len(lines).to_bytes(8, "little"))
        sent = [payload(request, n) for n in range(len(lines)) if self.random.random() < sends]
        if self.random.random() < sends:
            sent.append(control(request))
        self.random.shuffle(sent)

        async def send(some):
            for line in some:
                await ClockCycles(self.dut.ap_clk, self.random.randrange(6))
                await self.flush(line)

        tasks = [cocotb.start_soon(send(sent[k::4])) for k in range(4)]
        # Loads of the answer may arrive before the call.
        loads = [cocotb.start_soon(self.load(payload(answer, n))) for n in range(answers)]
        await ClockCycles(self.dut.ap_clk, self.random.randrange(40))
        row = await self.load(control(answer))
        for task in tasks:
            await task
        back = [await load for load in loads]
        self.request = answer
        words = [int.from_bytes(row[8 * n : 8 * n + 8], "little") for n in range(4)]
        assert words[0] == len(lines) | self.calls << 32, "lines, and calls before"
        assert row[64:] == bytes(64)
        self.calls += 1
        return words, back

    def lines(self, count: int) -> list[bytes]:
        return [self.random.randbytes(LINE) for _ in range(count)]


def sums(lines: list[bytes]) -> list[int]:
    words = [int.from_bytes(line[at : at + 8], "little") for line in lines for at in range(0, LINE, 8)]
    both = 0
    for word in words:
        both ^= word
    return [sum(words) % (1 << 64), both]


@cocotb.test()
async def lines_that_are_sent(dut):
    bench = Bench(dut, seed=1)
    await bench.start()
    for number, count in [(COUNT, 0), (COUNT, 7), (CHECKSUM, 1), (CHECKSUM, 33), (CHECKSUM, 64), (CHECKSUM, 0)]:
        await bench.handler(number)
        lines = bench.lines(count)
        words, _ = await bench.call(lines, early=0.2)
        assert words[1:3] == (sums(lines) if number == CHECKSUM else [0, 0])
    assert all(line >= 2 * MOST for line in bench.recalled), "payload was on its way"


@cocotb.test()
async def lines_that_are_called_home(dut):
    bench = Bench(dut, seed=2)
    await bench.start()
    for number, count, sends in [(CHECKSUM, 5, 0), (CHECKSUM, 40, 0.5), (COUNT, 70, 0), (CHECKSUM, 70, 0.9), (CHECKSUM, 71, 0)]:
        await bench.handler(number)
        bench.recalled.clear()
        lines = bench.lines(count)
        words, _ = await bench.call(lines, sends=sends, early=0.1)
        assert words[1:3] == (sums(lines) if number == CHECKSUM else [0, 0])
        if sends == 0:
            assert len(set(bench.recalled)) == count + 1, bench.recalled


@cocotb.test()
async def answers_of_many_lines(dut):
    bench = Bench(dut, seed=3)
    await bench.start()
    await bench.handler(ECHO)
    for count, answers, sends in [(6, 6, 1), (30, 10, 1), (3, 3, 0.5), (40, 40, 0.7), (25, 20, 1), (60, 60, 1)]:
        lines = bench.lines(count)
        words, back = await bench.call(lines, answers, sends)
        assert words[1:3] == sums(lines)
        assert back == lines[:answers]


@cocotb.test()
async def lines_of_nobody(dut):
    bench = Bench(dut, seed=4)
    await bench.start()
    for line in (BASE + 2 * MOST + 2, BASE - 1, BASE + 4 * MOST, BASE + 3 * MOST):
        answers = []
        home = bench.homes[slice_of(line)]
        assert home.read(line, answers.append)
        assert home.write(line, bytes(LINE), (1 << LINE) - 1, answers.append)
        await bench.until(lambda: len(answers) == 2)
        assert sorted(answer if isinstance(answer, int) else answer[1] for answer in answers) == [2, 2]
    assert (await bench.call(bench.lines(2)))[0][1:3] == [0, 0]


def test_rpc_lines():
    from run import run_cocotb

    run_cocotb("rpc_lines", "test_rpc_lines", Path(__file__).parent, bare=True)
