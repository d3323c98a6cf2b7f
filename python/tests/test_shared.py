"""Memory that a program and kernels share: the same bytes at the same addresses, and what cannot be shared."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
import tombolo
from tombolo import errors

NODE = np.dtype({"names": ["next", "value"], "formats": ["u8", "u8"], "itemsize": 64})


def copied(space: tombolo.AddressSpace, card: tombolo.Card, source: Any, target: Any, nbytes: int) -> None:
    card.load("copy", space).run(input=source, output=target, bytes=nbytes)


def test_a_list_is_followed_by_a_kernel(card: tombolo.Card) -> None:
    """Pointers of the program are the kernel's; what it adds to the nodes is in the array at once."""
    with card.create_space() as space:
        nodes = space.alloc(100, NODE, page_size=4096)
        result = space.alloc(8, "u8")
        order = np.random.default_rng(5).permutation(100)
        nodes.array["value"] = np.arange(100)
        for here, there in zip(order, [*order[1:], None]):
            nodes.array["next"][here] = 0 if there is None else nodes.address_of(there)
        slot = card.load("list_sum", space)
        slot.run(head=nodes.address_of(order[0]), output=result, add=7, limit=0)
        assert result.array[:2].tolist() == [sum(range(100)), 100]
        np.testing.assert_array_equal(nodes.array["value"], np.arange(100) + 7)
        assert nodes.address == nodes.array.ctypes.data and nodes.page_size == 4096


def test_memory_that_stays_in_the_host() -> None:
    """Program and kernel write the same pages in turns; none moves, and system calls have it at any time."""
    with tombolo.Card.functional(host_channel=True) as card, card.create_space() as space:
        both = space.alloc((2, 3008), np.uint8, direct=True)
        slot = card.load("copy", space)
        for turn in range(3):
            both.array[0] = turn + 1
            slot.run(input=both.address_of((0, 0)), output=both.address_of((1, 0)), bytes=3001)
            assert both.array[1].tolist() == [turn + 1] * 3001 + [0] * 7
        assert both.traps is None and both.in_calls
        with open("/dev/zero", "rb", buffering=0) as file:
            assert file.readinto(both.buffer) == 6016
        assert not both.array.any()
        report = card.report()
        assert "direct: " in str(report), report
        both.free()
        with pytest.raises(ValueError, match="never trapped"):
            space.alloc(64, direct=True, for_calls=True)
    with tombolo.Card.functional() as card, card.create_space() as space:
        with pytest.raises(errors.UnshareableError, match="host_channel"):
            space.alloc(64, direct=True)


def test_everything_shows_the_same_bytes(card: tombolo.Card) -> None:
    with card.create_space() as space:
        memory = space.alloc((3, 5), np.int16)
        memory.array[:] = np.arange(15).reshape(3, 5)
        assert memory.nbytes == len(memory) == 30
        assert np.shares_memory(memory.array, np.asarray(memory))
        assert np.shares_memory(memory.array, np.from_dlpack(memory))
        assert memory.buffer[2] == 1
        memory.buffer[2] = 9
        assert memory.array[0, 1] == 9
        other = bytearray(30)
        copied(space, card, memory, other, 30)
        assert bytes(other) == memory.array.tobytes()
        assert np.asarray(memory, np.float64).dtype == np.float64
        assert memory.address_of((2, -1)) == memory.address + 28
        with pytest.raises(IndexError, match="out of bounds"):
            memory.address_of((3, 0))
        with pytest.raises(IndexError, match="1 indices"):
            memory.address_of(3)
        assert not space.alloc(100).array.any(), "bytes, all zero"


def test_an_array_lives_as_long_as_somebody_looks() -> None:
    with tombolo.Card.functional() as card:
        space = card.create_space()
        memory = space.alloc(1 << 20, np.uint8)
        copied(space, card, b"hello", memory, 5)
        array, view = memory.array[:5], memory.buffer
        memory.free()
        memory.free()
        with pytest.raises(errors.GoneError):
            memory.sync()
    del memory, space, card
    gc.collect()
    assert array.tobytes() == b"hello" == bytes(view[:5])
    array[0] = 1
    assert view[0] == 1


def test_a_registered_array_is_shared_in_place(card: tombolo.Card) -> None:
    array = tombolo.empty(3000, np.uint32)
    array[:] = np.arange(3000)
    with card.create_space() as space:
        with space.register(array) as shared:
            assert shared.array is array and shared.address == array.ctypes.data
            copied(space, card, np.full(10, 77, np.uint32), shared, 40)
            assert array[:12].tolist() == [77] * 10 + [10, 11]
            array[5] = 1
            result = np.zeros(3000, np.uint32)
            copied(space, card, shared, result, array.nbytes)
            np.testing.assert_array_equal(result, array)
        array[6] = 2
        assert array[5:8].tolist() == [1, 2, 77]
        space.register(array).free()


def test_a_part_of_an_array_can_be_registered(card: tombolo.Card) -> None:
    with tombolo.Card.functional(streams_per_slot=1) as card, card.create_space() as space:
        whole = tombolo.empty((4, 3000), "u1")
        with space.register(whole[1:3]) as shared:
            assert (shared.address, shared.nbytes) == (whole.ctypes.data + 3000, 6000)
            slot = card.load("loopback", space)
            into, out = slot.open_stream("in"), slot.open_stream("out")
            out.write(shared, 10)
            into.read(space.map_array(b"hello"))
            assert out.wait().nbytes == 5
            with pytest.raises(errors.StreamError, match="6000"):
                into.read(shared, 1, 6000)
            with pytest.raises(errors.UnregistrableError, match="shared"):
                space.register(whole[3])
        assert whole[1, 9:16].tobytes() == b"\0hello\0"


def test_numpys_own_large_arrays_can_be_registered() -> None:
    # In a separate process: the size from which malloc maps a block separately depends on earlier allocations.
    done = script(
        """
import numpy as np, tombolo
array = np.ones(16 << 20, np.uint8)
with tombolo.Card.functional() as card, card.create_space() as space, space.register(array) as shared:
    card.load("copy", space).run(input=b"hello", output=shared.address + 48, bytes=5)
print(array[47:54].tobytes())
"""
    )
    assert done.stdout == "b'\\x01hello\\x01'\n", done.stderr


def test_a_shared_array_is_not_resized(card: tombolo.Card) -> None:
    with card.create_space() as space:
        array = tombolo.empty(4096, np.uint8)
        shared = space.register(array)
        with pytest.raises(ValueError, match="resize"):
            array.resize(5000)
        large = np.ones(64 << 20, np.uint8)
        try:
            held = space.register(large)
        except errors.UnregistrableError:
            pass  # malloc had a hole for it
        else:
            with pytest.raises(ValueError, match="resize"):
                large.resize(100)
            held.free()
        shared.free()


def test_an_array_that_nobody_holds_stays_while_it_is_shared(card: tombolo.Card) -> None:
    with card.create_space() as space:
        shared = space.register(tombolo.empty(1000, np.uint8))
        gc.collect()
        copied(space, card, b"hello", shared, 5)
        assert shared.array[:5].tobytes() == b"hello"


def test_an_argument_stays_while_the_kernel_has_its_address(card: tombolo.Card) -> None:
    with card.create_space() as space:
        slot = card.load("copy", space)
        result = bytearray(5)
        made = space.map_array(result, "rw")
        slot.set("input", space.map_array(b"hello"))
        slot.set("output", made)
        slot.set("bytes", 5)
        gc.collect()
        slot.start()
        slot.wait()
        made.unmap()
        assert result == b"hello"


READ_ONLY = tombolo.empty(4096, np.uint8)
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda space: space.register(np.zeros((64, 64))[::2]), ValueError, "not C-contiguous"),
        (lambda space: space.register(np.zeros((64, 64)).T[:, :3]), ValueError, "ascontiguousarray"),
        (lambda space: space.register(READ_ONLY), ValueError, "read-only"),
        (lambda space: space.register(b"x" * 5000), ValueError, "read-only"),
        (lambda space: space.register(np.zeros(0)), ValueError, "empty"),
        (lambda space: space.register(np.array([object()])), TypeError, "Python objects"),
        (lambda space: space.register([1, 2]), TypeError, "list has no buffer"),
        (lambda space: space.register(np.zeros(10)), errors.UnregistrableError, "tombolo.empty"),
        (lambda space: space.register(tombolo.empty(9, "u1"), page_size=5), ValueError, "5 is no page size"),
        (lambda space: space.alloc(0), ValueError, "at least 1 byte"),
        (lambda space: space.alloc(-1), ValueError, "at least 1 byte"),
        (lambda space: space.alloc((3, -1), "u1"), ValueError, "negative"),
        (lambda space: space.alloc((3, 4)), TypeError, "needs a dtype"),
        (lambda space: space.alloc(3, object), TypeError, "Python objects"),
        (lambda space: space.alloc(3, "nonsense"), TypeError, "nonsense"),
        (lambda space: space.alloc(1 << 50), MemoryError, "address"),
        (lambda space: space.alloc(1 << 46), errors.UnshareableError, "2\\^46"),
        (lambda space: space.alloc(100, page_size=1000), ValueError, "no page size"),
    ],
)
def test_what_cannot_be_shared(
    card: tombolo.Card, call: Callable[[tombolo.AddressSpace], object], kind: type[Exception], words: str
) -> None:
    with card.create_space() as space:
        with pytest.raises(kind, match=words):
            call(space)
        copied(space, card, b"abc", bytearray(3), 3)


def test_wrong_order(card: tombolo.Card) -> None:
    with card.create_space() as space:
        array = tombolo.empty(4096, "u1")
        first = space.register(array)
        with pytest.raises(errors.UnregistrableError, match="shared"):
            space.register(array)
        memory = space.alloc(4096)
    # Both have ended with their space.
    first.free()
    memory.free()
    array[0] = memory.buffer[0] = 1
    with pytest.raises(errors.GoneError):
        space.alloc(10)
    with card.create_space() as space, space.alloc(1 << 24) as memory:
        slot = card.load("copy", space)
        for name, value in {"input": memory, "output": memory, "bytes": 1 << 24}.items():
            slot.set(name, value)
        slot.start()
        with pytest.raises(errors.MemoryInUseError):
            memory.free()
        slot.wait()


def test_threads_look_while_a_kernel_runs(card: tombolo.Card) -> None:
    """One thread waits, without the interpreter's lock; another has it, and waits for a page."""
    with card.create_space() as space:
        memory = space.alloc(1 << 22, page_size=4096)
        slot = card.load("copy", space)
        over = threading.Event()
        failures: list[BaseException] = []

        def look() -> None:
            try:
                while not over.is_set():
                    memory.array[:: 1 << 12] += 1
            except BaseException as error:
                failures.append(error)

        thread = threading.Thread(target=look)
        thread.start()
        slot.run(input=memory, output=memory.address + (1 << 21), bytes=1 << 21, progress=lambda _: None)
        over.set()
        thread.join()
        assert failures == []


def script(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)


def test_shared_memory_at_exit_and_in_a_child() -> None:
    done = script(
        """
import os, sys, tombolo
from tombolo import errors
import numpy as np
card = tombolo.Card.functional()
space = card.create_space()
memory = space.alloc(5)
array = tombolo.empty(5, "u1")
shared = space.register(array)
card.load("copy", space).run(input=b"hello", output=shared, bytes=5)
child = os.fork()
if child == 0:
    try:
        memory.sync()
    except errors.ForkError as error:
        print(error)
    try:
        space.register(np.ones(1 << 22))
    except errors.ForkError:
        print("nothing is shared in a child")
    sys.stdout.flush()
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print(array.tobytes())
"""
    )
    assert done.returncode == 0, done.stderr
    assert "belongs to the parent process" in done.stdout
    assert done.stdout.endswith("nothing is shared in a child\nb'hello'\n")


def test_addresses_fit_pointers(card: tombolo.Card) -> None:
    with card.create_space() as space, space.alloc(64) as memory:
        assert ctypes.c_void_p(memory.address).value == memory.address
        assert repr(memory) == f"<SharedMemory: 64 bytes at {memory.address:#x}>"


def test_threads_serve_their_own_traps_on_request(card: tombolo.Card) -> None:
    with card.create_space() as space:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            memory = space.alloc(20_000, traps="in-thread")
        assert memory.traps == ("protect" if told else "in-thread") and not memory.in_calls
        assert memory.page_size == 4096 and space.alloc(64).traps == "protect"
        text = bytes(range(1, 251)) * 80
        memory.buffer[:] = text
        found = bytearray(20_000)
        copied(space, card, memory, found, 20_000)
        copied(space, card, found[::-1], memory, 20_000)
        assert bytes(memory.buffer) == text[::-1]
        with pytest.raises(ValueError, match="in-thread"):
            space.alloc(64, traps="signal")
        with pytest.raises(ValueError, match="userfault"):
            space.alloc(64, traps="in-thread", for_calls=True)


def test_system_calls_take_memory_that_was_made_for_them(card: tombolo.Card, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(1, 251)) * 80)
    with card.create_space() as space:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            memory = space.alloc(20_000, for_calls=True)
        plain = space.alloc(20_000)
        assert memory.in_calls == (not told) and not plain.in_calls and memory.page_size == 4096
        if not memory.in_calls:
            assert "userfaultfd" in str(told[0].message)
        for shared in (memory, plain):
            # All its pages are with the card.
            shared.array[:] = 0
            copied(space, card, shared, shared, 20_000)
            if shared.in_calls:
                with open(path, "rb", buffering=0) as file:
                    assert file.readinto(shared.buffer) == 20_000
            else:
                shared.buffer[:] = path.read_bytes()
            found = bytearray(20_000)
            copied(space, card, shared, found, 20_000)
            assert found == path.read_bytes()
            if shared.in_calls:
                copied(space, card, found[::-1], shared, 20_000)
                with open(path, "wb", buffering=0) as file:
                    file.write(shared.buffer)
                assert path.read_bytes() == found[::-1]
                path.write_bytes(found)
