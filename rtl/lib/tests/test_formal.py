# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Formal proofs: are the small blocks right for all inputs and all time? (The slow proofs, and that
each proof can fail: make bench ONLY=formal.)"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_fast_proofs():
    done = subprocess.run([sys.executable, ROOT / "tools" / "formal", "--fast"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "proved for all time" in done.stdout
