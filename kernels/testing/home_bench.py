"""A kernel behind the directory on a bench: the directory's side of its home ports and of its line operations, and a
CPU with a cache (cocotb).

As the directory does, at most one access to a line is under way, at most 32 reads and 32 writes a slice.
"""

import random

import cocotb
from cocotb.triggers import RisingEdge

LINE = 128
ROW = 64
PLACES = 32
CLEAN_INVALIDATE = 1


def slice_of(line: int) -> int:
    """The slice of a line, of two: the lowest bit of the folded line number (docs/blocks/directory.md)."""
    return (line ^ line >> 13 ^ line >> 5) & 1


class HomePort:
    """One home port. `read` and `write` wait for the kernel's answer."""

    def __init__(self, dut, number: int, seed: int = 0, stalls: bool = False):
        self.dut = dut
        self.name = f"s_home{number}"
        self.random = random.Random(seed)
        self.stalls = stalls
        self.reads, self.writes = {}, {}
        self.to_read, self.to_write, self.rows = [], [], []
        self.free_reads, self.free_writes = list(range(PLACES)), list(range(PLACES))
        for signal in ["arvalid", "awvalid", "wvalid", "rready", "bready"]:
            self.pin(signal).value = 0
        cocotb.start_soon(self._run())

    def pin(self, signal: str):
        return getattr(self.dut, f"{self.name}_{signal}")

    def _moves(self, valid: str, ready: str) -> bool:
        return bool(self.pin(valid).value) and bool(self.pin(ready).value)

    async def _run(self):
        halves = {}
        last = None
        while True:
            await RisingEdge(self.dut.ap_clk)
            if not self.dut.ap_rst_n.value:
                continue
            if self._moves("arvalid", "arready"):
                self.to_read.pop(0)
            if self._moves("awvalid", "awready"):
                _, _, rows = self.to_write.pop(0)
                self.rows += rows
            if self._moves("wvalid", "wready"):
                self.rows.pop(0)
            if self._moves("rvalid", "rready"):
                place = int(self.pin("rid").value)
                row = int(self.pin("rdata").value).to_bytes(ROW, "little")
                assert place in self.reads, f"{self.name}: a row for read {place}, which is not under way"
                assert last in (None, place), f"{self.name}: rows of {last} and {place} mix"
                halves.setdefault(place, []).append((row, int(self.pin("rresp").value)))
                whole = len(halves[place]) == 2
                assert bool(self.pin("rlast").value) == whole, f"{self.name}: rlast"
                last = None if whole else place
                if whole:
                    rows = halves.pop(place)
                    self.free_reads.append(place)
                    self.reads.pop(place)((b"".join(r for r, _ in rows), max(c for _, c in rows)))
            if self._moves("bvalid", "bready"):
                place = int(self.pin("bid").value)
                assert place in self.writes, f"{self.name}: an answer to write {place}"
                self.free_writes.append(place)
                self.writes.pop(place)(int(self.pin("bresp").value))
            go = not self.stalls or self.random.random() < 0.6
            self.pin("arvalid").value = bool(self.to_read)
            if self.to_read:
                self.pin("arid").value, self.pin("araddr").value = self.to_read[0]
            self.pin("awvalid").value = bool(self.to_write)
            if self.to_write:
                self.pin("awid").value, self.pin("awaddr").value = self.to_write[0][:2]
            self.pin("wvalid").value = bool(self.rows)
            if self.rows:
                row, strobes = self.rows[0]
                self.pin("wdata").value = int.from_bytes(row, "little")
                self.pin("wstrb").value = strobes
            self.pin("rready").value = go
            self.pin("bready").value = go

    def read(self, line: int, done) -> bool:
        """Begins to read; `done((bytes, response))` at its end. False: all places are taken."""
        if not self.free_reads:
            return False
        place = self.free_reads.pop(0)
        self.reads[place] = done
        self.to_read.append((place, line * LINE))
        return True

    def write(self, line: int, data: bytes, strobes: int, done) -> bool:
        """Begins to write the bytes whose bit of `strobes` is set; `done(response)` at its end."""
        if not self.free_writes:
            return False
        place = self.free_writes.pop(0)
        self.writes[place] = done
        mask = (1 << ROW) - 1
        rows = [(data[:ROW], strobes & mask), (data[ROW:], strobes >> ROW)]
        self.to_write.append((place, line * LINE, rows))
        return True

    def is_idle(self) -> bool:
        return not self.reads and not self.writes


class CachedCpu:
    """A CPU with a cache behind a directory of two slices. Lines that the kernel calls home (clean-invalidate) go to
    `_recall(line, done)` of the bench: it flushes the line and says `done()`."""

    def __init__(self, dut, seed: int):
        self.dut = dut
        self.random = random.Random(seed)
        self.homes = [HomePort(dut, k, seed + k, stalls=True) for k in (0, 1)]
        self.cache, self.dirty, self.busy = {}, set(), set()
        self.acks = [[], []]
        for k in (0, 1):
            cocotb.start_soon(self._operations(k))

    def pin(self, name: str):
        return getattr(self.dut, name)

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
                cocotb.start_soon(self._recall(line, lambda tag=tag: acks.append(tag)))
            if self.pin(f"m_line{k}_ack_valid").value and self.pin(f"m_line{k}_ack_ready").value:
                tags.remove(acks.pop(0))
            self.pin(f"m_line{k}_req_ready").value = self.random.random() < 0.7
            self.pin(f"m_line{k}_ack_valid").value = bool(acks)
            if acks:
                self.pin(f"m_line{k}_ack_tag").value = acks[0]

    async def flush(self, line: int):
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
