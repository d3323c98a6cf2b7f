# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""The project's scripts: do they report results in their output and exit status?"""

import importlib.machinery
import importlib.util
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def progress(*arguments):
    """Exit status, standard output and standard error of tools/progress."""
    done = subprocess.run([ROOT / "tools/progress", *arguments], capture_output=True, text=True,
                          check=False)
    return done.returncode, done.stdout, done.stderr


def test_progress_keeps_output_and_exit_status():
    assert progress("It", "printf", r"one\ntwo") == (0, "one\ntwo\n", "It\n")
    assert progress("It", "sh", "-c", "echo out; echo err >&2; exit 7") == (7, "out\nerr\n", "It\n")


def test_quiet_progress_shows_the_output_of_a_failure_only():
    assert progress("--quiet", "It", "echo", "much") == (0, "", "It\n")
    status, out, err = progress("--quiet", "It", "sh", "-c", "echo why; exit 3")
    assert (status, out) == (3, "") and "why\n" in err and "It: failed after" in err


def test_no_script_ends_a_writer_early():
    """Under pipefail, a reader that leaves before the end (grep -q, head) makes the pipe fail."""
    scripts = subprocess.run(["git", "grep", "-lI", "-e", "pipefail"], cwd=ROOT, text=True,
                             capture_output=True, check=True).stdout.split()
    assert {"Makefile", "tools/setup", "tools/demo", ".ci/run"} <= set(scripts)
    early = re.compile(r"(?<!\|)\|\s*(?:grep\s+-\w*q|head\b|sed\s+\S*\d*q\b)")
    for script in scripts:
        if script.endswith((".py", ".md")):
            continue
        text = re.sub(r"(?m)^\s*#.*$", "", (ROOT / script).read_text())
        # A pipe may go on in the next line.
        found = early.search(re.sub(r"\|\s*\\?\n\s*", "| ", text))
        assert not found, f"{script}: {found and found[0]}"


def chosen(folder, oldest, **versions):
    """Exit status, output and errors of tools/choose-python where these interpreters are; None: without venv."""
    folder.mkdir()
    for name, version in versions.items():
        program = folder / name.replace("_", ".")
        refuses = "" if version.endswith("+") else "case $2 in *ensurepip*) exit 1;; esac; "
        program.write_text(f"#!/bin/sh\n{refuses}echo {version.strip('+')}\n")
        program.chmod(0o755)
    done = subprocess.run(["/bin/bash", ROOT / "tools/choose-python", str(oldest), "the tests"], capture_output=True,
                          text=True, env={"PATH": str(folder)}, check=False)
    return done.returncode, done.stdout.strip(), done.stderr


def test_a_python_is_chosen_or_refused_by_name(tmp_path):
    """3.9 to 3.13: the system's own if it will do, else another one of the PATH, else a sentence that names it."""
    assert chosen(tmp_path / "a", 9, python3="3.9+") == (0, "python3", "")
    assert chosen(tmp_path / "b", 11, python3="3.13+", python3_11="3.11+") == (0, "python3", "")
    assert chosen(tmp_path / "c", 11, python3="3.10+", python3_11="3.11+", python3_12="3.12+")[1] == "python3.12"
    status, out, err = chosen(tmp_path / "d", 11, python3="3.10+", python3_9="3.9+")
    assert (status, out) == (1, "") and "need Python 3.11 or newer" in err
    assert "python3 is Python 3.10" in err and "python3.9 is Python 3.9" in err and "network" not in err
    status, out, err = chosen(tmp_path / "e", 11, python3="3.12")
    assert (status, out) == (1, "") and "apt-get install python3.12-venv" in err
    assert "there is no python3 on the PATH" in chosen(tmp_path / "f", 11)[2]


@pytest.fixture(scope="module")
def tool():
    """tools/test as a module."""
    loader = importlib.machinery.SourceFileLoader("tools_test", str(ROOT / "tools/test"))
    spec = importlib.util.spec_from_loader("tools_test", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


RUST = """     Running tests/judges.rs (target/release/deps/judges-0123456789abcdef)

running 5 tests

failures:

---- counts::are_right stdout ----
seed 3

thread 'counts::are_right' panicked at crates/a/tests/judges.rs:7:5:
assertion failed: 1 != 1

failures:
    counts::are_right

skipped: rumur_agrees: rumur is not installed (apt-get install rumur)
test rumur_agrees ... skipped: graphviz_draws: dot is not installed
ok
test result: ok. 4 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 12.50s

   Doc-tests tombolo
test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.50s
"""
DIED = """     Running tests/a/main.rs (target/release/deps/a-0123456789abcdef)

running 3 tests
test calls::one ... ok
test calls::two ... ok
error: test failed, to rerun pass `-p a --test a`

Caused by:
  process didn't exit successfully: `/x/a-0123456789abcdef` (signal: 11, SIGSEGV: invalid memory reference)
     Running tests/b.rs (target/release/deps/b-0123456789abcdef)
test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.50s
"""
PYTEST = """..s.
============= slowest 10 durations =============
61.50s setup    rtl/fabric/tests/test_fabric.py::test_a
2.25s call     rtl/fabric/tests/test_fabric.py::test_b
=========== short test summary info ============
SKIPPED [2] rtl/x/test_x.py:5: no such tool
FAILED rtl/fabric/tests/test_fabric.py::test_c[1] - AssertionError: 3 beats
1 failed, 250 passed, 2 skipped, 3 deselected in 90.00s (0:01:30)
"""


def part(tool, tmp_path, text):
    """A part with this log."""
    made = tool.Part("Some tests", [])
    made.log = tmp_path / "log"
    made.log.write_text(text)
    return made


def test_the_report_counts_rust_tests(tool, tmp_path):
    rust = part(tool, tmp_path, RUST)
    assert rust.counts() == (7, 1, 2)
    assert [reason.split(":")[0] for reason in rust.skipped()] == ["rumur_agrees", "graphviz_draws"]
    assert rust.slowest() == [(12.5, "judges tests/judges.rs"), (0.5, "examples of tombolo")]


def test_the_report_names_what_failed(tool, tmp_path):
    (name, why), = part(tool, tmp_path, RUST).failures()
    assert name == "counts::are_right"
    assert why.endswith("panicked at crates/a/tests/judges.rs:7:5: assertion failed: 1 != 1")
    assert part(tool, tmp_path, PYTEST).failures() == [
        ("rtl/fabric/tests/test_fabric.py::test_c[1]", "AssertionError: 3 beats")]
    (program, why), = part(tool, tmp_path, DIED).failures()
    assert program.startswith("tests/a/main.rs ")
    assert why == "(signal: 11, SIGSEGV: invalid memory reference) behind `test calls::two ... ok`"


def test_the_report_counts_rtl_tests(tool, tmp_path):
    rtl = part(tool, tmp_path, PYTEST)
    assert rtl.counts() == (250, 1, 3)
    assert rtl.skipped() == ["rtl/x/test_x.py:5: no such tool"] * 2
    assert [seconds for seconds, _ in rtl.slowest()] == [61.5, 2.25]


def test_a_part_that_fails_fails_the_whole(tool, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tool, "LOGS", tmp_path)
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(tool, "BUILDER", ("RTL builder", ["true"]))
    monkeypatch.setattr(tool, "EVERY", [
        [("Rust compilation", ["sh", "-c", "echo no; echo 'FAILED a::b - why'; exit 1"]), ("Rust tests", ["true"])],
        [("RTL tests", ["echo", "3 passed in 1.00s"])]])
    monkeypatch.setattr(sys, "argv", ["test"])
    assert tool.main() == 1
    said = capsys.readouterr().out
    assert "Rust compilation: FAILED\nno" in said and "RTL tests: ok" in said
    assert said.endswith("Rust compilation: a::b failed: why\n")
    assert re.search(r"^Rust tests\s+not run$", said, re.MULTILINE)
    monkeypatch.setattr(sys, "argv", ["test", "RTL"])
    assert tool.main() == 0
