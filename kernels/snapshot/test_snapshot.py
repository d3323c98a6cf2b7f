"""Does every reader of snapshot see one version of the record, whole, and never an older one than somebody saw before?"""

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
LINES = 32
READERS = 8
LOCK, UNLOCK = 2, 3
OKAY, SLVERR, DECERR = 0, 2, 3


class Record:
    """Which version changed each line last, of every version: the rule of snapshot_source.sv."""

    def __init__(self):
        self.last = [[0] * LINES]
        self.first = 0

    def run(self, versions: int, changes: int):
        for _ in range(versions):
            number, lines = len(self.last), list(self.last[-1])
            for line in [0] + [1 + (self.first + n) % (LINES - 1) for n in range(changes)]:
                lines[line] = number
            self.first = (self.first + changes) % (LINES - 1)
            self.last.append(lines)

    def line(self, version: int, line: int) -> bytes:
        number = self.last[version][line]
        words = [(number << 16 | 16 * line + w) if number else 0 for w in range(16)]
        return b"".join(word.to_bytes(8, "little") for word in words)


def version_of(line: bytes) -> int:
    return int.from_bytes(line[:8], "little") >> 16


class Bench:
    """The kernel, a directory that takes its time, and one cache for all readers."""

    def __init__(self, dut, seed: int, stalls: bool = False, slow: int = 3):
        self.dut = dut
        self.random = random.Random(seed)
        cocotb.start_soon(Clock(dut.ap_clk, 4, unit="ns").start())
        common = {"clock": dut.ap_clk, "reset": dut.ap_rst_n, "reset_active_level": False}
        self.control = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi_control"), **common)
        self.home = HomePort(dut, "", seed, stalls)
        self.cache, self.busy, self.locked = {}, set(), set()
        self.slow, self.seen, self.reads = slow, 0, 0
        self.record = Record()
        cocotb.start_soon(self._operations())

    async def _pause(self):
        await ClockCycles(self.dut.ap_clk, 1 + self.random.randrange(self.slow))

    async def _until(self, condition, what: str):
        for _ in range(30_000):
            if condition():
                return
            await RisingEdge(self.dut.ap_clk)
        raise AssertionError(f"nothing happens any more: {what}")

    async def _operation(self, operation: int, tag: int, line: int, done):
        await self._pause()
        # One transaction of a line at a time.
        await self._until(lambda: line not in self.busy, f"operation {operation} on line {line - BASE}")
        self.busy.add(line)
        await self._pause()
        if operation == UNLOCK:
            self.locked.remove(line)
        else:
            assert line not in self.locked, f"line {line - BASE} is locked"
            self.cache.pop(line, None)
            if operation == LOCK:
                self.locked.add(line)
            else:
                assert operation == CLEAN_INVALIDATE
        self.busy.remove(line)
        await self._pause()
        done(tag)

    async def _operations(self):
        tags, acks = set(), []
        self.dut.m_line_req_ready.value = 0
        self.dut.m_line_ack_valid.value = 0
        while True:
            await RisingEdge(self.dut.ap_clk)
            if not self.dut.ap_rst_n.value:
                continue
            if self.dut.m_line_req_valid.value and self.dut.m_line_req_ready.value:
                operation, tag, line = (
                    int(getattr(self.dut, f"m_line_req_{name}").value) for name in ("operation", "tag", "line")
                )
                assert tag not in tags, f"tag {tag} is in use"
                assert 0 <= line - BASE < LINES * READERS
                tags.add(tag)
                cocotb.start_soon(self._operation(operation, tag, line, acks.append))
            if self.dut.m_line_ack_valid.value and self.dut.m_line_ack_ready.value:
                tags.remove(acks.pop(0))
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

    async def start(self, versions: int, changes: int, pace: int = 0, plain: int = 0):
        self.record.run(versions, changes)
        for offset, value in [(0x18, versions), (0x1C, pace), (0x20, changes), (0x24, plain)]:
            await self.control.write(offset, value.to_bytes(4, "little"))
        await self.control.write(0, b"\x01\0\0\0")

    async def done(self) -> bool:
        status = await self.control.read(0, 4)
        return bool(status.data[0] & 2)

    async def wait(self):
        for _ in range(3000):
            if await self.done():
                return
        raise AssertionError("the run does not end")

    async def ask(self, line: int):
        """A line from the kernel, when nobody has it or locks it; and the response."""
        await self._until(lambda: line not in self.busy and line not in self.locked, f"load of line {line - BASE}")
        self.busy.add(line)
        answers = []
        await self._until(lambda: self.home.read(line, answers.append), "a place for a read")
        await self._until(lambda: answers, f"answer to the load of line {line - BASE}")
        self.reads += 1
        if answers[0][1] == OKAY:
            self.cache[line] = answers[0][0]
        self.busy.remove(line)
        return answers[0]

    async def load(self, reader: int, line: int) -> bytes:
        place = BASE + LINES * reader + line
        if place in self.cache:
            await RisingEdge(self.dut.ap_clk)
            if place in self.cache:
                return self.cache[place]
        data, response = await self.ask(place)
        assert response == OKAY
        return data

    async def read_all(self, reader: int, together: bool) -> list[bytes]:
        """The first line, then the others, at once or with pauses, in any order."""
        lines = [await self.load(reader, 0)] + [b""] * (LINES - 1)
        self.seen = max(self.seen, version_of(lines[0]))
        order = list(range(1, LINES))
        self.random.shuffle(order)
        if together:
            tasks = [(line, cocotb.start_soon(self.load(reader, line))) for line in order]
            for line, task in tasks:
                lines[line] = await task
        else:
            for line in order:
                if self.random.random() < 0.2:
                    await ClockCycles(self.dut.ap_clk, self.random.randrange(60))
                lines[line] = await self.load(reader, line)
        return lines

    def torn(self, lines: list[bytes]) -> list[int]:
        """Lines that are not of the version that the first one names."""
        version = version_of(lines[0])
        return [n for n, line in enumerate(lines) if line != self.record.line(version, n)]

    async def snapshot(self, reader: int, together: bool) -> int:
        floor = self.seen
        lines = await self.read_all(reader, together)
        version = version_of(lines[0])
        assert not self.torn(lines), f"reader {reader}, version {version}: lines {self.torn(lines)} are torn"
        assert version >= floor, f"reader {reader} sees version {version} after {floor}"
        return version

    def evict(self):
        """The cache gives lines up by itself, and nobody is told."""
        for line in self.random.sample(sorted(self.cache), len(self.cache) // 8):
            if line not in self.busy:
                del self.cache[line]

    async def read_for(self, reader: int, last: int, pauses: int, rude: bool = False) -> int:
        """Snapshots until the last version is seen; how many."""
        times = 0
        while True:
            if rude:
                for line in self.random.choices(range(LINES), k=20):
                    await self.load(reader, line)
                if self.seen == last:
                    return times
            else:
                times += 1
                if await self.snapshot(reader, together=self.random.random() < 0.5) == last:
                    return times
            if self.random.random() < 0.3:
                self.evict()
            await ClockCycles(self.dut.ap_clk, 1 + self.random.randrange(pauses + 1))


@cocotb.test()
async def what_does_not_change_costs_nothing(dut):
    bench = Bench(dut, seed=1)
    await bench.reset()
    assert await bench.snapshot(3, together=True) == 0
    assert bench.reads == LINES
    for changes, reads in [(0, 1), (5, 6), (31, 32)]:
        await bench.start(1, changes)
        await bench.wait()
        bench.reads = 0
        version = await bench.snapshot(3, together=True)
        assert bench.reads == reads, f"{changes} lines changed, {bench.reads} were read"
        assert await bench.snapshot(3, together=False) == version
        assert bench.reads == reads
    assert version == 3


@cocotb.test()
async def readers_see_whole_versions(dut):
    bench = Bench(dut, seed=2, stalls=True, slow=40)
    await bench.reset()
    versions = 0
    for changes, pace, count in [(31, 0, 40), (3, 300, 40), (0, 0, 40), (12, 900, 12)]:
        versions += count
        await bench.start(count, changes, pace)
        readers = [cocotb.start_soon(bench.read_for(r, versions, 30 * (r % 4))) for r in range(READERS)]
        times = [await reader for reader in readers]
        await bench.wait()
        assert all(times), times


@cocotb.test()
async def who_breaks_the_rule_harms_nobody(dut):
    bench = Bench(dut, seed=3, slow=25)
    await bench.reset()
    await bench.start(60, 9)
    readers = [cocotb.start_soon(bench.read_for(r, 60, 20, rude=r in (0, 5))) for r in range(READERS)]
    for reader in readers:
        await reader
    await bench.wait()
    # And the next time it obeys all is as it should be.
    await bench.start(1, 31)
    await bench.wait()
    for reader in range(READERS):
        assert await bench.snapshot(reader, together=True) == 61


@cocotb.test()
async def the_record_is_not_the_cpus(dut):
    bench = Bench(dut, seed=4)
    await bench.reset()
    answers = []
    assert bench.home.write(BASE + 7, bytes(range(LINE)), (1 << LINE) - 1, answers.append)
    await bench._until(lambda: answers, "answer to a write")
    assert answers == [SLVERR]
    assert await bench.snapshot(0, together=False) == 0
    for line in [BASE - 1, BASE + LINES * READERS]:
        assert (await bench.ask(line))[1] == DECERR
    # A run of no version is over at once.
    await bench.start(0, 3)
    await bench.wait()


@cocotb.test()
async def a_plain_record_is_torn_unless_one_looks_twice(dut):
    bench = Bench(dut, seed=5)
    await bench.reset()
    await bench.start(40, 31, pace=150, plain=1)
    assert (await bench.ask(BASE + LINES))[1] == DECERR
    torn = retries = 0
    while bench.seen < 40:
        lines = await bench.read_all(0, together=bool(bench.random.getrandbits(1)))
        again = await bench.load(0, 0)
        if version_of(again) == version_of(lines[0]):
            assert not bench.torn(lines)
        else:
            retries += 1
            torn += bool(bench.torn(lines))
    await bench.wait()
    assert torn > 0 and retries > 0


def test_snapshot():
    from run import run_cocotb

    run_cocotb("snapshot", "test_snapshot", Path(__file__).parent, bare=True)
