# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""docs/architecture.md: is it true? Paths that it names exist, its arrows are those of the Cargo files, `unsafe` is
written only where it states so, and the owner's rooms are lent in its order."""

import importlib.machinery
import importlib.util
import pathlib
import re
import subprocess
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs/architecture.md").read_text()
LOADER = importlib.machinery.SourceFileLoader("house", str(ROOT / "tools/house"))
house = importlib.util.module_from_spec(importlib.util.spec_from_loader("house", LOADER))
LOADER.exec_module(house)


def table(heading):
    """The rows of the first table under a heading, each a list of cells."""
    section = re.split(r"\n#+ ", PAGE.split(f"\n{heading}\n", 1)[1], maxsplit=1)[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


def words(cell):
    """The names between backticks in a cell."""
    return re.findall(r"`([^`]+)`", cell)


def test_paths_exist():
    """A path is a word between backticks with a slash, of a folder at the root or of a crate."""
    tops = {path.name for path in ROOT.iterdir()}
    crates = {path.name for path in (ROOT / "crates").iterdir()}
    missing = []
    for word in words(PAGE):
        first, _, rest = word.partition("/")
        if not rest or re.search(r"[*<>{} ×:]", word):
            continue
        if first in tops and not (ROOT / word.rstrip("/")).exists():
            missing.append(word)
        elif first in crates and first not in tops:
            inside = ROOT / "crates" / first
            if not (inside / rest).exists() and not (inside / "src" / rest).exists():
                missing.append(word)
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", PAGE):
        if not (ROOT / "docs" / link).exists():
            missing.append(link)
    assert not missing


def dependencies():
    """For each of our crates, those of ours that it uses outside its tests."""
    manifests = {path.parent.name: tomllib.loads(path.read_text())
                 for path in (ROOT / "crates").glob("*/Cargo.toml")}
    manifests["python"] = tomllib.loads((ROOT / "python/Cargo.toml").read_text())
    ours = set(manifests)
    return {name: set(manifest.get("dependencies", {})) & ours
            for name, manifest in manifests.items()}


def test_arrows_are_those_of_the_cargo_files():
    written = {words(crate)[0]: set(words(uses)) for crate, uses, *_ in table("### Crates")}
    assert written == dependencies()


def test_arrows_lead_one_way():
    """In the order of the table, every arrow leads to a crate further down."""
    order = [words(crate)[0] for crate, *_ in table("### Crates")]
    for crate, used in dependencies().items():
        for other in used:
            assert order.index(other) > order.index(crate), f"{crate} -> {other}"


def test_rooms_of_the_owner_are_lent_in_order():
    """The table lists the owner's rooms; code borrows several of them only in its order, and never one twice."""
    folder = ROOT / "crates/owner/src"
    rooms = [words(room)[0] for room, *_ in table("## The owner and its clients")]
    assert sorted(rooms) == sorted(house.owner_rooms(house.code_of(folder / "lib.rs")))
    lent = 0
    for path in sorted(folder.rglob("*.rs")):
        for line, had, got in house.lent_rooms(house.code_of(path), rooms):
            lent += 1
            last = max((rooms.index(room) for room in had), default=-1)
            assert last < min(rooms.index(room) for room in got), f"{path}:{line}: {got} inside {had}"
    assert lent > 100, "where are they lent?"


def test_rooms_of_the_pager_use_those_above():
    """docs/blocks/pager.md lists the pager's rooms, then its handlers; no file uses one of a row further down."""
    folder = ROOT / "crates/pager/src"
    section = (ROOT / "docs/blocks/pager.md").read_text().split("\n## Data structures\n", 1)[1].split("\n## ", 1)[0]
    cells = [line.strip("|").split("|")[1] for line in section.splitlines() if line.startswith("|")]
    rows = [[file.removesuffix(".rs") for file in words(cell)] for cell in cells if words(cell)]
    place = {room: row for row, rooms in enumerate(rows) for room in rooms}
    assert len(place) > 20 and "pager" in place
    for room, row in place.items():
        path = folder / room
        for file in path.rglob("*.rs") if path.is_dir() else [path.with_suffix(".rs")]:
            for other in re.findall(r"\bcrate::(\w+)", house.code_of(file)):
                assert place.get(other, -1) <= row, f"{file.name} uses {other}"


def test_unsafe_is_where_it_says():
    """Rooms are folders or files under a crate; tests and examples may write what they try."""
    rooms = [words(room)[0] for room, *_ in table("### Unsafe rooms")]
    found = subprocess.run(
        ["git", "grep", "-lE", r"\bunsafe (\{|fn|impl|extern)", "--", "crates/*/src/*.rs",
         "python/src/*.rs"],
        cwd=ROOT, text=True, capture_output=True, check=True).stdout.split()
    outside = [file for file in found
               if not any(file == room or file.startswith(room.rstrip("/") + "/") for room in rooms)]
    assert not outside, "unsafe outside the rooms of docs/architecture.md"
    unused = [room for room in rooms
              if not any(file == room or file.startswith(room.rstrip("/") + "/") for file in found)]
    assert not unused, "rooms without unsafe in docs/architecture.md"
