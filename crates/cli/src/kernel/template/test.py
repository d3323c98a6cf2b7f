"""Runs NAME on the simulated card and compares every byte with what Python computes."""

import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOMBOLO = os.environ.get("TOMBOLO", "tombolo")


def expected(a, b):
    """The sums, which wrap."""
    return [(x + y) & 0xFFFF_FFFF for x, y in zip(a, b)]


def run(length):
    rng = random.Random(length)
    a, b = ([rng.getrandbits(32) for _ in range(length)] for _ in range(2))
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder, name) for name in "abc"}
        files["a"].write_bytes(struct.pack(f"<{length}I", *a))
        files["b"].write_bytes(struct.pack(f"<{length}I", *b))
        subprocess.run(
            [TOMBOLO, "run", HERE, "--quiet", "--map", f"a={files['a']}",
             "--map", f"b={files['b']}", "--map", f"c={files['c']}:new",
             "--set", f"length={length}"],
            check=True,
        )
        c = struct.unpack(f"<{length}I", files["c"].read_bytes())
    wrong = [i for i, (got, want) in enumerate(zip(c, expected(a, b))) if got != want]
    if wrong:
        sys.exit(f"{length} integers: {len(wrong)} are wrong, the first is number {wrong[0]}")


if shutil.which(TOMBOLO) is None:
    sys.exit(f"there is no program {TOMBOLO} on the PATH; TOMBOLO=/path/to/tombolo names another")
for length in (1, 16, 1000):
    run(length)
print("NAME: all right")
