# Copyright Tombolo contributors.
# Licensed under the Apache License, Version 2.0, see LICENSE for details.
# SPDX-License-Identifier: Apache-2.0
"""tools/mutants and its list: does every mutant still apply, to the text as it is?"""

import importlib.machinery
import importlib.util
import pathlib
import re
import tomllib

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


@pytest.fixture(name="tool")
def fixture_tool():
    loader = importlib.machinery.SourceFileLoader("mutants", str(ROOT / "tools" / "mutants"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutants", loader))
    loader.exec_module(module)
    return module


def test_every_mutant_applies(tool, tmp_path, monkeypatch):
    monkeypatch.setattr(tool, "COPY", tmp_path)
    monkeypatch.setattr(tool, "SELECTED", tmp_path / "selected")
    mutants = tool.read_list()
    assert len(mutants) >= 40
    tool.copy(mutants)
    proofs = tomllib.loads((ROOT / "formal" / "proofs.toml").read_text())
    for name, mutant in mutants.items():
        text = (tmp_path / mutant["file"]).read_text()
        assert text.count(f"tmb_mutant_pkg::selected == 32'd{mutant['number']})") == 1, name
        assert "proof" not in mutant or mutant["proof"] in proofs, name
        for test in mutant.get("tests", []):
            file, _, case = test.partition("::")
            function = re.match(r"\w*", case)[0]
            assert not case or f"def {function}(" in (ROOT / file).read_text(), name
            checks = "".join(path.read_text() for path in (ROOT / file).parent.glob("*_checks.py"))
            names = re.findall(r"^async def (\w+)\(", checks, re.MULTILINE)
            assert mutant.get("only", names) in (names, *names), name
        for test in mutant.get("rust", []):
            file, _, case = test.partition("::")
            assert f"#[test]\nfn {case}()" in (ROOT / file).read_text(), name
            assert tool.cargo_test(test)[-1].endswith(case), name


def test_a_mutant_that_does_not_apply_is_an_error(tool):
    one = 'file = "f.sv"\nbreaks = "it"\ntests = ["t"]\n'
    text = "assign a = b;\nassign c = b;\n"

    def change(entry):
        return tool.mutated("f.sv", text, tool.read_list(entry).values())

    for old in ["b", "d"]:
        with pytest.raises(tool.Wrong, match="must be there once"):
            change(f'[m]\n{one}old = "{old}"\nnew = "e"\n')
    with pytest.raises(tool.Wrong, match="overlaps"):
        change(f'[m]\n{one}old = "a = b"\nnew = "e"\n[n]\n{one}before = "a = "\nold = "b"\nnew = "e"\n')
    for entry in [f'[m]\n{one}old = "b"\nnew = "b"\n', f'[m]\n{one}old = "b;"\nnew = "c;"\n',
                  f'[m]\n{one}old = "b"\nnew = "c"\nrust = ["r"]\n', f'[m]\n{one}old = "b"\nnew = "e"\nproof = "p"\n',
                  '[m]\nold = "b"\nnew = "c"\n']:
        with pytest.raises(tool.Wrong):
            tool.read_list(entry)


def test_mutants_of_one_point_live_in_one_text(tool):
    entry = ('file = "f.sv"\nbreaks = "it"\ntests = ["t"]\nbefore = "a = "\nold = "b"\n')
    mutants = tool.read_list(f'[m]\n{entry}new = "!b"\n[n]\n{entry}new = "c && b"\n')
    m, n = (f"tmb_mutant_pkg::selected == 32'd{mutants[name]['number']}" for name in "mn")
    assert tool.mutated("f.sv", "assign a = b;\n", mutants.values()) == (
        f'`include "tmb_mutant.svh"\nassign a = (({n}) ? (c && b) : (({m}) ? (!b) : (b)));\n')


def test_a_test_in_rust_is_named_by_its_file(tool):
    command = tool.cargo_test("crates/simcard/tests/direct.rs::reads")
    assert command[5:] == ["tombolo-simcard", "--test", "direct", "--", "--exact", "reads"]
    assert tool.cargo_test("crates/tombolo/tests/library/slots.rs::ends")[-1] == "slots::ends"
    assert tool.cargo_test("crates/tombolo/tests/growth/main.rs::grows")[-1] == "grows"
    for wrong in ["crates/simcard/src/lib.rs::reads", "crates/simcard/tests/direct.rs", "direct.rs::reads"]:
        with pytest.raises(tool.Wrong):
            tool.cargo_test(wrong)
