"""Fixtures of the package's tests. Run them with `make test-python`."""

from __future__ import annotations

from typing import Iterator

import pytest
import tombolo


@pytest.fixture
def card() -> Iterator[tombolo.Card]:
    """A functional card."""
    with tombolo.Card.functional() as opened:
        yield opened
