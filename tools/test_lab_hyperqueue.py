# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Do the lab's jobs run on two workers of HyperQueue, each once, and is a failed one reported?"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("hyperqueue", reason="pip install -r tools/requirements-hyperqueue.txt")

TOOL = Path(__file__).with_name("lab-hyperqueue")


def run(folder: Path, script: str, names: list[str]) -> subprocess.CompletedProcess[str]:
    """The tool with two workers and a shell script for the command, which gets a name as $1."""
    work = {"command": ["/bin/sh", "-c", script, "sh"], "names": names}
    return subprocess.run([sys.executable, TOOL, "local:2"], input=json.dumps(work), cwd=folder, text=True,
                          stdout=subprocess.PIPE, timeout=120)


def test_two_workers_do_each_piece_once(tmp_path):
    # The first two wait for each other: one worker would never end.
    script = 'echo $1 >> done; touch at-$1; case $1 in 0|1) until [ -e at-$((1 - $1)) ]; do sleep 0.05; done;; esac'
    names = [str(number) for number in range(6)]
    ended = run(tmp_path, script, names)
    assert ended.returncode == 0 and ended.stdout == ""
    assert sorted((tmp_path / "done").read_text().split()) == names


def test_a_piece_that_fails_takes_no_other_with_it(tmp_path):
    ended = run(tmp_path, 'echo $1 >> done; [ $1 != bad ]', ["bad", "good", "better"])
    assert ended.returncode == 1
    assert ended.stdout.startswith("bad: ") and len(ended.stdout.splitlines()) == 1
    assert sorted((tmp_path / "done").read_text().split()) == ["bad", "better", "good"]
