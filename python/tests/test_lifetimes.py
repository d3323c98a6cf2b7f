"""Is anything lost, or held, whatever the order in which objects go? Threads, signals, fork, exit."""

from __future__ import annotations

import gc
import json
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import tombolo
from tombolo import errors

#: Long enough to be interrupted on any machine.
LONG = 256 << 20


def long_run(card: tombolo.Card, path: Path, **options: Any) -> None:
    """Copies a file of zeroes to itself."""
    with open(path, "wb") as file:
        file.truncate(LONG)
    with card.create_space() as space:
        mapping = space.map_file(path, "rw")
        slot = card.load("copy", space)
        slot.run(input=mapping, output=mapping, bytes=LONG, **options)


def test_control_c_ends_a_wait(card: tombolo.Card, tmp_path: Path) -> None:
    def press(progress: tombolo.Progress) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    # A shell's background jobs begin with SIGINT ignored, and Python leaves it so.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            long_run(card, tmp_path / "file", progress=press)
    finally:
        signal.signal(signal.SIGINT, before)
    assert card.report()["runs"] == []


def test_what_a_callback_raises_ends_a_wait(card: tombolo.Card, tmp_path: Path) -> None:
    def fail(progress: tombolo.Progress) -> None:
        raise RuntimeError(f"enough after {progress.faults >= 0}")

    with pytest.raises(RuntimeError, match="enough"):
        long_run(card, tmp_path / "file", progress=fail)
    assert card.report()["runs"] == []


def test_other_threads_run_during_a_wait(card: tombolo.Card, tmp_path: Path) -> None:
    count, over = 0, threading.Event()

    def work() -> None:
        nonlocal count
        while not over.wait(0.001):
            count += 1

    thread = threading.Thread(target=work)
    thread.start()
    long_run(card, tmp_path / "file")
    over.set()
    thread.join()
    assert count > 3


def test_threads_share_a_card() -> None:
    failures: list[BaseException] = []

    def work(card: tombolo.Card, slot: int) -> None:
        try:
            for turn in range(20):
                result = bytearray(1000)
                given = bytes([slot, turn]) * 500
                card.run("copy", {"input": given, "output": result, "bytes": 1000}, slot=slot)
                assert result == given
        except BaseException as error:
            failures.append(error)

    with tombolo.Card.functional(slots=3) as card:
        # Two for each slot, which take turns.
        threads = [threading.Thread(target=work, args=(card, turn % 3)) for turn in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []


def a_life(chance: random.Random, folder: Path) -> dict[Path, bytes]:
    """Makes and drops things of a card in any order; returns what the files must have at last."""
    things: list[Any] = [tombolo.Card.functional(slots=2)]
    expected: dict[Path, bytes] = {}
    for step in range(60):
        thing = chance.choice(things)
        path = folder / f"{chance.getrandbits(40)}.{step}"
        try:
            if isinstance(thing, tombolo.Card) and chance.random() < 0.9:
                spaces = [other for other in things if isinstance(other, tombolo.AddressSpace)]
                if spaces and chance.random() < 0.5:
                    things.append(thing.load("copy", chance.choice(spaces), slot=chance.randrange(2)))
                else:
                    things.append(thing.create_space())
            elif isinstance(thing, tombolo.AddressSpace) and chance.random() < 0.8:
                things.append(thing.map_file(path, "rw", create=3000))
                things.append(thing.map_array(bytearray(3000), "rw"))
                expected[path] = bytes(3000)
            elif isinstance(thing, tombolo.Slot) and chance.random() < 0.9:
                path.write_bytes(bytes(3000))
                given = chance.randbytes(3000)
                thing.run(input=given, output=path, bytes=3000)
                expected[path] = given
            elif len(things) > 1:
                things.remove(thing)
        except (errors.GoneError, errors.NoFreeSpaceError):
            pass  # another was loaded into the slot; four spaces are in use
    chance.shuffle(things)
    del thing
    while things:
        things.pop()
    return expected


def test_any_order_of_making_and_dropping(tmp_path: Path) -> None:
    chance = random.Random(17)
    # Objects of earlier tests would otherwise be freed at any time.
    gc.collect()
    descriptors = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        for path, content in a_life(chance, tmp_path).items():
            assert path.read_bytes() == content
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_random_orders_lose_and_leak_nothing() -> None:
    program = Path(__file__).with_name("drop_order.py")
    done = subprocess.run(
        [sys.executable, program, "3000"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("operations") >= 3000
    assert set(found.values()) == {0}, found


def test_cards_leave_nothing_behind(tmp_path: Path) -> None:
    program = Path(__file__).with_name("guest_leaks.py")
    file = tmp_path / "file"
    file.write_bytes(bytes(4096))
    done = subprocess.run(
        [sys.executable, program, file, "50"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("0 descriptors, 0 threads, "), done.stdout


WAITS = """
import os, signal, tombolo
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
card = tombolo.Card.functional()
space = card.create_space()
memory = space.alloc(4096)
os.kill(os.getpid(), signal.SIGTERM)
print("waited for", int(signal.sigwait({signal.SIGTERM})))
"""


def test_a_signal_that_is_waited_for_is_the_programs() -> None:
    done = script(WAITS)
    assert (done.returncode, done.stdout) == (0, "waited for 15\n"), done.stderr


def script(text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", text, *arguments], capture_output=True, text=True, timeout=120
    )


def test_what_is_open_at_exit_is_written_back(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = script(
        """
import sys, tombolo
card = tombolo.Card.functional()
space = card.create_space()
made = space.map_file(sys.argv[1], "rw", create=5)
slot = card.load("copy", space)
with space.map_array(b"hello") as given:
    slot.run(input=given, output=made, bytes=5)
""",
        str(out),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert out.read_bytes() == b"hello"


def test_a_forked_child_touches_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = script(
        """
import os, sys, tombolo
from tombolo import errors
card = tombolo.Card.functional()
space = card.create_space()
made = space.map_file(sys.argv[1], "rw", create=5)
slot = card.load("copy", space)
with space.map_array(b"hello") as given:
    slot.run(input=given, output=made, bytes=5)
child = os.fork()
if child == 0:
    try:
        card.report()
    except errors.ForkError as error:
        print(error)
    del card, space, made, slot, given
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert open(sys.argv[1], "rb").read() == bytes(5), "the child wrote"
made.unmap()
print(open(sys.argv[1]).read())
""",
        str(out),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "belongs to the parent process" in done.stdout and done.stdout.endswith("hello\n")


def test_exit_in_the_middle_of_a_run_is_no_crash(tmp_path: Path) -> None:
    done = script(
        """
import sys, threading, tombolo
with open(sys.argv[1], "wb") as file:
    file.truncate(1 << 28)
card = tombolo.Card.functional()
space = card.create_space()
mapping = space.map_file(sys.argv[1], "rw")
slot = card.load("copy", space)
started = threading.Event()
def run():
    slot.run(input=mapping, output=mapping, bytes=1 << 28, progress=lambda _: started.set())
threading.Thread(target=run, daemon=True).start()
started.wait(60)
""",
        str(tmp_path / "file"),
    )
    assert done.returncode == 0, done.stderr


def test_open_and_closed_cards_and_spaces_show_what_they_are() -> None:
    with tombolo.Card.functional(slots=1) as card:
        assert repr(card) == "<Card functional with 1 slot>"
        with card.create_space() as space:
            assert repr(space) == "<AddressSpace 0 of <Card functional with 1 slot>>"
        assert repr(space) == "<AddressSpace 0 of <Card functional with 1 slot>, closed>"
    assert repr(card) == "<Card functional with 1 slot, closed>"
