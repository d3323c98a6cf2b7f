# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""tools/words: does each pattern find its example, and not its remedy?"""

import importlib.machinery
import importlib.util
import pathlib

import pytest

PATH = pathlib.Path(__file__).resolve().parent / "words"
LOADER = importlib.machinery.SourceFileLoader("words", str(PATH))
words = importlib.util.module_from_spec(importlib.util.spec_from_loader("words", LOADER))
LOADER.exec_module(words)


def names(text):
    """The names of the patterns found in a page."""
    return [pattern.name for _, pattern, _ in words.found_in(words.prose(text))]


@pytest.mark.parametrize("pattern", words.PATTERNS, ids=lambda pattern: pattern.name)
def test_a_pattern_finds_its_example_and_no_remedy_is_found(pattern):
    assert pattern.name in names(pattern.example)
    assert not names(pattern.remedy)
    assert pattern.instead


def test_a_comment_that_repeats_the_name_is_found():
    assert len(list(words.repeated_names(words.REPEATED.example))) == 1
    assert not list(words.repeated_names(words.REPEATED.remedy))
    assert len(list(words.repeated_names("/// Page sizes.\npub page_sizes: PageSizes,"))) == 1
    assert not list(words.repeated_names("/// Page sizes in use.\npub page_sizes: PageSizes,"))
    assert not list(words.repeated_names("/// Ends the run, and reports it.\n/// Why.\npub fn end() {}"))


@pytest.mark.parametrize("text", [
    "```\nA read is told.\n```\n", "A `read is told` here.", 'The paper: "a read is told".',
    "A read is told. <!-- words: ok -->", "Text.\n\n    a read is told\n\nText.", "[link](what-is-told.md)",
], ids=["block", "span", "quotation", "permitted", "indented", "target"])
def test_code_quotations_and_permitted_lines_are_skipped(text):
    assert not names(text)
    assert names("A read is told.") == ["told"]


def test_a_phrase_may_cross_the_end_of_a_line_and_not_of_an_item():
    found = words.found_in(words.prose("one\n\nIt works by\nitself, and is\ntold.\n"))
    assert [(line, pattern.name) for line, pattern, _ in found] == [(3, "by itself"), (5, "told")]
    assert not names("- it works by\n- itself\n")


def test_questions_and_headings_may_begin_with_what():
    assert not names("# What bounds a run\n\nWhat is shared?\n\n| What it is | where |\n")
    assert names("| a | What is shared is dear. |") == ["what-clause as subject"]


def test_generated_pages_are_skipped():
    listed = {path.relative_to(words.ROOT).as_posix() for path in words.pages()}
    assert {"README.md", "CHANGELOG.md", "docs/command.md", "docs/blocks/pager.md"} <= listed
    assert not any(name.endswith("registers.md") for name in listed)


def test_comments_of_code_are_read_and_code_is_not():
    text = '/// A read is told.\nlet beside = "told";\n'
    assert [pattern.name for _, pattern, _ in words.found_in(words.comments(text, "//[/!]"))] == ["told"]


@pytest.mark.parametrize("reader, text, lines", [
    ("python_comments", 'x = "it is told"  # It is told.\n', [1]),
    ("python_comments", 'def f():\n    """It is told.\n\n    It is told.\n    """\n    g("it is told")\n', [2, 4]),
    ("python_comments", 'text = """\nIt is told.\n"""\n', []),
    ("script_comments", 'a = 1  # it is told\n# It is told.\nb = "it is told"\n', [1, 2]),
    ("script_comments", "#!/bin/told\n", []),
    ("c_comments", "/* It\n * is\n * told. */\nint told;\n", [3]),
    ("c_comments", "int x; /* told */\nint told;  // it is told\n", [1, 2]),
    ("c_comments", '#define TOLD "told"\n/* One. */\nint told(void);\n', []),
], ids=["after code", "docstring", "no docstring", "settings", "first line", "block", "trailing", "code"])
def test_comments_of_scripts_and_of_c_are_read(reader, text, lines):
    assert [line for line, _, _ in words.found_in(getattr(words, reader)(text))] == lines


def test_files_whose_hash_names_something_are_not_read():
    for name in words.UNREAD:
        assert (words.ROOT / name).is_file()


def test_a_permitted_place_has_a_reason():
    for file, part, reason in words.ALLOWED:
        assert part in (words.ROOT / file).read_text() and len(reason) > 10
