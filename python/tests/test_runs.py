"""Do programs get the right bytes?"""

from __future__ import annotations

import array
import os
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest
import tombolo

KEY = bytes(range(32))
IV = bytes(range(16, 32))


def noise(count: int, seed: int = 1) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.random.default_rng(seed).integers(0, 256, count, dtype=np.uint8)


def test_a_file_is_copied(card: tombolo.Card, tmp_path: Path) -> None:
    source, target = tmp_path / "in.bin", tmp_path / "out.bin"
    source.write_bytes(noise(5_000_001).tobytes())
    with card.create_space() as space:
        given = space.map_file(source)
        made = space.map_file(target, "rw", create=given.nbytes)
        slot = card.load("copy", space)
        slot.set("input", given)
        slot.set("output", made)
        slot.set("bytes", given.nbytes)
        slot.start()
        slot.wait()
        made.unmap()
        assert target.read_bytes() == source.read_bytes()
    report = card.report()
    assert [run["kernel"] for run in report["runs"]] == ["copy"]
    assert report["paging"]["faults"] > 0
    assert report["paging"]["bytes_written"] >= 5_000_001
    assert "kernel copy in slot 0" in str(report)


def test_a_pipe_is_read_at_addresses(card: tombolo.Card, tmp_path: Path) -> None:
    source, target = tmp_path / "pipe", tmp_path / "out.bin"
    os.mkfifo(source)
    content = noise(10_001).tobytes()
    writer = threading.Thread(target=source.write_bytes, args=(content,))
    writer.start()
    with card.create_space() as space:
        given = space.map_file(f"pipe:{source}", nbytes=len(content))
        made = space.map_file(target, "rw", create=given.nbytes)
        slot = card.load("copy", space)
        slot.set("input", given)
        slot.set("output", made)
        slot.set("bytes", given.nbytes)
        slot.start()
        slot.wait()
        made.unmap()
    writer.join()
    assert target.read_bytes() == content


def test_an_array_is_encrypted_as_openssl_does(card: tombolo.Card) -> None:
    plain = noise(100_003)
    cipher = np.empty_like(plain)
    card.run("aes256ctr", input=plain, output=cipher, bytes=plain.nbytes, key=KEY, iv=IV)
    judge = subprocess.run(
        ["openssl", "enc", "-aes-256-ctr", "-K", KEY.hex(), "-iv", IV.hex()],
        input=plain.tobytes(),
        capture_output=True,
        check=True,
    )
    assert cipher.tobytes() == judge.stdout


@pytest.mark.parametrize("count", [1, 15, 16, 17, 1023, 70_000])
def test_numbers_are_added(card: tombolo.Card, count: int) -> None:
    a = np.arange(count, dtype=np.uint32)
    b = np.full(count, 0xFFFF_FFF0, dtype=np.uint32)
    c = np.zeros(count, dtype=np.uint32)
    card.run("vadd", a=a, b=b, c=c, length=count)
    np.testing.assert_array_equal(c, a + b)


@pytest.mark.parametrize(
    "source",
    [
        np.arange(24, dtype=">i4").reshape(2, 3, 4),
        np.array([("a", 1.5), ("b", 2.5)], dtype=[("name", "U4"), ("value", "f8")]),
        np.array(["2026-11-22", "2026-11-23"], dtype="datetime64[D]"),
        np.array(3.25, dtype=np.float16),
        np.array([1 + 2j], dtype=np.complex128),
        np.arange(12, dtype=np.int16).reshape(3, 4)[1:],
    ],
    ids=["big-endian", "structured", "dates", "scalar", "complex", "part"],
)
def test_any_plain_type_crosses(card: tombolo.Card, source: np.ndarray) -> None:
    result = np.zeros_like(source)
    card.run("copy", input=source, output=result, bytes=source.nbytes)
    np.testing.assert_array_equal(result, source)


def test_buffers_without_numpy_cross(card: tombolo.Card, tmp_path: Path) -> None:
    result = bytearray(6)
    card.run("copy", input=b"abcdef", output=result, bytes=6)
    assert result == b"abcdef"
    numbers = array.array("d", [0.0, 0.0])
    card.run("copy", input=array.array("d", [1.5, 2.5]), output=numbers, bytes=16)
    assert numbers.tolist() == [1.5, 2.5]
    file = tmp_path / "file"
    file.write_bytes(b"from file")
    result = bytearray(9)
    card.run("copy", input=file, output=memoryview(result), bytes=9)
    assert result == b"from file"


def test_bytes_that_the_kernel_does_not_write_stay(card: tombolo.Card) -> None:
    result = bytearray(b"x" * 300)
    card.run("copy", {"input": b"y" * 100, "output": result, "bytes": 100})
    assert result == b"y" * 100 + b"x" * 200


def test_sync_shows_what_is_written_so_far(card: tombolo.Card) -> None:
    result = bytearray(8)
    with card.create_space() as space:
        slot = card.load("copy", space)
        with space.map_array(b"12345678") as given, space.map_array(result, "rw") as made:
            made.prefetch()
            assert given.make_hot() >= 0
            slot.run(input=given, output=made, bytes=8)
            assert result == bytes(8)
            made.sync()
            assert result == b"12345678"


def test_several_slots_and_small_memory(tmp_path: Path) -> None:
    with tombolo.Card.functional(slots=2, channel_bytes=16 << 20, page_size=4096) as card:
        with card.create_space() as space:
            one, two = card.load("copy", space), card.load("vadd", space, slot=1)
            source = noise(3 << 20)
            result = np.empty_like(source)
            one.run(input=source, output=result, bytes=source.nbytes)
            np.testing.assert_array_equal(result, source)
            total = np.empty(4, np.uint32)
            ones = np.ones(4, np.uint32)
            two.run(a=ones, b=ones, c=total, length=4)
            assert total.tolist() == [2, 2, 2, 2]
            assert one.read_register(0x20) == source.nbytes
            assert (one.kernel, two.number) == ("copy", 1)
            assert [argument.name for argument in two.arguments] == ["a", "b", "c", "length"]
        assert card.describe()["slots"] == 2
        assert card.time == 0, "a functional card has no time"


def test_the_real_rtl_gives_the_same_bytes() -> None:
    steps: list[str] = []
    with tombolo.Card.simulated(progress=steps.append) as card:
        plain = noise(10_001)
        cipher = np.empty_like(plain)
        arguments = {"input": plain, "bytes": plain.nbytes, "key": KEY, "iv": IV}
        card.run("aes256ctr", arguments, output=cipher, deadline=0.01)
        report = card.report()
    expected = np.empty_like(plain)
    with tombolo.Card.functional() as card:
        card.run("aes256ctr", arguments, output=expected)
    np.testing.assert_array_equal(cipher, expected)
    assert report["runs"][0]["cycles"] > 1000
    assert any(step.startswith("shell") for step in steps)
