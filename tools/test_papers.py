# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""docs/papers.md, the ledger of the papers' features, names only what exists."""

import json
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
STATES = {"works", "partly", "otherwise", "refused", "absent", "text"}
SOURCES = [".rs", ".sv", ".svh", ".py", ".pyi", ".h", ".hpp", ".c", ".cpp", ".toml", ".rdl"]


def rows(text):
    """Number, feature, state and the rest of each row of the ledger's tables."""
    found = []
    for line in text.splitlines():
        if re.match(r"\| [A-Z]\d+ \|", line):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
            assert len(cells) == 4, f"a row has four cells: {line}"
            found.append(tuple(cells))
    return found


class Tree:
    """Files and names that a row may refer to."""

    def __init__(self):
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True,
                                capture_output=True, check=True)
        files = [pathlib.Path(name) for name in listed.stdout.split("\n") if name]
        self.texts = {path: (ROOT / path).read_text(errors="replace")
                      for path in files if path.suffix in SOURCES and (ROOT / path).is_file()}
        self.words = set()
        for text in self.texts.values():
            self.words |= set(re.findall(r"\w+", text))
        self.lab = "\n".join(text for path, text in self.texts.items() if str(path).startswith("crates/lab/"))
        self.bars = {row["name"] for row in json.loads((ROOT / "bench/results.json").read_text())}
        self.makefile = (ROOT / "Makefile").read_text()
        self.commands = "\n".join(text for path, text in self.texts.items()
                                  if str(path).startswith("crates/cli/src"))

    def lacks(self, name):
        """Why a name is wrong; None if it is right."""
        if name.startswith("make "):
            target = name.split()[1]
            if not re.search(rf"^{re.escape(target)}:", self.makefile, re.M):
                return f"no target {target} in the Makefile"
            only = re.search(r"ONLY=(\S+)", name)
            return self.lacks_bar(only.group(1)) if only else None
        if name.startswith("cargo "):
            for option, place in (("--example", "examples"), ("--test", "tests")):
                wanted = re.search(rf"{option} (\S+)", name)
                if wanted and not (list(ROOT.glob(f"crates/*/{place}/{wanted.group(1)}.rs"))
                                   + list(ROOT.glob(f"crates/*/{place}/{wanted.group(1)}/main.rs"))):
                    return f"no {place}/{wanted.group(1)}.rs"
            return None
        if name.startswith("tombolo "):
            word = name.split()[1].split("|")[0]
            variant = rf"(?m)^    {word.capitalize()}\b[^.]*[,({{]$"
            if word.startswith("-") or re.search(variant, self.commands):
                return None
            return f"no command `tombolo {word}`"
        if "/" in name and " " not in name:
            return None if (ROOT / name).exists() else "no such file"
        if re.fullmatch(r"[a-z0-9_]+(\.[a-z0-9_]+)+", name):
            return None if (ROOT / name).exists() else self.lacks_bar(name)
        last = re.findall(r"\w+", name)
        return None if last and last[-1] in self.words else "not in any source"

    def lacks_bar(self, name):
        known = any(bar.startswith(name) for bar in self.bars) or f'"{name}' in self.lab
        return None if known else f"no bar {name} in bench/results.json or the lab"


@pytest.fixture(scope="module", name="tree")
def whole_tree():
    return Tree()


def test_every_name_in_the_ledger_exists(tree):
    text = (ROOT / "docs/papers.md").read_text()
    wrong = []
    for number, _, state, rest in rows(text):
        if state == "text":
            continue
        for name in re.findall(r"`([^`]+)`", rest):
            why = tree.lacks(name)
            if why:
                wrong.append(f"{number}: `{name}`: {why}")
    assert not wrong, "\n".join(wrong)


def test_rows_are_whole():
    found = rows((ROOT / "docs/papers.md").read_text())
    wrong = []
    for letter, last in (("F", 73), ("V", 54), ("X", 60), ("C", 41)):
        numbers = [int(number[1:]) for number, *_ in found if number[0] == letter]
        if numbers[:last] != list(range(1, last + 1)) or len(set(numbers)) != len(numbers):
            wrong.append(f"rows {letter}1 to {letter}{last} must all be there, once and in order")
    for number, feature, state, rest in found:
        if state not in STATES:
            wrong.append(f"{number}: state {state!r} is none of {sorted(STATES)}")
        if not feature:
            wrong.append(f"{number}: no feature")
        if state == "works" and "`" not in rest:
            wrong.append(f"{number}: works, but nothing named shows it")
        if state in ("partly", "otherwise", "refused") and not rest:
            wrong.append(f"{number}: {state}, but the row does not say what lacks or why")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ["crates/nothing/here.rs", "walk.no_such_bar", "make nothing",
                                  "cargo run --example nothing", "tombolo nothing", "NoNameLike" + "This"])
def test_what_does_not_exist_is_found(tree, name):
    assert tree.lacks(name)


def test_missing_and_doubled_rows_are_found():
    good = "| F1 | a | works | `README.md` |\n"
    assert rows(good + good) == [("F1", "a", "works", "`README.md`")] * 2
    assert rows("no table\n") == []
