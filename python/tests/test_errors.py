"""Does every mistake get an error that names the rule, and leave the card usable?"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
import tombolo
from tombolo import errors


def copy(card: tombolo.Card, **changed: Any) -> None:
    arguments: dict[str, Any] = {"input": b"abc", "output": bytearray(3), "bytes": 3}
    arguments.update(changed)
    card.run("copy", {name: value for name, value in arguments.items() if value is not None})


READ_ONLY = np.zeros(3, np.uint8)
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("changed", "kind", "words"),
    [
        ({"input": np.arange(10)[::2]}, ValueError, "argument input: .*ascontiguousarray"),
        ({"input": np.asfortranarray(np.ones((2, 3)))}, ValueError, "not C-contiguous"),
        ({"input": memoryview(b"abcdef")[::2]}, ValueError, "not C-contiguous"),
        ({"input": np.array([object()])}, TypeError, "references to Python objects"),
        ({"input": np.ma.masked_array([1, 2], [False, True])}, TypeError, "mask"),
        ({"input": np.zeros((0, 4))}, ValueError, "empty"),
        ({"input": b""}, ValueError, "empty"),
        ({"input": 1.5}, TypeError, "float has no buffer"),
        ({"input": [1, 2]}, TypeError, "list has no buffer"),
        ({"output": READ_ONLY}, ValueError, "argument output: .*read-only"),
        ({"output": b"abc"}, ValueError, "read-only"),
        ({"bytes": -1}, ValueError, "-1 is not from 0"),
        ({"bytes": 1 << 64}, ValueError, "not from 0"),
        ({"bytes": b"123"}, errors.ArgumentSizeError, "takes 8 bytes, not 3"),
        ({"bytes": 1.5}, TypeError, "argument bytes: float has no buffer; pass an integer"),
        ({"bytes": None}, TypeError, "lacks bytes"),
        ({"length": 3}, TypeError, "does not have length; its arguments are input, output, bytes"),
        ({"input": "/no/such/file"}, FileNotFoundError, "/no/such/file"),
        ({"output": "/"}, errors.UnmappableError, "regular"),
        ({"output": 0, "bytes": 3}, errors.AccessError, "port m_axi_gmem1: a write at"),
        ({"bytes": 3 << 20}, errors.AccessError, "port m_axi_gmem"),
    ],
)
def test_wrong_arguments(
    card: tombolo.Card, changed: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        copy(card, **changed)
    copy(card)


def test_an_address_that_is_not_aligned(card: tombolo.Card) -> None:
    with card.create_space() as space:
        memory = space.alloc(4096)
        with pytest.raises(errors.MisalignedPointerError, match="`input` takes addresses that are multiples of 64"):
            card.load("copy", space).run(input=memory.address + 1, output=memory, bytes=3)
        # A copy of an array is aligned, wherever the array lies.
        odd, result = np.arange(20, dtype=np.uint8)[3:14], bytearray(11)
        card.load("copy", space).run(input=odd, output=result, bytes=11)
        assert result == bytes(range(3, 14))


def test_memory_of_another_space(card: tombolo.Card) -> None:
    with card.create_space() as here, tombolo.Card.functional() as other:
        for space in (card.create_space(), other.create_space()):
            mine, theirs = here.alloc(64), space.alloc(64)
            slot = card.load("copy", here)
            for foreign in (theirs, space.map_array(b"abc", "r")):
                with pytest.raises(ValueError, match="argument input: .* is of another address space"):
                    slot.run(input=foreign, output=mine, bytes=3)
            slot.run(input=mine, output=mine, bytes=3)
            space.close()


def test_an_integer_of_numpy_is_an_address(card: tombolo.Card) -> None:
    with card.create_space() as space:
        memory = space.alloc(16, np.uint64)
        memory.array[0] = memory.address
        card.load("copy", space).run(input=memory.array[0], output=memory.address_of(8), bytes=np.int64(8))
        assert memory.array[8] == memory.address


def test_an_array_is_not_resized_while_it_is_copied(card: tombolo.Card) -> None:
    cases: list[tuple[Any, type[Exception], Callable[[Any], object]]] = [
        (bytearray(5), BufferError, lambda it: it.append(1)),
        (np.zeros(5), ValueError, lambda it: it.resize(100)),
    ]
    with card.create_space() as space:
        for array, kind, resize in cases:
            mapping = space.map_array(array, "rw")
            with pytest.raises(kind, match="re-?size"):
                resize(array)
            mapping.unmap()
        held = bytearray(5)
        held_mapping = space.map_array(held, "rw")
        held_mapping.unmap()
        held.append(1)


def test_callbacks_that_cannot_be_called(card: tombolo.Card) -> None:
    wrong: Any = 5
    with card.create_space() as space:
        slot = card.load("copy", space)
        with pytest.raises(TypeError, match="progress is int, which cannot be called"):
            slot.run(input=b"abc", output=bytearray(3), bytes=3, progress=wrong)
        with pytest.raises(TypeError, match="listening is int"):
            space.flow({}, listening=wrong)
    with pytest.raises(TypeError, match="progress is int"):
        tombolo.Card.simulated(progress=wrong)


def test_an_access_error_has_attributes(card: tombolo.Card) -> None:
    with pytest.raises(errors.AccessError) as caught:
        copy(card, output=0x1000)
    error = caught.value
    assert (error.slot, error.kernel, error.port, error.write) == (0, "copy", "m_axi_gmem1", True)
    assert error.address == 0x1000


def test_an_array_is_as_it_was_after_a_run_that_failed(card: tombolo.Card) -> None:
    result = bytearray(b"before")
    with pytest.raises(errors.AccessError):
        copy(card, output=result, bytes=5 << 20)
    assert result == b"before"
    result.append(0)  # nothing holds it


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda space, path: space.map_file(path / "none"), FileNotFoundError, "opening it for reading"),
        (lambda space, path: space.map_file(path), errors.UnmappableError, "only regular files"),
        (lambda space, path: space.map_file(path / "f", direct=True), errors.UnmappableError, "host_channel"),
        (lambda space, path: space.map_file("pipe:/dev/zero"), errors.UnmappableError, "how many bytes"),
        (lambda space, path: space.map_file(path / "f", offset=9), errors.UnmappableError, "past the end"),
        (lambda space, path: space.map_file(path / "f", nbytes=9), errors.UnmappableError, "has 3 there"),
        (lambda space, path: space.map_file(path / "f", nbytes=-1), OverflowError, "int"),
        (lambda space, path: space.map_file(path / "f", "w"), ValueError, 'mode "w"'),
        (lambda space, path: space.map_file(path / "f", create=1), ValueError, "create"),
        (lambda space, path: space.map_file(path / "f", page_size=3), ValueError, "3 is no page size"),
        (lambda space, path: space.map_file(path / "f", address=1 << 50), ValueError, "48 bits"),
        (lambda space, path: space.map_file(path / "f", address=1), errors.UnmappableError, "multiple of the page size"),
        (lambda space, path: space.map_file(path / "e"), errors.UnmappableError, "empty"),
        (lambda space, path: space.map_file(7), TypeError, "PathLike"),
        (lambda space, path: space.map_array(b"x", "w"), ValueError, "mode 'w'"),
    ],
)
def test_wrong_mappings(
    card: tombolo.Card,
    tmp_path: Path,
    make: Callable[[tombolo.AddressSpace, Path], object],
    kind: type[Exception],
    words: str,
) -> None:
    (tmp_path / "f").write_bytes(b"abc")
    (tmp_path / "e").write_bytes(b"")
    with card.create_space() as space, pytest.raises(kind, match=words):
        make(space, tmp_path)


def test_mappings_do_not_overlap(card: tombolo.Card, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abc")
    with card.create_space() as space:
        first = space.map_file(tmp_path / "f", address=1 << 30)
        with pytest.raises(errors.UnmappableError, match="overlap"):
            space.map_file(tmp_path / "f", address=first.address)


def test_wrong_order(card: tombolo.Card) -> None:
    space = card.create_space()
    slot = card.load("copy", space)
    with pytest.raises(errors.SlotStateError):
        slot.wait()
    with pytest.raises(errors.NoSuchArgumentError, match="it has input, output, bytes"):
        slot.set("nothing", 1)
    with pytest.raises(ValueError, match="multiples of 4"):
        slot.read_register(2)
    with pytest.raises(ValueError, match="multiples of 4"):
        slot.wait_register(2, 1, 1)
    with pytest.raises(ValueError, match="deadline"):
        slot.wait_register(0, 1, 1, deadline=0)
    with pytest.raises(errors.SlotStateError):
        slot.wait_interrupt()
    with pytest.raises(ValueError, match="deadline"):
        slot.wait(deadline=0)
    again = card.load("copy", space)
    with pytest.raises(errors.GoneError, match="slot"):
        slot.start()
    mapping = space.map_array(b"x")
    mapping.unmap()
    mapping.unmap()
    with pytest.raises(errors.GoneError, match="mapping is gone"):
        mapping.sync()
    space.close()
    space.close()
    with pytest.raises(errors.GoneError, match="address space is gone"):
        space.map_array(b"x")
    with pytest.raises(errors.GoneError):
        again.start()
    with pytest.raises(errors.GoneError):
        card.load("copy", space)
    card.close()
    card.close()
    with pytest.raises(errors.GoneError, match="card is gone"):
        card.report()


def test_wrong_cards_and_kernels(card: tombolo.Card) -> None:
    with pytest.raises(ValueError, match="no platform 'f2': the package has enzian, .*f1"):
        tombolo.Card.simulated("f2")
    with pytest.raises(errors.ConfigurationError):
        tombolo.Card.simulated("/no/such.toml")
    with pytest.raises(ValueError, match="shell: unknown field `slotz`"):
        tombolo.Card.simulated(shell={"slotz": 1})
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"slots": 0}, "slots = 0: 1 to 16"),
        ({"channels": 3}, "power of two"),
        ({"channels": 300}, "1 to 32"),
    )
    for numbers, words in wrong:
        with pytest.raises(errors.ConfigurationError, match=words):
            tombolo.Card.functional(**numbers)
    with pytest.raises(ValueError, match="no page size"):
        tombolo.Card.functional(page_size=1000)
    with card.create_space() as space:
        with pytest.raises(TypeError, match="pass what card.create_space"):
            card.load("copy", card)  # type: ignore[arg-type]
        with pytest.raises(FileNotFoundError, match="the package has aes256ctr, "):
            card.load("nonsense", space)
        with pytest.raises(errors.NoSuchSlotError, match="slot 7"):
            card.load("copy", space, slot=7)
        with pytest.raises(errors.Error, match="sum"):
            card.load("sum", space)
    with tombolo.Card.functional() as other, other.create_space() as space:
        with pytest.raises(errors.OtherCardError, match="another card"):
            card.load("copy", space)
    spaces = []
    with pytest.raises(errors.NoFreeSpaceError):
        for _ in range(20):
            spaces.append(card.create_space())


def test_every_class_of_error_is_documented_and_an_error() -> None:
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert issubclass(kind, errors.Error) and kind.__doc__, name
    for number, name, _, _ in tombolo._native.error_codes():
        assert getattr(errors, name).code == number, name
