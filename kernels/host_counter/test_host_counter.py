"""Does host_counter count every line as often as it should, under a hold, and once more where a hold was broken?"""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "testing"))

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

LINE, WORD = 128, 8
LOAD, STORE, ACQUIRE, RELEASE = 0, 1, 2, 3
OK, LOST, REFUSED = 0, 1, 2
RESULT = 0x1_0000_0000


class Bench:
    """The kernel, and a cache controller that takes its time, answers in any order, and breaks or refuses holds."""

    def __init__(self, dut, seed: int, slow: int, breaks: float):
        self.dut = dut
        self.random = random.Random(seed)
        self.slow, self.breaks = slow, breaks
        cocotb.start_soon(Clock(dut.ap_clk, 4, unit="ns").start())
        common = {"clock": dut.ap_clk, "reset": dut.ap_rst_n, "reset_active_level": False}
        self.control = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi_control"), **common)
        self.memory, self.holds, self.lost, self.most = {}, {}, 0, 0
        cocotb.start_soon(self._controller())

    def line(self, line: int) -> bytearray:
        return self.memory.setdefault(line, bytearray(self.random.randbytes(LINE)))

    def pin(self, name: str) -> int:
        return int(getattr(self.dut, f"m_host_{name}").value)

    def _done(self, access: dict):
        """What the controller does at the end of an access: status, hold and row of its answer."""
        line, kind = access["line"], access["access"]
        if kind == ACQUIRE:
            assert line not in [held for held, _ in self.holds.values()], "held twice"
            hold = self.random.randrange(8)
            if hold in self.holds:
                return REFUSED, hold, 0
            self.holds[hold] = (line, self.random.random() < self.breaks)
            self.most = max(self.most, len(self.holds))
            return OK, hold, int.from_bytes(self.line(line)[:64], "little")
        if kind == RELEASE:
            held, broken = self.holds.pop(access["hold"])
            assert held == line
            return (LOST if broken else OK), 0, 0
        if kind == STORE:
            if access["held"]:
                held, broken = self.holds[access["hold"]]
                assert held == line
                if broken:
                    self.lost += 1
                    # Somebody else has it meanwhile.
                    data = self.line(line)
                    data[8:16] = ((int.from_bytes(data[8:16], "little") + 1000) % (1 << 64)).to_bytes(8, "little")
                    return LOST, 0, 0
            for byte in range(64):
                if access["strobe"] >> byte & 1:
                    self.line(line)[byte] = access["row"] >> (8 * byte) & 0xFF
            return OK, 0, 0
        assert kind == LOAD
        return OK, 0, int.from_bytes(self.line(line)[:64], "little")

    async def _controller(self):
        under_way, answers = {}, []
        self.dut.m_host_req_ready.value = 0
        self.dut.m_host_rsp_valid.value = 0
        while True:
            await RisingEdge(self.dut.ap_clk)
            if self.pin("req_valid") and self.pin("req_ready"):
                access = {name: self.pin(f"req_{name}") for name in
                          ("access", "held", "hold", "line", "row", "strobe")}
                assert self.pin("req_tag") not in under_way, "a tag twice"
                under_way[self.pin("req_tag")] = access
            if self.pin("rsp_valid"):
                answers.pop(0)
            if under_way and self.random.randrange(self.slow) == 0:
                tag = self.random.choice(list(under_way))
                answers.append((tag, *self._done(under_way.pop(tag))))
            self.dut.m_host_req_ready.value = self.random.random() < 0.7
            self.dut.m_host_rsp_valid.value = bool(answers)
            if answers:
                tag, status, hold, row = answers[0]
                self.dut.m_host_rsp_tag.value = tag
                self.dut.m_host_rsp_status.value = status
                self.dut.m_host_rsp_hold.value = hold
                self.dut.m_host_rsp_row.value = row

    async def reset(self):
        self.dut.ap_rst_n.value = 0
        await ClockCycles(self.dut.ap_clk, 3)
        self.dut.ap_rst_n.value = 1
        await RisingEdge(self.dut.ap_clk)

    async def run(self, base: int, rows: int, updates: int, inflight: int, mode: int):
        """Runs it; what each line changed by, and what it counted."""
        self.lost = 0
        await self.control.write(0x10, (base * LINE).to_bytes(8, "little"))
        await self.control.write(0x28, (RESULT * LINE).to_bytes(8, "little"))
        for offset, value in [(0x18, rows), (0x1C, updates), (0x20, inflight), (0x24, mode)]:
            await self.control.write(offset, value.to_bytes(4, "little"))
        before = {line: bytes(self.line(line)) for line in range(base - 1, base + rows + 1)}
        await self.control.write(0, b"\x01\0\0\0")
        for _ in range(4000):
            status = await self.control.read(0, 4)
            if status.data[0] & 2:
                break
        else:
            raise AssertionError("the run does not end")
        assert not self.holds
        result = self.line(RESULT)
        assert int.from_bytes(result[8:16], "little") == self.lost
        return before, int.from_bytes(result[0:8], "little")

    def word(self, data: bytes, place: int) -> int:
        return int.from_bytes(data[WORD * place : WORD * place + WORD], "little")


@cocotb.test()
async def every_line_is_counted(dut):
    bench = Bench(dut, seed=1, slow=4, breaks=0.0)
    await bench.reset()
    lost = 0
    for breaks in (0.0, 0.3):
        bench.breaks = breaks
        for base, rows, updates, inflight in [
            (0x20, 5, 23, 1),
            (0x1_2345, 1, 6, 1),
            (0x1_FFFF_FF00, 40, 100, 8),
            (77, 3, 0, 2),
        ]:
            before, _ = await bench.run(base, rows, updates, inflight, 0)
            total = 0
            for line, data in before.items():
                row, now = line - base, bench.line(line)
                times = updates // rows + (row < updates % rows) if 0 <= row < rows else 0
                added = (bench.word(now, 1) - bench.word(data, 1)) % (1 << 64)
                assert added % 1000 == times, f"line {row}: {added}"
                assert now[:8] == data[:8] and now[16:] == data[16:]
                total += added // 1000
            assert total == bench.lost
            lost += bench.lost
    assert lost > 20, lost


@cocotb.test()
async def loads_change_nothing_and_stores_one_word(dut):
    bench = Bench(dut, seed=3, slow=30, breaks=0.0)
    await bench.reset()
    before, cycles = await bench.run(256, 20, 20, 1, 1)
    assert all(bench.line(line) == data for line, data in before.items())
    assert 20 * 15 < cycles < 20 * 60, cycles
    before, _ = await bench.run(256, 20, 20, 8, 2)
    for line, data in before.items():
        number = 20 - (line - 256)
        word = number.to_bytes(8, "little") if 0 < number <= 20 else data[16:24]
        assert bench.line(line) == data[:16] + word + data[24:], number


def test_host_counter():
    from run import run_cocotb

    run_cocotb("host_counter", "test_host_counter", Path(__file__).parent, bare=True)
