"""Is a kernel a function, and does a failing test of one leave waveforms?"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tombolo

#: The test of the tutorial, in a folder of its user's.
TEST = """
import numpy as np, tombolo

add = tombolo.kernel("mine")

def test_it_adds() -> None:
    a = np.arange(100, dtype=np.uint32)
    c = np.zeros_like(a)
    add(a=a, b=a, c=c, length=a.size)
    np.testing.assert_array_equal(c, a + a)
"""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    # No option is needed: the package registers its plugin.
    command = [sys.executable, "-m", "pytest", "-q", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A user's folder with a kernel and its test."""
    shutil.copytree(tombolo.SHARE / "kernels" / "vadd", tmp_path / "mine")
    shutil.copytree(tombolo.SHARE / "kernels" / "lib", tmp_path / "lib")
    (tmp_path / "test_mine.py").write_text(TEST)
    return tmp_path


def test_a_kernel_is_a_function() -> None:
    add = tombolo.kernel("vadd", cold=True)
    assert (add.name, Path(add.folder).is_dir()) == ("vadd", True)
    with pytest.raises(TypeError, match="lacks a, b, c, length"):
        add()
    with pytest.raises(FileNotFoundError, match="no kernel 'none'"):
        tombolo.kernel("none")


def test_waveforms_come_with_a_failure_only(mine: Path) -> None:
    passed = run(mine)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert not (mine / "tombolo-waves").exists()

    test = mine / "test_mine.py"
    test.write_text(test.read_text().replace("a + a", "a + a + 1"))
    failed = run(mine)
    assert failed.returncode == 1
    wave = mine / "tombolo-waves" / "test_it_adds.kernel-0.fst"
    assert "waveforms of kernel mine" in failed.stdout and str(wave) in failed.stdout
    assert wave.stat().st_size > 1000


def test_a_report_is_a_page(tmp_path: Path) -> None:
    source = np.arange(50_000, dtype=np.uint32)
    result = np.zeros_like(source)
    timeline = tmp_path / "run.pftrace"
    with tombolo.Card.simulated(timeline=timeline) as card:
        card.run("copy", input=source, output=result, bytes=source.nbytes)
        report = card.report()
    np.testing.assert_array_equal(result, source)
    assert timeline.stat().st_size > 10_000
    page = tmp_path / "run.html"
    report.html(page)
    text = page.read_text()
    for expected in ("copy on sim:f1", "m_axi_gmem0 reads", str(timeline), "array of type ndarray"):
        assert expected in text, expected
    # Each byte of both arrays, once, under the names of the kernel's arguments.
    assert "<b>input</b>" in text and "read 195.3 KiB, written 0 B" in text
    assert "<b>output</b>" in text and "read 0 B, written 195.3 KiB" in text
    frame = report._repr_html_()
    assert frame.startswith("<iframe") and "srcdoc" in frame and "<script" not in frame

    with pytest.raises(OSError):
        report.html(tmp_path / "nowhere" / "run.html")
    with pytest.raises(FileNotFoundError):
        tombolo.Card.simulated(timeline=tmp_path / "nowhere" / "run.pftrace")


def test_a_page_shows_who_had_which_memory_when(tmp_path: Path) -> None:
    """The kernel takes the pages in order; the program takes the first one back when it looks."""
    with tombolo.Card.simulated() as card, card.create_space() as space:
        source, result = (space.alloc(5 * 4096, np.uint8, page_size=4096) for _ in range(2))
        source.array[:] = 7
        slot = card.load("copy", space)
        slot.run(input=source, output=result, bytes=source.nbytes)
        assert result.array[0] == 7
        page = tmp_path / "run.html"
        card.report().html(page)
    text = page.read_text()
    assert "<h2>Shared memory</h2><p>The program waited 1 time" in text
    assert "<b>output</b> <span class=what>shared memory</span>" in text
    pictures = re.findall(r"<svg class=owners .*?data-address=(\d+) data-row=(\d+) data-end=\d+ data-cells=(\w+)>", text)
    by_address = {int(address): (int(row), cells) for address, row, cells in pictures}
    read = by_address[source.address]
    written = by_address[result.address]
    assert (read[0], written[0]) == (4096, 4096)
    lasts = ["".join(cells[(row + 1) * 240 - 1] for row in range(5)) for _, cells in (read, written)]
    # Pages that were read are still shared; written ones are on the card, but for the page that the program has read.
    assert lasts == ["sssss", "scccc"]
    assert read[1][0] == "p" and set(written[1]) <= set("pcst")


def test_a_page_without_time(card: tombolo.Card, tmp_path: Path) -> None:
    card.run("copy", input=b"abc", output=bytearray(3), bytes=3)
    card.report().html(os.fspath(tmp_path / "run.html"))
    assert "This card has no time" in (tmp_path / "run.html").read_text()
