"""Does work_queue give every item to one consumer, once and in order, whatever waits for what?"""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "testing"))

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster
from home_bench import CLEAN_INVALIDATE, LINE, HomePort

BASE = 0x4000_0000 // LINE
LINES = 4
CONSUMERS = 16
ITEM, NONE, END = 0, 1, 2
GOLDEN = 0x9E37_79B9_7F4A_7C15


def value_of(number: int) -> int:
    value = GOLDEN * (number + 1) % (1 << 64)
    return value ^ value >> 29


class Bench:
    """The kernel, a directory that takes its time, and the consumers' caches."""

    def __init__(self, dut, seed: int, stalls: bool = False, slow: int = 3):
        self.dut = dut
        self.random = random.Random(seed)
        cocotb.start_soon(Clock(dut.ap_clk, 4, unit="ns").start())
        common = {"clock": dut.ap_clk, "reset": dut.ap_rst_n, "reset_active_level": False}
        self.control = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi_control"), **common)
        self.home = HomePort(dut, "", seed, stalls)
        self.cache, self.next = {}, [0] * CONSUMERS
        self.taken = []
        self.slow = slow
        cocotb.start_soon(self._operations())

    async def _operations(self):
        """The directory's side of the recalls: a line leaves its cache some time after it was asked for."""
        under_way, acks = {}, []
        self.dut.m_line_req_ready.value = 0
        self.dut.m_line_ack_valid.value = 0
        while True:
            await RisingEdge(self.dut.ap_clk)
            if not self.dut.ap_rst_n.value:
                continue
            if self.dut.m_line_req_valid.value and self.dut.m_line_req_ready.value:
                tag, line = int(self.dut.m_line_req_tag.value), int(self.dut.m_line_req_line.value)
                assert int(self.dut.m_line_req_operation.value) == CLEAN_INVALIDATE
                assert tag not in under_way and tag not in acks, f"tag {tag} is in use"
                under_way[tag] = [self.random.randrange(self.slow), line]
            if self.dut.m_line_ack_valid.value and self.dut.m_line_ack_ready.value:
                acks.pop(0)
            for tag, left in list(under_way.items()):
                left[0] -= 1
                if left[0] < 0:
                    self.cache.pop(left[1], None)
                    acks.append(tag)
                    del under_way[tag]
            self.dut.m_line_req_ready.value = self.random.random() < 0.7
            self.dut.m_line_ack_valid.value = bool(acks)
            if acks:
                self.dut.m_line_ack_tag.value = acks[0]

    async def reset(self):
        self.dut.ap_rst_n.value = 0
        await ClockCycles(self.dut.ap_clk, 3)
        self.dut.ap_rst_n.value = 1
        await RisingEdge(self.dut.ap_clk)
        await self.control.write(0x10, (BASE * LINE).to_bytes(8, "little"))

    async def start(self, items: int, pace: int = 0, wait: int = 100_000):
        for offset, value in [(0x18, items), (0x1C, pace), (0x20, wait)]:
            await self.control.write(offset, value.to_bytes(4, "little"))
        await self.control.write(0, b"\x01\0\0\0")

    async def done(self) -> bool:
        status = await self.control.read(0, 4)
        return bool(status.data[0] & 2)

    async def load(self, line: int):
        """A line, from the cache if it is there; and the response."""
        if line in self.cache:
            return self.cache[line], 0
        answers = []
        while not self.home.read(line, answers.append):
            await RisingEdge(self.dut.ap_clk)
        for _ in range(20_000):
            if answers:
                break
            await RisingEdge(self.dut.ap_clk)
        assert answers, f"nothing answers the load of line {line - BASE}"
        if answers[0][1] == 0:
            self.cache[line] = answers[0][0]
        return answers[0]

    async def take(self, consumer: int):
        line = BASE + LINES * consumer + self.next[consumer]
        self.next[consumer] = (self.next[consumer] + 1) % LINES
        assert line not in self.cache, "a load that takes must miss"
        data, response = await self.load(line)
        assert response == 0
        status, number, value = (int.from_bytes(data[8 * n : 8 * n + 8], "little") for n in range(3))
        if status == ITEM:
            assert value == value_of(number), f"item {number}: {value:#x}"
            self.taken.append(number)
        else:
            assert (number, value) == (0, 0)
        return status

    async def consume(self, consumer: int, pauses: int = 0):
        """Takes until there is no more; how often it was in vain."""
        in_vain = 0
        while (status := await self.take(consumer)) != END:
            in_vain += status == NONE
            await ClockCycles(self.dut.ap_clk, 1 + self.random.randrange(pauses + 1))
        return in_vain


@cocotb.test()
async def one_consumer_gets_all_in_order(dut):
    bench = Bench(dut, seed=1)
    await bench.reset()
    for items in [30, 1, 9, 0]:
        bench.taken.clear()
        await bench.start(items)
        await bench.consume(5)
        assert bench.taken == list(range(items))
        assert await bench.done()


@cocotb.test()
async def every_item_goes_to_one_of_many(dut):
    bench = Bench(dut, seed=2, stalls=True, slow=40)
    await bench.reset()
    for pace in [0, 25]:
        bench.taken.clear()
        await bench.start(200, pace)
        takers = [cocotb.start_soon(bench.consume(c, pauses=20 * (c % 3))) for c in range(CONSUMERS)]
        for taker in takers:
            assert await taker == 0
        assert sorted(bench.taken) == list(range(200))


@cocotb.test()
async def an_answer_waits_until_the_next_line_is_home(dut):
    bench = Bench(dut, seed=5, slow=800)
    await bench.reset()
    await bench.start(40)
    takers = [cocotb.start_soon(bench.consume(c)) for c in (3, 4)]
    for taker in takers:
        await taker
    assert sorted(bench.taken) == list(range(40))


@cocotb.test()
async def who_waits_long_is_told_so_and_takes_turns(dut):
    bench = Bench(dut, seed=3)
    await bench.reset()
    await bench.start(12, pace=400, wait=60)
    takers = [cocotb.start_soon(bench.consume(c)) for c in (0, 7, 15)]
    in_vain = [await taker for taker in takers]
    assert bench.taken == list(range(12))
    # Told within 60 to 120 cycles, and some for the way.
    cycles = 12 * 400
    assert all(cycles // (120 + 20) <= times <= cycles // 60 for times in in_vain), in_vain


@cocotb.test()
async def loads_that_take_nothing(dut):
    bench = Bench(dut, seed=4)
    await bench.reset()
    await bench.start(3)
    for _ in range(2):
        await bench.take(0)
    # A line that the cache gave up by itself is as it was.
    first = bench.cache.pop(BASE)
    assert await bench.load(BASE) == (first, 0)
    assert bench.taken == [0, 1]
    for line in [BASE - 1, BASE + LINES * CONSUMERS]:
        assert (await bench.load(line))[1] == 3
    answers = []
    assert bench.home.write(BASE + 63, bytes(range(LINE)), (1 << LINE) - 1, answers.append)
    while not answers:
        await RisingEdge(dut.ap_clk)
    assert answers == [0]
    assert await bench.load(BASE + 63) == (bytes(range(LINE)), 0)
    await bench.consume(0)
    assert bench.taken == [0, 1, 2]


def test_work_queue():
    from run import run_cocotb

    run_cocotb("work_queue", "test_work_queue", Path(__file__).parent, bare=True)
