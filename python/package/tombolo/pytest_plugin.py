"""pytest plugin: waveforms of a kernel's call when a test fails.

It comes with the package. A test that fails after it called a :class:`tombolo.Kernel` makes its last call again, with
waveforms: simulation does the same in each cycle, so they show what failed, and tests that pass cost nothing. Files
are in ``tombolo-waves`` (``--tombolo-waves FOLDER``; an empty name for none).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Generator, List

import pytest

from . import _kernel

_KEY = pytest.StashKey[List[_kernel.Call]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The folder of waveforms."""
    parser.addoption(
        "--tombolo-waves",
        default="tombolo-waves",
        metavar="FOLDER",
        help="where waveforms of kernels go when a test fails; empty: nowhere",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Remembers the last call of a kernel."""
    calls: List[_kernel.Call] = []
    item.stash[_KEY] = calls

    def watch(call: _kernel.Call) -> None:
        calls[:] = [call]

    if not item.config.getoption("--tombolo-waves"):
        return (yield)
    _kernel._watchers.append(watch)
    try:
        return (yield)
    finally:
        _kernel._watchers.remove(watch)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Repeats the call with waveforms, if the test failed."""
    report = yield
    calls = item.stash.get(_KEY, [])
    if report.when != "call" or not report.failed or not calls:
        return report
    folder = Path(item.config.rootpath, item.config.getoption("--tombolo-waves"))
    name = re.sub(r"[^\w.-]+", "_", item.name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files = calls[-1].again(folder / f"{name}.fst")
        told = "\n".join(str(file) for file in files) or "no waveforms came of it"
    except Exception as error:
        told = f"no waveforms: {error}"
    report.sections.append((f"waveforms of kernel {calls[-1].kernel.name}", told))
    return report
