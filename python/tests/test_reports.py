"""Tables and pictures of a report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas  # type: ignore[import-untyped]
import pytest
import tombolo
from tombolo._report import TABLES


def report_of(card: tombolo.Card) -> tombolo.Report:
    array = np.arange(1 << 18, dtype=np.uint32)
    with card:
        card.run("copy", input=array, output=np.zeros_like(array), bytes=array.nbytes)
        return card.report()


@pytest.fixture(scope="module")
def simulated() -> tombolo.Report:
    return report_of(tombolo.Card.simulated())


@pytest.fixture(scope="module")
def functional() -> tombolo.Report:
    return report_of(tombolo.Card.functional())


def test_what_was_busy_when(simulated: tombolo.Report, functional: tombolo.Report) -> None:
    times, tracks = simulated.busy(50)
    assert len(times) == 50 and times[0] == 0 and times == sorted(times)
    assert all(len(shares) == 50 and 0 <= min(shares) and max(shares) <= 1 for shares in tracks.values())
    [run] = simulated["runs"]
    step = times[1]
    assert sum(tracks["slot 0/runs"]) * step == pytest.approx(run["time"] * 1e-12, rel=1e-6)
    times, rates = simulated.bandwidth(50)
    for way, count in (("PCIe to the card", "bytes_to_card"), ("PCIe to the host", "bytes_to_host")):
        moved = simulated["statistics"]["link"][count]
        assert moved >= 1 << 20 and sum(rates[way]) * step == pytest.approx(moved, rel=1e-6)
        assert max(rates[way]) < 100e9
    assert functional.busy() == ([], {}) and functional.bandwidth() == ([], {})
    for wrong in (0, -1, 10_000_000):
        with pytest.raises(ValueError, match="parts"):
            simulated.busy(wrong)


@pytest.mark.parametrize("kind", ["simulated", "functional"])
def test_tables(kind: str, request: pytest.FixtureRequest) -> None:
    report = request.getfixturevalue(kind)
    frames = {table: report.frame(table) for table in TABLES}
    assert all(isinstance(frame, pandas.DataFrame) for frame in frames.values())
    assert frames["runs"].kernel.tolist() == ["copy"]
    channels = frames["channels"]
    assert channels.bytes_read.sum() >= 1 << 20 and 0 <= channels.busy.max() <= 1
    ports = frames["ports"].set_index(["port", "way"])
    assert ports.loc[(report["ports"][0], "reads"), "bytes"] > 500_000
    assert frames["paging"].set_index("what").value["faults"] > 0
    assert frames["bandwidth"].shape == ((200, 2) if kind == "simulated" else (0, 0))


@pytest.mark.parametrize("kind", ["simulated", "functional"])
def test_pictures(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    figure = request.getfixturevalue(kind).plot()
    figure.savefig(tmp_path / "run.png", dpi=50)
    assert (tmp_path / "run.png").stat().st_size > 5000
    if kind == "simulated":
        above, below = figure.axes
        assert [label.get_text() for label in above.get_yticklabels()][0]
        assert below.get_ylabel() == "GB/s"


def test_without_pandas_and_matplotlib(functional: tombolo.Report, monkeypatch: Any) -> None:
    for module in ("pandas", "matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match="Report.frame needs pandas: pip install pandas"):
        functional.frame()
    with pytest.raises(ImportError, match="pip install matplotlib"):
        functional.plot()
    with pytest.raises(ValueError, match="no table 'nonsense'; there are runs, "):
        functional.frame("nonsense")


def test_bound_is_a_sentence_and_figures(simulated: tombolo.Report, functional: tombolo.Report) -> None:
    assert simulated.bound.startswith("bound by ")
    assert simulated.bound in str(simulated)
    assert simulated["bound"]["gain"] >= 1
    assert 'id=bound' in simulated._native.html()
    assert functional["bound"] == {"unmodelled": "the card has no time"}
    assert "no advice" in functional.bound
