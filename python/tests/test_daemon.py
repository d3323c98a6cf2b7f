"""Cards by name: does a daemon's card serve Python as one of its own does?"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Iterator

import pytest
import tombolo
from tombolo import errors


@pytest.fixture
def socket(tmp_path: Path) -> Iterator[str]:
    """A daemon with a functional card of two slots; the name of its card."""
    place = tmp_path / "card"
    environment = {name: value for name, value in os.environ.items() if name != "TOMBOLO_CARD"}
    daemon = subprocess.Popen(
        [sys.executable, "-m", "tombolo", "daemon", "--functional", "--slots", "2", "--socket", str(place)],
        env=environment,
    )
    try:
        while not place.exists():
            assert daemon.poll() is None, "the daemon has ended"
            time.sleep(0.01)
        yield f"unix:{place}"
    finally:
        daemon.terminate()
        daemon.wait()


def copy(card: tombolo.Card, folder: Path, count: int) -> tombolo.Slot:
    content = os.urandom(count)
    (folder / "in").write_bytes(content)
    with card.create_space() as space:
        source = space.map_file(folder / "in")
        target = space.map_file(folder / "out", "rw", create=count)
        slot = card.load("copy", space)
        slot.run(input=source, output=target, bytes=count)
        target.unmap()
    assert (folder / "out").read_bytes() == content
    return slot


def test_a_functional_card_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOMBOLO_CARD", raising=False)
    with tombolo.Card.open("functional") as card:
        assert copy(card, tmp_path, 70_001).number == 0


def test_two_cards_are_one(socket: str, tmp_path: Path) -> None:
    with tombolo.Card.open(socket) as first, tombolo.Card.open(socket) as second:
        with first.create_space() as space:
            taken = first.load("copy", space)
            assert taken.number == 0
            # The other one gets what is free, and nothing of the first.
            assert copy(second, tmp_path, 123_457).number == 1
            numbers = space.alloc(8, "u8")
            numbers.array[:] = range(8)
            assert numbers.array.tolist() == list(range(8))
        assert copy(second, tmp_path, 1).number == 0


def test_the_environment_names_the_card(
    socket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tombolo.Card.open(socket) as other, other.create_space() as space:
        other.load("copy", space)
        monkeypatch.setenv("TOMBOLO_CARD", socket)
        with tombolo.Card.open("functional") as card:
            assert copy(card, tmp_path, 4096).number == 1


def test_nobody_is_there(tmp_path: Path) -> None:
    with pytest.raises(errors.DaemonError, match="nobody"):
        tombolo.Card.open(f"unix:{tmp_path}/nobody")
