# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""The project's pages: each is in the index, links lead somewhere, and nothing outside is cited."""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Pages that are not in the repository, by the names that they had where they are.
OUTSIDE = re.compile(r"DESIGN\.md|FACTS(\.md| ?§| section)|STYLE\.md|\.\./shared/|[( ]issue \d")
# Generated, or not ours to read.
SKIPPED = ("bench/", "tools/test_docs.py")


# `tombolo` on PyPI is not our package; ours is `tombolo-fpga`.
NOT_OURS = re.compile(r"pip3? install\b[^\n`]*?[ '\"]tombolo(?![\w/.-])|(?<![\w/.-])tombolo\[[a-z]+\](?=['\"` ])")


def tracked(*endings):
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True,
                            capture_output=True, check=True)
    for name in listed.stdout.split("\n"):
        if name.endswith(endings) and not name.startswith(SKIPPED) and (ROOT / name).is_file():
            yield pathlib.Path(name), (ROOT / name).read_text(errors="replace")


def links(page, text):
    """Targets of a page's links, as paths of the repository."""
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"[a-z]+:", target) and not target.startswith("#"):
            yield (page.parent / target.split("#")[0])


def test_every_page_is_in_the_index():
    index = pathlib.Path("docs/README.md")
    linked = {path for path in links(index, (ROOT / index).read_text())}
    pages = {page for page, _ in tracked(".md") if page.parts[0] == "docs"} - {index}
    in_kernels = {page for page in pages if "hls-export" in page.parts}
    missing = sorted(str(page) for page in pages - linked - in_kernels)
    assert not missing, f"docs/README.md does not link to {missing}"


def test_links_lead_somewhere():
    wrong = [f"{page}: {target}" for page, text in tracked(".md")
             for target in links(page, text) if not (ROOT / target).exists()]
    assert not wrong, "\n".join(wrong)


def test_nothing_outside_is_cited():
    wrong = []
    for file, text in tracked(".md", ".rs", ".sv", ".py", ".h", ".hpp", ".rdl", ".toml"):
        for number, line in enumerate(text.splitlines(), 1):
            if OUTSIDE.search(line):
                wrong.append(f"{file}:{number}: {line.strip()}")
    assert not wrong, "\n".join(wrong)


def test_only_our_distribution_is_installed():
    """The commands of pages, messages and docstrings install this package."""
    refused = ("pip install tombolo", "pip install 'tombolo[simulated]'", "pip install -U tombolo", "`tombolo[plots]`")
    taken = ("pip install tombolo-fpga", "pip install 'tombolo-fpga[simulated]'", "pip install ./tombolo", "tombolo run")
    assert all(map(NOT_OURS.search, refused)) and not any(map(NOT_OURS.search, taken))
    wrong = []
    for file, text in tracked(".md", ".rs", ".py", ".ipynb", ".toml", ".h", ".hpp", "tools/setup", "tools/demo"):
        # A message may go on in the next string.
        joined = re.sub(r"['\"]\n\s*['\"]", "", text)
        wrong += [f"{file}: {found[0]}" for found in NOT_OURS.finditer(joined)]
    assert not wrong, "\n".join(wrong)


def test_every_environment_variable_is_on_its_page():
    """A variable of the sources is on the page, and the page names no others."""
    name = re.compile(r"\bTOMBOLO_[A-Z][A-Z_]*[A-Z]\b")
    page = set(name.findall((ROOT / "docs/environment.md").read_text()))
    # Include guards of headers.
    guard = re.compile(r"^#(?:ifndef|define|endif).*\bTOMBOLO_\w*_?H(?:PP)?\b.*$", re.MULTILINE)
    found = {}
    for file, text in tracked(".rs", ".py", ".sh", ".h", ".hpp", ".c", ".cpp", ".toml", ".yml", "Makefile",
                              *(f"tools/{tool}" for tool in ("setup", "demo", "test", "generate-registers", "mutants",
                                                             "formal", "progress", "build-wheel", "install-c"))):
        for variable in name.findall(guard.sub("", text)):
            found.setdefault(variable, file)
    missing = {variable: str(file) for variable, file in found.items() if variable not in page}
    assert not missing, f"docs/environment.md lacks {missing}"
    assert not page - set(found), f"docs/environment.md names {page - set(found)}, which nothing reads"
