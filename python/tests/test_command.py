"""The `tombolo` command of the package, and the wheel's build elsewhere."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tombolo

REPOSITORY = Path(__file__).resolve().parents[2]


def command(cache: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tombolo", *arguments],
        env={**os.environ, "TOMBOLO_CACHE": str(cache)},
        capture_output=True,
        text=True,
    )


def test_the_cache_is_listed_and_cleared(tmp_path: Path) -> None:
    done = command(tmp_path, "cache", "list")
    assert (done.returncode, done.stdout) == (0, f"0 models, 0.0 MB, in {tmp_path}/models\n")
    assert command(tmp_path, "cache", "clear").stdout == f"removed 0 models from {tmp_path}/models\n"
    for name in ("aaa", "bbb", "ccc.tmp5-0"):
        (tmp_path / "models" / name).mkdir(parents=True)
        (tmp_path / "models" / name / "model.so").write_bytes(b"x" * 100_000)
    lines = command(tmp_path, "cache", "list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["aaa", "bbb", "2"] and "0.1 MB" in lines[0]
    with open(tmp_path / "models" / "aaa.lock", "w") as lock:
        # As while it is being built.
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = command(tmp_path, "cache", "clear")
    assert done.returncode == 1 and "removed 1 models" in done.stdout and "1 are being built" in done.stderr
    assert {path.name for path in (tmp_path / "models").iterdir() if path.is_dir()} == {"aaa", "ccc.tmp5-0"}
    assert command(tmp_path, "cache", "clear").returncode == 0
    assert tombolo.cache.Entry.__doc__


def test_the_package_carries_the_command(tmp_path: Path) -> None:
    version = command(tmp_path, "--version")
    assert version.returncode == 0 and tombolo.__version__ in version.stdout, version.stderr
    (tmp_path / "a").write_bytes(b"some bytes")
    run = ["run", "copy", "--functional", "--map", f"input={tmp_path}/a", "--map", f"output={tmp_path}/b:new"]
    done = command(tmp_path, *run, "--set", "bytes=size(input)")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "b").read_bytes() == b"some bytes"


def test_the_wheel_is_for_many_linuxes() -> None:
    # Where the package comes from a wheel that was built here.
    tag = Path(tombolo.__file__).parents[1].glob("tombolo_fpga-*.dist-info/WHEEL")
    lines = [path.read_text() for path in tag]
    assert all("Tag: cp310-abi3-manylinux_2_34_x86_64" in text for text in lines), lines


@pytest.mark.parametrize("arguments", [["cache"], ["cache", "nonsense"], ["cache", "clear", "now"]])
def test_wrong_arguments(arguments: list[str], tmp_path: Path) -> None:
    done = command(tmp_path, *arguments)
    assert done.returncode == 2 and "usage: tombolo cache list" in done.stderr


def test_a_cache_that_cannot_be_read(tmp_path: Path) -> None:
    # Root may read a folder without permissions; no user may read this one.
    (tmp_path / "models").symlink_to("models")
    done = command(tmp_path, "cache", "list")
    assert done.returncode == 1 and "symbolic links" in done.stderr


@pytest.mark.parametrize(
    ("system", "machine", "words"),
    [("Darwin", "arm64", "Darwin on arm64"), ("Linux", "aarch64", "Linux on aarch64"), ("Windows", "AMD64", "Windows")],
)
def test_other_platforms_are_refused_by_name(system: str, machine: str, words: str, monkeypatch: Any) -> None:
    pytest.importorskip("maturin")
    spec = importlib.util.spec_from_file_location("backend", REPOSITORY / "python" / "backend.py")
    assert spec is not None and spec.loader is not None
    backend = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(backend)
    monkeypatch.setattr(sys, "platform", {"Linux": "linux"}.get(system, "other"))
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(backend, "lay_out", lambda: pytest.fail("it has begun"))
    with pytest.raises(SystemExit, match=words):
        backend.build_wheel("nowhere")
