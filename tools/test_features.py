# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""Is a crate compiled once, whatever part of the workspace is built? One feature that a part does not ask for,
and nearly everything is compiled once more for it: crates/features asks for it everywhere.
"""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# As tools/test, tools/compile-demo, tools/build-wheel and tools/install-c compile.
TESTS = ["--workspace", "--exclude", "tombolo-python", "--exclude", "tombolo-pager", "-e", "normal,build,dev"]
PARTS = {
    "commands": ["-e", "normal,build"],
    "demo": ["--no-default-features", "-e", "normal,build"],
    "Python": ["-p", "tombolo-python", "-e", "normal,build"],
    "C": ["-p", "tombolo-capi", "-e", "normal,build"],
    "pager": ["-p", "tombolo-pager", "--features", "testing", "-e", "normal,build,dev"],
}
# Crates with features of their own: the pager's for its tests, and the command's lab.
OWN = ("tombolo-pager ", "tombolo-cli ")


def features(selection):
    """The features that each crate is compiled with, once or more often."""
    tree = subprocess.run(["cargo", "tree", "--locked", "--prefix", "none", "--no-dedupe", "-f", "{p}|{f}", *selection],
                          cwd=ROOT, text=True, capture_output=True, check=False)
    assert tree.returncode == 0, tree.stderr
    found = {}
    for line in tree.stdout.splitlines():
        crate, separator, of_it = line.removesuffix(" (*)").partition("|")
        if separator:
            found.setdefault(" ".join(crate.split()[:2]), set()).add(of_it)
    return found


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_compiled_as_the_tests_are(part):
    tests = features(TESTS)
    assert len(tests) > 100
    others = {crate: of_it - tests[crate] for crate, of_it in features(PARTS[part]).items()
              if crate in tests and not crate.startswith(OWN)}
    assert not {crate: of_it for crate, of_it in others.items() if of_it}
