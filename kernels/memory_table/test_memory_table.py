"""Does memory_table count every line as often as it should, and touch nothing that it has not locked?"""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "testing"))

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

LINE, ROW = 128, 64
LOCK, UNLOCK, READ, WRITE = 2, 3, 4, 5


class Bench:
    """The kernel, a directory that takes its time and answers in any order, and memory."""

    def __init__(self, dut, seed: int, slow: int):
        self.dut = dut
        self.random = random.Random(seed)
        self.slow = slow
        cocotb.start_soon(Clock(dut.ap_clk, 4, unit="ns").start())
        common = {"clock": dut.ap_clk, "reset": dut.ap_rst_n, "reset_active_level": False}
        self.control = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi_control"), **common)
        self.memory, self.locked, self.most = {}, set(), 0
        cocotb.start_soon(self._directory())

    def line(self, line: int) -> bytearray:
        return self.memory.setdefault(line, bytearray(self.random.randbytes(LINE)))

    def pin(self, name: str) -> int:
        return int(getattr(self.dut, f"m_line_{name}").value)

    def _done(self, operation: int, line: int, rows: list):
        """What the directory does at the end of an operation; the rows of its acknowledgement."""
        if operation == LOCK:
            assert line not in self.locked, f"line {line:#x} is locked already"
            self.locked.add(line)
            self.most = max(self.most, len(self.locked))
            return [0]
        assert line in self.locked, f"operation {operation} on line {line:#x}, which is not locked"
        if operation == UNLOCK:
            self.locked.remove(line)
            return [0]
        data = self.line(line)
        if operation == READ:
            return [int.from_bytes(data[at : at + ROW], "little") for at in (0, ROW)]
        assert operation == WRITE
        for part in range(4):
            if rows[0][0] >> part & 1:
                row = rows[part // 2][1].to_bytes(ROW, "little")
                at = 32 * (part % 2)
                data[32 * part : 32 * part + 32] = row[at : at + 32]
        return [0]

    async def _directory(self):
        under_way, waiting, acks, half = {}, [], [], []
        self.dut.m_line_req_ready.value = 0
        self.dut.m_line_ack_valid.value = 0
        while True:
            await RisingEdge(self.dut.ap_clk)
            if not self.dut.ap_rst_n.value:
                continue
            if self.pin("req_valid") and self.pin("req_ready"):
                operation, tag, line = (self.pin(f"req_{name}") for name in ("operation", "tag", "line"))
                half.append((self.pin("req_parts"), self.pin("req_row")))
                last = bool(self.pin("req_last"))
                assert last == (operation != WRITE or len(half) == 2), "rows of an operation"
                if last:
                    assert tag not in under_way, f"tag {tag} is in use"
                    under_way[tag] = (operation, line, half)
                    half = []
                    waiting.append(tag)
            if self.pin("ack_valid") and self.pin("ack_ready"):
                tag, _, last = acks.pop(0)
                if last:
                    del under_way[tag]
            if waiting and self.random.randrange(self.slow) == 0:
                tag = waiting.pop(self.random.randrange(len(waiting)))
                operation, line, rows = under_way[tag]
                # The lock of a line that is locked waits.
                if operation == LOCK and line in self.locked:
                    waiting.append(tag)
                else:
                    answer = self._done(operation, line, rows)
                    acks += [(tag, row, n == len(answer) - 1) for n, row in enumerate(answer)]
            self.dut.m_line_req_ready.value = self.random.random() < 0.7
            self.dut.m_line_ack_valid.value = bool(acks)
            if acks:
                self.dut.m_line_ack_tag.value, self.dut.m_line_ack_row.value, last = acks[0]
                self.dut.m_line_ack_last.value = last

    async def reset(self):
        self.dut.ap_rst_n.value = 0
        await ClockCycles(self.dut.ap_clk, 3)
        self.dut.ap_rst_n.value = 1
        await RisingEdge(self.dut.ap_clk)

    async def run(self, base: int, rows: int, updates: int, inflight: int):
        await self.control.write(0x10, (base * LINE).to_bytes(8, "little"))
        for offset, value in [(0x18, rows), (0x1C, updates), (0x20, inflight)]:
            await self.control.write(offset, value.to_bytes(4, "little"))
        before = {line: bytes(self.line(line)) for line in range(base - 1, base + rows + 1)}
        await self.control.write(0, b"\x01\0\0\0")
        for _ in range(3000):
            status = await self.control.read(0, 4)
            if status.data[0] & 2:
                break
        else:
            raise AssertionError("the run does not end")
        assert not self.locked
        for line, data in before.items():
            row = line - base
            times = updates // rows + (row < updates % rows) if 0 <= row < rows else 0
            word = (int.from_bytes(data[8:16], "little") + times) % (1 << 64)
            assert self.line(line) == data[:8] + word.to_bytes(8, "little") + data[16:], f"line {row}"


@cocotb.test()
async def every_line_is_counted(dut):
    bench = Bench(dut, seed=1, slow=4)
    await bench.reset()
    for base, rows, updates, inflight in [
        (0, 5, 23, 1),
        (0x1_2345, 1, 6, 4),
        (0x1_FFFF_FF00, 40, 100, 16),
        (77, 3, 0, 2),
        (77, 3, 2, 16),
    ]:
        await bench.run(base, rows, updates, inflight)


@cocotb.test()
async def many_are_under_way(dut):
    bench = Bench(dut, seed=2, slow=25)
    await bench.reset()
    await bench.run(256, 64, 64, 16)
    assert bench.most > 8, bench.most


def test_memory_table():
    from run import run_cocotb

    run_cocotb("memory_table", "test_memory_table", Path(__file__).parent, bare=True)
