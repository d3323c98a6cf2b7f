# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""tools/docs: does it see a broken link, and does each page of the repository have a place in the site? Without Sphinx."""

import importlib.machinery
import importlib.util
import pathlib
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent


def load():
    loader = importlib.machinery.SourceFileLoader("site_of_docs", str(ROOT / "tools/docs"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


DOCS = load()


def test_broken_links_and_anchors_are_seen(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "index.html").write_text(
        '<a href="a/b.html#there">x</a><a href="#here">y</a><p id=here></p><img src="a/p.png">'
        '<a href="https://example.org/nowhere">z</a>')
    (tmp_path / "a/b.html").write_text('<h2 id="there">t</h2><a href="../index.html">up</a>')
    (tmp_path / "a/p.png").write_bytes(b"")
    assert DOCS.broken(tmp_path) == (2, [])
    (tmp_path / "a/p.png").unlink()
    (tmp_path / "a/b.html").write_text('<a href="../index.html#nowhere">up</a><a href="c%20d.html">c</a>')
    pages, wrong = DOCS.broken(tmp_path)
    assert pages == 2
    assert sorted(wrong) == ["a/b.html: ../index.html#nowhere", "a/b.html: c%20d.html", "index.html: a/b.html#there",
                             "index.html: a/p.png"]


def test_links_lead_to_pages_and_code_stays_as_it_is():
    files = {"docs/a.md", "docs/README.md", "kernels/k/README.md", "platforms/f.toml"}
    wanted = set()
    text = "[a](a.md#x) [k](../kernels/k) [f](../platforms/f.toml) [gone](../no.md) [w](https://e.org)\n```\n[a](b.md)\n```\n"
    found = DOCS.rewritten("docs/README.md", text.replace("kernels/k)", "kernels/k/README.md)"), files, wanted)
    assert found.splitlines() == ["[a](a.md#x) [k](../kernels/k/README.md) [f](../platforms/f.toml) gone [w](https://e.org)",
                                  "```", "[a](b.md)", "```"]
    assert wanted == {"docs/a.md", "kernels/k/README.md", "platforms/f.toml"}


def test_each_page_is_in_one_part():
    pages = sorted(name[:-3] for name in DOCS.tracked() if DOCS.is_page(name))
    parts = DOCS.parts_of(pages)
    placed = [page for part in parts.values() for page in part]
    assert sorted(placed) == pages
    assert "docs/install" == parts["Tutorials"][0]
    assert {"docs/daemon", "docs/presets"} <= set(parts["How to"])
    assert all(parts.values())


def test_each_question_is_answered_by_a_page_that_there_is():
    questions = tomllib.loads((ROOT / "docs/questions.toml").read_text())["questions"]
    assert len(questions) >= 30
    made = {"reference/tombolo-h", "reference/python-api"}
    for words, pages in questions.items():
        assert pages, words
        for page in set(pages) - made:
            assert (ROOT / f"{page}.md").is_file(), f"{words}: {page}"
