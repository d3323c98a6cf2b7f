"""Does line_answer keep the CPU's lines, and answer with what the question's line holds at that moment?"""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "testing"))

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster
from home_bench import CLEAN_INVALIDATE, LINE, HomePort

BASE = 0x12_3456_7800 // LINE
LINES = 16
QUESTION, ANSWER = BASE, BASE + 1
OKAY, DECERR = 0, 3
WHOLE = (1 << LINE) - 1


class Bench:
    """The kernel, and a CPU that has the question's line, with or without changes, when it is called home."""

    def __init__(self, dut, seed: int):
        self.dut = dut
        self.random = random.Random(seed)
        cocotb.start_soon(Clock(dut.ap_clk, 4, unit="ns").start())
        common = {"clock": dut.ap_clk, "reset": dut.ap_rst_n, "reset_active_level": False}
        self.control = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi_control"), **common)
        self.home = HomePort(dut, "", seed, stalls=True)
        self.memory = [bytes(LINE)] * LINES
        self.dirty, self.recalls = None, 0
        cocotb.start_soon(self._directory())

    async def _until(self, condition, what: str):
        for _ in range(2000):
            if condition():
                return
            await RisingEdge(self.dut.ap_clk)
        raise AssertionError(f"nothing happens any more: {what}")

    async def _directory(self):
        """A recalled line is written back, if it was changed; then the recall is acknowledged."""
        self.dut.m_line_req_ready.value = 0
        self.dut.m_line_ack_valid.value = 0
        while True:
            await RisingEdge(self.dut.ap_clk)
            self.dut.m_line_req_ready.value = self.random.random() < 0.5
            if not (self.dut.m_line_req_valid.value and self.dut.m_line_req_ready.value):
                continue
            self.dut.m_line_req_ready.value = 0
            assert int(self.dut.m_line_req_operation.value) == CLEAN_INVALIDATE
            assert int(self.dut.m_line_req_line.value) == QUESTION
            self.recalls += 1
            await ClockCycles(self.dut.ap_clk, 1 + self.random.randrange(30))
            if self.dirty is not None:
                await self.write(QUESTION, self.dirty)
                self.dirty = None
            self.dut.m_line_ack_tag.value = int(self.dut.m_line_req_tag.value)
            self.dut.m_line_ack_valid.value = 1
            await RisingEdge(self.dut.ap_clk)
            while not self.dut.m_line_ack_ready.value:
                await RisingEdge(self.dut.ap_clk)
            self.dut.m_line_ack_valid.value = 0

    async def reset(self):
        self.dut.ap_rst_n.value = 0
        await ClockCycles(self.dut.ap_clk, 3)
        self.dut.ap_rst_n.value = 1
        await RisingEdge(self.dut.ap_clk)
        await self.control.write(0x10, (BASE * LINE).to_bytes(8, "little"))

    async def start(self, add: int, answers: int):
        await self.control.write(0x18, add.to_bytes(4, "little"))
        await self.control.write(0x1C, answers.to_bytes(4, "little"))
        await self.control.write(0, b"\x01\0\0\0")

    async def read(self, line: int):
        answers = []
        self.home.read(line, answers.append)
        await self._until(lambda: answers, f"a load of line {line - BASE}")
        return answers[0]

    async def write(self, line: int, data: bytes):
        answers = []
        self.home.write(line, data, WHOLE, answers.append)
        await self._until(lambda: answers, f"a write of line {line - BASE}")
        if 0 <= line - BASE < LINES:
            self.memory[line - BASE] = data
        return answers[0]

    def answer(self, add: int) -> bytes:
        question = self.memory[0]
        words = [int.from_bytes(question[at : at + 4], "little") + add for at in range(0, LINE, 4)]
        return b"".join((word % (1 << 32)).to_bytes(4, "little") for word in words)


@cocotb.test()
async def lines_are_memory(dut):
    bench = Bench(dut, seed=1)
    await bench.reset()
    assert await bench.read(ANSWER) == (bytes(LINE), OKAY)
    for line in range(BASE, BASE + LINES):
        assert await bench.write(line, bench.random.randbytes(LINE)) == OKAY
    for line in range(BASE, BASE + LINES):
        assert await bench.read(line) == (bench.memory[line - BASE], OKAY)
    for line in [BASE - 1, BASE + LINES, 0]:
        assert (await bench.read(line))[1] == DECERR
        assert await bench.write(line, bytes(LINE)) == DECERR
    assert bench.recalls == 0


@cocotb.test()
async def answers_are_of_the_last_question(dut):
    bench = Bench(dut, seed=2)
    await bench.reset()
    for add in [0, 1, 0xFFFF_FFFF, 0x1234_5678]:
        await bench.start(add, 5)
        for turn in range(5):
            # The answer's own line may have been written: it is not memory now.
            await bench.write(ANSWER, bench.random.randbytes(LINE))
            if turn != 2:
                bench.dirty = bench.random.randbytes(LINE)
            data, response = await bench.read(ANSWER)
            assert response == OKAY and bench.dirty is None
            assert data == bench.answer(add), f"add {add:#x}, answer {turn}"
        status = await bench.control.read(0, 4)
        assert status.data[0] & 2, "the run is not over"
        assert await bench.read(ANSWER) == (bench.memory[1], OKAY)
    assert bench.recalls == 20


def test_line_answer():
    from run import run_cocotb

    run_cocotb("line_answer", "test_line_answer", Path(__file__).parent, bare=True)
