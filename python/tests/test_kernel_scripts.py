"""Do the scripts of packaged kernels run from anywhere, with results of independent libraries, and refuse bad files in a line?"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tombolo

KERNELS = tombolo.SHARE / "kernels"
SCRIPTS = [f"{name}.py" for name in ("dnn/dnn", "flow/flow", "nw_pairs/nw_pairs", "pgrnk/pagerank", "triangles/triangles")]
RANDOM = np.random.default_rng(5)


def run(folder: Path, script: str, *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(KERNELS / script), *map(str, words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def lines(folder: Path, script: str, *words: object) -> list[str]:
    """Lines that it prints. With `--check`, it has compared them with the exact model."""
    ended = run(folder, script, *words)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


def refused(folder: Path, script: str, *words: object) -> str:
    """The one line that it ends with, on bad input."""
    ended = run(folder, script, *words)
    assert ended.returncode == 1 and ended.stdout == "", ended.stderr
    assert len(ended.stderr.splitlines()) == 1, ended.stderr
    return ended.stderr


@pytest.fixture
def edges(tmp_path: Path) -> np.ndarray:
    """A graph of odd size, in a file: 77 vertices, among them some without edges."""
    pairs = RANDOM.integers(0, 75, (501, 2))
    (tmp_path / "edges.txt").write_text("".join(f"{source} {target}\n" for source, target in pairs))
    return pairs


def test_pagerank_ranks_as_matrix_products_do(edges: np.ndarray, tmp_path: Path) -> None:
    found = lines(tmp_path, "pgrnk/pagerank.py", "edges.txt", "--vertices", 77, "--top", 77, "--tolerance", 1e-13)
    ranks = np.zeros(77)
    for line in found:
        vertex, rank = line.split()
        ranks[int(vertex)] = float(rank)
    step = np.zeros((77, 77))
    np.add.at(step, (edges[:, 1], edges[:, 0]), 1.0)
    out = step.sum(axis=0)
    step = np.where(out > 0, step / np.maximum(out, 1), 1 / 77)
    expected = np.full(77, 1 / 77)
    for _ in range(200):
        expected = 0.15 / 77 + 0.85 * step @ expected
    np.testing.assert_allclose(ranks, expected, atol=2e-9)
    assert lines(tmp_path, "pgrnk/pagerank.py", "edges.txt", "--check", "--iterations", 3)


def test_triangles_are_those_of_the_cubed_matrix(edges: np.ndarray, tmp_path: Path) -> None:
    matrix = np.zeros((77, 77), np.int64)
    matrix[edges[:, 0], edges[:, 1]] = 1
    matrix |= matrix.T
    np.fill_diagonal(matrix, 0)
    expected = int(np.trace(matrix @ matrix @ matrix)) // 6
    assert expected > 0
    assert lines(tmp_path, "triangles/triangles.py", "edges.txt", "--check") == [str(expected)]


@pytest.mark.parametrize("script", ["pgrnk/pagerank.py", "triangles/triangles.py"])
def test_graphs_that_lie_are_refused(script: str, tmp_path: Path) -> None:
    header = "%%MatrixMarket matrix coordinate pattern general\n"
    for name, content, message in [
        ("few.mtx", f"{header}4 4 9\n1 2\n".encode(), "few.mtx: it says 9 entries and has 1"),
        ("vast.mtx", f"{header}{10**12} {10**12} 1\n1 2\n".encode(), "vast.mtx: .* take .* bytes: this machine has"),
        ("vast.txt", b"0 9999999999999\n", "vast.txt: .* take .* bytes: this machine has"),
        ("empty.txt", b"", "empty.txt: no vertex"),
        ("other.txt", b"\xff\xfe", "other.txt: no text"),
        ("other.npz", b"no archive", "other.npz: no .npz file"),
    ]:
        (tmp_path / name).write_bytes(content)
        assert re.search(message, refused(tmp_path, script, name))
    assert "nowhere.txt" in refused(tmp_path, script, "nowhere.txt")
    vast = ["--synthetic", 10**15] if "triangles" in script else ["--synthetic", "GAP-kron", "--divisor", 1]
    # 200 GB, which few machines have.
    if os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") < 200 * 10**9:
        assert "this machine has" in refused(tmp_path, script, *vast)


def test_pairs_are_aligned_as_by_the_definition(tmp_path: Path) -> None:
    """The best of nine targets is the query itself, where it is among them: 64 letters alike."""
    letters = np.array(list("ACGT"))[RANDOM.integers(0, 4, (9, 64))]
    (tmp_path / "targets.fa").write_text("".join(f">{n}\n{''.join(line)}\n" for n, line in enumerate(letters)))
    (tmp_path / "queries.fa").write_text("".join(f">{n}\n{''.join(letters[n])}ACG\n" for n in (7, 2, 4)))
    found = lines(tmp_path, "nw_pairs/nw_pairs.py", "queries.fa", "targets.fa", "--check")
    assert found == [f"query {n}: target {target}, score 64" for n, target in enumerate((7, 2, 4))]
    (tmp_path / "bad.fa").write_text("ACGN\n")
    assert "'N' is none of A, C, G and T" in refused(tmp_path, "nw_pairs/nw_pairs.py", "bad.fa", "targets.fa")
    (tmp_path / "bad.fa").write_text(">short\nACG\n")
    assert "3 letters in the longest record" in refused(tmp_path, "nw_pairs/nw_pairs.py", "queries.fa", "bad.fa")


def test_frames_of_odd_size_have_motions(tmp_path: Path) -> None:
    frames = RANDOM.integers(0, 256, (5, 39, 50), np.uint8)
    np.save(tmp_path / "frames.npy", frames)
    found = lines(tmp_path, "flow/flow.py", "frames.npy", "--check")
    assert len(found) == 2, "of 39 lines 32 are in whole tiles"
    for array, message in [
        (frames[:, :, :0], "0 by 39 pixels: 16 at least"),
        (frames[:4], "4 frames: 5 are needed"),
        (frames.astype(float), "3 dimensions of float64"),
    ]:
        np.save(tmp_path / "bad.npy", array)
        assert message in refused(tmp_path, "flow/flow.py", "bad.npy")
    (tmp_path / "bad.npy").write_bytes(b"")
    assert "bad.npy: No data left in file" in refused(tmp_path, "flow/flow.py", "bad.npy")


def test_images_are_classified(tmp_path: Path) -> None:
    """One more than a record's; the classes are those of matrix products."""
    images = RANDOM.integers(0, 256, (60, 8, 8), np.uint8)
    arrays: dict[str, Any] = {
        "taps": RANDOM.integers(-128, 128, (8, 3, 3)),
        "channel_bias": RANDOM.integers(-1000, 1000, 8),
        "weights": RANDOM.integers(-128, 128, (10, 8, 3, 3)),
        "class_bias": RANDOM.integers(-1000, 1000, 10),
        "shift": np.array(9),
    }
    np.savez(tmp_path / "weights.npz", **arrays)
    np.save(tmp_path / "images.npy", images)
    found = lines(tmp_path, "dnn/dnn.py", "weights.npz", "images.npy", "--check")
    windows = np.lib.stride_tricks.sliding_window_view(images.astype(np.int64), (3, 3), axis=(1, 2))
    sums = np.einsum("nyxab,cab->nyxc", windows, arrays["taps"]) + arrays["channel_bias"]
    tops = np.maximum(sums.reshape(60, 3, 2, 3, 2, 8).max(axis=(2, 4)), 0)
    scores = np.einsum("nyxc,kcyx->nk", np.minimum(tops >> 9, 255), arrays["weights"]) + arrays["class_bias"]
    expected = scores.argmax(axis=1)
    assert [int(re.findall(r"class (\d+)", line)[0]) for line in found] == expected.tolist()
    floats = {key: array.astype(np.float32) for key, array in arrays.items() if key != "shift"}
    np.savez(tmp_path / "floats.npz", **floats)
    found = lines(tmp_path, "dnn/dnn.py", "--float", "floats.npz", "images.npy", "--check")
    # Rounded: sums have more than 24 bits.
    scores = np.einsum("nyxc,kcyx->nk", tops, arrays["weights"]) + arrays["class_bias"]
    assert [float(re.findall(r"score (\S+)", line)[0]) for line in found] == pytest.approx(scores.max(axis=1).tolist(), rel=1e-4)
    np.savez(tmp_path / "bad.npz", **(floats | {"class_bias": np.full(10, np.inf)}))
    assert "`class_bias` has values that are not finite" in refused(tmp_path, "dnn/dnn.py", "--float", "bad.npz", "images.npy")
    np.savez(tmp_path / "bad.npz", **(arrays | {"taps": arrays["taps"][:, :2]}))
    message = refused(tmp_path, "dnn/dnn.py", "bad.npz", "images.npy")
    assert "bad.npz: `taps` has shape (8, 2, 3): must be (8, 3, 3)" in message
    np.save(tmp_path / "bad.npy", images[:, :, :0])
    assert "images of 0 by 8 pixels" in refused(tmp_path, "dnn/dnn.py", "weights.npz", "bad.npy")
    assert "bad.npy: a single array" in refused(tmp_path, "dnn/dnn.py", "bad.npy", "images.npy")


def test_digests_are_those_of_hashlib(tmp_path: Path) -> None:
    assert lines(tmp_path, "sha256_hls/against_hashlib.py", 50) == ["0"]


@pytest.mark.parametrize(
    "script, option, library",
    [
        ("dnn/dnn.py", "--digits", "matplotlib"),
        ("flow/flow.py", "--photograph", "matplotlib"),
        *((script, "--help", "numpy") for script in SCRIPTS),
    ],
)
def test_a_missing_library_is_named(script: str, option: str, library: str, tmp_path: Path) -> None:
    """The wheel depends on none."""
    (tmp_path / f"{library}.py").write_text(f"raise ModuleNotFoundError(\"No module named '{library}'\")\n")
    code = "import runpy, sys; sys.path.insert(0, '.'); del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"
    command = [sys.executable, "-c", code, str(KERNELS / script), option]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 1 and len(ended.stderr.splitlines()) == 1, ended.stderr
    assert library in ended.stderr and ": pip install" in ended.stderr
