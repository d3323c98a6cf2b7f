"""Cache lines of the CPU of a coherent card: right bytes, and errors by name. On the RTL of the whole shell."""

from __future__ import annotations

import subprocess
import sys
from typing import Callable, Iterator

import numpy as np
import pytest
import tombolo
from tombolo import errors

BASE = 0x1000_0000
LINE = 128


@pytest.fixture(scope="module")
def card() -> Iterator[tombolo.Card]:
    # The shell of the library's own tests.
    with tombolo.Card.simulated("enzian", coherent=True, channel_bytes=64 << 20, home_bytes=1 << 20) as opened:
        yield opened


def test_lines_and_calls(card: tombolo.Card) -> None:
    memory = card.coherent_memory(BASE, 64 * LINE)
    assert (memory.base, memory.nbytes) == (BASE, 64 * LINE)
    with pytest.raises(errors.NoHomeError):
        memory.load(0)
    with card.create_space() as space, card.load("rpc", space) as slot:
        for name, value in {"base": BASE, "handler": 0, "calls": 3}.items():
            slot.set(name, value)
        slot.start()
        assert memory.load(5 * LINE) == bytes(LINE)
        memory.store(5 * LINE + 3, np.arange(7, 12, dtype=np.uint8))
        memory.prefetch(6 * LINE)
        assert memory.on_core(1).load(5 * LINE, exclusive=True)[:10] == bytes([0, 0, 0, 7, 8, 9, 10, 11, 0, 0])
        memory.flush(5 * LINE)
        assert memory.load(5 * LINE)[3:8] == bytes([7, 8, 9, 10, 11])
        memory.store(5 * LINE, b"x")
        memory.clean(5 * LINE)
        assert memory.load(5 * LINE)[:4] == b"x\0\0\x07"
        begun = [memory.begin_store(line * LINE, bytes([line])) for line in range(8, 12)]
        begun += [memory.begin_load(line * LINE) for line in range(8, 12)]
        lines = [access.wait()[0] for access in begun]
        assert lines == [8, 9, 10, 11] * 2
        assert begun[0].wait()[0] == 8, "again"
        memory.begin_load(13 * LINE)  # never waited for

        with memory.write_buffer() as buffer:
            before = card.time
            for word in range(16 * 16):  # the words of a line merge
                buffer.store(20 * LINE + 8 * word, np.uint64(word * word).tobytes())
            assert card.time == before, "nothing waits"
            buffer.flush(20 * LINE)
        stored = b"".join(memory.on_core(1).load((20 + line) * LINE) for line in range(16))
        assert np.array_equal(np.frombuffer(stored, dtype=np.uint64), np.arange(256, dtype=np.uint64) ** 2)

        rpc = memory.rpc()
        memory.record({0: "A", LINE: "B"})
        before = card.time
        for call in range(3):
            arguments = np.arange(16, dtype=np.uint64) + call
            assert rpc.call(arguments) == arguments.tobytes()
        assert 0 < card.time - before < 1e-3
        slot.wait()
        history = memory.history("calls")
        assert str(history).count("kernel    -> directory  clean-invalidate") == 3
        assert history.svg().startswith("<svg") and "calls" in history.svg()

        wrong: list[tuple[Callable[[], object], type[Exception], str]] = [
            (lambda: memory.flush(64), errors.CoherentRangeError, "64"),
            (lambda: memory.clean(64), errors.CoherentRangeError, "64"),
            (lambda: memory.load(64), errors.CoherentRangeError, "64"),
            (lambda: memory.load(64 * LINE), errors.CoherentRangeError, "8192"),
            (lambda: memory.store(120, bytes(16)), errors.CoherentRangeError, "16"),
            (lambda: memory.store(0, b""), errors.CoherentRangeError, "0 bytes"),
            (lambda: memory.store(0, np.zeros((4, 4))[::2]), ValueError, "C-contiguous"),
            (lambda: rpc.call(bytes(129)), errors.CoherentRangeError, "129"),
            (lambda: rpc.begin_call(bytes(129)), errors.CoherentRangeError, "129"),
            (lambda: memory.rpc(context=32), errors.CoherentRangeError, "256"),
            (lambda: memory.rpc(context=-1), ValueError, "-1"),
            (memory.rpc_lines, errors.CoherentRangeError, str(tombolo.RpcLines.BYTES)),
            (lambda: buffer.store(120, bytes(16)), errors.CoherentRangeError, "16"),
            (lambda: buffer.flush(64), errors.CoherentRangeError, "64"),
            (lambda: memory.load(-128), ValueError, "offset -128"),
            (lambda: memory.on_core(256), ValueError, "core 256"),
            (lambda: memory.on_core(200).load(0), errors.Error, "200"),
            (lambda: memory.with_deadline(0), ValueError, "deadline"),
            (lambda: card.coherent_memory(1 << 40, 128), errors.CoherentRangeError, "2\\^40|40"),
            (lambda: card.coherent_memory(0, 100), errors.CoherentRangeError, "100"),
            (card.home_memory, errors.HomeError, "unload"),
        ]
        for refused, kind, words in wrong:
            with pytest.raises(kind, match=words):
                refused()

        # Two contexts, a call under way in each.
        slot.set("contexts", 2)
        slot.set("calls", 8)
        slot.start()
        contexts = [rpc, memory.rpc(context=1, push=True)]
        for turn in range(4):
            answers = [one.begin_call(bytes([turn, number])) for number, one in enumerate(contexts)]
            assert [answer.wait()[:2] for answer in answers] == [bytes([turn, 0]), bytes([turn, 1])]
        slot.wait()
        slot.set("contexts", 0)

        # A kernel that never answers is cut off, and the error names slot and line.
        card.set_home_patience(2000)
        slot.set("handler", 2)
        slot.set("calls", 0)
        slot.start()
        pending = memory.begin_load(9 * LINE)
        with pytest.raises(errors.HomeError, match="slot 0"):
            rpc.call()
        try:
            pending.wait()
        except errors.HomeError:
            with pytest.raises(errors.GoneError):
                pending.wait()
        with pytest.raises(errors.HomeError):
            slot.wait()


@pytest.mark.deep  # Builds the model of a directory of two slices.
def test_calls_of_many_lines() -> None:
    directory = {"slices": 2, "units": 4, "sets": 1024, "ways": 16}
    shell = {"slots": 1, "ports_per_slot": 2, "directory": directory}
    with tombolo.Card.simulated("enzian", shell=shell) as card, card.create_space() as space:
        with card.load("rpc_lines", space) as slot:
            slot.set("base", BASE)
            slot.set("handler", 0)
            slot.start()
            rpc = card.coherent_memory(BASE, tombolo.RpcLines.BYTES).rpc_lines()
            random, calls = np.random.default_rng(7), 0
            for handler in range(3):
                slot.set("handler", handler)
                # Ends within a line, within a word, none, one, many.
                for size in (0, 1, 128, 131, 5000):
                    request = random.integers(0, 256, size, dtype=np.uint8)
                    whole = np.zeros(-(-size // LINE) * LINE, dtype=np.uint8)
                    whole[:size] = request
                    words = whole.view(np.uint64) if handler else np.zeros(0, dtype=np.uint64)
                    answer = rpc.call(request, whole.size // LINE if handler == 2 else 0)
                    assert (answer.lines, answer.calls) == (whole.size // LINE, calls)
                    assert (answer.sum, answer.xor) == (int(words.sum()), int(np.bitwise_xor.reduce(words)))
                    assert answer.payload == (whole.tobytes() if handler == 2 else b"")
                    assert answer.cycles > 0
                    calls += 1
            rpc.prepare(300)
            assert rpc.call().calls == calls, "prepared lines may stay unused"
            with pytest.raises(errors.CoherentRangeError):
                rpc.prepare(tombolo.RpcLines.MOST + 1)


def test_card_memory_behind_the_directory(card: tombolo.Card) -> None:
    memory = card.home_memory()
    assert memory.nbytes == 1 << 20
    memory.store(1 << 19, b"kept")
    assert memory.on_core(1).load(1 << 19)[:4] == b"kept"


def test_control_c_ends_an_access() -> None:
    """A kernel that never answers, without a timeout: virtual time runs for a second, and Ctrl-C works at once."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            """
import os, signal, threading, tombolo
signal.signal(signal.SIGINT, signal.default_int_handler)
card = tombolo.Card.simulated("enzian", coherent=True, channel_bytes=64 << 20, home_bytes=1 << 20)
space = card.create_space()
slot = card.load("rpc", space)
for name, value in {"base": 1 << 28, "handler": 2, "calls": 0}.items():
    slot.set(name, value)
card.set_home_patience(0)
slot.start()
rpc = card.coherent_memory(1 << 28, 1 << 13).rpc()
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    rpc.call()
except KeyboardInterrupt:
    print("ended", flush=True)
    os._exit(0)
""",
        ],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.stdout == "ended\n", done.stderr


def test_a_map_shows_the_lines(card: tombolo.Card) -> None:
    memory = card.home_memory()
    memory.store(3 * LINE + 5, b"before")
    lines = memory.map(eager=True)
    assert len(lines) == memory.nbytes and f"{lines.address:#x}" in repr(lines)
    view = lines.buffer
    assert bytes(view[3 * LINE + 5 : 3 * LINE + 11]) == b"before"
    words = np.frombuffer(view, np.uint64)
    words[16:32] = np.arange(16)
    assert memory.on_core(1).load(LINE) == np.arange(16, dtype=np.uint64).tobytes()
    memory.store(2 * LINE, b"core")
    assert bytes(view[2 * LINE : 2 * LINE + 4]) == b"core"
    view[40 * LINE] = 9
    lines.sync()
    # Views keep the pages.
    del lines
    assert view[40 * LINE] == 9 and memory.load(40 * LINE)[0] == 9
    looks = memory.map(write=False).buffer
    assert looks.readonly and looks[40 * LINE] == 9
    with pytest.raises(errors.CoherentRangeError, match="4096"):
        card.coherent_memory(LINE, 4096).map()


def test_wrong_cards() -> None:
    with pytest.raises(ValueError, match="shell of its own"):
        tombolo.Card.simulated("enzian", coherent=True, shell={"slots": 1})
    with pytest.raises(errors.CardError, match="platform with .link. and .cpu., such as enzian"):
        tombolo.Card.simulated("f1", coherent=True, home_bytes=1 << 20)
    with tombolo.Card.functional() as card:
        memory = card.coherent_memory(0, LINE)
        calls: list[Callable[[], object]] = [lambda: memory.load(0), lambda: memory.rpc(push=True), card.home_memory]
        for refused in calls:
            with pytest.raises(errors.CardError, match="not coherent: it needs .* directory"):
                refused()
    with pytest.raises(errors.GoneError):
        card.coherent_memory(0, LINE)
    with pytest.raises(errors.Error):
        memory.load(0)
